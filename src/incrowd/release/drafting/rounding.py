"""The rounding of numbers that leaves hardly any record with a unique number."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import dropwhile

from incrowd.core.lazy import NDArray, np, pl
from incrowd_gate.rules.columns import are_numbers
from incrowd_gate.rules.values import (
    TELLING,
    multiples,
    round_numbers,
    rounding_steps,
    unique_share,
)

__all__ = ["Rounding", "coarser_steps", "rounding_base", "rounding_of"]

SHARED_BY = 5
"""Records that a value has to have, so that it tells no record."""
ENOUGH = 0.95
"""Share of the records whose values are shared by as many."""
NEARLY_ALL = 0.995
"""Share of the records from which no coarser rounding is tried."""
_GAIN = 0.002
_COARSER = 3
"""Steps that are tried from the first one that is enough."""
_TAILS = (None, 0.01, 0.02, 0.05)
"""Shares of the records beyond a limit at either end, tried in this order."""
_LIMITED = 50
"""Records from which a limit stands for enough of them."""


@dataclass(frozen=True)
class Rounding:
    """The rounding of a column.

    Attributes
    ----------
    step
        What released numbers are multiples of; None where no step does.
    top, bottom
        Quantiles beyond which numbers become one, where the largest or smallest are rare.
    share
        Share of the records that share the rounded value with four others or more, 0 to 1.
    """

    step: float | None
    top: float | None = None
    bottom: float | None = None
    share: float = 0.0

    def settings(self) -> dict[str, object]:
        """Return the treatment in the notation of a policy file."""
        entries = {"round": self.step, "top": self.top, "bottom": self.bottom}
        return {name: value for name, value in entries.items() if value is not None}


def rounding_of(numbers: NDArray[np.float64], counts: NDArray[np.integer]) -> Rounding | None:
    """Return the finest rounding at which 95 % of the records share a value with four others or more.

    Parameters
    ----------
    numbers, counts
        The distinct numbers, ascending: float64[values], and how many records have each: int[values].

    Returns
    -------
    None where the numbers need no rounding. A rounding without a step where no step does.

    Examples
    --------
    >>> import numpy as np
    >>> rounding_of(np.arange(1000.0, 3000.0), np.ones(2000, int))
    Rounding(step=5, top=None, bottom=None, share=0.9975)
    >>> rounding_of(np.array([1.0, 2.0]), np.array([50, 60])) is None
    True
    """
    if not len(numbers) or _shared_share(numbers, counts) >= ENOUGH:
        return None
    best = Rounding(None)
    enough = 0
    for step in rounding_steps(numbers):
        tails = _TAILS if counts.sum() >= _LIMITED else _TAILS[:1]
        if not enough and _rounded_within(numbers, counts, step, tails[-1]).share < ENOUGH:
            continue
        for tail in tails:
            rounding = _rounded_within(numbers, counts, step, tail)
            if rounding.share >= ENOUGH and rounding.share > best.share + _GAIN:
                best = rounding
            if best.share >= NEARLY_ALL:
                return best
        enough += best.step is not None
        if enough == _COARSER:
            break
    return best


def coarser_steps(step: float) -> Iterator[float]:
    """Yield 1, 2 and 5 times powers of ten above a step, without end.

    Examples
    --------
    >>> from itertools import islice
    >>> list(islice(coarser_steps(2), 4)), list(islice(coarser_steps(0.1), 3))
    ([5, 10, 20, 50], [0.2, 0.5, 1])
    """
    return dropwhile(lambda each: each <= step, round_numbers(math.floor(math.log10(step))))


def _shared_share(values: NDArray[np.float64], counts: NDArray[np.integer]) -> float:
    """Return the share of records whose value has at least five records, for sorted values."""
    first = np.flatnonzero(np.append(True, values[1:] != values[:-1]))
    totals = np.add.reduceat(counts, first)
    return float(totals[totals >= SHARED_BY].sum() / totals.sum())


def _rounded_within(
    numbers: NDArray[np.float64], counts: NDArray[np.integer], step: float, tail: float | None
) -> Rounding:
    """Round numbers between two quantiles, without a limit that helps little."""
    if tail is None:
        return Rounding(step, share=_shared_share(multiples(numbers, step), counts))
    cumulated = np.cumsum(counts)
    low, high = (
        float(numbers[min(int(np.searchsorted(cumulated, share * cumulated[-1])), len(numbers) - 1)])
        for share in (tail, 1 - tail)
    )
    both = _shared_share(multiples(np.clip(numbers, low, high), step), counts)
    if both < ENOUGH:
        return Rounding(step, 1 - tail, tail, both)
    above = _shared_share(multiples(np.minimum(numbers, high), step), counts)
    bottom = tail if both > above + _GAIN else None
    below = _shared_share(multiples(np.maximum(numbers, low), step), counts)
    top = 1 - tail if both > below + _GAIN else None
    if top and bottom:
        return Rounding(step, top, bottom, both)
    if top or bottom:
        return Rounding(step, top, bottom, above if top else below)
    return _rounded_within(numbers, counts, step, None)


def rounding_base(
    column: pl.Series, others: Sequence[pl.Series] = (), bases: Iterable[float] | None = None
) -> float | None:
    """Return the smallest rounding base at which numbers no longer single out records.

    Parameters
    ----------
    column
        The column as it came.
    others
        Columns that single out records together with it; none if it does so alone.
    bases
        The bases that are tried, ascending; 1, 2 and 5 times powers of ten if None.

    Returns
    -------
    None where the column has other values than numbers, or where no rounding helps that leaves two values.

    Examples
    --------
    >>> rounding_base(pl.Series(range(1000)))
    2
    >>> rounding_base(pl.Series(["a", "b"])) is None
    True
    """
    if not are_numbers(column):
        return None
    numbers = column.cast(pl.Float64, strict=False).fill_null(math.nan).to_numpy()
    for base in rounding_steps(numbers[np.isfinite(numbers)]) if bases is None else bases:
        rounded = pl.Series(multiples(numbers, base))
        if rounded.n_unique() < 2:
            return None
        if all(unique_share([rounded, *other]) < TELLING for other in ([[each] for each in others] or [[]])):
            return base
    return None
