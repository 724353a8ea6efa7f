"""The stages of a job, with names and times."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager

from incrowd.core.progress import Progress, check, interrupting

STAGES = {
    "start": "Starting", "read": "Reading the table", "fetch": "Copying the table",
    "treat": "Treating columns", "count": "Counting records", "read population": "Reading the population",
    "count population": "Counting the population", "assess": "Measuring the table as it is",
    "search": "Searching for a recoding", "apply": "Recoding values", "check": "Checking the release",
    "points": "Looking at what leaves", "order": "Putting the rows in order",
    "report": "Measuring the release", "compare": "Comparing settings", "warm up": "Getting ready",
    "cut": "Cutting into blocks", "join blocks": "Joining blocks", "recode": "Recoding blocks",
    "examples": "Looking up examples", "draw rows": "Drawing rows",
    "write and check": "Writing and checking the file", "pack": "Packing the archive",
}  # fmt: skip
"""The stages of jobs, in words."""
RELEASE = ("count", "assess", "search", "apply", "check", "points", "order", "report")
"""The stages that every release has, in their order."""


class Clock:
    """A clock that times the stages and reports to the progress.

    Attributes
    ----------
    seconds
        Wall time of each stage that has ended.
    """

    def __init__(self, progress: Progress) -> None:
        self.progress = progress
        self._interrupt: Callable[[], None] = _nothing
        self.seconds: dict[str, float] = {}

    def gives_up(self, interrupt: Callable[[], None]) -> None:
        """Set the function that interrupts a later stage if the job is cancelled."""
        self._interrupt = interrupt

    @contextmanager
    def stage(self, name: str) -> Iterator[None]:
        """Run a stage: ``with clock.stage("count"): ...``."""
        # A part of another job shows nothing, and ends with that job.
        check()
        self.progress.stage(name)
        start = time.perf_counter()
        with interrupting(self.progress, self._interrupt):
            yield
        self.seconds[name] = time.perf_counter() - start


def _nothing() -> None:
    """Do nothing, for a job without an interrupt."""
