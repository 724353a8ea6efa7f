"""Rare categories as a single value: kept categories, and values of later rows."""

from __future__ import annotations

from collections import Counter

import polars as pl
from hypothesis import given as tried
from hypothesis import strategies as st

import incrowd as ic
from treatment_tables import given


@tried(st.lists(st.sampled_from("abcdefg"), max_size=40), st.integers(2, 8))
def test_values_that_stay_are_those_of_enough_records(values, least):
    """By counting: kept values are frequent, and the rest is empty or as frequent, unless all is rest."""
    cells = given(ic.Other(least, "rare"), [*values, None])
    assert cells[-1] is None
    counts, after = Counter(values), Counter(cells[:-1])
    assert all(counts[value] >= least for value in after if value != "rare")
    assert all(one in (value, "rare") for one, value in zip(cells[:-1], values, strict=True))
    if "rare" in after:
        assert after["rare"] >= least or len(after) == 1
        gone = sorted((counts[value], value) for value in counts if value not in after)
        assert not counts or min(gone)[0] < least
        # No value less would have been enough.
        assert sum(records for records, _ in gone[:-1]) < least or gone[-1][0] < least
    else:
        assert min(counts.values(), default=least) >= least


def test_the_next_rarest_value_joins_a_group_that_would_be_rare():
    jobs = ["clerk"] * 9 + ["cook"] * 4 + ["mayor"]
    assert Counter(given(ic.Other(3), jobs)) == {"clerk": 9, "other": 5}


def test_later_rows_keep_what_was_kept():
    table = pl.DataFrame({"age": [30, 40] * 6, "job": ["clerk"] * 6 + ["cook"] * 4 + ["mayor", "sexton"]})
    schema = ic.Schema(["age"], insensitive=["job"], treatments={"job": "other:3,label=another job"})
    release = ic.anonymize(table, schema, [ic.KAnonymity(2)])
    assert Counter(release.table["job"]) == {"clerk": 6, "another job": 6}
    later = pl.DataFrame({"age": [30, 30, 40, 40], "job": ["cook", "clerk", "shepherd", None]})
    batch = ic.apply_recoding(release.recoding, later, release.policy)
    assert set(batch.table["job"]) == {"clerk", "another job", None}


def test_a_quasi_identifier_is_grouped_before_it_is_generalized(tmp_path):
    towns = ["aa", "ab"] * 5 + ["zz", "zy", "zx"]
    table = pl.DataFrame({"town": towns, "ill": ["x", "y"] * 6 + ["x"]})
    policy = ic.Policy(
        ic.Schema(["town"], sensitive=["ill"], treatments={"town": "other:3"}),
        [ic.KAnonymity(3)],
        ic.Optimal(),
    )
    release = ic.anonymize(table, policy)
    assert Counter(release.table["town"]) == {"aa": 5, "ab": 5, "other": 3}
    release.save(tmp_path / "out")
    table.write_parquet(tmp_path / "raw.parquet")
    verification = ic.verify(
        tmp_path / "out" / "release.csv",
        tmp_path / "out" / "policy.toml",
        against=tmp_path / "raw.parquet",
        row_map=tmp_path / "out" / "internal" / "rows.parquet",
    )
    assert verification.problems == ()
