"""Columns of which a release leaves little are points, with a change that would help."""

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


HELPS = (
    "Give {} a hierarchy (intervals, prefix, ...) if it has none, allow suppression (max_suppression), or use an "
    "algorithm of local recoding such as mondrian."
)
"""A published policy does not tell whether there is a hierarchy, so the verifier could say no more."""


def blanked(schema: ic.Schema, algorithm: str, table: pl.DataFrame = TABLE) -> dict[str, ic.Point]:
    table = table.select(attribute.name for attribute in schema.quasi)
    points = ic.anonymize(table, schema, "k-anonymity:5", algorithm, unanswered="write").points
    return {each.columns[0]: each for each in points if each.name == "blanked-column"}


@pytest.mark.parametrize("algorithm", ["optimal", "datafly", "samarati"])
def test_full_domain_recoding_without_hierarchies_blanks(algorithm):
    result = blanked(ic.Schema(quasi=["age", "zip", "sex", "one"]), algorithm)
    assert list(result) == ["age", "zip"]
    assert result["age"].share == 1
    assert result["age"].text == (
        "Nothing is left of age: its cells stand for every value in 100.0% of the records."
    )
    assert result["zip"].way_out == HELPS.format("zip")


def test_with_hierarchies_something_else_helps():
    trees = {"age": ic.Hierarchy.intervals(1), "zip": ic.Hierarchy.flat(), "sex": None}
    result = blanked(ic.Schema(quasi=trees), "optimal")
    assert list(result) == ["age", "zip"]
    assert {each.way_out for each in result.values()} == {HELPS.format(name) for name in ("age", "zip")}


def test_a_level_that_somebody_took_is_to_be_lower():
    age = ic.Attribute("age", "quasi", hierarchy=ic.Hierarchy.intervals(100), levels=(1, 1))
    result = blanked(ic.Schema.of_attributes([age, ic.Attribute("sex", "quasi")]), "optimal")
    assert result["age"].way_out == "Take a lower level of age."


def test_local_recoding_that_blanks_is_to_ask_for_less():
    table = TABLE.head(8).with_columns(zip=pl.Series(list("abcdefgh")))
    result = blanked(ic.Schema(quasi=["age", "zip"]), "mondrian", table)
    assert {each.way_out for each in result.values()} == {"Name fewer quasi-identifiers, or ask for less."}


def test_a_release_that_keeps_most_cells_has_no_such_point():
    assert not blanked(ic.Schema(quasi=["age", "sex"]), "mondrian")
    trees = {"age": ic.Hierarchy.intervals(10, 30), "sex": None}
    assert not blanked(ic.Schema(quasi=trees), "optimal", TABLE.filter(pl.col("age") >= 30))


def test_the_share_of_the_records_is_given():
    zips = ["a"] * 10 + [f"v{number}" for number in range(30)]
    table = pl.DataFrame({"zip": zips, "sex": ["m", "f"] * 20})
    schema = ic.Schema(quasi={"zip": ic.Hierarchy.flat(), "sex": ic.Hierarchy.flat()})
    result = blanked(schema, "cell-suppression", table)
    assert result["zip"].share == 0.75
    assert result["zip"].text.startswith("Little is left of zip")
