"""Windows that come and go: the work of a closed window, and the work of others to continue."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from nicegui import ui

from incrowd.faces.studio import status
from incrowd.faces.studio.fields import button
from incrowd.faces.studio.parts import emptied, marked, words
from incrowd.faces.studio.work import Work

_GONE = (
    "The work of this address is not here: another window has it, or it is gone. Work is gone half an hour "
    "after its window was closed, and when the studio ends. What ran has stopped, and nothing is left of it."
)
_LOST = 3.0
"""Seconds after which a work that an address names is lost: its window may still be on its way out."""
_LOOKS = 0.5
"""Seconds between two looks at the work that other windows left."""
_MINUTES = 30
"""Minutes for which the work of a closed window is kept."""
_MOST = 3
"""Windows whose work is kept; the oldest goes first."""


@dataclass(eq=False)
class Left:
    """The work of a closed window with the time of closing; `stop` ends the jobs."""

    work: Work
    stop: Callable[[], None]
    at: datetime

    @property
    def title(self) -> str:
        """The name of the table, the time of closing, and the verdict of the release."""
        assert self.work.source is not None
        mark = status.mark(self.work)
        end = "" if mark is None else f", verdict: {mark[1]}"
        return f"{self.work.source.title}, left at {self.at:%H:%M}{end}"


_LEFT: list[Left] = []
"""The windows that can be continued, the last one at the end."""


def _named(name: str) -> Left | None:
    """Take the work that an address names, if the window was left."""
    return next((each for each in _LEFT if each.work.name == name and _take(each)), None)


def _leave(work: Work, stop: Callable[[], None]) -> Left:
    """Keep the work of a window that is gone."""
    left = Left(work, stop, datetime.now())
    _LEFT.append(left)
    for old in _LEFT[:-_MOST]:
        _forget(old)
    asyncio.get_running_loop().call_later(60 * _MINUTES, _forget, left)
    return left


def _take(left: Left) -> bool:
    """Take the work of a closed window out of the list; return whether the work was still there."""
    if left not in _LEFT:
        return False
    _LEFT.remove(left)
    return True


def _forget(left: Left) -> None:
    """End the jobs of a window, forget the work and remove the files."""
    if _take(left):
        left.stop()
        left.work.close()


class Windows:
    """The work of this window after closing, and the work of other windows.

    Attributes
    ----------
    sought
        The place that the address names, while its work is not there.
    """

    def __init__(self, page: Any) -> None:
        self._page = page
        self.sought: tuple[str, ...] = ()
        self._left: Left | None = None
        self._offered: list[Left] = []

    def draw(self) -> None:
        """Show the place of the offers, and look for offers from time to time."""
        client = ui.context.client
        client.on_connect(self._come_back)
        client.on_disconnect(self._leave)
        client.on_delete(self._close)
        self._lost = ui.column().classes("w-full")
        self._offers = ui.column().classes("w-full")
        ui.timer(_LOOKS, self.offer)
        ui.timer(_LOST, self._tell_lost, once=True)

    def forget_place(self) -> None:
        """Seek no work any more."""
        self.sought = ()
        self._lost.clear()

    def _leave(self) -> None:
        """Store the work for another window."""
        if self._page.work.source is not None:
            self._left = _leave(self._page.work, self._page.stop)

    def _come_back(self) -> None:
        """Go on where the connection was lost for a moment, unless another window took the work meanwhile."""
        gone, self._left = self._left, None
        if gone is not None and not _take(gone):
            self._page.begin(Work())

    def _close(self) -> None:
        """Stop the running work; without a table there is nothing to keep."""
        self._page.stop()
        if self._left is None:
            self._page.work.close()

    def offer(self) -> None:
        """Offer the work that other windows left, as long as there is no table.

        The work that the address names is continued at once: the window was loaded again.
        """
        if self.sought and (own := _named(self.sought[0])) is not None:
            place, self.sought = self.sought, ()
            self._go_on(own, place)
            return
        offered = [] if self._page.work.source is not None else _LEFT[::-1]
        if offered == self._offered:
            return
        self._offered = offered
        with emptied(self._offers):
            for each in offered:
                with marked(ui.row().classes("box items-center"), "left"):
                    words("span", f"Continue where you were: {each.title}")
                    button("Continue", "continue", lambda _, each=each: self._continue(each), "")
                    button("Forget it", "forget", lambda _, each=each: _forget(each))

    def _tell_lost(self) -> None:
        """Tell the fate of a work that the address names and nobody has."""
        if self.sought:
            with self._lost:
                marked(words("div", _GONE, "warn").props("role=status"), "gone")

    def _continue(self, each: Left) -> None:
        if _take(each):
            self._go_on(each)

    def _go_on(self, each: Left, place: tuple[str, ...] = ()) -> None:
        each.stop()
        self._page.work.close()
        self._page.begin(each.work, place)
