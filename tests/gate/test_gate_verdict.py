"""Verdicts, points, and the answers to points."""

from __future__ import annotations

import pickle

import pytest

import incrowd as ic
from incrowd_gate import wording
from incrowd_gate.points import ANSWERABLE, KINDS, Point, answered
from incrowd_gate.verdict import Verdict

OPEN = Point("unique-column", ("cost",), 0.9, "The text.", "The way out.")
BROKEN = Point("limit", ("ill",), None, "The limit.", "Ask for less.")


def with_reason(why: str) -> Point:
    return answered([OPEN], [ic.Accepted("unique-column", "cost", why)])[0]


@pytest.mark.parametrize(
    ("points", "state", "begins"),
    [
        ((), "holds", "HOLDS: the release satisfies its policy, and no point is open."),
        ((OPEN,), "open", "OPEN: 1 point waits for an answer (unique-column: cost)."),
        ((OPEN, OPEN), "open", "OPEN: 2 points wait for an answer"),
        ((BROKEN, OPEN), "broken", "BROKEN: the release does not satisfy its policy (limit: ill)."),
        (
            (with_reason("made up"),),
            "holds",
            "HOLDS: the release satisfies its policy, and each point has an answer",
        ),
    ],
)
def test_a_verdict_follows_from_its_points(points, state, begins):
    verdict = Verdict(points)
    assert (verdict.state, verdict.text.startswith(begins)) == (state, True)
    assert verdict.to_dict()["state"] == state


@pytest.mark.gated
def test_whoever_is_refused_reads_every_point_and_how_to_answer_it():
    many = [Point("unique-column", (f"c{n}",), 1.0, "Text. " * 30, "Way out.") for n in range(40)]
    with pytest.raises(ic.VerdictError) as error:
        Verdict(tuple(many)).refuse()
    lines = str(error.value).splitlines()
    assert sum(line.startswith("- unique-column: ") for line in lines) == 40
    assert sum("Or accept it: " in line for line in lines) == 40
    assert pickle.loads(pickle.dumps(error.value)).verdict == error.value.verdict
    Verdict(tuple(many)).refuse(only_broken=True)
    with pytest.raises(ic.VerdictError, match="limit: The limit"):
        Verdict((BROKEN, OPEN)).refuse(only_broken=True)


def test_an_answer_is_about_one_kind_and_the_first_column():
    pair = Point("unique-together", ("a", "b"), 0.5, "Text.", "Way out.")
    asked = [ic.Accepted("unique-together", "b", "why"), ic.Accepted("unique-column", "a", "why")]
    assert answered([pair], asked)[0].state == "open"
    assert answered([pair], [ic.Accepted("unique-together", "a", "why")])[0].why == "why"
    whole = Point("much-suppressed", (), 0.5, "Text.", "Way out.")
    assert answered([whole], [ic.Accepted("much-suppressed", None, "why")])[0].state == "holds"


def test_the_way_out_of_an_accepted_point_is_not_published():
    assert OPEN.to_dict()["way_out"] == "The way out."
    assert with_reason("made up").to_dict()["way_out"] == ""


@pytest.mark.parametrize("kind", [kind for kind in KINDS if kind not in ANSWERABLE])
def test_nobody_accepts_what_breaks_a_release(kind):
    with pytest.raises(ic.PolicyError, match="nobody can accept a point"):
        ic.Accepted(kind, None, "why")


@pytest.mark.parametrize(
    ("text", "answer"),
    [
        ("unique-column:cost=made up", ic.Accepted("unique-column", "cost", "made up")),
        ("much-suppressed=few people", ic.Accepted("much-suppressed", None, "few people")),
        ("unique-column:a:b=x=y", ic.Accepted("unique-column", "a:b", "x=y")),
    ],
)
def test_answers_are_read_as_options_have_them(text, answer):
    assert ic.Accepted.read(text) == answer


@pytest.mark.parametrize("text", ["unique-column:cost", "unique-column:cost= ", "unknown:cost=why", "=why"])
def test_answers_that_say_nothing_are_refused(text):
    with pytest.raises(ic.PolicyError, match="accepted"):
        ic.Accepted.read(text)


def test_pairs_become_one_point_for_each_column_that_covers_them():
    pairs = {("a", "b"): 0.3, ("a", "c"): 0.9, ("b", "c"): 0.4, ("d", "e"): 0.5}
    points = list(wording.unique_together(pairs))
    assert [point.columns for point in points] == [("a", "c", "b"), ("b", "c"), ("d", "e")]
    assert "90.0% of the records have values of a and c" in points[0].text
    assert "so it is with b" in points[0].text
    covered = {frozenset((point.columns[0], other)) for point in points for other in point.columns[1:]}
    assert covered == {frozenset(pair) for pair in pairs}


@pytest.mark.gated
def test_of_very_many_points_the_first_are_listed_and_the_others_counted():
    points = answered([wording.unprotected(f"column {number}", 0.5) for number in range(10_000)], [])
    verdict = Verdict(points)
    with pytest.raises(ic.InfeasibleError) as refused:
        verdict.refuse()
    said = str(refused.value)
    assert len(said) < 20_000
    assert "OPEN: 10,000 points wait" in said
    assert said.count("- unprotected-sensitive: ") == 50
    assert "- And 9,950 more: unprotected-sensitive (9,950)." in said
    assert len(verdict.lines()) == 51
    assert len(refused.value.verdict.to_dict()["points"]) == 10_000
