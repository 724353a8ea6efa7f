"""Detection of a second header: a first record of names or of units such as ``years,,EUR``.

Read as a record, it would make a column of numbers one of texts, and stand in the release as a person. A
record is only taken for such a row if hardly any person has one like it: see `has_double_header`.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from incrowd.core.errors import TableError, setting
from incrowd.core.io.cancellable_scan import passing
from incrowd.core.io.columns import column_named
from incrowd.core.io.missing_texts import MISSING_TEXTS
from incrowd.core.lazy import pl

DIGITS = "^ *[-+]?[.]?[0-9][-+0-9.,:/ TZeE%'\u00a0\u202f]*$"
"""A number or a date, in whatever spelling."""
_NO_ANSWER = {text.casefold() for text in MISSING_TEXTS} | {
    "", "unknown", "not known", "not available", "not applicable", "not stated", "no answer", "none",
    "refused", "declined", "withheld", "undisclosed", "other", "inf", "infinity", "true", "false", "yes",
    "no",
}  # fmt: skip
"""Texts that a person's record may have in a column of numbers."""
_UNITS = "%€$£¥°"
_HEAD = 1000
"""Records that are looked at before all are."""


@dataclass(frozen=True)
class _Below:
    """Values of a column below the first record: whether the word occurs `again`, and all are `digits`."""

    values: int
    various: bool
    digits: bool
    again: bool


def refuse_double_header(
    table: pl.DataFrame | pl.LazyFrame, place: str, *, row: str = "the second line", headerless: bool = False
) -> None:
    """Raise for a table whose first record looks like a second row of names.

    Parameters
    ----------
    table
        As it was read.
    place
        What the table is called.
    row
        What its first record is called.
    headerless
        Whether the caller named the columns, so that the first record is the first line.

    Raises
    ------
    TableError
    """
    if not has_double_header(table):
        return
    row, again = ("the first line", "a row of names") if headerless else (row, "a second row of names")
    leave = f"leave {setting('CsvFormat(names=...)', '--names')} out and " if headerless else ""
    raise TableError(
        f"{place}: {row} looks like {again}, since it has texts alone, above numbers or other texts; {leave}"
        "keep one row of names (or move it down, if it is a row of values)"
    )


def has_double_header(table: pl.DataFrame | pl.LazyFrame) -> bool:
    """Say whether the first record looks like a second row of names or a row of units.

    It has to be made of words, each of which is found nowhere else in its column. A word is a text that is
    neither a number nor an answer such as ``unknown``. Also one of these has to be so:

    - no column is empty there, and one has nothing but numbers below;
    - two columns with different words have nothing but numbers below;
    - one column repeats its name, and has nothing but numbers below;
    - several columns are filled, all of them repeat their names, and one has different values below.

    Numbers are dates, too, and all that is written with digits.

    Examples
    --------
    >>> import polars as pl
    >>> has_double_header(pl.DataFrame({"age": ["years", "30", "41"], "pay": ["EUR", "9", None]}))
    True
    >>> has_double_header(pl.DataFrame({"age": ["unknown", "30", "41"], "town": ["Rome", "Oslo", "Rome"]}))
    False
    """
    words = _words(table)
    if not words:
        return False
    rows = table.lazy()
    width = len(rows.collect_schema())
    # An honest table is hardly ever suspicious by its first records.
    return _suspicious(words, _below(rows.head(_HEAD), words), width, enough=0) and _suspicious(
        words, _below(rows, words), width, enough=2
    )


def _words(table: pl.DataFrame | pl.LazyFrame) -> dict[str, str]:
    """Return the words of the first record by column, or none where a cell is no word."""
    first = table.lazy().head(1).collect()
    if not first.height:
        return {}
    filled = {
        name: cell
        for name, cell in zip(first.columns, first.row(0), strict=True)
        if cell is not None and not (isinstance(cell, str) and is_no_answer(cell))
    }
    return filled if all(isinstance(cell, str) and is_name(cell) for cell in filled.values()) else {}


def is_no_answer(text: str) -> bool:
    """Say whether a text means that nothing is known, such as ``unknown``."""
    return text.strip().casefold() in _NO_ANSWER


def is_name(text: str) -> bool:
    """Say whether a non-empty text may name a column: a letter or a unit, and no leading digit."""
    stripped = text.strip()
    return not stripped[0].isdigit() and any(mark.isalpha() or mark in _UNITS for mark in stripped)


def _below(rows: pl.LazyFrame, words: Mapping[str, str]) -> dict[str, _Below]:
    """Summarize the cells of columns below the first record."""
    aggregates: list[pl.Expr] = []
    for number, (name, word) in enumerate(words.items()):
        cells = column_named(name)
        no_answer = cells.str.strip_chars().str.to_lowercase().is_in(sorted(_NO_ANSWER))
        values = cells.filter(no_answer.not_())
        aggregates += [
            values.len().alias(f"values{number}"),
            (values.min() != values.max()).fill_null(value=False).alias(f"various{number}"),
            values.str.contains(DIGITS).all().alias(f"digits{number}"),
            (values == word).any().alias(f"again{number}"),
        ]
    texts = rows.slice(1).select(column_named(name).cast(pl.String) for name in words)
    results = passing(texts).select(aggregates).collect(engine="streaming").row(0)
    return {name: _Below(*results[4 * position : 4 * position + 4]) for position, name in enumerate(words)}


def _suspicious(words: Mapping[str, str], below: Mapping[str, _Below], width: int, *, enough: int) -> bool:
    """Say whether words stand above cells that make a second header likely.

    Parameters
    ----------
    width
        Columns of the table.
    enough
        Values below that tell what a column holds; 0 where not all records were looked at.
    """
    if any(each.again for each in below.values()):
        return False
    above = [name for name, each in below.items() if each.digits and each.values >= enough]
    repeating = [name for name, word in words.items() if name.strip().casefold() == word.strip().casefold()]
    return bool(
        (above and len(words) == width)
        or len({words[name].strip().casefold() for name in above}) > 1
        or set(above).intersection(repeating)
        or (len(repeating) == len(words) > 1 and any(each.various or not enough for each in below.values()))
    )
