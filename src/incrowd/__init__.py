"""Anonymize tables about people, and measure how private and how useful the release is."""

from __future__ import annotations

import lazy_loader

# Names stand once, in __init__.pyi. They are looked up when they are first used, so an import costs nothing.
__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)

__version__ = "0.2.0"
