"""Rounding of all cells: sums that hold at the least distance, or each cell at random by a key."""

from __future__ import annotations

from functools import reduce
from itertools import product

import numpy as np
import pytest

from incrowd.core.errors import ParameterError
from incrowd.core.hierarchy.tree import Hierarchy
from incrowd.release.tables.cells import Axis, Linked, with_totals
from incrowd.release.tables.rounding import round_controlled, round_randomly, round_to_midpoints

REGIONS = {"*": {"north": ["n1", "n2"], "south": ["s1", "s2"]}}


def axis(column: str, codes: int) -> Axis:
    return Axis(column, Hierarchy.from_nested({"*": [f"{column}{code}" for code in range(codes)]}))


AXES = {
    "one": [axis("a", 4)],
    "two": [axis("a", 2), axis("b", 3)],
    "two with regions": [Axis("region", Hierarchy.from_nested(REGIONS)), axis("b", 2)],
    "three": [axis("a", 2), axis("b", 2), axis("c", 2)],
}


def finest(rng: np.random.Generator, axes: list[Axis], most: int) -> np.ndarray:
    return rng.integers(0, most + 1, [len(each.tree.leaves) for each in axes])


def least_distance(inner: np.ndarray, axes: list[Axis], base: int, further: int) -> int | None:
    """The least distance of a rounding with holding sums, by all trials, or None."""
    counts = with_totals(inner, axes)
    choices = [
        [
            base * multiple
            for multiple in range(count // base - further, -(-count // base) + further + 1)
            if multiple >= 0
        ]
        for count in inner.ravel().tolist()
    ]
    tables = np.array(list(product(*choices))).reshape(-1, *inner.shape)
    cells = reduce(lambda all_, each: each[1].spread(all_, each[0] + 1), enumerate(axes), tables)
    apart = np.abs(cells - counts).reshape(len(cells), -1)
    # As many multiples away: a multiple of the base by `further`, another count by one more.
    most = np.where(counts % base == 0, further * base, (further + 1) * base - 1).ravel()
    low = base * (counts.ravel() // base - further)
    high = base * (-(-counts.ravel() // base) + further)
    flat = cells.reshape(len(cells), -1)
    near = ((flat >= low) & (flat <= high)).all(axis=1)
    assert (apart[near] <= most).all()
    return int(apart[near].sum(axis=1).min()) if near.any() else None


def check(rounding, counts: np.ndarray, linked: Linked, base: int) -> None:
    """The properties of every controlled rounding."""
    assert rounding.additive
    assert (rounding.cells % base == 0).all()
    assert (rounding.cells >= 0).all()
    assert rounding.distance == np.abs(rounding.cells - counts).sum()
    assert rounding.bound <= rounding.distance
    assert ((rounding.low <= counts) & (counts <= rounding.high)).all()
    matrix, most = linked.rows
    difference = matrix @ rounding.cells
    assert (difference >= 0).all()
    assert (difference <= most).all()


@pytest.mark.few(3)
@pytest.mark.parametrize("base", [2, 3, 5])
@pytest.mark.parametrize("shape", AXES)
def test_no_rounding_whose_sums_hold_lies_nearer(shape, base):
    axes = AXES[shape]
    linked = Linked.of_tables([axes])
    rng = np.random.default_rng(base)
    for _ in range(8):
        inner = finest(rng, axes, 2 * base)
        counts = with_totals(inner, axes).ravel()
        rounding = round_controlled(counts, linked, base)
        check(rounding, counts, linked, base)
        least = least_distance(inner, axes, base, 0)
        assert (rounding.further == 0) == (least is not None)
        if least is not None:
            assert rounding.distance == rounding.bound == least
            assert rounding.gap == 0
            # A multiple stays.
            assert (rounding.cells[counts % base == 0] == counts[counts % base == 0]).all()


@pytest.mark.parametrize(
    "inner",
    [
        [[[1, 1], [1, 2]], [[0, 1], [0, 1]]],
        [[[1, 1], [1, 1]], [[0, 1], [1, 2]]],
        # Here a released count of -2 would do as well.
        [[[1, 0], [1, 0]], [[1, 1], [0, 1]]],
        [[[1, 1], [0, 1]], [[1, 0], [1, 0]]],
    ],
)
def test_three_dimensions_without_a_near_rounding_take_further_multiples(inner):
    inner = np.array(inner)
    axes = AXES["three"]
    linked = Linked.of_tables([axes])
    assert least_distance(inner, axes, 2, 0) is None
    counts = with_totals(inner, axes).ravel()
    rounding = round_controlled(counts, linked, 2)
    check(rounding, counts, linked, 2)
    assert rounding.further == 1
    assert rounding.distance == rounding.bound == least_distance(inner, axes, 2, 1)
    assert rounding.high.tolist() == (rounding.cells + 3).tolist()


@pytest.mark.parametrize("base", [3, 5, 10])
def test_two_dimensions_always_have_a_near_rounding(base):
    axes = [axis("a", 15), Axis("region", Hierarchy.from_nested(REGIONS))]
    linked = Linked.of_tables([axes])
    rng = np.random.default_rng(base)
    for most in (2, 7, 1_000_000):
        counts = with_totals(finest(rng, axes, most), axes).ravel()
        rounding = round_controlled(counts, linked, base)
        check(rounding, counts, linked, base)
        assert rounding.further == 0
        assert rounding.gap == 0
        assert (np.abs(rounding.cells - counts) < base).all()
        assert rounding.low.tolist() == np.maximum(rounding.cells - base + 1, 0).tolist()


def test_linked_tables_share_their_rounded_cells():
    """Town by age and town by sex: sums hold in both, and each town has the same count."""
    towns, ages, sexes = axis("town", 4), axis("age", 3), axis("sex", 2)
    people = np.random.default_rng(4).integers(0, 5, (4, 3, 2))
    by_age = with_totals(people.sum(axis=2), [towns, ages])
    by_sex = with_totals(people.sum(axis=1), [towns, sexes])
    linked = Linked.of_tables([[towns, ages], [towns, sexes]])
    counts = np.zeros(linked.size, np.int64)
    for cells, table in zip(linked.cells, (by_age, by_sex), strict=True):
        counts[cells] = table.ravel()
    rounding = round_controlled(counts, linked, 3)
    check(rounding, counts, linked, 3)
    first, second = (
        rounding.cells[cells].reshape(table.shape)
        for cells, table in zip(linked.cells, (by_age, by_sex), strict=True)
    )
    assert first[:, 0].tolist() == second[:, 0].tolist()
    assert first[1:].sum(axis=0).tolist() == first[0].tolist()
    assert second[:, 1:].sum(axis=1).tolist() == second[:, 0].tolist()


def test_sums_of_overlapping_parts_stay_possible():
    """People with two diagnoses: the total is at most the sum of the parts and at least each part."""
    axes = [axis("diagnosis", 3)]
    linked = Linked.of_tables([axes], overlapping=["diagnosis"])
    counts = np.array([7, 4, 4, 2])
    rounding = round_controlled(counts, linked, 5)
    check(rounding, counts, linked, 5)
    assert rounding.cells.tolist() == [5, 5, 5, 0]


def test_multiples_alone_need_no_search():
    counts = np.array([15, 10, 5])
    rounding = round_controlled(counts, Linked.of_tables([[axis("a", 2)]]), 5)
    assert rounding.cells.tolist() == counts.tolist()
    assert (rounding.distance, rounding.gap) == (0, 0)


def test_no_time_is_said_with_the_way_out():
    axes = [axis("a", 12), axis("b", 12), axis("c", 12)]
    counts = with_totals(finest(np.random.default_rng(1), axes, 9), axes).ravel()
    with pytest.raises(ParameterError, match="allow more seconds"):
        round_controlled(counts, Linked.of_tables([axes]), 5, seconds=0)


def test_a_base_of_1_is_refused():
    linked = Linked.of_tables([[axis("a", 1)]])
    with pytest.raises(ParameterError, match="base=1 changes nothing"):
        round_controlled(np.array([1, 1]), linked, 1)
    with pytest.raises(ParameterError, match="base=0 changes nothing"):
        round_randomly(np.array([1, 1]), np.zeros(2, np.uint64), 0)
    with pytest.raises(ParameterError, match="base=1 changes nothing"):
        round_to_midpoints(np.array([1, 1]), 1)


@pytest.mark.parametrize("base", [2, 5, 6])
def test_midpoints_are_those_of_the_interval_of_a_count(base):
    for count in range(1, 4 * base):
        rounding = round_to_midpoints(np.array([count]), base)
        interval = next(range(low, low + base) for low in range(1, count + 1, base) if count < low + base)
        assert (rounding.low[0], rounding.high[0]) == (interval[0], interval[-1])
        assert rounding.cells[0] == interval[(base - 1) // 2 if base % 2 else base // 2 - 1]
    assert round_to_midpoints(np.array([0]), base).high[0] == 0


@pytest.mark.parametrize("base", [2, 3, 5, 10])
def test_random_rounding_changes_nothing_on_average(base):
    keys = np.arange(30_000, dtype=np.uint64) * np.uint64(2**64 // 30_000)
    for count in range(2 * base + 1):
        rounding = round_randomly(np.full(len(keys), count), keys, base)
        assert rounding.cells.mean() == pytest.approx(count, abs=1e-3)
        assert (rounding.cells % base == 0).all()
        # Each released count may have come from this one, and from none a base away.
        assert ((rounding.low <= count) & (count <= rounding.high)).all()
        assert (rounding.high - rounding.cells == base - 1).all()
        assert set(rounding.cells.tolist()) == {count // base * base, -(-count // base) * base}


def test_random_rounding_follows_the_people_and_says_that_sums_fail():
    """A town has all the people of a region: the same key, and the same count in both rows."""
    counts, keys = np.array([7, 7, 0]), np.array([2**63, 2**63, 0], np.uint64)
    rounding = round_randomly(counts, keys, 5)
    assert rounding.cells.tolist() == [5, 5, 0]
    assert not rounding.additive
    assert (rounding.distance, rounding.bound, rounding.gap) == (4, None, None)
    assert rounding.low.tolist() == [1, 1, 0]
    assert rounding.high.tolist() == [9, 9, 4]
