"""Loss metrics: one class in one file each, listed here."""

from __future__ import annotations

from incrowd.parameters import Registry
from incrowd.utility.average_class_size import AverageClassSize
from incrowd.utility.base import Lost, Metric
from incrowd.utility.discernibility import Discernibility
from incrowd.utility.loss import Loss
from incrowd.utility.ncp import NCP

__all__ = ["METRICS", "NCP", "AverageClassSize", "Discernibility", "Loss", "Lost", "Metric"]

METRICS: Registry[Metric] = Registry("metrics", Loss, NCP, Discernibility, AverageClassSize)
