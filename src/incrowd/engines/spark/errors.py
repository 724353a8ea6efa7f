"""Guarded calls of Spark: errors without the cells that Spark's messages quote, and cancellable jobs."""

from __future__ import annotations

import contextlib
import os
import secrets
import sys
import threading
import warnings
from collections.abc import Iterator
from typing import Any

from incrowd.core.errors import IncrowdError, MissingExtraError, SchemaError, TableError, null_values_setting
from incrowd.core.progress import current, interrupting, shown
from incrowd.core.recoding import READS_AS_MISSING
from incrowd.engines.fold import CHANGED

OTHER_VALUES = "incrowd-met-values-that-were-not-counted"
"""Message of a task that meets uncounted values."""

_OTHER_PYTHON = (
    "ModuleNotFoundError",
    "PACKAGE_NOT_INSTALLED",
    "PYTHON_VERSION_MISMATCH",
    "Cannot run program",
)
"""Messages of Spark about workers whose Python differs from the driver's."""

_BETWEEN = 0.2
"""Seconds between removals of Spark's progress bars, which return after half a second."""


@contextlib.contextmanager
def guarded(session: Any) -> Iterator[None]:
    """Call Spark with errors translated so that no cell of the table is quoted.

    When the job of this thread is cancelled, so are the jobs of Spark that begin in this block, and no others
    of the session. Workers on the driver's machine run the driver's Python, unless `PYSPARK_PYTHON` is set.
    """
    try:
        # Of pandas only Arrow's part is used.
        warnings.filterwarnings("ignore", "PySpark does not yet fully support pandas", FutureWarning)
        with _cancellable(session), _drivers_python(session), _without_bars(session):
            yield
    except IncrowdError:
        raise
    except Exception as error:
        raise translated(error) from None


@contextlib.contextmanager
def _cancellable(session: Any) -> Iterator[None]:
    """Tag the Spark jobs of this block, so that another thread can cancel the jobs."""
    if current() is None:
        yield
        return
    tag = f"incrowd-{secrets.token_hex(8)}"
    # A session of Spark itself forgets its tags where it runs a query. A session of Connect has no context.
    add, remove, give_up = (
        (session.addTag, session.removeTag, session.interruptTag)
        if getattr(session, "_jvm", None) is None
        else (session._sc.addJobTag, session._sc.removeJobTag, session._sc.cancelJobsWithTag)
    )
    add(tag)
    try:
        with interrupting(None, lambda: give_up(tag)):
            yield
    finally:
        remove(tag)


@contextlib.contextmanager
def _without_bars(session: Any) -> Iterator[None]:
    """Hide Spark's progress bars in this block while our own bar is shown."""
    bar = session._jsc.sc().progressBar() if shown() and getattr(session, "_jvm", None) is not None else None
    if bar is None or not bar.isDefined():
        yield
        return
    over = threading.Event()

    def hide() -> None:
        while not over.wait(_BETWEEN):
            bar.get().finishAll()

    hiding = threading.Thread(target=hide, name="incrowd-hides-bars", daemon=True)
    hiding.start()
    try:
        yield
    finally:
        over.set()
        hiding.join()


@contextlib.contextmanager
def _drivers_python(session: Any) -> Iterator[None]:
    """Have functions that are sent in this block run by the driver's Python, where that is at hand."""
    # Connect has no context, and sends functions by itself.
    context = getattr(session, "_sc", None)
    if context is None or "PYSPARK_PYTHON" in os.environ or not str(context.master).startswith("local"):
        yield
        return
    before, context.pythonExec = context.pythonExec, sys.executable
    try:
        yield
    finally:
        context.pythonExec = before


def translated(error: Exception) -> Exception:
    """Return our error for a Spark error, and any other error unchanged."""
    if OTHER_VALUES in str(error):
        return TableError(CHANGED)
    if READS_AS_MISSING in str(error):
        # Raised by an executor; the rest of that text is Spark's.
        return SchemaError(
            f"{READS_AS_MISSING}, since {null_values_setting()} names its text; take another output style "
            "or another null value"
        )
    # pyspark's own classes are not imported to ask: a Connect client need not have the others.
    kinds = [kind for kind in type(error).__mro__ if kind.__module__.split(".")[0] in ("pyspark", "py4j")]
    if not kinds:
        return error
    condition = getattr(error, "getCondition", lambda: None)()
    if type(error).__name__ == "PySparkImportError":
        return MissingExtraError("pyarrow and pandas", "spark", "working on a Spark DataFrame")
    if any(word in str(error) for word in _OTHER_PYTHON):
        return TableError(
            "the Python of Spark's workers does not start, has another version than the driver's, or lacks "
            "incrowd or a package that it needs; pack the driver's environment, send it to the workers "
            "(spark.archives, or the archives of spark-submit), and set PYSPARK_PYTHON to its python before "
            "the session starts; nothing was released"
        )
    description = f"{type(error).__name__}{f', {condition}' if condition else ''}"
    return TableError(
        f"Spark could not finish the work ({description}); its log says why; nothing was released"
    )
