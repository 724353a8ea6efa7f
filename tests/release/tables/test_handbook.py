"""The worked examples of the Handbook on Statistical Disclosure Control, section 4.2.

Source: Hundepool et al., Handbook on Statistical Disclosure Control, second edition, the SDC tools' project.
"""

from __future__ import annotations

import numpy as np
import polars as pl
import pytest

import incrowd as ic
from incrowd.core.hierarchy.tree import Hierarchy
from incrowd.engines import engine_for
from incrowd.release.tables.audit import intervals
from incrowd.release.tables.cells import Axis, Linked
from incrowd.release.tables.counting import count_cells
from incrowd.release.tables.primary import need_of, primary_cells
from incrowd.release.tables.protect import protect

SCHEMA = ic.Schema(person=["who"], quasi={"branch": ic.Hierarchy.flat()}, insensitive=["turnover"])


def counted(parts, **rules):
    """A cell of some parts, each of a separate company, beside a branch of many equal parts."""
    layout = ic.CountTable("t", rows=["branch"], sum="turnover", threshold=2, **rules)
    rows = [(n, "mining", part) for n, part in enumerate(parts)]
    rows += [(1000 + n, "other", 1000) for n in range(400)]
    frame = pl.DataFrame(rows, schema=["who", "branch", "turnover"], orient="row")
    cells = count_cells(engine_for(frame, starred=True), SCHEMA, layout)
    return cells, cells.axes[0].codes.index("mining")


@pytest.mark.parametrize(
    ("parts", "rules", "unsafe"),
    [
        # Example 1: safe by (1, 90), and the second comes within 2 % of the first.
        ([50_000, 49_000, 1_000], {"dominance": [1, 0.9]}, False),
        ([50_000, 49_000, 1_000], {"p_percent": 10.0}, True),
        ([50_000, 49_000, 1_000], {"p_percent": 1.9}, False),
        # Example 2: safe by 10 %, and not by (2, 90.9).
        ([52_000, 50_000, 8_000], {"p_percent": 10.0}, False),
        ([52_000, 50_000, 8_000], {"dominance": [2, 100 / 110]}, True),
        # Example 4.
        ([300, 20, 10], {"dominance": [1, 0.85]}, True),
    ],
)
def test_examples_of_rules(parts, rules, unsafe):
    cells, mining = counted(parts, **rules)
    assert primary_cells(cells)[mining] == unsafe


def test_example_3_of_an_interval():
    """Geurts 1992, table 10: the first cell of a table of three by two is between 3 and 6."""
    axes = [
        Axis("row", Hierarchy.from_nested({"*": ["1", "2", "3"]})),
        Axis("column", Hierarchy.from_nested({"*": ["1", "2"]})),
    ]
    values = np.array([16, 9, 7, 7, 5, 2, 3, 1, 2, 6, 3, 3], float)
    hidden = np.array([4, 5, 7, 8])
    low, high = values.copy(), values.copy()
    low[hidden], high[hidden] = 0, np.inf
    ends = intervals(Linked.of_tables([axes]), low, high, hidden)
    assert (ends.lower[0], ends.upper[0]) == (3, 6)


def test_example_4_of_a_protection_level():
    """The upper end must be 100/85 of the largest part, 352.94, or more."""
    cells, mining = counted([300, 20, 10], dominance=[1, 0.85])
    need = need_of(cells, primary_cells(cells))
    rule = 300 / 0.85
    assert rule == pytest.approx(352.94, abs=0.005)
    # A tenth of the cell, 33, is more than the 22.94 of the rule.
    assert need.values[mining] + need.slack[mining] == 363
    higher, mining = counted([300, 20, 10], dominance=[1, 0.8])
    need = need_of(higher, primary_cells(higher))
    assert need.values[mining] + need.slack[mining] == pytest.approx(300 / 0.8)


def test_example_5_of_a_protection_level():
    """By p % the upper end is ``X + p/100 x1 - (X - x1 - x2)``."""
    cells, mining = counted([300, 20, 10], p_percent=30.0)
    assert need_of(cells, primary_cells(cells)).slack[mining] == pytest.approx(0.3 * 300 - 10)


@pytest.mark.parametrize("same", [False, True])
def test_two_singletons_and_one_company_in_two_cells(same):
    """Two cells of a single company each, or of the same company, are not the only hidden cells.

    Each of two companies knows the own part, and so that of the other, however large the cells. One company in
    both is told by their sum.
    """
    rows = [(1, "a", 10_000), (1 if same else 2, "b", 7_000)]
    rows += [(10 + n, "cdef"[n % 4], 900 + n) for n in range(40)]
    frame = pl.DataFrame(rows, schema=["who", "branch", "turnover"], orient="row")
    layout = ic.CountTable("t", rows=["branch"], sum="turnover", threshold=3, p_percent=10.0)
    [table] = protect([count_cells(engine_for(frame, starred=True), SCHEMA, layout)], seconds=10)
    assert table.unsafe == 0
    assert not table.hidden[0]
    assert table.hidden.sum() > 2
