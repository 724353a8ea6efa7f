"""Mondrian against a slow reading of the definition, record by record."""

from __future__ import annotations

from collections import Counter

import numpy as np
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

import incrowd as ic
from crossed import quick
from incrowd.core.recoding import read_set
from incrowd.engines import engine_for
from incrowd.measures.utility import Loss
from incrowd.search import SearchProblem, mondrian
from incrowd.search.local import unreleasable

TREE = {"*": {"A": ["a1", "a2", "a3"], "B": [{"B1": ["b1", "b2"]}, "b3"], "C": ["c1"]}}
LEAVES = ("a1", "a2", "a3", "b1", "b2", "b3", "c1")


class Reference:
    """Strict Mondrian on lists of rows; see the docstring of `incrowd.Mondrian`."""

    def __init__(self, frequency, satisfied, least: int) -> None:
        self.domains = frequency.domains
        keys = frequency.row_keys
        self.ranks = [[int(codes[key]) for codes in frequency.codes] for key in keys]
        self.satisfied = satisfied
        self.least = least

    def classes(self) -> set[frozenset[int]]:
        finished, open_ = [], [list(range(len(self.ranks)))]
        while open_:
            part = open_.pop()
            parts = self.cut(part)
            if parts is None:
                finished.append(frozenset(part))
            else:
                open_ += parts
        return set(finished)

    def width(self, part: list[int], j: int) -> float:
        values = [self.ranks[row][j] for row in part]
        lo, hi = min(values), max(values)
        return 0.0 if lo == hi else float(self.domains[j].span(np.array([lo]), np.array([hi]))[0])

    def cut(self, part: list[int]) -> list[list[int]] | None:
        if len(part) < 2 * self.least:
            return None
        for j in sorted(range(len(self.domains)), key=lambda j: (-self.width(part, j), j)):
            if len({self.ranks[row][j] for row in part}) < 2:
                continue
            parts = self.down(part, j) if self.domains[j].hierarchy else self.between(part, j)
            if parts is not None:
                return parts
        return None

    def good(self, part: list[int]) -> bool:
        return len(part) >= self.least and self.satisfied(part)

    def between(self, part: list[int], j: int) -> list[list[int]] | None:
        values = sorted({self.ranks[row][j] for row in part})
        missing = self.domains[j].missing
        cuts = values[1:]

        def sides(cut: int) -> list[list[int]]:
            left = [row for row in part if self.ranks[row][j] < cut]
            return [left, [row for row in part if self.ranks[row][j] >= cut]]

        best = min(cuts, key=lambda cut: (abs(len(part) - 2 * len(sides(cut)[0])), cut))
        if values[-1] == missing and min(map(len, sides(missing))) >= self.least:
            best = missing
        parts = sides(best)
        return parts if all(map(self.good, parts)) else None

    def down(self, part: list[int], j: int) -> list[list[int]] | None:
        tree = self.domains[j].hierarchy
        ranks = {row: self.ranks[row][j] for row in part}
        ancestor = tree.lca(min(ranks.values()), max(ranks.values()))
        children: dict[int, list[int]] = {}
        for row in part:
            node = int(tree.leaves[ranks[row]])
            while int(tree.parents[node]) != ancestor:
                node = int(tree.parents[node])
            children.setdefault(node, []).append(row)
        # First by size alone, as the kernel proposes; then by what the models say.
        apart = {node: rows for node, rows in children.items() if len(rows) >= self.least}
        pool = [row for node in children if node not in apart for row in children[node]]
        while 0 < len(pool) < self.least and apart:
            pool += apart.pop(min(apart, key=lambda node: (len(apart[node]), node)))
        if not apart:
            return None
        while True:
            failing = [node for node in sorted(apart) if not self.satisfied(apart[node])]
            pool_fails = bool(pool) and not self.satisfied(pool)
            if not failing and not pool_fails:
                return [*apart.values(), *([pool] if pool else [])]
            number = len(failing) + pool_fails
            merged = [row for node in failing for row in apart.pop(node)]
            if pool_fails:
                merged += pool
                pool = []
            if number == 1:
                # The smallest good side, the earlier pool among them as the last.
                sides = [(len(apart[node]), place, node) for place, node in enumerate(sorted(apart))]
                if pool:
                    sides.append((len(pool), len(sides), -1))
                if not sides:
                    return None
                _, _, node = min(sides)
                merged += pool if node == -1 else apart.pop(node)
                if node == -1:
                    pool = []
            if pool:
                # A pool that is good by itself stays a side of its own.
                apart[10**9 + len(apart)] = pool
            pool = merged
            if not apart:
                return None


@st.composite
def tables(draw):
    rows = draw(st.integers(4, 60))
    column = lambda values: st.lists(st.sampled_from(values), min_size=rows, max_size=rows)  # noqa: E731
    data = {
        "n": draw(column([*range(0, 40, 3), None])),
        "t": draw(column(LEAVES)),
        "c": draw(column("uvwx")),
        "s": draw(column(["flu", "cold", "gout"])),
    }
    return pl.DataFrame(data, schema={"n": pl.Int64, "t": pl.String, "c": pl.String, "s": pl.String})


SCHEMA = ic.Schema(quasi={"n": None, "t": ic.Hierarchy.from_nested(TREE), "c": None}, sensitive=["s"])


class SavingDown(Reference):
    """``choose="loss", categories="hierarchy"``: the cut that saves most of the loss comes first."""

    def span(self, part: list[int], j: int) -> float:
        values, domain = {self.ranks[row][j] for row in part}, self.domains[j]
        if domain.hierarchy is None and not domain.ordered:
            return (len(values) - 1) / max(domain.size - 1, 1)
        return float(domain.span(np.array([min(values)]), np.array([max(values)]))[0])

    def saved(self, part: list[int], j: int) -> tuple[float, int]:
        """The saving of the best cut by an attribute, and the rank of the cut, or -1 without a cut."""
        if len({self.ranks[row][j] for row in part}) < 2:
            return -1.0, -1
        return self.saved_in_tree(part, j) if self.domains[j].hierarchy else self.saved_between(part, j)

    def saved_in_tree(self, part: list[int], j: int) -> tuple[float, int]:
        return self.saved_down(part, j)

    def saved_between(self, part: list[int], j: int) -> tuple[float, int]:
        result = (-1.0, -1)
        for cut in sorted({self.ranks[row][j] for row in part})[1:]:
            left = [row for row in part if self.ranks[row][j] < cut]
            right = [row for row in part if self.ranks[row][j] >= cut]
            saving = len(part) * self.span(part, j)
            saving = saving - len(left) * self.span(left, j) - len(right) * self.span(right, j)
            if min(len(left), len(right)) >= self.least and saving > result[0]:
                result = saving, cut
        return result

    def saved_down(self, part: list[int], j: int) -> tuple[float, int]:
        tree, ranks = self.domains[j].hierarchy, [self.ranks[row][j] for row in part]
        ancestor = tree.lca(min(ranks), max(ranks))
        children = [node for node in range(len(tree.parents)) if tree.parents[node] == ancestor]
        below = [[row for row in part if tree.lo[n] <= self.ranks[row][j] < tree.hi[n]] for n in children]
        apart = [rows for rows in below if len(rows) >= self.least]
        rest = len(part) - sum(map(len, apart))
        if not apart or (len(apart) == 1 and rest < self.least):
            return -1.0, -1
        whole = self.span(part, j)
        return sum(len(rows) * (whole - self.span(rows, j)) for rows in apart), -1

    def cut(self, part: list[int]) -> list[list[int]] | None:
        if len(part) < 2 * self.least:
            return None
        savings = [self.saved(part, j) for j in range(len(self.domains))]
        for j in sorted(range(len(self.domains)), key=lambda j: (-savings[j][0], j)):
            if len({self.ranks[row][j] for row in part}) < 2:
                continue
            tree, cut = self.domains[j].hierarchy, savings[j][1]
            parts = None if tree and cut < 0 else self.at(part, j, cut)
            parts = self.down(part, j) if tree and parts is None else parts
            if parts is not None:
                return parts
        return None

    def at(self, part: list[int], j: int, cut: int) -> list[list[int]] | None:
        missing = None if self.domains[j].hierarchy else self.domains[j].missing
        absent = sum(self.ranks[row][j] == missing for row in part)
        if min(absent, len(part) - absent) >= self.least:
            cut = missing
        if cut < 0:
            return None
        parts = [[row for row in part if (self.ranks[row][j] < cut) == left] for left in (True, False)]
        return parts if all(map(self.good, parts)) else None


class BySaving(SavingDown):
    """The rule ``choose="loss"``: hierarchies are cut down or between two leaves, whichever saves more."""

    def saved_in_tree(self, part: list[int], j: int) -> tuple[float, int]:
        return max(self.saved_down(part, j), self.saved_between(part, j), key=lambda found: found[0])


@pytest.mark.few(2)
@pytest.mark.parametrize(
    ("rules", "reading"),
    [
        (ic.Mondrian(choose="range"), Reference),
        (ic.Mondrian(choose="loss", categories="hierarchy"), SavingDown),
        (ic.Mondrian(choose="loss"), BySaving),
    ],
    ids=str,
)
@given(table=tables(), k=st.integers(1, 5), l=st.integers(1, 2))
def test_agrees_with_the_definition(rules, reading, table, k, l):  # noqa: E741
    sensitive = table["s"].to_list()
    if k > table.height or l > len(set(sensitive)):
        return
    frequency = engine_for(table).count(SCHEMA).frequency
    models = (ic.KAnonymity(k), ic.LDiversity(l))
    recoding = searched(rules, frequency, models)
    result: dict[int, set[int]] = {}
    for row, key in enumerate(frequency.row_keys):
        result.setdefault(int(recoding.class_of_key[key]), set()).add(row)
    reference = reading(frequency, lambda part: len({sensitive[row] for row in part}) >= l, max(k, l))
    assert {frozenset(rows) for rows in result.values()} == reference.classes()


def searched(algorithm, frequency, models, **settings):
    problem = SearchProblem(frequency, models, SCHEMA.quasi, progress=_Silent(), **settings)
    return algorithm.search(problem).recoding


def test_distinct_values_are_counted_no_further_than_the_limit(monkeypatch):
    from incrowd.core.kernels import jit
    from incrowd.core.table.classes import EquivalenceClasses

    def refuse(*given):
        raise AssertionError("all values were counted")

    table = pl.DataFrame({"n": range(40), "s": ["u", "v", "u", "w"] * 10})
    schema = ic.Schema(quasi=["n"], sensitive=["s"])
    problem = SearchProblem(engine_for(table).count(schema).frequency, (ic.LDiversity(3),), schema.quasi)
    monkeypatch.setattr(jit, "so_few", lambda keys: False)
    monkeypatch.setattr(EquivalenceClasses, "counts", refuse)
    assert 4 < len(np.unique(mondrian.Mondrian().search(problem).recoding.class_of_key)) <= 13


@given(least=st.integers(1, 4), data=st.data())
def test_classes_have_the_values_that_are_counted(least, data):
    from incrowd.core.kernels import jit
    from incrowd.core.table.classes import EquivalenceClasses

    rows = data.draw(st.lists(st.tuples(st.integers(0, 9), st.sampled_from("uvwx")), min_size=1, max_size=30))
    table = pl.DataFrame(rows, schema=["n", "s"], orient="row")
    frequency = engine_for(table).count(ic.Schema(quasi=["n"], sensitive=["s"])).frequency
    of_key = st.lists(st.integers(0, 3), min_size=frequency.keys, max_size=frequency.keys)
    assignment = np.array(data.draw(of_key), np.int32)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(jit, "so_few", lambda keys: False)
        classes = EquivalenceClasses.from_assignment(frequency, assignment, 4)
        reached = classes.have_values(0, least)
    assert reached.tolist() == (np.diff(classes.counts(0).indptr) >= least).tolist()


def blanked(frequency, recoding) -> int:
    """Columns that have a cell for all values in over half of the records that are not suppressed."""
    weights = frequency.weights * ~recoding.suppressed
    columns = zip(recoding.domains, recoding.cells, strict=True)
    whole = [
        (cells.starred | ((cells.lo == 0) & (cells.hi == domain.size - 1))[cells.codes]) * weights
        for domain, cells in columns
        if domain.size > 1
    ]
    return sum(2 * int(each.sum()) > int(weights.sum()) for each in whole)


def loss_of(frequency, recoding) -> float:
    return Loss().measure(frequency, recoding).value


@given(table=tables(), k=st.integers(1, 5))
def test_without_a_rule_the_result_that_loses_less_is_taken(table, k):
    if k > table.height:
        return
    frequency, models = engine_for(table).count(SCHEMA).frequency, [ic.KAnonymity(k)]
    by_range, by_loss, best = (
        searched(ic.Mondrian(choose=rule), frequency, models, set_limit=50, max_suppression=1.0)
        for rule in ("range", "loss", None)
    )
    taken = min(by_range, by_loss, key=lambda made: (blanked(frequency, made), loss_of(frequency, made)))
    assert best.class_of_key.tolist() == taken.class_of_key.tolist()


def test_records_with_a_list_that_is_too_long_are_counted():
    """Two records get a list of two values: too long by a limit of a single value."""
    table = pl.DataFrame({"n": [0, 1, 30, 31], "t": ["a1"] * 4, "c": ["u", "v", "w", "w"], "s": ["x"] * 4})
    frequency = engine_for(table).count(SCHEMA).frequency
    solution = ic.Mondrian(choose="range").search(SearchProblem(frequency, [ic.KAnonymity(2)], SCHEMA.quasi))
    counts = [
        unreleasable(
            SearchProblem(frequency, [ic.KAnonymity(2)], SCHEMA.quasi, set_limit=limit), solution.recoding
        )
        for limit in (1, 2)
    ]
    assert counts == [2, 0]


@given(table=tables(), k=st.integers(1, 9), limit=st.integers(0, 4))
def test_lists_that_are_too_long_are_found_by_what_they_cost(table, k, limit):
    if k > table.height:
        return
    frequency = engine_for(table).count(SCHEMA).frequency
    recoding = searched(ic.Mondrian(choose="range"), frequency, [ic.KAnonymity(k)])
    problem = SearchProblem(frequency, [ic.KAnonymity(k)], SCHEMA.quasi, set_limit=limit)
    values = [read_set(recoding.cells[2].labels[code]) or () for code in recoding.cells[2].codes]
    long = np.array([len(each) > limit for each in values]) & (recoding.domains[2].size > limit)
    gone = frequency.weights[recoding.suppressed].sum()
    assert unreleasable(problem, recoding) == gone + frequency.weights[long].sum()


@pytest.mark.few(1)
@pytest.mark.parametrize(
    "named",
    [
        ic.Mondrian(choose="range"),
        ic.Mondrian(median="balanced"),
        ic.Mondrian(categories="hierarchy"),
        ic.Mondrian(mode="relaxed"),
    ],
    ids=str,
)
def test_who_names_a_rule_gets_it(monkeypatch, named):
    tried = []
    search = mondrian._Search.__init__

    def noted(self, settings, problem):
        tried.append(settings)
        search(self, settings, problem)

    monkeypatch.setattr(mondrian._Search, "__init__", noted)
    table = ic.samples.hospital(200).select("age", "sex", "length_of_stay")
    ic.anonymize(table, ic.Schema(quasi=table.columns), "k-anonymity:5", named)
    assert tried == [named]
    ic.anonymize(table, ic.Schema(quasi=table.columns), "k-anonymity:5")
    assert tried[1:] == [ic.Mondrian(), ic.Mondrian(choose="loss")]


class _Silent:
    def stage(self, name: str) -> None: ...
    def advance(self, done: int, total: int) -> None:
        assert 0 <= done <= total


@given(tables(), st.integers(1, 5), st.floats(0, 1))
def test_every_class_satisfies_every_model(table, k, t):
    if k > table.height:
        return
    release = ic.anonymize(
        table, SCHEMA, [ic.KAnonymity(k), ic.TCloseness(t)], max_suppression=1.0, suppressed="keep"
    )
    rows = release.table.rows(named=True)
    groups: dict[tuple[str, ...], list[str]] = {}
    for row in rows:
        groups.setdefault((row["n"], row["t"], row["c"]), []).append(row["s"])
    whole = Counter(row["s"] for row in rows)
    for group in groups.values():
        assert len(group) >= k
        counts = Counter(group)
        distance = sum(abs(counts[v] / len(group) - whole[v] / len(rows)) for v in whole) / 2
        assert distance <= t + 1e-9


def test_children_that_fail_stay_together_under_the_ancestor():
    table = pl.DataFrame({"t": ["a1"] * 3 + ["a2"] * 3 + ["a3"] + ["b1"] * 3})
    schema = ic.Schema(quasi={"t": ic.Hierarchy.from_nested(TREE)})
    release = ic.anonymize(table, schema, [ic.KAnonymity(3)])
    # a3 is alone; the smallest good child in order, a1, keeps it company under A.
    assert release.table["t"].to_list() == ["A"] * 3 + ["a2"] * 3 + ["A"] + ["b1"] * 3


def test_missing_numbers_part_first():
    table = pl.DataFrame({"n": [1, 2, None, None, 8, 9]})
    release = ic.anonymize(table, ic.Schema(quasi=["n"]), [ic.KAnonymity(2)], ends="exact")
    assert release.table["n"].to_list() == ["[1-2]", "[1-2]", None, None, "[8-9]", "[8-9]"]
    two = table.head(3).with_columns(c=pl.Series(["x", "y", "x"]))
    joined = ic.anonymize(two, ic.Schema(quasi=["n", "c"]), [ic.KAnonymity(3)])
    assert joined.table.rows() == [("*", "{x, y}")] * 3


def test_a_table_that_becomes_one_star_is_no_release():
    with pytest.raises(ic.InfeasibleError, match="3 of 3 records are suppressed"):
        ic.anonymize(pl.DataFrame({"n": [1, 2, None]}), ic.Schema(quasi=["n"]), [ic.KAnonymity(3)])


@pytest.mark.slow
@pytest.mark.parametrize("threads", quick(["1", "2", "5"], "5"))
def test_the_number_of_threads_changes_nothing(monkeypatch, threads):
    from incrowd.samples import hospital, hospital_policy

    table = hospital(4000, 3)
    expected = ic.anonymize(table, hospital_policy(k=4)).table
    monkeypatch.setattr("incrowd.core.kernels.jit.PARALLEL_FROM", 10)
    monkeypatch.setenv("INCROWD_THREADS", threads)
    assert ic.anonymize(table, hospital_policy(k=4)).table.equals(expected)
