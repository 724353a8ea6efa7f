"""Cell suppression within strata: each stratum holds by itself, and keeps its cells."""

from __future__ import annotations

from collections import Counter

import numpy as np
import polars as pl
import pytest

import incrowd as ic

QUASI = ["region", "age", "sex"]


def table_of(seed, rows=60, regions="nsw"):
    random = np.random.default_rng(seed)
    return pl.DataFrame(
        {
            "region": random.choice(list(regions), rows),
            "age": random.choice(["young", "middle", "old"], rows),
            "sex": random.choice(["f", "m"], rows),
            "disease": random.choice(["flu", "cold", "gout"], rows),
        }
    )


def released(table, k=3, *, strata="region", order=QUASI, **settings):
    schema = ic.Schema(quasi=order, sensitive=["disease"])
    algorithm = ic.CellSuppression(strata=strata)
    policy = ic.Policy(schema, (ic.KAnonymity(k),), algorithm, keep_order=True, **settings)
    return ic.anonymize(table, policy, force=True, unanswered="write").table.select(QUASI).rows()


def matches(one, other):
    """Whether two rows may be one person: * matches any value."""
    return all("*" in pair or pair[0] == pair[1] for pair in zip(one, other, strict=True))


@pytest.mark.few(2)
@pytest.mark.parametrize("seed", range(6))
def test_each_stratum_is_what_it_is_alone(seed):
    table = table_of(seed)
    rows = released(table)
    assert [row[0] for row in rows] == table["region"].to_list()
    assert min(Counter(rows).values()) >= 3
    for region in "nsw":
        inside = (table["region"] == region).to_numpy()
        # In a table of one stratum, its cells are one value, and nobody is told apart by it.
        alone = released(table.filter(pl.Series(inside)), strata=None)
        assert [row for row, one in zip(rows, inside, strict=True) if one] == alone


@pytest.mark.parametrize("seed", range(4))
def test_a_star_that_matches_any_value_matches_within_the_stratum(seed):
    """By brute force, as `kAnon` of sdcMicro counts: each record matches k of its stratum."""
    table = table_of(seed, 45)
    rows = released(table, wildcards="matches-any", order=["age", "region", "sex"])
    assert [row[0] for row in rows] == table["region"].to_list()
    for row in rows:
        assert sum(matches(row, other) for other in rows if other[0] == row[0]) >= 3
    by_value = released(table)
    assert sum(row.count("*") for row in rows) <= sum(row.count("*") for row in by_value)


def test_the_models_compare_with_the_whole_table():
    """The distribution of a sensitive attribute is that of the table, and not of the stratum."""
    table = table_of(3, 90)
    schema = ic.Schema(quasi=QUASI, sensitive=["disease"])
    models = ("k-anonymity:3", "t-closeness:0.3", "l-diversity:2")
    release = ic.anonymize(
        table, schema, models, "cell-suppression:strata=region", max_suppression=0.2, unanswered="write"
    )
    assert all(each.holds for each in release.privacy.results.asked)
    assert "*" not in release.table.filter(pl.col("sex") != "*")["region"]


def test_a_stratum_that_is_too_small_is_refused_or_left_out():
    table = pl.concat([table_of(1), table_of(2, 2, "x")])
    with pytest.raises(ic.InfeasibleError, match=r"2 of 62 records are in strata of 'region' that do not"):
        released(table)
    rows = released(table, max_suppression=0.05, suppressed="keep")
    assert rows[-2:] == [("*", "*", "*")] * 2
    assert rows.count(("*", "*", "*")) <= 0.05 * len(rows)
    assert all(row[0] != "*" or row == ("*", "*", "*") for row in rows)


@pytest.mark.parametrize(
    ("strata", "settings", "problem"),
    [
        ("disease", {}, "one of several quasi-identifiers; those are 'region', 'age', 'sex'"),
        ("regions", {}, "did you mean 'region'"),
        ("region", {"output": "set"}, "leave output out"),
    ],
)
def test_what_cannot_be_a_stratum_is_named(strata, settings, problem):
    with pytest.raises(ic.ParameterError, match=problem):
        released(table_of(0), strata=strata, **settings)
