"""Buttons and a bar for work that takes its time."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from nicegui import ui

from incrowd.studio.cancelling import Watched
from incrowd.studio.parts import marked, tell, words

_EVERY = 0.2
"""Seconds between two looks at the progress."""
_FIRST = "play_arrow"
"""The picture of what a step is for."""


class Job:
    """Buttons that start and stop some work, and a bar of its progress.

    Parameters
    ----------
    page
        The page.
    title, mark, icon
        What the button says, its name for tests, and its picture.
    work
        What is done in a thread; it is given the progress.
    done
        Called with what came of it, on the page.
    failed
        Called where nothing came of it.
    """

    def __init__(
        self,
        page: Any,
        title: str,
        mark: str,
        work: Callable[[Watched], Any],
        done: Callable[[Any], None],
        failed: Callable[[], None] | None = None,
        icon: str = _FIRST,
    ) -> None:
        self._page, self._work, self._done, self._failed = page, work, done, failed
        self._title, self._mark, self._icon = title, mark, icon
        self._watched: Watched | None = None
        self._wrong = ""

    def draw(self) -> None:
        """Show the buttons, and the progress where the work goes on."""
        with ui.row().classes("items-center"):
            self._start = marked(ui.button(self._title, icon=self._icon, on_click=self.run), self._mark)
            # What only looks or saves stands back behind what the step is for.
            self._start.props("no-caps" if self._icon == _FIRST else "no-caps outline")
            self._stop = marked(
                ui.button("Cancel", icon="stop", on_click=self._cancel), f"cancel-{self._mark}"
            )
            self._stop.props("no-caps outline")
        self._shown = ui.column().classes("w-full").props("aria-live=polite")
        with self._shown:
            self._stage = words("p", "")
            self._bar = ui.linear_progress(value=0, show_value=False, size="8px")
            self._bar.props["aria-label"] = "How far the stage is"
        self._messages = ui.column().classes("w-full")
        # It may have gone wrong while another step was shown.
        tell(self._messages, self._wrong)
        self._wrong = ""
        self._running(self._watched is not None)

    def _running(self, running: bool) -> None:
        self._start.set_enabled(not running)
        self._stop.set_visibility(running)
        self._shown.set_visibility(running)

    async def run(self) -> None:
        """Do the work in a thread, and look how far it is."""
        if self._watched is not None:
            return
        watched = self._watched = Watched()
        self._running(True)
        self._look(watched)
        timer = ui.timer(_EVERY, lambda: self._look(watched))
        try:
            found = await self._page.doing(self._tell, watched, self._work, watched)
        finally:
            timer.cancel()
            self._watched = None
            self._running(False)
        if found is not None:
            self._done(found)
        elif self._failed is not None:
            self._failed()

    def _tell(self, text: str) -> None:
        self._wrong = text
        tell(self._messages, text)

    def _look(self, watched: Watched) -> None:
        stage, seconds, share = watched.state()
        doing = f"{stage}, {seconds:.0f} s" if not watched.cancelled else f"{stage}, stops"
        self._stage.set_text(doing)
        self._bar.set_value(share or 0)
        self._bar.props["indeterminate"] = share is None
        self._bar.update()

    def _cancel(self) -> None:
        if self._watched is not None:
            self._watched.cancel()
