"""The base classes of loss metrics."""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, ClassVar

from incrowd.core.lazy import NDArray, np
from incrowd.core.parameters import Configured, Measured

if TYPE_CHECKING:
    from incrowd.core.recoding import FullDomain, Recoding
    from incrowd.core.table.classes import EquivalenceClasses
    from incrowd.core.table.domain import Domain
    from incrowd.core.table.frequency import FrequencyTable

AGGREGATES = ("mean", "geometric-mean", "max")
"""How the losses of the attributes become one score."""


@dataclass(frozen=True, slots=True)
class MetricResult:
    """The loss of a recoding under a metric.

    Attributes
    ----------
    metric
        Name of the metric.
    value
        The loss in the metric's own scale; lower is better.
    normalized
        The same in [0, 1].
    per_attribute
        The same per quasi-identifier, where the metric has it.
    details
        Further figures by name, where the metric has any.
    weighted
        The same in [0, 1] over the people whom the records stand for, where a column holds sampling weights
        and the metric is a mean over records.
    """

    metric: str
    value: float
    per_attribute: dict[str, float] | None = None
    normalized: float | None = None
    details: dict[str, float] | None = None
    weighted: float | None = None

    def to_dict(self) -> dict[str, Any]:
        """Return plain data for JSON."""
        optional = {
            name: getattr(self, name) for name in ("normalized", "weighted", "per_attribute", "details")
        }
        figures = {name: value for name, value in optional.items() if value is not None}
        return {"metric": self.metric, "value": self.value} | figures


@dataclass(frozen=True, eq=False)
class LevelCosts:
    """The costs of an attribute's values under full-domain recoding.

    Attributes
    ----------
    levels
        Per level float64[size]: cost of each rank's cell; it never falls from one level to the next.
    suppressed
        float64[size]: cost of each rank's cell in a suppressed record, at least that of the top level. What
        it is above the cost of a level is the same for all ranks of one cell.
    before
        Cost of a cell that was suppressed before, so that its rank is not known.
    whole
        What a record's cost is divided by, on average.
    summed
        Whether the costs of records are added up, and not averaged.
    """

    levels: list[NDArray[np.float64]]
    suppressed: NDArray[np.float64]
    before: float
    whole: float
    summed: bool = False


class Metric(Configured, ABC):
    """A measure of the loss of a recoding: a `CellMetric` or a `ClassMetric`.

    A search of full-domain recodings needs to know more than the value. A metric that it can minimize is
    also a `SteersByCells` or a `SteersByClasses`.

    Attributes
    ----------
    scale
        The range of the value in words.
    needs
        ``sensitive``, where a metric needs sensitive attributes.
    """

    scale: ClassVar[str] = "0 (nothing lost) to 1 (everything)"
    needs: ClassVar[str] = ""

    def applies(self, frequency: FrequencyTable) -> bool:
        """Return whether the table has the inputs of the metric."""
        return self.needs != "sensitive" or bool(frequency.sensitive)

    @abstractmethod
    def measure(self, frequency: FrequencyTable, recoding: Recoding) -> MetricResult:
        """Measure a recoding of the keys of `frequency`."""

    def normalized(self, lost: MetricResult, frequency: FrequencyTable) -> float:
        """Scale a loss to [0, 1], from nothing lost to the loss of suppressing every record."""
        return float(lost.value)

    def per_record(self, frequency: FrequencyTable, recoding: Recoding) -> NDArray[np.float64] | None:
        """Return the loss of each key's records in [0, 1], float64[keys], or None if undefined."""
        return None


class CellMetric(Metric):
    """A metric of the cells of records, such as LM, which implements `measure`."""


class PenaltyMetric(CellMetric):
    """A metric that averages a penalty of every cell, with equal weight for all attributes.

    Records that were suppressed before count the full penalty 1.
    """

    @abstractmethod
    def penalties(self, recoding: Recoding) -> list[NDArray[np.float64]]:
        """Return per quasi-identifier the penalty of each released cell: float64[entries]."""

    def measure(self, frequency: FrequencyTable, recoding: Recoding) -> MetricResult:
        """Return the mean over records and attributes, in [0, 1]."""
        rows = frequency.rows
        per_attribute = {}
        columns = zip(recoding.domains, recoding.cells, self.penalties(recoding), strict=True)
        for domain, cells, penalty in columns:
            records = np.bincount(cells.codes, weights=frequency.weights, minlength=len(penalty))
            lost = float(records @ penalty) + frequency.suppressed
            per_attribute[domain.name] = lost / rows if rows else 0.0
        return MetricResult(self.name, mean_of(per_attribute), per_attribute)

    def per_record(self, frequency: FrequencyTable, recoding: Recoding) -> NDArray[np.float64]:
        """Return the mean over attributes, in [0, 1]."""
        columns = zip(recoding.cells, self.penalties(recoding), strict=True)
        losses = [penalty[cells.codes] for cells, penalty in columns]
        return np.mean(losses, axis=0) if losses else np.zeros(len(recoding.suppressed))


class ClassMetric(Metric):
    """A metric of equivalence classes alone, such as discernibility, which implements `of_classes`."""

    def measure(self, frequency: FrequencyTable, recoding: Recoding) -> MetricResult:
        """Measure the equivalence classes of a recoding; see `of_classes`."""
        return self.of_classes(recoding.classes(frequency))

    @abstractmethod
    def of_classes(self, classes: EquivalenceClasses) -> MetricResult:
        """Measure the classes of a table, of which there are none if every record is suppressed."""


class SteersByCells(ABC):
    """The costs of cells, for a search of full-domain recodings."""

    name: ClassVar[str]

    @abstractmethod
    def level_costs(self, domain: Domain, totals: NDArray[np.int64]) -> LevelCosts:
        """Return the costs of an attribute's values.

        Parameters
        ----------
        totals
            int64[size]: records of each rank.
        """


@dataclass(frozen=True)
class ClassCosts:
    """The costs of classes and of suppressed records, which are added up.

    Attributes
    ----------
    record
        Cost of each record that is kept.
    square
        Cost of a class per squared record.
    combination
        Cost of each record that is kept per combination of values that its cells stand for.
    suppressed
        Cost of each suppressed record.
    by_class
        Whether the sum is divided by the number of classes.
    """

    record: float = 0.0
    square: float = 0.0
    combination: float = 0.0
    suppressed: float = 0.0
    by_class: bool = False


class SteersByClasses(ABC):
    """The costs of whole classes, for a search of full-domain recodings."""

    name: ClassVar[str]

    @abstractmethod
    def class_costs(self, rows: int, everything: float) -> ClassCosts:
        """Return the costs of classes and of suppressed records.

        Parameters
        ----------
        rows
            Records of the table, those suppressed before included.
        everything
            Combinations of values that a suppressed record stands for.
        """


def mean_of(per_attribute: Mapping[str, float]) -> float:
    """Return the mean of the attributes' figures, or 0 without any.

    Notes
    -----
    The sum is rounded once. `sum` rounds otherwise from Python 3.12 on, and a figure must not depend on the
    Python that made it.

    Examples
    --------
    >>> mean_of({"age": 0.1, "sex": 0.2, "zip": 0.3})
    0.2
    """
    return math.fsum(per_attribute.values()) / len(per_attribute) if per_attribute else 0.0


def cell_costs(metric: SteersByCells, frequency: FrequencyTable, recoding: FullDomain) -> MetricResult:
    """Measure a full-domain recoding by a metric's costs of cells."""
    per_attribute = {}
    columns = zip(frequency.domains, frequency.codes, recoding.levels, strict=True)
    for j, (domain, codes, level) in enumerate(columns):
        costs = metric.level_costs(domain, frequency.totals(j))
        records = np.where(recoding.suppressed, costs.suppressed[codes], costs.levels[level][codes])
        lost = float(records @ frequency.weights) + frequency.suppressed * costs.before
        per_attribute[domain.name] = lost / (costs.whole * frequency.rows) if costs.whole else 0.0
    return MetricResult(metric.name, mean_of(per_attribute), per_attribute)


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
