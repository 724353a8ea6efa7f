"""Rank swapping."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar

from incrowd.parameters import parameter
from incrowd.treatments._strata import each_stratum
from incrowd.treatments.base import Batch, Reads, Treatment

if TYPE_CHECKING:
    import numpy as np
    import polars as pl
    from numpy.typing import NDArray

__all__ = ["RankSwap"]


@dataclass(frozen=True)
class RankSwap(Treatment):
    """Swap numbers between records whose ranks are near each other.

    Records are ranked by the number. Each gets the number of another one, at most `share` of all records
    away in rank. So all numbers stay in the table, in other rows. Equal numbers stand in a random order.

    The whole column is needed at once, so the rows must be in memory.

    Parameters
    ----------
    share
        How far apart in rank records may be, as a share of the records.
    within
        A column in whose groups numbers are swapped; it has to be released as it is.

    Examples
    --------
    >>> import incrowd as ic
    >>> ic.RankSwap(0.05, within="region").spec()
    {'rank-swap': 0.05, 'within': 'region'}

    References
    ----------
    Moore, Controlled data-swapping techniques for masking public use microdata sets, US Census Bureau 1996;
    Templ, Kowarik and Meindl, JSS 67(4), 2015, section 4.2.
    """

    share: float = parameter(
        "how far apart ranks may be, as a share of the records", kind=float, above=0, high=1
    )
    within: str | None = parameter("column in whose groups is swapped", kind=str, optional=True, default=None)

    name: ClassVar[str] = "rank-swap"
    summary: ClassVar[str] = "swaps numbers between records whose ranks are near each other"
    paper: ClassVar[str] = "Moore 1996"
    reads: ClassVar[Reads] = "number"
    no_promise: ClassVar[str] = (
        "All numbers are still there, the largest too, and near their record: whoever knows about what "
        "somebody has learns no less."
    )

    @property
    def promise(self) -> str:
        """Say how far numbers go."""
        groups = f" in the groups of {self.within}" if self.within else ""
        return f"is swapped between records at most {self.share:.1%} of the ranks apart{groups}"

    @property
    def perturbs(self) -> bool:
        """Equal numbers go to different records."""
        return True

    @property
    def is_random(self) -> bool:
        """Partners are drawn."""
        return True

    @property
    def is_whole(self) -> bool:
        """Ranks are those of all rows."""
        return True

    @property
    def strata(self) -> str | None:
        """Groups within which it works."""
        return self.within

    @property
    def columns(self) -> tuple[str, ...]:
        """The groups."""
        return (self.within,) if self.within else ()

    def treat(self, batch: Batch) -> pl.Series:
        """Swap the rows."""
        return each_stratum(batch, self.within, self._swapped)

    def _swapped(self, numbers: NDArray[np.float64], draws: NDArray[np.uint64]) -> NDArray[np.float64]:
        import numpy as np

        from incrowd.kernels.swapping import swapped_ranks

        # Equal numbers in a random order; other bits of the draws than those that choose partners.
        order = np.lexsort((draws >> np.uint64(32), numbers))
        window = max(int(self.share * len(numbers)), 1)
        partner = swapped_ranks(len(numbers), window, draws & np.uint64(2**32 - 1))
        found = np.empty_like(numbers)
        found[order] = numbers[order][partner]
        return found
