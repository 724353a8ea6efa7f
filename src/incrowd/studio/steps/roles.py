"""Step 2: the roles of columns, and the generalization of quasi-identifiers."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from nicegui import ui

from incrowd.errors import InputError
from incrowd.hierarchy import Hierarchy, builder_from_spec
from incrowd.hierarchy.builders import DATE_LEVELS
from incrowd.studio import declared
from incrowd.studio.forms import entry_form
from incrowd.studio.job import Job
from incrowd.studio.parts import grid, heading, hinted, marked, note, words
from incrowd.studio.tables import path_of
from incrowd.table.schema import OPEN_ROLE, UNRELEASED
from incrowd.treatments import TREATMENTS

_ROLES = {
    OPEN_ROLE: "? choose",
    "quasi": "quasi-identifier",
    "sensitive": "sensitive",
    "insensitive": "insensitive",
    "identifying": "identifying",
    "person": "person",
    "household": "household",
    "weight": "weight",
}
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
_NONE = "none"
_KEPT = "as it is"
"""For a recipe that has no form here."""
_FILE = "file"
_EDITED = "edited"
_SPECS: dict[str, dict[str, Any]] = {
    "flat": {"flat": True},
    "prefix": {"prefix": True},
    "intervals": {"intervals": [5, 10, 20]},
    "dates": {"dates": list(DATE_LEVELS)},
}
_HINTS = {
    _NONE: "no hierarchy: cells become ranges or sets",
    "flat": "the value or *",
    "prefix": "codes are masked from the right",
    "intervals": "nested ranges of numbers",
    "dates": "month, quarter, year, decade",
    _KEPT: "the hierarchy of the policy",
    _FILE: "a tree of your own",
    _EDITED: "the tree of the next step",
}
_NAMED = 8
_SETS = 10


class Roles:
    """Give every column a role, and every quasi-identifier a hierarchy."""

    name = "Roles"

    def __init__(self, page: Any) -> None:
        self.page = page
        self.panel: Any = None
        self._chosen: set[str] = set()
        self._job = Job(
            page,
            "Which columns identify most?",
            "identify",
            lambda _: page.work.identifying(),
            self._identify,
            icon="search",
        )

    def ready(self) -> bool:
        """Say whether there is a table."""
        return self.page.work.choices is not None

    def draw(self) -> None:
        """Show a row for every column."""
        choices = self.page.work.choices
        self._chosen = set()
        heading("What is each column?")
        note(
            "Say for each column whether it names a person, helps to recognize one, or is what nobody should "
            f"learn. The roles are {choices.origin}. Check every one: nobody but you knows what others may "
            "know."
        )
        with ui.expansion("What the roles mean").props("dense").classes("w-full"), words("ul", ""):
            for meaning in _MEANINGS:
                words("li", meaning)
        self._state = ui.column().classes("w-full")
        self._tell()
        self._together = ui.column().classes("w-full")
        self._ask_together()
        self._many(list(choices.columns))
        self._job.draw()
        self._identifying = marked(ui.column().classes("w-full"), "identifying")
        self._people = ui.column().classes("w-full")
        self._tell_people()
        self._rows = ui.column().classes("w-full").style("gap: 0")
        self._draw_rows()

    def _tell(self) -> None:
        """Say which questions are open."""
        self._state.clear()
        choices = self.page.work.choices
        asked = choices.having(OPEN_ROLE)
        with self._state:
            if asked:
                problem = f"Still without a role: {', '.join(asked[:_NAMED])}"
                more = f" and {len(asked) - _NAMED} more" if len(asked) > _NAMED else ""
                marked(words("div", problem + more, "problem"), "open-roles")
            elif not choices.having("quasi"):
                words("div", "No column is a quasi-identifier yet: name at least one.", "problem")

    def _ask_together(self) -> None:
        """Ask about columns that look alike with one question, while several of them have no role."""
        self._together.clear()
        for text, names in self.page.work.choices.together.items():
            if len(self._open(names)) > 1:
                with self._together:
                    self._question(text, names)

    def _open(self, names: Sequence[str]) -> list[str]:
        columns = self.page.work.choices.columns
        return [name for name in names if columns[name]["role"] == OPEN_ROLE]

    def _question(self, text: str, names: Sequence[str]) -> None:
        def answer(event: Any) -> None:
            for name in self._open(names):
                self._set_role(name, event.value)
            self._ask_together()
            self._draw_rows()

        with marked(ui.column().classes("box w-full"), "together"):
            words("div", text, "name")
            note("Columns that have a role keep it. Give a column another role below, before or afterwards.")
            roles = {role: label for role, label in _ROLES.items() if role not in _ONE_COLUMN}
            role = ui.select(roles, value=OPEN_ROLE, label="Role of all of them", on_change=answer)
            role.props("outlined dense options-dense data-field=together").style("width: 240px")

    def _tell_people(self) -> None:
        """Ask the question of rows with people: whether anybody can join a person's rows."""
        self._people.clear()
        document = self.page.work.choices.document
        self._has_people = bool(self.page.work.choices.having("person"))
        if not self._has_people:
            document.pop("linked", None)
            return

        def take(event: Any) -> None:
            document["linked"] = bool(event.value)
            self._changed()

        with self._people, ui.column().classes("box"):
            words("div", "People who have several rows", "name")
            note("The models count people, and not rows.")
            switch = ui.switch("Anybody can join the rows of a person", value=document.get("linked", False))
            switch.on_value_change(take)
            switch.props("data-field=join")
            note("As where a treated name of the person leaves, or where rows say the same of somebody.")

    def _many(self, names: list[str]) -> None:
        """Show the actions that change the roles of several columns at once."""
        with ui.row().classes("items-center box"):
            role = ui.select(_ROLES, label="Role for the chosen columns", value="quasi")
            role.props("outlined dense options-dense data-field=many").style("width: 240px")

            def give() -> None:
                for name in self._chosen:
                    self._set_role(name, role.value)
                self._ask_together()
                self._chosen = set()
                self._draw_rows()

            marked(ui.button("Give it", on_click=give), "give").props("no-caps")

            def choose_all() -> None:
                self._chosen = set() if len(self._chosen) == len(names) else set(names)
                self._draw_rows()

            marked(ui.button("All or none", on_click=choose_all), "all").props("no-caps flat")

    def _identify(self, found: Any) -> None:
        """Show which columns tell most records apart."""
        self._identifying.clear()
        with self._identifying:
            note(
                "Of one column or two. A column that tells nearly everybody apart is identifying, or a "
                "quasi-identifier that needs a hierarchy."
            )
            rows = [(", ".join(x.columns), f"{x.distinction:.1%}", f"{x.unique:.1%}") for x in found[:_SETS]]
            grid(
                "Columns that identify most",
                ("columns", "different among the records", "records that are alone"),
                rows,
                numbers=(1, 2),
            )

    def _draw_rows(self) -> None:
        self._rows.clear()
        with self._rows:
            for place, column in enumerate(self.page.work.columns):
                if column.name in self.page.work.choices.columns:
                    with ui.element("div").classes("row-of-column").props(f"data-column={place}") as row:
                        self._draw_row(row, column.name)

    def _draw_row(self, row: Any, name: str) -> None:
        choices = self.page.work.choices
        settings = choices.columns[name]
        row.classes(**{"add" if settings["role"] == OPEN_ROLE else "remove": "asked"})

        def choose(event: Any) -> None:
            (self._chosen.add if event.value else self._chosen.discard)(name)

        box = ui.checkbox(value=name in self._chosen, on_change=choose).props("dense")
        box.props["aria-label"] = f"Choose {name}"
        words("div", name, "name")

        def give(event: Any) -> None:
            self._set_role(name, event.value)
            self._ask_together()
            row.clear()
            with row:
                self._draw_row(row, name)

        role = ui.select(_ROLES, value=settings["role"], on_change=give).classes("wide")
        role.props("outlined dense options-dense data-field=role")
        role.props["aria-label"] = f"Role of {name}"
        with ui.column().classes("wide w-full").style("gap: 4px"):
            if name in choices.reasons:
                note(choices.reasons[name])
            if settings["role"] not in UNRELEASED:
                self._spelling(name, settings)
            if settings["role"] in ("quasi", "sensitive"):
                self._recipe(name, settings)
            if declared.treatments_for(settings["role"]):
                self._treatment(name, settings)

    def _set_role(self, name: str, role: str) -> None:
        settings = self.page.work.choices.columns[name]
        settings["role"] = role
        if "treat" in settings:
            kind, _ = declared.read_treatment(settings["treat"], name)
            if kind not in [each.name for each in declared.treatments_for(role)]:
                del settings["treat"]
        self._changed()

    def _changed(self) -> None:
        self.page.changed()
        self._tell()
        if bool(self.page.work.choices.having("person")) != self._has_people:
            self._tell_people()

    # --- how values are written -------------------------------------------------------------------

    def _spelling(self, name: str, settings: dict[str, Any]) -> None:
        """Ask how numbers or dates are written, where the texts do not tell."""
        ways = self.page.work.choices.ways.get(name)
        if ways:
            labels = {
                str(place): ", ".join(f"{k} {v}" for k, v in way.items()) for place, way in enumerate(ways)
            }
            now = {key: settings.get(key) for key in ("format", "decimal", "thousands") if key in settings}
            chosen = next((str(place) for place, way in enumerate(ways) if way == now), None)

            def take(event: Any) -> None:
                for key in ("format", "decimal", "thousands"):
                    settings.pop(key, None)
                settings.update(ways[int(event.value)])
                self._changed()

            found = ui.select(labels, label="How its values are written", value=chosen, on_change=take)
            hinted(found.props("outlined dense options-dense data-field=spelling"), "the texts do not tell")
            found.classes("w-full")
            return
        for key in ("format", "decimal"):
            if key not in settings:
                continue

            def typed(event: Any, key: str = key) -> None:
                settings[key] = event.value or OPEN_ROLE
                self._changed()

            asked = ui.input(f"{key} of its values", value=settings[key], on_change=typed)
            asked.props("outlined dense").classes("w-full")

    # --- treatments -------------------------------------------------------------------------------

    def _treatment(self, name: str, settings: dict[str, Any]) -> None:
        """Show the treatments of a column, and the form of the chosen one."""
        known = declared.treatments_for(settings["role"])
        spec = settings.get("treat")
        if spec is not None:
            kind, given = declared.read_treatment(spec, name)
        with ui.element("div").classes("fields"):
            labels = {_NONE: "no treatment", **{each.name: f"{each.name}: {each.summary}" for each in known}}
            chosen = ui.select(labels, label="Treatment", value=_NONE if spec is None else kind)
            chosen.props("outlined dense options-dense data-field=treatment")
            chosen.props["aria-label"] = f"Treatment of {name}"
        form = ui.element("div").classes("fields")

        def take(event: Any) -> None:
            form.clear()
            settings.pop("treat", None)
            if event.value != _NONE:
                first = declared.first_settings(TREATMENTS.get(event.value))
                self._treatment_form(form, name, settings, event.value, first)
            self._changed()

        chosen.on_value_change(take)
        if spec is not None:
            self._treatment_form(form, name, settings, kind, given)

    def _treatment_form(
        self, form: Any, name: str, settings: dict[str, Any], kind: str, given: dict[str, Any]
    ) -> None:
        """Show the parameters of a treatment; a complete one becomes the column's treatment."""

        def keep() -> None:
            spec, wrong = declared.write_treatment(kind, given)
            missing.set_text(wrong)
            missing.set_visibility(bool(wrong))
            if spec is None:
                settings.pop("treat", None)
            else:
                settings["treat"] = spec

        def changed() -> None:
            keep()
            self._changed()

        with form:
            others = [each for each in self.page.work.choices.columns if each != name]
            entry_form(TREATMENTS.get(kind), given, changed, {"within": others})
            missing = marked(words("div", "", "problem"), "treatment-problem")
        keep()

    # --- hierarchies ------------------------------------------------------------------------------

    def _recipe(self, name: str, settings: dict[str, Any]) -> None:
        """Show the form of a hierarchy."""
        with ui.element("div").classes("fields") as fields:
            self._recipe_fields(fields, name, settings)

    def _recipe_fields(
        self, fields: Any, name: str, settings: dict[str, Any], kind: str | None = None
    ) -> None:
        first = settings.get("hierarchy")
        kind = kind or (_EDITED if self.page.work.is_edited(first) else _kind_of(first))

        def choose(event: Any) -> None:
            settings.pop("hierarchy", None)
            if event.value in (_KEPT, _EDITED):
                settings["hierarchy"] = first
            elif event.value in _SPECS:
                settings["hierarchy"] = dict(_SPECS[event.value])
            self._changed()
            fields.clear()
            with fields:
                self._recipe_fields(fields, name, settings, event.value)

        known = [_NONE, *_SPECS, _FILE, *([kind] if kind in (_KEPT, _EDITED) else [])]
        chosen = ui.select(known, label="Hierarchy", value=kind, on_change=choose)
        hint = _HINTS[kind] if settings["role"] == "quasi" else "says which values are alike, for the models"
        hinted(chosen.props("outlined dense options-dense data-field=hierarchy"), hint)
        if kind == "intervals":
            self._widths(settings)
        if kind == "dates":
            self._levels(settings)
        if kind == _FILE:
            self._file(settings)
        if not {"format", "decimal", "thousands"} & set(settings):
            button = ui.button("Tree", icon="account_tree", on_click=lambda: self.page.show_tree(name))
            marked(button, "tree").props("no-caps flat dense").props["aria-label"] = f"Tree of {name}"

    def _file(self, settings: dict[str, Any]) -> None:
        """Ask for the path of a hierarchy file, and read it once it is written."""

        def read(_: Any) -> None:
            try:
                path = self._path_of(field.value or "")
                Hierarchy.read(path)
            except InputError as error:
                field.error = str(error)
                return
            field.error = None
            settings["hierarchy"] = str(path)
            self._changed()

        field = ui.input("Path of a hierarchy file", value=settings.get("hierarchy", ""))
        hinted(field.props("outlined dense data-field=file"), ".csv (ARX), .json, .yaml or .txt")
        field.on("change", read)

    def _path_of(self, text: str) -> Path:
        """Return where a hierarchy file is, as a policy file says it."""
        folder: Path = self.page.work.choices.folder
        return folder / path_of(text)

    def _widths(self, settings: dict[str, Any]) -> None:
        def wrong(text: str) -> str | None:
            try:
                builder_from_spec({**settings["hierarchy"], "intervals": _numbers(text)})
            except InputError as error:
                return str(error)
            return None

        def typed(event: Any) -> None:
            if wrong(event.value) is None:
                settings["hierarchy"] = {**settings["hierarchy"], "intervals": _numbers(event.value)}
                self._changed()

        shown = ", ".join(f"{width:g}" for width in settings["hierarchy"]["intervals"])
        field = ui.input("Widths", value=shown, on_change=typed, validation=wrong)
        hinted(field.props("outlined dense data-field=widths"), "each a multiple of the one before")

    def _levels(self, settings: dict[str, Any]) -> None:
        def take(event: Any) -> None:
            settings["hierarchy"] = {"dates": [level for level in DATE_LEVELS if level in event.value]}
            self._changed()

        now = settings["hierarchy"]["dates"]
        levels = ui.select(
            list(DATE_LEVELS),
            label="Levels",
            value=list(DATE_LEVELS) if now is True else now,
            multiple=True,
            on_change=take,
            validation=lambda chosen: None if chosen else "choose at least one",
        )
        levels.props("outlined dense options-dense data-field=levels")


def _kind_of(spec: Any) -> str:
    """Return the name of a recipe that has a form."""
    if spec is None:
        return _NONE
    if isinstance(spec, str):
        return _FILE
    return next((kind for kind in _SPECS if kind in spec), _KEPT)


def _numbers(text: str) -> list[float]:
    """Read numbers with commas between.

    Raises
    ------
    InputError
    """
    found: list[float] = []
    for part in text.split(","):
        try:
            found.append(int(part) if part.strip().isdecimal() else float(part))
        except ValueError:
            raise InputError("write numbers with commas between, as 5, 10, 20") from None
    return found
