"""How many jobs and tasks of Spark a piece of work takes, in a session with Spark's own settings."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

__all__ = ["Asked", "jobs_of", "stock"]

STOCK = {
    "spark.sql.adaptive.enabled": "true",
    "spark.sql.shuffle.partitions": "200",
    "spark.sql.codegen.wholeStage": "true",
    "spark.sql.codegen.factoryMode": "FALLBACK",
}
"""What a session has where nobody sets anything."""


@dataclass
class Asked:
    """Jobs and tasks, where a task with rows at hand is not run, and not counted."""

    jobs: int = 0
    tasks: int = 0


def stock(session: Any) -> Any:
    """Return a session beside another that has Spark's own settings."""
    own = session.newSession()
    for name, value in STOCK.items():
        own.conf.set(name, value)
    return own


@contextmanager
def jobs_of(session: Any) -> Iterator[Asked]:
    """Count the jobs and tasks of a block."""
    tracker = session.sparkContext.statusTracker()
    before = set(tracker.getJobIdsForGroup())
    asked = Asked()
    yield asked
    infos = [tracker.getJobInfo(job) for job in set(tracker.getJobIdsForGroup()) - before]
    stages = [tracker.getStageInfo(stage) for info in infos for stage in info.stageIds]
    asked.jobs = len(infos)
    asked.tasks = sum(stage.numCompletedTasks for stage in stages if stage is not None)
