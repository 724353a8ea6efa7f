"""Buttons and a bar for long work."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence
from pathlib import Path
from typing import Any

from nicegui import ui

from incrowd.core.progress import STAGES
from incrowd.faces.studio.cancelling import Watched
from incrowd.faces.studio.fields import button
from incrowd.faces.studio.parts import marked, tell, words

_EVERY = 0.2
"""Seconds between two looks at the progress."""
_FIRST = "play_arrow"
"""The picture of what a panel is for."""


def in_words(stage: str, seconds: float, share: float | None, steps: Sequence[str] = ()) -> str:
    """Describe the progress of a job: stage and step, the share that is done, and the time left."""
    part, _, name = stage.rpartition(": ")
    step = f", step {steps.index(stage) + 1} of {len(steps)}" if stage in steps else ""
    text = f"Trying: {part}" if part else STAGES.get(name, name) + step
    # The share is that of a part of the job, so that it begins anew with each part.
    if part or not share:
        return text
    text += f", {share:.0%}"
    # How long takes what has just begun is not known.
    if seconds < 1 or share < 0.02:
        return text
    left = seconds / share - seconds
    time = f"{max(5, 5 * round(left / 5))} s" if left < 60 else f"{left / 60:.0f} min"
    return f"{text}, about {time} left" + (" in this step" if step else "")


class Job:
    """Buttons that start and stop some work, and a bar of the progress.

    `work` is done in a thread, with what the window works on and the progress. On the page `done` is called
    with the result, or `failed` where there is none. `steps` are the stages that it will have, if known.
    """

    def __init__(
        self,
        page: Any,
        title: str,
        mark: str,
        work: Callable[[Any, Watched], Any],
        done: Callable[[Any], None],
        failed: Callable[[], Awaitable[None]] | None = None,
        icon: str = _FIRST,
        steps: Sequence[str] = (),
    ) -> None:
        self._page, self._work, self._done, self._failed, self._steps = page, work, done, failed, steps
        self._title, self._mark, self._icon = title, mark, icon
        self._watched: Watched | None = None
        self._wrong = ""

    def draw(self) -> None:
        """Show the buttons, and the progress where the work goes on."""
        with ui.column().classes("job w-full") as self._place:
            with ui.row().classes("items-center"):
                # What only looks or saves stands back behind what the panel is for.
                kind = "" if self._icon == _FIRST else "outline"
                self._start = button(self._title, self._mark, self.run, kind, icon=self._icon)
                self._stop = button("Cancel", f"cancel-{self._mark}", self.stop, icon="stop")
            with ui.column().classes("w-full").props("aria-live=polite") as self._shown:
                self._stage = marked(words("p", ""), f"stage-{self._mark}")
                self._bar = ui.linear_progress(value=0, show_value=False, size="8px")
                self._bar.props["aria-label"] = "How far the stage is"
        # It goes on where the panel is drawn anew while the work is done.
        self._timer = ui.timer(_EVERY, self._look, active=False)
        self._messages = ui.column().classes("w-full")
        # It may have gone wrong while another panel was shown.
        tell(self._messages, self._wrong)
        self._wrong = ""
        self._running(self._watched is not None)

    def _running(self, running: bool) -> None:
        self._start.set_enabled(not running)
        self._stop.set_visibility(running)
        self._shown.set_visibility(running)
        self._place.classes(add="running" if running else "", remove="" if running else "running")
        self._timer.active = running
        self._look()

    async def run(self) -> None:
        """Do the work in a thread, and show the progress."""
        if self._watched is not None:
            return
        watched = self._watched = Watched()
        self._running(True)
        try:
            result = await self._page.doing(self._tell, watched, self._work, self._page.work, watched)
        finally:
            self._watched = None
            self._running(False)
        if result is not None:
            self._done(result)
        elif self._failed is not None:
            await self._failed()

    def _tell(self, text: str) -> None:
        self._wrong = text
        tell(self._messages, text)

    def _look(self) -> None:
        if self._watched is None:
            return
        stage, seconds, share = self._watched.state()
        text = in_words(stage, seconds, share, self._steps)
        self._stage.set_text("Stopping" if self._watched.cancelled else text)
        self._bar.set_value(share or 0)
        self._bar.props["indeterminate"] = share is None
        self._bar.update()

    def stop(self) -> None:
        """Cancel the work that is done now, if any."""
        if self._watched is not None:
            self._watched.cancel()


def download(page: Any, title: str, mark: str, make: Callable[[Any, Watched], tuple[Path, str]]) -> None:
    """Show a button that writes a file, perhaps in a long job, and gives the file to the browser."""
    Job(page, title, mark, make, lambda made: ui.download.file(*made), icon="download").draw()
