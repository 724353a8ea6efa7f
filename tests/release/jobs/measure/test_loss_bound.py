"""No recoding loses less than the bound."""

from __future__ import annotations

import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

import incrowd as ic
from incrowd.samples import hospital
from town_tables import NORTH, QUASI, town_table


def slow_bound(table: pl.DataFrame, k: int) -> float:
    """Every record with every other record, by the definition of LM."""
    ages = [age for age in table["age"] if age is not None]
    extent = max(ages) - min(ages) if ages else 0
    present = set(table["job"])

    def lost(one, other):
        age = 0.0
        if one["age"] != other["age"]:
            unknown = None in (one["age"], other["age"])
            age = 1.0 if unknown else abs(one["age"] - other["age"]) / extent
        town = 0.0
        if one["town"] != other["town"]:
            sides = NORTH[one["town"]], NORTH[other["town"]]
            town = 1.0 if sides[0] != sides[1] else {"north": 1 / 4, "south": 2 / 4}[sides[0]]
        job = 0.0 if one["job"] == other["job"] else 1 / (len(present) - 1)
        return (age + town + job) / 3

    rows = table.to_dicts()
    least = [
        sorted(lost(one, other) for j, other in enumerate(rows) if i != j)[k - 2] if k > 1 else 0.0
        for i, one in enumerate(rows)
    ]
    return sum(least) / len(rows)


@pytest.mark.slow
@given(st.integers(0, 2**32 - 1), st.integers(4, 40), st.integers(1, 4))
def test_it_is_what_the_definition_says(seed, rows, k):
    table = town_table(seed, rows)
    result = ic.loss_bound(table, ic.Schema(quasi=QUASI), k)
    assert result.records == rows
    assert result.low == result.value == pytest.approx(slow_bound(table, k), abs=1e-9)


@pytest.mark.parametrize("algorithm", ["agglomerative", "mondrian", "k-member", "optimal", "datafly"])
@pytest.mark.parametrize("k", [2, 5])
def test_no_algorithm_loses_less(algorithm, k):
    table, schema = town_table(1, 200), ic.Schema(quasi=QUASI)
    bound = ic.loss_bound(table, schema, k).value
    release = ic.anonymize(table, schema, f"k-anonymity:{k}", algorithm, max_suppression=1.0)
    assert 0 < bound <= release.utility["loss"].value


def test_a_sample_says_how_sure_it_is():
    table = hospital(5000, seed=1)
    schema = ic.Schema(quasi=["age", "sex", "length_of_stay"], unlisted="drop")
    whole = ic.loss_bound(table, schema, 5)
    some = ic.loss_bound(table, schema, 5, sample=500, seed=3)
    assert (whole.records, some.records) == (5000, 500)
    assert some.low < some.value
    assert some.low < whole.value < 2 * some.value - some.low
    assert some == ic.loss_bound(table, schema, 5, sample=500, seed=3)


def test_a_table_that_has_no_class_of_k_records_is_refused():
    with pytest.raises(ic.TableError, match="the table has 3 records, and a class needs 4"):
        ic.loss_bound(town_table(1, 3), ic.Schema(quasi=QUASI), 4)
