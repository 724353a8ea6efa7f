"""Mondrian in one pass cuts as level by level, on any number of cores and by NumPy."""

from __future__ import annotations

import numpy as np
import polars as pl
import pytest

import incrowd as ic
from incrowd.core.kernels import jit
from incrowd.engines import engine_for
from incrowd.search import SearchProblem, mondrian

RULES = [
    {"choose": "range"},
    {"choose": "loss"},
    {"choose": "loss", "categories": "hierarchy"},
    {"choose": "loss", "max_depth": 4},
    {"choose": "span", "median": "below", "categories": "appearance"},
    {"categories": "ordered", "max_depth": 0},
    {"mode": "relaxed"},
]
COLUMNS = ("few", "texts", "one", "other", "zip", "days")
TREES = {"zip": ic.Hierarchy.prefix(), "days": ic.Hierarchy.intervals(10, 50, 200)}


def table(seed: int, rows: int) -> pl.DataFrame:
    """Columns of few values and of nearly as many as rows, with some values missing."""
    numbers = np.random.default_rng(seed)
    widths = numbers.choice([2, 60, 5_000, 300_000], 2)
    texts = np.array([f"v{n}" for n in range(40)])
    result = {
        "few": texts[numbers.integers(0, 3, rows)],
        "texts": texts[numbers.integers(0, 40, rows)],
        "one": numbers.integers(0, widths[0], rows),
        "other": numbers.exponential(1, rows).round(4) * widths[1],
        "zip": [f"{n:04}" for n in np.minimum(numbers.geometric(0.002, rows), 9_999)],
        "days": numbers.integers(0, 400, rows),
    }
    gone = pl.Series(numbers.random(rows) < 0.1)
    return pl.DataFrame(result).with_columns(one=pl.when(gone).then(None).otherwise(pl.col("one")))


def problem_of(table: pl.DataFrame, k: int, *, single: bool = False) -> SearchProblem:
    """Return a problem; of single records, which relaxed Mondrian needs, if asked."""
    schema = ic.Schema(quasi={name: TREES.get(name) for name in table.columns})
    frequency = engine_for(table).count(schema).frequency
    return SearchProblem(frequency.by_record() if single else frequency, [ic.KAnonymity(k)], schema.quasi)


def assigned(rules, problem, *, by_level: bool):
    search = mondrian._Search(ic.Mondrian(**rules), problem)
    search.by_level = by_level or search.by_numpy
    classes, count = search.run()
    return classes.tolist(), count


@pytest.mark.few(2)
@pytest.mark.parametrize("rules", RULES, ids=str)
def test_one_pass_cuts_as_levels_do(monkeypatch, rules):
    monkeypatch.setattr(jit, "_is_loaded", lambda: True)
    for seed in range(6):
        for rows in (3, 40, 400):
            columns = table(seed, rows).select(COLUMNS[seed % 3 :: 1 + seed % 2])
            problem = problem_of(columns, min(1 + seed, rows), single="mode" in rules)
            assert assigned(rules, problem, by_level=False) == assigned(rules, problem, by_level=True)


@pytest.mark.parametrize("threads", ["1", "2", "5"])
@pytest.mark.parametrize("rules", RULES[:2], ids=str)
def test_neither_cores_nor_portions_matter(monkeypatch, threads, rules):
    """The table is cut in many portions on several cores, and then by a single core in one portion."""
    problem = problem_of(table(0, 900), 3)
    expected = assigned(rules, problem, by_level=False)
    monkeypatch.setattr(jit, "PARALLEL_FROM", 10)
    monkeypatch.setattr(mondrian, "_LONG", 5)
    monkeypatch.setattr(mondrian, "_BATCH", 200)
    monkeypatch.setenv("INCROWD_THREADS", threads)
    assert assigned(rules, problem, by_level=False) == expected


@pytest.mark.parametrize("rule", ["range", "loss"])
def test_numpy_cuts_columns_of_many_values_alike(monkeypatch, rule):
    """Kernels sort few keys, mark the ranks of more, and count in an array where values are fewer."""
    for seed in range(12):
        problem = problem_of(table(seed, 30 + 40 * seed).select(COLUMNS[:4]), 1 + seed % 4)
        result = []
        for loaded in (True, False):
            monkeypatch.setattr(jit, "_is_loaded", lambda loaded=loaded: loaded)
            result.append(assigned({"choose": rule}, problem, by_level=False))
        assert result[0] == result[1]
