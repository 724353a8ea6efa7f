"""The stages of a job: what they are called, and how long each took."""

from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import contextmanager

from incrowd.progress import Progress

__all__ = ["Clock"]


class Clock:
    """Times the stages and tells the progress about them.

    Attributes
    ----------
    seconds
        Wall time of each stage that has ended.
    """

    def __init__(self, progress: Progress) -> None:
        self.progress = progress
        self.seconds: dict[str, float] = {}

    @contextmanager
    def stage(self, name: str) -> Iterator[None]:
        """Run a stage: ``with clock.stage("count"): ...``."""
        self.progress.stage(name)
        start = time.perf_counter()
        yield
        self.seconds[name] = time.perf_counter() - start
