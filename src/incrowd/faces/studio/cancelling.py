"""Progress that somebody looks at from another thread, and that can be told to stop."""

from __future__ import annotations

import time

from incrowd.core.progress import Cancellable, Cancelled

__all__ = ["Cancelled", "Watched"]


class Watched(Cancellable):
    """How far a job is, for a page that looks from time to time.

    Example: a job in a thread is given ``watched`` as its progress. The page reads ``watched.state()``. After
    ``watched.cancel()`` the next word of the job about its progress raises `Cancelled` in it.
    """

    def __init__(self) -> None:
        super().__init__()
        self._stages: list[tuple[str, float]] = []
        self._share: float | None = None

    def stage(self, name: str) -> None:
        """Begin a stage."""
        self.check()
        self._stages.append((name, time.monotonic()))
        self._share = None

    def advance(self, done: int, total: int) -> None:
        """Say how far the stage is."""
        self.check()
        self._share = min(done / total, 1.0) if total else None

    def state(self) -> tuple[str, float, float | None]:
        """Return the stage, the stage's seconds so far, and the share that is done, None if unknown."""
        if not self._stages:
            return "start", 0.0, None
        name, began = self._stages[-1]
        return name, time.monotonic() - began, self._share
