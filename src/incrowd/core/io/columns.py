"""Columns addressed by the exact name, never by a pattern.

Polars takes a text such as ``^name$`` or ``*`` for a pattern of names. So columns that users name are
addressed by these functions alone. A series often looks itself up by its name. So a series of a user's column
is made `nameless` before.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from incrowd.core.errors import setting
from incrowd.core.lazy import pl

if TYPE_CHECKING:
    from collections.abc import Container, Iterable, Sequence


_SHOWN = 20


class FrameNames(list[str]):
    """Column names of a caller's frame, as opposed to names read from a file, which may be a person's row."""


def address(name: str) -> str:
    """Return the text by which Polars finds the column of a name and no other."""
    if name != "*" and not (name.startswith("^") and name.endswith("$")):
        return name
    letters = (mark if mark.isascii() and mark.isalnum() else f"\\x{{{ord(mark):x}}}" for mark in name)
    return f"^{''.join(letters)}$"


def column_named(name: str) -> pl.Expr:
    """Return the column of a name, whatever the name looks like."""
    return pl.col(address(name))


def nameless(series: pl.Series) -> pl.Series:
    """Return a series without its name."""
    return series.alias("")


def columns_named(names: Iterable[str]) -> list[pl.Expr]:
    """Return the columns of some names, in this order."""
    return [column_named(name) for name in names]


_TURN = 2654435761
"""2^32 over the golden ratio, whose multiples spread evenly and without a rhythm that rows may have."""


def spread_rows(place: pl.Expr, share: float) -> pl.Expr:
    """Choose a share of the rows by position, the same rows each time.

    Rows of a rhythm, as husband and wife in turn, are chosen alike. The verifier has the same formula.

    Examples
    --------
    >>> places = pl.DataFrame({"place": range(10)})
    >>> places.filter(spread_rows(pl.col("place"), 0.5))["place"].to_list()
    [0, 2, 4, 5, 7]
    """
    return place.cast(pl.Int64) * _TURN % 2**32 < int(min(share, 1.0) * 2**32)


def repeated_columns(columns: Sequence[str], user_names: Container[str] = ()) -> str | None:
    """Describe columns that share a name by position, and by name only if among `user_names`."""
    places: dict[str, list[int]] = {}
    for position, name in enumerate(columns, 1):
        places.setdefault(name, []).append(position)
    for name, positions in places.items():
        if len(positions) > 1:
            what = f"named {name!r}" if name in user_names else "of one name"
            listed = ", ".join(map(str, positions[:_SHOWN]))
            return (
                f"several columns {what} (columns {listed}); rename them, and if the first line of a file is "
                f"a row and no header, name the columns ({setting('CsvFormat(names=...)', '--names')})"
            )
    return None
