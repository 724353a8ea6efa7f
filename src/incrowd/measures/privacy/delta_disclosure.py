"""delta-disclosure privacy."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar

from incrowd.core.lazy import NDArray, np
from incrowd.core.parameters import parameter
from incrowd.measures.privacy._one_call import Columns, reached
from incrowd.measures.privacy._parts import part_lifts
from incrowd.measures.privacy.base import ATTRIBUTE, JOINT, Monotone, PrivacyModel, SensitiveModel

if TYPE_CHECKING:
    from incrowd.core.table.classes import EquivalenceClasses


@dataclass(frozen=True)
class DeltaDisclosure(SensitiveModel):
    """The share of every sensitive value in a class is within a factor of exp(delta) of the table's.

    A value has the share p in the class and the share q in the table. The figure of a class is the largest
    abs(ln(p / q)) over the values of the table. The paper asks for less than delta. Here, as everywhere, the
    limit is met with equality.

    Parameters
    ----------
    delta
        Largest absolute log ratio allowed, >= 0.
    absent
        What a value gives that the class lacks. ``infinite``: infinity, as in the definition. ``skip``: such
        values do not count, as in pyCANON. This is not monotone and much weaker.
    attribute
        The sensitive attribute; None protects each of them on its own.
    joint
        Whether the other sensitive attributes count as quasi-identifiers.

    Notes
    -----
    Where cells are lists (`Attribute.parts`), each part counts as a value does: p and q are the shares of the
    records that have the part.

    References
    ----------
    Brickell and Shmatikov, The cost of privacy: destruction of data-mining utility in anonymized data
    publishing, KDD 2008, definition 2.
    """

    delta: float = parameter("largest absolute log ratio of shares", kind=float, low=0)
    absent: str = parameter(
        "what a value gives that a class lacks", kind=str, default="infinite", choices=("infinite", "skip")
    )
    attribute: str | None = ATTRIBUTE.field(None)
    joint: bool = JOINT.field(default=False)

    name: ClassVar[str] = "delta-disclosure"
    summary: ClassVar[str] = "every sensitive value is about as frequent in each class as in the table"
    paper: ClassVar[str] = "Brickell and Shmatikov 2008"
    limit_name: ClassVar[str] = "delta"
    more_is_safer: ClassVar[bool] = False

    @classmethod
    def variants(cls) -> Sequence[PrivacyModel]:
        """Return a variant per treatment of absent values, with a limit that any finite ratio meets."""
        return tuple(cls(float(2**62), absent) for absent in cls.parameters()["absent"].choices)

    @property
    def monotone(self) -> Monotone:
        """Where absent values are skipped, a merged class can fail although all parts hold."""
        return Monotone(generalization=self.absent == "infinite", suppression=True)

    def _lost(
        self, classes: EquivalenceClasses, attribute: int, failing: NDArray[np.bool_]
    ) -> NDArray[np.int64]:
        """Bound from below the records to suppress until every value has about the share in the table.

        A frequent value keeps no more than its share allows. A rare value bounds the size of the part that is
        kept, and a class that lacks a value keeps nothing.
        """
        if self.absent == "skip":
            return super()._lost(classes, attribute, failing)
        from incrowd.core.kernels.diversity import beyond_shares

        counts, (ratios, shares) = classes.counts(attribute), classes.lifts(attribute)
        lacking = np.diff(counts.indptr) < classes.frequency.sensitive[attribute].present
        reach = np.exp(min(self.delta, 700.0))
        lost = beyond_shares(counts, failing, np.minimum(shares * reach, 1.0))
        rarest = np.where(lacking, 0.0, np.minimum.reduceat(ratios, counts.indptr[:-1]))
        least = np.ceil(classes.sizes * (1 - rarest * reach) * (1 - 1e-9) - 1e-6)
        return np.where(failing, np.maximum(lost, least.astype(np.int64)), 0)

    def _values(self, classes: EquivalenceClasses, attribute: int) -> NDArray[np.float64] | NDArray[np.int64]:
        ratios, _ = classes.lifts(attribute)
        present = classes.frequency.sensitive[attribute].present
        return self._largest_ratios(ratios, classes.counts(attribute).indptr, present)

    def _part_values(self, classes: EquivalenceClasses, attribute: int) -> NDArray[np.float64]:
        ratios, _ = part_lifts(classes, attribute)
        present = int(np.count_nonzero(classes.frequency.sensitive[attribute].part_totals))
        return self._largest_ratios(ratios, classes.part_counts(attribute).indptr, present)

    def _largest_ratios(
        self, ratios: NDArray[np.float64], indptr: NDArray[np.int64], present: int
    ) -> NDArray[np.float64]:
        largest: NDArray[np.float64] = np.maximum.reduceat(np.abs(np.log(ratios)), indptr[:-1])
        if self.absent == "infinite":
            largest = np.where(np.diff(indptr) < present, np.inf, largest)
        return largest


def delta_disclosure(
    table: Any,
    quasi: Columns,
    sensitive: Columns,
    *,
    absent: str = "infinite",
    attribute: str | None = None,
    joint: bool = False,
) -> float:
    """Return the least delta that a table satisfies; see `DeltaDisclosure` and `reached`."""
    return reached(DeltaDisclosure(float(2**62), absent, attribute, joint), table, quasi, sensitive)
