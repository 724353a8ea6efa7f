"""How many people of a population each class stands for."""

from __future__ import annotations

from typing import TYPE_CHECKING

from incrowd.lazy import NDArray, np

if TYPE_CHECKING:
    from incrowd.table.classes import EquivalenceClasses


def people_of(classes: EquivalenceClasses, fraction: float | None) -> NDArray[np.float64] | None:
    """Return the people whom each class covers, at least its records: float64[classes]; None if unknown."""
    if classes.frequency.population is not None:
        return np.maximum(classes.population, classes.sizes).astype(np.float64)
    if fraction:
        return np.asarray(classes.sizes / fraction, np.float64)
    return None
