"""Loss metrics, each in a file, listed here."""

from __future__ import annotations

from typing import TYPE_CHECKING

from incrowd.core.parameters import Registry
from incrowd.measures.utility.base import AGGREGATES as AGGREGATES
from incrowd.measures.utility.base import CellMetric as CellMetric
from incrowd.measures.utility.base import ClassCosts as ClassCosts
from incrowd.measures.utility.base import ClassMetric as ClassMetric
from incrowd.measures.utility.base import LevelCosts as LevelCosts
from incrowd.measures.utility.base import Losses as Losses
from incrowd.measures.utility.base import Metric as Metric
from incrowd.measures.utility.base import MetricResult as MetricResult
from incrowd.measures.utility.base import SteersByCells as SteersByCells
from incrowd.measures.utility.base import SteersByClasses as SteersByClasses

# One line an entry, in the order in which they are listed everywhere.
# isort: off
# fmt: off
from incrowd.measures.utility.loss import Loss as Loss
from incrowd.measures.utility.distortion import Distortion as Distortion
from incrowd.measures.utility.ncp import NCP as NCP
from incrowd.measures.utility.ncp_local import NCPMeanMode as NCPMeanMode, NCPSummarization as NCPSummarization
from incrowd.measures.utility.precision import Precision as Precision
from incrowd.measures.utility.generalization_intensity import GeneralizationIntensity as GeneralizationIntensity
from incrowd.measures.utility.non_uniform_entropy import NonUniformEntropy as NonUniformEntropy, PooledEntropy as PooledEntropy, PooledEntropyARX as PooledEntropyARX
from incrowd.measures.utility.entropy import ShannonEntropy as ShannonEntropy
from incrowd.measures.utility.kl_divergence import KLDivergence as KLDivergence
from incrowd.measures.utility.discernibility import Discernibility as Discernibility, DiscernibilityStar as DiscernibilityStar
from incrowd.measures.utility.average_class_size import AverageClassSize as AverageClassSize, AECS as AECS
from incrowd.measures.utility.ambiguity import Ambiguity as Ambiguity
from incrowd.measures.utility.squared_error import AttributeSquaredError as AttributeSquaredError, RecordSquaredError as RecordSquaredError
from incrowd.measures.utility.classification import Classification as Classification
from incrowd.measures.utility.information_gain import InformationGain as InformationGain
from incrowd.measures.utility.suppression import Suppression as Suppression
# fmt: on
# isort: on

if TYPE_CHECKING:
    from incrowd.core.recoding import Recoding
    from incrowd.core.table.frequency import FrequencyTable

METRICS: Registry[Metric] = Registry.of_imports("metrics", Metric, globals(), group="incrowd.metrics")

STEERING = tuple(metric.name for metric in METRICS if issubclass(metric, SteersByCells | SteersByClasses))
"""Names of the metrics that a search of full-domain recodings can minimize."""


def measure_all(frequency: FrequencyTable, recoding: Recoding, *, of_classes: bool = False) -> Losses:
    """Measure the loss of a recoding of the keys of `frequency` by every metric that applies.

    With `of_classes`, these are the metrics that look at classes alone.
    """
    metrics = [metric for metric in METRICS if issubclass(metric, ClassMetric) or not of_classes]
    return Losses((metric() for metric in metrics if metric().applies(frequency)), (frequency, recoding))
