"""The page of one window: the steps, and how a step has something done."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path
from typing import Any, ParamSpec, TypeVar

from nicegui import run, ui

from incrowd.core.errors import IncrowdError
from incrowd.core.progress import running
from incrowd.faces.studio import left, status
from incrowd.faces.studio.cancelling import Cancelled, Watched
from incrowd.faces.studio.fields import button
from incrowd.faces.studio.gate import LOOKS
from incrowd.faces.studio.page_words import in_the_page
from incrowd.faces.studio.parts import STYLE, cut, emptied, marked, tell, words
from incrowd.faces.studio.steps.explore import Explore
from incrowd.faces.studio.steps.hand_over import HandOver
from incrowd.faces.studio.steps.hierarchies import Hierarchies
from incrowd.faces.studio.steps.limits import Limits
from incrowd.faces.studio.steps.look import Look
from incrowd.faces.studio.steps.roles import Roles
from incrowd.faces.studio.steps.run import Run
from incrowd.faces.studio.steps.table import Table
from incrowd.faces.studio.tables import Source, in_database
from incrowd.faces.studio.teaching import explain
from incrowd.faces.studio.work import Work

_ENDED = """<script>
addEventListener("load", () => {
  const more = document.createElement("p");
  more.textContent = "If incrowd studio has ended, what ran has stopped, and nothing of it is left. " +
    "Start it again, and open the address that it prints. What you made is only in files that you saved.";
  document.querySelector("#popup > :last-child").append(more);
});
</script>"""
"""A window whose studio has ended says so."""
_AT_TOP = """setTimeout(() => {
  scrollTo(0, 0);
  document.querySelector("main .q-tab-panel h2")?.focus({preventScroll: true});
}, 50)"""
"""A step opens at its top, with the focus on its heading; the browser needs a moment to draw it."""
_LOOKS = 0.5
"""Seconds between two looks at what other windows left, and at choices that changed."""
P = ParamSpec("P")
T = TypeVar("T")
_MARKS = {"holds": ("check", ", finished"), "open": ("warning", ", open"), "broken": ("error", ", broken")}
"""The picture of a tab, and what a screen reader says behind its name."""
_STEPS = (Roles, Hierarchies, Limits, Explore, Run, Look, HandOver)


def show(data: Path | tuple[str, str] | None, policy: tuple[dict[str, Any], Path] | None) -> None:
    """Show the page to a new window."""
    ui.colors(
        primary="#1a5a9e", secondary="#44546a", accent="#7a4a00", negative="#b3261e", positive="#1b7a3d"
    )
    ui.add_css(STYLE)
    ui.add_body_html(_ENDED)
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
        self._shown: Any = self._table
        self._visited: set[str] = set()
        self._running: set[Watched] = set()
        self._measuring: Watched | None = None
        self._measured: Source | None = None
        self._left: left.Left | None = None
        self._offered: list[left.Left] = []

    def show(self, data: Path | tuple[str, str] | None) -> None:
        """Draw everything, and open the table that the command named."""
        client = ui.context.client
        client.on_connect(self._came_back)
        client.on_disconnect(self._leave)
        client.on_delete(self._close)
        client.on_exception(self._failed)
        with ui.header(wrap=False).classes("items-center q-px-md q-py-xs").style("background: #143f6e"):
            title = words("h1", "incrowd studio", "text-white")
            title.style("font-size: 1.1rem; font-weight: 600; margin: 0")
            self._source = words("span", "", "text-white").style("overflow-wrap: anywhere")
            ui.space()
            self.teaching = ui.switch("Teach me", on_change=lambda: self.redraw(self._shown))
            marked(self.teaching, "teach").props("dense color=white keep-color").classes("whitespace-nowrap")
            dark = ui.dark_mode(None)
            light = ui.button(icon="contrast", on_click=lambda: dark.set_value(not dark.value))
            light.props('flat round dense color=white aria-label="Light or dark"')
        self._main = ui.element("main").classes("studio")
        with self._main:
            self._tabs = ui.tabs(on_change=lambda e: self._open(e.value)).classes("w-full")
            self._tabs.props("no-caps inline-label align=left outside-arrows mobile-arrows")
            with self._tabs:
                self._tab = {
                    step.name: ui.tab(step.name, f"{number} {step.name}").props(f"data-step={number}")
                    for number, step in enumerate(self._steps, 1)
                }
            self._messages = ui.column().classes("w-full")
            self._offers = ui.column().classes("w-full")
            with ui.tab_panels(self._tabs, animated=False).classes("w-full").style("background: none"):
                for step in self._steps:
                    with ui.tab_panel(step.name):
                        step.panel = ui.column().classes("w-full items-start").style("gap: 8px")
        self._foot()
        self.enable()
        self._tabs.set_value(Table.name)
        ui.timer(_LOOKS, self._look)
        if data is not None:
            ui.timer(0, lambda: self._table.open(self._source_of(data)), once=True)

    def _foot(self) -> None:
        """Show the figures that stay in sight, and the button that leads on."""
        with ui.footer().classes("foot items-center q-px-md q-py-xs"):
            self._verdict = marked(words("div", ""), "status-verdict")
            self._figures = marked(words("div", ""), "status")
            ui.space()
            following = "icon-right=arrow_forward"
            self._next = button("", "next", lambda: self.go(self._following().name), following)

    def _source_of(self, data: Path | tuple[str, str]) -> Source:
        if isinstance(data, Path):
            return Source(data.absolute(), str(data))
        return in_database(*data, self.work.place(""))

    # --- windows that come and go -----------------------------------------------------------------

    def _stop(self) -> None:
        """Stop the running work."""
        for watched in self._running:
            watched.cancel()

    def _leave(self) -> None:
        """Keep the work, so that another window can continue it."""
        if self.work.source is not None:
            self._left = left.leave(self.work, self._stop)

    def _came_back(self) -> None:
        """Go on where the connection was lost for a moment, unless another window took the work meanwhile."""
        gone, self._left = self._left, None
        if gone is not None and not left.take(gone):
            self._begin(Work())

    def _close(self) -> None:
        """Stop the running work; without a table there is nothing to keep."""
        self._stop()
        if self._left is None:
            self.work.close()

    def _offer(self) -> None:
        """Offer the work that other windows left, as long as there is no table."""
        offered = [] if self.work.source is not None else left.listed()
        if offered == self._offered:
            return
        self._offered = offered
        with emptied(self._offers):
            for each in offered:
                with marked(ui.row().classes("box items-center"), "left"):
                    words("span", f"Continue where you were: {each.title}")
                    button("Continue", "continue", lambda _, each=each: self._continue(each), "")
                    button("Forget it", "forget", lambda _, each=each: left.forget(each))

    def _continue(self, each: left.Left) -> None:
        if left.take(each):
            each.stop()
            self.work.close()
            self._begin(each.work)

    def _begin(self, work: Work) -> None:
        """Go on with other work."""
        self.work = work
        self._offer()
        self.go(Table.name if work.source is None else Roles.name if work.release is None else Run.name)

    # --- the steps --------------------------------------------------------------------------------

    def enable(self) -> None:
        """Let those steps be chosen for which there is something; tick those that are finished."""
        for step in self._steps:
            tab = self._tab[step.name]
            tab.set_enabled(step.ready())
            icon, word = _MARKS.get(self._state_of(step), (None, ""))
            tab.props["icon"] = icon
            tab.props["aria-label"] = f"{step.name}{word}"
        source = self.work.source
        self._source.set_text("" if source is None else cut(source.title))
        self._figures.set_text(" · ".join(status.figures(self.work)))
        state, brief = status.mark(self.work) or ("", "")
        self._verdict.set_text(f"Verdict: {brief}" if brief else "")
        self._verdict.classes(replace=f"chip {LOOKS[state]}" if brief else "")
        following = self._following()
        self._next.set_visibility(following is not None)
        if following is not None:
            self._next.set_text(f"Next: {following.name}")
            self._next.set_enabled(following.ready())

    def _state_of(self, step: Any) -> str:
        """Return the state of the verdict in steps that show it, else ``holds`` where a step is finished."""
        state, _ = status.mark(self.work) or ("holds", "")
        if state != "holds" and (isinstance(step, Run) or step.of_release):
            return state
        return "holds" if self._is_finished(step) else ""

    def _is_finished(self, step: Any) -> bool:
        if isinstance(step, Table):
            return self.work.table is not None
        if isinstance(step, Roles):
            return status.has_roles(self.work)
        if isinstance(step, Run):
            return self.work.release is not None
        return step.ready() and step.name in self._visited

    def _following(self) -> Any:
        """Return the step after the one that is shown; steps that may be left out are passed over."""
        place = self._steps.index(self._shown) + 1
        return next((step for step in self._steps[place:] if not step.optional), None)

    def go(self, name: str) -> None:
        """Go to a step."""
        self.enable()
        self._tabs.set_value(name)

    async def run_again(self) -> None:
        """Take changed choices, and make the release anew."""
        self.changed()
        self.go(Run.name)
        await next(step for step in self._steps if isinstance(step, Run)).make()

    def show_tree(self, column: str) -> None:
        """Go to the hierarchy of a column."""
        step = next(step for step in self._steps if isinstance(step, Hierarchies))
        step.column = column
        self.go(Hierarchies.name)

    def _open(self, name: str) -> None:
        """Draw a step that was chosen, and bring its heading into sight."""
        self._visited.add(self._shown.name)
        self._shown = next(step for step in self._steps if step.name == name)
        self.redraw(self._shown)
        ui.run_javascript(_AT_TOP)

    def redraw(self, step: Any) -> None:
        """Draw a step anew."""
        self._messages.clear()
        with emptied(step.panel):
            if self.teaching.value:
                self._explain_again = explain(self, step.name)
            step.draw()
        self.enable()

    def released(self) -> None:
        """Show a new release, also in a step that was opened while it was made."""
        self.enable()
        if self._shown.of_release:
            self.redraw(self._shown)

    def changed(self) -> None:
        """Say that the choices changed, so that their results no longer count."""
        self.work.changed()
        self._visited -= {Look.name, HandOver.name}
        self._measured = None
        if self._measuring is not None:
            self._measuring.cancel()
        self.enable()
        if self.teaching.value:
            self._explain_again()

    async def _look(self) -> None:
        """Offer the work that other windows left, and measure the risk of the table after a change."""
        self._offer()
        source = self.work.source
        if self._measuring is not None or self._measured is source or not status.is_measurable(self.work):
            return
        watched = self._measuring = Watched()
        await self.doing(lambda _: None, watched, self.work.assess, watched)
        self._measuring = None
        if watched.cancelled or self.work.source is not source:
            self.work.assessment = None
            return
        self._measured = source
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
    in_the_page()  # a thread has its own
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
