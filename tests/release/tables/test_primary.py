"""Which cells are unsafe, by the rules of the field."""

from __future__ import annotations

import numpy as np
import polars as pl
import pytest

import incrowd as ic
from incrowd.core.errors import ParameterError
from incrowd.core.hierarchy.tree import Hierarchy
from incrowd.engines import engine_for
from incrowd.release.tables.cells import Axis
from incrowd.release.tables.counting import Cells, count_cells
from incrowd.release.tables.primary import need_of, primary_cells

AXIS = Axis("branch", Hierarchy.from_nested({"*": ["a", "b"]}))


def cells(parts, **settings):
    """A cell of the parts of some people, beside two safe cells."""
    layout = ic.CountTable("t", rows=["branch"], sum="value", threshold=3, **settings)
    many = [1.0] * 50
    largest = np.zeros((3, 5))
    for place, each in enumerate((parts + many, parts, many)):
        top = sorted(each, reverse=True)[:5]
        largest[place, : len(top)] = top
    values = np.array([sum(parts) + 50, sum(parts), 50.0])
    people = np.array([len(parts) + 50, len(parts), 50])
    contributors = np.array([sum(each > 0 for each in parts) + 50, sum(each > 0 for each in parts), 50])
    return Cells(layout, (AXIS,), values, people, largest, (), contributors)


@pytest.mark.parametrize(
    ("parts", "settings", "unsafe"),
    [
        # ACRO's own limits: fewer than 10 people, the two largest above 90 %, 10 % of the largest.
        ([50, 41, 5, 4], {"dominance": [2, 0.9]}, True),
        ([50, 40, 5, 5], {"dominance": [2, 0.9]}, False),
        ([100, 50, 9], {"p_percent": 10}, True),
        ([100, 50, 10], {"p_percent": 10}, False),
        ([100, 50], {}, True),
        ([100, 50, 1], {}, False),
        ([], {}, False),
        ([], {"zeros": "hide"}, True),
    ],
)
def test_rules(parts, settings, unsafe):
    chosen = primary_cells(cells(parts, **settings))
    assert chosen.tolist() == [False, unsafe, False]


def turnovers(size: int = 600) -> pl.DataFrame:
    """Firms of areas and trades, drawn by a generator of two lines, so that other tools can draw the same."""
    state, rows = 1, []
    for _ in range(size):
        draw = []
        for _ in range(3):
            state = (state * 1103515245 + 12345) % 2**31
            draw.append(state >> 16)
        trade = "uvwxyz"[min(draw[1] % 11, 5)] if draw[1] % 3 else "u"
        rows.append(("abcd"[draw[0] % 4], trade, round((32768 / (1 + draw[2])) ** 2)))
    return pl.DataFrame(rows, ["area", "trade", "turnover"], orient="row")


ACRO = {
    "MinimumThresholdCheck": "av aw ax ay cy dv dw dx dy",
    "NKCheck": "aw ay az bu cw cx dv dy",
    "PPercentCheck": "aw ay bu cw cx dv dy",
}
"""The cells of turnover by area and trade that each check of ACRO 1.0.2 finds, with the limits that it comes with."""


RULES = {
    "MinimumThresholdCheck": {"threshold": 10},
    "NKCheck": {"threshold": 2, "dominance": [2, 0.9]},
    "PPercentCheck": {"threshold": 2, "p_percent": 10},
}


def unsafe_turnovers(**settings) -> set[str]:
    """The unsafe cells, and totals, of the turnover by area and trade."""
    table = turnovers()
    schema = ic.Schema(
        quasi={name: Hierarchy.from_nested({"*": sorted({*table[name]})}) for name in ("area", "trade")},
        insensitive=["turnover"],
    )
    layout = ic.CountTable("t", rows=["area"], columns=["trade"], sum="turnover", **settings)
    counted = count_cells(engine_for(table), schema, layout)
    names = [a + b for a in counted.axes[0].codes for b in counted.axes[1].codes]
    return {name for name, each in zip(names, primary_cells(counted), strict=True) if each}


@pytest.mark.parametrize("check", ACRO)
def test_unsafe_cells_are_those_of_a_tool_of_research_centres(check):
    # ACRO was not asked for totals.
    inner = {name for name in unsafe_turnovers(**RULES[check]) if "Total" not in name}
    assert inner == {*ACRO[check].split()}


@pytest.mark.parametrize(
    ("check", "rule"),
    [("MinimumThresholdCheck", "FREQ(10,20)"), ("NKCheck", "NK(2,90)"), ("PPercentCheck", "P(10,1)")],
)
def test_unsafe_cells_and_totals_are_those_of_tau_argus(check, rule, tmp_path, monkeypatch, capfd):
    tau_argus = pytest.importorskip("pytauargus")
    # It writes its logs where it is started.
    monkeypatch.chdir(tmp_path)
    result = tau_argus.protect(
        turnovers().to_dict(as_series=False), ["area", "trade"], "turnover", rule, "OPT(1)",
        totcode="Total", workdir=str(tmp_path),
    )  # fmt: skip
    frame = result.tables[0].dataframe()
    rows = zip(frame["area"], frame["trade"], frame["status"], strict=True)
    assert unsafe_turnovers(**RULES[check]) == {area + trade for area, trade, status in rows if status == "U"}


@pytest.mark.filterwarnings("ignore")
def test_acro_says_so_itself(tmp_path, monkeypatch):
    """The list above from the tool, where installed: the tool needs an older pandas than the tests do."""
    acro = pytest.importorskip("acro")
    monkeypatch.chdir(tmp_path)
    table = turnovers().to_pandas()
    tool = acro.ACRO(suppress=False)
    tool.crosstab(table.area, table.trade, values=table.turnover, aggfunc="sum")
    outcome = tool.results.get_index(0).outcome
    for check, cells_of in ACRO.items():
        result = [a + b for a in outcome.index for b in outcome.columns if check in outcome.loc[a, b]]
        assert sorted(result) == cells_of.split()


def test_how_far_an_interval_must_reach():
    """With 60, 36 and 4 of 100: dominance asks for 96 / 0.9, and 10 % of 60 is 6, of which 4 are there."""
    one = cells([60, 36, 4], dominance=[2, 0.9])
    assert need_of(one, primary_cells(one)).slack[1] == pytest.approx(max(96 / 0.9 - 100, 10))
    other = cells([600, 36, 4], p_percent=50)
    assert need_of(other, primary_cells(other)).slack[1] == pytest.approx(300 - 4)


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"name": "../x"}, "letters, digits"),
        ({"rows": []}, "at least one column"),
        ({"rows": ["a", "a:2"]}, "stands twice"),
        ({"threshold": 1}, "at least 2"),
        ({"dominance": [2, 0.9]}, "for sums"),
        ({"sum": "x", "dominance": [0, 0.9]}, "a number of people and a share"),
        ({"sum": "x", "dominance": 2}, "a number of people and a share"),
        ({"sum": "x", "protect": "round"}, "protect = 'suppress'"),
        ({"protect": "cell-key"}, "needs a secret"),
        ({"protect": "round", "rounding": "random"}, "needs a secret"),
        ({"rounding": "random"}, "is for protect = 'round'"),
        ({"rounding": "small"}, "is for protect = 'round'"),
        ({"protect": "round", "rounding": "small", "base": 3}, "raise the base"),
        ({"key_table": "10-5"}, "is for protect = 'cell-key'"),
        ({"protect": "cell-key", "key_table": "ten-five"}, "file:PATH, or a rule"),
        ({"protect": "cell-key", "key_table": "10-5", "deviation": 3}, "leave out deviation"),
        ({"protect": "cell-key", "key_table": "file:x.csv"}, "needs a secret"),
        ({"protect": "supress"}, "did you mean"),
        ({"count": "persons"}, "one of people, records"),
    ],
)
def test_a_wrong_setting_is_named(settings, message):
    with pytest.raises(ParameterError, match=message):
        ic.CountTable(**{"name": "t", "rows": ["a"]} | settings)


def test_settings_are_read_as_they_are_written():
    layout = ic.CountTable("t", rows=["a:1"], columns=["b"], sum="x", dominance=(2, 0.9), zeros="hide")
    assert ic.CountTable.from_settings(layout.settings()) == layout
    with pytest.raises(ParameterError, match=r"no setting 'treshold'; .* did you mean 'threshold'"):
        ic.CountTable.from_settings({"name": "t", "treshold": 3})
