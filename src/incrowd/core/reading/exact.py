"""Exact numbers and points of time read from texts, since different numbers can be equal as doubles."""

from __future__ import annotations

import datetime as dt
import re
from bisect import bisect_left, bisect_right
from collections.abc import Iterable
from decimal import Decimal
from fractions import Fraction
from typing import Generic, TypeVar

from incrowd.core.lazy import NDArray, np

NUMBER = r"-?(?:0|[1-9][0-9]*)(?:\.[0-9]+)?(?:e(?:\+[0-9]{2,3}|-[0-9]{1,3}))?"
"""A plain number, or one with an exponent as columns of floats are written: ``1.5e+16``, ``1e-7``."""

DAY = r"[0-9]{4}-[0-9]{2}-[0-9]{2}"
MOMENT = rf"{DAY}(?:T[0-9]{{2}}:[0-9]{{2}}:[0-9]{{2}}(?:\.[0-9]+)?)?"
"""A day, or a day and a time of it: ``2020-02-29``, ``2020-02-29T08:30:00.25``."""

EPOCH = dt.date(1970, 1, 1).toordinal()
"""The day from which numbers of days count."""

_NUMBER = re.compile(NUMBER)
_MOMENT = re.compile(MOMENT)

Place = TypeVar("Place", Decimal, str)


def number_of(text: str | None) -> Decimal | None:
    """Return a number with all digits, or None for another text."""
    return Decimal(text) if text is not None and _NUMBER.fullmatch(text) else None


def moment_of(text: str | None) -> str | None:
    """Return a day or moment as a text that sorts by time, or None for another text."""
    if text is None or not _MOMENT.fullmatch(text):
        return None
    try:
        dt.date.fromisoformat(text[:10])
    except ValueError:
        return None
    if len(text) == 10:
        return f"{text}T00:00:00"
    return text.rstrip("0").rstrip(".") if "." in text else text


def days_of(text: str | None) -> Fraction | None:
    """Return a day or moment as exact days since the year 1, or None for another text."""
    moment = moment_of(text)
    if moment is None:
        return None
    hours, minutes, seconds = moment[11:].split(":")
    return dt.date.fromisoformat(moment[:10]).toordinal() + Fraction(
        (int(hours) * 60 + int(minutes)) * 60 + Fraction(seconds), 86_400
    )


class Line(Generic[Place]):
    """Exact positions on a line, each with the number of the text.

    Parameters
    ----------
    places
        What was read from the texts 0, 1, 2, ...; None has no place.
    """

    def __init__(self, places: Iterable[Place | None]) -> None:
        pairs = sorted((at, number) for number, at in enumerate(places) if at is not None)
        self.places: list[Place] = [at for at, _ in pairs]
        self.numbers = np.array([number for _, number in pairs], np.int64)

    def between(
        self, low: Place | None, high: Place | None, *, above: bool = False, below: bool = False
    ) -> NDArray[np.int64]:
        """Return the numbers of the texts from `low` to `high`, in order.

        `above` leaves out `low` itself, and `below` leaves out `high`.
        """
        if low is None or high is None:
            return self.numbers[:0]
        first = (bisect_right if above else bisect_left)(self.places, low)
        return self.numbers[first : (bisect_left if below else bisect_right)(self.places, high)]

    def around(self, place: Place | None) -> tuple[int, int]:
        """Return the numbers on either side of a position, twice that at the position, -1 if outside."""
        if place is None:
            return -1, -1
        after = bisect_left(self.places, place)
        if after == len(self.places):
            return -1, -1
        high = int(self.numbers[after])
        if self.places[after] == place:
            return high, high
        return (int(self.numbers[after - 1]), high) if after else (-1, -1)
