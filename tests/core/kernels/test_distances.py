"""Distances of classes to the table: exact fractions where integers fit, floats beyond."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from incrowd.core.hierarchy import Hierarchy
from incrowd.core.kernels import distances, jit
from incrowd.core.kernels.diversity import effective_values, grassberger_values, recursive_levels
from incrowd.core.kernels.grouping.counting import Counts

Table = list[list[int]]


def compressed(table: Table) -> tuple[Counts, np.ndarray, np.ndarray]:
    """Classes by values in the form of the kernels: counts, class sizes, totals."""
    dense = np.array(table, np.int64)
    codes = [np.flatnonzero(row) for row in dense]
    counts = Counts(
        np.cumsum([0, *map(len, codes)]).astype(np.int64),
        np.concatenate(codes).astype(np.int32),
        np.concatenate([row[code] for row, code in zip(dense, codes, strict=True)]),
    )
    return counts, dense.sum(axis=1), dense.sum(axis=0)


def gaps(table: Table) -> list[list[Fraction]]:
    """Per class the difference p - q of each value's share of the class and of the table."""
    totals = [sum(column) for column in zip(*table, strict=True)]
    rows = sum(totals)
    return [[Fraction(n, sum(row)) - Fraction(w, rows) for n, w in zip(row, totals, strict=True)] for row in table]  # fmt: skip


def ordered_by_definition(table: Table) -> list[Fraction]:
    """Sum over the values of the absolute partial sums of p - q, over m - 1."""
    values = len(table[0])
    if values < 2:
        return [Fraction(0) for _ in table]
    return [sum((abs(sum(gap[: i + 1])) for i in range(values)), Fraction(0)) / (values - 1) for gap in gaps(table)]  # fmt: skip


def equal_by_definition(table: Table) -> list[Fraction]:
    return [sum(map(abs, gap), Fraction(0)) / 2 for gap in gaps(table)]


def hierarchical_by_definition(table: Table, tree: Hierarchy) -> list[Fraction]:
    """Move mass under the lowest nodes first, at height(node)/height(tree) per unit.

    Optimal because the ground distance is an ultrametric; written with sets of leaves, not with ranks of
    nodes, so that it shares nothing with the kernel.
    """
    result = []
    for gap in gaps(table):
        left, cost = list(gap), Fraction(0)
        for node in sorted(range(tree.n_nodes), key=lambda node: tree.heights[node]):
            below = range(int(tree.lo[node]), int(tree.hi[node]))
            moved = min(sum((left[i] for i in below if left[i] > 0), Fraction(0)), -sum((left[i] for i in below if left[i] < 0), Fraction(0)))  # fmt: skip
            cost += moved * Fraction(int(tree.heights[node]), tree.height)
            for sign in (1, -1):
                rest = moved
                for i in below:
                    if sign * left[i] > 0:
                        taken = min(rest, abs(left[i]))
                        left[i] -= sign * taken
                        rest -= taken
        assert not any(left)
        result.append(cost)
    return result


def hierarchical(table: Table, tree: Hierarchy) -> list[float]:
    counts, sizes, totals = compressed(table)
    result = distances.hierarchical_distances(
        counts, sizes, totals, distances.Tree(tree.leaves, tree.parents, tree.heights)
    )
    return result.tolist()


def ordered(table: Table) -> list[float]:
    return distances.ordered_distances(*compressed(table)).tolist()


def equal(table: Table) -> list[float]:
    return distances.equal_distances(*compressed(table)).tolist()


def nearest(fractions: list[Fraction]) -> list[float]:
    return [float(fraction) for fraction in fractions]


# --- published examples, to the nearest double --------------------------------------------------------

# Born 197* | 198*: salaries 3, 4 | 5, 6, 8, one each; diseases below.
SALARIES = [[1, 1, 0, 0, 0], [0, 0, 1, 1, 1]]
DISEASES = Hierarchy.from_nested(
    {
        "all": {
            "digestive": ["gastric ulcer", "gastritis", "stomach cancer"],
            "respiratory": ["flu", "bronchitis"],
        }
    }
)
SICK = [[0, 0, 1, 1, 0], [0, 1, 1, 1, 0]]


def test_the_worked_example_of_petworks():
    """PETWorks's page on t-closeness, with two swapped cells put right."""
    assert ordered(SALARIES) == [3 / 8, 1 / 4]
    assert hierarchical(SICK, DISEASES) == [3 / 20, 1 / 10]
    assert equal(SICK) == [1 / 5, 2 / 15]


def test_the_salaries_of_the_t_closeness_paper():
    """Section 4.1: of 3k to 11k, {3k, 4k, 5k} lies 0.375 from the whole and {6k, 8k, 11k} 0.167."""
    first = [1, 1, 1, 0, 0, 0, 0, 0, 0]
    second = [0, 0, 0, 1, 0, 1, 0, 0, 1]
    rest = [1 - a - b for a, b in zip(first, second, strict=True)]
    assert ordered([first, second, rest])[:2] == [3 / 8, 1 / 6]


def test_the_patient_table(shared_data):
    """PETWorks's patient table: 7/27, 5/27, 8/27 by hierarchy, and 5/9, 1/3, 4/9 by equal distance."""
    folder = shared_data / "petworks" / "patient"
    tree = Hierarchy.read(folder / "patient_hierarchy" / "patient_hierarchy_Disease.csv")
    lines = (folder / "patient_anonymized.csv").read_text(encoding="utf-8-sig").splitlines()
    header, *rows = [line.split(";") for line in lines if line]
    column = [name.strip() for name in header].index("Disease")
    keys = [name.strip() for name in header].index("ZIPCode"), [name.strip() for name in header].index("Age")
    table: dict[tuple[str, ...], list[int]] = {}
    for row in rows:
        table.setdefault(tuple(row[key] for key in keys), [0] * tree.n_leaves)[tree.rank(row[column])] += 1
    patients = list(table.values())
    assert hierarchical(patients, tree) == [7 / 27, 5 / 27, 8 / 27]
    present = [i for i in range(tree.n_leaves) if any(row[i] for row in patients)]
    assert equal([[row[i] for i in present] for row in patients]) == [5 / 9, 1 / 3, 4 / 9]


# --- against the definitions ----------------------------------------------------------------------------


@st.composite
def tables(draw, top: int = 9, values: int | None = None):
    """Counts of values per class: no empty class and, unless the values are leaves of a tree, no empty value."""
    width = values or draw(st.integers(1, 7))
    cell = st.one_of(st.just(0), st.integers(0, top))
    rows = draw(st.lists(st.lists(cell, min_size=width, max_size=width), min_size=1, max_size=5))
    for row in rows:
        if not any(row):
            row[draw(st.integers(0, width - 1))] = draw(st.integers(1, max(top, 1)))
    if values is None:
        for j in range(width):
            if not any(row[j] for row in rows):
                rows[0][j] = 1
    return rows


@st.composite
def trees(draw):
    """Small unbalanced trees."""
    names = iter(range(10**6))

    def below(depth: int):
        children = []
        for _ in range(draw(st.integers(1, 3))):
            label = f"n{next(names)}"
            deeper = depth < 3 and draw(st.booleans())
            children.append({label: below(depth + 1)} if deeper else label)
        return children

    return Hierarchy.from_nested({"*": below(0)})


@given(tables())
def test_ordered_is_exact(table):
    assert ordered(table) == nearest(ordered_by_definition(table))


@given(tables())
def test_equal_is_exact(table):
    assert equal(table) == nearest(equal_by_definition(table))


@given(trees(), st.data())
def test_hierarchical_is_exact(tree, data):
    table = data.draw(tables(values=tree.n_leaves))
    assert hierarchical(table, tree) == nearest(hierarchical_by_definition(table, tree))


@given(tables())
def test_a_flat_tree_is_the_equal_distance(table):
    tree = Hierarchy.from_nested({"*": [f"v{i}" for i in range(len(table[0]))]})
    assert hierarchical(table, tree) == equal(table)


@given(tables(top=2**48))
def test_ordered_beyond_64_bits(table):
    """Sums that no 64-bit integer holds are made in floating point."""
    huge = [[n * 2**8 for n in row] for row in table]
    assert ordered(huge) == pytest.approx(nearest(ordered_by_definition(huge)), abs=1e-12)
    assert equal(huge) == pytest.approx(nearest(equal_by_definition(huge)), abs=1e-12)


@given(trees(), st.data())
def test_hierarchical_beyond_64_bits(tree, data):
    table = data.draw(tables(top=2**52, values=tree.n_leaves))
    expected = nearest(hierarchical_by_definition(table, tree))
    assert hierarchical(table, tree) == pytest.approx(expected, abs=1e-12)


@given(trees(), st.data(), st.sampled_from([9, 2**31, 2**52]))
def test_few_classes_are_measured_alike_without_the_compiler(tree, data, top):
    table = data.draw(tables(top=top))
    of_leaves = data.draw(tables(top=top, values=tree.n_leaves))
    counts, sizes, totals = compressed(table)

    def measured(compiler: bool):
        with pytest.MonkeyPatch.context() as patched:
            patched.setattr(jit, "_is_loaded", lambda: compiler)
            patched.setattr(jit.Kernel, "spent", 0)
            if not compiler:
                patched.setattr(jit.Kernel, "dispatcher", lambda _: pytest.fail("the compiler is loaded"))
            return [
                hierarchical(of_leaves, tree),
                ordered(table),
                equal(table),
                distances.frequency_differences(counts, sizes, totals).tolist(),
                effective_values(counts, sizes).tolist(),
                *(grassberger_values(counts, sizes, arx=arx).tolist() for arx in (False, True)),
                *(recursive_levels(counts, c).tolist() for c in (0.5, 1.0, 3.0)),
            ]

    assert measured(compiler=True) == measured(compiler=False)


def test_the_float_path_is_taken_when_it_must():
    table = [[2**40, 1, 0], [0, 1, 2**40]]
    counts, sizes, totals = compressed(table)
    total, _, _ = distances._scaled(sizes, totals, 3)
    assert isinstance(total, np.floating)
    assert isinstance(distances._scaled(sizes // 2**20, totals // 2**20, 3)[0], np.integer)
    result = distances.ordered_distances(counts, sizes, totals)
    assert result.tolist() == pytest.approx([0.5, 0.5], abs=1e-9)


@given(tables())
def test_the_whole_table_is_at_no_distance_and_none_is_above_one(table):
    whole = [[sum(column) for column in zip(*table, strict=True)]]
    tree = Hierarchy.from_nested({"*": [f"v{i}" for i in range(len(table[0]))]})
    for found in (ordered(whole), equal(whole), hierarchical(whole, tree)):
        assert found == [0.0]
    for found in (ordered(table), equal(table), hierarchical(table, tree)):
        assert all(0 <= value <= 1 for value in found)


def test_suppressed_records_count_for_the_whole_table_only():
    """Totals may be more than the classes add up to: the rest are records in no class."""
    counts, sizes, _ = compressed([[1, 1, 0], [2, 0, 0]])
    totals = np.array([3, 1, 4])
    # p = (1/2, 1/2, 0) and (1, 0, 0) against q = (3/8, 1/8, 1/2).
    assert distances.equal_distances(counts, sizes, totals).tolist() == [1 / 2, 5 / 8]
    assert distances.ordered_distances(counts, sizes, totals).tolist() == [5 / 16, 9 / 16]


def test_no_class_and_one_value():
    nothing = Counts(np.zeros(1, np.int64), np.zeros(0, np.int32), np.zeros(0, np.int64))
    sizes, totals = np.zeros(0, np.int64), np.array([1, 2])
    tree = Hierarchy.from_nested({"*": ["a", "b"]})
    assert distances.ordered_distances(nothing, sizes, totals).tolist() == []
    assert distances.equal_distances(nothing, sizes, totals).tolist() == []
    assert distances.hierarchical_distances(nothing, sizes, totals, distances.Tree(tree.leaves, tree.parents, tree.heights)).tolist() == []  # fmt: skip
    assert ordered([[3], [4]]) == [0, 0]


@pytest.mark.parametrize("huge", [False, True])
def test_threads_change_nothing(monkeypatch, huge):
    rng = np.random.default_rng(7)
    table = (rng.integers(0, 4, (500, 12)) + (np.arange(12) == rng.integers(0, 12, (500, 1)))).tolist()
    if huge:
        table = [[n * 2**46 for n in row] for row in table]
    tree = Hierarchy.from_nested({"*": {f"g{i}": [f"v{i}{j}" for j in range(4)] for i in range(3)}})
    monkeypatch.setattr(jit, "PARALLEL_FROM", 1)
    result = []
    for threads in ("1", "2"):
        monkeypatch.setenv("INCROWD_THREADS", threads)
        result.append((ordered(table), equal(table), hierarchical(table, tree)))
    assert result[0] == result[1]


# --- diversity --------------------------------------------------------------------------------------------


@given(tables(), st.sampled_from([0.5, 1.0, 1.5, 3.0]))
def test_diversity_by_definition(table, c):
    counts, sizes, _ = compressed(table)
    for row, effective, level in zip(
        table, effective_values(counts, sizes), recursive_levels(counts, c), strict=True
    ):
        present = sorted((n for n in row if n), reverse=True)
        shares = [n / sum(present) for n in present]
        assert effective == pytest.approx(np.exp(-sum(p * np.log(p) for p in shares)), rel=1e-12)
        if len(set(present)) == 1:
            assert effective == len(present)
        holds = [size for size in range(1, len(present) + 1) if present[0] < c * sum(present[size - 1 :])]
        assert level == max(holds, default=0)
