"""Rounding."""

from __future__ import annotations

from dataclasses import dataclass
from decimal import Decimal
from typing import TYPE_CHECKING, ClassVar

from incrowd.errors import ParameterError
from incrowd.parameters import Parameter, parameter
from incrowd.treatments._coding import INSTEAD, LIMITS, Coding
from incrowd.treatments.base import LINKED, Batch, Treatment

if TYPE_CHECKING:
    import numpy as np
    import polars as pl
    from numpy.typing import NDArray

__all__ = ["Round", "rounded"]

_LIMIT = Parameter(float, "a limit, as a value or a quantile", optional=True)


@dataclass(frozen=True)
class Round(Coding):
    """Round numbers to multiples of a base; values beyond limits are coded first.

    ``nearest`` takes the nearest multiple, and of two the one away from zero. ``random`` takes one of the
    two multiples around a number, each with a probability that keeps the expected value. Such numbers are
    drawn anew for every release.

    Parameters
    ----------
    base
        What the released numbers are multiples of, > 0.
    how
        ``nearest`` or ``random``.
    top, bottom
        Limits of top and bottom coding, as for `Top`; none by default.
    limits, instead
        As for `Top`.
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
    Hundepool et al., Statistical Disclosure Control, 2012, sections 3.6.3 (rounding) and 5 (random rounding).
    """

    base: float = parameter("what released numbers are multiples of", kind=float, above=0)
    how: str = parameter(
        "the nearest multiple, or one of the two around at random",
        kind=str,
        choices=("nearest", "random"),
        default="nearest",
    )
    top: float | None = _LIMIT.field(None)
    bottom: float | None = _LIMIT.field(None)
    limits: str = LIMITS.field("auto")
    instead: str = INSTEAD.field("threshold")
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
                f"{self.name}: no column can be linked with it if how = 'random', as equal numbers get "
                "different multiples; take how = 'nearest'"
            )

    @property
    def promise(self) -> str:
        """Say what it is rounded to."""
        at_random = " at random" if self.is_random else ""
        coded = self.top is not None or self.bottom is not None
        before = super().promise + " and " if coded else ""
        return f"{before}is rounded{at_random} to multiples of {self.base:g}"

    def leaves_exact(self, made: pl.Series, lead: Batch) -> pl.Series:
        """Tell nothing exactly: a multiple may have been another number."""
        return Treatment.leaves_exact(self, made, lead)

    @property
    def perturbs(self) -> bool:
        """Equal numbers may be rounded otherwise where that is random."""
        return self.is_random

    @property
    def is_random(self) -> bool:
        """Whether a multiple is drawn."""
        return self.how == "random"

    def treat(self, batch: Batch) -> pl.Series:
        """Round the rows."""
        import polars as pl

        values = super().treat(batch)
        missing = values.is_null()
        numbers = rounded(values.fill_null(0).to_numpy(), self.base, batch.draws if self.is_random else None)
        return pl.select(pl.when(~pl.lit(missing)).then(pl.lit(pl.Series(numbers)))).to_series()


def rounded(
    numbers: NDArray[np.float64], base: float, draws: NDArray[np.uint64] | None
) -> NDArray[np.float64]:
    """Round numbers to multiples of a base, at random if `draws` are given."""
    import numpy as np

    parts = numbers / base
    if draws is None:
        whole = np.copysign(np.floor(np.abs(parts) + 0.5), parts)
    else:
        low = np.floor(parts)
        whole = low + (draws / 2.0**64 < parts - low)
    # 3 times 0.1 is 0.30000000000000004: as many decimals as the base has are meant.
    decimals = max(-int(Decimal(repr(base)).normalize().as_tuple().exponent), 0)
    return np.round(whole * base, decimals) + 0.0
