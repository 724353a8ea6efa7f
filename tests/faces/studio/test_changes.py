"""Changes that remove a point: each is tried, and the point is gone from the next release."""

from __future__ import annotations

import random
from datetime import date
from pathlib import Path

import polars as pl
import pytest

from incrowd.core.errors import VerdictError
from incrowd.core.hierarchy import Hierarchy
from incrowd.core.progress import Silent
from incrowd.faces.studio import export
from incrowd.faces.studio.mends import MENDS, changes_of, head_of
from incrowd.faces.studio.panels import new_batch
from incrowd.faces.studio.table_changes import changes_of_tables, savings
from incrowd.faces.studio.tables import Source
from incrowd.faces.studio.work import Work
from incrowd_gate.points import KINDS, Point
from incrowd_gate.profiles import CHECKS
from incrowd_gate.wording import percent

ROWS = 120
PANELS = {"Limits", "Column"}
DRAWN = random.Random(5)
COLUMNS = {
    "age": [20 + row % 20 for row in range(ROWS)],
    "decade": [(20 + row % 20) // 10 for row in range(ROWS)],
    "cost": [1_000 + 37 * row for row in range(ROWS)],
    "badge": [f"b{row * 7 % ROWS:03}" for row in range(ROWS)],
    "pay": [*(20_000 + 1_000 * (row % 40) for row in range(ROWS - 1)), 2_000_000],
    "height": [150 + row % 30 for row in range(ROWS)],
    "weight": [50 + row // 4 for row in range(ROWS)],
    "ill": [DRAWN.choice(["flu", "HIV", "cold"]) for row in range(ROWS)],
    "mail": [f"person{row % 4}@example.org" for row in range(ROWS)],
    "ward": [f"w{row % 3}" for row in range(ROWS)],
}


def opened(tmp_path, roles: dict[str, str], models=None) -> Work:
    work = Work()
    pl.DataFrame({name: COLUMNS[name] for name in roles}).write_parquet(tmp_path / "people.parquet")
    work.open(Source(tmp_path / "people.parquet", "people.parquet"))
    for name, role in roles.items():
        work.chosen.columns[name] = {"role": role}
    work.chosen.document["models"] = models or [{"model": "k-anonymity", "k": 3}]
    work.changed()
    return work


CASES = {
    "unique-column": {"age": "quasi", "cost": "insensitive"},
    "unique-together": {"age": "quasi", "height": "insensitive", "weight": "insensitive"},
    "outlying-value": {"age": "quasi", "pay": "insensitive"},
    "personal-text": {"age": "quasi", "mail": "insensitive"},
    "unprotected-sensitive": {"age": "quasi", "ill": "sensitive"},
    "derived-column": {"age": "quasi", "decade": "insensitive"},
}
TRIED = [
    ("unique-column", "round"),
    ("unique-column", "quasi"),
    ("unique-column", "identifying"),
    ("unique-together", "round"),
    ("unique-together", "identifying"),
    ("outlying-value", "limit"),
    ("outlying-value", "quasi"),
    ("outlying-value", "identifying"),
    ("personal-text", "identifying"),
    ("unprotected-sensitive", "protect"),
    ("unprotected-sensitive", "identifying"),
    ("derived-column", "quasi"),
    ("derived-column", "identifying"),
]


OF_BATCHES = ("ledger", "suppressed batch")


def test_every_point_clause_and_refusal_has_a_mend():
    assert {*KINDS, *(f"clause: {check}" for check in CHECKS), *OF_BATCHES} == set(MENDS)
    assert all(MENDS.values())
    panel = Path(new_batch.__file__).read_text()
    assert not [each for kind in OF_BATCHES for each in MENDS[kind] if f'"{each}"' not in panel]


OF_TABLES = {"cell", "linked-tables", "linked-columns"}
SETTINGS = {"suppressed": "keep", "algorithm": {"name": "optimal"}}
"""Settings of which some points are."""


@pytest.mark.parametrize("kind", sorted({*KINDS} - OF_TABLES - {"ledger", "clause", "unanswered-clause"}))
def test_every_kind_of_point_of_rows_has_a_button(tmp_path, kind):
    work = opened(tmp_path, {"age": "quasi", "cost": "insensitive", "ill": "sensitive"})
    work.chosen.document.update(SETTINGS)
    point = Point(kind, ("cost",), None, "Text.", "Way out.", limit=("top", 0.9))
    changes = list(changes_of(point, work, head_of(work)))
    assert changes
    assert {each.name for each in changes} <= {*MENDS[kind]}
    for each in changes:
        assert each.make is not None or each.name in PANELS
        if each.make is not None:
            each.make()
            work.chosen.policy()
    work.close()


@pytest.mark.few(2)
@pytest.mark.parametrize("kind", sorted(OF_TABLES))
def test_every_kind_of_point_of_tables_has_a_button(tmp_path, kind):
    work = opened(tmp_path, {"age": "quasi", "ward": "quasi"})
    tables = [{"name": "ages", "rows": ["age", "ward"]}, {"name": "wards", "rows": ["ward"]}]
    work.chosen.document["tables"] = tables
    work.tabulate(Silent())
    columns = () if kind == "cell" else ("age", "ward")
    point = Point(kind, columns, None, "Text.", "Way out.", subject="ages")
    changes = list(changes_of_tables(point, work))
    assert changes
    assert {each.name for each in changes} <= {*MENDS[kind]}
    changes[0].make()
    work.chosen.policy()
    # Of tables that were refused the broken point alone has a change.
    work.tables = None
    assert bool([*changes_of_tables(point, work)]) == (kind == "cell")
    work.close()


CLAUSES = {
    "zip": ("prefix", [f"803{row % 40:02}" for row in range(ROWS)]),
    "age": ("oldest", [38 + row % 60 for row in range(ROWS)]),
    "seen": ("years", [f"20{10 + row % 3}-{1 + row % 12:02}-{1 + row % 12:02}" for row in range(ROWS)]),
    "phone": ("identifying", ["030 1234567"] * ROWS),
}


@pytest.mark.few(1)
@pytest.mark.parametrize("column", list(CLAUSES))
def test_a_change_meets_the_clause_of_a_profile(tmp_path, column):
    change, values = CLAUSES[column]
    work = opened(tmp_path, {"ward": "quasi"})
    work.table = work._rows = work.table.with_columns(pl.Series(column, values))
    work.chosen.columns[column] = {"role": "insensitive"}
    work.chosen.document["profile"] = {"name": "hipaa-safe-harbor"}
    broken = [each for each in work.anonymize(Silent()).verdict.broken if each.name == "clause"]
    assert broken
    for point in broken:
        changes = list(changes_of(point, work, head_of(work)))
        assert column in {word.strip(":,") for each in changes for word in each.text.split()}
    made = {each.name: each for each in changes_of(broken[-1], work, head_of(work))}
    made[change].make()
    work.changed()
    assert not [each for each in work.anonymize(Silent()).verdict.broken if each.name == "clause"]
    work.close()


def test_classes_of_the_size_that_a_clause_needs_are_offered(tmp_path):
    work = opened(tmp_path, {"age": "quasi", "ward": "quasi"})
    work.chosen.document["profile"] = {"name": "cms-cell-size"}
    (point,) = (each for each in work.anonymize(Silent()).verdict.broken if each.subject == "classes")
    change = next(iter(changes_of(point, work, head_of(work))))
    assert change.text == "Ask for classes of 11 records"
    change.make()
    work.changed()
    assert not work.anonymize(Silent()).verdict.broken
    work.close()


def test_a_column_that_was_looked_at_is_cleared_for_its_clause(tmp_path):
    work = opened(tmp_path, {"age": "quasi", "cost": "insensitive"})
    work.table = work._rows = work.table.with_columns(cost=pl.Series([f"{row:09}" for row in range(ROWS)]))
    work.chosen.document["profile"] = {"name": "hipaa-safe-harbor"}
    release = work.anonymize(Silent())
    point = next(each for each in release.verdict.open if each.text.startswith("social-security"))
    change = next(iter(changes_of(point, work, head_of(work))))
    change.make()
    assert (change.name, work.chosen.document["profile"]["cleared"]) == (
        "harmless",
        {"social-security": ["cost"]},
    )
    work.close()


@pytest.mark.few(5)
@pytest.mark.parametrize(("kind", "change"), TRIED)
def test_a_change_removes_its_point(tmp_path, kind, change):
    work = opened(tmp_path, CASES[kind])
    release = work.anonymize(Silent())
    (point,) = (each for each in release.verdict.open if each.name == kind)
    (result,) = (each for each in changes_of(point, work, head_of(work)) if each.name == change)
    result.make()
    work.changed()
    release = work.anonymize(Silent())
    assert kind not in {each.name for each in release.verdict.points}, release.verdict.lines()
    if change != "protect":
        # What a click changed can be undone.
        work.restore(work.history.undo())
        assert work.chosen.columns[point.columns[0]] == {"role": CASES[kind][point.columns[0]]}
    work.close()


@pytest.mark.parametrize(
    ("treat", "then"),
    [
        ({"round": 1000}, {"round": 1000, "top": 0.9}),
        ({"bottom": 0.1}, {"top": 0.9, "bottom": 0.1}),
        ({"noise": 0.001}, None),
    ],
)
def test_a_limit_is_added_to_a_treatment_that_can_have_it(tmp_path, treat, then):
    work = opened(tmp_path, CASES["outlying-value"])
    work.chosen.columns["pay"]["treat"] = treat
    (point,) = (each for each in work.anonymize(Silent()).verdict.open if each.name == "outlying-value")
    result = {each.name: each for each in changes_of(point, work, head_of(work))}
    assert ("limit" in result) == (then is not None)
    if then is not None:
        result["limit"].make()
        assert work.chosen.columns["pay"]["treat"] == then
    work.close()


def test_texts_are_not_rounded(tmp_path):
    work = opened(tmp_path, {"age": "quasi", "badge": "insensitive"})
    (point,) = work.anonymize(Silent()).verdict.open
    assert [each.name for each in changes_of(point, work, head_of(work))] == ["quasi", "identifying"]
    work.close()


DESKS = {"*": {"north": ["a@north.example", "b@north.example"], "south": ["c@south.example"]}}


@pytest.mark.few(1)
@pytest.mark.parametrize(
    ("change", "rows", "columns"),
    [("coarser", ["mail:1"], ["age"]), ("leave-out", [], ["age"])],
)
def test_a_change_of_tables_removes_their_points(tmp_path, change, rows, columns):
    work = opened(tmp_path, {"age": "quasi", "mail": "quasi"})
    work.table = work.table.with_columns(
        mail=pl.Series([*DESKS["*"]["north"], *DESKS["*"]["south"]] * (ROWS // 3))
    )
    work.keep_tree("mail", Hierarchy.from_nested(DESKS))
    other = {"name": "other", "rows": ["age"]}
    work.chosen.document["tables"] = [{"name": "desks", "rows": ["mail"], "columns": ["age"]}, other]
    *points, hidden = work.tabulate(Silent()).release.verdict.open
    assert {each.columns for each in points} == {("mail",)}
    assert [each.name for each in changes_of_tables(hidden, work)] == ["leave-out"]
    result = {each.name: each for each in changes_of_tables(points[0], work)}
    assert set(result) == {"coarser", "leave-out"}
    result[change].make()
    work.changed()
    first, second = work.chosen.document["tables"]
    assert (first["rows"], first["columns"], second) == (rows, columns, other)
    assert not [each for each in work.tabulate(Silent()).release.verdict.open if "mail" in each.columns]
    work.close()


def test_a_table_keeps_a_column_and_codes_that_no_level_mends(tmp_path):
    work = opened(tmp_path, {"age": "quasi", "mail": "quasi"})
    work.chosen.document["tables"] = [{"name": "desks", "rows": ["mail"]}]
    (point, *_) = work.tabulate(Silent()).release.verdict.open
    assert not [*changes_of_tables(point, work)]
    work.close()


@pytest.mark.slow
def test_a_clause_is_attested_and_the_release_is_judged_anew(tmp_path):
    work = opened(tmp_path, {"age": "quasi", "ward": "insensitive"})
    work.chosen.document["profile"] = {"name": "hipaa-safe-harbor"}
    release = work.anonymize(Silent())
    assert (release.verdict.state, [each.name for each in release.verdict.open]) == (
        "open",
        ["unanswered-clause"],
    )
    with pytest.raises(VerdictError, match="unanswered-clause"):
        export.report_file(work, Silent(), ".json")
    (clause,) = (each for each in release.clauses if each.unanswered)
    said = {"clause": clause.id, "by": "A. Officer", "on": "2026-01-31", "says": "We know of nothing."}
    work.accept([], [said])
    assert work.release.verdict.holds
    assert work.account["verdict"]["state"] == "holds"
    assert work.release.policy.profile.attested[clause.id].on == date(2026, 1, 31)
    assert work.chosen.document["profile"]["attested"] == [said]
    # A new run knows the answer.
    assert work.anonymize(Silent()).verdict.holds
    work.close()


def test_coarser_codes_are_offered_with_what_they_save(tmp_path):
    work = opened(tmp_path, {"age": "quasi", "mail": "quasi"})
    work.table = work.table.with_columns(mail=pl.Series([*"abcdef"] * (ROWS // 6)))
    work.keep_tree("mail", Hierarchy.from_nested({"*": {"even": [*"ace"], "odd": [*"bdf"]}}))
    work.chosen.document["tables"] = [{"name": "t", "rows": ["mail"], "columns": ["age"], "threshold": 3}]
    before = work.tabulate(Silent())
    offered = savings(work, Silent())
    change = next(each for each in offered if each.text.startswith("Coarser codes of mail in t: "))
    assert change.text.endswith(f"not {percent(before.hidden)}")
    # A trial changes nothing.
    assert work.tables is before
    change.make()
    work.changed()
    after = work.tabulate(Silent())
    assert after.hidden < before.hidden
    assert f": {percent(after.hidden)} suppressed" in change.text
    work.close()
