"""Step 4: what several algorithms and class sizes would lose, before one is chosen."""

from __future__ import annotations

from typing import Any

from nicegui import ui

from incrowd.algorithms import ALGORITHMS
from incrowd.errors import ParameterError
from incrowd.studio.cancelling import Watched
from incrowd.studio.job import Job
from incrowd.studio.parts import grid, heading, hinted, marked, note

__all__ = ["Explore"]

_FIRST = ("mondrian", "datafly")
_SIZES = "2, 5, 10, 20"
_MODEL = "k-anonymity"


class Explore:
    """Compare algorithms and class sizes, and take one of them."""

    name = "Explore"

    def __init__(self, page: Any) -> None:
        self.page = page
        self.panel: Any = None
        self._job = Job(page, "Compare", "compare", self._work, self._show)
        self._chosen: list[str] = list(_FIRST)
        self._sizes = _SIZES

    def ready(self) -> bool:
        """Say whether there is a table."""
        return self.page.work.choices is not None

    def draw(self) -> None:
        """Show what is compared."""
        heading("What would be lost?")
        note(
            "Every algorithm runs with every class size k; the other limits stand. Nothing is released. "
            "You may leave this step out."
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
        with self._found:
            made = {str(n): run for n, run in enumerate(found.runs, 1) if run.problem is None}
            heading("Loss against risk", 3)
            if made:
                note(
                    "To the right: the largest risk that somebody is found. Upward: what a cell loses on "
                    "average. Low and left is best. A number takes its setting."
                )
                self._front(made)
            names = ("", "algorithm", "k", "loss", "largest risk", "suppressed", "seconds", "why not")
            grid("Settings compared", names, [_row(n, run) for n, run in enumerate(found.runs, 1)],
                 numbers=(2, 3, 4, 5, 6))  # fmt: skip
            if made:
                self._choice(made)

    def _front(self, made: dict[str, Any]) -> None:
        """Show a button for every setting, at its place."""
        losses = [run.utility["loss"] for run in made.values()]
        risks = [_risk(run) for run in made.values()]
        with marked(ui.element("div").classes("front"), "front"):
            for (number, run), loss, risk in zip(made.items(), losses, risks, strict=True):
                button = ui.button(number, on_click=lambda _, run=run: self._take(run)).props("round dense")
                button.props["aria-label"] = (
                    f"Take {number}: {run.algorithm}, k = {run.k}, loss {loss:.1%}, risk {risk:.1%}"
                )
                button.style(f"left: {_place(risk, risks)}%; bottom: {_place(loss, losses)}%")

    def _choice(self, made: dict[str, Any]) -> None:
        """Show a list of the settings, for who cannot hit a number."""
        with ui.row().classes("items-center"):
            told = {number: f"{number}: {run.algorithm}, k = {run.k}" for number, run in made.items()}
            chosen = ui.select(told, label="Setting", value=next(iter(told))).style("min-width: 220px")
            chosen.props("outlined dense options-dense data-field=setting")
            button = ui.button("Take it", on_click=lambda: self._take(made[chosen.value]))
            marked(button, "take").props("no-caps outline")

    def _take(self, run: Any) -> None:
        """Make a setting the choice, and go on to the run."""
        choices = self.page.work.choices
        algorithm = ALGORITHMS.get(run.algorithm)
        choices.algorithm.clear()
        choices.algorithm["name"] = algorithm.name
        others = [each for each in choices.models if each["model"] != _MODEL]
        choices.models[:] = [{"model": _MODEL, "k": run.k}, *others]
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
        f"{_risk(run):.1%}",
        f"{run.suppressed:,.0f}",
        f"{run.seconds:.2f}",
        "",
    )


def _risk(run: Any) -> float:
    """Return the largest risk; where everything is suppressed there is none."""
    return 1 / run.smallest if run.smallest else 0.0


def _place(value: float, among: list[float]) -> float:
    """Return where a figure stands between the least and the largest, in percent of the way."""
    low, high = min(among), max(among)
    return 5 + 90 * ((value - low) / (high - low) if high > low else 0.5)
