"""Which cells are unsafe, by the rules of the field."""

from __future__ import annotations

import numpy as np
import pytest

import incrowd as ic
from incrowd.core.errors import ParameterError
from incrowd.core.hierarchy.tree import Hierarchy
from incrowd.release.tables.cells import Axis
from incrowd.release.tables.counting import Cells
from incrowd.release.tables.primary import need_of, primary_cells

AXIS = Axis("branch", Hierarchy.from_nested({"*": ["a", "b"]}))


def cells(parts, **settings):
    """One cell of the parts of some people, beside two others that are safe."""
    layout = ic.CountTable("t", rows=["branch"], sum="value", threshold=3, **settings)
    many = [1.0] * 50
    largest = np.zeros((3, 5))
    for place, each in enumerate((parts + many, parts, many)):
        top = sorted(each, reverse=True)[:5]
        largest[place, : len(top)] = top
    values = np.array([sum(parts) + 50, sum(parts), 50.0])
    people = np.array([len(parts) + 50, len(parts), 50])
    return Cells(layout, (AXIS,), values, people, largest, ())


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
