"""The panel of what was tried, and what other algorithms and class sizes would cost."""

from __future__ import annotations

from collections.abc import Callable
from copy import deepcopy
from typing import Any

from nicegui import ui

from incrowd.core.errors import ParameterError
from incrowd.faces.studio import exploring
from incrowd.faces.studio.cancelling import Watched
from incrowd.faces.studio.exploring import Point
from incrowd.faces.studio.fields import button, choice_field, text_field
from incrowd.faces.studio.job import Job
from incrowd.faces.studio.panels.panel import Panel
from incrowd.faces.studio.parts import emptied, grid, heading, marked, note, words
from incrowd.search import ALGORITHMS

_FIRST = ("mondrian", "datafly")
_SIZES = "2, 5, 10, 20"
_Take = Callable[[Any, Any], None]


class Explore(Panel):
    """Compare algorithms and class sizes, and take one of them."""

    name = "Explore"

    def __init__(self, page: Any) -> None:
        super().__init__(page)
        self._job = Job(page, "Compare", "compare", self._compare, self._show)
        self._lattice = Job(page, "Search the lattice", "lattice", self._search, self._show_lattice)
        self._chosen: list[str] = list(_FIRST)
        self._sizes = _SIZES

    def draw(self) -> None:
        """Show the compared runs."""
        heading("What would be lost?")
        note(
            "See what protection costs before you choose. Every algorithm runs with every class size k, the "
            "least number of records that look alike; the other limits stand. Nothing is released. You may "
            "leave this step out."
        )
        with ui.element("div").classes("fields"):
            names = [each.name for each in ALGORITHMS if not each.needed()]
            chosen = choice_field(names, "Algorithms", "algorithms", self._chosen, multiple=True)
            chosen.bind_value_to(self, "_chosen")
            sizes = text_field("Class sizes k", "sizes", self._sizes, "whole numbers with commas between")
            sizes.bind_value_to(self, "_sizes")
        self._job.draw()
        self._found = marked(ui.column().classes("w-full"), "compared")
        self._draw_lattice()

    def _search(self, work: Any, watched: Watched) -> Any:
        before = self._choices()
        space = work.explore(watched)
        points = exploring.of_lattice(work, space, watched)
        watched.stage("examples")
        return before, (space, points, work.examples(space.names))

    def _compare(self, work: Any, watched: Watched) -> Any:
        sizes = [part.strip() for part in self._sizes.split(",")]
        if not all(part.isdecimal() and int(part) for part in sizes):
            raise ParameterError("class sizes: write whole numbers from 1 with commas between, as 2, 5, 10")
        if not self._chosen:
            raise ParameterError("algorithms: choose at least one")
        return self._choices(), work.compare(self._chosen, [*map(int, sizes)], watched)

    def _choices(self) -> tuple[Any, ...]:
        """Return the choices that decide whether a run gives a release."""
        work = self.work
        rest = {name: value for name, value in work.choices.document.items() if value and name != "algorithm"}
        return work.source, work.population, deepcopy(rest)

    def _stand(self, before: tuple[Any, ...]) -> bool:
        """Say whether the choices still are those before, and show it where they are not."""
        if before == self._choices():
            return True
        note("The choices changed while this ran. Start it again.")
        return False

    def _show(self, found: Any) -> None:
        before, runs = found
        points = exploring.of_runs(runs)
        with emptied(self._found):
            if not self._stand(before):
                return
            heading("Loss against risk", 3)
            if points:
                kind = ("front", "setting", "largest risk", "loss", "%")
                self._chart(points, kind, exploring.take_setting)
            names = ("", "algorithm", "k", "loss", "largest risk", "suppressed", "why not")
            rows = [_row(number, run, points.get(str(number))) for number, run in enumerate(runs, 1)]
            grid("Settings compared", names, rows, numbers=(2, 3, 4, 5))
            if points:
                heading("What each column loses", 3)
                note("What a cell of the column loses on average: 0% is the value as it is, 100% is *.")
                columns, lost = exploring.losses(runs)
                found = grid("What each column loses", columns, lost, numbers=range(1, len(columns)))
                marked(found, "lost")

    def _chart(self, points: dict[str, Point], kind: tuple[str, ...], take: _Take) -> None:
        """Show points as a chart, and as a list for who cannot hit one; either takes a point."""
        mark, what, risk, loss, unit = kind
        document = self.work.choices.document
        best, why = exploring.best(points, document)

        def choose(number: str) -> None:
            take(document, points[number].of)
            self.page.changed()
            self.page.limits_changed()

        note("Low and left is best. Points that are too close stand side by side. Click one to take it.")
        figures = exploring.chart(points, best, risk, loss, unit)
        chart = ui.echart(figures, lambda event: choose(event.name), renderer="svg")
        chart.props["aria-label"] = f"{len(points)} points of loss against risk; the table has their figures"
        marked(chart.classes("chart").props("role=img"), mark)
        marked(words("p", why), "recommended")
        with ui.row().classes("items-center"):
            labels = {number: f"{number}: {point.label}" for number, point in points.items()}
            chosen = choice_field(labels, what.capitalize(), what, best or next(iter(labels)))
            chosen.style("min-width: 220px")
            button("Take it", f"take-{what}", lambda: choose(chosen.value))

    # --- the lattice ------------------------------------------------------------------------------

    def _draw_lattice(self) -> None:
        heading("One level for each column", 3)
        note(
            "A full-domain recoding lifts every column to one level of its hierarchy. All of them make a "
            "lattice. It is searched under the limits that stand."
        )
        self._levels = ui.row().classes("items-center")
        self._tell_levels()
        self._lattice.draw()
        self._nodes = marked(ui.column().classes("w-full"), "nodes")

    def _tell_levels(self) -> None:
        """Say which levels are fixed, and offer to free them."""
        levels = {name: settings.get("levels") for name, settings in self.work.choices.columns.items()}
        fixed = [f"{name} {' to '.join(map(str, both))}" for name, both in levels.items() if both is not None]
        with emptied(self._levels):
            if fixed:
                words("span", f"Fixed levels: {', '.join(fixed)}")
                button("Let them be chosen", "free-levels", self._free)

    def _free(self) -> None:
        exploring.free_levels(self.work.choices.document)
        self.page.changed()
        self._tell_levels()

    def _show_lattice(self, found: Any) -> None:
        before, (space, points, examples) = found
        with emptied(self._nodes):
            if not self._stand(before):
                return
            proved = "none loses less than the first" if space.proved else "others may lose less"
            note(f"{len(space.nodes):,} of {space.size:,} nodes were looked at; {proved}.")
            if not points:
                note("None of the best nodes can be released: the limits fail on the cells that would leave.")
                return
            self._chart(points, ("nodes-front", "node", "mean risk", space.metric, ""), exploring.take_levels)
            rows = []
            for number, point in points.items():
                cells = [exploring.cell_at(level, examples.get(name)) for name, level in point.of.items()]
                rows.append((number, *cells, f"{point.loss:.4g}", f"{point.risk:.1%}"))
            names = ("", *(f"level of {name}" for name in space.names), space.metric, "mean risk")
            grid("Nodes of the lattice", names, rows, numbers=(len(names) - 2, len(names) - 1))
            note("Level 0 is the value as it is. Beside a level stands what the most frequent value becomes.")


def _row(number: int, run: Any, point: Point | None) -> tuple[Any, ...]:
    if point is None:
        return (number, run.algorithm, run.k, "-", "-", "-", run.problem)
    figures = (f"{point.loss:.1%}", f"{point.risk:.1%}", f"{point.suppressed:,.0f}")
    return (number, run.algorithm, run.k, *figures, "")
