"""NumPy computes for few rows exactly as the kernels do, to the last bit."""

from __future__ import annotations

import os
import subprocess
import sys

import numpy as np
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

import incrowd as ic
from examples import examples
from incrowd.core.kernels import jit, lines, numpy_fallback, trees
from incrowd.core.kernels.clusters import groups
from incrowd.core.kernels.grouping import counting, grouping
from incrowd.core.progress import Silent
from incrowd.engines import engine_for
from incrowd.release.policy.policy import search_problem
from incrowd.samples import hospital


@pytest.fixture
def either(monkeypatch):
    """Do something by the kernels, and again as where the compiler is not loaded."""

    def both(work):
        result = []
        for loaded in (True, False):
            monkeypatch.setattr(jit, "_is_loaded", lambda loaded=loaded: loaded)
            result.append(work())
        return result

    return both


def same(one, other):
    assert len(one) == len(other)
    for a, b in zip(one, other, strict=True):
        assert a.dtype == b.dtype
        np.testing.assert_array_equal(a, b)


PIECES = [
    "a,b\n",
    "\n",
    "\r\n",
    "a,b\r\n",
    "a;c\n",
    "a",
    ",",
    "\r",
    '"',
    '"x\ny",2\n',
    '"\n\n""",',
    'x"',
    "é",
]


@given(st.lists(st.sampled_from(PIECES)), st.sampled_from([-1, 1, 2]), st.sampled_from(",;"))
def test_records_are_counted_alike(pieces, limit, mark):
    data = "".join(pieces).encode()
    result = numpy_fallback.scan(data, mark.encode(), limit)
    one = tuple(int(each) for each in lines._scan(np.frombuffer(data, np.uint8), np.uint8(ord(mark)), limit))
    assert result == one or (result is None and b'"' in data)


def test_only_an_open_quote_is_left_to_the_kernel():
    assert numpy_fallback.scan(b'a,b\n"1,2', b",", -1) is None
    assert numpy_fallback.scan(b'a,b\n"1,""\n",""\n', b",", -1) == (2, 2, 0, 0, 0)
    assert numpy_fallback.scan(b'a,b\n"1\n\n",2\n3\n', b",", -1) == (2, 2, 5, 1, 0), (
        "the line is that of the file"
    )


@given(st.lists(st.integers(0, 2**64 - 1) | st.integers(0, 3), max_size=60))
def test_words_are_numbered_alike(words):
    words = np.array(words, np.uint64)
    same(grouping._first_ids(words), numpy_fallback.first_ids(words))


@pytest.mark.parametrize("rows", [0, 1, 40])
def test_members_are_listed_alike(either, rows):
    groups = np.random.default_rng(rows).integers(-1, 5, rows).astype(np.int32)
    same(*either(lambda: grouping.group_members(groups, 5)))
    same(*either(lambda: [grouping.group_sizes(groups, 5)]))


@pytest.mark.parametrize("values", [1, 3, 40])
def test_values_are_counted_alike(either, values):
    numbers = np.random.default_rng(values)
    for keys in (0, 1, 50):
        entries = keys and 200
        key, code = numbers.integers(0, max(keys, 1), entries), numbers.integers(0, values, entries)
        counts = counting.counts_per_key(key, code, np.ones(entries, np.int64), keys, values)
        members = numbers.permutation(keys)[: keys * 3 // 4]
        borders = np.sort(numbers.integers(0, len(members) + 1, 6))
        indptr = np.concatenate(([0], borders, [len(members)])).astype(np.int64)
        same(*either(lambda: counting.class_counts(indptr, members, counts, values)))  # noqa: B023
        ranks = numbers.integers(0, values, keys).astype(np.uint8)
        single = counting.Counts(np.arange(keys + 1), ranks.astype(np.int32), np.ones(keys, np.int64))
        one, other = either(lambda: counting.row_counts(indptr, members, ranks, values))  # noqa: B023
        same(one, other)
        same(one, counting.class_counts(indptr, members, single, values))
        amounts = numbers.integers(0, 9, keys)
        same(*either(lambda: [counting.class_sums(indptr, members, amounts)]))  # noqa: B023
        amounts = numbers.random(keys)
        same(*either(lambda: [counting.class_sums(indptr, members, amounts)]))  # noqa: B023


PLACE = st.sampled_from([-2.5, 0.0, 1 / 3, 1.0, 1e9])


@pytest.mark.slow
@given(st.lists(st.tuples(PLACE, PLACE, PLACE), min_size=1, max_size=40), st.integers(2, 5))
def test_records_are_gathered_alike(points, k):
    result = []
    for gather in (groups._gather, numpy_fallback.gather):
        result.append(np.full(len(points), -1, np.int64))
        gather(np.array(points), k, result[-1])
    same(result[:1], result[1:])


@given(st.lists(PLACE | st.integers(0, 9).map(float), min_size=1, max_size=40), st.integers(1, 8))
def test_sorted_values_are_grouped_alike(values, least):
    values = np.sort(np.array(values))
    same([groups._last_groups(values, least)], [numpy_fallback.last_groups(values, least)])


def test_what_would_not_fit_is_left_to_the_kernel(either, monkeypatch):
    monkeypatch.setattr(groups, "_HELD", 100)
    monkeypatch.setattr(numpy_fallback, "last_groups", lambda *_: pytest.fail("too large"))
    values = np.arange(21.0)
    same(*either(lambda: [groups.least_squares_groups(values, 5)]))


def assigned_alike(policy, problem):
    """Compare the assignment of an algorithm by the kernels and without the compiler."""
    result = []
    real = jit._is_loaded
    for loaded in (True, False):
        jit._is_loaded = lambda loaded=loaded: loaded
        try:
            result.append(policy.algorithm.assign(problem))
        finally:
            jit._is_loaded = real
    assert result[0][1] == result[1][1]
    same(result[0][:1], result[1][:1])


COLUMN = st.sampled_from([None, "1", "2", "2.5", "7", "30"])
TREES = [None, ic.Hierarchy.prefix(), ic.Hierarchy.intervals(2, 4, 20)]


@examples(80)
@given(
    st.lists(st.tuples(COLUMN, COLUMN, st.sampled_from([None, "x", "y", "z"])), min_size=1, max_size=40),
    st.integers(1, 5),
    st.sampled_from([1.0, 0.25]),
    st.sampled_from([None, 2]),
    st.sampled_from([{"choose": None}, {"choose": "loss"}, {"categories": "ordered"}]),
    st.sampled_from(TREES),
    st.sampled_from([[], [ic.LDiversity(2)], [ic.TCloseness(0.5)]]),
)
def test_mondrian_cuts_alike(rows, k, weight, depth, rules, tree, models):
    table = pl.DataFrame(rows, {"a": pl.String, "b": pl.String, "c": pl.String}, orient="row")
    first = ic.Attribute("a", "quasi", weight=weight, hierarchy=tree)
    last = ic.Attribute("c", "sensitive" if models else "quasi")
    schema = ic.Schema.of_attributes([first, ic.Attribute("b", "quasi"), last])
    models = [ic.KAnonymity(min(k, len(rows))), *models]
    policy = ic.Policy(schema, models, ic.Mondrian(**rules, max_depth=depth))
    problem = search_problem(policy, engine_for(table).count(schema).frequency, schema.quasi, Silent())
    assigned_alike(policy, problem)


@pytest.mark.parametrize("rules", [{"choose": "range"}, {"choose": "loss"}], ids=str)
def test_mondrian_goes_down_deep_trees_alike(rules):
    people = hospital(1_500, 4)
    zips = ic.Hierarchy.prefix()
    days = ic.Hierarchy.dates("month", "quarter", "year")
    for models in ([], [ic.LDiversity(3)], [ic.TCloseness(0.4)]):
        schema = ic.Schema({"zip": zips, "admission_date": days, "age": None}, ["diagnosis"], unlisted="drop")
        policy = ic.Policy(schema, [ic.KAnonymity(3), *models], ic.Mondrian(**rules))
        problem = search_problem(policy, engine_for(people).count(schema).frequency, schema.quasi, Silent())
        assigned_alike(policy, problem)


@examples(40)
@given(
    st.lists(st.tuples(COLUMN, COLUMN, st.sampled_from([None, "x", "y", "z"])), min_size=1, max_size=200),
    st.integers(1, 5),
    st.sampled_from([1.0, 0.25]),
)
def test_mdav_gathers_alike(rows, k, weight):
    table = pl.DataFrame(rows, {"a": pl.String, "b": pl.String, "c": pl.String}, orient="row")
    schema = ic.Schema.of_attributes([ic.Attribute(name, "quasi", weight=weight) for name in "abc"])
    policy = ic.Policy(schema, [ic.KAnonymity(min(k, len(rows)))], ic.MDAV())
    problem = search_problem(
        policy, engine_for(table).count(schema).frequency.by_record(), schema.quasi, Silent()
    )
    assigned_alike(policy, problem)


def test_mondrian_cuts_a_table_alike(either, monkeypatch):
    calls = []
    real = numpy_fallback.propose
    monkeypatch.setattr(numpy_fallback, "propose", lambda *given: calls.append(0) or real(*given))
    schema = ic.Schema(quasi=["age", "sex", "admission_date", "length_of_stay"], unlisted="drop")
    policy = ic.Policy(schema, [ic.KAnonymity(3)], ic.Mondrian(), keep_order=True)
    one, other = either(lambda: ic.anonymize(hospital(1_500, 3), policy, force=True).table)
    assert one.equals(other)
    assert calls


@pytest.mark.slow
@pytest.mark.parametrize("with_compiler", [True, False])
def test_a_small_table_is_released_and_reported_without_the_compiler(tmp_path, with_compiler):
    """The file has the same bytes as with the compiler, and a page needs no Altair either."""
    hospital(1_000, 2).write_csv(tmp_path / "people.csv")
    code = (
        ("import numba\n" if with_compiler else "")
        + "import sys; from incrowd.faces.cli import main\n"
        + "try: main()\n"
        + "finally: print('altair' in sys.modules, 'numba' in sys.modules, file=sys.stderr)"
    )
    options = [
        "--qi",
        "age,sex,admission_date,length_of_stay",
        "--sensitive",
        "diagnosis",
        "--unlisted",
        "drop",
        "-k",
        "5",
        "--accept",
        "unprotected-sensitive:diagnosis=a made-up table",
    ]
    process = subprocess.run(
        [
            sys.executable,
            "-c",
            code,
            "anonymize",
            "people.csv",
            *options,
            "-o",
            "out.csv",
            "--keep-order",
            "--report",
            "report.html",
        ],
        capture_output=True,
        text=True,
        cwd=tmp_path,
        env=os.environ,
        check=False,
    )
    assert process.returncode == 0, process.stderr
    assert process.stderr.strip().endswith(f"False {with_compiler}")
    released = ic.anonymize(
        pl.read_csv(tmp_path / "people.csv", infer_schema=False),
        ic.Policy(
            ic.Schema(
                quasi=["age", "sex", "admission_date", "length_of_stay"],
                sensitive=["diagnosis"],
                unlisted="drop",
            ),
            [ic.KAnonymity(5)],
            ic.Mondrian(),
            keep_order=True,
        ),
    ).texts
    assert (tmp_path / "out.csv").read_text() == released.write_csv(quote_style="necessary")


@given(st.lists(st.integers(0, 9), min_size=1, max_size=40))
def test_the_shape_of_a_tree_is_found_alike(steps):
    # Most parents are near the last node, so some trees are in order and others are not.
    parents = np.array([-1, *(max(node - step, 0) for node, step in enumerate(steps))], np.int32)
    is_leaf = ~np.isin(np.arange(len(parents)), parents)
    one = trees.by_kernel(parents, np.cumsum(is_leaf).astype(np.int32))
    other = numpy_fallback.shape(parents, np.cumsum(is_leaf).astype(np.int32))
    assert one[3] == other[3]
    if one[3] < 0:
        same(one[:3], other[:3])
    above = {node: [] for node in range(len(parents))}
    for node in range(1, len(parents)):
        above[node] = [parent := int(parents[node]), *above[parent]]
    # In order, the way to a node goes on from the node before, or from one above that.
    wrong = [n for n in range(1, len(parents)) if parents[n] not in (n - 1, *above[n - 1])]
    assert one[3] == min(wrong, default=-1)
    if not wrong:
        below = [[leaf for leaf in np.flatnonzero(is_leaf) if node in (leaf, *above[leaf])] for node in above]
        assert one[0].tolist() == [len(above[node]) for node in above]
        assert one[1].tolist() == [
            max(len(above[leaf]) - len(above[node]) for leaf in below[node]) for node in above
        ]
        assert one[2].tolist() == [int(is_leaf[: leaves[-1] + 1].sum()) for leaves in below]
