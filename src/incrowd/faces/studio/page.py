"""The page of a window: the table in the middle, the limits above, and a panel at the side."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from copy import deepcopy
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any, ParamSpec, TypeVar
from urllib.parse import quote, unquote

from nicegui import background_tasks, run, ui

from incrowd.faces.studio import status
from incrowd.faces.studio.cancelling import Watched
from incrowd.faces.studio.fields import button
from incrowd.faces.studio.figures import Figures
from incrowd.faces.studio.following import Following
from incrowd.faces.studio.history import History, State
from incrowd.faces.studio.limits_bar import LimitsBar
from incrowd.faces.studio.outcomes import Outcome, in_words, outcome_of
from incrowd.faces.studio.panels.column import Columns
from incrowd.faces.studio.panels.count_tables import Tables
from incrowd.faces.studio.panels.explore import Explore
from incrowd.faces.studio.panels.hand_over import HandOver
from incrowd.faces.studio.panels.limits import Limits
from incrowd.faces.studio.panels.table import Table
from incrowd.faces.studio.panels.verdict import VerdictPanel
from incrowd.faces.studio.parts import STYLE, cut, emptied, marked, tell, words
from incrowd.faces.studio.refining import Refining
from incrowd.faces.studio.rows import SCRIPT, VIEWS, Rows
from incrowd.faces.studio.tables import Source, in_database
from incrowd.faces.studio.teaching import explain
from incrowd.faces.studio.windows import Windows
from incrowd.faces.studio.work import Work
from incrowd.release.report import heat

_ENDED = """<script>
addEventListener("load", () => {
  const more = document.createElement("p");
  more.textContent = "If incrowd studio has ended, what ran has stopped, and nothing of it is left. " +
    "Start it again, and open the address that it prints. What you made is only in files that you saved.";
  document.querySelector("#popup > :last-child").append(more);
});
</script>"""
"""A window whose studio has ended says so."""
_BACK = "<script>addEventListener('popstate', () => emitEvent('place', location.pathname));</script>"
"""The browser's Back and Forward open the panel of their address."""
_AT_TOP = """setTimeout(() => {
  const panel = document.querySelector(".side .q-tab-panel");
  panel?.scrollTo(0, 0);
  panel?.querySelector("h2")?.focus({preventScroll: true});
}, 50)"""
"""A panel opens at its top, with the focus on its heading; the browser needs a moment to draw it."""
_FOCUS = Path(__file__).with_name("focus.js").read_text(encoding="utf-8")
_LOOKS = 0.5
"""Seconds between two looks at the loops that are compiled."""
_PROJECT = "project"
"""Where the address of a project begins, in place of the name of a work."""
P = ParamSpec("P")
T = TypeVar("T")
_MARKS = {"holds": ("positive", ", holds"), "open": ("warning", ", open"), "broken": ("negative", ", broken")}
"""The colour of the dot on a tab, and what a screen reader says behind its name."""
_PANELS = (Columns, Limits, Tables, Explore, VerdictPanel, HandOver)


def show(
    data: Path | tuple[str, str] | None,
    policy: tuple[dict[str, Any], Path] | None,
    folder: Path,
    place: tuple[str, ...] = (),
) -> None:
    """Show the page to a new window.

    Parameters
    ----------
    folder
        Where projects lie.
    place
        The parts of its address: the name of a work, of a panel and of a column, as far as it has them.
    """
    ui.colors(
        primary="#1a5a9e", secondary="#44546a", accent="#7a4a00", negative="#b3261e", positive="#1b7a3d"
    )
    ui.add_css(STYLE + heat.STYLE)
    ui.add_body_html(_ENDED + _BACK)
    ui.add_head_html(f"<script>{{{SCRIPT}}}{{{_FOCUS}}}</script>")
    Page(Work(policy), folder).show(None if place else data, place)


class Page:
    """A window.

    Attributes
    ----------
    work
        What it works on.
    folder
        Where projects lie.
    column
        The column whose panel is open.
    """

    def __init__(self, work: Work, folder: Path) -> None:
        self.work = work
        self.folder = folder
        self.column: str | None = None
        self._table = Table(self)
        self._panels: list[Any] = [self._table, *(panel(self) for panel in _PANELS)]
        self._shown: Any = self._table
        self.rows = Rows(self)
        self._limits = LimitsBar(self)
        self._figures = Figures(self)
        self._refining = Refining(self)
        self._running: set[Watched] = set()
        self._steps: dict[str, Any] = {}
        self._following = Following(self, self._figures, self._refining)
        self._windows = Windows(self)

    def show(self, data: Path | tuple[str, str] | None, place: tuple[str, ...] = ()) -> None:
        """Draw everything, and open the table that the command named, or the place of the address."""
        self._client = ui.context.client
        self._client.on_exception(self.failed)
        ui.on("place", lambda event: self._go_back(str(event.args)))
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
        self.main = ui.element("div").classes("studio")
        with self.main:
            self._windows.draw()
            with ui.element("div").classes("bars-above") as self._bars:
                self._limits_place = ui.element("section").classes("limits-bar")
                self._limits_place.props('aria-label="Limits"')
                self._figures_place = ui.element("section").classes("figures-bar")
                self._figures_place.props('aria-label="Risk and verdict"')
            with ui.element("div").classes("desk") as self._desk:
                with ui.element("section").classes("middle") as self._middle:
                    self._middle.props('aria-label="The table"')
                    self._tools()
                    self.rows.draw()
                    self._refining.draw()
                with ui.element("section").classes("side") as self._side:
                    self._side.props('aria-label="Panel"')
                    self._draw_side()
        self._show_side(shown=True)
        self.enable()
        if place[:1] == (_PROJECT,):
            self._table.project = place[1]
        else:
            self._windows.sought = place
        self._tabs.set_value(Table.name)
        ui.timer(_LOOKS, self._figures.look)
        if data is not None:
            ui.timer(0, lambda: self._table.open(self._source_of(data)), once=True)

    def _tools(self) -> None:
        """Show the views of the rows, and the field that finds a column."""
        with ui.row().classes("tools items-center w-full"):
            view = ui.toggle(VIEWS, value=self.rows.view, on_change=lambda e: self.rows.choose_view(e.value))
            marked(view, "view").props("no-caps dense unelevated")
            self._find = ui.input("Find a column", on_change=self.filter)
            self._find.props("outlined dense clearable data-field=find-column")
            self._count = words("span", "", "muted").props("role=status")
            ui.space()
            for mark, step in (("undo", History.undo), ("redo", History.redo)):
                self._steps[mark] = button(
                    "", f"{mark}-change", partial(self._step, step), "flat dense", icon=mark
                )
            self._wide = button("", "wide", self._widen, "flat dense", icon="keyboard_double_arrow_left")
            self._wide.props["aria-label"] = "Wider panel"
            self._fold = button("", "fold-panel", self._fold_side, "flat dense")
            self._fold.props["aria-label"] = "Panel"

    def _fold_side(self) -> None:
        self._show_side(shown=not self._side.visible)

    def _show_side(self, *, shown: bool) -> None:
        """Show the panel, or leave the panel's place to the table."""
        self._side.set_visibility(shown)
        self._wide.set_visibility(shown)
        self._fold.props["aria-expanded"] = str(shown).lower()
        self._fold.set_icon(f"keyboard_double_arrow_{'right' if shown else 'left'}")

    def _widen(self) -> None:
        """Give the panel half of the page, or the usual width again."""
        self._side.classes(toggle="wide")

    def filter(self) -> None:
        """Show the columns with the sought text in the name."""
        sought = (self._find.value or "").casefold()
        names = [name for name in self.rows.names if sought in name.casefold()]
        self.rows.seek(names)
        self._tell_columns(len(names))

    def _draw_side(self) -> None:
        self._tabs = ui.tabs(on_change=lambda e: self._open(e.value)).classes("w-full")
        self._tabs.props("no-caps dense align=left breakpoint=0 outside-arrows mobile-arrows")
        with self._tabs:
            self._tab = {
                panel.name: ui.tab(panel.name, panel.name).props(f"data-step={number}")
                for number, panel in enumerate(self._panels, 1)
            }
        self._messages = ui.column().classes("w-full")
        with ui.tab_panels(self._tabs, animated=False).classes("w-full").style("background: none"):
            for panel in self._panels:
                with ui.tab_panel(panel.name):
                    panel.panel = ui.column().classes("w-full items-start").style("gap: 8px")

    def _source_of(self, data: Path | tuple[str, str]) -> Source:
        if isinstance(data, Path):
            return Source(data.absolute(), str(data))
        return in_database(*data, self.work.place(""))

    def stop(self) -> None:
        """Stop the running work."""
        self._refining.stop()
        for watched in self._running:
            watched.cancel()

    def begin(self, work: Work, place: tuple[str, ...] = ()) -> None:
        """Go on with other work, at the place that an address names."""
        self.work = work
        self.column, self._table.project = None, ""
        self._windows.offer()
        if work.table is None:
            self.go(Table.name)
            self.redraw(self._table)
        else:
            self.opened(place)

    # --- the panels -------------------------------------------------------------------------------

    def opened(self, place: Sequence[str] = ()) -> None:
        """Show the table of the work that was opened, at the place that an address names."""
        self._windows.forget_place()
        self.rows.show()
        self._limits.draw(self._limits_place)
        self._figures.draw(self._figures_place)
        self.enable()
        self._find.set_value("")
        self._tell_columns(len(self.rows.names))
        background_tasks.create(self._measure_shapes())
        self._tabs.set_value((self._find_place(place) or self._panels[1]).name)
        self.changed(anew=False)

    async def _measure_shapes(self) -> None:
        work = self.work
        with self.main:
            shapes = await self.doing(lambda _: None, None, self.rows.measure, work)
            if shapes is not None and self.work is work:
                self.rows.take_shapes(shapes)

    def _tell_columns(self, shown: int) -> None:
        """Say how many rows and columns there are, and how many of the columns are shown."""
        every = len(self.rows.names)
        part = f"{shown:,} of " if shown < every else ""
        self._count.set_text(f"{self.work.height:,} rows, {part}{every:,} columns")

    def enable(self) -> None:
        """Enable the panels that have something to show; mark the verdict's."""
        has_table = self.work.table is not None
        for place in (self._bars, self._middle):
            place.set_visibility(has_table)
        self.main.classes(add="with-table" if has_table else "", remove="" if has_table else "with-table")
        if has_table:
            for (word, step), name in zip(self._steps.items(), self.work.history.names, strict=True):
                step.set_text(f"{word.capitalize()}: {cut(name)}" if name else word.capitalize())
                step.set_enabled(bool(name))
                step.set_visibility(bool(name) or word == "undo")
        state, _ = status.mark(self.work) or ("", "")
        for panel in self._panels:
            tab = self._tab[panel.name]
            tab.set_enabled(panel.ready())
            mark = state if isinstance(panel, VerdictPanel | HandOver) else ""
            if isinstance(panel, Columns) and has_table and not status.has_roles(self.work):
                mark = "open"
            colour, word = _MARKS.get(mark, (False, ""))
            tab.props["alert"] = colour
            tab.props["aria-label"] = f"{panel.name}{word}"
        source = self.work.source
        self._source.set_text("" if source is None else cut(source.title))

    def go(self, name: str) -> None:
        """Go to a panel, which may have been folded away."""
        self.enable()
        self._show_side(shown=True)
        self._tabs.set_value(name)

    def is_shown(self, panel: Any) -> bool:
        """Say whether a panel is open."""
        return self._shown is panel

    def take(self, document: Mapping[str, Any]) -> None:
        """Take a policy document in place of the choices; bar, panel and release follow."""
        self._restore(
            State(replace(self.work.chosen, document=deepcopy(dict(document))), self.work.population)
        )

    def _step(self, step: Callable[[History], State]) -> None:
        """Undo the last change, or make the one again that was undone last."""
        self._restore(step(self.work.history))

    def _restore(self, state: State) -> None:
        """Take the choices of another time; bar, panel and release follow."""
        self.work.restore(state)
        if {*self.rows.names} != {*self.work.chosen.columns}:
            self.opened()
            return
        self.rows.show_heads()
        self.limits_changed()
        # What would help stands until the release does.
        if not isinstance(self._shown, VerdictPanel):
            self.redraw(self._shown)
        self.changed(anew=False)

    def limits_taken(self) -> None:
        """Follow a change of limits that was made elsewhere: bar, panel and release."""
        self.limits_changed()
        self.limits_moved()

    def limits_changed(self) -> None:
        """Show the bar of limits anew, after a panel changed limits or the roles of columns."""
        self._limits.draw()

    def limits_moved(self) -> None:
        """Follow a change in the bar of limits, also in an open panel of limits."""
        if isinstance(self._shown, Limits):
            self.redraw(self._shown)
        self.changed()

    def open_column(self, name: str) -> None:
        """Open the panel of a column."""
        self.column = name
        self.rows.show_heads()
        if isinstance(self._shown, Columns):
            self._show_side(shown=True)
            self.redraw(self._shown)
            self.note_place()
        else:
            self.go(Columns.name)

    def _open(self, name: str) -> None:
        """Draw a chosen panel, and bring the heading into sight."""
        self._shown = next(panel for panel in self._panels if panel.name == name)
        self.redraw(self._shown)
        if self.work.tables is not None:
            self.show_verdict()
        self.note_place()
        ui.run_javascript(_AT_TOP)

    def redraw(self, panel: Any) -> None:
        """Draw a panel anew."""
        self._messages.clear()
        with emptied(panel.panel):
            if self.teaching.value:
                self._explain_again = explain(self, panel.name)
            panel.draw()
        self.enable()

    # --- addresses --------------------------------------------------------------------------------

    def note_place(self, how: str = "push") -> None:
        """Give the state an address, pushed or in place of another, so that Back and a reload lead there."""
        if self._windows.sought:
            return  # The work that the address names may come yet.
        if self._table.project:
            place = ["", _PROJECT, self._table.project]
        else:
            place = ["", ""] if self.work.source is None else ["", self.work.name, self._shown.name]
        if isinstance(self._shown, Columns) and self.column in self.rows.names:
            place.append(str(self.rows.names.index(self.column)))
        address = json.dumps(quote("/".join(place)))
        self.run_script(f"if (location.pathname !== {address}) history.{how}State(null, '', {address})")

    def _find_place(self, place: Sequence[str]) -> Any:
        """Take the column that an address names, and return the panel; None where the panel is shut."""
        work, name, column = [*place, "", "", ""][:3]
        panel = next((each for each in self._panels if each.name == name and each.ready()), None)
        if work != self.work.name or panel is None:
            return None
        if isinstance(panel, Columns):
            named = {str(number): name for number, name in enumerate(self.rows.names)}
            self.column = named.get(column)
        return panel

    def _go_back(self, address: str) -> None:
        """Open the panel that an address names; a shut panel stays so, and so does the address."""
        place = unquote(address).split("/")[1:]
        if self.work.table is None:
            self._table.project = place[1] if place[0] == _PROJECT else ""
            self.redraw(self._table)
            self.note_place("replace")
            return
        panel = self._find_place(place)
        if panel is None:
            self.note_place("replace")
        elif panel is self._shown:
            self.rows.show_heads()
            self.redraw(panel)
        else:
            self.rows.show_heads()
            self.go(panel.name)

    def go_to_project(self, name: str) -> None:
        """Go to the new batch of a project, by name."""
        self._windows.sought, self._table.project = (), name
        self.redraw(self._table)
        self.note_place()

    def run_script(self, script: str) -> None:
        """Run a script in the window, from any thread of the work."""
        self._client.run_javascript(script)

    # --- the release follows the choices ----------------------------------------------------------

    def changed(self, *, anew: bool = True) -> None:
        """Say that the choices changed: the table is recoded anew, and the page follows."""
        if anew:
            self.work.changed()
            if self._shown.of_release:
                self.redraw(self._shown)
        self._figures.wait()
        for place in (self._figures_place, self._desk):
            place.classes(add="stale")
        self._refining.stop()
        self.enable()
        self._following.begin()
        if self.teaching.value:
            self._explain_again()

    def show_estimate(self) -> None:
        """Show the figures of a sample, until those of the table are there."""
        if self.work.estimate is not None:
            self._figures.draw(self._figures_place.classes(remove="stale"), waiting=True)

    def follow_up(self) -> None:
        """Show the recoded table, or the release, in heads, rows, figures and panel."""
        if self.work.choices is None:
            return  # Linked tables took the place of the table meanwhile.
        self._desk.classes(remove="stale")
        self.rows.show_heads()
        self.rows.refresh()
        self._figures.draw(self._figures_place.classes(remove="stale"))
        self.enable()
        if self._shown.follows and not self._shown.follow():
            self.redraw(self._shown)

    @property
    def shows_tables(self) -> bool:
        """Whether count tables are in sight, which have a verdict of their own."""
        return isinstance(self._shown, Tables) and self.work.tables is not None

    def show_verdict(self) -> None:
        """Show one verdict on the whole page: that of the tables where they are in sight."""
        self._figures.draw_verdict()

    def show_try(self) -> None:
        """Show a setting that was tried in the background, where the tries are in sight."""
        if isinstance(self._shown, Explore):
            self._shown.draw_last()

    def wrong(self, text: str) -> None:
        """Show an error beside the table."""
        tell(self._messages, text)

    def failed(self, error: Exception) -> None:
        """Say that a part of the page could not be drawn, or that a click had no effect."""
        tell(self._messages, in_words(error))

    # --- work -------------------------------------------------------------------------------------

    async def doing(
        self,
        tell: Callable[[str], None],
        watched: Watched | None,
        work: Callable[P, T],
        *args: P.args,
        **kwargs: P.kwargs,
    ) -> T | None:
        """Have something done in a thread, so that the page goes on, and tell an error.

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
        outcome = await self.outcome(watched, lambda: work(*args, **kwargs))
        if outcome.problem:
            tell(outcome.problem)
        return outcome.result

    async def outcome(self, watched: Watched | None, work: Callable[[], T]) -> Outcome[T]:
        """Have something done in a thread, and return the result or the failure."""
        if watched is not None:
            self._running.add(watched)
        try:
            # There is none where the server ends.
            return await run.io_bound(outcome_of, watched, work) or Outcome(cancelled=True)
        finally:
            if watched is not None:
                self._running.discard(watched)
