"""The people in only the first or second of two tables, as a separate table."""

from __future__ import annotations

import numpy as np
import polars as pl
import pytest

from incrowd.core.hierarchy.tree import Hierarchy
from incrowd.release.tables.cells import Axis
from incrowd.release.tables.difference import Side, _Common, count_disclosures_by_difference
from incrowd.release.tables.layout import CountTable

AREAS = Axis("area", Hierarchy.from_nested({"*": {"north": ["a", "b"], "south": ["c", "d"]}}))
COARSE, PLACE = AREAS.cut(1)
MOVED = Axis("area", Hierarchy.from_nested({"*": {"north": ["a"], "south": ["b", "c", "d"]}}))


def side(axis, people, hidden=(), threshold=5):
    """A table of a single column, where people are pairs of a name and a code."""
    nodes = {code: axis.codes.index(code) for _, code in people}
    lines = pl.DataFrame(
        {
            "who": [name.encode() for name, _ in people],
            "0": [nodes[code] for _, code in people],
            "records": [1] * len(people),
        }
    )
    marks = np.isin(axis.codes, [*hidden])
    return Side(CountTable("t", rows=["area"], threshold=threshold), (axis,), marks, lines, True)


def group(start, **numbers):
    codes = [code for code, number in numbers.items() for _ in range(number)]
    return [(f"p{start + place}", code) for place, code in enumerate(codes)]


MAY = group(0, a=20, b=30, c=20, d=30)


def test_codes_are_common_where_all_above_them_are():
    common = _Common.of_axes([AREAS, COARSE], "rest")
    assert common.axis.codes == ("Total", "north", "south")
    common = _Common.of_axes([AREAS, MOVED], "rest")
    assert common.axis.codes == ("Total", "north", "a", "rest 1", "south", "c", "d", "rest 4")
    # Who lives in b is elsewhere in the north then, and elsewhere in the south now.
    assert [common.axis.codes[place[axis.codes.index("b")]] for place, axis in zip(
        common.places, (AREAS, MOVED), strict=True)] == ["rest 1", "rest 4"]  # fmt: skip
    assert [nodes[3] for nodes in common.nodes] == [-1, -1]
    other = _Common.of_axes([AREAS, Axis("area", Hierarchy.from_nested({"*": ["x", "y"]}))], "rest")
    assert other.axis.codes == ("Total", "rest 0")


@pytest.mark.parametrize(
    ("new", "hidden", "told"),
    [
        ({}, "", 0),
        # Of the areas, the two of the north, the north, and all: 1, 6, 7 and 7 people.
        ({"a": 1, "b": 6}, "", 1),
        # The area follows from the north and the other one.
        ({"a": 1, "b": 6}, "a", 1),
        ({"a": 1, "b": 6}, "ab", 0),
        ({"a": 6, "c": 9}, "", 0),
        ({"a": 4}, "", 3),
    ],
)
def test_cells_of_few_people_who_came_or_left_are_counted(new, hidden, told):
    may, june = side(AREAS, MAY, hidden), side(AREAS, MAY + group(900, **new))
    assert count_disclosures_by_difference([may], [june]) == told
    assert count_disclosures_by_difference([june], [may]) == told


def test_tables_of_other_levels_have_their_upper_codes_in_common():
    june = [(name, {"a": "north", "b": "north"}.get(code, "south")) for name, code in MAY]
    assert count_disclosures_by_difference([side(AREAS, MAY)], [side(COARSE, june)]) == 0
    assert count_disclosures_by_difference([side(AREAS, MAY)], [side(COARSE, [*june, ("new", "north")])]) == 2


def test_the_largest_threshold_counts():
    new = MAY + group(900, a=6)
    assert count_disclosures_by_difference([side(AREAS, MAY)], [side(AREAS, new)]) == 0
    assert count_disclosures_by_difference([side(AREAS, MAY, threshold=7)], [side(AREAS, new)]) == 3
