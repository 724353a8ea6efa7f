"""Entries that other installed packages add to the lists by entry points in ``pyproject.toml``.

For example, a package that brings a privacy model::

    [project.entry-points."incrowd.models"]
    triple-anonymity = "incrowd_example.triple_anonymity:TripleAnonymity"

The groups are ``incrowd.models``, ``incrowd.metrics``, ``incrowd.dialects``, ``incrowd.kinds`` and
``incrowd.commands``.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterable, Iterator
from functools import cache
from importlib.metadata import EntryPoint, entry_points
from typing import Any


@cache
def _installed() -> Any:
    # Python 3.11 and 3.12 return different types, which both have `select`.
    return entry_points()


def plugins(group: str) -> dict[str, EntryPoint]:
    """Return the entry points of a group by name, without loading any."""
    return {entry.name: entry for entry in sorted(_installed().select(group=group))}


def load(entry: EntryPoint) -> Any:
    """Return the object of an entry point, or None with a warning if loading fails."""
    try:
        return entry.load()
    except Exception as error:  # A package of somebody else may raise anything.
        return leave_out(entry, f"cannot be loaded ({type(error).__name__}: {error})")


def leave_out(entry: EntryPoint, reason: str) -> None:
    """Warn that an entry of another package is not in a list, since `reason`."""
    package = "a package" if entry.dist is None else f"the package {entry.dist.name} {entry.dist.version}"
    warnings.warn(
        f"{package} adds {entry.name!r} to {entry.group}, which {reason}; it is left out, so update or "
        "uninstall the package",
        stacklevel=3,
    )


def plugin_classes(
    group: str, base: type, own: Iterable[type], names: Callable[[Any], set[str]]
) -> Iterator[type[Any]]:
    """Yield the classes that other packages add to a list; an entry of the list is never replaced.

    Parameters
    ----------
    group
        The group of entry points.
    base
        The class that every entry derives from.
    own
        The entries that incrowd has itself.
    names
        The names that an entry answers to; each may stand in the list once.
    """
    used = {name for each in own for name in names(each)}
    for entry in plugins(group).values():
        each = load(entry)
        if each is None:
            continue
        if not (isinstance(each, type) and issubclass(each, base)):
            leave_out(entry, f"is no class derived from {base.__name__}")
            continue
        try:
            own_names = names(each)
        except (AttributeError, TypeError) as error:
            leave_out(entry, f"lacks a part of {base.__name__} ({error})")
            continue
        if same := sorted(own_names & used):
            leave_out(entry, f"uses the name {', '.join(same)} of another entry")
            continue
        used |= own_names
        yield each
