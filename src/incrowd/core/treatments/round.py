"""Rounding."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from decimal import Decimal
from typing import ClassVar

from incrowd.core.errors import ParameterError
from incrowd.core.lazy import NDArray, np, pl
from incrowd.core.parameters import Parameter, parameter
from incrowd.core.treatments._coding import INSTEAD, LIMITS, Coding
from incrowd.core.treatments._perturbing import strata_of
from incrowd.core.treatments.base import LINKED, Batch, Treatment

_DIGITS = 9
"""Digits of a share of the base that count; beyond them numbers are taken for multiples."""
_LIMIT = Parameter(float, "a limit, as a value or a quantile", optional=True)


@dataclass(frozen=True)
class Round(Coding):
    """Round numbers to multiples of a base, after top and bottom coding if limits are given.

    ``nearest`` takes the nearest multiple, and of two the one away from zero. ``random`` takes one of the
    two multiples around a number, each with a probability that keeps the expected value. Such numbers are
    drawn anew for every release.

    ``controlled`` keeps sums: each number becomes one of the two multiples around it, so that the sum of the
    column is as near as possible to that before (half a base at most), after that the sums of the groups of
    `within` (less than a base each), and after that the numbers. So the numbers that are nearest to the upper
    multiple are rounded up; equal ones are chosen at random. Of coded numbers it is the sum after coding. The
    whole column is needed at once.

    Parameters
    ----------
    base
        What the released numbers are multiples of, > 0.
    how
        ``nearest``, ``random`` or ``controlled``.
    top, bottom
        Limits of top and bottom coding, as for `Top`; none by default.
    limits, instead
        As for `Top`.
    within
        With ``controlled``, a column of whose groups the sums are kept, too; it has to be released as it is.
    linked
        Columns that tell the same and go along; see "Columns that tell the same" on the page of treatments.

    Examples
    --------
    >>> import incrowd as ic
    >>> import polars as pl
    >>> ic.Round(500).treat(ic.treatments.Batch(pl.Series([1749.0, 1750.0, None]))).to_list()
    [1500.0, 2000.0, None]

    References
    ----------
    Hundepool et al., Statistical Disclosure Control, 2012, sections 3.6.3 (rounding) and 5 (random rounding);
    Cox, A constructive procedure for unbiased controlled rounding, Journal of the American Statistical
    Association 82, 1987 (each value becomes a multiple beside it, and so do the sums).
    """

    base: float = parameter("what released numbers are multiples of", kind=float, above=0)
    how: str = parameter(
        "the nearest multiple, one of the two around at random, or so that sums stay",
        kind=str,
        choices=("nearest", "random", "controlled"),
        default="nearest",
    )
    top: float | None = _LIMIT.field(None)
    bottom: float | None = _LIMIT.field(None)
    limits: str = LIMITS.field("auto")
    instead: str = INSTEAD.field("threshold")
    within: str | None = parameter(
        "column of whose groups sums stay, too, if controlled", kind=str, optional=True
    )
    linked: str | None = LINKED.field(None)

    name: ClassVar[str] = "round"
    summary: ClassVar[str] = (
        "rounds numbers to multiples of a base, with limits for what is too large or small"
    )
    paper: ClassVar[str] = "Hundepool et al. 2012"
    no_promise: ClassVar[str] = "Whoever knows about what a value is finds its multiple."

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.is_random and self.linked:
            raise ParameterError(
                f"{self.name}: no column can be linked with it if how = {self.how!r}, as equal numbers get "
                "different multiples; take how = 'nearest'"
            )
        if self.within is not None and not self.is_whole:
            raise ParameterError(f"{self.name}: within is for how = 'controlled'; give that, or leave it out")

    @property
    def promise(self) -> str:
        """Describe the rounding."""
        at_random = " at random" if self.how == "random" else ""
        if self.is_whole:
            groups = f" and of each group of {self.within}" if self.within else ""
            at_random = f", so that the sum of the column{groups} stays,"
        coded = self.top is not None or self.bottom is not None
        before = super().promise + " and " if coded else ""
        return f"{before}is rounded{at_random} to multiples of {self.base:g}"

    @property
    def _released(self) -> tuple[float, ...]:
        """The base, with multiples that are released whatever the limits are."""
        return (self.base,)

    def leaves_exact(self, made: pl.Series, lead: Batch) -> pl.Series:
        """Return that no row keeps the exact value, as a multiple may have been another number."""
        return Treatment.leaves_exact(self, made, lead)

    @property
    def perturbs(self) -> bool:
        """Whether equal numbers may become different multiples."""
        return self.is_random

    @property
    def is_random(self) -> bool:
        """Whether a multiple is drawn, or which of equal numbers is rounded up."""
        return self.how != "nearest"

    @property
    def is_whole(self) -> bool:
        """Whether sums over all rows are controlled."""
        return self.how == "controlled"

    @property
    def strata(self) -> str | None:
        """The column of groups with controlled sums."""
        return self.within

    @property
    def columns(self) -> tuple[str, ...]:
        """The column of the groups."""
        return () if self.within is None else (self.within,)

    def treat(self, batch: Batch) -> pl.Series:
        """Round the rows."""
        values = super().treat(batch)
        numbers = values.fill_null(0).to_numpy()
        if self.is_whole:
            assert batch.draws is not None
            multiples = controlled(numbers, self.base, strata_of(batch, self.within, values), batch.draws)
        else:
            multiples = rounded(numbers, self.base, batch.draws if self.is_random else None)
        present = pl.lit(values.is_not_null())
        return pl.select(pl.when(present).then(pl.lit(pl.Series(multiples)))).to_series()


def rounded(
    numbers: NDArray[np.float64], base: float, draws: NDArray[np.uint64] | None
) -> NDArray[np.float64]:
    """Round numbers to multiples of a base, at random if there are draws."""
    parts = numbers / base
    if draws is None:
        multiples = np.copysign(np.floor(np.abs(parts) + 0.5), parts)
    else:
        low = np.floor(parts)
        multiples = low + (draws / 2.0**64 < parts - low)
    return _times(multiples, base)


def controlled(
    numbers: NDArray[np.float64], base: float, groups: Sequence[NDArray[np.int64]], draws: NDArray[np.uint64]
) -> NDArray[np.float64]:
    """Round each number to a neighbouring multiple, so that sums stay as near as possible.

    Parameters
    ----------
    groups
        The rows of each group, without those that have no number.
    draws
        They decide which of equal numbers, or of groups that are as far off, are rounded up.
    """
    parts = np.round(numbers / base, _DIGITS)
    low = np.floor(parts)
    over = parts - low
    # The multiples that each group lacks when all its numbers are rounded down: 1.2, 2.5 and 3.6 lack 1.3, so
    # one number is rounded up, and a remainder of 0.3 competes with the other groups' for the rest.
    missing = np.array([over[rows].sum() for rows in groups])
    up = np.floor(np.round(missing, _DIGITS)).astype(np.int64)
    total = np.round(missing.sum(), _DIGITS)
    more = int(np.floor(total + 0.5)) - int(up.sum())
    tie = np.array([draws[rows].sum() if len(rows) else 0 for rows in groups], np.uint64)
    remainders = np.round(missing - up, _DIGITS)
    first = np.lexsort((tie, -remainders))
    if total % 1 == 0.5 and more and remainders[first[more - 1]] < 0.5:
        more -= 1  # the sum of the column is as near below as above, and the groups are nearer below
    up[first[:more]] += 1
    for rows, count in zip(groups, up, strict=True):
        order = rows[np.lexsort((draws[rows], -over[rows]))]
        low[order[:count]] += 1
    return _times(low, base)


def _times(multiples: NDArray[np.float64], base: float) -> NDArray[np.float64]:
    # 3 times 0.1 is 0.30000000000000004, so round to the decimals of the base.
    decimals = max(-int(Decimal(repr(base)).normalize().as_tuple().exponent), 0)
    return np.asarray(np.round(multiples * base, decimals) + 0.0, np.float64)
