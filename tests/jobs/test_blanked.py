"""The opening sentence tells which columns a release blanks, and what would help."""

from __future__ import annotations

import numpy as np
import polars as pl
import pytest

import incrowd as ic

ROWS = 400
RNG = np.random.default_rng(2)
TABLE = pl.DataFrame(
    {
        "age": RNG.integers(18, 90, ROWS),
        "zip": [f"{number:05}" for number in RNG.integers(1000, 1300, ROWS)],
        "sex": ["m", "f"] * (ROWS // 2),
        "one": ["same"] * ROWS,
    }
)


def opening(schema: ic.Schema, algorithm: str, table: pl.DataFrame = TABLE, **settings: object) -> str:
    table = table.select(attribute.name for attribute in schema.quasi)
    return ic.anonymize(table, schema, "k-anonymity:5", algorithm, **settings).sentences()[0]


@pytest.mark.parametrize("algorithm", ["optimal", "datafly", "samarati"])
def test_full_domain_recoding_without_hierarchies_says_that_it_blanks(algorithm):
    told = opening(ic.Schema(quasi=["age", "zip", "sex", "one"]), algorithm)
    assert told.startswith("The table has 400 records; 0 of them (0.0%) are suppressed.")
    assert "Nothing is left of age, zip: their cells stand for every value in 100.0% of the records." in told
    assert "Give age, zip a hierarchy (intervals, prefix, ...), or use an algorithm of local recoding" in told
    assert "such as mondrian" in told


def test_with_hierarchies_it_is_told_what_else_helps():
    trees = {"age": ic.Hierarchy.intervals(1), "zip": ic.Hierarchy.flat(), "sex": None}
    told = opening(ic.Schema(quasi=trees), "optimal")
    assert "Nothing is left of age, zip" in told
    assert (
        "Allow suppression (max_suppression), or use an algorithm of local recoding such as mondrian." in told
    )
    assert "a hierarchy" not in told


def test_local_recoding_that_blanks_is_told_to_ask_for_less():
    table = TABLE.head(8).with_columns(zip=pl.Series(list("abcdefgh")))
    told = opening(ic.Schema(quasi=["age", "zip"]), "mondrian", table)
    assert "Nothing is left of age, zip" in told
    assert "Name fewer quasi-identifiers, or ask for less." in told


def test_a_release_that_keeps_most_cells_says_nothing_of_it():
    assert "left of" not in opening(ic.Schema(quasi=["age", "sex"]), "mondrian")
    trees = {"age": ic.Hierarchy.intervals(10, 30), "sex": None}
    grown = TABLE.filter(pl.col("age") >= 30)
    assert "left of" not in opening(ic.Schema(quasi=trees), "optimal", grown)


def test_most_cells_are_told_with_their_share():
    zips = ["a"] * 10 + [f"v{number}" for number in range(30)]
    table = pl.DataFrame({"zip": zips, "sex": ["m", "f"] * 20})
    schema = ic.Schema(quasi={"zip": ic.Hierarchy.flat(), "sex": ic.Hierarchy.flat()})
    told = opening(schema, "cell-suppression", table)
    assert "Little is left of zip: their cells stand for every value in 75.0% of the records." in told
