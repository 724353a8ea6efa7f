"""No union of hidden cells that can be computed is unsafe, and no lone contributor computes an unsafe cell."""

from __future__ import annotations

import itertools
import math
import random

import numpy as np
import polars as pl
import pytest
from scipy.linalg import null_space
from scipy.optimize import linprog

import incrowd as ic
from crossed import crossed
from examples import share
from incrowd.core.errors import InfeasibleError
from incrowd.engines import engine_for
from incrowd.release.tables.counting import count_cells
from incrowd.release.tables.protect import protect
from incrowd.release.tables.unions import Unions

RULES = [
    {"threshold": 3, "p_percent": 20.0},
    {"threshold": 2, "p_percent": 24.0},
    {"threshold": 2, "dominance": [2, 0.8]},
    {"threshold": 5},
    {"threshold": 4, "count": "records", "width": 2},
    {"threshold": 6, "count": "people", "width": 2},
]


def rows_of(draw, *, two_way):
    """Rows of some people in a few cells; some are in several, and some give nothing."""
    people, size = draw.randint(6, 40), draw.randint(8, 60)
    return [
        (
            draw.randrange(people) if draw.random() < 0.9 else None,
            draw.choice("abcd"),
            draw.choice("xyz") if two_way else "x",
            draw.choice([0, 1, 3, 10, 40, 100, 250]),
        )
        for _ in range(size)
    ]


def release_of(rows, rule, *, two_way):
    schema = ic.Schema(
        person=["who"], quasi={"g": ic.Hierarchy.flat(), "h": ic.Hierarchy.flat()}, insensitive=["v"]
    )
    value = {} if "count" in rule else {"sum": "v"}
    layout = ic.CountTable("t", rows=["g"], columns=["h"] if two_way else [], **value, **rule)
    frame = pl.DataFrame(rows, schema=["who", "g", "h", "v"], orient="row")
    cells = count_cells(engine_for(frame, starred=True), schema, layout)
    return cells, protect([cells], seconds=20)[0]


def persons_of(rows, codes):
    """The parts of each person in a cell, given by codes."""
    parts = {}
    for number, (who, *own, v) in enumerate(rows):
        if all(code in ("Total", mine) for code, mine in zip(codes, own, strict=False)):
            person = ("nobody", number) if who is None else who
            parts[person] = parts.get(person, 0) + v
    return parts


def unsafe(parts, layout, cells):
    """The rule, read anew: parts of each person in a union of cells."""
    counted = sorted((part for part in parts.values() if part > 0 or layout.sum is None), reverse=True)
    if parts and len(counted) < layout.threshold:
        return True
    if layout.sum is None:
        return False
    total, first, second = sum(counted), *[*counted, 0, 0][:2]
    if layout.dominance and sum(counted[: layout.dominance[0]]) > layout.dominance[1] * total + 1e-6:
        return True
    return bool(layout.p_percent and total - first - second < layout.p_percent / 100 * first - 1e-6)


def sums_of(cells):
    """Every sum as a line of -1 and 1 over the cells."""
    shape = cells.shape
    lines = []
    for place in np.ndindex(*shape):
        for axis, size in enumerate(shape):
            if place[axis] == 0 and cells.axes[axis].column not in cells.overlapping:
                line = np.zeros(shape)
                line[place] = -1
                for code in range(1, size):
                    line[(*place[:axis], code, *place[axis + 1 :])] = 1
                lines.append(line.ravel())
    return np.array(lines).reshape(-1, math.prod(shape))


@pytest.mark.few(1)
@pytest.mark.parametrize("rule", RULES, ids=str)
@pytest.mark.parametrize("two_way", [False, True])
def test_no_union_that_can_be_computed_is_unsafe(rule, two_way):
    protected = 0
    for seed in range(share(25)):
        draw = random.Random(f"{rule}{two_way}{seed}")
        rows = rows_of(draw, two_way=two_way)
        try:
            cells, table = release_of(rows, rule, two_way=two_way)
        except InfeasibleError:
            continue
        assert table.unsafe == 0
        hidden = np.flatnonzero(table.hidden)
        protected += bool(len(hidden))
        if not 0 < len(hidden) <= 16:
            continue
        names = list(itertools.product(*(axis.codes for axis in table.axes)))
        parts = [persons_of(rows, codes) for codes in names]
        unions = np.arange(1, 2 ** len(hidden))[:, None] >> np.arange(len(hidden)) & 1
        # A union is a combination of sums exactly where all that the sums leave open cancels out in it.
        told = np.abs(unions @ null_space(sums_of(cells)[:, hidden])).max(axis=1, initial=0) < 1e-9
        for union in unions[told]:
            together = {}
            for place in np.flatnonzero(union):
                for person, part in parts[hidden[place]].items():
                    together[person] = together.get(person, 0) + part
            assert not unsafe(together, table.layout, cells), (seed, [names[n] for n in hidden[union > 0]])
    assert protected > share(25) // 5


@pytest.mark.slow
@pytest.mark.parametrize("rule", RULES[:4], ids=str)
def test_nobody_computes_an_unsafe_cell_from_the_own_ones(rule):
    knowing = 0
    for seed in range(share(25)):
        draw = random.Random(f"{rule}{seed}")
        rows = rows_of(draw, two_way=True)
        try:
            cells, table = release_of(rows, rule, two_way=True)
        except InfeasibleError:
            continue
        hidden = np.flatnonzero(table.hidden)
        names = list(itertools.product(*(axis.codes for axis in table.axes)))
        parts = [{who: part for who, part in persons_of(rows, codes).items() if part > 0} for codes in names]
        over = sums_of(cells)
        for person in {who for each in parts for who in each}:
            own = [cell for cell in hidden if set(parts[cell]) == {person}]
            for cell in hidden if own else ():
                if cell in own or not unsafe(parts[cell], table.layout, cells):
                    continue
                knowing += 1
                known = np.isin(np.arange(len(names)), [*np.flatnonzero(~table.hidden), *own])
                bounds = [(v, v) if k else (0, None) for v, k in zip(cells.values, known, strict=True)]
                aim = (np.arange(len(names)) == cell).astype(float)
                ends = [
                    linprog(sign * aim, A_eq=over, b_eq=np.zeros(len(over)), bounds=bounds)
                    for sign in (1, -1)
                ]
                upper = math.inf if ends[1].status == 3 else -ends[1].fun
                assert upper - ends[0].fun > 1e-6, (seed, names[cell])
    assert knowing


def test_the_people_of_a_union_are_counted_once():
    rows = [(1, "a", "x", 100), (1, "b", "x", 60), (2, "b", "x", 5), (3, "c", "x", 50)]
    cells, _ = release_of(
        rows * 1 + [(n, "d", "x", 40) for n in range(4, 30)], {"threshold": 2}, two_way=False
    )
    members = Unions(cells).members(0)
    assert members.part.tolist()[:3] == [160, 50, 40]
    assert Unions(cells).members(2).person.tolist() != Unions(cells).members(3).person.tolist()


def test_a_union_of_three_sums_is_found_among_many_hidden_cells():
    """``a y + a z - (a p - a x p)`` is ``a y q + a z q``, cells of a single person."""
    codes = [code for code in itertools.product("abcdefgh", "xyz", "pq") if code != ("a", "x", "p")]
    rows = [(9 * number + each, *code) for number, code in enumerate(codes) for each in range(9)]
    rows = [row for row in rows if row[1:] not in (("a", "y", "q"), ("a", "z", "q"))]
    rows += [(1, "a", "y", "q"), (1, "a", "z", "q")]
    schema = ic.Schema(person=["who"], quasi={name: ic.Hierarchy.flat() for name in "ghk"})
    layout = ic.CountTable("t", rows=["g", "h", "k"], count="records", threshold=3)
    frame = pl.DataFrame(rows, schema=["who", *"ghk"], orient="row")
    cells = count_cells(engine_for(frame, starred=True), schema, layout)
    names = [*itertools.product(*(axis.codes for axis in cells.axes))]
    totals = [name.count("Total") > 1 for name in names]
    for name in ("a y Total", "a z Total", "a Total p", "a x p"):
        totals[names.index(tuple(name.split()))] = True
    breaches = Unions(cells).breaches(~np.array(totals), chains=True)
    told = [{names[cell] for cell in each.cells} for each in breaches]
    assert {("a", "y", "q"), ("a", "z", "q")} in told


@pytest.mark.few(1)
@pytest.mark.parametrize(("unit", "seconds"), crossed([0.01, 10.0, 1e4, 1e9], [1e-9, 20]))
def test_the_unit_of_a_sum_changes_nothing(unit, seconds):
    draw = random.Random("units")
    rows = [
        (n, draw.choice("abcdef"), draw.choice("xyzw"), draw.choice([1, 3, 10, 40, 300])) for n in range(90)
    ]
    schema = ic.Schema(
        person=["who"], quasi={"g": ic.Hierarchy.flat(), "h": ic.Hierarchy.flat()}, insensitive=["v"]
    )
    layout = ic.CountTable(
        "t", rows=["g"], columns=["h"], sum="v", threshold=3, p_percent=20.0, cost="people"
    )
    hidden = []
    for factor in (1.0, unit):
        values = [(*row[:3], round(row[3] * factor, 2)) for row in rows]
        frame = pl.DataFrame(values, schema=["who", "g", "h", "v"], orient="row")
        cells = count_cells(engine_for(frame, starred=True), schema, layout)
        hidden.append(protect([cells], seconds=seconds)[0].hidden)
    assert hidden[0].tolist() == hidden[1].tolist()


@pytest.mark.slow
@pytest.mark.parametrize("rule", [*RULES[:4], {"threshold": 2, "dominance": [1, 0.4]}], ids=str)
def test_the_cells_of_a_line_cost_least(rule):
    """Beside all choices of a line of at most seven cells, with unions and lone contributors."""
    compared = 0
    for seed in range(share(20)):
        draw = random.Random(f"{rule}{seed}")
        people, codes = draw.randint(6, 30), "abcdefg"[: draw.randint(3, 7)]
        rows = [
            (draw.randrange(people), draw.choice(codes), "x", draw.choice([0, 2, 10, 40, 100]))
            for _ in range(draw.randint(12, 50))
        ]
        cheapest = _cheapest(rows, rule)
        try:
            _, table = release_of(rows, rule, two_way=False)
        except InfeasibleError:
            assert cheapest is None
            continue
        cells = release_of(rows, rule, two_way=False)[0]
        hidden = np.flatnonzero(table.hidden)
        assert table.unsafe == 0
        if 0 not in hidden:
            compared += 1
            assert cheapest is not None
            assert cells.people[hidden].sum() + len(hidden) == cheapest, seed
    assert compared


def _cheapest(rows, rule):
    """The least cost in people of the hidden cells of a line with a shown total, or None."""
    schema = ic.Schema(person=["who"], quasi={"g": ic.Hierarchy.flat()}, insensitive=["v"])
    layout = ic.CountTable("t", rows=["g"], sum="v", **rule)
    frame = pl.DataFrame(rows, schema=["who", "g", "h", "v"], orient="row")
    cells = count_cells(engine_for(frame, starred=True), schema, layout)
    parts = [persons_of(rows, (code, "Total")) for code in cells.axes[0].codes]
    bad = [unsafe(each, layout, cells) for each in parts]
    if bad[0]:
        return None
    able = [n for n in range(1, len(parts)) if parts[n]]
    must = {n for n in able if bad[n]}
    least = max(0.1 * cells.values[0] / len(parts[0]), 1e-5 * cells.values[0])
    choices = (set(each) for size in range(len(able) + 1) for each in itertools.combinations(able, size))
    costs = [
        sum(int(cells.people[n]) + 1 for n in chosen)
        for chosen in choices
        if must <= chosen and (not chosen or _is_safe(chosen, cells, parts, bad, least, layout))
    ]
    return min(costs, default=None)


def _is_safe(chosen, cells, parts, bad, least, layout):
    known = sum(float(cells.values[n]) for n in chosen)
    together = {}
    for n in chosen:
        for person, part in parts[n].items():
            together[person] = together.get(person, 0) + part
    if len(chosen) < 2 or unsafe(together, layout, cells):
        return False
    makers = {n: {who for who, part in parts[n].items() if part > 0} for n in chosen}
    for n in chosen:
        value, slack = float(cells.values[n]), _slack(parts[n], layout) if bad[n] else 0.0
        if known < max(0.1 * known, least) - 1e-9 or known < value + slack - 1e-6:
            return False
        for person in together if bad[n] else ():
            own = {m for m in chosen if makers[m] == {person}}
            rest = known - sum(float(cells.values[m]) for m in own)
            others = chosen - own
            if not own or n in own:
                continue
            low = rest if len(others) == 1 else 0.0
            wide = rest - low >= max(0.1 * rest, least) - 1e-9
            inside = person in makers[n] or low <= max(value - slack, 0) + 1e-6
            if not wide or rest < value + slack - 1e-6 or not inside:
                return False
    return True


def _slack(parts, layout):
    ordered, total = [*sorted(parts.values(), reverse=True), 0, 0], float(sum(parts.values()))
    slack = 0.0
    if layout.dominance:
        slack = max(slack, sum(ordered[: layout.dominance[0]]) / layout.dominance[1] - total)
    if layout.p_percent:
        slack = max(slack, layout.p_percent / 100 * ordered[0] - (total - ordered[0] - ordered[1]))
    return max(slack, 0.1 * total)
