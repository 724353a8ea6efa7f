"""Anonymize tables about people, and measure how private and how useful the release is."""

from __future__ import annotations

import lazy_loader

# Names stand once, in __init__.pyi. They are looked up when they are first used, so an import costs nothing.
_load, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)

__version__ = "0.2.0"


def __getattr__(name: str) -> object:
    try:
        return _load(name)
    except AttributeError:
        if name in __all__ or name.startswith("_"):
            raise
        from incrowd.errors import did_you_mean

        raise AttributeError(
            f"module 'incrowd' has no attribute {name!r}{did_you_mean(name, __all__)}"
        ) from None
