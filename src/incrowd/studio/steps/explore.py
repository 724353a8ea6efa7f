"""Step 5: the losses of several algorithms and class sizes, before one is chosen."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from typing import Any

from nicegui import ui

from incrowd.algorithms import ALGORITHMS
from incrowd.errors import ParameterError
from incrowd.studio import exploring
from incrowd.studio.cancelling import Watched
from incrowd.studio.exploring import Point
from incrowd.studio.job import Job
from incrowd.studio.parts import grid, heading, hinted, marked, note, words

_FIRST = ("mondrian", "datafly")
_SIZES = "2, 5, 10, 20"
_ASIDE = 32
"""Pixels by which a point stands beside another one of the same loss and risk."""


class Explore:
    """Compare algorithms and class sizes, and take one of them."""

    name = "Explore"
    optional = True

    def __init__(self, page: Any) -> None:
        self.page = page
        self.panel: Any = None
        self._job = Job(page, "Compare", "compare", self._work, self._show)
        self._lattice = Job(page, "Search the lattice", "lattice", self._search, self._show_lattice)
        self._chosen: list[str] = list(_FIRST)
        self._sizes = _SIZES

    def ready(self) -> bool:
        """Say whether there is a table."""
        return self.page.work.choices is not None

    def draw(self) -> None:
        """Show the compared runs."""
        heading("What would be lost?")
        note(
            "See what protection costs before you choose. Every algorithm runs with every class size k, the "
            "least number of records that look alike; the other limits stand. Nothing is released. You may "
            "leave this step out."
        )
        with ui.element("div").classes("fields"):

            def choose(event: Any) -> None:
                self._chosen = list(event.value)

            known = [each.name for each in ALGORITHMS if not each.needed()]
            chosen = ui.select(known, label="Algorithms", value=self._chosen, multiple=True, on_change=choose)
            chosen.props("outlined dense options-dense data-field=algorithms")

            def write(event: Any) -> None:
                self._sizes = event.value

            sizes = ui.input("Class sizes k", value=self._sizes, on_change=write)
            hinted(sizes.props("outlined dense data-field=sizes"), "whole numbers with commas between")
        self._job.draw()
        self._found = marked(ui.column().classes("w-full"), "compared")
        self._draw_lattice()

    def _search(self, watched: Watched) -> Any:
        work = self.page.work
        space = work.explore(watched)
        watched.stage("examples")
        return space, work.examples(space.names)

    def _work(self, watched: Watched) -> Any:
        sizes = []
        for part in self._sizes.split(","):
            if not part.strip().isdecimal() or int(part) < 1:
                raise ParameterError(
                    "class sizes: write whole numbers from 1 with commas between, as 2, 5, 10"
                )
            sizes.append(int(part))
        if not self._chosen:
            raise ParameterError("algorithms: choose at least one")
        return self.page.work.compare(self._chosen, sizes, watched)

    def _show(self, found: Any) -> None:
        self._found.clear()
        points = exploring.of_runs(found)
        with self._found:
            heading("Loss against risk", 3)
            if points:
                note(
                    "To the right: the largest risk that somebody is found. Upward: what a cell loses on "
                    "average. Low and left is best. A number takes its setting."
                )
                self._front(points, "front", self._take_run)
            names = ("", "algorithm", "k", "loss", "largest risk", "suppressed", "seconds", "why not")
            grid("Settings compared", names, [_row(n, run) for n, run in enumerate(found.runs, 1)],
                 numbers=(2, 3, 4, 5, 6))  # fmt: skip
            if points:
                heading("What each column loses", 3)
                note("What a cell of the column loses on average: 0% is the value as it is, 100% is *.")
                runs, rows = exploring.losses(found)
                lost = grid("What each column loses", runs, rows, numbers=range(1, len(runs)))
                marked(lost, "lost")
            if points:
                self._choice(points, "setting", self._take_run)

    def _front(self, points: dict[str, Point], mark: str, take: Callable[[Any], None]) -> None:
        """Show a button for every point, at its place."""
        losses = [each.loss for each in points.values()]
        risks = [each.risk for each in points.values()]
        there: Counter[tuple[float, float]] = Counter()
        with marked(ui.element("div").classes("front"), mark):
            words("span", "risk", "axis risk muted").props("aria-hidden=true")
            words("span", "loss", "axis loss muted").props("aria-hidden=true")
            for number, point in points.items():
                button = ui.button(number, on_click=lambda _, of=point.of: take(of)).props("round dense")
                button.props["aria-label"] = (
                    f"Take {number}: {point.label}, loss {point.loss:.4g}, risk {point.risk:.1%}"
                )
                x, y = exploring.place(point.risk, risks), exploring.place(point.loss, losses)
                # Points at one place stand side by side.
                button.style(f"left: {x:.2f}%; bottom: {y:.2f}%; margin-left: {_ASIDE * there[x, y]}px")
                there[x, y] += 1
        note(exploring.ends(points))

    def _choice(self, points: dict[str, Point], mark: str, take: Callable[[Any], None]) -> None:
        """Show a list of the points, for who cannot hit a number."""
        with ui.row().classes("items-center"):
            labels = {number: f"{number}: {point.label}" for number, point in points.items()}
            chosen = ui.select(labels, label=mark.capitalize(), value=next(iter(labels)))
            chosen.props(f"outlined dense options-dense data-field={mark}").style("min-width: 220px")
            button = ui.button("Take it", on_click=lambda: take(points[chosen.value].of))
            marked(button, f"take-{mark}").props("no-caps outline")

    def _take_run(self, run: Any) -> None:
        """Make a setting the choice, and go on to the run."""
        exploring.take_setting(self.page.work.choices.document, run)
        self.page.changed()
        self.page.go("Run")

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
        self._levels.clear()
        fixed = {
            name: settings["levels"]
            for name, settings in self.page.work.choices.columns.items()
            if settings.get("levels") is not None
        }
        if not fixed:
            return
        with self._levels:
            levels_words = ", ".join(
                f"{name} {' to '.join(map(str, levels))}" for name, levels in fixed.items()
            )
            words("span", f"Fixed levels: {levels_words}")
            marked(ui.button("Let them be chosen", on_click=self._free), "free-levels").props(
                "no-caps outline"
            )

    def _free(self) -> None:
        exploring.free_levels(self.page.work.choices.document)
        self.page.changed()
        self._tell_levels()

    def _show_lattice(self, found: Any) -> None:
        self._nodes.clear()
        space, examples = found
        points = exploring.of_lattice(space)
        with self._nodes:
            proved = "none loses less than the first" if space.proved else "others may lose less"
            note(
                f"{len(space.nodes):,} of {space.size:,} nodes were looked at; {proved}. "
                f"To the right: the mean risk. Upward: {space.metric}. None of these is beaten in both."
            )
            self._front(points, "nodes-front", self._take_node)
            rows = [
                (
                    number,
                    *(exploring.cell_at(level, examples.get(name)) for name, level in point.of.items()),
                    f"{point.loss:.4g}",
                    f"{point.risk:.1%}",
                )
                for number, point in points.items()
            ]
            names = ("", *(f"level of {name}" for name in space.names), space.metric, "mean risk")
            grid("Nodes of the lattice", names, rows, numbers=(len(names) - 2, len(names) - 1))
            note("Level 0 is the value as it is. Beside a level stands what the most frequent value becomes.")
            self._choice(points, "node", self._take_node)

    def _take_node(self, levels: Any) -> None:
        """Fix the levels of a node, and go on to the run."""
        exploring.take_levels(self.page.work.choices.document, levels)
        self.page.changed()
        self.page.go("Run")


def _row(number: int, run: Any) -> tuple[Any, ...]:
    if run.problem is not None:
        return (number, run.algorithm, run.k, "-", "-", "-", "-", run.problem)
    return (
        number,
        run.algorithm,
        run.k,
        f"{run.utility['loss']:.1%}",
        f"{1 / run.smallest if run.smallest else 0.0:.1%}",
        f"{run.suppressed:,.0f}",
        f"{run.seconds:.2f}",
        "",
    )
