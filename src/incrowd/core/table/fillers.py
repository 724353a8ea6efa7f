"""Fillers: well-known texts and numbers that often stand where a value is missing."""

from __future__ import annotations

from typing import TYPE_CHECKING

from incrowd.core.io.missing_texts import MISSING_TEXTS
from incrowd.core.lazy import NDArray, np

if TYPE_CHECKING:
    from incrowd.core.table.domain import Domain

_NUMBERS = ("99", "999", "9999", "99999", "-1", "-9", "-99", "-999", "-9999")
_DAYS = ("1900-01-01", "1899-12-30", "9999-12-31", "2999-12-31")
_SHARE = 0.01
"""Share of the records from which a filler is told."""


def probable_fillers(domain: Domain, totals: NDArray[np.integer]) -> list[tuple[str, float]]:
    """Return well-known fillers of a noticeable share of a column's records, with the share.

    A number is one only where it lies far from all others, as 999 does among ages. Nothing else is ever
    named, so no person's value is.

    Parameters
    ----------
    totals
        int64[size]: the records of each value of `domain`.
    """
    records = max(int(totals.sum()), 1)
    # Of all values, only a few can have so large a share, and of them alone the texts are needed.
    often = np.flatnonzero(totals >= _SHARE * records).tolist()
    rank = {domain.values[position]: position for position in often}
    candidates = {"category": MISSING_TEXTS, "number": _NUMBERS, "date": _DAYS}[domain.kind]
    fillers = []
    for text in candidates:
        position = rank.get(text)
        if position is not None and _stands_out(text, position, domain):
            fillers.append((text, int(totals[position]) / records))
    return fillers


def _stands_out(text: str, place: int, domain: Domain) -> bool:
    """Say whether a filler is far from the column's usual values."""
    if domain.kind == "category":
        others = [value for value in domain.values if value is not None and value != text]
        # Among codes of countries, NA is Namibia.
        return text != "NA" or not others or not all(len(value) == 2 and value.isupper() for value in others)
    if domain.kind == "date":
        return True
    rest = np.delete(domain.numbers, place)
    rest = rest[np.isfinite(rest)]
    if len(rest) < 2:
        return False
    value, low, high = domain.numbers[place], rest.min(), rest.max()
    if text.startswith("-"):
        return bool(low >= 0)
    return bool(value - high > max(high - low, 1))
