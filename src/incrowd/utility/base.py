"""What every loss metric has in common."""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar

from incrowd.parameters import Configured

if TYPE_CHECKING:
    from incrowd.frequency import FrequencyTable
    from incrowd.recoding import Recoding

__all__ = ["Lost", "Metric", "per_attribute_mean"]


@dataclass(frozen=True, slots=True)
class Lost:
    """What a recoding lost under one metric.

    Attributes
    ----------
    metric
        Name of the metric.
    value
        The loss in the metric's own scale; lower is better.
    per_attribute
        The same per quasi-identifier, where the metric has it.
    """

    metric: str
    value: float
    per_attribute: dict[str, float] | None = None

    def to_dict(self) -> dict[str, Any]:
        """Return plain data for JSON."""
        result: dict[str, Any] = {"metric": self.metric, "value": self.value}
        if self.per_attribute is not None:
            result["per_attribute"] = self.per_attribute
        return result


@dataclass(frozen=True)
class Metric(Configured, ABC):
    """A measure of what a recoding lost.

    Attributes
    ----------
    scale
        The range of the value in words.
    """

    scale: ClassVar[str] = "0 (nothing lost) to 1 (everything)"

    @abstractmethod
    def measure(self, frequency: FrequencyTable, recoding: Recoding) -> Lost:
        """Measure a recoding of the keys of `frequency`."""


def per_attribute_mean(
    metric: str, frequency: FrequencyTable, recoding: Recoding, penalties: list[Any]
) -> Lost:
    """Average a penalty per released cell over records, and over attributes with equal weight.

    Parameters
    ----------
    penalties
        Per quasi-identifier float64[entries]: the penalty of each released cell.

    Notes
    -----
    Records that were suppressed before count the full penalty 1.
    """
    import numpy as np

    rows = frequency.rows
    per_attribute = {}
    for domain, cells, penalty in zip(recoding.domains, recoding.cells, penalties, strict=True):
        records = np.bincount(cells.codes, weights=frequency.weights, minlength=len(penalty))
        lost = float(records @ penalty) + frequency.suppressed
        per_attribute[domain.name] = lost / rows if rows else 0.0
    value = sum(per_attribute.values()) / len(per_attribute) if per_attribute else 0.0
    return Lost(metric, value, per_attribute)
