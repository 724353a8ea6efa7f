"""The bar of limits: sliders of the usual limits, which recode the table during a move."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

from nicegui import ui

from incrowd.faces.studio import meaning
from incrowd.faces.studio.fields import RangeInput, button, choice_field
from incrowd.faces.studio.parts import emptied, marked, words
from incrowd.search import ALGORITHMS

_SHARE = "max_suppression"


class Dial(NamedTuple):
    """A slider of one limit: its model, its words, its range, and the place at which there is no limit."""

    model: str
    key: str
    words: str
    low: float
    high: float
    step: float
    off: float


DIALS = (
    Dial("k-anonymity", "k", "Group size k", 1, 50, 1, 1),
    Dial("l-diversity", "l", "Values l", 1, 10, 1, 1),
    Dial("t-closeness", "t", "Distance t", 0, 1, 0.01, 1),
)
"""The limits that have a slider; all others are in the panel."""


class LimitsBar:
    """Sliders of the usual limits of a window's policy, and the algorithm if there are several `methods`."""

    def __init__(self, page: Any, *, methods: bool = True) -> None:
        self._page, self._methods = page, methods
        self._place: Any = None

    def draw(self, place: Any | None = None) -> None:
        """Show the current limits, also after a panel's change."""
        self._place = self._place if place is None else place
        if self._place is None:
            return
        choices = self._page.work.chosen
        with emptied(self._place):
            self._readers()
            for dial in DIALS:
                if dial.model == "k-anonymity" or choices.having("sensitive"):
                    self._draw_dial(dial)
            self._suppression()
            if self._methods:
                self._draw_method()

    def _draw_method(self) -> None:
        """Offer the algorithms, and the way to all other limits."""
        choices = self._page.work.chosen
        names = [each.name for each in ALGORITHMS if not each.needed()]
        now = choices.algorithm.setdefault("name", "mondrian")
        options = {name: name.replace("-", " ").capitalize() for name in {*names, now}}
        chosen = choice_field(options, "Method", "method", now, on_change=lambda e: self._take(e.value))
        chosen.classes("method")
        others = [each["model"] for each in choices.models if each["model"] not in _DIALED]
        others += [f"attacker {each['name']}" for each in choices.document.get("attackers", ())]
        text = f"{len(others)} more" if others else "More limits"
        more = button(text, "more-limits", lambda: self._page.go("Limits"), "flat dense", icon="tune")
        more.props["aria-label"] = f"More limits: {', '.join(others)}" if others else "More limits"

    def _readers(self) -> None:
        """Offer the usual limits for kinds of readers of the release."""
        choices = self._page.work.chosen
        sensitive = choices.having("sensitive")
        options = {mark: recipe.title for mark, recipe in meaning.RECIPES.items()}

        def take(event: Any) -> None:
            if event.value is None:
                return
            models = meaning.RECIPES[event.value].models(sensitive)
            if choices.models != models:
                choices.models[:] = models
                self._changed()

        self._chosen = choice_field(options, "For whom", "readers", on_change=take)
        self._chosen.classes("readers")
        self._tell_readers()

    def _draw_dial(self, dial: Dial) -> None:
        models = self._page.work.chosen.models
        settings = next((each for each in models if each["model"] == dial.model), None)
        value = dial.off if settings is None else float(settings.get(dial.key, dial.off))

        def take(number: float) -> None:
            nonlocal settings
            if number == dial.off and (settings is None or len(models) > 1):
                if settings is not None:
                    models.remove(settings)
                    settings = None
                return
            if settings is None:
                settings = {"model": dial.model}
                models.append(settings)
            settings[dial.key] = int(number) if dial.step == 1 else round(number, 2)

        self._slider(f"{dial.key} of {dial.model}", value, dial, take, lambda x: self._told(dial, x))

    def _told(self, dial: Dial, value: float) -> str:
        if value == dial.off and dial.key != "k":
            return "off"
        return f"{value:g}"

    def _suppression(self) -> None:
        document = self._page.work.chosen.document
        dial = Dial("", _SHARE, "Suppressed", 0, 0.5, 0.01, 0)
        title = "Records that may be suppressed"
        value = float(document.get(_SHARE, 0.0))

        def take(number: float) -> None:
            document[_SHARE] = round(number, 2)

        self._slider(title, value, dial, take, lambda share: f"up to {100 * share:g}%")

    def _slider(
        self,
        title: str,
        value: float,
        dial: Dial,
        take: Callable[[float], None],
        told: Callable[[float], str],
    ) -> None:
        """Show a slider that recodes the table while it is moved, with its figure."""

        def slid(place: float) -> None:
            take(place)
            self._tell_readers()
            figure.set_text(told(place))
            self._page.limits_moved()

        with ui.element("div").classes("dial"):
            words("span", dial.words, "dial-name")
            figure = marked(words("b", told(value)), f"limit-{dial.key}")
            slider = RangeInput((dial.low, max(dial.high, value), dial.step), value, title, slid)
            slider.props(f"data-slider={dial.key}")

    def _tell_readers(self) -> None:
        """Name the readers that the limits are usual for, during a move."""
        choices = self._page.work.chosen
        sensitive = choices.having("sensitive")
        usual = (m for m, recipe in meaning.RECIPES.items() if recipe.models(sensitive) == choices.models)
        self._chosen.set_value(next(usual, None))

    def _take(self, name: str) -> None:
        settings = self._page.work.chosen.algorithm
        if name and settings.get("name") != name:
            settings.clear()
            settings["name"] = name
            self._changed()

    def _changed(self) -> None:
        self.draw()
        self._page.limits_moved()


_DIALED = {dial.model for dial in DIALS}
