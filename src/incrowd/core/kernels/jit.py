"""Compilation of kernels and distribution over cores."""

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
"""Rows below which tasks on single columns run one after the other."""

FEW = 20_000
"""Largest number of rows that NumPy processes faster than the compiler loads."""

_BY_PYTHON = 200_000
"""Total units of work that plain Python does in simple loops before the compiler is loaded."""

_dispatcher_lock = RLock()

_alone = ContextVar("alone", default=False)
"""Whether the current task is limited to one core, since other tasks run beside."""


class Kernel:
    """A loop that is compiled, or loaded from the cache, at the first call.

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
        self._dispatcher: Any = None

    def __call__(self, *arguments: Any) -> Any:
        """Call the compiled loop."""
        # Nearly all long work passes through here, so a cancelled job ends here.
        check()
        # Parts of kernels are called from Python only by a loop that Python runs.
        return (
            (self._dispatcher or self.dispatcher())(*arguments) if self.kept else self.by_python(*arguments)
        )

    def by_python(self, *arguments: Any) -> Any:
        """Run the loop in plain Python."""
        return self._function(*arguments)

    @property
    def _numba_type_(self) -> Any:
        """Numba's type of the kernel, for calls from other kernels."""
        from numba import typeof

        return typeof(self.dispatcher())

    def dispatcher(self) -> Any:
        """Return Numba's dispatcher of the loop."""
        with _dispatcher_lock:
            if self._dispatcher is None:
                import numba

                dispatcher = numba.njit(nogil=True, error_model="numpy", **self._options)(self._function)
                if self.kept:
                    from incrowd.core.kernels.cache import keep_machine_code

                    keep_machine_code(dispatcher)
                self._dispatcher = dispatcher
        return self._dispatcher


def compiled(function: F) -> F:
    """Decorate a kernel that runs without the interpreter lock and is cached on disk."""
    return cast(F, Kernel(function, kept=True))


def simple(function: F) -> F:
    """Decorate a kernel that plain Python may also run, with 64-bit integers and floats only."""
    return cast(F, Kernel(function, kept=True, plain=True))


def inner(function: F) -> F:
    """Decorate a function that only kernels call, without an entry point for Python."""
    return cast(F, Kernel(function, kept=False, no_cpython_wrapper=True, no_cfunc_wrapper=True))


def inlined(function: F) -> F:
    """Decorate a small function that is inlined into each calling kernel.

    A called function counts references to its arrays. Done for each group, this makes cores wait for each
    other.
    """
    return cast(
        F,
        Kernel(function, kept=False, forceinline=True, no_cpython_wrapper=True, no_cfunc_wrapper=True),
    )


def so_few(rows: int) -> bool:
    """Whether NumPy finishes the work before the compiler, not loaded yet, would be loaded."""
    return rows <= FEW and not _is_loaded()


def _is_loaded() -> bool:
    return "numba" in sys.modules


def thread_count() -> int:
    """Return the number of threads for kernels: ``INCROWD_THREADS``, else the usable cores."""
    setting = os.environ.get("INCROWD_THREADS", "")
    if setting.isdecimal() and int(setting) > 0:
        return int(setting)
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


def each_on_a_core(work: Callable[[T], R], items: Sequence[T], *, shared: bool = False) -> list[R]:
    """Map `work` over items in parallel, best for work inside kernels.

    Each item has a single core. If `shared`, and there are two for each, `over_ranges` within has all cores.
    """
    threads = thread_count()
    if threads == 1 or len(items) < 2 or _alone.get():
        return [work(item) for item in items]
    alone = not shared or threads < 2 * len(items)
    # Nested waiting for the same pool would be a deadlock.
    pool = _pool(threads) if alone else ThreadPoolExecutor(len(items) - 1)
    before = _alone.set(alone)
    try:
        # Each thread inherits this thread's context, with the job to check.
        tasks = [pool.submit(copy_context().run, work, item) for item in items[1:]]
        try:
            first = work(items[0])
        except BaseException:
            _end(tasks)
            raise
        return [first, *_results(tasks)]
    finally:
        _alone.reset(before)
        if not alone:
            pool.shutdown(wait=False)


def at_once(rows: int, *tasks: Callable[[], Any]) -> list[Any]:
    """Run tasks and return the results, in parallel if there are many rows."""
    if rows < _TASKS_FROM:
        return [task() for task in tasks]
    return each_on_a_core(lambda task: task(), tasks, shared=True)


def _results(tasks: Sequence[Future[R]]) -> list[R]:
    """Return the results of tasks, or cancel and await the other tasks after a failure."""
    try:
        return [task.result() for task in tasks]
    except BaseException:
        _end(tasks)
        raise


def _end(tasks: Sequence[Future[Any]]) -> None:
    for task in tasks:
        task.cancel()
    wait(tasks)
