"""The forms of a column: the values, and the settings."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

from nicegui import background_tasks, ui

from incrowd.core.errors import InputError, visible
from incrowd.core.hierarchy import Hierarchy, builder_from_spec
from incrowd.core.hierarchy.builders import DATE_LEVELS
from incrowd.core.hierarchy.formats import FORMATS
from incrowd.core.table.schema import OPEN_ROLE, UNRELEASED
from incrowd.core.treatments import TREATMENTS
from incrowd.faces.studio import declared
from incrowd.faces.studio.bars import bars, histogram
from incrowd.faces.studio.fields import choice_field, hinted, path_field, several_of, text_field
from incrowd.faces.studio.forms import entry_form
from incrowd.faces.studio.panels.cells import cells_in_words, draw_cells, has_cells_form
from incrowd.faces.studio.parts import emptied, fold, marked, note, tell, words
from incrowd.faces.studio.sets import RECIPES
from incrowd.faces.studio.tables import path_of

ROLES = {
    OPEN_ROLE: "? choose", "quasi": "quasi-identifier", "sensitive": "sensitive",
    "insensitive": "insensitive", "identifying": "identifying", "person": "person",
    "household": "household", "weight": "weight",
}  # fmt: skip
"""Roles, and their words."""
_NONE, _KEPT, _FILE, _EDITED = "none", "as it is", "file", "edited"
"""Of hierarchies: there is none; it has no form here; it is a file, or the tree of the next step."""
_SPECS: dict[str, dict[str, Any]] = {
    "flat": {"flat": True}, "prefix": {"prefix": True}, "intervals": {"intervals": [5, 10, 20]},
    "bands": {"bands": [18, 30, 45, 65]}, "dates": {"dates": list(DATE_LEVELS)},
}  # fmt: skip
_HINTS = {
    _NONE: "no hierarchy: cells become ranges or sets", "flat": "the value or *",
    "prefix": "codes are masked from the right", "intervals": "nested ranges of numbers",
    "bands": "ranges of numbers between your cuts",
    "dates": "month, quarter, year, decade", _FILE: "a tree of your own",
    _KEPT: "the hierarchy of the policy", _EDITED: "the tree below",
}  # fmt: skip
_SPELLED = ("format", "decimal", "thousands")


class ColumnForms:
    """Show a column: examples, the most frequent values, and the forms of settings.

    It calls `give` with columns and their role, `changed` after other changes, and `closed` with its column.
    """

    def __init__(self, page: Any, give: Callable[..., None], changed: Any, closed: Any) -> None:
        self.page, self._give, self._told, self._closed = page, give, changed, closed
        self.name: str | None = None
        self._counts = 0

    def draw(self, place: int, examples: Sequence[str]) -> None:
        """Show the column, with forms in folds of a line."""
        name, reasons = self.name, self.page.work.choices.reasons
        with ui.element("section").classes("column-panel").props(f"data-panel={place} tabindex=0") as panel:
            panel.props["aria-label"] = f"Column {name}"
            with ui.row(wrap=False).classes("items-center justify-between w-full"):
                words("h2", str(name), "name").props("tabindex=-1")
                close = ui.button(icon="close", on_click=lambda: self._closed(name))
                marked(close, "close-column").props('flat round dense aria-label="Close the column"')
            self._role = choice_field(ROLES, "Role", "role", on_change=lambda e: self._give([name], e.value))
            self._role.classes("w-full")
            if name in reasons:
                marked(note(f"Why: {reasons[name]}"), "reason")
            marked(note(f"For example: {', '.join(examples) or '(missing)'}"), "examples")
            self._bars = marked(ui.column().classes("w-full"), "distribution")
            self._folds = ui.column().classes("w-full").style("gap: 0")
        self.show()
        ui.timer(0, self._count, once=True)

    async def _count(self) -> None:
        """Count the records of the column in a thread, also after recoding if recoded."""
        name, place, work = self.name, self._bars, self.page.work
        self._counts += 1
        count = self._counts

        def wrong(text: str) -> None:
            if not place.is_deleted:
                tell(place, text)

        rows = await self.page.doing(wrong, None, work.distribution, name)
        # Of two counts that overlap, the one that began last is shown.
        if rows is not None and count == self._counts and not place.is_deleted:
            with emptied(place):
                if len(rows[0]) == 3:
                    bars(f"Records by {name}", rows, "{:,.0f}".format)
                else:
                    histogram(f"Records by {name}", rows)

    def follow(self) -> None:
        """Count the records anew after a recoding of the table, without a change of the forms."""
        background_tasks.create(self._count())

    def show(self, *, opened: bool = False) -> None:
        """Show the current role, and the role's forms; `opened` opens that of the cells."""
        choices = self.page.work.choices
        settings = self._settings = choices.columns[self.name]
        role = settings["role"]
        self._role.set_value(role)
        self._lines: list[tuple[Any, Callable[[], str]]] = []
        with emptied(self._folds):
            holds_sets = settings.get("kind") == "set"
            if has_cells_form(choices, str(self.name), self.page.work.columns):
                with self._fold("cells", lambda: cells_in_words(settings), opened=opened):
                    draw_cells(choices, str(self.name), self._cells_changed, self._changed)
            if role in ("quasi", "sensitive"):
                with self._fold("hierarchy", self._recipe_in_words):
                    self._fields = ui.element("div").classes("fields")
                self._draw_recipe(self._recipe_kind())
            if declared.treatments_for(role) and not holds_sets:
                with self._fold("treatment", lambda: self._treatment_now()[0]):
                    self._treating = ui.element("div").classes("fields")
                self._draw_treatment(*self._treatment_now())
            if role not in UNRELEASED:
                with self._fold("missing", lambda: ", ".join(settings.get("missing", ())) or "empty cells"):
                    self._codes()
            if (
                role not in UNRELEASED
                and (self.name in choices.ways or _spelled(settings))
                and not holds_sets
            ):
                is_open = set(_spelled(settings).values()) <= {OPEN_ROLE}
                with self._fold("spelling", lambda: _way_in_words(_spelled(settings)), opened=is_open):
                    self._spelling()

    def _fold(self, mark: str, told: Callable[[], str], *, opened: bool = False) -> Any:
        """Show a setting as a line that opens to a form."""

        def title() -> str:
            return visible(f"{mark.capitalize()}: {told()}")

        line = marked(fold(title(), opened=opened), f"fold-{mark}")
        self._lines.append((line, title))
        return line

    def _cells_changed(self) -> None:
        """Show the forms that fit sets, or single values, and the limits that are left."""
        self.show(opened=True)
        self.page.limits_changed()
        self._changed()

    def _changed(self) -> None:
        for line, title in self._lines:
            line.set_text(title())
        self._told()

    # --- how values are written -------------------------------------------------------------------

    def _spelling(self) -> None:
        """Ask how numbers or dates are written, where the texts do not tell."""
        settings = self._settings
        if ways := self.page.work.choices.ways.get(self.name):
            labels = {str(place): _way_in_words(way) for place, way in enumerate(ways)}
            now = _spelled(settings)
            chosen = next((str(place) for place, way in enumerate(ways) if way == now), None)

            def take(event: Any) -> None:
                for key in _SPELLED:
                    settings.pop(key, None)
                settings.update(ways[int(event.value)])
                self._changed()

            select = choice_field(labels, "How its values are written", "spelling", chosen, on_change=take)
            hinted(select, "the texts do not tell").classes("w-full")
            return
        for key in [each for each in _SPELLED if each in settings]:
            asked = text_field(f"{key} of its values", key, settings[key], on_change=self._changed)
            asked.bind_value_to(settings, key, lambda text: text or OPEN_ROLE).classes("w-full")

    def _codes(self) -> None:
        """Ask which texts mean missing in this column alone."""

        def take(event: Any) -> None:
            codes = [text.strip() for text in event.value.split(",") if text.strip()]
            self._settings.pop("missing", None)
            if codes:
                self._settings["missing"] = codes
            self._changed()

        now = ", ".join(self._settings.get("missing", ()))
        asked = text_field("Texts that mean missing here", "missing", now, on_change=take)
        hinted(asked, "separated by commas, as 9, 99").classes("w-full")

    # --- treatments -------------------------------------------------------------------------------

    def _treatment_now(self) -> tuple[str, dict[str, Any]]:
        """Return the name of the treatment, and the treatment's settings."""
        spec = self._settings.get("treat")
        return (_NONE, {}) if spec is None else declared.read_treatment(spec, str(self.name))

    def _draw_treatment(self, kind: str, given: dict[str, Any]) -> None:
        """Show the treatments of the column, and the form of the chosen treatment."""

        def take(event: Any) -> None:
            first = {} if event.value == _NONE else declared.first_settings(TREATMENTS.get(event.value))
            self._draw_treatment(event.value, first)
            self._keep_treatment(event.value, first)

        with emptied(self._treating):
            treatments = declared.treatments_for(self._settings["role"])
            labels = {
                _NONE: "no treatment",
                **{each.name: f"{each.name}: {each.summary}" for each in treatments},
            }
            chosen = choice_field(labels, "Treatment", "treatment", kind, on_change=take)
            chosen.props["aria-label"] = f"Treatment of {self.name}"
            self._missing = marked(words("div", "", "problem"), "treatment-problem")
            self._missing.set_visibility(False)
            if kind != _NONE:
                others = [each for each in self.page.work.choices.columns if each != self.name]
                keep = partial(self._keep_treatment, kind, given)
                entry_form(TREATMENTS.get(kind), given, keep, {"within": others})

    def _keep_treatment(self, kind: str, given: dict[str, Any]) -> None:
        """Give the column a treatment when complete."""
        spec, wrong = (None, "") if kind == _NONE else declared.write_treatment(kind, given)
        self._missing.set_text(wrong)
        self._missing.set_visibility(bool(wrong))
        self._settings.pop("treat", None)
        if spec is not None:
            self._settings["treat"] = spec
        self._changed()

    # --- hierarchies ------------------------------------------------------------------------------

    def _recipe_kind(self) -> str:
        spec = self._settings.get("hierarchy")
        if spec is None:
            return _NONE
        if isinstance(spec, str):
            return _EDITED if self.page.work.is_edited(spec) else _FILE
        return next((kind for kind in _SPECS if kind in spec), _KEPT)

    def _recipe_in_words(self) -> str:
        spec, kind = self._settings.get("hierarchy"), self._recipe_kind()
        values = spec.get(kind) if isinstance(spec, dict) else None
        return f"{kind} {', '.join(map(str, values))}" if isinstance(values, list) else kind

    def _draw_recipe(self, kind: str) -> None:
        """Show the form of a hierarchy."""
        settings = self._settings
        first = settings.get("hierarchy")

        def choose(event: Any) -> None:
            settings.pop("hierarchy", None)
            if event.value in (_KEPT, _EDITED):
                settings["hierarchy"] = first
            elif event.value in _SPECS:
                settings["hierarchy"] = dict(_SPECS[event.value])
            self._changed()
            self._draw_recipe(event.value)

        with emptied(self._fields):
            specs = RECIPES if settings.get("kind") == "set" else _SPECS
            recipes = [_NONE, *specs, _FILE, *([kind] if kind in (_KEPT, _EDITED) else [])]
            chosen = choice_field(recipes, "Hierarchy", "hierarchy", kind, on_change=choose)
            alike = "says which values are alike, for the models"
            hinted(chosen, _HINTS[kind] if settings["role"] == "quasi" else alike)
            widths = partial(self._numbers, "intervals", "Widths", "each a multiple of the one before")
            cuts = partial(self._numbers, "bands", "Cuts", "where each band begins, in ascending order")
            forms: dict[str, Callable[[dict[str, Any]], None]]
            forms = {"intervals": widths, "bands": cuts, "dates": self._levels, _FILE: self._file}
            if kind in forms:
                forms[kind](settings)

    def _file(self, settings: dict[str, Any]) -> None:
        """Ask for the path of a hierarchy file, and read a written path."""

        def read(text: str) -> None:
            path = self.page.work.choices.folder / path_of(text)
            Hierarchy.read(path)
            settings["hierarchy"] = str(path)
            self._changed()

        now, hint = settings.get("hierarchy", ""), f"one of {', '.join(FORMATS)}"
        path_field("Path of a hierarchy file", "file", now, hint, read)

    def _numbers(self, recipe: str, label: str, hint: str, settings: dict[str, Any]) -> None:
        def wrong(text: str) -> str | None:
            try:
                builder_from_spec({**settings["hierarchy"], recipe: _numbers(text)})
            except InputError as error:
                return str(error)
            return None

        def typed(event: Any) -> None:
            if wrong(event.value) is None:
                settings["hierarchy"] = {**settings["hierarchy"], recipe: _numbers(event.value)}
                self._changed()

        widths = ", ".join(f"{width:g}" for width in settings["hierarchy"][recipe])
        text_field(label, label.lower(), widths, hint, on_change=typed, validation=wrong)

    def _levels(self, settings: dict[str, Any]) -> None:
        def take(event: Any) -> None:
            settings["hierarchy"] = {"dates": [level for level in DATE_LEVELS if level in event.value]}
            self._changed()

        known, now = list(DATE_LEVELS), settings["hierarchy"]["dates"]
        several_of(known, "Levels", "levels", known if now is True else now, take)


def _spelled(settings: dict[str, Any]) -> dict[str, str]:
    """Return the notation of the numbers or dates of a column, as far as given."""
    return {key: settings[key] for key in _SPELLED if key in settings}


def _way_in_words(way: dict[str, str]) -> str:
    return ", ".join(f"{key} {sign}" for key, sign in way.items()) or "choose"


def _numbers(text: str) -> list[float]:
    """Read numbers with commas between."""
    try:
        widths = [float(part) for part in text.split(",")]
    except ValueError:
        raise InputError("write numbers with commas between, as 5, 10, 20") from None
    return [int(each) if each.is_integer() else each for each in widths]
