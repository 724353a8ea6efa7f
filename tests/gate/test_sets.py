"""Points of columns of sets: the rules, without a table."""

from __future__ import annotations

import numpy as np
import polars as pl

from incrowd_gate.rules.columns import Values
from incrowd_gate.rules.sets import Sets, has_items, points_of_sets


def points(cells, raw=None, tree=None, name="codes"):
    values = pl.Series(cells, dtype=pl.String)
    counts = np.full(len(cells), 5, np.int64)
    sets = Sets(name, Values(values, counts, are_labels=True, between=";"), 5 * len(cells), tree, raw)
    return [(point.name, point.columns) for point in points_of_sets(sets)]


def test_items_are_searched_for_texts_of_people_one_by_one():
    assert points(["E1*;I10", "E11", "*", None]) == []
    mails = [f"E1*;anna{n}@example.org" for n in range(4)]
    assert points([*mails, "E1*"]) == [("personal-text", ("codes",))]


def test_the_share_of_records_with_a_sign_is_at_most_all():
    cells = pl.Series(["ben@example.org;mia@example.org", "ben@example.org"])
    sets = Sets("codes", Values(cells, np.array([3, 3]), are_labels=True, between=";"), 6)
    [point] = points_of_sets(sets)
    assert point.share == 1


def test_items_of_a_column_of_names_name_people():
    assert points(["Schmidt;Maier", "Schmidt", "Weber;Maier"], name="patient_names") == [
        ("named-identifier", ("patient_names",))
    ]


def test_a_tree_with_an_item_outside_its_interval_is_untrue():
    tree = (["*", "[30, 40[", "31", "50"], [-1, 0, 1, 1])
    assert points(["31", "[30, 40["], tree=tree) == [("untrue-label", ("codes",))]


def test_columns_that_have_items_of_a_row_or_tell_them_are_derived():
    raw = pl.DataFrame(
        {
            "codes": ["E11;I10", "I10; J45", "E11;J45", "E11;I10"] * 5,
            "main": ["I10", "I10", "J45", "E11"] * 5,
            "two": ["I10;E11", "J45", "J45", "E11"] * 5,
            "group": ["x", "y", "z", "x"] * 5,
            "other": ["p", "q", "p", "q"] * 5,
            "same": ["E11"] * 20,
        }
    )
    assert points(["E11"], raw) == [("derived-column", (name, "codes")) for name in ("main", "two", "group")]


def test_numbers_may_be_items():
    cells = pl.Series(["11;12", "12;13"])
    assert has_items(pl.Series([11, 13]), cells, ";")
    assert not has_items(pl.Series([1, 3]), cells, ";")
    assert not has_items(pl.Series([11.0, 13.0]), cells, ";")
