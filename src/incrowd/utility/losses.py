"""The losses of a recoding, each measured when it is first read."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from incrowd.table.measured import Measured
from incrowd.utility.base import Metric, MetricResult

if TYPE_CHECKING:
    from incrowd.recoding import Recoding
    from incrowd.table.frequency import FrequencyTable


class Losses(Measured[Metric, "tuple[FrequencyTable, Recoding]", MetricResult]):
    """The results of the metrics that apply to the keys of a recoding; see `Measured`."""

    def _measure(self, entry: Metric, source: tuple[FrequencyTable, Recoding]) -> MetricResult:
        lost = entry.measure(*source)
        # Parting records that look alike makes classes smaller than those of the table as it was.
        normalized = max(entry.normalized(lost, source[0]), 0.0)
        return replace(lost, normalized=normalized, weighted=_weighted(entry, *source))

    def __repr__(self) -> str:
        return f"Losses({', '.join(self)})"


def _weighted(metric: Metric, frequency: FrequencyTable, recoding: Recoding) -> float | None:
    """Return the loss of a person of the population, by sampling weights; None without weights."""
    if frequency.survey.sampling is None:
        return None
    each = metric.per_record(frequency, recoding)
    return None if each is None else frequency.survey.sampling.mean(each, 1.0)
