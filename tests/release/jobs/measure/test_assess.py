"""Classes with cells, sizes and values: the last table of a published example, and copies."""

from __future__ import annotations

import json
import pickle
from fractions import Fraction

import pandas as pd
import polars as pl
import pytest

import incrowd as ic

# The example of the PETWorks document on t-closeness (its last table swaps two cells and says "t = 4").
TABLE = pd.DataFrame(
    {
        "born": ["197*", "197*", "198*", "198*", "198*"],
        "salary": [3, 4, 5, 6, 8],
        "disease": ["stomach cancer", "flu", "flu", "gastritis", "stomach cancer"],
    }
)
TREE = ic.Hierarchy.from_nested(
    {"disease": {"respiratory": ["flu"], "stomach": ["stomach cancer", "gastritis"]}}
)
SCHEMA = ic.Schema(quasi=["born"], sensitive={"salary": None, "disease": TREE})


def test_the_distances_of_the_document_class_by_class():
    result = ic.assess(TABLE, SCHEMA, [ic.TCloseness(0.5)]).by_class()
    assert result.cells == {"born": ["197*", "198*"]}
    assert result.records.tolist() == [2, 3]
    for attribute, expected in (
        ("salary", [Fraction(3, 8), Fraction(1, 4)]),
        ("disease", [Fraction(3, 20), Fraction(1, 10)]),
    ):
        assert result.of("t-closeness", attribute).tolist() == [float(value) for value in expected]
    equal = ic.assess(TABLE, SCHEMA, [ic.TCloseness(0.5, "equal")]).by_class()
    assert equal.of("t-closeness", "disease").tolist() == [float(Fraction(1, 5)), float(Fraction(2, 15))]
    assert equal.of("k-anonymity").tolist() == [2, 3]
    with pytest.raises(ic.ParameterError, match="no 'nothing' of 'x' was measured; there are t-closeness"):
        equal.of("nothing", "x")


def cells_of(found):
    return list(zip(*found.cells.values(), strict=True))


def test_the_worst_class_is_what_the_table_reaches():
    table = pl.DataFrame(
        {
            "q": list("aaabbbcc*"),
            "r": [1, 1, 2, 1, 1, None, 2, 2, 1],
            "s": list("xyzxxyzzz"),
            "t": [3, 1, 2] * 3,
        }
    )
    schema = ic.Schema(quasi=["q", "r"], sensitive=["s", "t"])
    assessment = ic.assess(table, schema, [ic.LDiversity(2, joint=True), ic.AlphaKAnonymity(0.5, 2)])
    result = assessment.by_class()
    assert cells_of(result) == [
        ("*", "1"), ("a", "1"), ("a", "2"), ("b", "1"), ("b", None), ("c", "2"),
    ]  # fmt: skip
    assert result.records.tolist() == [1, 2, 1, 2, 1, 2]
    compared = 0
    for measured in assessment.privacy:
        for measure, values in zip(result.measures, result.values, strict=True):
            same = (measure.model, measure.quantity, measure.attribute, measure.settings)
            if same != (measured.model, measured.quantity, measured.attribute, measured.settings):
                continue
            worst = values.min() if measured.sign == ">=" else values.max()
            at = cells_of(result).index(tuple(measured.weakest.cells.values()))
            assert values[at] == worst
            assert int((values == worst).sum()) == measured.ties
            compared += 1
    assert compared == len(result.measures) > 20
    frame = result.frame()
    assert frame.columns[:3] == ["q", "r", "records"]
    distances = frame["t-closeness t (distance=ordered) of t"]
    assert distances.to_list() == result.of("t-closeness", "t").tolist()
    document = json.loads(json.dumps(result.to_dict(), allow_nan=False))
    assert [row["records"] for row in document["classes"]] == result.records.tolist()
    assert len(document["classes"][0]["values"]) == len(document["measures"]) == len(result.values)


def test_a_column_named_records_keeps_its_name():
    result = ic.assess(pd.DataFrame({"records": ["a", "b"]}), ic.Schema(quasi=["records"])).by_class()
    assert result.frame().columns[:2] == ["records", "records of the class"]


def test_accounts_and_copies_hold_no_classes():
    """A release or a pickle keeps figures, and no table in short."""
    assessment = ic.assess(TABLE, SCHEMA)
    copied = pickle.loads(pickle.dumps(assessment))
    assert copied == assessment
    release = ic.anonymize(TABLE, SCHEMA, [ic.KAnonymity(2)], ic.Mondrian())
    for held in (copied, release.privacy):
        with pytest.raises(ic.ParameterError, match="holds no classes; measure the table itself"):
            held.by_class()
    assert len(ic.assess(release.table, SCHEMA).by_class()) == release.privacy.classes
    everything = ic.assess(pd.DataFrame({"q": ["*", "*"]}), ic.Schema(quasi=["q"])).by_class()
    assert len(everything) == 0
    assert everything.to_dict()["classes"] == []


@pytest.mark.few(1)
@pytest.mark.parametrize("make", [lambda t: t, pl.DataFrame.lazy, pl.DataFrame.to_pandas])
def test_an_id_that_repeats_is_told_where_nobody_says_whose_row_it_is(make):
    table = ic.samples.encounters(3_000, people=1_000)
    rows = make(table.drop("name", "birth_date"))
    schema = ic.Schema(quasi=["age", "sex"], identifying=["patient_id"], unlisted="drop")
    release = ic.anonymize(rows, schema, "k-anonymity:3")
    for measured in (ic.assess(rows, schema), release):
        (point,) = (each for each in measured.points if each.name == "repeated-id")
        assert "values of patient_id occur more than once" in point.text
    named = ic.Schema(quasi=["age", "sex"], person="patient_id", unlisted="drop")
    assert not ic.assess(rows, named).points
    once = make(ic.samples.hospital(3_000).drop("name", "birth_date"))
    assert not ic.assess(once, schema).points


def test_a_release_lacks_what_was_left_out():
    table = ic.samples.encounters(2_000, people=700).drop("name", "birth_date")
    schema = ic.Schema(quasi=["age", "sex"], identifying=["patient_id"], unlisted="drop")
    release = ic.anonymize(table, schema, "k-anonymity:3")
    assert ic.assess(release.table, schema).notes == ()


def test_one_record_is_alone():
    table = pl.DataFrame({"age": [20, 20, 30]})
    sentences = ic.assess(table, ic.Schema(quasi=["age"])).sentences()
    assert "1 record (33.3%) is alone in its class." in sentences
