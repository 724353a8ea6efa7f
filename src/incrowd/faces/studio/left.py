"""The work of windows that were closed or loaded again. It is kept for a while, to be continued."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from dataclasses import dataclass
from datetime import datetime
from typing import TYPE_CHECKING

from incrowd.faces.studio import status

if TYPE_CHECKING:
    from incrowd.faces.studio.work import Work

_MINUTES = 30
"""Minutes for which the work of a closed window is kept."""
_MOST = 3
"""Windows whose work is kept; the oldest goes first."""


@dataclass(eq=False)
class Left:
    """The work of a window that was left at some time; `stop` ends its jobs."""

    work: Work
    stop: Callable[[], None]
    at: datetime

    @property
    def title(self) -> str:
        """The name of the table, when its window was left, and the verdict of its release."""
        assert self.work.source is not None
        mark = status.mark(self.work)
        end = "" if mark is None else f", verdict: {mark[1]}"
        return f"{self.work.source.title}, left at {self.at:%H:%M}{end}"


_LEFT: list[Left] = []


def listed() -> list[Left]:
    """Return the windows that can be continued, the last one first."""
    return _LEFT[::-1]


def named(name: str) -> Left | None:
    """Take the work that an address names, if its window was left."""
    return next((each for each in _LEFT if each.work.name == name and take(each)), None)


def leave(work: Work, stop: Callable[[], None]) -> Left:
    """Keep the work of a window that is gone."""
    left = Left(work, stop, datetime.now())
    _LEFT.append(left)
    for old in _LEFT[:-_MOST]:
        forget(old)
    asyncio.get_running_loop().call_later(60 * _MINUTES, forget, left)
    return left


def take(left: Left) -> bool:
    """Take the work of a window out of those that are kept; return whether it was still there."""
    if left not in _LEFT:
        return False
    _LEFT.remove(left)
    return True


def forget(left: Left) -> None:
    """End the jobs of a window, forget its work and remove its files."""
    if take(left):
        left.stop()
        left.work.close()
