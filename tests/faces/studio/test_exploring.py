"""Points of loss against risk, and what would help where a policy is infeasible."""

from __future__ import annotations

from copy import deepcopy
from types import SimpleNamespace

import polars as pl
import pytest

import incrowd as ic
from crossed import quick
from incrowd.faces.studio import exploring
from incrowd.faces.studio.cancelling import Cancelled, Watched
from incrowd.faces.studio.exploring import Point
from incrowd.faces.studio.work import Source, Work
from incrowd.search.lattice.node import Node
from incrowd.search.lattice.space import SolutionSpace
from incrowd.works.samples import hospital


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
    points = exploring.of_lattice(window, window.explore(Watched()), Watched())
    losses, risks = [each.loss for each in points.values()], [each.risk for each in points.values()]
    assert losses == sorted(losses)
    assert risks == sorted(risks, reverse=True)
    node = list(points.values())[-1]
    exploring.take_levels(window.choices.document, node.of)
    assert window.choices.algorithm["name"] == "optimal"
    release = window.anonymize(Watched())
    assert dict(zip(("age", "sex", "zip"), release.recoding.levels, strict=True)) == node.of
    exploring.free_levels(window.choices.document)
    assert not any("levels" in settings for settings in window.choices.columns.values())


def test_a_node_that_a_run_refuses_hides_none_that_loses_less_than_all_stars():
    """The first is refused, and beats the second in both, so that only the third would be left: nearly all ``*``."""
    refused, kept, stars = (
        Node(levels, True, 0, classes, 5, score, False, 0.0)
        for levels, score, classes in (((1, 0), 0.1, 20), ((1, 1), 0.2, 25), ((4, 5), 0.9, 1))
    )
    nodes = (refused, kept, stars)
    space = SolutionSpace(("age", "zip"), 30, "loss (mean)", nodes, refused, proved=True, records=100)
    policy = SimpleNamespace(with_levels=dict)
    work = SimpleNamespace(
        policy=lambda: policy, is_feasible=lambda levels, _: levels != {"age": 1, "zip": 0}
    )
    points = exploring.of_lattice(work, space, Watched())
    assert [each.of for each in points.values()] == [{"age": 1, "zip": 1}, {"age": 4, "zip": 5}]
    assert exploring.best(points, {})[0] == "1"
    assert points["1"].loss == 0.2


def short_lists(window):
    window.choices.document["set_limit"] = 1


def conservative(window):
    window.choices.document["wildcards"] = "conservative"


def an_attacker(window):
    models = [{"model": "k-anonymity", "k": 20}]
    window.choices.document["attackers"] = [{"name": "a", "knows": ["age", "zip"], "models": models}]


def a_population(window):
    window.choices.models.append({"model": "k-map", "k": 3})
    path = window.place(".csv")
    hospital(900, seed=7).select("age", "sex", "zip").write_csv(path)
    window.set_population(str(path))


def a_treatment(window):
    window.choices.columns["age"]["treat"] = {"round": 5}


def fixed_levels(window):
    window.choices.columns["age"]["levels"] = [1, 2]


def a_seed(window):
    window.choices.document["seed"] = 5


@pytest.mark.few(1)
@pytest.mark.parametrize(
    "change",
    quick(
        [short_lists, conservative, an_attacker, a_population, a_treatment, fixed_levels, a_seed],
        conservative,
        an_attacker,
        a_treatment,
    ),
    ids=lambda change: change.__name__,
)
def test_what_is_offered_is_released_by_a_run(gaps, change):
    window, offered = gaps, []
    window.choices.models[:] = [{"model": "k-anonymity", "k": 5}]
    window.choices.document["max_suppression"] = 0.05
    change(window)
    before = deepcopy(window.choices.document)
    runs = window.compare(["mondrian", "datafly", "random"], [2, 5], Watched())
    nodes = exploring.of_lattice(window, window.explore(Watched()), Watched())
    for points, take in ((exploring.of_runs(runs), exploring.take_setting), (nodes, exploring.take_levels)):
        for point in points.values():
            take(window.choices.document, point.of)
            offered.append(window.anonymize(Watched()).privacy.holds)
            if take is exploring.take_setting:
                # It is the very release that was compared.
                assert window.release.utility["loss"].value == pytest.approx(point.loss)
            window.choices.document.clear()
            window.choices.document.update(deepcopy(before))
    assert all(offered)
    # A point may be missing only where a run says why.
    assert all(run.problem or run.utility for run in runs)
    assert bool(offered) is (change is not conservative)


@pytest.fixture
def gaps(tmp_path):
    """A window on a table with missing cells, which wildcards match."""
    table = hospital(400).select("age", "sex", "zip", "diagnosis")
    gone = pl.int_range(400)
    table = table.with_columns(
        sex=pl.when(gone % 17 != 0).then(pl.col("sex")), zip=pl.when(gone % 13 != 0).then(pl.col("zip"))
    )
    table.write_csv(tmp_path / "people.csv")
    found = Work()
    found.open(Source(tmp_path / "people.csv", "people.csv"))
    yield found
    found.close()


def point(label, loss, risk, k=5):
    return Point(label, label.partition(",")[0], loss, risk, 3, SimpleNamespace(k=k))


def test_of_the_settings_that_keep_the_limits_the_one_that_loses_least_is_recommended():
    points = {
        "1": point("a", 0.1, 0.5, k=2),
        "2": point("a", 0.3, 0.2),
        "4": point("b", 0.2, 0.2, k=9),
        "10": point("b", 0.2, 0.2, k=9),
    }
    document = {"models": [{"model": "k-map", "k": 50}, {"model": "k-anonymity", "k": 5}]}
    number, why = exploring.best(points, document)
    assert number == "4"
    assert why == "4 is recommended: among the settings that keep every limit it loses least."
    assert exploring.best(points, {})[0] == "1"
    none, why = exploring.best(points, {"models": [{"model": "k-anonymity", "k": 10}]})
    assert (none, why) == (
        None,
        "None is recommended: nothing with k of at least 10 keeps every limit.",
    )


def test_points_at_one_place_stand_beside_each_other_in_colours_of_their_algorithms():
    points = {
        "1": point("a, k = 2", 0.25, 0.5),
        "2": point("b, k = 2", 0.25, 0.5),
        "3": point("a, <i>{b}</i>\u202e", 0.5, 0.1),
    }
    figures = exploring.chart(points, "3", "largest risk", "loss", "%")
    first, second = figures["series"]
    assert [each["name"] for each in figures["series"]] == ["a", "b"]
    assert (first["symbol"], first["color"]) != (second["symbol"], second["color"])
    assert [each["value"] for each in first["data"]] == [[50, 25], [10, 50]]
    assert [each["symbolOffset"][0] for each in (*first["data"], *second["data"])] == [0, 0, 18]
    assert second["data"][0]["told"] == "2: b, k = 2\nloss 25.0%\nlargest risk 50.0%\nsuppressed 3"
    assert first["data"][1]["told"].startswith("3: a, <i>{b}</i>\\u202e\n")
    assert first["data"][1]["label"]["formatter"] == "{b} recommended"
    assert (figures["xAxis"]["name"], figures["yAxis"]["name"]) == ("largest risk, %", "loss, %")
    # Where all is suppressed, or nothing lost, there is still a place.
    nothing = exploring.chart({"1": point("a", 0.0, 0.0)}, None, "mean risk", "height", "")
    assert nothing["series"][0]["data"][0]["value"] == [0, 0]
    assert nothing["yAxis"]["name"] == "height"


def test_the_colours_of_points_stand_out_from_a_light_and_a_dark_page():
    def light(colour):
        parts = [int(colour[place : place + 2], 16) / 255 for place in (1, 3, 5)]
        red, green, blue = (
            each / 12.92 if each <= 0.04 else ((each + 0.055) / 1.055) ** 2.4 for each in parts
        )
        return 0.2126 * red + 0.7152 * green + 0.0722 * blue + 0.05

    for colour in exploring._COLOURS:
        assert light("#ffffff") / light(colour) >= 3, colour
        assert light(colour) / light("#121212") >= 3, colour


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


@pytest.mark.slow
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
