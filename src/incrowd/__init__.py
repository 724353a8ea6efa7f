"""Anonymize tables about people, and measure how private and how useful the release is."""

from __future__ import annotations

from importlib import import_module

import lazy_loader

# Names stand once, in __init__.pyi. They are looked up when they are first used, so an import costs nothing.
_load, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)

__version__ = "0.2.0"

_ROOMS = {"privacy": "measures.privacy", "risk": "measures.risk", "treatments": "core.treatments"}
"""Rooms of wings that are names of the package, too, as ``ic.privacy.k_anonymity(...)``."""
_WAYS = {
    "init": "; write incrowd.draft_policy(table, 'people.csv').text, which is the policy file",
    "read_csv": "; give the path of the file in place of a table",
}
"""The way out for names of other tools and of the command line."""


def __getattr__(name: str) -> object:
    if name in _ROOMS:
        return import_module(f"{__name__}.{_ROOMS[name]}")
    try:
        return _load(name)
    except AttributeError:
        if name in __all__ or name.startswith("_"):
            raise
        from incrowd.core.errors import did_you_mean

        way_out = _WAYS.get(name) or did_you_mean(name, __all__)
        raise AttributeError(f"module 'incrowd' has no attribute {name!r}{way_out}") from None
