"""The changes of a window's choices: each can be undone and redone, and has a name."""

from __future__ import annotations

import time
from collections import deque
from copy import deepcopy
from dataclasses import replace
from typing import Any, NamedTuple

from incrowd.core.errors import visible
from incrowd.core.table.schema import OPEN_ROLE
from incrowd.faces.studio.choices import Choices
from incrowd.measures.privacy import MODELS

_MOST = 50
"""Changes that can be undone."""
_TOGETHER = 1.0
"""Seconds within which changes of one setting are one change: a slider passes many places."""
_LONGEST = 24
"""Signs of a value that stands in the name of a change."""


class State(NamedTuple):
    """The choices of a window at one time, and its population."""

    choices: Choices
    population: str | None

    def copied(self) -> State:
        """Return the same state with a document of its own, which nobody else changes."""
        return State(replace(self.choices, document=deepcopy(self.choices.document)), self.population)


class History:
    """The states of a window before and after the one that stands.

    Parameters
    ----------
    now
        The first state.
    """

    def __init__(self, now: State) -> None:
        self._now = now.copied()
        self._past: deque[State] = deque(maxlen=_MOST)
        self._future: list[State] = []
        self._last: tuple[set[str], float] = set(), 0.0

    @property
    def names(self) -> tuple[str, str]:
        """The names of the changes that would be undone and redone; empty where there is none."""
        past, now, future = self._past, self._now, self._future
        return (name_of(past[-1], now) if past else ""), (name_of(now, future[-1]) if future else "")

    def record(self, state: State) -> None:
        """Record the state after a change; a state like the one before is none."""
        changed, at = {name for name, *_ in _differences(self._now, state)}, time.monotonic()
        if not changed:
            return
        of, before = self._last
        if not self._past or of != changed or at - before > _TOGETHER:
            self._past.append(self._now)
        self._now, self._last = state.copied(), (changed, at)
        self._future.clear()
        if not name_of(self._past[-1], self._now):
            self._past.pop()

    def undo(self) -> State:
        """Return the state before the last change."""
        return self._step(self._past, self._future)

    def redo(self) -> State:
        """Return the state after the change that was undone last."""
        return self._step(self._future, self._past)

    def _step(self, of: Any, to: Any) -> State:
        if of:
            to.append(self._now)
            self._now, self._last = of.pop(), (set(), 0.0)
        return self._now.copied()


def name_of(before: State, after: State) -> str:
    """Name the change from one state to another, as "k 5 to 10"; empty for equal states."""
    names = [
        f"{name} {old} to {new}" if max(len(old), len(new)) <= _LONGEST else name
        for name, *values in _differences(before, after)
        for old, new in [map(_word, values)]
    ]
    return visible(" and ".join([*names[:1], *([f"{len(names) - 1} more"] if names[1:] else [])]))


def _differences(before: State, after: State) -> list[tuple[str, Any, Any]]:
    """Return the settings in which two states differ: the name of each, and its values."""
    old, new = _settings(before), _settings(after)
    return [(name, old.get(name), new.get(name)) for name in {**old, **new} if old.get(name) != new.get(name)]


def _settings(state: State) -> dict[str, Any]:
    """Return the settings of a state by name, without empty settings."""
    document = state.choices.document
    policy = state.choices.origin, str(state.choices.folder)
    settings: dict[str, Any] = {"policy": policy, "population": state.population}
    for each in document.get("models", ()):
        model = MODELS.get(each["model"])
        name = (model.shorthand or model.name) + (f" of {each['attribute']}" if "attribute" in each else "")
        limits = {key: value for key, value in each.items() if key not in ("model", "attribute")}
        settings[name if name not in settings else f"{name}, once more"] = limits
    for name, column in document["columns"].items():
        settings |= {f"{key} of {name}": value for key, value in column.items()}
    algorithm = {"name": "mondrian", **document.get("algorithm", {})}
    settings["method"] = algorithm.pop("name")
    settings["settings of the method"] = algorithm
    settings["suppression"] = f"{100 * document.get('max_suppression', 0):g}%"
    separate = ("models", "columns", "algorithm", "max_suppression")
    settings |= {key.replace("_", " "): value for key, value in document.items() if key not in separate}
    return {name: value for name, each in settings.items() if (value := _filled(each)) not in (None, {}, [])}


def _filled(value: Any) -> Any:
    """Return a setting without the empty parts that a form leaves."""
    if not isinstance(value, dict):
        return value
    return {key: each for key, part in value.items() if (each := _filled(part)) not in (None, {}, [])}


def _word(value: Any) -> str:
    """Return the value of a setting as a word."""
    if isinstance(value, dict) and len(value) == 1:
        return _word(*value.values())
    text = f"{value:g}" if isinstance(value, float) else str(value)
    return {"None": "off", "False": "off", "True": "on", OPEN_ROLE: "open"}.get(text, text)
