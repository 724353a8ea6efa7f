"""The release that follows each change of the choices: counted once, and recoded as `anonymize` would."""

from __future__ import annotations

import numpy as np
import polars as pl
import pytest

import incrowd as ic
from crossed import quick
from incrowd.core.errors import InfeasibleError, ParameterError
from incrowd.faces.studio import status, window_table, work
from incrowd.faces.studio.cancelling import Cancelled, Watched
from incrowd.faces.studio.choices import Choices
from incrowd.faces.studio.status import Figures
from incrowd.faces.studio.tables import Source
from incrowd.faces.studio.work import Work
from incrowd.release.jobs.make import anonymize as jobs
from incrowd.samples import hospital

ROWS = 160
QUASI = {
    "age": {"role": "quasi", "hierarchy": {"intervals": [5, 20]}},
    "sex": {"role": "quasi", "hierarchy": {"flat": True}},
    "zip": {"role": "quasi", "hierarchy": {"prefix": True}},
}
K = {"model": "k-anonymity", "k": 4}


@pytest.fixture
def window(tmp_path):
    """A window on people with missing cells, of whom each has two rows, under 4-anonymity."""
    gone = pl.int_range(ROWS)
    table = hospital(ROWS).select("age", "sex", "zip", "diagnosis", "cost")
    table = table.with_columns(
        sex=pl.when(gone % 17 != 0).then("sex"), zip=pl.when(gone % 13 != 0).then("zip"), who=gone // 2 % 70
    )
    table.write_parquet(tmp_path / "people.parquet")
    state = Work()
    state.open(Source(tmp_path / "people.parquet", "people.parquet"))
    state.chosen.document.update(keep_order=True, max_suppression=0.1)
    give(state, **QUASI, diagnosis="sensitive", cost="identifying", who="identifying")
    state.chosen.models[:] = [dict(K)]
    yield state
    state.close()


def give(window: Work, **roles) -> None:
    """Give columns a role, or whole settings."""
    for name, settings in roles.items():
        window.chosen.columns[name] = dict(settings) if isinstance(settings, dict) else {"role": settings}


def follow(window: Work) -> ic.Release:
    """Recode and judge, as the page does after a change."""
    window.changed()
    window.recode(Watched())
    return window.judge(Watched())


def ask(*models, **algorithm):
    """A change to other models, and to an algorithm if given."""

    def change(window: Work) -> None:
        window.chosen.models[:] = models or [dict(K)]
        if algorithm:
            window.chosen.algorithm.clear()
            window.chosen.algorithm.update(algorithm)

    return change


def settings(**given):
    return lambda window: window.chosen.document.update(given)


def column(**given):
    return lambda window: give(window, **given)


def an_attacker(window: Work) -> None:
    attacker = {"name": "insurer", "knows": ["zip"], "models": [{"model": "k-anonymity", "k": 20}]}
    window.chosen.document["attackers"] = [attacker]


def a_population(window: Work) -> None:
    path = window.place(".csv")
    pl.concat([window.table.select(*QUASI)] * 2).write_csv(path)
    window.set_population(str(path))
    window.chosen.models.append({"model": "k-map", "k": 3})


def linked_rows(window: Work) -> None:
    give(window, who="person")
    window.chosen.document["linked"] = True
    ask(name="optimal")(window)


CHANGES = {
    "larger k": ask({"model": "k-anonymity", "k": 9}),
    "l": ask(K, {"model": "l-diversity", "l": 3}),
    "t": lambda window: (
        ask(K, {"model": "t-closeness", "t": 0.6})(window),
        settings(max_suppression=0.5)(window),
    ),
    "optimal": ask(name="optimal"),
    "datafly": ask(K, {"model": "l-diversity", "l": 2}, name="datafly"),
    "record by record": ask(name="k-member"),
    "a target": ask(name="top-down-specialization", target="diagnosis"),
    "a seed": lambda window: (ask(name="random")(window), settings(seed=5, max_suppression=1.0)(window)),
    "no suppression": settings(max_suppression=0.0),
    "left out": lambda window: (ask(name="optimal")(window), settings(suppressed="drop")(window)),
    "kept": lambda window: (ask(name="optimal")(window), settings(suppressed="keep")(window)),
    "an attacker": an_attacker,
    "a population": a_population,
    "people": column(who="person"),
    "linked rows": linked_rows,
    "weights": column(cost="weight"),
    "rounded costs": column(cost={"role": "insensitive", "treat": {"round": 500}}),
    "rounded ages": column(age={"role": "quasi", "treat": {"round": 10}}),
    "a code": column(age={**QUASI["age"], "missing": ["30", "31"]}),
    "fewer columns": column(zip="identifying"),
}


@pytest.mark.few(1)
@pytest.mark.parametrize(
    "name", quick([*CHANGES], "larger k", "record by record", "left out", "linked rows", "rounded ages")
)
def test_a_change_gives_the_release_that_anonymize_makes(window, name):
    window.recode(Watched())
    CHANGES[name](window)
    release = follow(window)
    before, figures = window.risk_before, status.figures(window)
    result = ic.anonymize(window.table, window.policy(), unanswered="write", population=window.population)
    assert release.texts.equals(result.texts)
    assert release.document() == result.document()
    assert window.account == result.document()
    # The figures that stay in sight are those of the account.
    assert before == result.before.risk["prosecutor"]["max"]
    window.release = None
    assert window.risk_before == before
    assert figures.after == result.risk["prosecutor"]["max"]
    assert figures.loss == result.utility["loss"].value
    assert (figures.suppressed, figures.records) == (result.suppression.records, ROWS)
    assert figures.sample is None


def refused_for(window: Work) -> str | None:
    with pytest.raises(ic.IncrowdError) as refused:
        window.recode(Watched())
    with pytest.raises(ic.IncrowdError) as error:
        ic.anonymize(window.table, window.policy(), unanswered="write")
    assert str(refused.value) == str(error.value)
    assert window.recoded is None
    return str(refused.value)


@pytest.mark.few(1)
@pytest.mark.parametrize(
    ("change", "told"),
    [
        (ask({"model": "k-anonymity", "k": 4_000}), "more than the table's 160 records"),
        (ask({"model": "l-diversity", "l": 99}), "distinct values of column 'diagnosis'"),
        (ask({"model": "k-map", "k": 3}), "give one with population="),
        (lambda window: window.chosen.models.clear(), "name at least one model"),
        (ask(name="mondrian"), "column 'age' has levels, which mondrian does not know"),
    ],
)
def test_what_a_run_refuses_is_refused_of_a_counted_table_too(window, change, told):
    ask(name="optimal")(window)
    window.chosen.columns["age"]["levels"] = [0, 2]
    window.recode(Watched())
    change(window)
    assert told in refused_for(window)
    assert not window.infeasible
    # What is right again is recoded again.
    ask(name="optimal")(window)
    assert follow(window).privacy.holds


def test_rows_in_an_order_that_tells_them_are_refused_when_it_is_to_be_kept(window):
    window.table = window.table.sort("age")
    window.chosen.document["keep_order"] = False
    window.recode(Watched())
    window.chosen.document["keep_order"] = True
    assert "the rows are in the order of" in refused_for(window)


@pytest.mark.slow
def test_the_table_is_counted_once_for_all_limits_and_anew_for_other_columns(window, monkeypatch):
    counts = []

    def counted(*given):
        counts.append(given)
        return start(*given)

    start = jobs.start_search
    monkeypatch.setattr(jobs, "start_search", counted)
    for change in (
        lambda _: None,
        CHANGES["larger k"],
        CHANGES["l"],
        settings(max_suppression=0.2),
        settings(seed=5),
        CHANGES["optimal"],
        an_attacker,
    ):
        change(window)
        follow(window)
    assert len(counts) == 1
    del window.chosen.document["attackers"]
    ask(name="optimal")(window)
    for number, change in enumerate(
        (
            column(cost="insensitive"),
            column(sex={**QUASI["sex"], "missing": ["x"]}),
            column(age={"role": "quasi", "hierarchy": {"intervals": [10, 20]}}),
            settings(set_limit=7),
            CHANGES["a target"],
            a_population,
        ),
        2,
    ):
        change(window)
        follow(window)
        assert len(counts) == number
    # A tree that is edited has a path of its own.
    editor = window.editor("zip")
    editor.merge([line.node for line in editor.below(0)][:2], "together")
    window.keep_tree("zip", editor.tree)
    follow(window)
    assert len(counts) == 8
    window.open(window.source)
    assert window.recoded is None
    assert window.risk_before is None


def test_limits_that_cannot_be_kept_are_said_to_be_infeasible_until_others_stand(window):
    ask(K, {"model": "t-closeness", "t": 0.01}, name="optimal")(window)
    settings(max_suppression=0.0)(window)
    with pytest.raises(InfeasibleError):
        window.recode(Watched())
    assert window.infeasible
    assert (window.recoded, window.release, window.suppressed) == (None, None, None)
    # What the table was counted for stays, and with it the risk before.
    told = status.figures(window)
    assert (told.before, told.after, told.loss) == (window.risk_before, None, None)
    ask(K)(window)
    window.recode(Watched())
    assert not window.infeasible


class Stopped(Watched):
    """Progress that is cancelled as a stage begins."""

    def __init__(self, at: str) -> None:
        super().__init__()
        self._at = at

    def stage(self, name: str) -> None:
        if name == self._at:
            self.cancel()
        super().stage(name)


@pytest.mark.slow
@pytest.mark.parametrize("stage", ["count", "assess", "search", "apply", "check"])
def test_a_window_whose_recoding_was_cancelled_goes_on(window, stage):
    with pytest.raises(Cancelled):
        window.recode(Stopped(stage))
    assert (window.recoded, window.release, window.infeasible) == (None, None, False)
    assert not window.is_recoded
    release = follow(window)
    result = ic.anonymize(window.table, window.policy(), unanswered="write")
    assert release.texts.equals(result.texts)


def test_a_release_that_was_overtaken_is_not_kept(window):
    window.recode(Watched())
    overtaken = window.recoded
    window.recoded = None
    window.chosen.models[0]["k"] = 9
    window.recode(Watched())
    now = window.recoded
    window.recoded = overtaken

    class Late(Watched):
        def stage(self, name):
            if name == "report":
                window.recoded = now

    with pytest.raises(Cancelled):
        window.judge(Late())
    assert window.release is None
    assert window.judge(Watched()) is window.release
    assert window.release.policy.models[0].k == 9


def test_a_point_that_was_accepted_stays_accepted_when_a_limit_changes(window):
    give(window, cost="insensitive")
    points = {(each.name, *each.columns) for each in follow(window).verdict.open}
    assert ("unique-column", "cost") in points
    window.accept([ic.Accepted("unique-column", "cost", "known")])
    window.chosen.models[0]["k"] = 5
    left = {(each.name, *each.columns) for each in follow(window).verdict.open}
    assert points - left == {("unique-column", "cost")}


# --- rows before and after ------------------------------------------------------------------------


def same(before: pl.DataFrame, after: pl.DataFrame) -> None:
    """Check that a row after stands for the row before."""
    assert before["diagnosis"].to_list() == after["diagnosis"].to_list()
    for old, new in zip(before["zip"], after["zip"], strict=True):
        assert new == "*" or (old or "None").startswith(str(new).rstrip("*"))


@pytest.mark.slow
@pytest.mark.parametrize("suppressed", ["judged", "drop", "keep"])
def test_pairs_are_the_same_rows_before_and_after(window, suppressed):
    ask(name="optimal")(window)
    settings(suppressed=suppressed)(window)
    window.recode(Watched())
    gone = window.recoded.result.suppression.left_out
    # Those that are judged leave, since they are more than four.
    assert (gone > 0) is (suppressed == "drop")
    before, after, height = window.pairs(0, 1_000)
    assert before.height == after.height == height == ROWS - gone
    same(before, after)
    stars = after.select(pl.all_horizontal(pl.col(*QUASI) == "*")).to_series().sum()
    assert stars == window.suppressed[0] - gone
    for start, count in ((0, 50), (37, 50), (height - 3, 50), (height + 5, 50)):
        one, other, whole = window.pairs(start, count)
        assert one.equals(before.slice(start, count))
        assert other.equals(after.slice(start, count))
        assert whole == height
    # The release has the same rows, and shows them where it was made at once.
    window.judge(Watched())
    assert window.pairs(37, 50)[1].equals(after.slice(37, 50))
    release = window.anonymize(Watched())
    assert window.recoded is None
    assert release.left_out == gone
    for start, count in ((0, 50), (37, 50), (height - 3, 50), (height + 5, 50)):
        one, other, whole = window.pairs(start, count)
        assert one.rows() == before.select(one.columns).slice(start, count).rows()
        assert other.equals(after.slice(start, count))
        assert whole == height


@pytest.mark.random_order
def test_rows_in_a_random_order_are_shown_beside_their_own(window):
    settings(keep_order=False)(window)
    release = follow(window)
    before, after, _ = window.pairs(20, 60)
    same(before, after)
    assert before["cost"].to_list() == window.table["cost"][20:80].to_list()
    assert release.texts["diagnosis"].to_list() != window.table["diagnosis"].to_list()


# --- larger tables --------------------------------------------------------------------------------


def test_of_a_larger_table_a_sample_is_recoded_and_the_release_is_made_by_a_click(window, monkeypatch):
    monkeypatch.setattr(work, "FOLLOWED", 100)
    assert not window.follows
    recoded = window.recode(Watched())
    assert recoded.start.frequency.rows == 100
    assert window.sampled
    figures = status.figures(window)
    assert (figures.records, figures.sample) == (100, 100)
    assert figures.told().endswith(" after (estimate, by 100 random rows)")
    before, after, height = window.pairs(0, 1_000)
    assert before.height == after.height == height == 100 - recoded.result.suppression.left_out
    same(before, after)
    rows = set(window.table.rows())
    assert set(before.select(window.table.columns).rows()) <= rows
    # The same rows are drawn each time, so that figures can be compared.
    counted = recoded.start
    window.chosen.models[0]["k"] = 5
    assert window.recode(Watched()).start is counted
    release = window.anonymize(Watched())
    figures = status.figures(window)
    assert not window.sampled
    assert (figures.records, figures.sample) == (ROWS, None)
    assert figures.after == release.risk["prosecutor"]["max"]
    assert window.pairs(0, 1_000)[2] == ROWS - release.left_out
    window.changed()
    assert (window.is_recoded, window.recoding, window.suppressed) == (False, None, None)


@pytest.mark.slow
def test_of_rows_that_stream_a_sample_is_recoded(window, tmp_path, monkeypatch):
    monkeypatch.setattr(window_table, "_STREAMED", 0)
    monkeypatch.setattr(work, "FOLLOWED", 100)
    document = window.chosen.document
    window.open(window.source)
    assert window.streams
    window.chosen.document.clear()
    window.chosen.document.update(document)
    assert not window.follows
    assert window.recode(Watched()).start.frequency.rows == 100
    assert window.sampled


# --- figures and their sentences ------------------------------------------------------------------


def test_figures_say_what_is_known_so_far(window):
    figures = status.figures(window)
    knows = "whoever knows age, sex and zip, and nothing else"
    assert figures == Figures(knows, None, None, 0.25, None, None, ROWS, None)
    assert figures.told() == f"Largest risk for {knows}: not measured yet"
    assert list(figures.tiles()) == []
    window.recode(Watched())
    figures = status.figures(window)
    assert figures.told() == f"Largest risk for {knows}: 100% before, 25% after"
    # It is rounded as in the account, which says the same of the release.
    (loss, share, mark), gone = figures.tiles()
    assert (loss, mark) == ("Loss", "status-loss")
    text = f"A released cell covers on average {share} of its column"
    assert any(sentence.startswith(text) for sentence in follow(window).document()["sentences"])
    assert gone == ("Suppressed", f"{window.suppressed[0]} of {ROWS}", "status-suppressed")


def test_the_limit_on_the_bar_is_the_strictest_k():
    def limit(*models):
        window = Work()
        window.choices = Choices({"columns": {}, "models": [*models]}, None, "", {}, {}, {})
        result = status.figures(window)
        assert result.knows == "who knows some columns"
        return result.limit

    assert limit(K, {"model": "k-anonymity", "k": 20}) == 1 / 20
    assert limit(K, {"model": "maximum-risk", "risk": 0.1}) == 0.1
    assert limit({"model": "l-diversity", "l": 3}, {"model": "k-anonymity"}) is None


def test_one_figure_is_said_without_the_other():
    def told(before, after, sample=None):
        return Figures("me", before, after, None, None, None, 0, sample).told()

    assert told(0.5, None) == "Largest risk for me: 50% before"
    assert told(None, 1 / 3, 2_000) == "Largest risk for me: 33.4% after (estimate, by 2,000 random rows)"


def test_roles_are_there_once_all_columns_have_one_and_one_identifies(window):
    assert status.has_roles(window)
    window.chosen.columns["cost"]["role"] = "?"
    assert not status.has_roles(window)
    give(window, **dict.fromkeys(window.chosen.columns, "insensitive"))
    assert not status.has_roles(window)
    assert not status.has_roles(Work())
    assert status.mark(window) is None


def test_the_places_of_rows_are_those_of_the_table(window):
    ask(name="optimal")(window)
    settings(suppressed="drop")(window)
    release = follow(window)
    window.recoded = None
    places = np.flatnonzero(release.recoding.starred[release.frequency.row_keys] == 0)
    assert release.places.tolist() == places.tolist()
    before, _, height = window.pairs(0, 1_000)
    assert height == len(places)
    assert before["cost"].to_list() == window.table["cost"][places.tolist()].to_list()


def test_a_sample_answers_before_the_table_does(window, monkeypatch):
    monkeypatch.setattr(work, "QUICK", 60)
    window.recode(Watched(), quick=True)
    told = status.figures(window)
    assert told.sample == told.records
    assert told.records <= 60
    assert told.told().endswith(f"(estimate, by {told.records} random rows)")
    # Its rows are not those of the table, so they are not shown.
    assert not window.is_recoded
    assert window.recoding is None
    release = follow(window)
    exact = status.figures(window)
    assert (exact.sample, exact.loss) == (None, release.utility["loss"].value)
    window.recode(Watched(), quick=True)
    window.changed()
    assert status.figures(window).after is None
    # A sample may fail where the table does not.
    ask({"model": "k-anonymity", "k": 70})(window)
    with pytest.raises(ParameterError):
        window.recode(Watched(), quick=True)
    assert not window.infeasible


def test_an_estimate_has_no_analyses_and_the_release_has(window, monkeypatch):
    """A sample of the table may lack what an analysis needs, so the page showed an error for a moment."""
    monkeypatch.setattr(work, "QUICK", 60)
    window.chosen.document["analyses"] = [{"name": "cost", "formula": "cost ~ age"}]
    assert window.recode(Watched(), quick=True).start.analyses is None
    assert follow(window).analyses["cost"].before.records > 60
