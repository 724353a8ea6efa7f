"""Algorithms: one class in one file each, listed here."""

from __future__ import annotations

from incrowd.algorithms.base import Algorithm, FullDomainAlgorithm, Solution
from incrowd.algorithms.mondrian import Mondrian
from incrowd.algorithms.optimal import Optimal
from incrowd.parameters import Registry

__all__ = ["ALGORITHMS", "Algorithm", "FullDomainAlgorithm", "Mondrian", "Optimal", "Solution"]

ALGORITHMS: Registry[Algorithm] = Registry("algorithms", Mondrian, Optimal)
