"""The meaning of limits, and sliders of limits."""

from __future__ import annotations

import pytest

import incrowd as ic
from incrowd.faces.studio import declared
from incrowd.faces.studio.meaning import RECIPES, means, reached, slider_of
from incrowd.samples import hospital


@pytest.mark.parametrize(
    ("settings", "told"),
    [
        (
            {"model": "k-anonymity", "k": 5},
            "Whoever knows your quasi-identifiers, and nothing else, finds at least 5 records that may be "
            "yours, and is right with at most 20%.",
        ),
        ({"model": "k-anonymity", "k": 1}, "k = 1 asks for nothing"),
        ({"model": "l-diversity", "l": 3}, "at least 3 possible values"),
        ({"model": "l-diversity", "l": 3, "kind": "entropy"}, "as among 3 equally frequent values (entropy)"),
        ({"model": "maximum-risk", "risk": 0.05}, "finds your record with at most 5%"),
        ({"model": "records-at-risk", "share": 0.004, "threshold": 0.2}, "finds at most 0.4% of the records"),
        ({"model": "k-anonymity", "k": 40}, "right with at most 2.5%"),
        ({"model": "k-anonymity", "k": 1_400}, "right with at most 0.08%"),
        ({"model": "alpha-k-anonymity", "k": 7, "alpha": 0.5}, "at most 50% sure of a sensitive value of yours, among 7"),
        ({"model": "p29", "score": 1}, "For you: one score of class size"),
        ({"model": "k-anonymity"}, "For you: every equivalence class"),
        ({"model": "k-anonymity", "k": 0}, "For you: every equivalence class"),
    ],
)  # fmt: skip
def test_a_limit_is_told_to_somebody_in_the_table(settings, told):
    assert told in means(settings)


def test_every_model_has_a_sentence_and_a_slider_that_its_first_limit_stands_on():
    for model in declared.models():
        settings = {"model": model.name, **declared.first_settings(model)}
        assert means(settings).endswith(".")
        value = settings.get(model.limit_name)
        slider = slider_of(model.name, value)
        assert (slider is None) == (model.limit_name not in model.parameters())
        if slider is not None and value is not None:
            assert slider.low <= value <= slider.high
            model.parameters()[model.limit_name].check(slider.high, model.name, "limit")


def test_usual_limits_are_described_with_their_own_figures():
    contract = RECIPES["contract"]
    assert contract.models(["ill"]) == [{"model": "k-anonymity", "k": 5}, {"model": "l-diversity", "l": 2}]
    assert contract.models([]) == [{"model": "k-anonymity", "k": 5}]
    assert contract.text() == (
        "At least 5 records look alike: whoever knows your quasi-identifiers, and nothing else, finds you with "
        "at most 20%. They have at least 2 sensitive values."
    )
    assert (
        RECIPES["teaching"].text()
        == "At least 3 records look alike: whoever knows your quasi-identifiers, and nothing else, finds you "
        "with at most 33.4%."
    )
    assert [each.limits["k"] for each in RECIPES.values()] == [3, 5, 11]


def test_a_slider_has_the_declared_range_and_reaches_what_was_written():
    assert slider_of("t-closeness", 0.3) == (0, 1, 0.01)
    assert slider_of("k-anonymity", 5) == (1, 50, 1)
    assert slider_of("k-anonymity", 400) == (1, 400, 1)
    assert slider_of("l-diversity", 2) == (1, 50, 1)
    assert slider_of("beta-likeness", 1) == (0, 5, 0.1)


def test_what_the_table_reaches_is_that_of_its_worst_attribute():
    schema = ic.Schema(quasi=["age", "sex"], sensitive=["diagnosis", "cost"], unlisted="drop")
    assessment = ic.assess(hospital(300), schema, ["k-anonymity:5", "l-diversity:2"])
    assert reached(assessment.results.asked, "k-anonymity") == "The table now: k is 1."
    worst = min(each.value for each in assessment.results.asked if each.model == "l-diversity")
    assert reached(assessment.results.asked, "l-diversity").startswith(f"The table now: l is {worst:g} of ")
    assert reached(assessment.results.asked, "t-closeness") is None
