"""The people of a population whom the cells of a table cover."""

from __future__ import annotations

import datetime as dt

import numpy as np
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

import incrowd as ic
from incrowd.core.kernels import jit
from incrowd.core.reading.cells import read_span
from incrowd.engines import engine_for, read_classes, with_population


def covered(cells: list[str | None], people: list[object], **spec) -> tuple[list[int], int]:
    """Return the people of each distinct cell, in order of first appearance, and the people outside."""
    [(name, hierarchy)] = spec.items() or [("q", None)]
    table = pl.DataFrame({name: cells}, schema={name: pl.String})
    population = pl.DataFrame({name: people}, strict=False)
    classes = read_classes(table, ic.Schema(quasi={name: hierarchy}), population=population)
    result = {classes.cells(number)[name]: int(n) for number, n in enumerate(classes.population)}
    counts = classes.frequency.population
    assert counts.records == len(people)
    return [result[cell] for cell in dict.fromkeys(cells)], counts.outside


def test_values_and_stars():
    assert covered(["a", "b"], list("aabc"), q=None) == ([2, 1], 1)
    assert covered(["a"], ["a", None, ""], q=None) == ([1], 2)
    assert covered([None, "a"], ["a", None, ""], q=None) == ([1, 1], 1)


def test_star_in_one_of_two_columns_covers_everything_there():
    table = pl.DataFrame({"a": ["x", "*"], "b": ["*", "1"]})
    people = pl.DataFrame({"a": ["x", "x", "y", None], "b": ["1", "2", "1", None]})
    classes = read_classes(table, ic.Schema(quasi=["a", "b"]), population=people)
    # The person (x, 1) is covered by both cells, and counts in both.
    assert classes.population.tolist() == [2, 2]
    assert classes.frequency.population.outside == 1


BIG = 2**53
MOMENTS = [
    dt.datetime(2020, 1, 1, 8, 0, 0, 1),
    dt.datetime(2020, 1, 1, 9, 0, 0, 500_000),
    dt.datetime(2020, 1, 2),
]


@pytest.mark.parametrize(
    ("cell", "people", "expected"),
    [
        ("[10-20]", [9, 10, 15, 20, 21], 3),
        ("[-5--1]", [-6, -5, -1, 0], 2),
        ("[0.5-1.25]", [0.25, 0.5, 1.0, 1.25, 1.5], 3),
        ("[10-20]", ["9", "10", "15.5", "20", "no number"], 3),
        ("34", ["34", "34.0", "35"], 2),
        # One text that is no number makes the column one of categories.
        ("34", ["34", "34.0", "034"], 1),
        ("{34, x}", ["34", "34.0", "x", "y"], 2),
        ("34", [34, 34.0, 35], 2),
        ("02139", ["02139", "2139"], 1),
        ("[2020-01-01 to 2020-01-31]", ["2019-12-31", "2020-01-01", "2020-01-31", "2020-02-01"], 2),
        ("[2020-01-01 to 2020-01-31]", [dt.date(2020, 1, 5), dt.date(2021, 1, 5)], 1),
        ("{a, b}", ["a", "b", "c", "a, b"], 2),
        (r"{a\, b, c\\, \{d\}}", ["a, b", "c\\", "{d}", "a", "d"], 3),
        ("{, a}", ["a", None, "", "b"], 2),
        ("{, a}", ["a", None, "b"], 1),
        ("{a, <missing>}", ["a", None, "", "b", "<missing>"], 2),
        (r"{a, \<missing>}", ["a", None, "", "b", "<missing>"], 2),
        ("{1, 2}", [1, 2, 3], 2),
        ("[1-2]", ["[1-2]", "1"], 1),
        # As doubles these fall together.
        (str(BIG + 1), [BIG, BIG + 1, BIG + 2], 1),
        (str(BIG + 1), [str(BIG), f"{BIG + 1}.0"], 1),
        (f"[{BIG + 1}-{BIG + 2}]", [BIG, BIG + 1, BIG + 2, BIG + 3], 2),
        (f"{{{BIG}, {BIG + 2}}}", [BIG, BIG + 1, BIG + 2, BIG + 3], 2),
        ("0.10000000000000000001", ["0.1", "0.10000000000000000001", "0.100000000000000000010"], 2),
        ("[0.1-0.2]", ["0.09999999999999999999", "0.1", "0.2", "0.20000000000000000001"], 2),
        ("[1e+16-2.5e+16]", [1e16, 2e16, 3e16], 2),
        ("[2020-01-01T08:00:00 to 2020-01-01T09:00:00.5]", MOMENTS, 2),
        ("[a-b]", ["a", "b"], 0),
        ("{a", ["a"], 0),
        ("nothing", ["a"], 0),
    ],
)
def test_ranges_and_sets(cell, people, expected):
    counts, outside = covered([cell], people, q=None)
    assert counts == [expected]
    assert outside == len(people) - expected


def test_texts_of_a_declared_category_are_no_numbers():
    assert covered(["1"], ["1", "1.0"], q="category") == ([1], 1)


LIKE_NUMBERS = ["1.0", "1", "1", "x", "x"]
"""Of a population, one person alone has 1.0."""


@pytest.mark.few(6)
@pytest.mark.parametrize("spec", [None, "category", ic.Hierarchy.flat(), ic.Hierarchy.prefix()])
@pytest.mark.parametrize("values", [LIKE_NUMBERS, ["1.0", "1", "1", "2", "2"]], ids=["words", "numbers"])
@pytest.mark.parametrize(
    "algorithm", [ic.Mondrian(), ic.Optimal(), ic.Datafly(), ic.CellSuppression()], ids=lambda one: one.name
)
def test_letters_decide_in_a_column_of_categories(algorithm, spec, values):
    """Equal numbers are one value only in a column of numbers without a hierarchy."""
    frame = pl.DataFrame({"q": values})
    schema = ic.Schema(quasi={"q": spec})
    numbers = spec is None and values is not LIKE_NUMBERS
    release = ic.anonymize(
        frame, schema, [ic.KMap(2)], algorithm=algorithm, population=frame, max_suppression=1.0
    )
    assert release.table["q"].to_list().count("1.0") == 0
    assert release.privacy.privacy[0].value >= 2
    # With a limit that the table meets as it is, every cell stays.
    alone = ic.anonymize(frame, schema, [ic.KMap(1)], algorithm=algorithm, population=frame)
    assert sorted(alone.table["q"]) == sorted(["1", "1", "1", *values[3:]] if numbers else values)
    assert alone.privacy.privacy[0].value == (2 if numbers else 1)
    assert alone.privacy.risk["journalist"]["max"] == (1 / 2 if numbers else 1)


def test_models_of_a_population_tell_big_numbers_apart():
    """Three people have numbers of the same double, and each is alone."""
    table = pl.DataFrame({"id": [BIG, BIG + 1], "s": ["x", "y"]})
    people = pl.DataFrame({"id": [BIG, BIG + 1, BIG + 1]})
    schema = ic.Schema(quasi=["id"], sensitive=["s"])
    assessment = ic.assess(table, schema, [ic.KMap(1), ic.DeltaPresence(1.0)], population=people)
    assert [measured.value for measured in assessment.privacy[:3]] == [1, 1.0, 0.5]
    assert assessment.risk["journalist"]["max"] == 1
    release = ic.anonymize(table, schema, [ic.KMap(3)], population=people, ends="exact")
    assert release.table["id"].to_list() == [f"[{BIG}-{BIG + 1}]"] * 2
    far = ic.anonymize(
        table,
        schema,
        [ic.KMap(3)],
        population=pl.concat([people, people.select(id=pl.lit(BIG + 2))]),
        ends="exact",
    )
    assert far.privacy.privacy[0].value == 3


TREE = ic.Hierarchy.from_nested({"all": {"A": ["a1", "a2"], "B": ["b1", "b2"]}})


def test_nodes_of_a_hierarchy():
    people = ["a1", "a1", "a2", "b1", "zz", None]
    assert covered(["A", "b1", "B"], people, q=TREE) == ([3, 1, 1], 2)
    # The root covers the missing value, too, as it does in a release.
    assert covered(["all"], people, q=TREE) == ([5], 1)
    assert covered(["1****", "23456"], ["12345", "19999", "23456", "23457"], q=ic.Hierarchy.prefix()) == (
        [2, 1],
        1,
    )


def test_a_label_that_is_no_longer_known_covers_nobody():
    """A cell that was written under another hierarchy makes k-map and delta-presence fail, not pass."""
    table = pl.DataFrame({"q": ["Q", "Q"]})
    people = pl.DataFrame({"q": ["a1", "a2"]})
    assert ic.privacy.k_map(table, {"q": TREE}, people) == 0
    assert ic.privacy.delta_presence(table, {"q": TREE}, people) == (0, np.inf)


CELLS = ("*", "A", "B", "a1", "a2", "b1", "all", "{a1, b1}")
LEAVES = {"*": "a1 a2 b1 b2", "all": "a1 a2 b1 b2", "A": "a1 a2", "B": "b1 b2", "{a1, b1}": "a1 b1"}


@given(
    keys=st.lists(
        st.tuples(st.sampled_from(CELLS), st.sampled_from(["[1-3]", "[2-5]", "4", "*"])),
        min_size=1,
        max_size=12,
    ).filter(lambda keys: ("*", "*") not in keys),
    people=st.lists(
        st.tuples(st.sampled_from(["a1", "a2", "b1", "b2"]), st.integers(1, 6)), min_size=1, max_size=30
    ),
    threads=st.sampled_from(["1", "2"]),
)
def test_overlapping_cells_are_counted_as_by_hand(keys, people, threads):
    table = pl.DataFrame(keys, schema=["q", "n"], orient="row")
    population = pl.DataFrame(people, schema=["q", "n"], orient="row")
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(jit, "PARALLEL_FROM", 1)
        patch.setenv("INCROWD_THREADS", threads)
        classes = read_classes(table, ic.Schema(quasi={"q": TREE, "n": None}), population=population)

    def fits(key, person):
        low, high = {"[1-3]": (1, 3), "[2-5]": (2, 5), "4": (4, 4), "*": (1, 6)}[key[1]]
        return person[0] in LEAVES.get(key[0], key[0]).split() and low <= person[1] <= high

    for number, n in enumerate(classes.population.tolist()):
        key = tuple(classes.cells(number).values())
        assert n == sum(fits(key, person) for person in people)
    outside = sum(not any(fits(key, person) for key in keys) for person in people)
    assert classes.frequency.population.outside == outside


def test_a_search_knows_its_population_by_values():
    frame = pl.DataFrame({"q": ["a1", "a2", "b1"], "n": [1, 2, 3]})
    schema = ic.Schema(quasi={"q": TREE, "n": None})
    people = pl.DataFrame({"q": ["a1", "a1", "b1", "b2"], "n": [1, 1, 3, 3]})
    counts = with_population(engine_for(frame).count(schema).frequency, schema, people).population
    assert (counts.covered.tolist(), counts.outside) == ([2, 0, 1], 1)


def test_errors_name_the_population():
    frame = pl.DataFrame({"q": ["a"], "r": ["b"]})
    schema = ic.Schema(quasi=["q", "r"])
    with pytest.raises(ic.SchemaError, match="population: the table has no column 'r'"):
        ic.assess(frame, schema, [ic.KMap(1)], population=frame.select("q"))
    with pytest.raises(ic.ParameterError, match=r"k-map compares .* give one with population=, or"):
        ic.assess(frame, schema, [ic.KMap(1)])
    with pytest.raises(ic.ParameterError, match="k=5 is more than the population's 1 records"):
        ic.assess(frame, schema, [ic.KMap(5)], population=frame)
    with pytest.raises(ic.ParameterError, match="give one with population="):
        ic.anonymize(frame, schema, [ic.DeltaPresence(0.5)])
    with pytest.raises(ic.ParameterError, match="attacker journalist goes with definition record only"):
        ic.Profitability("none", "table", "journalist")
    with pytest.raises(ic.ParameterError, match="delta_min must be at most delta_max"):
        ic.DeltaPresence(0.2, 0.3)


def test_releases_are_measured_against_the_whole_population(tmp_path):
    rng = np.random.default_rng(5)
    people = pl.DataFrame(
        {"age": rng.integers(18, 90, 3000), "zip": rng.choice(["02139", "02138", "10001", "94107"], 3000)}
    ).with_columns(pl.col("zip").cast(pl.String))
    sample = people.sample(300, seed=1).with_columns(s=pl.Series(rng.choice(["x", "y"], 300)))
    schema = ic.Schema(quasi={"age": None, "zip": ic.Hierarchy.prefix()}, sensitive=["s"])
    models = [ic.KMap(40), ic.DeltaPresence(0.25)]
    people.write_csv(tmp_path / "people.csv")
    release = ic.anonymize(sample, schema, models, population=tmp_path / "people.csv")
    reached = {measured.quantity: measured.value for measured in release.privacy.privacy[:3]}
    assert reached["k"] >= 40
    assert reached["delta_max"] <= 0.25
    # Counted once more, by hand: whom does each released cell cover?
    counted = {}
    for age, zip_ in set(release.table.select("age", "zip").rows()):
        low, high, *_ = read_span(age, "number") or (int(age), int(age))
        counted[age, zip_] = sum(
            low <= person[0] <= high and person[1].startswith(zip_.rstrip("*")) for person in people.rows()
        )
    assert min(counted.values()) == reached["k"]
    sizes = {
        (row["age"], row["zip"]): row["len"] for row in release.table.group_by("age", "zip").len().to_dicts()
    }
    assert max(sizes[key] / counted[key] for key in sizes) == reached["delta_max"]
    assert len(sizes) > 1
    # A file is written only after it was measured against the same people.
    release.write(tmp_path / "out.csv")
    release.write(tmp_path / "out.parquet")
    assert release.to_dict()["after"]["privacy"][0]["model"] == "k-map"
    with pytest.raises(ic.InfeasibleError, match=r"delta-presence reaches delta_min=0 where 0\.001"):
        ic.anonymize(sample.head(20), schema, [ic.DeltaPresence(1.0, 0.001)], population=people)
