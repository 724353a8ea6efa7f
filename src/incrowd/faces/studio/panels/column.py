"""The panel of a column, or of all columns: questions, people, and the most identifying columns."""

from __future__ import annotations

from collections.abc import Collection
from functools import partial
from typing import Any

from nicegui import ui

from incrowd.core.errors import listed
from incrowd.core.table.schema import OPEN_ROLE
from incrowd.faces.studio import declared
from incrowd.faces.studio.fields import button, choice_field
from incrowd.faces.studio.figures import LOOKS
from incrowd.faces.studio.job import Job
from incrowd.faces.studio.panels.column_forms import ROLES, ColumnForms
from incrowd.faces.studio.panels.panel import Panel
from incrowd.faces.studio.panels.tree import Tree
from incrowd.faces.studio.parts import (
    box,
    bullets,
    cell_text,
    emptied,
    fold,
    grid,
    heading,
    marked,
    note,
    words,
)
from incrowd.faces.studio.rows import points_by_column

_ONE_COLUMN = ("person", "household", "weight")
"""Roles that one column has."""
_MEANINGS = (
    "Quasi-identifier: somebody who knows a person may know it. It is generalized.",
    "Sensitive: nobody must learn it about a person. It is released as it is, protected by the models.",
    "Insensitive: neither of both. It is released as it is.",
    "Identifying: names people, or is not needed. It is left out.",
    "Person, household: says whose row it is, or who lives together. Left out, but counted by.",
    "Weight: how many people a row stands for. Left out, but counted by.",
)
_TELLS = "{} tells {}: hide both or none."
_RELEASED = ("quasi", "sensitive", "insensitive")
_SETS = 10
_EXAMPLES = 50
"""Rows from which examples are taken."""


class Columns(Panel):
    """Give every column a role, and every quasi-identifier a hierarchy."""

    name = "Column"
    follows = True

    def __init__(self, page: Any) -> None:
        super().__init__(page)
        self._forms = ColumnForms(page, self.give, self._form_changed, self._close)
        self._tree = Tree(page)
        self._tree_of = ""
        self._tree_place: Any = None
        title, look = "Which columns identify most?", lambda work, _: work.identifying()
        self._job = Job(page, title, "identify", look, self._identify, icon="search")
        ui.on("open-column", lambda event: self._open(event.args))
        ui.on("give-role", lambda event: self._give_by_place(event.args))

    def draw(self) -> None:
        """Show the column that is open, or the questions about all columns."""
        self._has_people: bool | None = None
        self._state: Any = None
        self._together: Any = None
        self._people: Any = None
        names = self.page.rows.names
        if self.page.column in names:
            self._draw_column(self.page.column)
        else:
            self._draw_all()

    def _draw_column(self, name: str) -> None:
        self._forms.name = name
        # Polars looks columns up by their names, and takes ^name$ for a pattern.
        cells = self.work.rows(0, _EXAMPLES)[name].alias("cells")
        some = cells.drop_nulls().unique(maintain_order=True)[:3]
        place = self.page.rows.names.index(name)
        self._forms.draw(place, [cell_text(each) for each in some])
        self._points = ui.column().classes("w-full")
        self._show_points(name)
        if self.work.chosen.columns[name]["role"] in ("quasi", "sensitive"):
            # It stays open where the panel is drawn anew, as after a step back.
            opened = self._tree_of == name
            with marked(fold("Tree: what each value may become", opened=opened), "fold-tree") as line:
                self._tree_place = tree = ui.column().classes("w-full")

            def turn(*, opened: bool) -> None:
                self._tree_of = name if opened else ""
                self._tree.draw(tree, name) if opened else tree.clear()

            line.on_value_change(lambda e: turn(opened=e.value))
            if opened:
                turn(opened=True)
        names = self.page.rows.names
        at = names.index(name)
        if at + 1 < len(names):
            button("Next column", "next-column", lambda: self.page.open_column(names[at + 1]), "flat dense")

    def _show_points(self, name: str) -> None:
        state, told = points_by_column(self.work).get(name, ("", ""))
        with emptied(self._points):
            if state:
                marked(words("div", told, LOOKS.get(state, "box muted")), "points-of-column")
            for one, other in self.work.chosen.telling:
                if name in (one, other):
                    note(_TELLS.format(one, other))

    def follow(self) -> bool:
        """Show the records and the points of the open column, without a change of forms and folds."""
        if self.page.column in self.page.rows.names:
            self._forms.follow()
            self._show_points(self.page.column)
        return True

    def _draw_all(self) -> None:
        work = self.work
        heading("What is each column?")
        note(
            f"The roles are {work.chosen.origin}. Check every one: only you know what others may know. "
            "Click the name of a column to see more."
        )
        self._state, self._together, self._people = (ui.column().classes("w-full") for _ in range(3))
        self._many()
        self._job.draw()
        self._identifying = marked(ui.column().classes("w-full"), "identifying")
        with fold("What the roles mean"):
            bullets(_MEANINGS)
        self._tell()
        self._ask_together()

    # --- the column that is open ------------------------------------------------------------------

    def _open(self, place: Any) -> None:
        names = self.page.rows.names
        if isinstance(place, int) and 0 <= place < len(names):
            if self.page.column == names[place] and self.page.is_shown(self):
                self._close(names[place])
            else:
                self.page.open_column(names[place])

    def _close(self, _: str | None) -> None:
        self.page.column = None
        self.page.rows.show_heads()
        self.page.redraw(self)

    def _give_by_place(self, args: Any) -> None:
        names, place, role = self.page.rows.names, args.get("place"), args.get("role")
        if isinstance(place, int) and 0 <= place < len(names) and role in ROLES:
            self.give([names[place]], role)

    # --- the roles --------------------------------------------------------------------------------

    def give(self, names: Collection[str], role: str) -> None:
        """Give columns a role, and remove settings of others: a treatment, or the parts of lists."""
        columns = self.work.chosen.columns
        changed = [name for name in names if columns[name]["role"] != role]
        if not changed:
            return
        for name in changed:
            declared.give_role(columns[name], name, role)
        if not self.work.chosen.having("person"):
            self.work.chosen.document.pop("linked", None)
        self.page.rows.show_heads()
        self._changed()
        if self.page.is_shown(self):
            self.page.redraw(self)
        self.page.limits_changed()

    def _form_changed(self) -> None:
        """Show the tree anew, too, where it is open: its hierarchy may be another one."""
        self._changed()
        if self._tree_of and self._tree_of == self.page.column and not self._tree_place.is_deleted:
            self._tree.draw(self._tree_place, self._tree_of)

    def _changed(self) -> None:
        self.page.changed()
        self._tell()

    def _tell(self) -> None:
        """Say which questions are open."""
        if self._state is None or self._state.is_deleted:
            return
        choices = self.work.chosen
        if bool(choices.having("person")) != self._has_people:
            self._tell_people()
        with emptied(self._state):
            counts = ((role, len(choices.having(role))) for role in ROLES)
            with ui.row().classes("items-center"):
                for role, number in counts:
                    if number:
                        word = "open" if role == OPEN_ROLE else ROLES[role]
                        words("span", f"{number:,} {word}", "chip").props(f'data-role="{role}"')
            if unread := [x for x in choices.having(*_RELEASED) if OPEN_ROLE in choices.columns[x].values()]:
                hint = f"Click the name and say how values are written: {listed(unread, 8)}"
                marked(words("div", hint, "problem"), "open-spellings")
            if choices.telling:
                marked(bullets(_TELLS.format(*pair) for pair in choices.telling), "telling")

    def _ask_together(self) -> None:
        """Ask about columns that look alike with one question, while several of them have no role."""
        roles = {role: label for role, label in ROLES.items() if role not in (OPEN_ROLE, *_ONE_COLUMN)}
        columns = self.work.chosen.columns
        for text, names in self.work.chosen.together.items():
            open_names = [name for name in names if columns[name]["role"] == OPEN_ROLE]
            if len(open_names) < 2:
                continue
            with self._together, marked(box(text), "together"):
                note("Columns that have a role keep it. Any column can get another role in its head.")
                with ui.row().props('role=group aria-label="Role of all of them"'):
                    for role, word in roles.items():
                        give = partial(self.give, open_names, role)
                        button(word, f"all-{role}", give)

    def _tell_people(self) -> None:
        """Ask the question of rows with people: whether anybody can join a person's rows."""
        self._people.clear()
        document = self.work.chosen.document
        self._has_people = bool(self.work.chosen.having("person"))
        if not self._has_people:
            return
        with self._people, ui.row().classes("box items-center"):
            words("div", "People who have several rows", "name")
            switch = ui.switch("Anybody can join the rows of a person", value=document.get("linked", False))
            switch.bind_value_to(document, "linked").on_value_change(self._changed)
            switch.props("data-field=join")
            note("The models count people, and not rows.")
            note("As where a treated name of the person leaves, or where rows say the same of somebody.")

    def _many(self) -> None:
        """Ask for the role of several columns at once."""
        names = self.page.rows.names

        def give() -> None:
            self.give(list(columns.value or ()), role.value)

        with fold("Give several columns one role"), ui.element("div").classes("fields"):
            columns = choice_field(names, "Columns", "many-columns", [], multiple=True).props("use-chips")
            button("Choose all", "all-columns", lambda: columns.set_value(list(names)), "flat dense")
            role = choice_field(ROLES, "Role", "many", "quasi")
            button("Give it", "give", give, "")

    def _identify(self, sets: Any) -> None:
        """Show which columns tell most records apart."""
        with emptied(self._identifying):
            note(
                "Of one column or two. A column that tells nearly everybody apart is identifying, or a "
                "quasi-identifier that needs a hierarchy."
            )
            rows = [(", ".join(x.columns), f"{x.distinction:.1%}", f"{x.unique:.1%}") for x in sets[:_SETS]]
            names = ("columns", "different among the records", "records that are alone")
            grid("Columns that identify most", names, rows, numbers=(1, 2))
