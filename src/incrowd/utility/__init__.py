"""Loss metrics: one class in one file each, listed here."""

from __future__ import annotations

from incrowd.parameters import Registry
from incrowd.utility.ambiguity import Ambiguity
from incrowd.utility.average_class_size import AverageClassSize
from incrowd.utility.base import AGGREGATES, LevelCosts, Lost, Metric
from incrowd.utility.discernibility import Discernibility
from incrowd.utility.distortion import Distortion
from incrowd.utility.loss import Loss
from incrowd.utility.ncp import NCP
from incrowd.utility.non_uniform_entropy import NonUniformEntropy
from incrowd.utility.precision import Precision

__all__ = [
    "AGGREGATES",
    "METRICS",
    "NCP",
    "Ambiguity",
    "AverageClassSize",
    "Discernibility",
    "Distortion",
    "LevelCosts",
    "Loss",
    "Lost",
    "Metric",
    "NonUniformEntropy",
    "Precision",
]

METRICS: Registry[Metric] = Registry(
    "metrics",
    Loss,
    Distortion,
    NCP,
    Precision,
    NonUniformEntropy,
    Discernibility,
    AverageClassSize,
    Ambiguity,
)
