"""Local recoding by levels, read once more with dictionaries."""

from __future__ import annotations

from collections import Counter
from itertools import product

import numpy as np
import polars as pl
import pytest
from hypothesis import HealthCheck, assume, example, given, reject, settings
from hypothesis import strategies as st

import incrowd as ic
from incrowd.engines import engine_for
from incrowd.search import SearchProblem, _sweep
from incrowd.search._level_sweep import _LevelSweep
from town_tables import NORTH, TOWNS

AGES = ic.Hierarchy.from_nested({"*": {"20s": {"20-24": ["20", "24"], "25-29": ["25"]}, "30s": ["30"]}})
CLIMB = {
    "age": {
        "20": ["20", "20-24", "20s", "*"],
        "24": ["24", "20-24", "20s", "*"],
        "25": ["25", "25-29", "20s", "*"],
        "30": ["30", "30s", "*", "*"],
    },
    "town": {town: [town, side, "*"] for town, side in NORTH.items()},
}
# Values below a node, less one, over all values, less one.
LOST = {"20-24": 1 / 3, "20s": 2 / 3, "north": 1 / 4, "south": 2 / 4, "*": 1.0}
SCHEMA = ic.Schema(quasi={"age": AGES, "town": TOWNS}, sensitive=["ill"])
SWEEP = ic.Optimal(recode_suppressed=True)


@pytest.fixture(scope="module", params=[1, 4], autouse=True)
def columns_at_once(request):
    """Group column after column, and as many at once as usual."""
    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(_sweep, "_AT_ONCE", request.param)
        yield


def made_up(seed: int, rows: int) -> pl.DataFrame:
    draw = np.random.default_rng(seed)
    return pl.DataFrame(
        {
            "age": draw.choice(["20", "24", "25", "30"], rows).tolist(),
            "town": draw.choice(list("abcde"), rows).tolist(),
            "ill": draw.choice(["u", "v", "w"], rows).tolist(),
        }
    )


def cell(row: tuple, node: tuple[int, ...]) -> tuple[str, str]:
    return CLIMB["age"][row[0]][node[0]], CLIMB["town"][row[1]][node[1]]


def loss(cells: tuple[str, str]) -> float:
    return sum(LOST.get(each, 0.0) for each in cells) / 2


def slow_sweep(rows: list[tuple], k: int) -> dict[tuple, tuple[int, ...]]:
    """Return the node at which each combination of values is released."""
    nodes = sorted(
        product(range(4), range(3)),
        key=lambda node: (round(sum(loss(cell(row, node)) for row in rows) / len(rows), 9), node),
    )
    left, result = list(rows), {}
    for node in nodes[:-1]:
        groups = Counter(cell(row, node) for row in left)
        result |= {row[:2]: node for row in left if groups[cell(row, node)] >= k}
        left = [row for row in left if row[:2] not in result]
    return result


def swept(table: pl.DataFrame, models, share: float = 1.0) -> _LevelSweep:
    result = _LevelSweep(
        SearchProblem(engine_for(table).count(SCHEMA).frequency, models, SCHEMA.quasi, share)
    )
    result.release_in_order()
    return result


def levels_of(found: _LevelSweep, table: pl.DataFrame) -> dict[tuple, tuple[int, ...]]:
    class_of = found.class_of[found.frequency.row_keys]
    levels = found.levels.tolist()
    return {
        row[:2]: tuple(levels[number])
        for row, number in zip(table.rows(), class_of.tolist(), strict=True)
        if number >= 0
    }


@example(2**32 - 1, 11, 2)  # two nodes cost the same, but for the last bit of their sums
@given(st.integers(0, 2**32 - 1), st.integers(2, 40), st.integers(2, 5))
def test_whoever_has_company_is_released_at_the_cheapest_levels(seed, rows, k):
    table = made_up(seed, rows)
    classes = swept(table, [ic.KAnonymity(k)])
    assert levels_of(classes, table) == slow_sweep(table.rows(), k)


@settings(suppress_health_check=[HealthCheck.filter_too_much])
@given(st.integers(0, 2**32 - 1), st.integers(6, 40), st.integers(2, 5))
def test_whoever_is_left_joins_the_class_that_loses_least(seed, rows, k):
    table = made_up(seed, rows)
    released = slow_sweep(table.rows(), k)
    left = [row for row in table.rows() if row[:2] not in released]
    assume(len({row[:2] for row in left}) == 1 and len(left) < len(table))
    classes: dict[tuple, list] = {}
    for row in table.rows():
        if row[:2] in released:
            node = released[row[:2]]
            classes.setdefault((cell(row, node), node), []).append(row)
    before = sum(loss(cells) * len(members) for (cells, _), members in classes.items())

    def joined(cells, node, members) -> float:
        higher = [
            loss(cell(left[0], other))
            for other in product(range(node[0], 4), range(node[1], 3))
            if len({cell(row, other) for row in [*members, left[0]]}) == 1
        ]
        least = min(higher)
        return float("inf") if least == 1 else least * (len(members) + len(left)) - loss(cells) * len(members)

    grows = min(joined(*about, members) for about, members in classes.items())
    best = before + min(grows, len(left))
    result = swept(table, [ic.KAnonymity(k)])
    result.join_left()
    assert result.loss_of(result.recoding("optimal")) == pytest.approx(best / len(table), abs=1e-12)


@pytest.mark.slow
@given(st.integers(0, 2**32 - 1), st.integers(6, 60), st.integers(2, 4), st.sampled_from([0.0, 0.2, 1.0]))
def test_models_hold_and_nothing_is_lost_by_a_sweep(seed, rows, k, share):
    table = made_up(seed, rows)
    models = [ic.KAnonymity(k), ic.LDiversity(2)]
    search = ic.Optimal(recode_suppressed=True, rounds="search")
    try:
        other = ic.anonymize(
            table, SCHEMA, models, search, max_suppression=share, suppressed="keep", keep_order=True
        )
    except ic.InfeasibleError:
        reject()
    release = ic.anonymize(
        table, SCHEMA, models, SWEEP, max_suppression=share, suppressed="keep", keep_order=True
    )
    assert release.utility["loss"].value <= other.utility["loss"].value + 1e-12
    assert release.privacy.suppressed <= share * rows
    classes: dict[tuple, list] = {}
    for raw, row in zip(table.rows(), release.table.rows(), strict=True):
        assert row[0] in CLIMB["age"][raw[0]]
        assert row[1] in CLIMB["town"][raw[1]]
        if row[:2] != ("*", "*"):
            classes.setdefault(row[:2], []).append(row[2])
    assert all(len(ill) >= k and len(set(ill)) >= 2 for ill in classes.values())


def test_bounds_of_levels_are_kept_and_two_values_that_never_meet_stay_apart():
    table = pl.DataFrame({"age": ["20"] * 3 + ["30"], "town": ["a"] * 3 + ["b"]})
    schema = ic.Schema.of_attributes(
        [
            ic.Attribute("age", "quasi", hierarchy=AGES, levels=(0, 2)),
            ic.Attribute("town", "quasi", hierarchy=TOWNS, levels=(1, 2)),
        ]
    )
    release = ic.anonymize(
        table, schema, "k-anonymity:2", SWEEP, max_suppression=0.3, suppressed="keep", keep_order=True
    )
    assert release.table.rows() == [("20", "north")] * 3 + [("*", "*")]


def test_deep_hierarchies_lose_less_by_a_sweep():
    table = ic.samples.hospital(2000, seed=2).select("zip", "age", "diagnosis")
    trees = {"zip": ic.Hierarchy.prefix(), "age": ic.Hierarchy.intervals(5, 10, 20, 40)}
    schema = ic.Schema(quasi=trees, sensitive=["diagnosis"])
    lost = [
        ic.anonymize(
            table, schema, ["k-anonymity:5", "l-diversity:2"],
            ic.Optimal(recode_suppressed=True, rounds=rounds), max_suppression=1.0, suppressed="keep",
        ).utility["loss"].value
        for rounds in ("sweep", "search")
    ]  # fmt: skip
    assert lost[0] < 0.6 * lost[1]


@pytest.mark.few(1)
def test_where_a_model_is_about_all_classes_of_a_person_there_is_no_sweep():
    table = ic.samples.encounters(300, people=120, seed=1)
    schema = ic.Schema(
        quasi={"age": ic.Hierarchy.intervals(5, 10, 20, 40), "sex": ic.Hierarchy.flat()},
        person="patient_id", unlisted="drop",
    )  # fmt: skip
    rows = [
        ic.anonymize(
            table, schema, "km-anonymity:k=2,power=2", ic.Optimal(recode_suppressed=True, rounds=rounds),
            max_suppression=1.0, suppressed="keep", keep_order=True,
        ).table.rows()
        for rounds in ("sweep", "search")
    ]  # fmt: skip
    assert rows[0] == rows[1]


TREE = ic.Hierarchy.from_paths([["a", "A", "*"], ["b", "A", "*"], ["c", "C", "*"]])


@pytest.mark.few(3)
@pytest.mark.parametrize("algorithm", [ic.Optimal, ic.Datafly, ic.Samarati])
@pytest.mark.parametrize("rounds", ["sweep", "search"])
def test_a_sweep_in_which_no_class_holds_leaves_what_the_search_found(algorithm, rounds):
    """A sweep knows the people of single values in a population, and not yet the people of a cell."""
    frame, people = pl.DataFrame({"q": ["c", "a"]}), pl.DataFrame({"q": ["c", "a", "b"]})
    release = ic.anonymize(
        frame, ic.Schema(quasi={"q": TREE}), [ic.DeltaPresence(0.55)],
        algorithm(recode_suppressed=True, rounds=rounds), population=people, max_suppression=0.5, suppressed="keep",
    )  # fmt: skip
    # A is true of one of two people. C is true of the one person whom the table has.
    assert sorted(release.table["q"]) == ["*", "A"]
    assert release.privacy.privacy[0].value == 0.5
