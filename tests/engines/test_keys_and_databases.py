"""No database gets a key: neither a log nor a running statement has a key or a token."""

from __future__ import annotations

import contextlib
from pathlib import Path

import polars as pl
import pytest

import incrowd as ic
from database_tables import holding, statement
from incrowd.core.table.treated_columns import TreatedColumn
from incrowd.core.treatments.keys import Secret
from incrowd.engines.sql.databases import DatabaseTable
from treatment_tables import KEY, MARK, people

SHIFT = {"shift-dates": 60, "by": "person", "key": "env:CLINIC_KEY"}
RUNNING = "SELECT query FROM pg_stat_activity WHERE pid <> pg_backend_pid() AND query <> ''"
LENGTH = 14
BATCH = 37


@pytest.fixture(autouse=True)
def _key(monkeypatch):
    monkeypatch.setenv("CLINIC_KEY", KEY)


def visits() -> pl.DataFrame:
    return people(200, each=2).with_columns(came=pl.lit("2020-03-05"))


SCHEMA = ic.Schema(
    quasi={"age": ic.Hierarchy.intervals(10, 20, 40)},
    sensitive=["dx"],
    insensitive=["came"],
    person="pid",
    linked=True,
    unlisted="drop",
    treatments={"pid": {"pseudonym": "hmac", "key": "env:CLINIC_KEY", "length": LENGTH}, "came": SHIFT},
)
JOB = {"algorithm": "optimal", "max_suppression": 1.0}


@contextlib.contextmanager
def logged(url):
    """Let the server log every statement with parameters, and give the log and the start position."""
    [row] = statement(url, "SELECT setting FROM pg_settings WHERE name = 'data_directory'")
    log = Path(row["setting"]).parent / "log"
    settings = ("log_statement", "log_min_duration_statement", "log_parameter_max_length")
    statement(
        url, *(f"ALTER ROLE owner SET {name} = {value}" for name, value in zip(settings, ("'all'", 0, -1), strict=True))
    )  # fmt: skip
    began = log.stat().st_size
    try:
        yield log, began
    finally:
        statement(url, *(f"ALTER ROLE owner RESET {name}" for name in settings))


@pytest.mark.slow
def test_nothing_that_postgresql_logs_or_tells_has_a_key_or_a_token(postgres, tmp_path, monkeypatch):
    told: list[str] = []
    treat = TreatedColumn.of

    def watched(self: TreatedColumn, *given: object) -> pl.Series:
        # In the middle of the job, while its statement runs.
        told.extend(row["query"] for row in statement(postgres, RUNNING))
        return treat(self, *given)

    tokens = {Secret(KEY.encode()).digest(pid.encode()).hex()[:LENGTH] for pid in visits()["pid"]}
    with logged(postgres) as (log, began), holding("postgresql", visits(), postgres) as table:
        monkeypatch.setattr(TreatedColumn, "of", watched)
        release = ic.anonymize(table, SCHEMA, "k-anonymity:3", **JOB)
        release.write(tmp_path / "out.csv")
        release.into("safe", force=True)
        monkeypatch.undo()
        text = log.read_bytes()[began:].decode()
    assert set(pl.read_csv(tmp_path / "out.csv")["pid"]) == tokens
    assert "DETAIL" in text or "statement: " in text
    assert any("people" in query for query in told)
    for seen in (text, "\n".join(told)):
        assert "SELECT" in seen
        assert not any(secret in seen for secret in (KEY, KEY.encode().hex(), MARK, *tokens))


@pytest.mark.slow
@pytest.mark.parametrize("store", ["postgresql", "sqlite", "duckdb"])
def test_rows_of_a_database_are_treated_some_at_a_time(store, request, tmp_path, monkeypatch):
    sizes: list[int] = []
    treat, batches = TreatedColumn.of, DatabaseTable.batches

    def watched(self: TreatedColumn, rows: pl.DataFrame, *given: object) -> pl.Series:
        sizes.append(len(rows))
        return treat(self, rows, *given)

    def small(self: DatabaseTable, sql: str):
        for rows in batches(self, sql):
            yield from rows.iter_slices(BATCH)

    url = request.getfixturevalue("postgres") if store == "postgresql" else None
    with holding(store, visits(), url) as table:
        release = ic.anonymize(table, SCHEMA, "k-anonymity:3", **JOB)
        monkeypatch.setattr(TreatedColumn, "of", watched)
        monkeypatch.setattr(DatabaseTable, "batches", small)
        release.write(tmp_path / "out.csv")
    assert sum(sizes) >= 2 * 200
    assert max(sizes) == BATCH
    assert len(pl.read_csv(tmp_path / "out.csv")) == 200
