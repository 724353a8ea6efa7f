"""Slow modules are imported by the process that runs a test of the module, not at each collection."""

from __future__ import annotations

from typing import Any

from incrowd.core.lazy import LazyModule

__all__ = ["LateModule"]


class LateModule(LazyModule):
    """A module that is imported when a test uses a name of the module.

    Pytest asks each name of a file of tests for attributes such as ``__test__``, which must not import it.
    """

    def __getattr__(self, name: str) -> Any:
        if name.startswith("_"):
            raise AttributeError(name)
        return super().__getattr__(name)
