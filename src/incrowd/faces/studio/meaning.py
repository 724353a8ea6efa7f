"""The meaning of a limit for somebody in the table, in a sentence, and the slider for the limit."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

from incrowd.measures.privacy import MODELS
from incrowd_gate.wording import at_most, percent

if TYPE_CHECKING:
    from incrowd.measures.privacy.results import ModelResult


_KNOWS = "whoever knows your quasi-identifiers, and nothing else,"
_WHOEVER = f"{_KNOWS[0].upper()}{_KNOWS[1:]}"
"""Against whom a limit holds."""


class Slider(NamedTuple):
    """The range of a limit that is set by hand; further values can be written."""

    low: float
    high: float
    step: float


class Recipe(NamedTuple):
    """Usual limits by letter, and the readers of a release under the limits."""

    title: str
    readers: str
    limits: Mapping[str, int]

    def models(self, sensitive: Sequence[str]) -> list[dict[str, Any]]:
        """Return the settings of the models; l is for tables with sensitive columns."""
        names = {"k": "k-anonymity"} | ({"l": "l-diversity"} if sensitive else {})
        return [{"model": names[x], x: limit} for x, limit in self.limits.items() if x in names]

    def text(self) -> str:
        """Describe the limits."""
        k, l = self.limits["k"], self.limits.get("l")  # noqa: E741
        text = f"At least {k} records look alike: {_KNOWS} finds you with at most {at_most(1 / k)}."
        return text if l is None else f"{text} They have at least {l} sensitive values."


RECIPES = {
    "teaching": Recipe("Teaching", "For colleagues and courses.", {"k": 3}),
    "contract": Recipe("Research under contract", "For researchers who signed a contract.", {"k": 5, "l": 2}),
    "public": Recipe("Public release", "For everybody.", {"k": 11, "l": 3}),
}
_COUNTS = 50
"""The largest count on a slider, unless the limit is larger."""


def slider_of(model: str, value: float | None) -> Slider | None:
    """Return the slider of a model's limit, from the declared range; None without a range."""
    entry = MODELS.get(model)
    declared = entry.parameters().get(entry.limit_name)
    if declared is None or declared.kind not in (int, float):
        return None
    low = declared.low if declared.low is not None else declared.above or 0
    whole = declared.kind is int or (declared.high is None and low >= 1)
    if declared.high is not None:
        return Slider(low, declared.high, 1 if whole else 0.01)
    # A count or a ratio has no end: the slider has one, and moves it for what was written.
    end = max(_COUNTS if whole else low + 5, value or 0)
    return Slider(low, end, 1 if whole else 0.1)


def means(settings: Mapping[str, Any]) -> str:
    """Explain a model and the limit to somebody in the table.

    Example: ``means({"model": "k-anonymity", "k": 5})`` is "Whoever knows your quasi-identifiers, and nothing
    else, finds at least 5 records that may be yours, and is right with at most 20%."
    """
    entry = MODELS.get(settings["model"])
    value = settings.get(entry.limit_name)
    name, kind = entry.name, settings.get("kind", "distinct")
    counts_classes = name == "k-anonymity"
    if name not in _MEANS or not isinstance(value, int | float) or (counts_classes and value <= 0):
        return f"For you: {entry.summary}."
    if counts_classes and value <= 1:
        return f"{_WHOEVER} may find your record alone: k = 1 asks for nothing."
    sentence = _OTHER_L if name == "l-diversity" and kind != "distinct" else _MEANS[name]
    given = {
        "k": "?", "L": "?", **settings, "kind": kind, "x": f"{value:g}", "share": percent(value),
        "most": at_most(value), "one_of": at_most(1 / value) if counts_classes else "",
    }  # fmt: skip
    return sentence.format_map(given)


_MEANS = {
    "k-anonymity": f"{_WHOEVER} finds at least {{x}} records that may be yours, and is right with at most "
    "{one_of}.",
    "km-anonymity": "Whoever knows several rows of you faces at least {x} people who may be you.",
    "k-map": "At least {x} people of the population may be the person of your record.",
    "l-diversity": "Whoever finds your class still faces at least {x} possible values of what is sensitive.",
    "normalized-entropy": "The sensitive values in your class are {share} as even as they can be: 100% is "
    "all alike often.",
    "t-closeness": "What your class tells of you differs from what the whole table tells by at most {x} of "
    "1.",
    "alpha-k-anonymity": f"{_WHOEVER} is at most {{most}} sure of a sensitive value of yours, among {{k}} "
    "records or more.",
    "subset-k-anonymity": "Whoever knows {of} things of you finds at least {x} records that may be yours.",
    "lkc-privacy": "Whoever knows {L} things of you is at most {most} sure of a sensitive value.",
    "beta-likeness": f"To {_KNOWS} no sensitive value becomes more than {{most}} likelier for you than it is "
    "in the table.",
    "delta-presence": f"{_WHOEVER} but that you are in the population, is at most {{most}} sure that you are "
    "here.",
    "maximum-risk": f"{_WHOEVER} finds your record with at most {{most}}.",
    "average-risk": f"{_WHOEVER} finds people of the table with {{most}} on average; you may be found more "
    "easily.",
    "records-at-risk": f"{_WHOEVER} finds at most {{most}} of the records more easily than the threshold "
    "says; yours may be.",
}
_OTHER_L = "What is sensitive about you is as open as among {x} equally frequent values ({kind})."


def reached(results: Iterable[ModelResult], model: str) -> str | None:
    """Return the reached value of a model's worst attribute as text; None without a measurement."""
    limits = [
        each
        for each in results
        if each.model == model
        and each.limit is not None
        and each.value is not None
        and each.attacker is None
        and each.quantity == MODELS.get(model).limit_name
    ]
    if not limits:
        return None
    worst = (min if MODELS.get(model).more_is_safer else max)(limits, key=lambda each: each.value or 0.0)
    of = "" if worst.attribute is None else f" of {worst.attribute}"
    return f"The table now: {worst.quantity} is {worst.value:.4g}{of}."
