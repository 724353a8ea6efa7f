"""Triples of records."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar

from incrowd.core.lazy import NDArray, np
from incrowd.core.parameters import parameter
from incrowd.measures.privacy.base import IdentityModel, Monotone, PrivacyModel

if TYPE_CHECKING:
    from incrowd.core.table.classes import EquivalenceClasses


@dataclass(frozen=True)
class TripleAnonymity(IdentityModel):
    """Every equivalence class has at least m triples of records."""

    m: int = parameter("fewest triples allowed", kind=int, low=1)

    name: ClassVar[str] = "triple-anonymity"
    summary: ClassVar[str] = "every equivalence class has at least m triples of records"
    paper: ClassVar[str] = "an example"
    limit_name: ClassVar[str] = "m"

    @classmethod
    def variants(cls) -> Sequence[PrivacyModel]:
        """Return the one variant."""
        return (cls(1),)

    @property
    def monotone(self) -> Monotone:
        """Say that merging never makes a class smaller."""
        return Monotone(generalization=True, suppression=True, absorbing=True)

    def _values(self, classes: EquivalenceClasses) -> NDArray[np.int64]:
        return classes.sizes // 3
