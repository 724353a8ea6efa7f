"""Progress: how long-running work reports how far it is, and how it is told to stop."""

from __future__ import annotations

import contextlib
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Protocol

__all__ = ["Cancellable", "Cancelled", "Progress", "Silent", "check", "interrupting"]

_AGAIN = 0.1
"""Seconds until somebody who goes on all the same is interrupted once more."""


class Progress(Protocol):
    """Receives the stages of a job and how far each is.

    Whatever it raises ends the job. One that is also `Cancellable` can be told to stop from another thread.
    """

    def stage(self, name: str) -> None:
        """Begin a stage, which ends the one before."""

    def advance(self, done: int, total: int) -> None:
        """Say that `done` of `total` units of the stage are finished."""


class Silent:
    """Shows nothing."""

    def stage(self, name: str) -> None:
        """Ignore a stage."""

    def advance(self, done: int, total: int) -> None:
        """Ignore how far it is."""


class Cancelled(BaseException):
    """Somebody cancelled the job.

    It is no `Exception`, so that a job that tries something and goes on without it does not go on.
    """


class Cancellable:
    """A job that another thread can cancel.

    Example: ``progress.cancel()`` in one thread makes ``progress.check()`` raise `Cancelled` in that of the
    job, and gives up the query that it waits for.
    """

    def __init__(self) -> None:
        self._asked = threading.Event()
        self._lock = threading.Lock()
        self._waiting: list[_Waiting] = []

    @property
    def cancelled(self) -> bool:
        """Whether somebody asked the job to stop."""
        return self._asked.is_set()

    def cancel(self) -> None:
        """Ask the job to stop: at its next word, and at once where it waits for what can be given up."""
        with self._lock:
            self._asked.set()
            for waiting in self._waiting:
                waiting.begin()

    def check(self) -> None:
        """Go on, or end the job.

        Raises
        ------
        Cancelled
        """
        if self._asked.is_set():
            raise Cancelled

    @contextmanager
    def interrupting(self, interrupt: Callable[[], None]) -> Iterator[None]:
        """Call `interrupt` when the job is cancelled in this block; see the function of this name."""
        waiting = _Waiting(interrupt)
        with self._lock:
            self._waiting.append(waiting)
            if self._asked.is_set():
                waiting.begin()
        try:
            yield
        except Exception:
            # Whatever a driver makes of it: it was the cancelling.
            self.check()
            raise
        finally:
            with self._lock:
                self._waiting.remove(waiting)
            waiting.end()
        self.check()


class _Waiting:
    """A block that may wait for others, and the thread that gives up what it waits for."""

    def __init__(self, interrupt: Callable[[], None]) -> None:
        self._interrupt = interrupt
        self._over = threading.Event()
        self._thread: threading.Thread | None = None

    def begin(self) -> None:
        """Interrupt, again and again: a block may ask one thing after the other."""
        if self._thread is None:
            self._thread = threading.Thread(target=self._go, name="incrowd-cancels", daemon=True)
            self._thread.start()

    def end(self) -> None:
        """Stop interrupting, and wait until that is over: what follows is not meant."""
        self._over.set()
        if self._thread is not None:
            self._thread.join()

    def _go(self) -> None:
        while not self._over.is_set():
            with contextlib.suppress(Exception):
                self._interrupt()
            self._over.wait(_AGAIN)


def check(progress: Progress) -> None:
    """Go on, or end a job that was cancelled; a progress that cannot be cancelled goes on.

    Raises
    ------
    Cancelled
    """
    if isinstance(progress, Cancellable):
        progress.check()


@contextmanager
def interrupting(progress: Progress, interrupt: Callable[[], None]) -> Iterator[None]:
    """Run what waits for others, and have it given up when the job is cancelled.

    Example: ``with interrupting(progress, connection.interrupt): connection.execute(query)``. The errors of
    what was given up do not get out: `Cancelled` does.

    Parameters
    ----------
    interrupt
        Called from another thread, again and again until the block ends. Its errors are ignored.

    Raises
    ------
    Cancelled
    """
    if not isinstance(progress, Cancellable):
        yield
        return
    with progress.interrupting(interrupt):
        yield
