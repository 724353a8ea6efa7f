"""Points of loss against risk, and what would help where a policy is infeasible."""

from __future__ import annotations

import pytest

import incrowd as ic
from incrowd.samples import hospital
from incrowd.studio import exploring
from incrowd.studio.cancelling import Cancelled, Watched
from incrowd.studio.work import Source, Work


@pytest.fixture
def window(tmp_path):
    hospital(400).select("age", "sex", "zip", "diagnosis").write_csv(tmp_path / "people.csv")
    found = Work()
    found.open(Source(tmp_path / "people.csv", "people.csv"))
    yield found
    found.close()


def test_a_run_that_gave_no_release_is_no_point(window):
    found = window.compare(["mondrian"], [4, 401], Watched())
    points = exploring.of_runs(found)
    names, rows = exploring.losses(found)
    assert names == ["column", "1: mondrian, k = 4"]
    window.choices.models[:] = [{"model": "k-anonymity", "k": 4}, *window.choices.models[1:]]
    lost = window.anonymize(Watched()).utility["loss"].per_attribute
    assert rows == [(name, f"{lost[name]:.1%}") for name in lost]
    assert list(points) == ["1"]
    assert points["1"].label == "mondrian, k = 4"
    assert points["1"].risk <= 1 / 4
    exploring.take_setting(window.choices.document, points["1"].of)
    assert window.choices.algorithm == {"name": "mondrian"}
    assert window.choices.models[0] == {"model": "k-anonymity", "k": 4}


def test_the_nodes_of_a_lattice_are_taken_and_set_free_again(window):
    window.choices.models[:] = [{"model": "k-anonymity", "k": 5}]
    points = exploring.of_lattice(window.explore(Watched()))
    losses, risks = ([each[axis] for each in points.values()] for axis in (1, 2))
    assert losses == sorted(losses)
    assert risks == sorted(risks, reverse=True)
    node = list(points.values())[-1]
    exploring.take_levels(window.choices.document, node.of)
    assert window.choices.algorithm["name"] == "optimal"
    release = window.anonymize(Watched())
    assert dict(zip(("age", "sex", "zip"), release.recoding.levels, strict=True)) == node.of
    assert exploring.free_levels(window.choices.document)
    assert not exploring.free_levels(window.choices.document)


def test_points_stand_between_the_ends_of_the_picture():
    assert exploring.place(2, [1, 2, 3]) == 50
    assert (exploring.place(1, [1, 3]), exploring.place(3, [1, 3])) == (5, 95)
    assert exploring.place(7, [7]) == 50


def test_a_level_is_told_with_what_a_value_becomes_there(window):
    found = window.examples(["age", "zip", "sex"])
    frequent = max((count, value) for value, count in window.counts("age").items())[1]
    assert found["age"][0] == frequent
    assert found["age"][-1] == "*"
    assert exploring.cell_at(1, found["age"]) == f"1: {found['age'][1]}"
    assert exploring.cell_at(99, found["sex"]) == "99: *"
    assert exploring.cell_at(2, None) == "2"
    window.choices.columns["age"]["treat"] = {"round": 5}
    assert float(window.examples(["age", "sex"])["age"][0]) % 5 == 0
    window.choices.columns["age"]["format"] = "?"
    assert "age" not in window.examples(["age", "sex"])
    points = {"1": exploring.Point("", 0.25, 0.5, None), "2": exploring.Point("", 0.5, 0.2, None)}
    assert exploring.ends(points) == "Risk from 20.0% on the left to 50.0%, loss from 0.25 below to 0.5."


def test_advice_is_followed_and_gives_a_release(window):
    window.choices.document["algorithm"] = {"name": "optimal"}
    window.choices.document["max_suppression"] = 0.0
    window.choices.models[:] = [{"model": "k-anonymity", "k": 5}, {"model": "t-closeness", "t": 0.05}]
    with pytest.raises(ic.InfeasibleError):
        window.anonymize(Watched())
    assert window.infeasible
    found = window.advise(Watched())
    assert 1 <= len(found) <= 3
    for change in found:
        changed = change.edited(window.choices.document)
        window.choices.document.clear()
        window.choices.document.update(changed)
        assert window.anonymize(Watched()).privacy.holds
    assert not window.infeasible
    watched = Watched()
    watched.cancel()
    with pytest.raises(Cancelled):
        window.advise(watched)
