"""The page of linked tables, in the panel of the table: joins, columns, limits, verdict and files."""

from __future__ import annotations

from collections.abc import Collection, Iterator
from functools import partial
from typing import TYPE_CHECKING, Any

from nicegui import ui

from incrowd.core.errors import listed, visible
from incrowd.core.table.schema import OPEN_ROLE
from incrowd.faces.studio import declared
from incrowd.faces.studio.export import policy_file
from incrowd.faces.studio.fields import button, choice_field, hinted, path_field
from incrowd.faces.studio.gate import Gate, show_verdict
from incrowd.faces.studio.job import Job, download
from incrowd.faces.studio.limits_bar import LimitsBar
from incrowd.faces.studio.mends import Change, changes_of
from incrowd.faces.studio.panels.column_forms import ROLES, ColumnForms
from incrowd.faces.studio.parts import box, bullets, cell_text, cut, emptied, heading, marked, note, words
from incrowd.faces.studio.sets import KNOWN
from incrowd.faces.studio.tables import path_of
from incrowd.release.linked.drawing import svg_of_joins

if TYPE_CHECKING:
    from incrowd.faces.studio.linked import LinkedTables
    from incrowd_gate.points import Point

_EXAMPLES = 3
_MENDS = ("quasi", "identifying", "round", "limit", "protect", "no-tree", "suppress")
"""Changes that are defined for several tables."""
_ABSENT = (
    "Not here for several tables: rows before and after, count tables, other settings, attacks, reports, "
    "projects, and steps back. Open one table alone for these."
)


class LinkedPanel:
    """The page of linked tables, `work`; to the forms of columns and limits it stands for the whole page."""

    def __init__(self, panel: Any, work: LinkedTables) -> None:
        self.work, self._panel, self._page = work, panel, panel.page
        self.doing, self.enable = self._page.doing, self._page.enable
        self._table, self._column = next(iter(work.frames)), ""
        self._forms = ColumnForms(self, self._give, self.changed, lambda _: self._open(""))
        self._limits = LimitsBar(self, methods=False)
        make = partial(Job, self._page, "Make the release", "run")
        self._job = make(lambda _, watched: work.anonymize(watched), self._show)

    def draw(self) -> None:
        """Show the tables and their joins, the columns of one table at a time, the limits and the release."""
        work = self.work
        heading(f"{len(work.frames)} tables about the same people")
        marked(note(f"Roles, joins and limits: {work.chosen.origin}. Check all of them."), "policy")
        with ui.element("div").classes("halves"):
            with ui.column().classes("w-full"):
                drawing = ui.html(svg_of_joins(work.tables, work.height), sanitize=False).classes(
                    "wide-table"
                )
                drawing.props("tabindex=0 role=region aria-label=Joins")
                heading("What is each column?", 3)
                tables = ui.toggle([*work.frames], value=self._table, on_change=lambda e: self._turn(e.value))
                marked(tables, "linked-tables").props('no-caps dense unelevated aria-label="Table"')
                self._list = ui.column().classes("w-full").style("gap: 4px")
                note(_ABSENT)
                button("Choose another table", "another-table", self._leave, icon="undo")
            with ui.column().classes("w-full"):
                self._form = ui.column().classes("w-full")
                heading("What may become known of a person?", 3)
                self._limits.draw(ui.element("section").classes("limits-bar").props('aria-label="Limits"'))
                self._draw_known()
                self._keys = ui.column().classes("w-full")
                self._result = ui.column().classes("w-full")
        self._draw_keys()
        self._draw_result()
        self._draw_columns()
        self._draw_form()

    def _leave(self) -> None:
        self._page.stop()
        self._page.work.close_table()
        self._page.redraw(self._panel)
        self._page.note_place()

    def _turn(self, table: str) -> None:
        self._table = table
        self._draw_columns()
        self._open("")

    def _draw_columns(self) -> None:
        """List the columns of the table in sight, with a role each; one that joins follows another."""
        work, joined = self.work, self.work.joined(self._table)
        with emptied(self._list):
            note(f"{work.height[self._table]:,} rows. Click the name of a column to see more.")
            for place, column in enumerate(work.frames[self._table].columns):
                name = f"{self._table}.{column}"
                with ui.element("div").classes("linked-column").props(f"data-column={place}"):
                    if column in joined:
                        words("span", column, "name")
                        words("span", f"leaves as {joined[column]} does", "muted")
                    elif name in work.chosen.columns:
                        button(visible(cut(column)), "open-column", partial(self._open, name), "flat dense")
                        role = choice_field(ROLES, "Role", "role", work.chosen.columns[name]["role"])
                        role.on_value_change(lambda e, name=name: self._give([name], e.value))
                        role.props["aria-label"] = f"Role of {visible(name)}"
                    else:
                        words("span", column, "name")
                        words("span", "left out: the policy does not name it", "muted")

    def _open(self, name: str, _: Any = None) -> None:
        self._column = name
        self._draw_form()

    def _draw_form(self) -> None:
        """Show the forms of the open column."""
        with emptied(self._form):
            if self._column:
                some = self.work.cells(self._column).drop_nulls().unique(maintain_order=True)[:_EXAMPLES]
                self._forms.name = self._column
                place = self.work.frames[self._table].columns.index(self._column.partition(".")[2])
                self._forms.draw(place, [cell_text(each) for each in some])

    def _give(self, names: Collection[str], role: str) -> None:
        columns = self.work.chosen.columns
        if changed := [name for name in names if columns[name]["role"] != role]:
            for name in changed:
                declared.give_role(columns[name], name, role)
            self._follow()

    def _follow(self) -> None:
        """Show columns and limits after a change, and offer the next release."""
        self._draw_columns()
        self._draw_form()
        self.limits_changed()
        self.changed()

    def _draw_known(self) -> None:
        """Ask for each table below the people how many rows of a person an attacker knows."""
        with ui.element("div").classes("fields"):
            for number, settings in enumerate(self.work.chosen.document["linked"]):
                if settings.get("join"):

                    def take(event: Any, settings: dict[str, Any] = settings) -> None:
                        settings["known"] = event.value
                        self.changed()

                    label = f"Known rows of {settings['name']}"
                    given = settings.get("known", "all")
                    known = choice_field([*KNOWN, "all"], label, f"known-{number}", given, on_change=take)
                    hinted(known, "an attacker knows so many of a person")

    def _draw_keys(self) -> None:
        """Ask for a file with the key of pseudonyms, where the environment has none."""
        with emptied(self._keys):
            if lacking := self.work.lacking_keys():

                def take(text: str) -> None:
                    for treat in lacking:
                        treat["key"] = f"file:{path_of(text).absolute()}"
                    self._draw_keys()
                    self.changed()

                with marked(box("The keys of the tables leave as pseudonyms, which need a secret"), "key"):
                    variable = lacking[0]["key"].removeprefix("env:")
                    note(
                        f"Start the studio with {variable} in its environment. Or make a file that you alone "
                        "may read: openssl rand -hex 32 > key; chmod 600 key"
                    )
                    label, hint = "Path of the file with the secret", "the path, and never the secret"
                    path_field(label, "key-file", "", hint, take).classes("w-full")

    def _show(self, _: Any = None) -> None:
        self._draw_result()
        self._page.enable()

    def _draw_result(self) -> None:
        """Show the verdict with its points and files, or the way to a release."""
        release = self.work.release
        with emptied(self._result):
            if (open_columns := self.work.chosen.having(OPEN_ROLE)) and release is None:
                told = f"Still without a role: {listed(open_columns, 5)}"
                marked(words("div", told, "warn").props("role=status"), "open-roles")
            elif release is None:
                self._job.draw()
            else:
                verdict, changes = release.verdict, partial(changes_for, work=self.work)
                accepted = [each.sentence() for each in verdict.accepted]
                show_verdict(verdict, None if verdict.holds else accepted)
                marked(bullets(release.sentences()), "sentences")
                if verdict.holds:
                    self._draw_files()
                else:
                    Gate(self, self.work, self._show, changes, self._follow).draw()

    def _draw_files(self) -> None:
        heading("Take it with you", 3)
        note(
            "The archive has all tables, the policy that may be published, and the account to check by. Keep "
            "the other policy: its hierarchies may hold raw values."
        )
        with ui.row():
            download(self._page, "All tables", "get-tables", lambda _, watched: self.work.archive(watched))
            policy = self.work.policy()
            download(self._page, "Policy", "get-policy", lambda *_: policy_file(self.work, policy))
        note("The same by a command, beside the policy and the folder of the tables; then the check of it:")
        marked(words("pre", f"{self.work.command()}\nincrowd verify released"), "command")

    def changed(self) -> None:
        """Forget the release under the choices before, and offer the next one."""
        self._job.stop()
        self.work.changed()
        self._draw_result()
        self._page.enable()

    limits_moved = changed

    def limits_changed(self) -> None:
        """Show the limits anew, after the roles of columns changed."""
        self._limits.draw()

    def go(self, _: str) -> None:
        """Go to the columns, which stand on this page, too."""
        self._page.run_script("document.querySelector('[data-mark=linked-tables]')?.scrollIntoView()")


def changes_for(point: Point, work: LinkedTables) -> Iterator[Change]:
    """Return the changes that remove a point, of those that are defined for several tables."""
    cells = {name: work.cells(name) for name in point.columns if name in work.chosen.columns}
    return changes_of(point, work, lambda: cells, _MENDS) if {*point.columns[:1]} & {*cells} else iter(())
