"""Searches of huge lattices and trees of long texts: refused beforehand, or ended by a budget."""

from __future__ import annotations

import math
from types import SimpleNamespace

import numpy as np
import polars as pl
import pytest

import incrowd as ic
from incrowd.core.hierarchy.builders import Flat, Prefix
from incrowd.core.kernels.lattice.lattice import choose_nodes
from incrowd.search import ALGORITHMS, _sweep, base
from incrowd.search.lattice import explorer, lattice
from incrowd.search.lattice.rollup import Rollup
from incrowd.search.lattice.sizes import Sizes

COLUMNS = [f"q{number}" for number in range(20)]
REFUSED = ["bottom-up", "samarati", "incognito", "ola", "flash"]
BOUNDED = [ic.Optimal(budget="40"), ic.Optimal(budget="1s"), ic.Datafly()]


@pytest.fixture(scope="module")
def wide() -> pl.DataFrame:
    """Twenty columns of two digits, three levels each: 3 ** 20 nodes."""
    digits = np.random.default_rng(1).integers(10, 100, (60, len(COLUMNS))).astype(str)
    return pl.DataFrame(digits, schema=COLUMNS, orient="row")


def hierarchies(*, free: int = len(COLUMNS)) -> ic.Schema:
    """Give every column three levels, and fix all but the first few columns at the last level."""
    bounds = {name: None if place < free else (2, 2) for place, name in enumerate(COLUMNS)}
    return ic.Schema(
        quasi={
            name: ic.Attribute(name, "quasi", hierarchy=Prefix(), levels=levels)
            for name, levels in bounds.items()
        }
    )


@pytest.mark.parametrize("name", REFUSED)
def test_a_lattice_too_large_is_refused_before_the_search(wide, name):
    with pytest.raises(ic.ParameterError, match=f"{name}: 20 quasi-identifiers have .* fix or bound levels"):
        ic.anonymize(wide, hierarchies(), [ic.KAnonymity(3)], ALGORITHMS.get(name)())


@pytest.mark.few(2)
@pytest.mark.parametrize("name", REFUSED)
def test_fixed_levels_make_a_large_lattice_small(wide, name):
    release = ic.anonymize(wide, hierarchies(free=2), [ic.KAnonymity(3)], ALGORITHMS.get(name)())
    assert release.table.group_by(COLUMNS).len()["len"].min() >= 3


@pytest.mark.slow
@pytest.mark.parametrize("name", [*REFUSED, "optimal"])
@pytest.mark.parametrize("free", [0, 2])
def test_fixed_levels_of_more_columns_than_an_array_has_axes_are_searched(name, free):
    columns = [f"q{number}" for number in range(70)]
    values = [[str(10 * (row % 2) + 10 + row % 3 * (place < 2)) for place in range(70)] for row in range(60)]
    quasi = {
        name: ic.Attribute(name, "quasi", hierarchy=Prefix(), levels=None if place < free else (1, 1))
        for place, name in enumerate(columns)
    }
    table = pl.DataFrame(values, schema=columns, orient="row")
    release = ic.anonymize(table, ic.Schema(quasi=quasi), [ic.KAnonymity(15)], ALGORITHMS.get(name)())
    levels = release.lattice.best.levels
    assert sum(levels[:free]) == free
    assert set(levels[free:]) == {1}


def yes_or_no(*, four: int, two: int, fixed: int = 0) -> tuple[pl.DataFrame, ic.Schema]:
    """Make a table of columns with four levels and with two, and fix the latter."""
    random = np.random.default_rng(4)
    columns = [f"q{number}" for number in range(four + two)]
    digits = [random.integers(100, 1000, 40) if place < four else random.integers(0, 2, 40)
              for place in range(four + two)]  # fmt: skip
    quasi = {
        name: ic.Attribute(
            name, "quasi", hierarchy=Prefix(), levels=(1, 1) if place >= four + two - fixed else None
        )
        for place, name in enumerate(columns)
    }
    return pl.DataFrame(dict(zip(columns, digits, strict=True))).cast(pl.String), ic.Schema(quasi=quasi)


@pytest.mark.few(1)
@pytest.mark.parametrize(
    ("name", "two", "refused"),
    [
        ("incognito", 18, "20 quasi-identifiers have 9,685,512,225 combinations of levels"),
        (
            "bottom-up",
            15,
            "17 quasi-identifiers have 524,288 combinations of levels, and it looks at 262,144",
        ),
        ("samarati", 15, "17 quasi-identifiers have 524,288 combinations of levels, and it looks at 262,144"),
    ],
)
def test_many_columns_of_few_levels_are_refused_until_most_are_fixed(name, two, refused):
    table, schema = yes_or_no(four=2, two=two)
    with pytest.raises(ic.ParameterError, match=refused):
        ic.anonymize(table, schema, [ic.KAnonymity(3)], ALGORITHMS.get(name)())
    table, schema = yes_or_no(four=2, two=two, fixed=two - 2)
    release = ic.anonymize(table, schema, [ic.KAnonymity(3)], ALGORITHMS.get(name)())
    assert release.lattice.size == 4**2 * 2**2


@pytest.mark.slow
def test_few_nodes_are_held_at_once(wide, monkeypatch):
    """Each takes some bytes per key, and a level of the lattice may have a hundred thousand nodes."""
    held = []
    work = Sizes.look
    monkeypatch.setattr(
        Sizes, "look", lambda self, levels, served: held.append(len(levels)) or work(self, levels, served)
    )
    release = ic.anonymize(wide, hierarchies(free=8), [ic.KAnonymity(3)], ALGORITHMS.get("bottom-up")())
    assert sum(held) == len(release.lattice.nodes) > 1000
    assert max(held) <= 64


@pytest.mark.slow
@pytest.mark.parametrize(
    ("levels", "models", "share", "proved"),
    [
        ("three", [ic.KAnonymity(3)], 0.0, False),
        # Classes that are too small at one node settle most others, so two dozen nodes prove it.
        ("two", [ic.KAnonymity(3)], 0.0, True),
        ("two", [ic.KAnonymity(3)], 0.3, False),
        ("two", [ic.TCloseness(0.2)], 0.05, False),
    ],
)
def test_optimal_without_a_budget_ends_on_twenty_columns(wide, monkeypatch, levels, models, share, proved):
    """Of lattices between 2 ** 18 and 2 ** 22 nodes some need hours, so there is a budget by default."""
    seconds = iter(range(0, 10**9, 20))
    monkeypatch.setattr(lattice, "time", SimpleNamespace(monotonic=lambda: next(seconds)))
    table, schema = (wide, hierarchies()) if levels == "three" else yes_or_no(four=0, two=20)
    table = table.with_columns(s=pl.Series([str(row % 3) for row in range(len(table))]))
    schema = ic.Schema(quasi={name: schema[name] for name in COLUMNS}, sensitive=["s"])
    release = ic.anonymize(table, schema, models, ic.Optimal(), max_suppression=share, suppressed="keep")
    assert release.lattice.size in (3**20, 2**20)
    assert next(seconds) <= 600 + 60 + 4 * 20
    assert release.lattice.proved == proved


@pytest.mark.few(1)
@pytest.mark.parametrize("algorithm", BOUNDED, ids=str)
def test_what_the_refusal_advises_ends(wide, algorithm):
    release = ic.anonymize(wide, hierarchies(), [ic.KAnonymity(3)], algorithm)
    assert release.table.group_by(COLUMNS).len()["len"].min() >= 3


def test_a_lattice_is_explored_within_a_budget(wide):
    policy = ic.Policy(hierarchies(), (ic.KAnonymity(3),), algorithm=ic.Optimal(budget="40"))
    space = ic.explore(wide, policy)
    assert space.size == 3**20
    assert 40 <= len(space.nodes) < 40 + 21


@pytest.fixture
def searches(monkeypatch) -> list[explorer.Explorer]:
    """All explorers that the searches of a test make."""
    result = []
    begin = explorer.Explorer.__init__

    def noted(self, *args, **settings):
        result.append(self)
        begin(self, *args, **settings)

    monkeypatch.setattr(explorer.Explorer, "__init__", noted)
    return result


@pytest.fixture
def clock(monkeypatch) -> list[float]:
    """Seconds that pass where keys are grouped: a hundredth for each time."""
    now, looking = [0.0], Sizes.look

    def ticking(work):
        def done(*args):
            now[0] += 0.01 * (len(args[1]) if work is looking else 1)
            return work(*args)

        return done

    monkeypatch.setattr(lattice, "time", SimpleNamespace(monotonic=lambda: now[0]))
    monkeypatch.setattr(Rollup, "roll", ticking(Rollup.roll))
    monkeypatch.setattr(Sizes, "look", ticking(looking))
    monkeypatch.setattr(_sweep, "group_with_company", ticking(_sweep.group_with_company))
    return now


def in_rounds(free: int, rounds: str, budget: str) -> ic.Release:
    """Recode a thousand mostly rare rows, with the suppressed rows recoded in rounds."""
    digits = 10 + np.random.default_rng(1).geometric(0.1, (1_000, len(COLUMNS))) % 90
    table = pl.DataFrame(digits.astype(str), schema=COLUMNS, orient="row")
    algorithm = ic.Optimal(recode_suppressed=True, rounds=rounds, budget=budget)
    return ic.anonymize(
        table, hierarchies(free=free), [ic.KAnonymity(5)], algorithm, max_suppression=0.6, suppressed="keep"
    )


@pytest.mark.slow
@pytest.mark.parametrize("free", [7, 20])
@pytest.mark.parametrize("rounds", ["search", "sweep"])
def test_all_rounds_share_one_budget_of_time(clock, searches, rounds, free):
    in_rounds(free, rounds, "2s")
    assert len(searches) > 2
    # Each search looks at the top and what is below it, or at a few nodes, whatever time it has.
    assert clock[0] <= 2 + 0.01 * 25 * len(searches)
    assert clock[0] > 1


@pytest.mark.slow
@pytest.mark.parametrize("rounds", ["search", "sweep"])
def test_all_rounds_share_one_budget_of_nodes(searches, rounds):
    first = in_rounds(7, rounds, "60")
    assert len(searches) > 2
    assert sum(each.looked for each in searches) <= 60 + 2 * len(searches)
    again = in_rounds(7, rounds, "60")
    assert again.recoding.decisions() == first.recoding.decisions()


@pytest.mark.slow
def test_a_budget_that_is_too_short_for_the_whole_lattice_is_followed_by_a_search_from_the_top(wide):
    release = ic.anonymize(wide, hierarchies(free=8), [ic.KAnonymity(3)], ic.Optimal(budget="1"))
    assert not release.lattice.proved
    assert len(release.lattice.nodes) <= 2 + 9


PAIRS = ["k-member", "clustering", "mdav", "oka"]


@pytest.fixture(scope="module")
def million() -> pl.DataFrame:
    return pl.DataFrame({"number": np.arange(1_000_000), "group": np.arange(1_000_000) % 10})


@pytest.mark.slow
@pytest.mark.parametrize("name", PAIRS)
def test_a_million_distinct_records_are_refused_before_hours_of_comparisons(million, name):
    schema = ic.Schema(quasi=["number"], unlisted="drop")
    text = f"^{name}: 1,000,000 records are [0-9,]+ pairs to compare, and it compares 274,877,906,944 at most"
    with pytest.raises(ic.ParameterError, match=text + ".*use mondrian"):
        ic.anonymize(million, schema, [ic.KAnonymity(2)], ALGORITHMS.get(name)())


@pytest.mark.few(1)
@pytest.mark.parametrize("name", PAIRS)
def test_what_is_compared_grows_as_the_advice_says(million, monkeypatch, name):
    monkeypatch.setattr(base, "_MOST_PAIRS", 1000**2 // 2)
    algorithm, some = ALGORITHMS.get(name)(), million.head(2000)
    schema = ic.Schema(quasi=["number"], unlisted="drop")
    with pytest.raises(ic.ParameterError, match="a larger k"):
        ic.anonymize(some, schema, [ic.KAnonymity(2)], algorithm)
    release = ic.anonymize(some, schema, [ic.KAnonymity(10)], algorithm)
    assert release.table["number"].value_counts()["count"].min() >= 10
    mondrian = ic.anonymize(some, ic.Schema(quasi=["number"], unlisted="drop"), [ic.KAnonymity(2)])
    assert mondrian.table["number"].value_counts()["count"].min() >= 2


def test_many_classes_that_fail_a_model_are_not_compared_with_all_others(monkeypatch):
    monkeypatch.setattr(base, "_MOST_PAIRS", 1000)
    table = pl.DataFrame({"number": range(400), "s": ["same"] * 200 + ["other"] * 200})
    schema = ic.Schema(quasi=["number"], sensitive=["s"])
    with pytest.raises(ic.ParameterError, match=r"random: .* classes fail a model .* use mondrian"):
        ic.anonymize(table, schema, [ic.KAnonymity(2), ic.LDiversity(2)], ALGORITHMS.get("random")())
    release = ic.anonymize(table, schema, [ic.KAnonymity(2), ic.LDiversity(2)], ends="exact")
    assert release.table.group_by("number").agg(pl.col("s").n_unique())["s"].min() == 2


def test_prefixes_of_long_texts_are_refused():
    table = pl.DataFrame({"essay": [f"{number:03}" * 1000 for number in range(300)]})
    with pytest.raises(ic.HierarchyError, match=r"up to 3,000 characters long.*shorten the texts"):
        ic.anonymize(table, ic.Schema(quasi={"essay": Prefix()}), [ic.KAnonymity(2)])


@pytest.mark.slow
@pytest.mark.parametrize(
    ("rows", "width", "k", "wanted"),
    [
        (40, 50_000, 40, "up to 2,000,080 characters"),
        (90_000, 9, 10_000, "up to 123,750 characters, 11,137,500,000 in all records"),
    ],
)
def test_sets_that_would_fill_a_disk_are_refused(rows, width, k, wanted):
    """A cell of a megabyte stands in every record of the class."""
    table = pl.DataFrame({"name": [f"Z{row:0{width - 1}}" for row in range(rows)], "one": "1"})

    def of(**how) -> ic.Schema:
        return ic.Schema(quasi={"name": ic.Attribute("name", "quasi", kind="category", **how), "one": None})

    with pytest.raises(ic.SchemaError, match=f"column 'name': .* {wanted}.* give it a hierarchy") as error:
        ic.anonymize(table, of(), [ic.KAnonymity(k)])
    assert "Z" not in str(error.value)
    for way_out in (of(hierarchy=Flat()), of(output="suppress")):
        assert set(ic.anonymize(table, way_out, [ic.KAnonymity(k)]).table["name"]) == {"*"}
    with pytest.raises(ic.SchemaError, match="cells that list or repeat them would hand them out"):
        ic.anonymize(table, of(), [ic.KAnonymity(4)])


@pytest.mark.slow
@pytest.mark.parametrize("learned", [False, True])
def test_chosen_nodes_of_many_columns_settle_most_and_are_not_comparable(learned):
    columns, many = 10, 16
    size = 2**columns
    shape, strides = np.full(columns, 2), 2 ** np.arange(columns - 1, -1, -1)
    alive = np.random.default_rng(2).random(size) < 0.7
    order = np.random.default_rng(3).permutation(size)
    chosen = np.empty(many, np.int64)
    counts = np.empty((1 + learned, size), np.int32)
    result = choose_nodes(order[alive[order]], shape, strides, counts, many, chosen)
    after = {int(node): int(alive[order[place:]].sum()) for place, node in enumerate(order)}
    living = np.flatnonzero(alive).tolist()

    def settled(node: int) -> float:
        below = sum(other & node == other for other in living)
        holds = after[node]
        if learned:
            holds = math.sqrt(holds * sum(other & node == node for other in living))
        return holds * below / (holds + below)

    expected: list[int] = []
    while len(expected) < many:
        free = [
            int(node)
            for node in order[::-1]
            if alive[node] and all(node & other not in (node, other) for other in expected)
        ]
        if not free:
            break
        expected.append(max(free, key=settled))
    assert chosen[:result].tolist() == expected
