"""The outcome of work in a thread: a result, or a failure in words that quote no cell."""

from __future__ import annotations

import os
from collections.abc import Callable
from dataclasses import dataclass
from typing import Generic, TypeVar

from incrowd.core.errors import IncrowdError
from incrowd.core.progress import running
from incrowd.faces.studio.cancelling import Cancelled, Watched
from incrowd.faces.studio.page_words import in_the_page

T = TypeVar("T")


@dataclass(frozen=True)
class Outcome(Generic[T]):
    """The outcome of some work: the result, or the failure in words; `cancelled` after a stop."""

    result: T | None = None
    problem: str = ""
    cancelled: bool = False


def outcome_of(watched: Watched | None, work: Callable[[], T]) -> Outcome[T]:
    """Do some work in this thread, for a job that may be cancelled."""
    in_the_page()  # a thread has its own
    try:
        with running(watched):
            return Outcome(work())
    except Cancelled:
        return Outcome(problem="Cancelled. Nothing was made.", cancelled=True)
    except Exception as error:
        if os.environ.get("INCROWD_DEBUG") and not isinstance(error, IncrowdError):
            raise
        return Outcome(problem=in_words(error))


def in_words(error: Exception) -> str:
    """Describe an error, without a library's message, which may quote cells of the table."""
    if isinstance(error, IncrowdError):
        return str(error)
    if isinstance(error, MemoryError):
        return "Out of memory: use fewer rows or columns."
    return f"Internal error ({type(error).__name__}); please report it."
