"""Texts that reach people inside cells, labels of hierarchies and plainly released quasi-identifiers."""

from __future__ import annotations

import polars as pl
import pytest

import incrowd as ic
from incrowd_gate.rules.columns import parts_of

pytestmark = pytest.mark.gated

KINDS = {
    "mail": lambda p: f"{['anna', 'ben', 'carla', 'dieter'][p % 4]}.{p}@example.org",
    "tel": lambda p: f"+49 151 234{p:05}",
    "title": lambda p: f"Dr. Beispiel{chr(97 + p % 26)}{p}",
    "street": lambda p: f"Hauptstraße {p}, Bonn",
}
ILLS = ["flu", "cold", "gout"]


def table(kind: str) -> pl.DataFrame:
    texts = [KINDS[kind](row // 4) for row in range(400)]
    return pl.DataFrame({"x": texts, "ill": [ILLS[row % 3] for row in range(400)]})


def policy(hierarchy: object = None) -> ic.Policy:
    schema = ic.Schema(quasi={"x": hierarchy}, sensitive=["ill"])
    return ic.Policy(schema, [ic.KAnonymity(8), ic.LDiversity(2)])


def assert_both_say(tmp_path, release: ic.Release) -> None:
    """The release and the verifier of the file alone have the same point of texts."""
    release.save(tmp_path / "out")
    verified = ic.verify(tmp_path / "out" / "release.csv", tmp_path / "out" / "policy.toml")
    points = [point.sentence() for point in release.points if point.name == "personal-text"]
    assert len(points) == 1
    assert points == [point.sentence() for point in verified.points if point.name == "personal-text"]


@pytest.mark.few(1)
@pytest.mark.parametrize("kind", KINDS)
def test_sets_of_texts_that_reach_people(kind, tmp_path):
    with pytest.raises(ic.VerdictError, match="personal-text: x"):
        ic.anonymize(table(kind), policy())
    assert_both_say(tmp_path, ic.anonymize(table(kind), policy(), unanswered="write"))


LABELS = {
    "family": lambda p: f"(family of {KINDS['mail'](p // 2 * 2)})",
    "star": lambda p: f"{KINDS['mail'](p // 2 * 2)} *",
    "more": lambda p: f"{KINDS['mail'](p // 2 * 2)} or more",
    "range": lambda p: f"[{KINDS['mail'](p // 2 * 2)} - {KINDS['mail'](p // 2 * 2 + 1)}]",
    "telephone": lambda p: f"<{KINDS['tel'](p // 2 * 2)}>",
}


@pytest.mark.few(1)
@pytest.mark.parametrize("kind", LABELS)
def test_labels_of_a_hierarchy_that_reach_people(kind, tmp_path):
    rows = [(KINDS["mail"](p), LABELS[kind](p), "*") for p in range(100)]
    release = ic.anonymize(table("mail"), policy(ic.Hierarchy.from_paths(rows)), unanswered="write")
    assert LABELS[kind](0) in set(release.table["x"])
    assert_both_say(tmp_path, release)


@pytest.mark.parametrize(
    "cells",
    [
        ["[20-29]", "30 or more", "[1990-01-01 to 1999-12-31]", "*", "2020-01-01 or earlier"],
        ["1011*", "10***", "+49 151 23***", "***"],
        ["{10115, 10117}", "{flu, cold}", "{<missing>, 4}"],
    ],
)
def test_cells_of_a_recipe_are_no_texts_about_people(cells):
    frame = pl.DataFrame({"x": [cell for cell in cells for _ in range(40)]})
    assert "personal-text" not in {point.name for point in ic.assess(frame, ic.Schema(quasi=["x"])).points}


def test_a_cell_is_taken_apart():
    cells = pl.Series(["{ben@example.org, mia@example.org}", "[20-29]", "+49 151 23***", "a***@example.org"])
    parts = parts_of(pl.DataFrame({"cell": pl.int_range(len(cells), eager=True), "part": cells}))
    assert parts.rows() == [
        (0, "ben@example.org"),
        (0, "mia@example.org"),
        (2, "+49 151 23xxx"),
        (3, "a example.org"),
    ]


def test_the_quasi_identifiers_of_an_anatomy_leave_as_they_are():
    rows = pl.DataFrame(
        {
            "age": [20 + row % 10 for row in range(200)],
            "mail": [f"anna.{row}@example.org" for row in range(200)],
            "ill": [ILLS[row // 10 % 3] for row in range(200)],
        }
    )
    policy = ic.Policy(ic.Schema(quasi=["age", "mail"], sensitive=["ill"]), [ic.LDiversity(2)])
    with pytest.raises(ic.VerdictError, match="personal-text: mail"):
        ic.anatomize(rows, policy)


def test_what_a_randomized_column_hides_another_one_may_tell():
    rows = pl.DataFrame({"ill": ILLS * 100, "code": [ILLS.index(each) + 7 for each in ILLS * 100]})
    mechanisms = {"ill": ic.RandomizedResponse(1.0, ILLS)}
    with pytest.raises(ic.VerdictError, match="derived-column: code"):
        ic.randomize(rows, mechanisms)
