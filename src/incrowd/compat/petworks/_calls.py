"""Calls of techniques by name, with checked parameters."""

from __future__ import annotations

import inspect
import math
import os
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import Any

from incrowd.compat._arguments import check_number, check_whole_number
from incrowd.compat.petworks._files import settings_beside
from incrowd.core.errors import ParameterError

__all__ = ["call", "number"]


def call(
    known: Mapping[str, Callable[..., Any]],
    tech: str,
    given: tuple[Any, ...],
    places: Sequence[Any],
    more: Mapping[str, Any],
    data: Any,
) -> Any:
    """Call a technique, dropping a hierarchy and types that the technique does not use.

    If it uses them and they are not given, they are those of the file beside the `data`. Values at `places`
    are in the order of PETWorks's texts.
    """
    if not isinstance(tech, str) or tech not in known:
        raise ParameterError(f"tech: there is no technique {tech!r}; there are {', '.join(known)}")
    signature = inspect.signature(known[tech])
    allowed = list(signature.parameters)[len(given) :]
    shared = ("dataHierarchy", "attributeTypes")
    more = _by_name(tech, shared, allowed, places, more)
    settings = {name: value for name, value in more.items() if name in allowed or name not in shared}
    missing = [name for name in shared if name in allowed and settings.get(name) is None]
    if missing and isinstance(data, str | os.PathLike):
        beside = settings_beside(data)
        settings |= {name: beside[name] for name in missing if name in beside}
    unknown = [name for name in settings if name not in allowed]
    needed = [
        name
        for name in allowed
        if signature.parameters[name].default is inspect.Parameter.empty and name not in settings
    ]
    if unknown or needed:
        wrong = f"does not take {unknown[0]!r}" if unknown else f"needs {needed[0]!r}"
        raise ParameterError(f"{tech} {wrong}; its parameters are {', '.join(allowed) or 'none'}")
    for name, check in _CHECKS.items():
        if name in settings:
            settings[name] = check(settings[name], name)
    return known[tech](*given, **settings)


def _by_name(
    tech: str, shared: Sequence[str], allowed: Sequence[str], places: Sequence[Any], more: Mapping[str, Any]
) -> Mapping[str, Any]:
    """Return positional values by name, together with the named values.

    Texts of PETWorks write ``"t-closeness", dataHierarchy, attributeTypes, tLimit``, and later ones
    ``"t-closeness", tLimit``, where a file beside the data has the others.
    """
    order = [name for name in allowed if name not in (*shared, "groups")]
    if any(isinstance(value, Mapping) for value in places):
        order = [*(name for name in shared if name in allowed), *order]
    twice = [name for name in order[: len(places)] if name in more]
    if len(places) > len(order) or twice:
        counts = f"got {len(places)} values for {len(order)} parameters"
        wrong = f"got {twice[0]!r} twice" if twice else counts
        names = ", ".join(f"{name}=" for name in order) or "none"
        raise ParameterError(f"{tech} {wrong}; those are {names}")
    return dict(zip(order, places, strict=False)) | dict(more)


def number(value: Any, name: str, low: float = -math.inf, high: float = math.inf) -> Any:
    """Check a number, reading a text as PETWorks does."""
    if isinstance(value, str):
        try:
            value = float(value)
        except ValueError:
            raise ParameterError(f"{name}: give a number, not {value!r}") from None
    check_number(value, name, low=low, high=high)
    return value


def _truth(value: Any, name: str) -> bool:
    if not isinstance(value, bool):
        raise ParameterError(f"{name}: give True or False")
    return value


def _function(value: Any, name: str) -> Any:
    if not callable(value):
        raise ParameterError(f"{name}: give a function that returns a number")
    return value


_CHECKS: dict[str, Callable[[Any, str], Any]] = {
    **dict.fromkeys(("k", "l", "nAttack", "n_col"), partial(check_whole_number, least=1)),
    **dict.fromkeys(("tLimit", "t", "dMin", "dMax"), partial(number, low=0, high=1)),
    **dict.fromkeys(
        ("maxBias", "adversaryCost", "adversaryGain", "publisherLost", "publisherBenefit"), number
    ),
    **dict.fromkeys(("allowAttack", "groups"), _truth),
    "processingFunc": _function,
}
