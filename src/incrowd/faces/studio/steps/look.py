"""Step 7: a look at the release."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from nicegui import ui

from incrowd.core.lazy import pl
from incrowd.faces.studio import account, parts
from incrowd.faces.studio.bars import bars
from incrowd.faces.studio.fields import button
from incrowd.faces.studio.gate import show_verdict
from incrowd.faces.studio.job import Job
from incrowd.faces.studio.parts import box, bullets, emptied, fold, frame, grid, heading, marked, note, words
from incrowd.faces.studio.rules import show_clauses
from incrowd.faces.studio.steps.step import Step
from incrowd.faces.studio.work import Work
from incrowd_verify.gate.wording import who_knows

_ROWS = 8
_COLUMNS = 40
_SIZES = (("count", "classes"), ("smallest", "smallest"), ("mean", "mean size"), ("unique", "records alone"))
_records = "{:,.0f}".format
_ROW = (
    '<q-tr :props="props"><q-td v-for="{name, value} in props.cols" :key="name" :props="props">'
    '<template v-if="!value.was">{{ value }}</template><template v-else><s>{{ value.was }}</s> '
    '<span aria-hidden="true">\u2192</span> <span class="spoken">{{ value.verb }}</span> '
    """<b :class="{gone: value.now == '*'}">{{ value.now }}</b></template></q-td></q-tr>"""
)
"""Cells before, an arrow, and after; one that stayed once. Screen readers say "34 became 30-39"."""


class Look(Step):
    """Look at the release beside the table, its protection and its losses."""

    name = "Look"
    of_release = True

    def __init__(self, page: Any) -> None:
        super().__init__(page)
        self._from = 0

    def draw(self) -> None:
        """Show the account of the release."""
        document, release = self.work.account, self.work.release
        heading("What the release is like")
        show_verdict(release.verdict)
        # The tiles have the colour of the verdict: a small figure alone is no good news.
        with marked(ui.element("div").classes("charts tiles"), "tiles").props(
            f"data-state={release.verdict.state}"
        ):
            for name, figure, context in account.tiles(document):
                with ui.element("div").classes("box"):
                    words("div", name, "muted")
                    words("div", figure, "figure")
                    words("div", context, "muted")
        marked(bullets(document["sentences"]), "sentences")
        show_clauses(document)
        self._tell_rows()
        self._from = 0
        with ui.row():
            self._back = button("Previous rows", "rows-before", lambda: self._turn(-_ROWS))
            self._on = button("Next rows", "rows-next", lambda: self._turn(_ROWS))
        self._problems = ui.column().classes("w-full")
        self._rows = ui.column().classes("w-full").style("min-height: 330px")
        ui.timer(0, self._draw_rows, once=True)
        self._columns(document)
        self._sizes(document)
        self._risk(document)
        self._fidelity()
        self._attacks()

    def _tell_rows(self) -> None:
        """Say whether the rows that follow are the same before and after, and how that is known."""
        work = self.work
        heading("Rows before and after" if work.same_rows else "Released rows", 3)
        if not work.same_rows:
            note("Columns are treated, and rows of a database have no order: nobody knows which were which.")
            return
        note("An arrow stands where a cell changed; * hides its value. What is left out is not released.")
        if work.source.database is None:
            note("In the release the rows come in another order, unless you keep theirs.")
        else:
            note("Each row is as you opened it, and is found in the release by its quasi-identifiers.")

    async def _turn(self, step: int) -> None:
        there = self._from + step
        if 0 <= there < self.work.height:
            self._from = there
            await self._draw_rows()

    async def _draw_rows(self) -> None:
        tables = await self.page.doing(self._wrong, None, self.work.side_by_side, self._from, _ROWS)
        if tables is None:
            return
        before, after = tables
        end, rows = self._from + before.height, self.work.height
        self._back.set_enabled(self._from > 0)
        self._on.set_enabled(end < rows)
        with emptied(self._rows):
            words("p", f"Rows {self._from + 1:,} to {end:,} of {rows:,}")
            if self.work.same_rows:
                shown = before[:, :_COLUMNS]
                names = [name if name in after.columns else f"{name} (left out)" for name in shown.columns]
                table = marked(grid("Rows before and after", names, changed_cells(shown, after)), "rows")
                next(iter(table)).add_slot("body", _ROW)
            else:
                marked(frame("Released rows", after[:, :_COLUMNS]), "rows")

    def _columns(self, document: dict[str, Any]) -> None:
        heading("What became of each column", 3)
        note(
            "Records by value, before and after. The loss metric is what a cell lost on average: 0% is the "
            "raw table, 100% nothing left."
        )
        changes = account.changes(document)
        with marked(ui.element("div").classes("charts"), "distributions"):
            for change in changes[:_COLUMNS]:
                with box(change.name):
                    note(f"{change.lost:.1%} lost; {change.how}")
                    bars(f"Records by {change.name}", change.records, _records)
        if len(changes) > _COLUMNS:
            note(f"The first {_COLUMNS} of {len(changes):,} columns.")

    def _sizes(self, document: dict[str, Any]) -> None:
        with ui.element("div").classes("charts"):
            with box("Class sizes"):
                note("A class is all records that look alike. Records by the size of their class:")
                marked(bars("Class sizes", account.class_sizes(document), _records), "sizes")
            with box("Classes"):
                before, after = document["classes"]["before"], document["classes"]["after"]
                rows = [(label, _figure(before[key]), _figure(after[key])) for key, label in _SIZES]
                grid("Classes", ("", "before", "after"), rows, numbers=(1, 2))
        names, weak = account.weakest(document)
        if weak:
            heading("The weakest class of each model", 3)
            note("The class that is nearest to failing it, as it is released. Nobody is protected less.")
            classes = grid("The weakest classes", names, weak, numbers=(len(names) - 2, len(names) - 1))
            marked(classes, "weakest")

    def _risk(self, document: dict[str, Any]) -> None:
        heading("Risk", 3)
        knows = who_knows([each["name"] for each in document["attributes"]])
        note(
            f"How likely {knows}, finds somebody or guesses a value. Attackers differ in what they know "
            "of who is in the table."
        )
        with ui.element("div").classes("charts"), ui.column().classes("box"):
            marked(bars("Risk", account.risks(document), lambda value: f"{value:.1%}"), "risks")
        with fold("All figures of the risk models"):
            figures = account.risk_figures(document)
            rows = [(model, name, _figure(before), _figure(after)) for model, name, before, after in figures]
            grid("All figures", ("attacker", "figure", "before", "after"), rows, numbers=(2, 3))

    # --- what is measured when somebody asks ------------------------------------------------------

    def _fidelity(self) -> None:
        heading("Distributions and associations", 3)
        note("How far each distribution moved, and whether columns still go together as they did.")
        Job(self.page, "Compare", "fidelity", lambda work, _: work.fidelity(), self._show_fidelity).draw()
        self._compared = marked(ui.element("div").classes("halves"), "fidelity-found")

    def _show_fidelity(self, found: Any) -> None:
        with emptied(self._compared):
            with ui.column():
                rows = [(name, f"{a:.3f}", f"{b:.3f}") for name, a, b in account.distances(found)]
                names = ("column", "total variation", "Hellinger distance")
                grid("Distances of distributions", names, rows, numbers=(1, 2))
            with ui.column():
                pairs = [(name, f"{a:.3f}", f"{b:.3f}") for name, a, b in account.associations(found)]
                names = ("columns", "Cramer's V before", "after")
                grid("Associations", names, pairs[:_COLUMNS], numbers=(1, 2))

    def _attacks(self) -> None:
        heading("Attacks", 3)
        note(
            "Attacks are tried on the release and checked with the raw table: how often a guess is right, "
            "and how often without the release. In brackets: 95% confidence intervals."
        )
        work = self.work
        if work.attacked < work.height:
            note(
                f"Of this table {work.attacked:,} random rows are attacked. More of them are alone than "
                "among all rows, so the shares are rather too high than too low."
            )
        Job(self.page, "Attack it", "attack", Work.attack, self._show_attacks).draw()
        self._attacked = marked(ui.column().classes("w-full"), "attacked")

    def _show_attacks(self, found: Any) -> None:
        with emptied(self._attacked):
            names = ("attack", "guesses", "right with the release", "right without it", "the release")
            grid("Attacks", names, account.attempts(found), numbers=(1, 2, 3))
            remarks = [f"{each.name}: {remark}" for each in found for remark in each.remarks]
            if remarks:
                marked(bullets(remarks), "attack-remarks")


def changed_cells(before: pl.DataFrame, after: pl.DataFrame) -> Iterator[list[str | dict[str, str]]]:
    """Yield the cells of each row: a text where it stayed, else both texts with a verb between."""
    for old, new in zip(before.iter_rows(named=True), after.iter_rows(named=True), strict=True):
        row: list[str | dict[str, str]] = []
        for name, cell in old.items():
            was, now = parts.cell_text(cell), parts.cell_text(new[name]) if name in new else "left out"
            verb = "is" if name not in new else "was suppressed to" if now == "*" else "became"
            changed = {"was": was, "now": now, "verb": verb}
            row.append(was if was == now else changed)
        yield row


def _figure(value: Any) -> str:
    if value is None:
        return "-"
    return f"{value:,}" if isinstance(value, int) else f"{value:.4g}"
