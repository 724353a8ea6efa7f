"""A raw table with two rows of names: its second one would be a person to whom no cell is true."""

from __future__ import annotations

from typing import TYPE_CHECKING

from incrowd.errors import TableError, setting
from incrowd.verification.source import Table, literal

if TYPE_CHECKING:
    import duckdb

_NUMBER_OR_DATE = r"[-+]?[.]?[0-9][-+0-9.,:/ TZeE%''\x{a0}\x{202f}]*"
_SILENT = (
    "", "?", "??", "-", "--", "---", ".", "..", "na", "n/a", "n.a.", "#n/a", "#null!", "<na>", "nan", "null",
    "(null)", "missing", "k.a.", "s/d", "n.d.", "unknown", "not known", "not available", "not applicable",
    "not stated", "no answer", "none", "refused", "declined", "withheld", "undisclosed", "other", "inf",
    "infinity", "true", "false", "yes", "no",
)  # fmt: skip
"""Answers of people about whom nothing is known."""
_FEW = 1000


def refuse_double_header(con: duckdb.DuckDBPyConnection, table: Table, *, given_names: bool) -> None:
    """Refuse a table in order whose first record is made of words that stand nowhere else, above numbers.

    One column of numbers is enough if every cell is a word, or if its word is its name; else it takes two.
    Words that are all names of their columns are refused above other texts, too.

    Parameters
    ----------
    given_names
        Whether the columns were named by the caller.
    """
    words = _words(con, table)
    # The first records say of nearly every table that it is one.
    if words and all(_is_second_header(con, table, words, rows) for rows in (_FEW, None)):
        where = "the first record looks like a row of names"
        way = f"leave {setting('names=...', '--names')} out, and " if given_names else ""
        raise TableError(
            f"{table.title}: {where} and no record, since it has texts alone, above numbers or other texts; "
            f"{way}keep one row of names (or move it down, if it is a record)"
        )


def _words(con: duckdb.DuckDBPyConnection, table: Table) -> dict[int, str]:
    """Return the words of the first record by the places of their columns; none if a cell is no word."""
    row = con.execute(f"SELECT * FROM {table.name} WHERE rowid = 0").fetchone() or ()
    words = {}
    for place, cell in enumerate(row):
        if cell is None:
            continue
        text = cell.strip() if isinstance(cell, str) else "0"
        if text.lower() in _SILENT:
            continue
        if text[0].isdigit() or not any(sign.isalpha() or sign in "%€$£¥°" for sign in text):
            return {}
        words[place] = cell
    return words


def _is_second_header(
    con: duckdb.DuckDBPyConnection, table: Table, words: dict[int, str], rows: int | None
) -> bool:
    """Judge the words by the records below them: by all, or by the first ones, which may have few values."""
    silent = ", ".join(map(literal, _SILENT))
    below = "rowid > 0" + ("" if rows is None else f" AND rowid < {rows}")
    above, differing = set(), False
    for place, word in words.items():
        cell = f"c{place}"
        said = f"lower(trim({cell})) NOT IN ({silent})"
        digits = f"regexp_full_match(trim({cell}), '{_NUMBER_OR_DATE}')"
        again, others, numbers, lowest, highest = con.execute(
            f"SELECT coalesce(bool_or({cell} = {literal(word)}), false), count({cell}) FILTER ({said}), "
            f"coalesce(bool_and({digits}) FILTER ({said}), true), "
            f"min({cell}) FILTER ({said}), max({cell}) FILTER ({said}) FROM {table.name} WHERE {below}"
        ).fetchall()[0]
        if again:
            return False
        differing |= rows is not None or lowest != highest
        if numbers and (rows is not None or others > 1):
            above.add(place)
    named = {place for place in words if _plain(words[place]) == _plain(table.names[place])}
    if named == words.keys() and len(words) > 1 and differing:
        return True
    different = {_plain(words[place]) for place in above}
    return len(different) > 1 or bool(above & named) or (bool(above) and len(words) == len(table.names))


def _plain(text: str) -> str:
    return text.strip().casefold()
