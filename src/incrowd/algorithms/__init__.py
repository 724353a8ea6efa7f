"""Algorithms: one class in one file each, listed here."""

from __future__ import annotations

from incrowd.algorithms.base import Algorithm
from incrowd.algorithms.mondrian import Mondrian
from incrowd.parameters import Registry

__all__ = ["ALGORITHMS", "Algorithm", "Mondrian"]

ALGORITHMS: Registry[Algorithm] = Registry("algorithms", Mondrian)
