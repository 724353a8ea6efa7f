"""The page of one window: the steps, and how a step has something done."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path
from typing import Any, ParamSpec, TypeVar

from nicegui import run, ui

from incrowd.errors import IncrowdError
from incrowd.progress import running
from incrowd.studio.cancelling import Cancelled, Watched
from incrowd.studio.parts import STYLE, marked, tell, words
from incrowd.studio.steps.explore import Explore
from incrowd.studio.steps.hand_over import HandOver
from incrowd.studio.steps.hierarchies import Hierarchies
from incrowd.studio.steps.limits import Limits
from incrowd.studio.steps.look import Look
from incrowd.studio.steps.roles import Roles
from incrowd.studio.steps.run import Run
from incrowd.studio.steps.table import Table
from incrowd.studio.tables import Source, in_database
from incrowd.studio.work import Work

_ASK = """<script>
addEventListener("beforeunload", event => {
  if (document.querySelector("main[data-open=yes]")) event.preventDefault();
});
addEventListener("load", () => {
  const more = document.createElement("p");
  more.textContent = "If incrowd studio has ended, what ran has stopped, and nothing of it is left. " +
    "Start it again, and open the address that it prints. What you made is only in files that you saved.";
  document.querySelector("#popup > :last-child").append(more);
});
</script>"""
"""A window that is loaded anew begins anew, so the browser asks first. One whose studio ended says so."""
P = ParamSpec("P")
T = TypeVar("T")
_STEPS = (Roles, Hierarchies, Limits, Explore, Run, Look, HandOver)


def show(data: Path | tuple[str, str] | None, policy: tuple[dict[str, Any], Path] | None) -> None:
    """Show the page to a new window."""
    ui.colors(
        primary="#1a5a9e", secondary="#44546a", accent="#7a4a00", negative="#b3261e", positive="#1b7a3d"
    )
    ui.add_css(STYLE)
    ui.add_body_html(_ASK)
    Page(Work(policy)).show(data)


class Page:
    """One window.

    Attributes
    ----------
    work
        What it works on.
    """

    def __init__(self, work: Work) -> None:
        self.work = work
        self._table = Table(self)
        self._steps: list[Any] = [self._table, *(step(self) for step in _STEPS)]
        self._running: set[Watched] = set()

    def show(self, data: Path | tuple[str, str] | None) -> None:
        """Draw everything, and open the table that the command named."""
        ui.context.client.on_delete(self.close)
        ui.context.client.on_exception(self._failed)
        with ui.header(wrap=False).classes("items-center q-px-md q-py-xs").style("background: #143f6e"):
            words("h1", "incrowd studio", "text-white").style(
                "font-size: 1.1rem; font-weight: 600; margin: 0"
            )
            self._source = words("span", "", "text-white").style("overflow-wrap: anywhere")
            ui.space()
            dark = ui.dark_mode(None)
            button = ui.button(icon="contrast", on_click=lambda: dark.set_value(not dark.value))
            button.props('flat round dense color=white aria-label="Light or dark"')
        self._main = ui.element("main").classes("studio")
        with self._main:
            self._tabs = ui.tabs(on_change=lambda e: self._draw(e.value)).classes("w-full")
            self._tabs.props("no-caps inline-label align=left outside-arrows mobile-arrows")
            with self._tabs:
                self._tab = {
                    step.name: ui.tab(step.name, f"{number} {step.name}").props(f"data-step={number}")
                    for number, step in enumerate(self._steps, 1)
                }
            self._messages = ui.column().classes("w-full")
            with ui.tab_panels(self._tabs, animated=False).classes("w-full").style("background: none"):
                for step in self._steps:
                    with ui.tab_panel(step.name):
                        step.panel = ui.column().classes("w-full items-start").style("gap: 8px")
            self.enable()
            self._tabs.set_value(Table.name)
        if data is not None:
            ui.timer(0, lambda: self._table.open(self._source_of(data)), once=True)

    def _source_of(self, data: Path | tuple[str, str]) -> Source:
        if isinstance(data, Path):
            return Source(data.absolute(), str(data))
        return in_database(*data, self.work.place(""))

    def close(self) -> None:
        """Stop the running work, and forget the table."""
        for watched in self._running:
            watched.cancel()
        self.work.close()

    # --- the steps --------------------------------------------------------------------------------

    def enable(self) -> None:
        """Let those steps be chosen for which there is something."""
        for step in self._steps:
            self._tab[step.name].set_enabled(step.ready())
        source = self.work.source
        self._main.props["data-open"] = "no" if source is None else "yes"
        self._source.set_text("" if source is None else source.title)

    def go(self, name: str) -> None:
        """Go to a step."""
        self.enable()
        self._tabs.set_value(name)

    def show_tree(self, column: str) -> None:
        """Go to the hierarchy of a column."""
        step = next(step for step in self._steps if isinstance(step, Hierarchies))
        step.column = column
        self.go(Hierarchies.name)

    def _draw(self, name: str) -> None:
        self.redraw(next(step for step in self._steps if step.name == name))

    def redraw(self, step: Any) -> None:
        """Draw a step anew."""
        self._messages.clear()
        step.panel.clear()
        with step.panel:
            step.draw()
            self._next(step)

    def _next(self, step: Any) -> None:
        place = self._steps.index(step) + 1
        if place == len(self._steps):
            return
        following = self._steps[place]
        if following.ready():
            button = ui.button(f"Next: {following.name}", on_click=lambda: self.go(following.name))
            marked(button, "next").props("no-caps icon-right=arrow_forward").classes("q-mt-md")

    def changed(self) -> None:
        """Say that the choices changed, so that their results no longer count."""
        if self.work.release is not None or self.work.assessment is not None:
            self.work.changed()
            self.enable()

    def _failed(self, error: Exception) -> None:
        """Say that a part of the page could not be drawn, or that a click had no effect."""
        tell(self._messages, _in_words(error))

    # --- work -------------------------------------------------------------------------------------

    async def doing(
        self,
        tell: Callable[[str], None],
        watched: Watched | None,
        work: Callable[P, T],
        *args: P.args,
        **kwargs: P.kwargs,
    ) -> T | None:
        """Have something done in a thread, so that the page goes on; tell what went wrong.

        Parameters
        ----------
        tell
            Called with what went wrong, and with an empty text before.
        watched
            The progress that is given to the work, so that closing the window stops it.

        Returns
        -------
        What the work returned; None where it failed or was cancelled.
        """
        tell("")
        if watched is not None:
            self._running.add(watched)
        try:
            outcome = await run.io_bound(_outcome, watched, lambda: work(*args, **kwargs))
        finally:
            if watched is not None:
                self._running.discard(watched)
        if outcome is None:
            return None  # the server ends
        result, error = outcome
        if error is not None:
            tell(error)
        return result


def _outcome(watched: Watched | None, work: Callable[[], T]) -> tuple[T | None, str | None]:
    """Return the result, or an error in words."""
    try:
        with running(watched):
            return work(), None
    except Cancelled:
        return None, "Cancelled. Nothing was made."
    except Exception as error:
        if os.environ.get("INCROWD_DEBUG") and not isinstance(error, IncrowdError):
            raise
        return None, _in_words(error)


def _in_words(error: Exception) -> str:
    """Describe an error. A library's message may quote cells of the table, so it is not repeated."""
    if isinstance(error, IncrowdError):
        return str(error)
    if isinstance(error, MemoryError):
        return "Out of memory: use fewer rows or columns."
    return f"Internal error ({type(error).__name__}); please report it."
