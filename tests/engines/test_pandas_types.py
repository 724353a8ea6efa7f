"""Columns of pandas of types that no other table has."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

import incrowd as ic

ROWS = 120
AGES = pd.Series(np.arange(ROWS) % 50)
MONTHS = pd.Series(pd.period_range("2024-01", periods=12, freq="M").take(np.arange(ROWS) % 12))
DAYS = pd.Series(pd.period_range("2024-01-01", periods=12, freq="D").take(np.arange(ROWS) % 12))
READ = {
    "cut": (pd.cut(AGES, [-1, 20, 40, 60]), "(20, 40]"),
    "cut from the left": (pd.cut(AGES, [0, 20, 40, 60], right=False), "[20, 40)"),
    "intervals": (pd.Series(pd.arrays.IntervalArray(pd.cut(AGES, [-1, 20, 40, 60]))), "(20, 40]"),
    "months": (MONTHS, "2024-10"),
    "days": (DAYS, "2024-01-10"),
    "quarters": (MONTHS.dt.asfreq("Q"), "2024Q4"),
    "categories of months": (MONTHS.astype("category"), "2024-10"),
    "sparse": (AGES.astype(pd.SparseDtype("int64", 0)), "21"),
    "sparse texts": (pd.Series(["a", "b"] * 60).astype(pd.SparseDtype("object", "a")), "b"),
}


def frame(column):
    return pd.DataFrame({"x": column, "sex": ["F", "M"] * 60, "ill": list("abc") * 40})


@pytest.mark.few(7)
@pytest.mark.parametrize("what", READ)
@pytest.mark.parametrize("role", ["quasi", "sensitive"])
def test_values_are_read_as_texts(what, role):
    column, text = READ[what]
    quasi = ["x", "sex"] if role == "quasi" else ["sex"]
    schema = ic.Schema(quasi=quasi, sensitive=["x" if role == "sensitive" else "ill"], unlisted="drop")
    release = ic.anonymize(frame(column), schema, models=[ic.KAnonymity(2)])
    if role == "quasi":
        values = release.recoding.domains[0].values
        assert text in list(values)
    else:
        assert release.table["x"].dtype == column.dtype or isinstance(column.dtype, pd.CategoricalDtype)


@pytest.mark.parametrize("role", ["quasi", "sensitive", "insensitive"])
def test_a_missing_value_stays_missing(role):
    column = MONTHS.where(AGES > 5)
    table = frame(column).assign(age=AGES)
    roles = {"quasi": ["sex"], "unlisted": "drop"}
    roles[role] = [*roles.get(role, []), "x"]
    release = ic.anonymize(table, ic.Schema(**roles), models=[ic.KAnonymity(2)])
    assert release.table["x"].isna().sum() == column.isna().sum()


ODD = {
    "spans of time": (pd.to_timedelta(AGES, unit="D"), "has spans of time; turn them into numbers first"),
    "bytes": (pd.Series([b"a", b"b"] * 60), "has bytes"),
    "lists of fractions": (pd.Series([[1.5], [2.5]] * 60), "has lists of type List"),
    "complex numbers": (AGES.astype(complex), "turn it into text first"),
}


@pytest.mark.parametrize("what", ODD)
def test_what_is_not_read_is_named_with_a_way_out(what):
    column, words = ODD[what]
    with pytest.raises(ic.SchemaError, match="column 'x'") as caught:
        ic.anonymize(frame(column), ic.Schema(quasi=["x"], unlisted="drop"), models=[ic.KAnonymity(2)])
    assert words in str(caught.value)
