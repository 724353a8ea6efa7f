"""How kernels are compiled and how they share the cores."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Sequence
from concurrent.futures import Future, ThreadPoolExecutor, wait
from contextvars import ContextVar, copy_context
from functools import cache, update_wrapper
from threading import RLock
from typing import Any, ClassVar, TypeVar, cast

import numpy as np
from numpy.typing import NDArray

from incrowd.core.progress import check

F = TypeVar("F", bound=Callable[..., Any])
T = TypeVar("T")
R = TypeVar("R")

PARALLEL_FROM = 50_000
"""Units of work (usually rows) below which starting threads costs more than it saves."""

_TASKS_FROM = 10_000
"""Rows below which tasks of a column each are done one after the other."""

FEW = 20_000
"""Rows up to which NumPy has done a job before the compiler is loaded."""

_BY_PYTHON = 200_000
"""Units of work up to which Python has run simple loops, all together, before the compiler is loaded."""

_making = RLock()

_alone = ContextVar("alone", default=False)
"""Whether what runs has one core, and leaves the others to what runs beside it."""


class Kernel:
    """A loop that is compiled, or taken from the disk, when it is called first; the compiler loads slowly.

    `spent` counts the work that Python has done in place of compiled loops, of whatever kernel.
    """

    spent: ClassVar[int] = 0

    def __init__(
        self, function: Callable[..., Any], *, kept: bool, plain: bool = False, **options: Any
    ) -> None:
        """Wrap a function.

        `kept` says whether its machine code is kept on disk, `plain` whether Python gives the same results.
        """
        update_wrapper(self, function)
        self._function = function
        self.kept = kept
        self.plain = plain
        self._options = options
        self._made: Any = None

    def __call__(self, *arguments: Any) -> Any:
        """Call the compiled loop."""
        # Nearly all that takes its time goes through here, so a cancelled job ends here.
        check()
        # Parts of kernels are called from Python only by a loop that Python runs.
        return (self._made or self.made())(*arguments) if self.kept else self.by_python(*arguments)

    def by_python(self, *arguments: Any) -> Any:
        """Run the loop as it is written."""
        return self._function(*arguments)

    @property
    def _numba_type_(self) -> Any:
        """The type by which the compiler knows it where another kernel calls it."""
        from numba import typeof

        return typeof(self.made())

    def made(self) -> Any:
        """Return the compiler's form of the loop, which is compiled for the arguments of each call."""
        with _making:
            if self._made is None:
                import numba

                made = numba.njit(nogil=True, error_model="numpy", **self._options)(self._function)
                if self.kept:
                    from incrowd.core.kernels.cache import keep_machine_code

                    keep_machine_code(made)
                self._made = made
        return self._made


def compiled(function: F) -> F:
    """Make a kernel of a loop: no interpreter lock, machine code kept on disk between runs."""
    return cast(F, Kernel(function, kept=True))


def simple(function: F) -> F:
    """Make a kernel that Python may run itself: its numbers are whole or floats of 64 bits."""
    return cast(F, Kernel(function, kept=True, plain=True))


def inner(function: F) -> F:
    """Make a part of kernels, which only kernels call: nothing is made for calls from Python."""
    return cast(F, Kernel(function, kept=False, no_cpython_wrapper=True, no_cfunc_wrapper=True))


def inlined(function: F) -> F:
    """Make a small part of kernels that becomes a piece of each.

    A part that is called counts the references to its arrays. Where that happens for each group, cores wait
    for each other.
    """
    return cast(
        F,
        Kernel(function, kept=False, forceinline=True, no_cpython_wrapper=True, no_cfunc_wrapper=True),
    )


def so_few(rows: int) -> bool:
    """Say whether NumPy does the work sooner than the compiler is loaded, which it is not yet."""
    return rows <= FEW and not _is_loaded()


def _is_loaded() -> bool:
    return "numba" in sys.modules


def thread_count() -> int:
    """Return how many threads kernels may use (``INCROWD_THREADS``, else the cores given to us)."""
    asked = os.environ.get("INCROWD_THREADS", "")
    if asked.isdecimal() and int(asked) > 0:
        return int(asked)
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


@cache
def _pool(threads: int) -> ThreadPoolExecutor:
    return ThreadPoolExecutor(threads, thread_name_prefix="incrowd")


def over_ranges(kernel: Callable[..., Any], work: NDArray[np.int64], *arguments: object) -> Sequence[Any]:
    """Call ``kernel(start, stop, *arguments)`` so that the ranges cover all items.

    Parameters
    ----------
    kernel
        A compiled function that writes only what belongs to the items ``start .. stop - 1``.
    work
        int64[items + 1], non-decreasing: the work done before each item; it balances the ranges.
    """
    items = len(work) - 1
    total = int(work[-1] - work[0]) if items > 0 else 0
    if isinstance(kernel, Kernel) and kernel.plain and so_few(total) and Kernel.spent + total <= _BY_PYTHON:
        Kernel.spent += total
        return [kernel.by_python(0, items, *arguments)]
    if items <= 1 or total < PARALLEL_FROM or _alone.get() or (threads := thread_count()) == 1:
        return [kernel(0, items, *arguments)]
    # More ranges than threads, so that one slow range does not leave the other cores idle.
    marks = work[0] + total * np.arange(1, threads * 4) // (threads * 4)
    bounds = np.unique(np.concatenate(([0], np.searchsorted(work, marks), [items])))
    pool = _pool(threads)
    tasks = [
        pool.submit(copy_context().run, kernel, int(start), int(stop), *arguments)
        for start, stop in zip(bounds[:-1], bounds[1:], strict=True)
    ]
    return _results(tasks)


def each_on_a_core(work: Callable[[T], R], items: Sequence[T]) -> list[R]:
    """Return ``work(item)`` of every item; `work` spends its time in kernels, and has one core to itself."""
    threads = thread_count()
    if threads == 1 or len(items) < 2 or _alone.get():
        return [work(item) for item in items]
    # Were work to wait for threads that wait for it, none would end.
    before = _alone.set(True)
    try:
        # Each thread works for the job of this one.
        tasks = [_pool(threads).submit(copy_context().run, work, item) for item in items[1:]]
        try:
            first = work(items[0])
        except BaseException:
            _end(tasks)
            raise
        return [first, *_results(tasks)]
    finally:
        _alone.reset(before)


def at_once(rows: int, *tasks: Callable[[], Any]) -> list[Any]:
    """Return the results of tasks on the rows; each has a core to itself where there are many rows."""
    if rows < _TASKS_FROM:
        return [task() for task in tasks]
    return each_on_a_core(lambda task: task(), tasks)


def _results(tasks: Sequence[Future[R]]) -> list[R]:
    """Wait for tasks. When one fails, as in a cancelled job, none begins any more and none goes on behind."""
    try:
        return [task.result() for task in tasks]
    except BaseException:
        _end(tasks)
        raise


def _end(tasks: Sequence[Future[Any]]) -> None:
    for task in tasks:
        task.cancel()
    wait(tasks)
