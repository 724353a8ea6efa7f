"""Changes of a window that are undone and redone: the state and the release are those before and after."""

from __future__ import annotations

from copy import deepcopy
from dataclasses import replace

import polars as pl
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from incrowd.core.errors import IncrowdError
from incrowd.faces.studio import history
from incrowd.faces.studio.cancelling import Watched
from incrowd.faces.studio.history import History, State
from incrowd.faces.studio.tables import Source
from incrowd.faces.studio.work import Work
from incrowd.samples import hospital
from incrowd_gate.points import KINDS, Accepted

ROWS = 60


@pytest.fixture
def window(tmp_path):
    path = tmp_path / "people.parquet"
    hospital(ROWS).select("age", "sex", "zip", "diagnosis").write_parquet(path)
    found = Work()
    found.open(Source(path, path.name))
    yield found
    found.close()


@pytest.fixture
def every_change(monkeypatch):
    """Changes in quick succession are several ones."""
    monkeypatch.setattr(history, "_TOGETHER", -1.0)


def begin(window: Work) -> None:
    document = window.chosen.document
    document.clear()
    roles = {"age": "quasi", "sex": "quasi", "zip": "insensitive", "diagnosis": "sensitive"}
    document["columns"] = {name: {"role": role} for name, role in roles.items()}
    document.update(models=[{"model": "k-anonymity", "k": 3}], algorithm={"name": "mondrian"})
    document.update(keep_order=True, max_suppression=0.0)
    window.population = None
    window.history = History(State(window.chosen, None))
    window.changed()


def k(number: int):
    return lambda window: window.chosen.models[0].update(k=number)


def column(name: str, **settings):
    return lambda window: window.chosen.columns.update({name: deepcopy(settings)})


def setting(name: str, value):
    return lambda window: window.chosen.document.update({name: deepcopy(value)})


def answer(window: Work) -> None:
    points = () if window.release is None else window.release.verdict.open
    for point in [each for each in points if KINDS[each.name].accepted][:1]:
        window.accept([Accepted(point.name, next(iter(point.columns), None), "looked at")])


def take(window: Work) -> None:
    if window.tries:
        taken = replace(window.chosen, document=deepcopy(dict(window.tries[0].document)))
        window.restore(State(taken, window.population))


def a_population(window: Work) -> None:
    path = window.place(".csv")
    pl.concat([window.table] * 2).write_csv(path)
    window.population = str(path)


CHANGES = (
    k(2), k(5), k(40), setting("max_suppression", 0.2), setting("algorithm", {"name": "datafly"}),
    setting("models", [{"model": "k-anonymity", "k": 2}, {"model": "l-diversity", "l": 2}]),
    column("zip", role="quasi", hierarchy={"prefix": True}), column("sex", role="identifying"),
    column("age", role="insensitive", treat={"round": 10}), column("diagnosis", role="identifying"),
    setting("tables", [{"name": "t", "rows": ["sex"]}]), setting("profile", {"name": "hipaa-safe-harbor"}),
    answer, take, a_population,
)  # fmt: skip
"""Changes of limits, methods, columns, tables, rules, answers, settings taken back, and a population."""


def state_and_release(window: Work):
    """The choices as they stand, and the release that follows from them; None where there is none."""
    try:
        window.recode(Watched())
        release = window.judge(Watched())
    except IncrowdError:
        release = None
    kept = None if release is None else (release.texts.to_dicts(), release.document())
    return deepcopy(window.chosen.document), window.population, kept


@pytest.mark.few(4)
@settings(max_examples=15, suppress_health_check=[HealthCheck.function_scoped_fixture], deadline=None)
@given(changes=st.lists(st.sampled_from(CHANGES), min_size=1, max_size=4))
def test_changes_that_are_undone_give_what_was_before_and_redone_what_was_after(
    window, every_change, changes
):
    begin(window)
    window.tries.clear()
    states = [state_and_release(window)]
    for change in changes:
        before = window.history.names
        change(window)
        window.changed()
        after = state_and_release(window)
        if after[:2] == states[-1][:2]:
            assert window.history.names == before
        else:
            states.append(after)
            assert window.history.names[0]
            assert not window.history.names[1]
    for state in states[-2::-1]:
        undone = window.history.names[0]
        window.restore(window.history.undo())
        assert state_and_release(window) == state
        assert window.history.names[1] == undone
    assert not window.history.names[0]
    for state in states[1:]:
        window.restore(window.history.redo())
        assert state_and_release(window) == state
    assert not window.history.names[1]


def test_a_change_has_a_name(window, every_change):
    begin(window)
    named = []

    def change(made) -> None:
        made(window)
        window.changed()
        named.append(window.history.names[0])

    change(k(10))
    change(setting("models", [{"model": "k-anonymity", "k": 10}, {"model": "l-diversity", "l": 2}]))
    change(setting("algorithm", {"name": "datafly"}))
    change(setting("max_suppression", 0.05))
    change(column("zip", role="quasi", hierarchy={"prefix": True}))
    change(setting("tables", [{"name": "t", "rows": ["sex"]}]))
    change(setting("linked", True))
    assert named == [
        "k 3 to 10", "l off to 2", "method mondrian to datafly", "suppression 0% to 5%",
        "role of zip insensitive to quasi and 1 more", "tables", "linked off to on",
    ]  # fmt: skip
    # What a form leaves without a setting in it is no change.
    window.chosen.document.setdefault("attackers", [])
    window.changed()
    assert window.history.names[0] == named[-1]


def test_the_places_of_a_slider_are_one_change(window):
    begin(window)
    for number in (4, 5, 6):
        k(number)(window)
        window.changed()
    assert window.history.names[0] == "k 3 to 6"
    k(3)(window)
    window.changed()
    assert window.history.names == ("", "")


def test_fifty_changes_can_be_undone_and_a_new_one_ends_what_was_undone(window, every_change):
    begin(window)
    for number in range(4, 64):
        k(number)(window)
        window.changed()
    for _ in range(60):
        window.restore(window.history.undo())
    assert window.chosen.models[0]["k"] == 13
    k(7)(window)
    window.changed()
    assert window.history.names == ("k 13 to 7", "")
    window.open(window.source)
    assert window.history.names == ("", "")
