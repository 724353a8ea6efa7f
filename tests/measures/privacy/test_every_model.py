"""Promises of every privacy model, tried on each model in every kind."""

from __future__ import annotations

import math

import numpy as np
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

import incrowd as ic
from incrowd.core.table.classes import EquivalenceClasses
from incrowd.engines import read_classes
from incrowd.measures.privacy import MODELS, IdentityModel, Monotone, SensitiveModel
from incrowd.measures.privacy.base import describe_classes
from model_readings import (
    WITH_LISTS,
    at_limit,
    by_class,
    class_values,
    classes_of,
    counts,
    limits,
    overall,
    rows_of,
    variants,
)


def measured_at(model, classes, quantity, *, asked=False):
    [result] = [result for result in model.measure(classes, asked=asked) if result.quantity == quantity]
    return result


@pytest.mark.few(1)
@pytest.mark.parametrize("kind", WITH_LISTS)
@given(table=counts(), outside=st.integers(0, 1))
def test_measures_are_what_the_definition_says(kind, table, outside):
    classes = classes_of(table, kind, outside)
    for model in variants(kind):
        for part in model.parts():
            quantity = part.limit_name
            [attribute] = part.attributes(classes.frequency)
            values = part.values(classes, attribute)
            expected = class_values(model, quantity, kind, table)
            # Values can be large, so what is rounded is relative, too.
            if expected is not None:
                assert values.tolist() == pytest.approx(expected, rel=1e-12, abs=1e-12), model
            # The bounds that come with k-anonymity are not said unasked.
            asked = part.name != model.name
            result = measured_at(model, classes, quantity, asked=asked)
            wanted = overall(model, quantity, kind, table, outside)
            assert result.value == pytest.approx(wanted, rel=1e-12, abs=1e-12)
            assert not math.isnan(result.value)


@pytest.mark.few(1)
@pytest.mark.parametrize("kind", WITH_LISTS)
@given(table=counts())
def test_a_limit_is_met_with_equality(kind, table):
    classes = classes_of(table, kind)
    for model in variants(kind):
        for quantity in limits(model):
            reached = measured_at(model, classes, quantity, asked=True).value
            declared = model.parameters()[quantity]
            if math.isinf(reached) or reached < (declared.low or 0):
                # Infinity, or no l at all: no limit that can be asked for is met.
                assert not model.holds(classes).all()
                continue
            exact = at_limit(model, quantity, reached)
            assert measured_at(exact, classes, quantity, asked=True).holds
            part = next(part for part in model.parts() if part.limit_name == quantity)
            step = 1 if isinstance(reached, int) else 1e-9 * max(1, reached)
            beyond = reached + step if part.more_is_safer else reached - step
            outside = (declared.low is not None and beyond < declared.low) or (
                declared.high is not None and beyond > declared.high
            )
            if by_class(model, quantity):
                assert exact.holds(classes).all()
            if not outside and quantity != "delta_min":
                strict = at_limit(model, quantity, beyond)
                assert not measured_at(strict, classes, quantity, asked=True).holds
                if by_class(model, quantity):
                    assert not strict.holds(classes).all()


@pytest.mark.few(1)
@pytest.mark.parametrize("kind", WITH_LISTS)
@given(table=counts(), limit=st.floats(0, 1))
def test_what_holds_of_every_class_holds_of_the_table(kind, table, limit):
    classes = classes_of(table, kind)
    for model in variants(kind):
        if isinstance(model, ic.privacy.P29):
            continue  # what a search asks of a class is there only a part of what the table must reach
        for asked in asked_at(model, limit):
            if asked.holds(classes).all():
                assert all(result.holds for result in asked.measure(classes)), asked


def asked_at(model, limit):
    """The model with each limit somewhere in the range, or unchanged without a limit."""
    result = []
    for quantity in limits(model):
        declared = model.parameters()[quantity]
        whole = declared.kind is int or isinstance(model, ic.LDiversity)
        result.append(
            at_limit(model, quantity, 1 + round(limit * 6) if whole else limit * (declared.high or 5))
        )
    return result or [model]


@pytest.mark.few(1)
@pytest.mark.parametrize("kind", WITH_LISTS)
@given(table=counts(least_classes=2), limit=st.floats(0, 1))
def test_monotone_under_generalization(kind, table, limit):
    merged = [[a + b for a, b in zip(table[0], table[1], strict=True)], *table[2:]]
    before, after = classes_of(table, kind), classes_of(merged, kind)
    for model in variants(kind):
        for asked in asked_at(model, limit):
            if asked.monotone.generalization and asked.holds(before)[:2].all():
                assert asked.holds(after)[0], asked


@pytest.mark.few(1)
@pytest.mark.parametrize("kind", WITH_LISTS)
@given(table=counts(least_classes=2), limit=st.floats(0, 1))
def test_absorbing_models(kind, table, limit):
    """A class that satisfies such a model satisfies the model after any merge."""
    merged = [[a + b for a, b in zip(table[0], table[1], strict=True)], *table[2:]]
    before, after = classes_of(table, kind), classes_of(merged, kind)
    absorbing = set()
    for model in variants(kind):
        for asked in asked_at(model, limit):
            if asked.monotone.absorbing:
                absorbing.add(asked.name)
                if asked.holds(before)[0]:
                    assert asked.holds(after)[0], asked
    assert absorbing >= {"k-anonymity", "k-map", "l-diversity", "maximum-risk"}


@pytest.mark.few(1)
@pytest.mark.parametrize("kind", WITH_LISTS)
@given(table=counts(least_classes=2), data=st.data())
def test_monotone_under_suppression(kind, table, data):
    classes = classes_of(table, kind)
    frequency = classes.frequency
    gone = data.draw(
        st.lists(st.booleans(), min_size=len(table), max_size=len(table)).filter(lambda g: not all(g))
    )
    codes = [frequency.codes[0]]
    left = EquivalenceClasses.from_codes(frequency, codes, [frequency.keys], np.array(gone))
    numbers = [number for number, suppressed in enumerate(gone) if not suppressed]
    assert left.suppressed == sum(sum(row) for row, suppressed in zip(table, gone, strict=True) if suppressed)
    for model in variants(kind):
        if model.monotone.suppression:
            for part in model.parts():
                [attribute] = part.attributes(frequency)
                assert (
                    part.values(left, attribute).tolist() == part.values(classes, attribute)[numbers].tolist()
                )


# One table per setting that is declared not to be monotone: the declaration is not mere caution. The first
# two classes hold, merged they do not; the third makes up the rest of the table.
MERGED_WORSE = [
    (ic.NormalizedEntropy(0.99), [[3, 3, 0, 0], [0, 0, 1, 1], [1, 1, 1, 1]]),
    (ic.TCloseness(0.2, "maximal-frequency-difference"), [[6, 0, 4], [5, 2, 3], [29, 38, 13]]),
    (ic.DeltaDisclosure(0.7, "skip"), [[4, 0], [3, 1], [3, 9]]),
    (ic.LDiversity(2, "grassberger"), [[1, 1], [1, 1], [5, 5]]),
    (ic.LDiversity(2, "grassberger-arx"), [[1, 1], [1, 1], [5, 5]]),
]


@pytest.mark.parametrize(("model", "table"), MERGED_WORSE, ids=str)
def test_not_monotone_where_it_says_so(model, table):
    assert not model.monotone.generalization
    merged = [a + b for a, b in zip(table[0], table[1], strict=True)]
    assert model.holds(classes_of(table, "category"))[:2].all()
    assert not model.holds(classes_of([merged, table[2]], "category"))[0]


def test_words_for_monotone():
    words = {entry.name: entry.monotone_words() for entry in MODELS}
    assert words["k-anonymity"] == ("yes", "yes")
    assert words["delta-disclosure"] == ("depends on the settings", "yes")
    assert words["lkc-privacy"] == ("yes", "no")
    assert words["subset-k-anonymity"] == ("yes", "no")
    assert words["p29"] == ("no", "no")
    assert ic.LDiversity(2, "grassberger").monotone == Monotone(generalization=False, suppression=True)


@given(table=counts(), seed=st.integers(0, 99))
def test_row_order_and_names_do_not_matter(table, seed):
    frame = pl.DataFrame(rows_of(table), schema=["q", "s"], orient="row")
    renamed = frame.sample(fraction=1, shuffle=True, seed=seed).with_columns(
        pl.col("q").str.replace("c", "zz")
    )
    schema = ic.Schema(quasi=["q"], sensitive=["s"])
    first, second = ic.assess(frame, schema), ic.assess(renamed, schema)
    for mine, theirs in zip(first.privacy, second.privacy, strict=True):
        # Means are sums over classes in the order in which they were met.
        assert theirs.value == pytest.approx(mine.value, abs=1e-12)
        assert mine.to_dict(cells=False) | {"value": 0} == theirs.to_dict(cells=False) | {"value": 0}
        assert (mine.ties, mine.weakest and mine.weakest.records) == (
            theirs.ties,
            theirs.weakest and theirs.weakest.records,
        )
    assert (first.risk, first.distribution) == (second.risk, second.distribution)


@given(table=counts(), data=st.data())
def test_names_of_sensitive_values_do_not_matter(table, data):
    """Every model of categories measures the same whatever the values are called, and so sorted."""
    order = data.draw(st.permutations(range(len(table[0]))))
    renamed = [[row[j] for j in order] for row in table]
    before, after = classes_of(table, "category"), classes_of(renamed, "category")
    for model in variants("category"):
        if isinstance(model, SensitiveModel) and "value" not in model.settings():
            mine, theirs = model.measure(before, asked=False), model.measure(after, asked=False)
            for one, other in zip(mine, theirs, strict=True):
                assert other.value == pytest.approx(one.value, abs=1e-12)


def test_sensitive_values_are_measured_only_where_they_are_named():
    """No model measures the first sensitive attribute because nobody said which."""
    classes = classes_of([[2, 1], [1, 2]], "category")
    for model in variants("category"):
        assert isinstance(model, SensitiveModel) != isinstance(model, IdentityModel), model
        for part in model.parts():
            if isinstance(part, IdentityModel):
                with pytest.raises(ic.ParameterError, match="looks at no sensitive attribute"):
                    part.values(classes, 0)
            elif part.attributes(classes.frequency)[0] is not None:
                with pytest.raises(ic.ParameterError, match="one sensitive attribute at a time"):
                    part.values(classes, None)


@pytest.mark.parametrize("entry", [entry for entry in MODELS if issubclass(entry, IdentityModel)])
def test_a_model_of_identity_takes_no_sensitive_attribute(entry):
    with pytest.raises(TypeError, match="attribute"):
        entry(attribute="s")
    with pytest.raises(ic.ParameterError, match="attribute"):
        entry.from_settings({"attribute": "s"})


def test_no_class_is_nothing_that_holds():
    frame = pl.DataFrame({"q": ["*", "*"], "s": ["a", "b"]})
    people = pl.DataFrame({"q": ["x", "y", "z"]})
    models = [variant for entry in MODELS for variant in entry.variants()]
    assessment = ic.assess(frame, ic.Schema(quasi=["q"], sensitive=["s"]), models, population=people)
    assert assessment.suppressed == 2
    assert {measured.model for measured in assessment.privacy} == set(MODELS.names())
    for measured in assessment.privacy:
        assert measured.value is None
        assert measured.holds is False
        assert measured.reasons == ("there is no class to measure",)


# --- what is awkward in real tables -------------------------------------------------------------------

AWKWARD = {
    "a missing value in both columns": {"q": ["a", None, "a", None], "s": ["x", None, None, "x"]},
    "a constant sensitive column": {"q": ["a", "a", "b", "b"], "s": ["x"] * 4},
    "a constant quasi-identifier": {"q": ["a"] * 4, "s": ["x", "y", "x", "y"]},
    "a class of one record": {"q": ["a", "a", "a", "b"], "s": ["x", "y", "x", "y"]},
    "a value seen once": {"q": ["a", "a", "b", "b"], "s": ["x", "y", "x", "x"]},
    "one record": {"q": ["a"], "s": ["x"]},
    "a missing class only": {"q": [None, None], "s": ["x", "y"]},
    "a suppressed record": {"q": ["a", "a", "*"], "s": ["x", "y", "z"]},
    "a constant number": {"q": ["a", "a", "b"], "s": [1, 1, 1]},
}


@pytest.mark.parametrize("what", AWKWARD)
def test_every_answer_is_defined(what):
    frame = pl.DataFrame(AWKWARD[what], schema_overrides={"q": pl.String})
    models = [variant for entry in MODELS for variant in entry.variants()]
    assessment = ic.assess(
        frame, ic.Schema(quasi=["q"], sensitive=["s"]), models, population=frame.select("q")
    )
    assert {measured.model for measured in assessment.privacy} == set(MODELS.names())
    for measured in assessment.privacy:
        assert measured.value is not None
        assert not math.isnan(measured.value)
        assert measured.weakest is not None or measured.model == "p29"


def test_answers_to_awkward_tables():
    """Figures by hand: a missing value is a value, a constant column is perfectly close and not diverse."""
    schema = ic.Schema(quasi=["q"], sensitive=["s"])

    def figures(what):
        assessment = ic.assess(pl.DataFrame(AWKWARD[what], schema_overrides={"q": pl.String}), schema)
        return {
            (m.model, *(v for v in m.settings.values() if isinstance(v, str))): m for m in assessment.privacy
        }

    nulls = figures("a missing value in both columns")
    assert (nulls["k-anonymity",].value, nulls["l-diversity", "distinct"].value) == (2, 2)
    assert nulls["normalized-entropy", "minimum"].value == 1.0
    constant = figures("a constant sensitive column")
    assert constant["t-closeness", "equal"].value == 0
    assert constant["normalized-entropy", "minimum"].value == 0
    assert constant["l-diversity", "entropy"].value == 1
    assert constant["beta-likeness", "enhanced"].value == 0
    assert constant["delta-disclosure", "infinite"].value == 0
    assert constant["p29",].value == 0
    assert constant["p29",].reasons[0] == "2 of 2 classes: a single value of 's'"
    even = figures("a constant quasi-identifier")
    assert even["p29",].value == pytest.approx(0.5 * (1 - 1 / 4) + 0.25 + 0.25)
    assert "scaling it is 0/0; it counts as 0" in even["p29",].reasons[0]
    once = figures("a value seen once")
    assert once["delta-disclosure", "infinite"].value == math.inf
    assert once["beta-likeness", "basic"].value == 1
    single = figures("one record")
    assert single["maximum-risk",].value == single["average-risk",].value == 1
    assert single["l-diversity", "grassberger"].value == 1
    number = figures("a constant number")
    assert number["t-closeness", "ordered"].value == 0


def test_weakest_class_is_the_smallest_then_the_first():
    frame = pl.DataFrame({"q": [*list("ccbbaadd"), None], "s": list("xxxxxxyyx")})
    schema = ic.Schema(quasi=["q"], sensitive=["s"])
    assessment = ic.assess(frame, schema, [ic.LDiversity(2), ic.KAnonymity(2)])
    diversity, size = assessment.privacy[0], assessment.privacy[1]
    assert diversity.ties == 5
    assert (diversity.weakest.cells, diversity.weakest.records) == ({"q": None}, 1)
    assert [example.cells["q"] for example in diversity.examples] == [None, "a", "b", "c", "d"]
    assert diversity.failing == (5, 9)
    assert size.failing == (1, 1)
    assert size.to_dict()["failing"] == {
        "classes": 1,
        "records": 1,
        "examples": [{"cells": {"q": None}, "records": 1}],
    }
    assert "examples" not in size.to_dict(cells=False)["failing"]
    assert "weakest" not in size.to_dict(cells=False)


@given(sizes=st.lists(st.integers(1, 4), min_size=1, max_size=40), most=st.integers(1, 12), data=st.data())
def test_the_smallest_classes_are_found_among_ties(sizes, most, data):
    cells = [
        (data.draw(st.sampled_from("abcd"), label="a"), str(number % 7), str(number))
        for number in range(len(sizes))
    ]
    rows = [cell for cell, n in zip(cells, sizes, strict=True) for _ in range(n)]
    frame = pl.DataFrame(rows, schema=["a", "b", "c"], orient="row")
    schema = ic.Schema(quasi=["a", "b", "c"])
    expected = sorted(zip(sizes, cells, strict=True))[:most]
    classes = read_classes(frame, schema)
    described = describe_classes(classes, np.arange(len(classes)), most)
    assert [(each.records, tuple(each.cells.values())) for each in described] == expected
