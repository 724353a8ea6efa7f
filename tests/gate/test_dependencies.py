"""Columns that tell others, and a draft's sentences about such columns."""

from __future__ import annotations

import polars as pl
from hypothesis import given
from hypothesis import strategies as st

from incrowd.release.jobs.compare.draft import draft_policy
from incrowd_gate.rules.dependencies import determined_pairs

VALUES = st.sampled_from(["a", "b", "c", None])


@given(st.lists(st.tuples(VALUES, VALUES, VALUES), min_size=1, max_size=24))
def test_pairs_are_those_of_the_definition(rows):
    table = pl.DataFrame(rows, schema={"x": pl.String, "y": pl.String, "z": pl.String}, orient="row")
    expected = []
    for one in table.columns:
        for other in table.columns:
            distinct = len(set(table[one])), len(set(table[other]))
            pairs = set(zip(table[one], table[other], strict=True))
            often = distinct[0] > 1 and distinct[0] * 2 <= len(rows)
            if one != other and often and distinct[1] > 1 and len(pairs) == distinct[0]:
                expected.append((one, other))
    assert determined_pairs(table, table.columns) == expected


def test_what_the_first_rows_do_not_show_is_seen_and_lists_are_passed_over():
    table = pl.DataFrame({"x": [0] * 1500 + [1] * 1500, "y": [0] * 1400 + [1] * 1600, "l": [[1]] * 3000})
    assert determined_pairs(table, table.columns) == []
    assert determined_pairs(table.tail(1500), ["x", "y"]) == []


def test_a_draft_tells_columns_that_tell_others():
    rows = 400
    table = pl.DataFrame(
        {
            "zip": [f"{10000 + n % 40}" for n in range(rows)],
            "town": [f"town {n % 40 // 4}" for n in range(rows)],
            "age": [20 + n * 7 % 50 for n in range(rows)],
            "name": [f"Person {n}" for n in range(rows)],
        }
    )
    draft = draft_policy(table, "people.csv")
    assert ("zip", "town") in draft.telling
    assert ("town", "zip") not in draft.telling
    assert not any("name" in pair for pair in draft.telling)
    assert '# "zip" tells "town".' in draft.text
    lonely = draft_policy(table.select("age", "name"), "people.csv")
    assert lonely.telling == ()
    assert "tells" not in lonely.text
