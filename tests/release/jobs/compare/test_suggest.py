"""Help for an infeasible policy: every suggested change was tried."""

from __future__ import annotations

import tomllib
from dataclasses import replace

import polars as pl
import pytest

import incrowd as ic
from incrowd.release.jobs.compare.suggest import helping, ladders, looser
from incrowd.samples import hospital

SCHEMA = ic.Schema(quasi=["age", "sex"], sensitive=["diagnosis"], unlisted="drop")
POLICY = ic.Policy(
    SCHEMA, (ic.KAnonymity(8), ic.TCloseness(0.3)), ic.Optimal(), max_suppression=0.05, set_limit=4
)


@pytest.mark.parametrize(
    ("model", "value", "nearest", "last"),
    [
        ("k-anonymity", 5, 4, 2),
        ("k-anonymity", 2, None, None),
        ("l-diversity", 4, 3, 2),
        ("l-diversity", 2.5, 2.25, 1.25),
        ("t-closeness", 0.3, 0.35, 0.95),
        ("beta-likeness", 1, 1.25, 10),
    ],
)
def test_a_limit_is_loosened_within_its_range(model, value, nearest, last):
    result = looser(ic.MODELS.get(model), value)
    assert (result[0], result[-1]) == (nearest, last) if result else (nearest, last) == (None, None)
    parameter = ic.MODELS.get(model).parameters()[ic.MODELS.get(model).limit_name]
    for each in result:
        parameter.check(each, model, "limit")


def test_every_change_changes_one_thing_in_the_policy_and_in_its_document():
    kinds = [ladder for ladder in ladders(POLICY) if ladder]
    assert [ladder[0].text for ladder in kinds] == [
        "search with mondrian in place of optimal: each class is recoded alone",
        "let up to 10.0% of the records be suppressed (max_suppression = 0.1)",
        "let a cell list up to 8 values (set_limit = 8)",
        "k-anonymity: k = 7 in place of 8",
        "t-closeness: t = 0.35 in place of 0.3",
        "leave age out of the release",
        "leave sex out of the release",
    ]
    document = tomllib.loads(POLICY.to_toml())
    for change in (change for ladder in kinds for change in ladder):
        edited = change.edited(document)
        assert sum(edited[key] != document[key] for key in document) == 1
        entry = tomllib.loads(change.policy.to_toml())
        # Defaults of an algorithm need not be written.
        for each in (edited, entry):
            each["algorithm"] = each["algorithm"]["name"]
        assert edited == entry


def test_the_mildest_change_that_helps_is_found():
    def feasible(change) -> bool:
        return change.policy.models[0].k <= 5

    assert [each.text for each in helping(POLICY, feasible)] == ["k-anonymity: k = 5 in place of 8"]
    assert list(helping(POLICY, lambda change: False)) == []
    assert len(list(helping(POLICY, lambda change: True, most=2))) == 2


def test_attackers_do_not_move_the_places_of_models():
    neighbour = ic.Attacker("neighbour", ["age"], [ic.KAnonymity(3)])
    policy = replace(POLICY, models=(neighbour, ic.KAnonymity(8)))
    (ladder,) = (found for found in ladders(policy) if found and found[0].place[0] == "models")
    edited = ladder[0].edited(tomllib.loads(policy.to_toml()))
    assert edited["models"] == [{"model": "k-anonymity", "k": 7}]
    assert ladder[0].policy.models[1].k == 7


@pytest.mark.slow
def test_each_suggestion_gives_a_release():
    table = hospital(400).select("age", "sex", "diagnosis")
    policy = ic.Policy(SCHEMA, (ic.KAnonymity(5), ic.TCloseness(0.05)), ic.Optimal())
    with pytest.raises(ic.InfeasibleError):
        ic.anonymize(table, policy)
    suggestions = ic.suggest(table, policy)
    assert not suggestions.feasible
    assert 1 <= len(suggestions.found) <= 3
    for each in suggestions.found:
        assert ic.anonymize(table, each.policy).privacy.holds
    assert suggestions.to_dict()["found"][0]["text"] == suggestions.found[0].text
    assert ic.suggest(table, suggestions.found[0].policy).feasible


def test_a_release_of_cells_that_stand_for_every_value_is_a_thing_to_change():
    """Two columns are left, and neither tells anything: `assess` says broken, and a change of k helps."""
    table = hospital(534).select("age", "sex")
    policy = ic.Policy(
        ic.Schema(quasi={"age": ic.Hierarchy.intervals(10, 20), "sex": None}), (ic.KAnonymity(300),)
    )
    assert ic.assess(table, policy.schema, policy.models).verdict.state == "broken"
    suggestions = ic.suggest(table, policy)
    assert not suggestions.feasible
    assert {point.name for point in suggestions.verdict.open} == {"blanked-column"}
    for each in suggestions.found:
        left = ic.anonymize(table, each.policy, unanswered="write").verdict.points
        assert sum(point.name == "blanked-column" for point in left) < 2


def test_lists_that_are_too_long_are_a_thing_to_change():
    table = pl.DataFrame({"city": [f"c{number % 6}" for number in range(120)]})
    policy = ic.Policy(ic.Schema(quasi=["city"]), (ic.KAnonymity(60),), set_limit=2)
    with pytest.raises(ic.SchemaError, match="a list of more than 2"):
        ic.anonymize(table, policy)
    texts = [each.text for each in ic.suggest(table, policy).found]
    assert "let a cell list up to 4 values (set_limit = 4)" in texts


def test_a_wrong_table_is_an_error_and_no_suggestion():
    with pytest.raises(ic.SchemaError):
        ic.suggest(pl.DataFrame({"other": [1]}), POLICY)


def test_a_limit_that_a_kind_cannot_have_is_left_out():
    policy = ic.Policy(SCHEMA, (ic.LDiversity(2),), ic.Optimal())
    limits = [change for ladder in ladders(policy) for change in ladder if "l-diversity" in change.text]
    assert limits == []
    entropy = ic.Policy(SCHEMA, (ic.LDiversity(2, kind="entropy"),), ic.Optimal())
    nearest = next(change for ladder in ladders(entropy) for change in ladder if "l = " in change.text)
    assert nearest.value == 1.8


def test_a_column_of_many_categories_is_given_a_flat_hierarchy_where_lists_would_be_too_long():
    towns = [f"b{number}" for number in range(5) for _ in range(40)]
    towns += [f"a{number}" for number in range(12) for _ in range(3)]
    table = pl.DataFrame({"town": towns, "sex": ["F"] * len(towns)})
    policy = ic.Policy(ic.Schema(quasi=["town", "sex"]), (ic.KAnonymity(36),))
    with pytest.raises(ic.SchemaError, match="a list of up to"):
        ic.anonymize(table, policy, unanswered="write")
    changes = [each for each in ic.suggest(table, policy).found if each.value == {"flat": True}]
    assert [each.place for each in changes] == [("columns", "town", "hierarchy")]
    assert "and no list" in changes[0].text
    assert ic.anonymize(table, changes[0].policy, unanswered="write").privacy.holds
