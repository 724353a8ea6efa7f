"""Where the patients of the hospital sample live: made-up 5-digit postal codes in a handful of regions."""

from __future__ import annotations

from typing import NamedTuple

__all__ = ["REGIONS", "Region"]


class Region(NamedTuple):
    """A region around a few hospitals.

    Attributes
    ----------
    name
        For the reader only; it is no column.
    share
        Share of the patients.
    prices
        What a treatment costs here, relative to the average.
    areas
        First three digits of the postal codes, the most populous first, and how many codes each has
        (at most 100).
    """

    name: str
    share: float
    prices: float
    areas: tuple[tuple[str, int], ...]


REGIONS: tuple[Region, ...] = (
    Region("bay", 0.31, 1.14, (("021", 86), ("018", 64), ("024", 48), ("019", 60), ("020", 52), ("017", 66))),
    Region("valley", 0.12, 0.93, (("010", 72), ("011", 28), ("013", 58), ("012", 44))),
    Region("harbour", 0.19, 1.06, (("071", 32), ("070", 90), ("073", 22), ("076", 58), ("078", 46))),
    Region("south", 0.14, 0.86, (("303", 70), ("300", 82), ("301", 60))),
    Region("lakes", 0.16, 0.98, (("606", 76), ("600", 74), ("604", 68))),
    Region("coast", 0.08, 1.28, (("941", 42), ("945", 78), ("949", 40))),
)
