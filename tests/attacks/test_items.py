"""An attacker who knows the other columns of a row and few items of its sets."""

from __future__ import annotations

import polars as pl
import pytest

import incrowd as ic
from incrowd.attacks import attack
from incrowd.core.errors import ParameterError
from set_readings import draw, fewest, policy

LONE = pl.DataFrame({"d": ["E11;I10", "E11;J45", "E11;I10", "J45;E11", "I10;J45"]})


def schema(known: int, parts: str | None = ";", *, people: bool = False) -> ic.Schema:
    sets = ic.Attribute("d", "quasi", kind="set", parts=parts, known=known)
    return ic.Schema.of_attributes([sets, *([ic.Attribute("p", "person")] if people else [])])


def test_few_people_share_what_is_known_as_counted_by_hand():
    one, two = (attack(LONE, LONE, schema(known), attacks=400)[1].figures for known in (1, 2))
    assert one["fewest"] == 3
    assert two["fewest"] == 1
    # Of five people one has I10 and J45.
    assert two["alone"] == pytest.approx(0.2, abs=0.08)


@pytest.mark.parametrize("others", [False, True])
def test_a_release_leaves_k_people_for_each_guess(others):
    table, terms = draw(3, 60, others=others), policy(4, others=others, max_suppression=0.5)
    released = ic.anonymize(table, terms, unanswered="write").table
    before, after = attack(table, released, terms, attacks=300)
    assert (before.name, after.name) == ("items raw table", "items")
    assert before.figures["fewest"] < 4 <= after.figures["fewest"]
    names = [each.name for each in terms.schema.quasi if each.kind != "set"]
    held = released if not names else released.filter(pl.col(names[0]) != "*")
    assert after.figures["fewest"] >= fewest(held, terms.schema.sets[0].name, names, 2)
    assert (before, after) == tuple(attack(table, released, terms, attacks=300))


def test_rows_without_known_items_are_not_alone_among_stars():
    starred = pl.DataFrame({"d": ["E11", "E11", "*"]})
    assert attack(starred, starred, schema(1), attacks=50)[1].figures["fewest"] == 2


def test_lists_are_read_as_texts():
    lists = LONE.with_columns(pl.col("d").str.split(";"))
    assert attack(lists, lists, schema(2, None))[1].figures == attack(LONE, LONE, schema(2))[1].figures


def test_what_is_not_defined_for_sets_is_refused():
    for words, settings in {
        "kinds": {"kinds": ["linkage"]},
        "control": {"control": LONE},
        "also": {"also": [LONE]},
        "known": {"known": ["d"]},
    }.items():
        with pytest.raises(ParameterError, match=words):
            attack(LONE, LONE, schema(2), **settings)
    people = LONE.with_columns(p=pl.lit("a"))
    with pytest.raises(ParameterError, match="several rows"):
        attack(people, people, schema(2, people=True))
