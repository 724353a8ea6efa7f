"""Sensitive columns of lists under every model."""

from __future__ import annotations

import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

import incrowd as ic
from incrowd.engines import read_classes
from incrowd.measures.privacy import MODELS, SensitiveModel
from incrowd.measures.privacy._parts import EXACT, hitting_number
from list_readings import fewest, judges_lists

SHARED = ["F32", "F32;E11", "F32; I10", "I10;F32", "J45;F32"]
APART = ["E11", "I10", "J45;E11", "K20", "F32"]


def table(*classes):
    rows = [(f"c{number}", cell) for number, cells in enumerate(classes) for cell in cells]
    return pl.DataFrame(rows, schema=["q", "dx"], orient="row")


def schema(separator=";", **others):
    dx = ic.Attribute("dx", "sensitive", parts=separator)
    return ic.Schema(["q"], {"dx": dx, **dict.fromkeys(others)})


@pytest.mark.parametrize(
    ("model", "whole", "parts"),
    [
        (ic.LDiversity(2), 5, 1),
        (ic.LDiversity(2, "entropy"), 5, 1),
        (ic.LDiversity(2, "grassberger"), 5, 1),
        (ic.LDiversity(2, "recursive", 3), 5, 1),
        (ic.TCloseness(0.35), 0.4, 0.4),
        (ic.AlphaKAnonymity(0.5, 2), 0.2, 1),
        (ic.LKCPrivacy(1, 2, 0.5), 0.2, 1),
    ],
    ids=str,
)
def test_a_code_that_all_share_is_seen(model, whole, parts):
    classes = [
        ic.assess(table(SHARED, APART), schema(separator), [model]).results.asked[0]
        for separator in (None, ";")
    ]
    assert classes[0].value == pytest.approx(whole, rel=0.01)
    assert classes[1].value == pytest.approx(parts)
    assert not classes[1].holds


@given(
    st.lists(st.frozensets(st.integers(0, 7), min_size=1, max_size=4), min_size=1, max_size=9),
    st.integers(1, 12),
)
def test_the_fewest_parts_are_those_of_all_choices(lists, least):
    cells = [";".join(map(str, each)) for each in lists]
    assert hitting_number(lists, least) == fewest(cells)


def test_parts_that_stand_alone_are_counted_all_and_others_up_to_a_cap():
    alone = [frozenset({n}) for n in range(40)]
    pairs = [frozenset({100 + 2 * n, 101 + 2 * n}) for n in range(25)]
    assert hitting_number(alone) == 40
    assert hitting_number(pairs) == EXACT == 10
    assert hitting_number(pairs, 20) == 20
    assert hitting_number(pairs, 30) == 25
    assert hitting_number([*alone, *pairs], 45) == 50


def test_a_record_without_a_part_has_the_missing_one():
    assessment = ic.assess(table(["F32", "", " ; ", None], ["", None, ";"]), schema(), [ic.LDiversity(1)])
    assert assessment.results.asked[0].value == 1
    assert (
        ic.assess(table(["F32", "", " ; ", None]), schema(), [ic.LDiversity(1)]).results.asked[0].value == 2
    )


def test_one_part_in_each_cell_is_judged_as_a_plain_column():
    frame = table(list("aabbc"), list("abcde"))
    for model in (ic.LDiversity(2), ic.AlphaKAnonymity(0.5, 2), ic.BetaLikeness(5)):
        plain, listed = (ic.assess(frame, schema(each), [model]).results.asked for each in (None, ";"))
        assert [each.value for each in plain] == [each.value for each in listed]


@pytest.mark.parametrize("entry", [each for each in MODELS if issubclass(each, SensitiveModel)])
def test_every_model_judges_lists_or_refuses_them(entry):
    frame, result = table(SHARED, APART), []
    for model in entry.variants():
        assert model.judges_lists == judges_lists(model)
        if model.judges_lists:
            result += ic.assess(frame, schema(), [model]).results.asked
            continue
        with pytest.raises(ic.ParameterError, match=f"{entry.name} does not judge lists, and column 'dx'"):
            ic.assess(frame, schema(), [model])
        with pytest.raises(ic.ParameterError, match=f"{entry.name} does not judge lists"):
            ic.anonymize(frame, schema(), [ic.KAnonymity(2), model])
        with pytest.raises(ic.ParameterError, match="does not judge lists"):
            model.values(read_classes(frame, schema()), 0)
    assert all(each.value is not None for each in result)


def test_an_assessment_leaves_out_what_does_not_judge_lists():
    names = {each.model for each in ic.assess(table(SHARED, APART), schema()).privacy}
    assert {"l-diversity", "t-closeness"} <= names
    assert not {"normalized-entropy", "p29"} & names


def test_a_model_of_another_column_does_not_mind_lists():
    frame = table(SHARED, APART).with_columns(other=pl.Series(list("xyxyxyxyxy")))
    model = ic.NormalizedEntropy(0.5, attribute="other")
    assert ic.assess(frame, schema(other=None), [model]).results.asked[0].holds


def test_a_value_to_protect_may_be_a_part():
    frame = table(SHARED, ["E11", "I10", "J45", "J45", "F32;E11"])
    shares = {
        value: ic.assess(frame, schema(), [ic.AlphaKAnonymity(1.0, 1, value)]).results.asked[0].value
        for value in ("F32", "E11", "F32;E11")
    }
    assert shares == {"F32": 1.0, "E11": 0.4, "F32;E11": 0.2}
    with pytest.raises(ic.ParameterError, match="value to protect is none of"):
        ic.assess(frame, schema(), [ic.AlphaKAnonymity(1.0, 1, "F3")])


def test_more_than_there_are_parts_is_refused():
    frame = table(["a", "b", "a;b", "b;a", "a ;b"])
    with pytest.raises(ic.ParameterError, match="more than the 2 distinct parts of column 'dx'"):
        ic.anonymize(frame, schema(), [ic.LDiversity(3)])


def test_joint_models_look_at_parts_among_the_others():
    frame = table(["F32;E11", "F32;I10", "J45", "K20"]).with_columns(other=pl.Series(list("xxyy")))
    apart = ic.assess(frame, schema(other=None), [ic.LDiversity(1, attribute="dx")])
    joint = ic.assess(frame, schema(other=None), [ic.LDiversity(1, attribute="dx", joint=True)])
    assert (apart.results.asked[0].value, joint.results.asked[0].value) == (3, 1)


def test_the_risk_of_attribute_disclosure_is_that_of_parts():
    risk = ic.assess(table(SHARED, APART), schema()).risk["attribute-disclosure"]
    assert risk["max"] == 1.0
    assert risk["homogeneous"] == 0.5
    assert risk["mean"] == pytest.approx((5 * 1 + 5 * 0.4) / 10)
    assert risk["baseline"] == 0.6
    assert ic.assess(table(SHARED, APART), schema(None)).risk["attribute-disclosure"]["homogeneous"] == 0
