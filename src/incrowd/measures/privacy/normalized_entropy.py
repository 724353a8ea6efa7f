"""Normalized entropy."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar

from incrowd.core.lazy import NDArray, np
from incrowd.core.parameters import parameter
from incrowd.measures.privacy._one_call import Columns, reached
from incrowd.measures.privacy.base import ATTRIBUTE, JOINT, Monotone, PrivacyModel, SensitiveModel

if TYPE_CHECKING:
    from incrowd.core.table.classes import EquivalenceClasses


@dataclass(frozen=True)
class NormalizedEntropy(SensitiveModel):
    """The sensitive values in a class are about equally frequent.

    The figure of a class is the Shannon entropy of its sensitive values over the logarithm of the number of
    distinct values in it. It is 1 if all values are equally frequent, and 0 if there is one value.

    Parameters
    ----------
    h
        Least normalized entropy allowed, in [0, 1].
    over
        ``minimum``: every class must reach the limit. ``mean``: the mean over the classes must reach it, and
        each class counts once. A search then asks it of every class, which is more than enough.
    attribute
        The sensitive attribute; None protects each of them on its own.
    joint
        Whether the other sensitive attributes count as quasi-identifiers.

    Notes
    -----
    Two equally frequent values make it 1. So it says nothing about the number of values. Ask for l-diversity,
    too.

    References
    ----------
    Machanavajjhala, Kifer, Gehrke and Venkitasubramaniam, l-diversity: privacy beyond k-anonymity,
    ACM TKDD 1(1), 2007, definition 4.1 (the entropy); Pielou, The measurement of diversity in different
    types of biological collections, J. Theor. Biol. 13, 1966 (its normalization, evenness).
    """

    h: float = parameter("least normalized entropy of the sensitive values", kind=float, low=0, high=1)
    over: str = parameter(
        "which figure of the classes counts", kind=str, default="minimum", choices=("minimum", "mean")
    )
    attribute: str | None = ATTRIBUTE.field(None)
    joint: bool = JOINT.field(default=False)

    name: ClassVar[str] = "normalized-entropy"
    summary: ClassVar[str] = "the sensitive values in a class are about equally frequent"
    paper: ClassVar[str] = "Machanavajjhala et al. 2007; Pielou 1966"
    limit_name: ClassVar[str] = "h"

    @classmethod
    def variants(cls) -> Sequence[PrivacyModel]:
        """Return the minimum and the mean."""
        return (cls(0.0), cls(0.0, "mean"))

    @property
    def of_table(self) -> bool:
        """Whether the limit is on the mean over classes rather than on each class."""
        return self.over == "mean"

    @property
    def wildcards(self) -> Sequence[str]:
        """Meanings of `*` for the figure: a mean over classes cannot have a record as a class by itself."""
        return ("value", "matches-any") if self.over == "mean" else super().wildcards

    @property
    def monotone(self) -> Monotone:
        """Merging is not proved: two even classes of different values can make an uneven class."""
        return Monotone(generalization=False, suppression=self.over == "minimum")

    def _values(self, classes: EquivalenceClasses, attribute: int) -> NDArray[np.float64] | NDArray[np.int64]:
        from incrowd.core.kernels.diversity import normalized_entropies

        return normalized_entropies(classes.counts(attribute), classes.effective_values(attribute))

    def overall(self, classes: EquivalenceClasses, values: NDArray[Any]) -> float:
        """Return the minimum or the mean over the classes."""
        if self.over != "mean":
            return super().overall(classes, values)
        # In one order, since the last digits of a sum tell that of the classes.
        return float(np.sort(values).mean())


def normalized_entropy(
    table: Any,
    quasi: Columns,
    sensitive: Columns,
    *,
    over: str = "minimum",
    attribute: str | None = None,
    joint: bool = False,
) -> float:
    """Return the normalized entropy of a table's classes; see `NormalizedEntropy` and `reached`."""
    return reached(NormalizedEntropy(0.0, over, attribute, joint), table, quasi, sensitive)
