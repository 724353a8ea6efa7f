"""The base class of treatments that swap the values of pairs."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from incrowd.lazy import NDArray, np
from incrowd.treatments._perturbing import Perturbing


@dataclass(frozen=True)
class Swapping(Perturbing):
    """Base of treatments by which pairs change places, in one column or in several `together`."""

    is_whole: ClassVar[bool] = True

    def moves_with(self, column: str) -> tuple[str, ...]:
        """Columns that change together draw the same pairs."""
        together: str | None = getattr(self, "together", None)
        return () if together is None else tuple(sorted(together.split("+")))

    def _where(self) -> str:
        """Say in which groups places change, and with which columns."""
        together: str | None = getattr(self, "together", None)
        groups = f" in the groups of {self.strata}" if self.strata else ""
        return groups + (f", together with {together}" if together else "")


def order_of(draws: NDArray[np.uint64]) -> NDArray[np.uint64]:
    """Return numbers to sort by, before pairs are made: other bits than those that choose come first."""
    return (draws << np.uint64(53)) + (draws >> np.uint64(11))


def change_places(partner: NDArray[np.int64], chosen: NDArray[np.int64]) -> None:
    """Swap neighbours in a list of places; the last of an odd number stays."""
    pairs = chosen[: len(chosen) // 2 * 2].reshape(-1, 2)
    partner[pairs[:, 0]], partner[pairs[:, 1]] = pairs[:, 1], pairs[:, 0]
