"""Running the script of `verify --emit-sql` as an auditor does: with DuckDB alone."""

from __future__ import annotations

from pathlib import Path

import duckdb
import pytest

from incrowd_verify.verification import ALL_HOLD, ONE_FAILS
from model_readings import KINDS

__all__ = ["by_kind_and_wildcards", "checks", "failed", "told", "verdict"]

by_kind_and_wildcards = pytest.mark.parametrize(
    ("kind", "wildcards"),
    [
        pytest.param(kind, wildcards, marks=[pytest.mark.slow] * ((kind, wildcards) != ("category", "value")))
        for kind in KINDS
        for wildcards in ("value", "matches-any", "conservative")
    ],
)
"""Cross kinds of sensitive attributes with what ``*`` matches; all but one are slow."""


def _run(script: str, release: Path | None) -> duckdb.DuckDBPyConnection:
    if release is not None:
        # As the script says: change the path if the file lies elsewhere.
        lines = script.splitlines()
        [place] = [at for at, line in enumerate(lines) if line.startswith("SET VARIABLE release")]
        lines[place] = f"SET VARIABLE release = '{release}';"
        script = "\n".join(lines)
    con = duckdb.connect()
    con.execute(script)
    return con


def verdict(script: str, release: Path | None = None) -> bool:
    """Whether the script says that every check holds; a script that ends with an error does not."""
    try:
        with _run(script, release) as con:
            return _verdict(con)
    except duckdb.Error:
        return False


def checks(script: str, release: Path | None = None) -> list[tuple[str, bool]]:
    """Every check by name, and whether the check holds."""
    return told(script, release)[1]


def told(script: str, release: Path | None = None) -> tuple[bool, list[tuple[str, bool]]]:
    """Run a script once, to the end, for the verdict and the checks."""
    with _run(script, release) as con:
        satisfied = _verdict(con)
        return satisfied, con.execute('SELECT "check", holds FROM checks ORDER BY number').fetchall()


def _verdict(con: duckdb.DuckDBPyConnection) -> bool:
    row = con.fetchone()
    assert row is not None
    assert row[0] in (ALL_HOLD, ONE_FAILS)
    assert (row[2] == 0) == (row[0] == ALL_HOLD)
    return bool(row[0] == ALL_HOLD)


def failed(script: str, release: Path | None = None) -> list[str]:
    """Name the checks that fail."""
    return [name for name, holds in checks(script, release) if not holds]
