"""Modules that take long to import: the process imports one that runs a test of it, and not each that collects."""

from __future__ import annotations

from typing import Any

from incrowd.core.lazy import LazyModule

__all__ = ["LateModule"]


class LateModule(LazyModule):
    """A module that is imported when a test uses one of its names.

    Pytest asks each name of a file of tests for attributes such as ``__test__``, which must not import it.
    """

    def __getattr__(self, name: str) -> Any:
        if name.startswith("_"):
            raise AttributeError(name)
        return super().__getattr__(name)
