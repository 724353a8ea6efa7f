"""Numbers and dates of one record that are far beyond all others of their column, in SQL."""

from __future__ import annotations

from typing import Any

from incrowd.gate import wording
from incrowd.gate.points import Point
from incrowd.verification.checks import Checks
from incrowd.verification.classes import cell, count_rows
from incrowd.verification.policy import Column, Nulls
from incrowd.verification.source import Table, literal
from incrowd.verification.spellings import Spelling

_LEAST_RECORDS = 20
_LEAST_VALUES, _LEAST_ROUNDED = 15, 3
_NUMBER = r"[+-]?(0|[1-9][0-9]*)(\.[0-9]+)?([eE][+-]?[0-9]{1,4})?|[+-]?([nN][aA][nN]|[iI][nN][fF])"
_MOMENT = r"[0-9]{4}-[0-9]{2}-[0-9]{2}([T ][0-9]{2}:[0-9]{2}(:[0-9]{2}(\.[0-9]+)?)?)?"
_DAYS = "CAST(date_diff('day', DATE '1970-01-01', CAST({} AS DATE)) AS DOUBLE)"


def outlying_value(
    con: Checks, released: Table, name: str, column: Column | None, null_values: Nulls
) -> Point | None:
    """Return the point of a released column; None where no value is so far from the others.

    Parameters
    ----------
    column
        What the policy says of it; None where it does not name it.
    """
    shown = cell(con.narrow(released, name), name, null_values)
    spelling = None if column is None or released.kind_of(name) != "text" else column.spelling
    rows, given = _counted(con, con.narrow(released, name), shown, spelling)
    value, dates = _value(con, released, name, rows, given)
    if value is None:
        return None
    # Equal numbers are one, however they are written.
    known, values, *ends = con.row(
        f"WITH number AS (SELECT x + 0 AS x, sum(n) AS n FROM (SELECT {value} AS x, n FROM {rows}) "
        "WHERE isfinite(x) GROUP BY x + 0), "
        "edge AS (SELECT min(x) AS low, max(x) AS high FROM number) "
        "SELECT coalesce(sum(n), 0), count(*), min(x), max(x), min(x) FILTER (x > low), "
        "max(x) FILTER (x < high), sum(n) FILTER (x = low), sum(n) FILTER (x = high) FROM number, edge",
        given,
    )
    treatment = None if column is None else column.treatment
    rounded = treatment is not None and treatment.name == "round"
    if known <= _LEAST_RECORDS or values <= (_LEAST_ROUNDED if rounded else _LEAST_VALUES):
        return None
    low, high, above, below, lowest, highest = ends
    for largest, alone, gap, others in (
        (True, highest == 1, high - below, below - low),
        (False, lowest == 1, above - low, high - above),
    ):
        if alone and gap > others:
            share = 1 / count_rows(con, released)
            return wording.outlying_value(
                name, share, int(known), largest=largest, dates=dates, rounded=rounded
            )
    return None


def _counted(
    con: Checks, table: Table, shown: str, spelling: Spelling | None
) -> tuple[str, list[Any] | None]:
    """Write SQL of the known cells v and their records n, with its parameters.

    Cells in a spelling of their own are written plainly, if all are.
    """
    rows = f"(SELECT {shown} AS v, count(*) AS n FROM {table.name} GROUP BY ALL HAVING v IS NOT NULL)"
    texts = [] if spelling is None else con.execute(f"SELECT v, n FROM {rows}").fetchall()
    if spelling is None or None in (plain := [spelling.plain(text) for text, _ in texts]):
        return rows, None
    return "(SELECT unnest(?::VARCHAR[]) AS v, unnest(?::BIGINT[]) AS n)", [plain, [n for _, n in texts]]


def _value(
    con: Checks, table: Table, name: str, rows: str, given: list[Any] | None
) -> tuple[str | None, bool]:
    """Write SQL of the number of a cell v, or of its day; None where a column has neither."""
    declared, kind = table.type_of(name), table.kind_of(name)
    if kind in ("number", "float"):
        return "CAST(v AS DOUBLE)", False
    if kind == "date":
        return _DAYS.format("timezone('UTC', v)" if declared == "TIMESTAMP WITH TIME ZONE" else "v"), True
    if declared not in ("VARCHAR", "NULL") and not declared.startswith("ENUM"):
        return None, False
    numbers, moments = con.row(
        f"SELECT bool_and(regexp_full_match(v, {literal(_NUMBER)})), "
        f"bool_and(regexp_full_match(v, {literal(_MOMENT)})) FROM {rows}",
        given,
    )
    if numbers:
        return "TRY_CAST(v AS DOUBLE)", False
    return (_DAYS.format("TRY_CAST(left(v, 10) AS DATE)"), True) if moments else (None, False)
