"""Step 5: what the release is like."""

from __future__ import annotations

from typing import Any

from nicegui import ui

from incrowd.studio.parts import frame, grid, heading, marked, note, words

__all__ = ["Look"]

_ROWS = 8
_COLUMNS = 40


class Look:
    """Look at the release beside the table, and at what it protects and loses."""

    name = "Look"

    def __init__(self, page: Any) -> None:
        self.page = page
        self.panel: Any = None
        self._from = 0

    def ready(self) -> bool:
        """Say whether there is a release."""
        return self.page.work.release is not None

    def draw(self) -> None:
        """Show the account of the release."""
        document = self.page.work.account
        heading("What the release is like")
        words("div", document["verdict"]["text"], "good")
        with marked(words("ul", ""), "sentences"):
            for sentence in document["sentences"]:
                words("li", sentence)
        heading("The same rows before and after", 3)
        note(
            "Here they stand side by side for you. In the release the rows come in another order, unless "
            "you keep theirs."
        )
        self._from = 0
        with ui.row():
            back = ui.button("Rows before", on_click=lambda: self._turn(-_ROWS))
            marked(back, "rows-before").props("no-caps outline")
            on = ui.button("Next rows", on_click=lambda: self._turn(_ROWS))
            marked(on, "rows-next").props("no-caps outline")
        self._told = ui.column().classes("w-full")
        self._rows = ui.column().classes("w-full").style("min-height: 330px")
        ui.timer(0, self._draw_rows, once=True)
        with ui.element("div").classes("halves"):
            with ui.column():
                self._sizes(document)
            with ui.column():
                self._loss(document)
        self._risk(document)

    async def _turn(self, step: int) -> None:
        there = self._from + step
        if 0 <= there < self.page.work.height:
            self._from = there
            await self._draw_rows()

    async def _draw_rows(self) -> None:
        found = await self.page.doing(self._told, None, self.page.work.side_by_side, self._from, _ROWS)
        if found is None:
            return
        before, after = found
        end, rows = self._from + before.height, self.page.work.height
        self._rows.clear()
        with self._rows:
            words("p", f"Rows {self._from + 1:,} to {end:,} of {rows:,}")
            with ui.element("div").classes("halves"):
                for title, part in (("Before", before), ("After", after)):
                    with ui.column().classes("w-full"):
                        words("div", title, "name")
                        marked(frame(title, part.select(part.columns[:_COLUMNS])), title.lower())

    def _sizes(self, document: dict[str, Any]) -> None:
        heading("Class sizes", 3)
        note("A class is all records that look alike in the quasi-identifiers.")
        before, after = document["classes"]["before"], document["classes"]["after"]
        told = (
            ("count", "classes"),
            ("smallest", "smallest"),
            ("mean", "mean size"),
            ("unique", "records alone"),
        )
        grid(
            "Classes",
            ("", "before", "after"),
            [(words_, _figure(before[key]), _figure(after[key])) for key, words_ in told],
            numbers=(1, 2),
        )
        sizes = after["distribution"]
        grid(
            "Class sizes",
            ("class size after", "classes", "records"),
            [(_span(each), f"{each['classes']:,}", f"{each['records']:,}") for each in sizes],
            numbers=(1, 2),
        )

    def _loss(self, document: dict[str, Any]) -> None:
        heading("What is lost", 3)
        note("The loss metric per column: 0% is the raw table, 100% nothing left.")
        found = next(each for each in document["loss"] if each["metric"] == "loss")
        rows = [(name, f"{value:.1%}") for name, value in found["per_attribute"].items()]
        grid("What is lost", ("column", "lost"), [*rows, ("all", f"{found['value']:.1%}")], numbers=(1,))

    def _risk(self, document: dict[str, Any]) -> None:
        heading("Risk", 3)
        note("How likely an attacker finds somebody, or guesses a value. Each attacker knows other things.")
        rows = []
        for name, figures in document["risk"]["after"].items():
            raw = document["risk"]["before"].get(name, {})
            rows += [
                (name, what.replace("_", " "), _figure(raw.get(what)), _figure(value))
                for what, value in figures.items()
            ]
        grid("Risk", ("attacker", "figure", "before", "after"), rows, numbers=(2, 3))


def _figure(value: Any) -> str:
    if value is None:
        return "-"
    return f"{value:,}" if isinstance(value, int) else f"{value:.4g}"


def _span(each: dict[str, Any]) -> str:
    least, most = each["least"], each["most"]
    if most is None:
        return f"{least:,} and more"
    return f"{least:,}" if least == most else f"{least:,} to {most:,}"
