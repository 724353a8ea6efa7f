"""The losses of a recoding, each measured on first access."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from incrowd.core.table.measured import Measured
from incrowd.measures.utility.base import Metric, MetricResult

if TYPE_CHECKING:
    from incrowd.core.recoding import Recoding
    from incrowd.core.table.frequency import FrequencyTable


class Losses(Measured[Metric, "tuple[FrequencyTable, Recoding]", MetricResult]):
    """The results of all metrics that apply to the keys of a recoding; see `Measured`."""

    def _measure(self, entry: Metric, source: tuple[FrequencyTable, Recoding]) -> MetricResult:
        loss, sampling = entry.measure(*source), source[0].survey.sampling
        # Splitting records that look alike makes classes smaller than those of the raw table.
        normalized = max(entry.normalized(loss, source[0]), 0.0)
        by_record = None if sampling is None else entry.per_record(*source)
        weighted = None if sampling is None or by_record is None else sampling.mean(by_record, 1.0)
        return replace(loss, normalized=normalized, weighted=weighted)

    def __repr__(self) -> str:
        return f"Losses({', '.join(self)})"
