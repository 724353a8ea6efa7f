"""The stages of a job: their names, and how long each took."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager

from incrowd.progress import Progress, check, interrupting


class Clock:
    """Times the stages and tells the progress about them.

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
        """Name the function that gives up the work of a later stage, when the job is cancelled."""
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
    """Give nothing up."""
