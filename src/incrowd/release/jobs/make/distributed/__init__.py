"""Distributed Mondrian, which cuts a table on Spark into blocks and recodes each on an executor."""

from __future__ import annotations

from incrowd.release.jobs.make.distributed.release import DistributedRelease, in_blocks, refuse_divided

__all__ = ["DistributedRelease", "in_blocks", "refuse_divided"]
