"""Ahead-of-time compilation of all kernels, also as a script for wheels."""

from __future__ import annotations

from concurrent.futures import ProcessPoolExecutor, as_completed
from multiprocessing import get_context

from incrowd.core.kernels.jit import thread_count
from incrowd.core.progress import Progress, Silent


def warm(progress: Progress, algorithm: str | None = None, *, ship: bool = False) -> int:
    """Compile every listed kernel without cached code, on all cores.

    Parameters
    ----------
    progress
        Receives the number of compiled kernels.
    algorithm
        The name of an algorithm whose jobs alone are to find their kernels compiled.
    ship
        Whether to compile for all processors of shipped code, into the package, for a wheel.

    Returns
    -------
    int
        Number of kernels ready for use.
    """
    from incrowd.core.kernels.signatures import listed, loops_of

    every = listed()
    names = [name for name in (every if algorithm is None else loops_of(algorithm)) if every[name]]
    progress.stage("compiling")
    # Processes, since the threads of one compile one after the other.
    with ProcessPoolExecutor(thread_count(), mp_context=get_context("spawn")) as pool:
        try:
            tasks = [pool.submit(_compile, name, ship) for name in names]
            for done, task in enumerate(as_completed(tasks), 1):
                task.result()
                progress.advance(done, len(names))
        except BaseException:
            pool.shutdown(cancel_futures=True)
            raise
    return len(names)


def _compile(name: str, ship: bool) -> None:
    """Compile a kernel for all signatures."""
    from numba import config

    from incrowd.core.kernels import cache
    from incrowd.core.kernels.signatures import kernel_named, signatures_of

    if ship:
        config.CPU_NAME, config.CPU_FEATURES = cache.PORTABLE  # type: ignore[attr-defined]
    dispatcher = kernel_named(name).dispatcher()
    for signature in signatures_of(name):
        dispatcher.compile(signature)
    if ship:
        dispatcher._cache.ship(dispatcher.targetctx)


if __name__ == "__main__":
    warm(Silent(), ship=True)
