"""Tables of many columns are read in parts, and nothing else changes."""

from __future__ import annotations

import random

import polars as pl
import pytest

import incrowd as ic
from crossed import crossed
from incrowd_verify import checks, verify

ROWS = 60
DRAW = random.Random(11)
AGES = [DRAW.randrange(20, 60) for _ in range(ROWS)]
KINDS = (
    lambda row: DRAW.randrange(4),
    lambda row: AGES[row] // 10,
    lambda row: f"{DRAW.random():.3f}",
    lambda row: f"P{AGES[row]:03}",
    lambda row: "ask Dr Patel" if row % 2 else "fine",
    lambda row: row if row % 7 else None,
)


def table_of(columns):
    """Many columns of several kinds beside an age and a disease."""
    more = {
        f"patient_id{n}" if n % len(KINDS) == 3 else f"c{n}": [
            KINDS[n % len(KINDS)](row) for row in range(ROWS)
        ]
        for n in range(columns)
    }
    return pl.DataFrame({"age": AGES, "disease": [*"abc"] * (ROWS // 3), **more})


def released(folder, columns, keep_order):
    """Save a table, a release with all columns, and the policy."""
    table = table_of(columns)
    table.write_csv(folder / "raw.csv")
    some = table.select("age", "disease")
    schema = ic.Schema(quasi={"age": None}, sensitive=["disease"], unlisted="keep")
    release = ic.anonymize(some, schema, "k-anonymity:4", keep_order=True, unanswered="write")
    release.save(folder / "out")
    policy = (folder / "out" / "policy.toml").read_text()
    if not keep_order:
        policy = policy.replace("keep_order = true", "keep_order = false")
    (folder / "policy.toml").write_text(policy)
    cells = pl.read_csv(folder / "out" / "release.csv", infer_schema=False)["age"]
    table = table.with_columns(cells.alias("age"), pl.lit("changed").alias("c8"))
    table.write_csv(folder / "release.csv")
    return folder / "release.csv", folder / "policy.toml"


@pytest.mark.slow
@pytest.mark.parametrize(("keep_order", "against"), crossed([True, False], [True, False]))
def test_parts_of_a_wide_table_tell_what_the_whole_tells(tmp_path, monkeypatch, keep_order, against):
    files = released(tmp_path, 40, keep_order)
    raw = tmp_path / "raw.csv" if against else None
    whole = verify(*files, against=raw)
    assert {"unique-column", "personal-text", "repeated-id"} <= {point.name for point in whole.points}
    assert ("derived-column" in {point.name for point in whole.points}) == against
    assert any("'c8' differs" in problem for problem in whole.problems) == (against and keep_order)
    for width in (1, 7):
        monkeypatch.setattr(checks, "NARROW", width)
        assert verify(*files, against=raw) == whole


@pytest.mark.slow
def test_the_wide_table_is_not_asked_about_each_column(tmp_path, monkeypatch):
    calls = []

    def row(self, sql, parameters=None):
        calls.append(sql)
        return tuple(self.con.execute(sql, parameters).fetchone())

    monkeypatch.setattr(checks.Checks, "row", row)
    counts = []
    for columns in (130, 190):
        (tmp_path / str(columns)).mkdir()
        files = released(tmp_path / str(columns), columns, True)
        calls.clear()
        verify(*files, against=tmp_path / str(columns) / "raw.csv")
        # Of each id that repeats the people are counted: these are questions about points.
        wide = [
            sql for sql in calls if ("FROM released" in sql or "JOIN raw" in sql) and "AS people" not in sql
        ]
        counts.append((len(wide), len(calls)))
    assert counts[0][0] == counts[1][0]
    assert counts[0][1] < counts[1][1]
