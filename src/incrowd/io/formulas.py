"""Texts that a spreadsheet would run as formulas, made harmless in a CSV and read back."""

from __future__ import annotations

from typing import TypeVar

from incrowd.io.columns import column_named
from incrowd.lazy import pl

Frame = TypeVar("Frame", "pl.DataFrame", "pl.LazyFrame")

# Wide forms run in some languages. Quotes before them count too, so that one can always be taken off again.
_FORMULA = r"^'*[=+\-@\t\r\n＝＋－＠]"
_ESCAPED = r"^'+[=+\-@\t\r\n＝＋－＠]"
_NUMBER = r"^[+-]?([0-9]+\.?[0-9]*|\.[0-9]+)([eE][+-]?[0-9]+)?$"


def escape(table: Frame) -> Frame:
    """Put ``'`` before texts that begin as formulas do and are no plain numbers."""
    columns = []
    for name, kind in table.lazy().collect_schema().items():
        if isinstance(kind, pl.String | pl.Categorical | pl.Enum):
            text = column_named(name).cast(pl.String)
            runs = text.str.contains(_FORMULA) & ~text.str.contains(_NUMBER)
            columns.append(pl.when(runs).then(pl.lit("'") + text).otherwise(text).alias(name))
    return table.with_columns(columns)


def unescape(table: Frame) -> Frame:
    """Take off the signs that `escape` added."""
    columns = []
    for name, kind in table.lazy().collect_schema().items():
        if kind == pl.String:
            text = column_named(name)
            escaped = text.str.contains(_ESCAPED)
            columns.append(pl.when(escaped).then(text.str.slice(1)).otherwise(text).alias(name))
    return table.with_columns(columns)
