"""Step 2: the roles of columns, on the heads of the table itself."""

from __future__ import annotations

from collections.abc import Collection
from math import ceil
from typing import Any

from nicegui import ui

from incrowd.core.errors import listed
from incrowd.core.io.columns import columns_named
from incrowd.core.table.schema import OPEN_ROLE
from incrowd.faces.studio import declared
from incrowd.faces.studio.fields import button, choice_field, text_field
from incrowd.faces.studio.job import Job
from incrowd.faces.studio.parts import box, bullets, cut, emptied, fold, grid, heading, marked, note, words
from incrowd.faces.studio.steps.column_panel import ICONS, ROLES, ColumnPanel
from incrowd.faces.studio.steps.step import Step

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
_RELEASED = ("quasi", "sensitive", "insensitive")
_SETS = 10
_COLUMNS = 40
"""Columns that are shown at a time."""
_FOCUS = """setTimeout(() => {
  const head = document.querySelector('[data-column="%d"] [data-mark=open-column]');
  head?.scrollIntoView({block: "nearest", inline: "nearest"});
  (document.querySelector("[data-panel]") ?? head)?.focus();
})"""
"""The focus goes into the panel that opened, or back to the head."""


class Roles(Step):
    """Give every column a role, and every quasi-identifier a hierarchy."""

    name = "Roles"

    def __init__(self, page: Any) -> None:
        super().__init__(page)
        self._column = ColumnPanel(page, self._give, self._changed, self._open)
        title, look = "Which columns identify most?", lambda work, _: work.identifying()
        self._job = Job(page, title, "identify", look, self._identify, icon="search")

    def draw(self) -> None:
        """Show the first rows under the heads of the columns, and beside them the panel of one column."""
        work = self.work
        self._columns = work.choices.columns
        self._places = {x.name: place for place, x in enumerate(work.columns) if x.name in self._columns}
        self._rows = work.rows(0, 50)
        self._chosen, self._only = set[str](), set[str]()
        self._has_people: bool | None = None
        heading("What is each column?")
        note(
            f"The roles are {work.choices.origin}. Check every one: only you know what others may know. "
            "Click a name to see more."
        )
        with ui.row().classes("items-center w-full"):
            self._toggles = {role: self._toggle(role) for role in ROLES}
            ui.space()
            self._back = button("Undo", "undo-roles", self._undo, "outline dense", icon="undo")
        self._state, self._together, self._people = (ui.column().classes("w-full") for _ in range(3))
        with ui.row().classes("items-center w-full"):
            self._find = text_field("Find a column", "find-column", on_change=self._filter)
            self._find.props("clearable")
            many = len(self._places) > _COLUMNS
            self._asked_first = ui.switch("Questions first", value=many, on_change=self._filter)
            self._asked_first.props("data-field=questions-first")
            self._many()
            self._shown = words("span", "", "muted").props("role=status")
            self._pages = ui.row()
            ui.space()
            with ui.column():
                self._job.draw()
        with ui.element("div").classes("roles"):
            self._table = ui.element("div").classes("wide-table")
            self._table.props('tabindex=0 role=region aria-label="The first rows"')
            self._beside = ui.element("div")
        self._filter()
        self._draw_panel()
        self._ask_together()
        self._identifying = marked(ui.column().classes("w-full"), "identifying")
        with fold("What the roles mean"):
            bullets(_MEANINGS)

    # --- which columns are shown ------------------------------------------------------------------

    def _toggle(self, role: str) -> Any:
        """Show a button that shows the columns of a role alone, or all again."""

        def turn() -> None:
            self._only ^= {role}
            self._filter()

        kind = f'dense unelevated data-role="{role}"'
        return button("", "only", turn, kind, icon=ICONS[role], color=None)

    def _filter(self) -> None:
        """Show the columns that are sought, from the first page on."""
        sought = (self._find.value or "").casefold()
        roles = self._only or set(ROLES)
        names = [x for x in self._places if sought in x.casefold() and self._columns[x]["role"] in roles]
        if self._asked_first.value:
            names.sort(key=lambda name: self._columns[name]["role"] != OPEN_ROLE)
        self._sought = names
        with emptied(self._pages):
            if len(names) > _COLUMNS:
                pages = ui.pagination(1, ceil(len(names) / _COLUMNS), direction_links=True)
                marked(pages.props("max-pages=7"), "pages")
                pages.on_value_change(lambda e: self._draw_table(e.value - 1))
        self._draw_table(0)
        self._tell()

    def _draw_table(self, page: int) -> None:
        rows_of_page = self._sought[page * _COLUMNS :][:_COLUMNS]
        first, last = page * _COLUMNS + bool(rows_of_page), page * _COLUMNS + len(rows_of_page)
        self._shown.set_text(f"Columns {first} to {last} of {len(self._sought):,}")
        self._heads: dict[str, tuple[Any, Any, Any, Any]] = {}
        with emptied(self._table), ui.element("table").classes("columns") as table:
            table.style(f"min-width: {84 * len(rows_of_page)}px; max-width: {180 * len(rows_of_page)}px")
            with ui.element("thead"), ui.element("tr"):
                for name in rows_of_page:
                    self._draw_head(name)
            with ui.element("tbody"):
                for row in self._rows[:5].select(columns_named(rows_of_page)).iter_rows():
                    with ui.element("tr"):
                        for cell in row:
                            words("td", "(missing)" if cell is None else cut(str(cell)))

    def _draw_head(self, name: str) -> None:
        role = self._columns[name]["role"]
        with ui.element("th").props(f"scope=col data-column={self._places[name]}") as head:
            tick = ui.checkbox(on_change=lambda e: self._choose([name], chosen=e.value))
            tick.props("dense size=sm").props["aria-label"] = f"Choose {name}"
            look = "flat dense stack align=left"
            opening = button("", "open-column", lambda: self._open(name), look, icon=ICONS[role], color=None)
            with opening:
                words("span", name, "name")
            select = ui.select(ROLES, value=role, on_change=lambda e: self._give([name], e.value))
            select.props("borderless dense options-dense hide-dropdown-icon data-field=role")
            select.props["aria-label"] = f"Role of {name}"
        self._heads[name] = head, tick, opening, select
        self._show_heads([name])

    def _show_heads(self, names: Collection[str | None]) -> None:
        """Show the role of columns as a colour, a picture and a word."""
        for name in self._heads.keys() & names:
            head, tick, opening, select = self._heads[name]
            role = self._columns[name]["role"]
            head.props(f'data-role="{role}"')
            opening.set_icon(ICONS[role])
            opening.props(f"aria-pressed={str(name == self._column.name).lower()}")
            select.set_value(role)
            tick.set_value(name in self._chosen)

    def _open(self, name: str) -> None:
        """Open the panel of a column, or close it."""
        was = self._column.name
        self._column.name = None if name == was else name
        self._draw_panel()
        self._show_heads([was, name])
        with self._table:
            ui.run_javascript(_FOCUS % self._places[name])

    def _draw_panel(self) -> None:
        self._beside.clear()
        if (name := self._column.name) in self._places:
            some = self._rows[name].drop_nulls().unique(maintain_order=True)[:3]
            with self._beside:
                self._column.draw(self._places[name], [cut(str(each)) for each in some])

    # --- the roles --------------------------------------------------------------------------------

    def _give(self, names: Collection[str], role: str) -> None:
        """Give columns a role, and remove settings of others: a treatment, or the parts of lists."""
        changed = [name for name in names if self._columns[name]["role"] != role]
        if not changed:
            return
        self.work.remember(*changed)
        for name in changed:
            declared.give_role(self._columns[name], name, role)
        self._show(changed)

    def _undo(self) -> None:
        self._show(self.work.undo())

    def _show(self, names: Collection[str]) -> None:
        """Show columns whose role or settings changed."""
        self._changed()
        self._show_heads(names)
        if self._column.name in names:
            self._column.show()
        self._ask_together()

    def _changed(self) -> None:
        self.page.changed()
        self._tell()

    def _tell(self) -> None:
        """Show how many columns have each role, and which questions are open."""
        choices = self.work.choices
        for role, toggle in self._toggles.items():
            number = len(choices.having(role))
            word = "open" if role == OPEN_ROLE else f"{ROLES[role]}{'s' * (role == 'quasi' and number != 1)}"
            toggle.set_text(f"{number:,} {word}")
            toggle.set_visibility(number > 0 or role in self._only)
            toggle.props(f"aria-pressed={str(role in self._only).lower()}")
        self._back.set_enabled(bool(self.work.past))
        if bool(choices.having("person")) != self._has_people:
            self._tell_people()
        with emptied(self._state):
            if asked := choices.having(OPEN_ROLE):
                marked(words("div", f"Still without a role: {listed(asked, 8)}", "problem"), "open-roles")
            elif not choices.having("quasi"):
                words("div", "No column is a quasi-identifier yet: name at least one.", "problem")
            if unread := [x for x in choices.having(*_RELEASED) if OPEN_ROLE in self._columns[x].values()]:
                hint = f"Click the name and say how values are written: {listed(unread, 8)}"
                marked(words("div", hint, "problem"), "open-spellings")

    def _ask_together(self) -> None:
        """Ask about columns that look alike with one question, while several of them have no role."""
        self._together.clear()
        roles = {role: label for role, label in ROLES.items() if role not in _ONE_COLUMN}
        for text, names in self.work.choices.together.items():
            open_names = [name for name in names if self._columns[name]["role"] == OPEN_ROLE]
            if len(open_names) < 2:
                continue
            with self._together, marked(box(text), "together"):
                note("Columns that have a role keep it. Any column can get another role below.")
                role = choice_field(roles, "Role of all of them", "together", OPEN_ROLE).style("width: 240px")
                role.on_value_change(lambda e, open_names=open_names: self._give(open_names, e.value))

    def _tell_people(self) -> None:
        """Ask the question of rows with people: whether anybody can join a person's rows."""
        self._people.clear()
        document = self.work.choices.document
        self._has_people = bool(self.work.choices.having("person"))
        if not self._has_people:
            document.pop("linked", None)
            return
        with self._people, ui.row().classes("box items-center"):
            words("div", "People who have several rows", "name")
            switch = ui.switch("Anybody can join the rows of a person", value=document.get("linked", False))
            switch.bind_value_to(document, "linked").on_value_change(self._changed)
            switch.props("data-field=join")
            note("The models count people, and not rows.")
            note("As where a treated name of the person leaves, or where rows say the same of somebody.")

    def _many(self) -> None:
        """Show the actions that change the roles of several columns at once."""

        def choose_all() -> None:
            self._choose(self._sought, chosen=not self._chosen.issuperset(self._sought))

        def give() -> None:
            names = list(self._chosen)
            self._choose(names, chosen=False)
            self._give(names, role.value)

        button("Choose all or none", "all", choose_all, "flat")
        with ui.row().classes("items-center") as self._giving:
            role = choice_field(ROLES, "Role for the chosen columns", "many", "quasi").style("width: 220px")
            self._give_it = button("", "give", give, "")
        self._giving.set_visibility(False)

    def _choose(self, names: Collection[str], *, chosen: bool) -> None:
        """Choose columns, which get a role together, or leave them."""
        (self._chosen.update if chosen else self._chosen.difference_update)(names)
        self._show_heads(names)
        self._giving.set_visibility(bool(self._chosen))
        self._give_it.set_text(f"Give it to {len(self._chosen):,}")

    def _identify(self, found: Any) -> None:
        """Show which columns tell most records apart."""
        with emptied(self._identifying):
            note(
                "Of one column or two. A column that tells nearly everybody apart is identifying, or a "
                "quasi-identifier that needs a hierarchy."
            )
            rows = [(", ".join(x.columns), f"{x.distinction:.1%}", f"{x.unique:.1%}") for x in found[:_SETS]]
            names = ("columns", "different among the records", "records that are alone")
            grid("Columns that identify most", names, rows, numbers=(1, 2))
