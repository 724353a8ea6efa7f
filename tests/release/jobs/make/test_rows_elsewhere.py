"""Jobs that go row by row say so where the rows are not in memory."""

from __future__ import annotations

import duckdb
import polars as pl
import pytest

import incrowd as ic

SCHEMA = ic.Schema(quasi=["age", "sex"], sensitive=["disease"])
TABLE = pl.DataFrame(
    {"age": [30, 30, 41, 41], "sex": ["f", "f", "m", "m"], "disease": ["flu", "cold", "flu", "gout"]}
)

CALLS = {
    "ensure_privacy": lambda rows: ic.ensure_privacy(rows, SCHEMA),
    "comparing two tables": lambda rows: ic.evaluate(rows, TABLE.cast(pl.String), SCHEMA),
    "suda2": lambda rows: ic.risk.suda2(rows, ["age", "sex"], max_size=2),
    "individual_risk": lambda rows: ic.risk.individual_risk(rows, ["age", "sex"], [2.0] * 4),
}


@pytest.mark.parametrize("job", CALLS)
def test_a_lazy_frame_and_a_relation_are_refused_with_the_way_out(job):
    """The calls ended in a bare AssertionError."""
    with duckdb.connect() as connection:
        for rows in (TABLE.lazy(), connection.from_arrow(TABLE.to_arrow())):
            with pytest.raises(ic.TableError, match=f"{job} goes row by row") as caught:
                CALLS[job](rows)
            assert "collect a lazy frame" in str(caught.value)


def test_rows_in_memory_are_taken():
    for call in CALLS.values():
        assert call(TABLE) is not None
