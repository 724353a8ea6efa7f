"""Progress of long-running work: stages, times, and the way to stop a job.

Each thread knows the job that it works for (`running`). So what runs deep below a job, as a kernel or a query
of a frame, looks whether it was cancelled (`check`), and nobody hands a progress down to it.
"""

from __future__ import annotations

import contextlib
import html
import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from functools import wraps
from typing import Any, ParamSpec, Protocol, TypeVar

P = ParamSpec("P")
T = TypeVar("T")

_AGAIN = 0.1
"""Seconds until somebody who goes on all the same is interrupted once more."""


class Progress(Protocol):
    """Receives the stages of a job and how far each is.

    Whatever it raises ends the job. One that is also `Cancellable` can be told to stop from another thread.
    """

    def stage(self, name: str) -> None:
        """Begin a stage, which ends the stage before."""

    def advance(self, done: int, total: int) -> None:
        """Say that `done` of `total` units of the stage are finished."""


class Within:
    """The progress of a part of a job, with stages named after the part.

    Example: ``Within(progress, "with k = 4")`` tells the stage "search" as "with k = 4: search".
    """

    def __init__(self, progress: Progress, doing: str) -> None:
        self._progress, self._doing = progress, doing

    def stage(self, name: str) -> None:
        """Begin a stage of the part."""
        self._progress.stage(f"{self._doing}: {name}")

    def advance(self, done: int, total: int) -> None:
        """Say how far the stage is."""
        self._progress.advance(done, total)


class Silent:
    """Shows nothing."""

    def stage(self, name: str) -> None:
        """Ignore a stage."""

    def advance(self, done: int, total: int) -> None:
        """Ignore how far the stage is."""


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
        """Ask the job to stop: at the next report, and at once where waiting can be ended."""
        with self._lock:
            self._asked.set()
            for waiting in self._waiting:
                waiting.begin()

    def wait_until_interrupted(self, seconds: float) -> None:
        """Wait until each wait of a cancelled job was interrupted once, at most so long.

        Who ends the process without that leaves a query behind, which a server computes to its end.
        """
        end = time.monotonic() + seconds
        with self._lock:
            waiting = list(self._waiting)
        for each in waiting:
            each.interrupted.wait(max(end - time.monotonic(), 0.0))

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
    """A block that may wait for others, and the thread that ends the waiting."""

    def __init__(self, interrupt: Callable[[], None]) -> None:
        self._interrupt = interrupt
        self.interrupted = threading.Event()
        self._over = threading.Event()
        self._thread: threading.Thread | None = None

    def begin(self) -> None:
        """Interrupt again and again, as a block may wait several times."""
        if self._thread is None:
            self._thread = threading.Thread(target=self._go, name="incrowd-cancels", daemon=True)
            self._thread.start()

    def end(self) -> None:
        """Stop interrupting, and wait until that is over: later code must not be interrupted."""
        self._over.set()
        self.interrupted.set()
        if self._thread is not None:
            self._thread.join()

    def _go(self) -> None:
        while not self._over.is_set():
            with contextlib.suppress(Exception):
                self._interrupt()
            self.interrupted.set()
            self._over.wait(_AGAIN)


_JOB: ContextVar[Cancellable | None] = ContextVar("incrowd_job", default=None)
"""The job that this thread works for."""


@contextmanager
def running(progress: Progress | Cancellable | None) -> Iterator[None]:
    """Let this thread work for a job: code in this block checks whether the job was cancelled.

    Example: ``with running(progress): release.write(path)``. A progress that cannot be cancelled changes
    nothing: a part of a job that is shown elsewhere, or nowhere, still belongs to the job.
    """
    if not isinstance(progress, Cancellable):
        yield
        return
    before = _JOB.set(progress)
    try:
        yield
    finally:
        _JOB.reset(before)


def in_job(verb: Callable[P, T]) -> Callable[P, T]:
    """Let a verb run for the job of the argument `progress`."""

    @wraps(verb)
    def run(*args: P.args, **kwargs: P.kwargs) -> T:
        given: Any = kwargs.get("progress")
        before = _SHOWN.set(shown() or given is not None)
        try:
            with running(given):
                return verb(*args, **kwargs)
        finally:
            _SHOWN.reset(before)

    return run


def current() -> Cancellable | None:
    """Return the job that this thread works for, or None without a job."""
    return _JOB.get()


def check(progress: Progress | Cancellable | None = None) -> None:
    """Raise if a job was cancelled: the given job, or the job that this thread works for.

    Raises
    ------
    Cancelled
    """
    if isinstance(progress, Cancellable):
        progress.check()
    job = _JOB.get()
    if job is not None and job.cancelled:
        raise Cancelled


@contextmanager
def interrupting(progress: Progress | Cancellable | None, interrupt: Callable[[], None]) -> Iterator[None]:
    """Run a block that waits for others, and end the waiting when the job is cancelled.

    Example: ``with interrupting(progress, connection.interrupt): connection.execute(query)``. The errors of
    what was given up do not get out: `Cancelled` does.

    Parameters
    ----------
    progress
        That of the job. One that cannot be cancelled gives way to the job for which this thread works.
    interrupt
        Called from another thread, again and again until the block ends. Its errors are ignored.

    Raises
    ------
    Cancelled
    """
    job = progress if isinstance(progress, Cancellable) else current()
    if job is None:
        yield
        return
    with running(job), job.interrupting(interrupt):
        yield


# --- notebooks ------------------------------------------------------------------------------------------

_SHOWN: ContextVar[bool] = ContextVar("shown", default=False)
"""Whether progress is shown already: a job may call others."""


def shown() -> bool:
    """Say whether a progress of the job of this thread is shown."""
    return _SHOWN.get()


def with_bar(job: Callable[P, T]) -> Callable[P, T]:
    """Let a running function show a bar in a notebook, unless the call passes a progress.

    Elsewhere nothing is shown. The bar goes away when the function ends.
    """

    @wraps(job)
    def run(*arguments: P.args, **settings: P.kwargs) -> T:
        own = settings.get("progress") is not None
        display = None if own or _SHOWN.get() else _notebook()
        if display is None and not own:
            return job(*arguments, **settings)
        bar = None if display is None else _Bar(display)
        token = _SHOWN.set(True)
        try:
            return job(*arguments, **(settings if bar is None else settings | {"progress": bar}))  # type: ignore[arg-type]
        finally:
            _SHOWN.reset(token)
            if bar is not None:
                bar.close()

    return run


def _notebook() -> Any:
    """Return the module that shows things in a notebook; None where there is none, as on a terminal."""
    ipython = sys.modules.get("IPython")
    shell = None if ipython is None else ipython.get_ipython()
    if shell is None or getattr(shell, "kernel", None) is None:
        return None
    from importlib import import_module

    return import_module("IPython.display")


class _Bar:
    """A bar below a cell, in HTML that needs no widgets."""

    def __init__(self, display: Any) -> None:
        self._html = display.HTML
        self._handle = display.display(self._html(""), display_id=True)
        self._name, self._percent = "", -1

    def stage(self, name: str) -> None:
        """Show a stage of unknown length."""
        self._name, self._percent = html.escape(name), -1
        self._show_html(f"<progress max=100></progress> {self._name}")

    def advance(self, done: int, total: int) -> None:
        """Show how far the stage is, by whole percents."""
        percent = 100 * done // max(total, 1)
        if percent != self._percent:
            self._percent = percent
            self._show_html(f"<progress max=100 value={percent}></progress> {self._name} {percent} %")

    def close(self) -> None:
        """Take the bar away."""
        self._show_html("")

    def _show_html(self, text: str) -> None:
        if self._handle is not None:
            self._handle.update(self._html(text))


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
    "protect": "Protecting small cells", "try coarser codes": "Trying coarser codes",
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


on_compiling: list[Callable[[str], None]] = []
"""Functions called with the loop's name when a kernel without cached code is compiled."""
