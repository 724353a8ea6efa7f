"""Record swapping between households: all rows of a household change places together."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from incrowd.core.lazy import NDArray, np, pl
from incrowd.core.parameters import parameter
from incrowd.core.treatments._perturbing import Swapping, change_places, order_of, uniform_of
from incrowd.core.treatments.base import HOUSEHOLD, Batch, whose


@dataclass(frozen=True)
class HouseholdSwap(Swapping):
    """Swap the regions of paired households, for all rows of both.

    Of all households, a share is drawn and put into pairs at random. Both of a pair have as many rows, so
    each region keeps its number of households and of rows, and a household stays together. Columns that tell
    the same, as region and zip, change together: give each of them the same treatment, and name all of them
    with `together`.

    A household stays where it is if nobody of its size is left to be its pair, or if its rows do not have one
    value. A row without a household is one of its own. The whole column is needed at once, so it has to fit
    into memory. Pairs are drawn anew for every release.

    Parameters
    ----------
    share
        Share of households that change places.
    together
        All columns that change together, this one among them, with ``+`` between: ``region+zip``.
    within
        A column in whose groups households change places; it has to be released as it is.

    Examples
    --------
    >>> import incrowd as ic
    >>> ic.HouseholdSwap(0.05, together="region+zip").spec()
    {'household-swap': 0.05, 'together': 'region+zip'}

    References
    ----------
    Shlomo, Tudor and Groom, Data swapping for protecting census tables, Privacy in Statistical Databases,
    LNCS 6344, 2010 (households are paired with others that are alike). Here they have the same size and
    `within`, and each household is drawn with the same probability.
    """

    share: float = parameter("share of households that change places", kind=float, above=0, high=1)
    together: str | None = parameter(
        "all columns that change together, as region+zip", kind=str, optional=True
    )
    within: str | None = parameter("column in whose groups places change", kind=str, optional=True)

    name: ClassVar[str] = "household-swap"
    summary: ClassVar[str] = "lets pairs of households change places, with all of their rows"
    paper: ClassVar[str] = "Shlomo, Tudor and Groom 2010"
    unlinked: ClassVar[str] = "it has a way of its own: all columns have household-swap with together"
    no_promise: ClassVar[str] = (
        "Most households keep their value, and so do those of a size that is rare: the largest stay where "
        "they are."
    )

    @property
    def promise(self) -> str:
        """Say how many households change places."""
        return (
            "changes places between pairs of households of one size, with all of their rows, "
            f"{self.share:.1%} of all{self._where()}"
        )

    @property
    def columns(self) -> tuple[str, ...]:
        """The columns of households, of groups, and of values that change together."""
        return (HOUSEHOLD, *super().columns, *self.moves_with(""))

    def treat(self, batch: Batch) -> pl.Series:
        """Change the households."""
        assert batch.draws is not None
        others = {*super().columns, *self.moves_with(batch.name)}
        homes = whose([column for name, column in batch.beside.items() if name not in others])
        codes, gone = _codes(homes), homes.is_null().to_numpy()
        # A row without a household is a household of its own.
        codes[gone] = len(codes) + np.arange(int(gone.sum()))
        home = np.unique(codes, return_inverse=True)[1].astype(np.int64)
        groups = [_codes(column) for name, column in batch.beside.items() if name in others]
        first = np.full(home.max(initial=-1) + 1, len(home))
        np.minimum.at(first, home, np.arange(len(home)))
        agrees = np.ones(len(first), np.bool_)
        for codes in (_codes(batch.values), *groups):
            np.logical_and.at(agrees, home, codes == codes[first[home]])
        sizes = np.bincount(home, minlength=len(first))
        stratum = sizes
        if self.within is not None:
            group = _codes(batch.beside[self.within])[first]
            stratum = sizes * (int(group.max(initial=0)) + 1) + group
        # A combination of the rows' draws that does not depend on the order of rows.
        drawn = np.zeros(len(first), np.uint64)
        np.bitwise_xor.at(drawn, home, batch.draws)
        partner = _pair(agrees & (uniform_of(drawn) < self.share), stratum, drawn)
        stays = (partner == np.arange(len(first)))[home]
        return batch.values.gather(np.where(stays, np.arange(len(home)), first[partner[home]]))


def _pair(
    chosen: NDArray[np.bool_], stratum: NDArray[np.int64], drawn: NDArray[np.uint64]
) -> NDArray[np.int64]:
    """Pair chosen households at random within a stratum, and each other household with itself."""
    partner = np.arange(len(chosen))
    order = np.lexsort((order_of(drawn), stratum))
    order = order[chosen[order]]
    _, starts = np.unique(stratum[order], return_index=True)
    for part in np.split(order, starts[1:]):
        change_places(partner, part)
    return partner


def _codes(values: pl.Series) -> NDArray[np.int64]:
    """Return equal numbers for equal values, with 0 for missing values."""
    return np.array(values.rank("dense").fill_null(0), np.int64)
