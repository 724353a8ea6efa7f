"""What a recoding loses, each metric measured when it is first asked for."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import replace
from typing import TYPE_CHECKING

from incrowd.utility.base import Metric, MetricResult

if TYPE_CHECKING:
    from incrowd.recoding import Recoding
    from incrowd.table.frequency import FrequencyTable

__all__ = ["Losses"]


class Losses(Mapping[str, MetricResult]):
    """The results of the metrics by name, in the order of the metrics; none is measured before it is read.

    Parameters
    ----------
    metrics
        Metrics that apply to the table.
    frequency, recoding
        The keys and what becomes of them; neither may change any more.
    """

    def __init__(self, metrics: Iterable[Metric], frequency: FrequencyTable, recoding: Recoding) -> None:
        self._metrics = {metric.name: metric for metric in metrics}
        self._frequency = frequency
        self._recoding = recoding
        self._found: dict[str, MetricResult] = {}

    def __getitem__(self, name: str) -> MetricResult:
        if name not in self._found:
            self._found[name] = self._measured(self._metrics[name])
        return self._found[name]

    def __contains__(self, name: object) -> bool:
        return name in self._metrics

    def __iter__(self) -> Iterator[str]:
        return iter(self._metrics)

    def __len__(self) -> int:
        return len(self._metrics)

    def __repr__(self) -> str:
        return f"Losses({', '.join(self._metrics)})"

    def _measured(self, metric: Metric) -> MetricResult:
        lost = metric.measure(self._frequency, self._recoding)
        # Parting records that look alike makes classes smaller than those of the table as it was.
        normalized = max(metric.normalized(lost, self._frequency), 0.0)
        return replace(lost, normalized=normalized, weighted=self._weighted(metric))

    def _weighted(self, metric: Metric) -> float | None:
        """Return what is lost by a person of the population, by weights; None where there are none."""
        sampling = self._frequency.sampling
        if sampling is None:
            return None
        each = metric.per_record(self._frequency, self._recoding)
        return None if each is None else sampling.mean(each, 1.0)
