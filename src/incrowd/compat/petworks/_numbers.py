"""Columns of numbers as PETWorks takes them: numerical where the first value is a number."""

from __future__ import annotations

import re
from decimal import Decimal, InvalidOperation

from incrowd.errors import TableError
from incrowd.lazy import pl

__all__ = ["ranks_of_numbers"]

_NUMBER = re.compile(r"[+-]?(?:(?:[0-9]+\.?[0-9]*|\.[0-9]+)(?:[eE][+-]?[0-9]+)?|inf|infinity)", re.IGNORECASE)
"""What Python reads as a float, but for ``nan`` and underscores."""


def ranks_of_numbers(column: pl.Series) -> pl.Series | None:
    """Return the rank of each cell among the distinct numbers of a column, compared exactly.

    None where the first cell that is not blank is no number: the column is one of categories.

    Raises
    ------
    TableError
        When the first value is a number and another is none, or is blank.
    """
    texts = column.unique(maintain_order=True).to_list()
    first = next((text for text in texts if text), "")
    if _read(first) is None:
        return None
    numbers = {text: number for text in texts if (number := _read(text)) is not None}
    wrong = len(texts) - len(numbers)
    if wrong:
        raise TableError(
            f"column {column.name!r} holds numbers, as its first value says, and {wrong} of its {len(texts)} "
            f"distinct values {'is' if wrong == 1 else 'are'} none; correct it, and fill in what is blank"
        )
    ranks = {number: rank for rank, number in enumerate(sorted(set(numbers.values())))}
    return column.replace_strict(
        {text: ranks[number] for text, number in numbers.items()}, return_dtype=pl.Int64
    )


def _read(text: str) -> Decimal | None:
    if not _NUMBER.fullmatch(text):
        return None
    try:
        return Decimal(text)
    except InvalidOperation:  # an exponent of twenty digits
        return None
