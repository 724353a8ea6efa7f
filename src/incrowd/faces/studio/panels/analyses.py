"""The form of an analysis, and the search for the setting that keeps it best."""

from __future__ import annotations

from typing import Any, get_args

from nicegui import ui

from incrowd.core.errors import InputError, ParameterError, those_are
from incrowd.faces.studio import exploring
from incrowd.faces.studio.cancelling import Watched
from incrowd.faces.studio.exploring import Tuned
from incrowd.faces.studio.fields import button, choice_field, text_field
from incrowd.faces.studio.job import Job
from incrowd.faces.studio.panels.panel import Panel
from incrowd.faces.studio.parts import emptied, fold, grid, heading, marked, note, words
from incrowd.release.analyses.analysis import Analysis, Kind
from incrowd.release.report.trials import blocks_of, entries_of
from incrowd.release.report.vega import svg_if_drawn

_MOST = "30"
"""Settings to try; the command tries as many."""
_FIELDS = {
    "formula": "as cost ~ age + C(sex)",
    "name": "what the report calls it",
    "event": "for survival: the column that is 1 where the event came",
}
"""The texts of an analysis, each with a hint."""
_EMPTY = {"kind": "ols", **dict.fromkeys(_FIELDS, "")}


class Analyses(Panel):
    """Name an analysis of a recipient, and let the setting be chosen by it; a part of the panel Explore."""

    def __init__(self, page: Any) -> None:
        super().__init__(page)
        self._job = Job(page, "Search the setting", "tune", self._search, self._add)
        self._name, self._most = "", _MOST
        self._draft, self._opened = dict(_EMPTY), False

    def draw(self) -> None:
        """Show the search of an analysis, its result, and the form of another analysis."""
        with ui.column().classes("w-full items-start") as self.panel:
            self._draw()

    def _draw(self) -> None:
        names = [each["name"] for each in self.work.chosen.document.get("analyses", ())]
        heading("Keep an analysis", 3)
        note("Will somebody fit a model to the release? Name it, and search the setting that keeps it best.")
        if names:
            self._name = self._name if self._name in names else names[0]
            with ui.element("div").classes("fields"):
                choice_field(names, "Analysis", "analysis", self._name).bind_value_to(self, "_name")
                most = text_field("Settings to try", "most", self._most, "the policy as it is counts, too")
                most.bind_value_to(self, "_most")
            self._job.draw()
        self._shown = marked(ui.column().classes("w-full"), "tuned").props("role=status")
        self._draw_tuned()
        # It stays open where the panel is drawn anew after a change.
        place = fold("Name an analysis", opened=self._opened or not names)
        with marked(place.bind_value_to(self, "_opened"), "analyses"):
            self._form(names)

    def _search(self, work: Any, watched: Watched) -> Tuned:
        if not self._most.strip().isdecimal():
            raise ParameterError("settings to try: write a whole number from 1")
        return exploring.keep_analysis(work, self._name, int(self._most), watched)

    def _add(self, tuned: Tuned) -> None:
        self.work.tuned = tuned
        if not self._shown.is_deleted:
            self._draw_tuned()

    def _draw_tuned(self) -> None:
        """Show the settings as the report does: the picture, and the table."""
        tuned = self.work.tuned
        with emptied(self._shown):
            if tuned is None:
                return
            words("p", tuned.sentence)
            if tuned.document == self.work.chosen.document:
                words("span", "shown now", "muted")
            else:
                button("Take it", "take-tuned", lambda: self.page.take(tuned.document))
            for block in blocks_of({"trials": entries_of(tuned.trials)}):
                for alt, draw in block.get("pictures", ()):
                    # Every text in it is escaped.
                    picture = ui.html(svg_if_drawn(draw()), sanitize=False).classes("w-full trials")
                    marked(picture, "trials").props("role=img").props["aria-label"] = alt
                    note(f"{alt}.")
                if "rows" in block:
                    with fold(block["title"]):
                        header = block["header"]
                        shown = grid(block["title"], header, block["rows"], range(1, len(header) - 1))
                        marked(shown, "trials-table").classes("wrapped")

    def _form(self, names: list[str]) -> None:
        """Show the analyses that there are, and the fields of another one."""
        for place, name in enumerate(names):
            with ui.row().classes("items-center"):
                words("span", name)
                remove = button(
                    "Remove", f"remove-analysis-{place}", lambda _, at=place: self._remove(at), "flat"
                )
                remove.props["aria-label"] = f"Remove {name}"
        with ui.element("div").classes("fields"):
            kinds = {kind: kind for kind in get_args(Kind)}
            choice_field(kinds, "Kind", "kind").bind_value(self._draft, "kind")
            for name, hint in _FIELDS.items():
                text_field(name.capitalize(), name, hint=hint).bind_value(self._draft, name)
        button("Add it", "add-analysis", self._take)
        self._problems = ui.column().classes("w-full")

    def _take(self) -> None:
        """Add an analysis to the policy; the release follows."""
        document = self.work.chosen.document
        given = {name: text.strip() for name, text in self._draft.items() if (text or "").strip()}
        analyses = document.get("analyses", [])
        try:
            new = Analysis.from_settings({"name": f"analysis {len(analyses) + 1}", **given})
            for name in new.columns:
                if name not in document["columns"]:
                    those = those_are(list(document["columns"]), name)
                    raise ParameterError(f"analysis: there is no column {name!r}; {those}")
            if new.name in [each["name"] for each in analyses]:
                raise ParameterError(f"name: there is an analysis {new.name!r} already")
        except InputError as error:
            self._wrong(str(error))
            return
        self._draft, self._opened = dict(_EMPTY), False
        self._set([*analyses, new.settings()])

    def _remove(self, place: int) -> None:
        self._set([each for at, each in enumerate(self.work.chosen.document["analyses"]) if at != place])

    def _set(self, analyses: list[dict[str, Any]]) -> None:
        self.work.chosen.document["analyses"] = analyses
        self.page.changed()
        with emptied(self.panel):
            self._draw()
