"""Loss metrics: one class in one file each, listed here."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from incrowd.parameters import Registry
from incrowd.utility.aecs import AECS
from incrowd.utility.ambiguity import Ambiguity
from incrowd.utility.average_class_size import AverageClassSize
from incrowd.utility.base import (
    AGGREGATES,
    CellMetric,
    ClassMetric,
    LevelCosts,
    Metric,
    MetricResult,
    SteersByCells,
    SteersByClasses,
)
from incrowd.utility.classification import Classification
from incrowd.utility.discernibility import Discernibility
from incrowd.utility.discernibility_star import DiscernibilityStar
from incrowd.utility.distortion import Distortion
from incrowd.utility.entropy import ShannonEntropy
from incrowd.utility.generalization_intensity import GeneralizationIntensity
from incrowd.utility.information_gain import InformationGain
from incrowd.utility.kl_divergence import KLDivergence
from incrowd.utility.loss import Loss
from incrowd.utility.ncp import NCP
from incrowd.utility.ncp_local import NCPMeanMode, NCPSummarization
from incrowd.utility.non_uniform_entropy import NonUniformEntropy, PooledEntropy
from incrowd.utility.precision import Precision
from incrowd.utility.squared_error import AttributeSquaredError, RecordSquaredError
from incrowd.utility.suppression import Suppression

if TYPE_CHECKING:
    from incrowd.recoding import Recoding
    from incrowd.table.frequency import FrequencyTable

__all__ = [
    "AECS",
    "AGGREGATES",
    "METRICS",
    "NCP",
    "STEERING",
    "Ambiguity",
    "AttributeSquaredError",
    "AverageClassSize",
    "CellMetric",
    "ClassMetric",
    "Classification",
    "Discernibility",
    "DiscernibilityStar",
    "Distortion",
    "GeneralizationIntensity",
    "InformationGain",
    "KLDivergence",
    "LevelCosts",
    "Loss",
    "Metric",
    "MetricResult",
    "NCPMeanMode",
    "NCPSummarization",
    "NonUniformEntropy",
    "PooledEntropy",
    "Precision",
    "RecordSquaredError",
    "ShannonEntropy",
    "SteersByCells",
    "SteersByClasses",
    "Suppression",
    "measure_all",
]

METRICS: Registry[Metric] = Registry(
    "metrics",
    Loss, Distortion, NCP, NCPMeanMode, NCPSummarization, Precision, GeneralizationIntensity,
    NonUniformEntropy,
    PooledEntropy,
    ShannonEntropy, KLDivergence, Discernibility, DiscernibilityStar, AverageClassSize, AECS, Ambiguity,
    AttributeSquaredError, RecordSquaredError, Classification, InformationGain, Suppression,
)  # fmt: skip

STEERING = tuple(metric.name for metric in METRICS if issubclass(metric, SteersByCells | SteersByClasses))
"""Names of the metrics that a search of full-domain recodings can minimize."""


def measure_all(frequency: FrequencyTable, recoding: Recoding) -> dict[str, MetricResult]:
    """Measure a recoding of the keys of `frequency` by every metric that applies."""
    found = {}
    for metric in METRICS:
        if metric().applies(frequency):
            lost = metric().measure(frequency, recoding)
            # Parting records that look alike makes classes smaller than those of the table as it was.
            normalized = max(metric().normalized(lost, frequency), 0.0)
            found[metric.name] = replace(lost, normalized=normalized)
    return found
