"""What would help where a policy is infeasible: changes that were tried, the mildest first."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from copy import deepcopy
from dataclasses import dataclass
from typing import Any

from incrowd.algorithms import ALGORITHMS, Mondrian
from incrowd.privacy import MODELS

__all__ = ["Change", "advise", "ladders", "looser"]

_SHARES = (0.005, 0.01, 0.02, 0.05, 0.1, 0.2)
_TWICE = (1.25, 1.5, 2, 3, 5, 10)
_COLUMNS = 6
"""Columns of which it is tried whether the table does without them."""


@dataclass(frozen=True)
class Change:
    """A change of a policy.

    Attributes
    ----------
    told
        What is changed, in words.
    document
        The policy document with the change.
    """

    told: str
    document: dict[str, Any]


def advise(document: Mapping[str, Any], feasible: Callable[[Change], bool], *, most: int = 3) -> list[Change]:
    """Return up to `most` single changes of an infeasible policy with which it is feasible.

    Every change was tried. Of each kind it is the mildest that helps.

    Parameters
    ----------
    feasible
        Says whether there is a release under a changed policy.
    """
    found = []
    for ladder in ladders(document):
        change = _mildest(ladder, feasible)
        if change is not None:
            found.append(change)
        if len(found) == most:
            break
    return found


def _mildest(ladder: Sequence[Change], feasible: Callable[[Change], bool]) -> Change | None:
    """Return the first change of a ladder that helps, None where not even the last does.

    Halving finds it: what helps goes on helping when it is loosened further.
    """
    if not ladder or not feasible(ladder[-1]):
        return None
    low, high = 0, len(ladder) - 1
    while low < high:
        middle = (low + high) // 2
        if feasible(ladder[middle]):
            high = middle
        else:
            low = middle + 1
    return ladder[high]


def ladders(document: Mapping[str, Any]) -> Iterator[list[Change]]:
    """Return what can be changed: for each thing the changes from the mildest to the strongest."""
    yield _other_algorithm(document)
    yield _suppression(document)
    for position in range(len(document.get("models", ()))):
        yield _model(document, position)
    quasi = [name for name, each in document["columns"].items() if each["role"] == "quasi"]
    if len(quasi) > 1:
        for name in quasi[:_COLUMNS]:
            yield [_column(document, name)]


def _changed(document: Mapping[str, Any], told: str, change: Callable[[dict[str, Any]], None]) -> Change:
    copy = deepcopy(dict(document))
    change(copy)
    return Change(told, copy)


def _other_algorithm(document: Mapping[str, Any]) -> list[Change]:
    """Search with mondrian where whole columns climb: its classes are each recoded alone."""
    name = document.get("algorithm", {}).get("name", Mondrian.name)
    if not ALGORITHMS.get(name).full_domain:
        return []
    told = f"search with {Mondrian.name} in place of {name}: each class is recoded alone"
    return [_changed(document, told, lambda copy: copy.update(algorithm={"name": Mondrian.name}))]


def _suppression(document: Mapping[str, Any]) -> list[Change]:
    now = document.get("max_suppression", 0.0)
    return [
        _changed(
            document,
            f"let up to {share:.1%} of the records be suppressed (max_suppression = {share})",
            lambda copy, share=share: copy.update(max_suppression=share),  # type: ignore[misc]
        )
        for share in _SHARES
        if share > now
    ]


def _model(document: Mapping[str, Any], position: int) -> list[Change]:
    """Loosen the limit of a model, and nothing else of it."""
    settings = document["models"][position]
    model = MODELS.get(settings["model"])
    limit = model.limit_name
    if limit not in model.parameters() or limit not in settings:
        return []

    def loosened(value: float) -> Change:
        def change(copy: dict[str, Any]) -> None:
            copy["models"][position][limit] = value

        told = f"{model.name}: {limit} = {value:g} in place of {settings[limit]:g}"
        return _changed(document, told, change)

    return [loosened(value) for value in looser(model, settings[limit])]


def looser(model: Any, value: float) -> list[float]:
    """Return limits of a model that ask for less than `value`, as its parameter allows, the nearest first."""
    declared = model.parameters()[model.limit_name]
    if isinstance(value, int) and (declared.kind is int or (model.more_is_safer and value > 2)):
        if model.more_is_safer:
            # A class of one is no protection.
            return list(range(int(value) - 1, max(int(declared.low or 0), 2) - 1, -1))
        return sorted({int(value * factor) + 1 for factor in _TWICE})
    if model.more_is_safer:
        least = declared.low or 0
        found = [round(value * tenth / 10, 3) for tenth in range(9, 0, -1)]
        return [each for each in found if least < each < value]
    if declared.high is not None:
        steps = (round(step / 20, 2) for step in range(1, 20))
        return [share * declared.high for share in steps if value < share * declared.high]
    return [round(value * factor, 3) for factor in _TWICE]


def _column(document: Mapping[str, Any], name: str) -> Change:
    def leave_out(copy: dict[str, Any]) -> None:
        copy["columns"][name] = {"role": "identifying"}

    return _changed(document, f"leave {name} out of the release", leave_out)
