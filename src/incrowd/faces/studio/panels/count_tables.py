"""The panel of count tables: a form, the tables with suppressed cells, and downloads."""

from __future__ import annotations

from dataclasses import fields, replace
from functools import partial
from typing import Any

from nicegui import background_tasks, ui

from incrowd.core.errors import InputError, VerdictError
from incrowd.faces.studio import export
from incrowd.faces.studio.fields import button, choice_field, text_field
from incrowd.faces.studio.forms import advanced, entry_form
from incrowd.faces.studio.gate import Gate, show_verdict
from incrowd.faces.studio.job import Job, download
from incrowd.faces.studio.mends import Change
from incrowd.faces.studio.panels.panel import Panel
from incrowd.faces.studio.parts import box, cut, emptied, heading, marked, note, words
from incrowd.faces.studio.table_changes import changes_of_tables, savings
from incrowd.faces.studio.work import Work
from incrowd.release.jobs.make.tabulate import TableRelease, sentence_of
from incrowd.release.report import heat
from incrowd.release.tables.heat import heat_of
from incrowd.release.tables.layout import CountTable
from incrowd_gate.wording import percent

_KNOWN: dict[str, Any] = {
    each.name: (each.metadata["parameter"], each.default) for each in fields(CountTable) if each.metadata
}
_FIRST = ("count", "threshold", "protect")
"""The settings that everybody sees; the others are advanced."""
_SIDES = {"rows": "Rows", "columns": "Columns"}


class Tables(Panel):
    """Choose count tables, make the tables, and take the tables."""

    name = "Tables"
    follows = True

    def __init__(self, page: Any) -> None:
        super().__init__(page)
        self._shown: Any = None
        self._made: Any = None
        self._job = Job(
            page, "Make the tables", "tabulate", Work.tabulate, self._look_further, self._show_refused
        )
        title = "What would coarser codes save?"
        self._saving = Job(page, title, "savings", savings, self._show_savings, icon="search")
        self._written: list[dict[str, Any]] = []
        self._drafts: list[dict[str, Any]] = []

    def draw(self) -> None:
        """Show a form for each table, and the last result."""
        document = self.work.chosen.document
        tables = document.get("tables", [])
        if self._written != tables or not self._drafts:
            # A table that is typed in part is not in the policy yet, and stays as it is.
            self._written, self._drafts = tables, [dict(table) for table in tables] or [{"name": "table"}]
        heading("Give out tables in place of rows")
        note("Small cells are suppressed, and others that would tell them. All tables are audited together.")
        names = self.work.chosen.having("quasi", "sensitive")
        if not names:
            note(
                "Give some columns a role first: quasi-identifiers and sensitive ones make rows and columns."
            )
            return
        for draft in self._drafts:
            self._draw_form(draft, names)
        with ui.row():
            button("Another table", "add-table", self._add, icon="add")
            if len(self._drafts) > 1:
                button("Remove the last", "remove-table", self._remove, icon="remove")
        self._problems = marked(ui.column().classes("w-full"), "table-problems")
        self._job.draw()
        self._shown = marked(ui.column().classes("w-full"), "tables")
        self._show_tables()

    def follow(self) -> bool:
        """Keep the forms, and take away tables that were made under other choices."""
        if self._shown is None or self._shown.is_deleted:
            return False
        if self._made is not self.work.tables:
            self._show_tables()
        return True

    def _draw_form(self, draft: dict[str, Any], names: list[str]) -> None:
        number = self._drafts.index(draft)
        with box(draft["name"]) as place:
            marked(place, f"table-{number}").classes("w-full")
            with ui.element("div").classes("fields"):
                title = text_field("Name", "name", draft["name"])
                title.on("change", lambda: self._take(draft, "name", title.value or ""))
                chosen: dict[str, Any] = {}
                for side, label in _SIDES.items():
                    now = draft.get(side, [])
                    options = dict.fromkeys([*names, *now])
                    field = choice_field({each: each for each in options}, label, side, now, multiple=True)
                    field.props("use-chips").on_value_change(
                        lambda event, side=side: self._take(draft, side, list(event.value))
                    )
                    chosen[side] = field
            with ui.element("div").classes("fields"):
                first = {name: _KNOWN[name] for name in _FIRST}
                form = entry_form(CountTable, draft, self._changed, known=first)
                secret = text_field(
                    "key", "key", draft.get("key", ""), "of a cell key: env:NAME or file:PATH"
                )
                secret.on("change", lambda: self._take(draft, "key", secret.value or None))
                office = text_field(
                    "key table", "key_table", draft.get("key_table", ""), "a rule as 10-5, or file:PATH"
                )
                office.on("change", lambda: self._take(draft, "key_table", office.value or None))
                for each in (secret, office):
                    each.bind_visibility_from(form["protect"], "value", value="cell-key")
            others = {name: each for name, each in _KNOWN.items() if name not in _FIRST}
            with advanced(f"advanced-table-{number}", draft, others), ui.element("div").classes("fields"):
                entry_form(CountTable, draft, self._changed, known=others)

        async def levels() -> None:
            """Offer coarser codes of columns with a hierarchy, each with an example."""
            paths = await self.page.doing(self._wrong, None, self.work.examples, names) or {}
            offered = {name: name for name in names}
            for name, path in paths.items():
                for level in range(1, len(path) - 1):
                    offered[f"{name}:{level}"] = f"{name}, as {cut(path[level])}"
            for side, field in chosen.items():
                if not field.is_deleted:
                    kept = {each: each for each in draft.get(side, []) if each not in offered}
                    field.set_options(dict(sorted({**offered, **kept}.items())))

        ui.timer(0, levels, once=True)

    def _take(self, draft: dict[str, Any], name: str, value: Any) -> None:
        draft[name] = value
        if value in (None, []):
            del draft[name]
        self._changed()

    def _add(self) -> None:
        self._drafts.append({"name": f"table {len(self._drafts) + 1}"})
        self.page.redraw(self)

    def _remove(self) -> None:
        self._drafts.pop()
        self._changed()
        self.page.redraw(self)

    def _changed(self) -> None:
        """Put the tables into the policy once all are valid, else show the error of an invalid table."""
        self._wrong("")
        for draft in self._drafts:
            try:
                CountTable.from_settings(draft)
            except InputError as error:
                self._wrong(str(error))
                return
        self._written = self.work.chosen.document["tables"] = [dict(draft) for draft in self._drafts]
        self.page.changed()

    def _show_tables(self) -> None:
        """Show the last result, below the points of the verdict, or above the downloads."""
        made = self._made = self.work.tables
        self._saving.stop()
        self.page.show_verdict()
        with emptied(self._shown):
            if made is None:
                return
            share = f"{percent(made.hidden)} of the cells are suppressed."
            verdict = replace(made.release.verdict, remark=f"{made.release.verdict.remark} {share}".strip())
            show_verdict(verdict, None if verdict.holds else [each.sentence() for each in verdict.accepted])
            if not verdict.holds:
                self._draw_gate()
            if made.hidden:
                self._saving.draw()
                self._savings = marked(ui.column().classes("w-full"), "savings-of-codes")
            for table in made.release.tables:
                heading(table.layout.name, 3)
                note(sentence_of(table))
                # Every text in it is escaped.
                shown = heat.to_html(heat_of(table, internal=True, short=True))
                ui.html(shown, sanitize=False).classes("w-full")
            if not verdict.holds:
                return
            with ui.row():
                download(self.page, "Tables", "get-tables", export.tables_file)
                policy = made.policy
                download(
                    self.page, "Policy", "get-tables-policy", lambda work, _: export.policy_file(work, policy)
                )
            note("The same by a command, beside the policy. What it writes has the same bytes:")
            marked(words("pre", export.tables_command(self.work)), "tables-command")

    def _look_further(self, made: Any) -> None:
        """Show the new tables, and try coarser codes where cells are suppressed."""
        self._show_tables()
        if made.hidden:
            background_tasks.create(self._saving.run())

    def _show_savings(self, changes: list[Change]) -> None:
        if self._savings.is_deleted:
            return
        with emptied(self._savings):
            if not changes:
                note("No coarser codes of one column suppress fewer cells.")
            for change in changes:

                def take(_: Any, make: Any = change.make) -> None:
                    make()
                    self._make_anew()

                button(change.text, "take-saving", take)

    async def _show_refused(self) -> None:
        """Show the changes with which tables that were refused can be made."""
        if self.work.refused_tables is not None:
            with emptied(self._shown):
                self._draw_gate()

    def _draw_gate(self) -> None:
        changes = partial(changes_of_tables, work=self.work)
        Gate(self.page, self.work, self._follow_answers, changes, self._make_anew, _judged).draw()

    def _follow_answers(self) -> None:
        """Show the answers to points, and begin a running release of rows anew, with the answers."""
        if self.work.release is None:
            self.page.changed(anew=False)
        self.page.follow_up()

    def _make_anew(self) -> None:
        """Make the tables again after a change."""
        self.page.changed()
        self.page.redraw(self)
        background_tasks.create(self._job.run())


def _judged(work: Work) -> TableRelease | VerdictError | None:
    return work.refused_tables if work.tables is None else work.tables.release
