"""The figures of a release: classes, risks, distributions, and attacks."""

from __future__ import annotations

from typing import Any

from nicegui import ui

from incrowd.core.documents import loss_in_words
from incrowd.faces.studio import account
from incrowd.faces.studio.bars import bars
from incrowd.faces.studio.job import Job
from incrowd.faces.studio.panels.panel import Panel
from incrowd.faces.studio.parts import box, bullets, emptied, fold, grid, heading, marked, note
from incrowd.faces.studio.work import Work
from incrowd.release.report.charts import risk_rows, size_rows
from incrowd.release.report.details import classes, clauses, losses_of, risks
from incrowd_gate.wording import who_knows

_COLUMNS = 40
_records = "{:,.0f}".format


class Account(Panel):
    """The protection and the losses of the release."""

    def draw(self) -> None:
        """Show the account of the release."""
        document = self.work.account
        heading("What the release is like", 3)
        marked(bullets(document["sentences"]), "sentences")
        if (judged := clauses(document)) is not None:
            heading(judged.title, 3)
            note("This is no legal opinion.")
            marked(grid(*judged), "clauses").classes("wrapped")
        self._columns(document)
        self._sizes(document)
        self._risk(document)
        self._fidelity()
        self._attacks()

    def _columns(self, document: dict[str, Any]) -> None:
        heading("What became of each column", 3)
        note(
            "Records by value, before and after. The loss metric is what a cell lost on average: 0% is the "
            "raw table, 100% nothing left."
        )
        lost, attributes = losses_of(document), document["attributes"]
        with marked(ui.element("div").classes("charts"), "distributions"):
            for each in attributes[:_COLUMNS]:
                name = each["name"]
                with box(name):
                    note(f"{loss_in_words(lost[name])} lost; {each['how']}")
                    records = [(one["label"], one["before"], one["after"]) for one in each["bins"]]
                    bars(f"Records by {name}", records, _records)
        if len(attributes) > _COLUMNS:
            note(f"The first {_COLUMNS} of {len(attributes):,} columns.")

    def _sizes(self, document: dict[str, Any]) -> None:
        with ui.element("div").classes("charts"):
            with box("Class sizes"):
                note("A class is all records that look alike. Records by the size of their class:")
                marked(bars("Class sizes", account.pairs(size_rows(document["classes"])), _records), "sizes")
            with box("Classes"):
                grid(*classes(document), numbers=(1, 2))
        names, weak = account.weakest(document)
        if weak:
            heading("The weakest class of each model", 3)
            note("The class that is nearest to failing it, as it is released. Nobody is protected less.")
            shown = grid("The weakest classes", names, weak, numbers=(len(names) - 2, len(names) - 1))
            marked(shown, "weakest")

    def _risk(self, document: dict[str, Any]) -> None:
        heading("Risk", 3)
        knows = who_knows([each["name"] for each in document["attributes"]])
        note(
            f"How likely {knows}, finds somebody or guesses a value. Attackers differ in what they know "
            "of who is in the table."
        )
        with ui.element("div").classes("charts"), ui.column().classes("box"):
            marked(
                bars("Risk", account.pairs(risk_rows(document["risk"])), lambda value: f"{value:.1%}"),
                "risks",
            )
        with fold("All figures of the risk models"):
            grid(*risks(document), numbers=(1, 2))

    # --- what is measured when somebody asks ------------------------------------------------------

    def _fidelity(self) -> None:
        heading("Distributions and associations", 3)
        note("How far each distribution moved, and whether columns still go together as they did.")
        Job(self.page, "Compare", "fidelity", lambda work, _: work.fidelity(), self._show_fidelity).draw()
        self._differences = marked(ui.element("div").classes("halves"), "fidelity-found")

    def _show_fidelity(self, found: Any) -> None:
        with emptied(self._differences):
            with ui.column():
                moved = ((each.column, each.total_variation, each.hellinger) for each in found.marginals)
                rows = [(name, f"{a:.3f}", f"{b:.3f}") for name, a, b in moved]
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
