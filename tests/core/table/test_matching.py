"""Matches of `*` and missing cells, compared with a reading row by row."""

from __future__ import annotations

from itertools import combinations

import numpy as np
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

import incrowd as ic
from wildcard_readings import Rows, made_up

near = pytest.approx


@pytest.mark.few(1)
@pytest.mark.parametrize("people", [False, True], ids=["rows", "people"])
@pytest.mark.parametrize("wildcards", ["matches-any", "conservative"])
@given(seed=st.integers(0, 2**32 - 1))
def test_every_figure_is_that_of_whom_each_row_could_be(wildcards, people, seed):
    table = made_up(seed, people=people)
    schema = ic.Schema(quasi=["a", "b", "c"], sensitive=["ill", "cost"], person="person" if people else ())
    read = Rows(table, ["a", "b", "c"], wildcards)
    models = [
        ic.KAnonymity(2),
        ic.LDiversity(1, attribute="ill"),
        ic.LDiversity(1, "entropy", attribute="ill"),
        ic.LDiversity(1, attribute="ill", joint=True),
        ic.TCloseness(1, "equal", attribute="ill"),
        ic.AlphaKAnonymity(1, 1, attribute="ill"),
        ic.BetaLikeness(99, attribute="ill"),
        ic.MaximumRisk(1),
        ic.AverageRisk(1),
        ic.RecordsAtRisk(1, threshold=0.4),
    ]
    assessment = ic.assess(table, schema, models, wildcards=wildcards)
    k, distinct, entropy, joint, t, alpha, _, beta, largest, mean, share = (
        each.value for each in assessment.privacy[:11]
    )
    assert k == min(read.sizes())
    assert distinct == read.distinct("ill")
    assert entropy == near(read.effective("ill"), rel=1e-12)
    assert joint == read.joint_distinct("ill", "cost")
    assert t == near(read.distance("ill"), abs=1e-12)
    assert alpha == near(read.alpha("ill"), rel=1e-12)
    assert beta == near(read.beta("ill"), rel=1e-12, abs=1e-12)
    assert largest == near(1 / min(read.sizes()))
    assert mean == near(read.average_risk(), rel=1e-12)
    assert share == near(read.at_risk(0.4), abs=1e-12)
    assert assessment.risk["prosecutor"]["mean"] == near(read.average_risk(), rel=1e-12)
    assert assessment.wildcards == wildcards


@pytest.mark.slow
@pytest.mark.parametrize("wildcards", ["matches-any", "conservative"])
@given(seed=st.integers(0, 2**32 - 1))
def test_attackers_match_in_what_they_know(wildcards, seed):
    table = made_up(seed, people=bool(seed % 2))
    quasi = ["a", "b", "c"]
    schema = ic.Schema(quasi=quasi, sensitive=["ill"], person="person" if seed % 2 else ())
    both = (ic.KAnonymity(1), ic.AlphaKAnonymity(1, 1, value="flu"))
    table = table.with_columns(pl.Series("ill", ["flu", *table["ill"].to_list()[1:]]))
    models = [
        *(ic.Attacker(f"{one}{two}", [one, two], both) for one, two in combinations(quasi, 2)),
        ic.LKCPrivacy(2, 1, 1.0, value="flu"),
    ]
    assessment = ic.assess(table, schema, models, wildcards=wildcards)
    reads = [Rows(table, quasi, wildcards, list(pair)) for pair in combinations(quasi, 2)]
    sizes = [min(read.sizes()) for read in reads]
    shares = [
        max(read.counts(rows, "ill").get("flu", 0) / len({row["who"] for row in rows}) for rows in read.found)
        for read in reads
    ]
    by_attacker = [each for each in assessment.privacy if each.attacker is not None]
    assert [each.value for each in by_attacker if each.model == "k-anonymity"] == sizes
    assert [each.value for each in by_attacker if each.quantity == "alpha"] == near(shares)
    lkc = {each.quantity: each.value for each in assessment.privacy if each.model == "lkc-privacy"}
    assert lkc["K"] == min(sizes)
    assert lkc["C"] == near(max(shares))


# Figures that ARX publishes (its test of wildcard matching): how many records each record matches.
ARX = [
    (
        {"sex": list("MMM**FFM"), "zip": [*["4711"] * 5, "4712", "*", "*"]},
        [6, 6, 6, 7, 7, 2, 4, 6],
    ),
    (
        {
            "age": ["*", "68", "68", "*", "*", "*", "68", "68", "68", "68"],
            "sex": ["F", "F", "*", "*", "*", "*", "F", "*", "F", "F"],
            "region": [*["North"] * 6, "*", *["South"] * 3],
        },
        [7, 7, 7, 7, 7, 7, 10, 4, 4, 4],
    ),
    (
        {
            "weight": ["73", "73", "*", "*", "*", "67", "67", "67", "67", "67"],
            "icd": [*["C18.7"] * 4, *["C18.2"] * 3, *["C18.7"] * 3],
        },
        [4, 4, 7, 7, 3, 3, 3, 5, 5, 5],
    ),
]
# And sdcMicro, in its test of individual risk with missing values.
SDCMICRO = (
    {
        "A": ["2", "3", "2", "2", "3", "3", "1", None],
        "B": ["3", "3", "3", "3", "3", "3", "4", "3"],
        "C": ["1", "3", None, "2", "1", "1", None, "1"],
    },
    [3, 1, 4, 2, 3, 3, 1, 5],
)


@pytest.mark.parametrize(
    ("columns", "expected"), [*ARX, SDCMICRO], ids=["ARX 1", "ARX 2", "ARX 3", "sdcMicro"]
)
@pytest.mark.parametrize("missing", [False, True], ids=["as written", "missing for *"])
def test_published_frequencies(columns, expected, missing):
    table = pl.DataFrame(columns)
    if missing:
        table = table.select(pl.all().replace("*", None))
    assessment = ic.assess(table, ic.Schema(quasi=table.columns), "k-anonymity:2", wildcards="matches-any")
    classes = assessment.by_class().frame().rename({"k-anonymity k": "matched"})
    each = table.join(
        classes.select(*table.columns, "matched"), on=table.columns, nulls_equal=True, maintain_order="left"
    )
    assert each["matched"].to_list() == expected
    assert assessment.privacy[0].value == min(expected)
    assert assessment.risk["prosecutor"]["max"] == 1 / min(expected)
    assert assessment.risk["prosecutor"]["mean"] == near(np.mean([1 / many for many in expected]), abs=1e-16)


def test_a_star_is_a_value_unless_said_otherwise():
    table = pl.DataFrame({"age": ["30", "30", "30", "*"], "sex": ["M", "M", "*", "M"]})
    schema = ic.Schema(quasi=["age", "sex"])
    assessments = [ic.assess(table, schema, "k-anonymity:2", wildcards=each) for each in
             ("value", "matches-any", "conservative")]  # fmt: skip
    assert [each.by_class().of("k-anonymity").tolist() for each in assessments] == [
        [1, 1, 2],
        [4, 4, 4],
        [1, 1, 2],
    ]
    assert ic.assess(table, schema).wildcards == "value"


def test_two_records_with_the_same_star_count_alone_where_it_matches_nothing():
    table = pl.DataFrame({"age": ["30", "30", "30"], "sex": ["*", "*", "M"], "ill": ["flu", "hiv", "flu"]})
    schema = ic.Schema(quasi=["age", "sex"], sensitive=["ill"])
    assessment = ic.assess(table, schema, ["k-anonymity:2", "l-diversity:2"], wildcards="conservative")
    assert [each.failing for each in assessment.privacy[:2]] == [(2, 3), (2, 3)]
    assert assessment.risk["attribute-disclosure"]["homogeneous"] == 1.0


def test_a_column_of_stars_alone_is_passed_over():
    table = pl.DataFrame({"age": ["30", "30"], "sex": ["*", None]})
    assessment = ic.assess(table, ic.Schema(quasi=["age", "sex"]), wildcards="conservative")
    assert assessment.reached("k-anonymity") == 1
    table = pl.DataFrame({"age": ["30", "30"], "sex": ["*", "*"]})
    assessment = ic.assess(table, ic.Schema(quasi=["age", "sex"]), wildcards="conservative")
    assert assessment.reached("k-anonymity") == 2


def test_suppressed_records_hide_nobody():
    table = pl.DataFrame({"age": ["30", *"*" * 9], "sex": ["M", *"*" * 9]})
    assessment = ic.assess(table, ic.Schema(quasi=["age", "sex"]), wildcards="matches-any")
    assert assessment.reached("k-anonymity") == 1
    assert assessment.suppressed == 9


@pytest.mark.slow
def test_many_patterns_are_matched_as_few_are():
    draw = np.random.default_rng(7)
    columns = {
        f"c{place}": np.where(draw.random(3000) < 0.3, "*", draw.integers(0, 4, 3000).astype(str))
        for place in range(6)
    }
    table = pl.DataFrame(columns).filter(~pl.all_horizontal(pl.all() == "*"))
    assessment = ic.assess(table, ic.Schema(quasi=table.columns), wildcards="matches-any")
    cells = table.to_numpy()
    hidden = cells == "*"
    sizes = [int(((cells == row) | hidden | (row == "*")).all(axis=1).sum()) for row in cells]
    assert assessment.reached("k-anonymity") == min(sizes)
    assert assessment.risk["prosecutor"]["mean"] == near(np.mean([1 / size for size in sizes]), rel=1e-12)


@pytest.mark.parametrize(
    ("model", "wildcards"),
    [("km-anonymity:k=2,power=1", "matches-any"), ("p29:score=0", "conservative"),
     ("normalized-entropy:h=0.1,over=mean", "conservative"), ("delta-presence:delta_max=1", "matches-any")],
)  # fmt: skip
def test_models_that_know_no_such_meaning_say_so(model, wildcards):
    table = pl.DataFrame({"a": ["x", "*"], "s": ["1", "2"]})
    schema = ic.Schema(quasi=["a"], sensitive=["s"])
    name = model.partition(":")[0]
    with pytest.raises(ic.ParameterError, match=f"{name} is not defined where wildcards are '{wildcards}'"):
        ic.assess(table, schema, model, wildcards=wildcards)
    with pytest.raises(ic.ParameterError, match=name):
        ic.Policy(schema, [model], wildcards=wildcards)


def test_an_unknown_meaning_is_refused():
    with pytest.raises(ic.ParameterError, match="wildcards must be one of value, matches-any, conservative"):
        ic.assess(pl.DataFrame({"a": ["x"]}), ic.Schema(quasi=["a"]), wildcards="any")
