"""Secondary suppression: nothing can be computed too closely, and no choice is cheaper."""

from __future__ import annotations

import heapq

import numpy as np
import pytest

from incrowd.core.errors import InfeasibleError
from incrowd.core.hierarchy.tree import Hierarchy
from incrowd.release.tables.audit import intervals
from incrowd.release.tables.cells import Axis, Linked, with_totals
from incrowd.release.tables.need import Need
from incrowd.release.tables.suppress import suppress

TREES = [{"*": ["a", "b"]}, {"*": ["a", "b", "c"]}, {"*": {"x": ["a", "b"], "c": None}}]


def axis(name, tree):
    return Axis(name, Hierarchy.from_nested(tree))


def shortfall(linked, need, hidden):
    cells = np.flatnonzero(hidden)
    return need.shortfall(cells, intervals(linked, *need.bounds(hidden), cells, whole=need.whole))


def cheapest(linked, need, primary, cost, allowed, below, most=600):
    """The cost of the cheapest choice below a cost by trying all, cheapest first; None if none is."""
    cells = np.flatnonzero(allowed & ~primary)
    cells = cells[np.argsort(cost[cells], kind="stable")]
    heap = [(0.0, -1, ())]
    while heap and (most := most - 1):
        price, last, chosen = heapq.heappop(heap)
        if price >= below - 1e-9:
            return None
        hidden = primary.copy()
        hidden[list(chosen)] = True
        if not shortfall(linked, need, hidden).any():
            return price
        for place in range(last + 1, len(cells)):
            heapq.heappush(heap, (price + cost[cells[place]], place, (*chosen, cells[place])))
    return None


def random_case(seed):
    draw = np.random.default_rng(seed)
    axes = [axis("row", TREES[draw.integers(3)]), axis("column", TREES[draw.integers(2)])]
    shape = [each.tree.n_leaves for each in axes]
    values = with_totals(draw.integers(0, 9, shape), axes).ravel().astype(float)
    linked = Linked.of_tables([axes])
    floor = float(seed % 2)
    need = Need(values, np.full(linked.size, 3.0), np.zeros(linked.size), floor=floor)
    return linked, need, (values > 0) & (values < 3), np.maximum(values, 1), (values > 0) | (floor == 0)


@pytest.mark.few(2)
@pytest.mark.parametrize("seed", range(60))
def test_nothing_is_told_and_nothing_is_cheaper(seed):
    linked, need, primary, cost, allowed = random_case(seed)
    try:
        chosen = suppress(linked, need, primary, cost, allowed)
    except InfeasibleError:
        assert shortfall(linked, need, primary | allowed).any()
        return
    assert not shortfall(linked, need, chosen.hidden).any()
    assert (chosen.hidden >= primary).all()
    assert (chosen.hidden <= (primary | allowed)).all()
    assert chosen.optimal
    assert chosen.gap == 0
    assert chosen.cost == cost[chosen.hidden & ~primary].sum()
    assert cheapest(linked, need, primary, cost, allowed, chosen.cost) is None


@pytest.mark.few(3)
@pytest.mark.parametrize("seed", range(20))
def test_what_time_did_not_suffice_for_is_repaired(seed):
    linked, need, primary, cost, allowed = random_case(seed)
    try:
        chosen = suppress(linked, need, primary, cost, allowed, seconds=1e-9)
    except InfeasibleError:
        assert shortfall(linked, need, primary | allowed).any()
        return
    assert not shortfall(linked, need, chosen.hidden).any()
    assert chosen.cost >= suppress(linked, need, primary, cost, allowed).cost


def test_the_example_of_gausssuppression():
    """Counts of 2014 in the vignette: at most 1 is small, with zeros: cost 9 is optimal, the next is 11."""
    age, geo = axis("age", {"*": ["young", "old"]}), axis("geo", {"*": ["Spain", "Iceland", "Portugal"]})
    values = with_totals(np.array([[5, 2, 0], [6, 3, 4]]), [age, geo]).ravel().astype(float)
    linked = Linked.of_tables([[age, geo]])
    need = Need(values, np.ones(12), np.zeros(12))
    everything = np.ones(12, np.bool_)
    chosen = suppress(linked, need, values <= 1, np.maximum(values, 0.5), everything)
    names = [(a, g) for a in age.codes for g in geo.codes]
    assert {names[cell] for cell in np.flatnonzero(chosen.hidden)} == {
        ("young", "Iceland"), ("young", "Portugal"), ("old", "Iceland"), ("old", "Portugal"),
    }  # fmt: skip
    assert chosen.cost == 9
    assert chosen.optimal
    prices = []
    candidates = np.flatnonzero(values > 1)
    for number in range(2 ** len(candidates)):
        hidden = values <= 1
        hidden[candidates[[bool(number >> place & 1) for place in range(len(candidates))]]] = True
        if (price := values[hidden].sum()) <= 12 and not shortfall(linked, need, hidden).any():
            prices.append(price)
    assert sorted(set(prices))[:2] == [9, 11]


def test_a_sum_is_open_above_and_below():
    """A part is 90 of 100: both ends of the interval are as far as the rule asks."""
    side = axis("branch", {"*": ["a", "b", "c"]})
    values = np.array([190.0, 100.0, 60.0, 30.0])
    slack = np.array([0, 20.0, 0, 0])
    need = Need(values, 0.1 * values, slack, 0.1, whole=False)
    linked = Linked.of_tables([[side]])
    chosen = suppress(linked, need, slack > 0, values, np.ones(4, np.bool_))
    assert np.flatnonzero(chosen.hidden).tolist() == [1, 3]
    cells = np.flatnonzero(chosen.hidden)
    ends = intervals(linked, *need.bounds(chosen.hidden), cells, whole=False)
    assert ends.lower[0] <= 80
    assert ends.upper[0] >= 120


def test_a_cell_without_others_is_refused():
    linked = Linked.of_tables([[axis("only", {"*": ["a"]})]])
    values = np.array([2.0, 2.0])
    need = Need(values, np.full(2, 5.0), np.zeros(2), floor=1.0)
    with pytest.raises(InfeasibleError, match="fewer or coarser rows"):
        suppress(linked, need, np.array([False, True]), values, np.array([False, True]))


def test_without_small_cells_nothing_is_hidden():
    linked, need, primary, cost, allowed = random_case(0)
    chosen = suppress(linked, need, np.zeros_like(primary), cost, allowed)
    assert not chosen.hidden.any()
    assert chosen.optimal
