"""Rank swapping."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import ClassVar

from incrowd.core.lazy import np, pl
from incrowd.core.parameters import parameter
from incrowd.core.treatments._perturbing import Perturbing, strata_of
from incrowd.core.treatments.base import Batch, Reads, Treatment


@dataclass(frozen=True)
class RankSwap(Perturbing):
    """Swap numbers between records with similar ranks.

    Records are ranked by the number. Each gets the number of another one, at most `share` of all records
    away in rank. So all numbers stay in the table, in other rows. Equal numbers stand in a random order.

    The whole column is needed at once, so it has to fit into memory.

    Parameters
    ----------
    share
        How far apart in rank records may be, as a share of the records.
    by
        Another column that is rank swapped: numbers of this one go with it, so that what belongs together
        stays together. By default the column is ranked itself.
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
    by: str | None = parameter(
        "column by whose ranks numbers move along; itself by default", kind=str, optional=True
    )
    within: str | None = parameter("column in whose groups is swapped", kind=str, optional=True)

    name: ClassVar[str] = "rank-swap"
    summary: ClassVar[str] = "swaps numbers between records whose ranks are near each other"
    paper: ClassVar[str] = "Moore 1996"
    unlinked: ClassVar[str] = "it has a way of its own: the other column has rank-swap, too, with by"
    reads: ClassVar[Reads] = "number"
    is_whole: ClassVar[bool] = True
    no_promise: ClassVar[str] = (
        "All numbers are still there, the largest too, and near their record: whoever knows about what "
        "somebody has learns no less."
    )

    @property
    def promise(self) -> str:
        """Say how far numbers go."""
        groups = f" in the groups of {self.within}" if self.within else ""
        along = f", by the ranks of {self.by}" if self.by else ""
        return f"is swapped between records at most {self.share:.1%} of the ranks apart{groups}{along}"

    @property
    def columns(self) -> tuple[str, ...]:
        """The ranked column, if another, and the column of groups."""
        return (*((self.by,) if self.by else ()), *((self.within,) if self.within else ()))

    def reads_of(self, column: str) -> Reads:
        """Read the column that is ranked as numbers."""
        return "number" if column == self.by else "text"

    def moves_with(self, column: str) -> tuple[str, ...]:
        """Return the ranked column, as values follow the swaps of that column."""
        return (column,) if self.by is None else (self.by,)

    def moves_like(self, other: Treatment) -> bool:
        """Say whether both rank by the same column, as far and in the same groups."""
        return isinstance(other, RankSwap) and replace(self, by=None) == replace(other, by=None)

    def treat(self, batch: Batch) -> pl.Series:
        """Swap the rows."""
        from incrowd.core.kernels.swapping import swapped_ranks

        assert batch.draws is not None
        ranked = batch.values if self.by is None else batch.beside[self.by]
        numbers, draws = ranked.fill_null(0.0).to_numpy(), batch.draws
        source = np.arange(len(numbers))
        for rows in strata_of(batch, self.within, ranked):
            # Equal numbers in a random order; other bits of the draws than those that choose partners.
            order = rows[np.lexsort((draws[rows] >> np.uint64(32), numbers[rows]))]
            window = max(int(self.share * len(rows)), 1)
            source[order] = order[swapped_ranks(len(rows), window, draws[rows] & np.uint64(2**32 - 1))]
        return batch.values.gather(source)
