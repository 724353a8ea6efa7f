"""Distributed Mondrian: a table on Spark is cut into blocks, and each block is recoded where it lies."""

from __future__ import annotations

from incrowd.release.jobs.distributed.release import DistributedRelease, in_blocks, refuse_divided

__all__ = ["DistributedRelease", "in_blocks", "refuse_divided"]
