"""Record swapping: places change between records."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from incrowd.core.lazy import np, pl
from incrowd.core.parameters import parameter
from incrowd.core.treatments._perturbing import Swapping, change_places, order_of, strata_of, uniform_of
from incrowd.core.treatments.base import Batch


@dataclass(frozen=True)
class RecordSwap(Swapping):
    """Swap the values of paired records.

    Of all records, a share is drawn and put into pairs at random. All values stay in the table, in other
    rows. Columns that tell the same, as region, town and zip, change together: give each of them the same
    treatment, and name all of them with `together`.

    The whole column is needed at once, so it has to fit into memory. Pairs are drawn anew for every release.

    Parameters
    ----------
    share
        Share of records that change places.
    together
        All columns that change together, this one among them, with ``+`` between: ``region+town+zip``.
    within
        A column in whose groups records change places; it has to be released as it is.

    Examples
    --------
    >>> import incrowd as ic
    >>> ic.RecordSwap(0.05, together="region+town").spec()
    {'record-swap': 0.05, 'together': 'region+town'}

    References
    ----------
    Dalenius and Reiss, Data-swapping: a technique for disclosure control, Journal of Statistical Planning and
    Inference 6, 1982.
    """

    share: float = parameter("share of records that change places", kind=float, above=0, high=1)
    together: str | None = parameter(
        "all columns that change together, as region+town", kind=str, optional=True
    )
    within: str | None = parameter("column in whose groups places change", kind=str, optional=True)

    name: ClassVar[str] = "record-swap"
    summary: ClassVar[str] = "lets pairs of records change places, in one column or in several together"
    paper: ClassVar[str] = "Dalenius and Reiss 1982"
    unlinked: ClassVar[str] = "it has a way of its own: all columns have record-swap with together"
    no_promise: ClassVar[str] = "Most records keep their value, and every value is still there."

    @property
    def promise(self) -> str:
        """Say how many records change places."""
        return f"changes places between pairs of records, {self.share:.1%} of all{self._where()}"

    def treat(self, batch: Batch) -> pl.Series:
        """Change the rows."""
        assert batch.draws is not None
        chosen = uniform_of(batch.draws) < self.share
        order = order_of(batch.draws)
        partner = np.arange(len(batch.values))
        for group in strata_of(batch, self.within, None):
            rows = group[chosen[group]]
            change_places(partner, rows[np.argsort(order[rows])])
        return batch.values.gather(partner)
