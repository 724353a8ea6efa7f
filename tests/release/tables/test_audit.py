"""The interval of each hidden cell is that of all integer tables that fit the published cells."""

from __future__ import annotations

from itertools import product

import numpy as np
import pytest

from incrowd.core.errors import InfeasibleError, TableError
from incrowd.core.hierarchy.tree import Hierarchy
from incrowd.release.tables.audit import Intervals, check_solved, ending_after, intervals, solver_options
from incrowd.release.tables.cells import Axis, Linked, with_totals

TREES = [{"*": ["a", "b"]}, {"*": ["a", "b", "c"]}, {"*": {"x": ["a", "b"], "c": None}}]


def axis(name, tree):
    return Axis(name, Hierarchy.from_nested(tree))


def every_table(total, cells):
    """Every way to share a total among cells."""
    if cells == 1:
        yield (total,)
        return
    for first in range(total + 1):
        for rest in every_table(total - first, cells - 1):
            yield (first, *rest)


def fitting(axes, shape, counts, known):
    """Return the cells of every table of counts that equals the published cells."""
    for inner in every_table(int(counts[0]), int(np.prod(shape))):
        cells = with_totals(np.array(inner).reshape(shape), axes).ravel()
        if (cells[known] == counts[known]).all():
            yield cells


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(30))
def test_intervals_are_those_of_all_tables_that_fit(seed):
    draw = np.random.default_rng(seed)
    axes = [axis("row", TREES[draw.integers(3)]), axis("column", TREES[draw.integers(2)])]
    shape = [each.tree.n_leaves for each in axes]
    inner = draw.multinomial(min(9, 5 + seed % 6), np.full(int(np.prod(shape)), 1 / np.prod(shape)))
    counts = with_totals(inner.reshape(shape), axes).ravel()
    hidden = draw.random(len(counts)) < 0.6
    hidden[0] = False
    low, high = np.where(hidden, 0.0, counts), np.where(hidden, np.inf, counts)
    cells = np.flatnonzero(hidden)
    all_fitting = np.array(list(fitting(axes, shape, counts, ~hidden)))[:, cells]
    ends = intervals(Linked.of_tables([axes]), low, high, cells)
    assert ends.lower.tolist() == all_fitting.min(axis=0).tolist()
    assert ends.upper.tolist() == all_fitting.max(axis=0).tolist()


@pytest.mark.few(1)
@pytest.mark.parametrize("seed", range(12))
def test_linked_tables_tell_more_than_each(seed):
    """Two tables of the same people share margins, so both together tell more than each alone."""
    draw = np.random.default_rng(seed)
    trees = [axis(name, TREES[0]) for name in "abc"]
    inner = draw.integers(0, 3, (2, 2, 2))
    tables = [(0, 1), (1, 2)]
    linked = Linked.of_tables([[trees[place] for place in places] for places in tables])
    counts = np.zeros(linked.size)
    for places, cells in zip(tables, linked.cells, strict=True):
        others = tuple({0, 1, 2} - {*places})
        counts[cells] = with_totals(inner.sum(axis=others), [trees[place] for place in places]).ravel()
    hidden = draw.random(linked.size) < 0.6
    hidden[0] = False
    cells = np.flatnonzero(hidden)
    ends = intervals(linked, np.where(hidden, 0.0, counts), np.where(hidden, np.inf, counts), cells)
    least, most = np.full(linked.size, np.inf), np.full(linked.size, -np.inf)
    total = int(counts[0])
    # Cells of both tables: a pair of tables over a and b, and over b and c, with one margin of b.
    for ab, bc in product(every_table(total, 4), repeat=2):
        first, second = np.array(ab).reshape(2, 2), np.array(bc).reshape(2, 2)
        if (first.sum(axis=0) != second.sum(axis=1)).any():
            continue
        values = np.zeros(linked.size)
        values[linked.cells[0]] = with_totals(first, trees[:2]).ravel()
        values[linked.cells[1]] = with_totals(second, trees[1:]).ravel()
        if (values[~hidden] == counts[~hidden]).all():
            least, most = np.minimum(least, values), np.maximum(most, values)
    assert ends.lower.tolist() == least[cells].tolist()
    assert ends.upper.tolist() == most[cells].tolist()


def test_two_margins_tell_a_cell_that_neither_tells():
    """Eight cells G..N of 2, 2, 8, 8, 3, 3, 3, 7, summed in two ways; G, H, K, L and M are hidden."""
    first = axis("cell", {"*": {"r1": list("GHIJ"), "r2": list("KLMN")}})
    second = axis("cell", {"*": {"c1": list("GHKN"), "c2": list("IJLM")}})
    values = dict(zip("GHIJKLMN", (2, 2, 8, 8, 3, 3, 3, 7), strict=True))

    def interval_of_k(tables, hidden):
        linked = Linked.of_tables([[table] for table in tables])
        counts = np.zeros(linked.size)
        for table, cells in zip(tables, linked.cells, strict=True):
            counts[cells] = with_totals(np.array([values[leaf] for leaf in table.tree.values]), [table])
        places = {
            code: cells[n]
            for t, cells in zip(tables, linked.cells, strict=True)
            for n, code in enumerate(t.codes)
        }
        chosen = np.isin(np.arange(linked.size), [places[code] for code in hidden])
        low, high = np.where(chosen, 0.0, counts), np.where(chosen, np.inf, counts)
        [least], [most] = intervals(linked, low, high, np.array([places["K"]]))
        return least, most

    assert interval_of_k([first], "GHKLM") == (0, 9)
    assert interval_of_k([second], "GHKLM") == (0, 7)
    assert interval_of_k([first, second], "GHKLM") == (3, 3)
    least, most = interval_of_k([first, second], "GHKLMN")
    assert most - least >= 7


def test_people_in_several_parts_make_no_exact_sum():
    """Of 10 people 6 have a and 7 have b; the sum of the parts is more than the total."""
    linked = Linked.of_tables([[axis("ill", TREES[0])]], overlapping=["ill"])
    values = np.array([10.0, 6.0, 7.0])
    hidden = np.array([False, True, False])
    ends = intervals(linked, np.where(hidden, 0, values), np.where(hidden, np.inf, values), np.array([1]))
    assert ends == Intervals(np.array([3.0]), np.array([10.0]))


def test_an_end_between_whole_numbers_is_sought_among_them():
    """Three pairs of cells with odd sums: halves fit, whole numbers do not reach as far."""
    linked = Linked.of_tables([[axis("n", {"*": {"p": ["a", "b"]}})]])
    ends = intervals(
        linked, np.array([3.0, 3.0, 0, 0]), np.array([3.0, 3.0, np.inf, np.inf]), np.array([2, 3])
    )
    assert ends.widths.tolist() == [3, 3]


def test_sums_that_do_not_hold_are_refused():
    linked = Linked.of_tables([[axis("row", TREES[0])]])
    for values in ([5.0, 2.0, 4.0], [5.0, 2.0, 2.0]):
        low, high = np.array(values), np.array(values)
        low[2], high[2] = 0, 2
        if values[2] == 4:
            with pytest.raises(TableError, match="some sum does not hold"):
                intervals(linked, low, high, np.array([2]))


def test_sums_of_numbers_may_end_between_whole_ones():
    linked = Linked.of_tables([[axis("row", TREES[0])]])
    low, high = np.array([2.5, 0, 0]), np.array([2.5, np.inf, np.inf])
    ends = intervals(linked, low, high, np.array([1, 2]), whole=False)
    assert ends.upper.tolist() == pytest.approx([2.5, 2.5])


def test_a_programme_ends_when_the_time_is_up():
    with ending_after(60), ending_after(3600):
        assert solver_options()["time_limit"] <= 60
    assert solver_options() == {}
    linked = Linked.of_tables([[axis("row", TREES[0])]])
    low, high = np.array([5.0, 0, 0]), np.array([5.0, np.inf, np.inf])
    with ending_after(-1), pytest.raises(InfeasibleError, match="in time: give more seconds"):
        intervals(linked, low, high, np.array([1]))
    with pytest.raises(InfeasibleError, match="in time"):
        check_solved(1)
    check_solved(0)
