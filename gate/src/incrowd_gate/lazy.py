"""Modules that are imported at the first use of a name inside."""

from __future__ import annotations

from importlib import import_module
from types import ModuleType
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import duckdb
    import numpy as np
    import polars as pl
    from numpy.typing import NDArray

__all__ = ["LazyModule", "NDArray", "duckdb", "np", "pl"]


class LazyModule(ModuleType):
    """A module that is imported at the first use of a name inside.

    An extra that is not installed raises the usual `ModuleNotFoundError` then.
    """

    def __getattr__(self, name: str) -> Any:
        attribute = getattr(import_module(self.__name__), name)
        # The next use finds the name at once.
        setattr(self, name, attribute)
        return attribute

    def __reduce__(self) -> tuple[Any, ...]:
        # Functions that are sent to other processes take the module by its name.
        return import_module, (self.__name__,)


class Annotation:
    """A generic type that stands in annotations alone, which are not evaluated."""

    def __class_getitem__(cls, _: Any) -> type:
        return cls


if not TYPE_CHECKING:
    NDArray = Annotation
    duckdb = LazyModule("duckdb")
    np = LazyModule("numpy")
    pl = LazyModule("polars")
