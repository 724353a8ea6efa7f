"""Small counts that become 0 or a base: totals as near as possible, and a count's information."""

from __future__ import annotations

from functools import reduce
from itertools import product

import numpy as np
import pytest

from incrowd.core.errors import ParameterError
from incrowd.core.hierarchy.tree import Hierarchy
from incrowd.release.tables.cells import Axis, with_totals
from incrowd.release.tables.small_counts import round_small_counts


def axis(column: str, codes: int) -> Axis:
    return Axis(column, Hierarchy.from_nested({"*": [f"{column}{code}" for code in range(codes)]}))


# One region has its towns right below it, and one town stands beside the regions.
UNEVEN = Axis(
    "region", Hierarchy.from_nested({"*": {"north": ["n1", "n2", "n3"], "south": ["s1"], "port": []}})
)
AXES = {
    "one": [axis("a", 9)],
    "two": [axis("a", 3), axis("b", 3)],
    "uneven": [UNEVEN, axis("b", 2)],
    "three": [axis("a", 2), axis("b", 2), axis("c", 2)],
}  # fmt: skip


def inner_of(cells: np.ndarray, axes: list[Axis]) -> np.ndarray:
    return cells[np.ix_(*(each.tree.leaves for each in axes))]


def least_distances(finest: np.ndarray, axes: list[Axis], base: int) -> tuple[int, int]:
    """The least distance of the totals and, with that, of the finest counts, by all trials."""
    small = (finest > 0) & (finest < base)
    tables = np.repeat(finest[None], 2 ** small.sum(), axis=0)
    tables[:, small] = base * np.array(list(product([0, 1], repeat=int(small.sum()))))
    cells = reduce(lambda all_, each: each[1].spread(all_, each[0] + 1), enumerate(axes), tables)
    all_ = np.abs(cells - with_totals(finest, axes)).reshape(len(tables), -1).sum(axis=1)
    own = np.abs(tables - finest).reshape(len(tables), -1).sum(axis=1)
    return min(zip((all_ - own).tolist(), own.tolist(), strict=True))


@pytest.mark.few(2)
@pytest.mark.parametrize("base", [2, 3, 5])
@pytest.mark.parametrize("shape", AXES)
def test_no_choice_leaves_totals_nearer(shape, base):
    axes = AXES[shape]
    rng = np.random.default_rng(base)
    for _ in range(6):
        finest = rng.integers(0, base + 2, [len(each.tree.leaves) for each in axes])
        rounding = round_small_counts(finest, axes, base)
        inner = inner_of(rounding.cells, axes)
        own = int(np.abs(inner - finest).sum())
        assert (rounding.distance, own) == least_distances(finest, axes, base)
        assert rounding.distance == np.abs(rounding.cells - with_totals(finest, axes)).sum() - own
        assert (rounding.bound, rounding.gap) == (rounding.distance, 0)
        assert rounding.additive
        assert (with_totals(inner, axes) == rounding.cells).all()
        small = (finest > 0) & (finest < base)
        assert set(inner[small].tolist()) <= {0, base}
        assert (inner[~small] == finest[~small]).all()


def test_bounds_are_all_counts_that_may_have_been():
    """Each true count of 0..6 is tried: which become 0, 3, 4, ... with base 3?"""
    towns = [axis("town", 2)]
    behind: dict[int, set[int]] = {}
    for finest in product(range(7), repeat=2):
        rounding = round_small_counts(np.array(finest), towns, 3)
        counts = with_totals(np.array(finest), towns)
        assert ((rounding.low <= counts) & (counts <= rounding.high)).all()
        assert rounding.low[0] == rounding.low[1:].sum()
        for true, released, low, high in zip(
            finest,
            *(each[1:].tolist() for each in (rounding.cells, rounding.low, rounding.high)),
            strict=True,
        ):
            behind.setdefault(released, set()).add(true)
            assert low == {0: 0, 3: 1}.get(released, released)
            assert high == {0: 2}.get(released, released)
    assert behind == {0: {0, 1, 2}, 3: {1, 2, 3}, 4: {4}, 5: {5}, 6: {6}}


def test_a_large_table_keeps_its_margins_near():
    axes = [axis("a", 15), axis("b", 15)]
    finest = np.random.default_rng(0).integers(0, 8, (15, 15))
    rounding = round_small_counts(finest, axes, 5)
    assert (np.abs(rounding.cells - with_totals(finest, axes))[0] <= 5).all()
    assert rounding.gap < 0.1


def test_without_time_the_running_sum_decides():
    """No total of a table without time is far: the whole differs by half of the base at most."""
    axes = [axis("a", 12), axis("b", 12), axis("c", 12)]
    for seed in range(5):
        finest = np.random.default_rng(seed).integers(0, 5, (12, 12, 12))
        rounding = round_small_counts(finest, axes, 5, seconds=0)
        assert (with_totals(inner_of(rounding.cells, axes), axes) == rounding.cells).all()
        assert abs(int(rounding.cells[0, 0, 0]) - int(finest.sum())) <= 2.5
        assert (rounding.bound, rounding.gap) == (0, 1)


def test_nothing_small_changes_nothing():
    finest = np.array([0, 3, 9])
    rounding = round_small_counts(finest, [axis("a", 3)], 3)
    assert rounding.cells.tolist() == [12, 0, 3, 9]
    assert (rounding.distance, rounding.gap) == (0, 0)


def test_a_base_of_1_is_refused():
    with pytest.raises(ParameterError, match="base=1 changes nothing"):
        round_small_counts(np.array([1]), [axis("a", 1)], 1)
