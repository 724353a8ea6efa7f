"""Modules that are imported when they are first used, so that a start of the program does not wait for them.

For example, ``from incrowd.core.lazy import pl`` costs nothing, and ``pl.DataFrame`` then imports Polars.
Type checkers see the modules themselves.
"""

from __future__ import annotations

from importlib import import_module
from types import ModuleType
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import duckdb
    import narwhals as nw
    import numpy as np
    import pandas as pd
    import polars as pl
    import pyarrow as pa
    import pyarrow.compute as pc
    from numpy.typing import NDArray
    from pyspark.sql import functions as sf
    from pyspark.sql import types as st

__all__ = ["NDArray", "duckdb", "np", "nw", "pa", "pc", "pd", "pl", "sf", "st"]


class LazyModule(ModuleType):
    """A module that is imported when one of its names is used.

    An extra that is not installed raises the usual `ModuleNotFoundError` then.
    """

    def __getattr__(self, name: str) -> Any:
        found = getattr(import_module(self.__name__), name)
        # The next use finds the name at once.
        setattr(self, name, found)
        return found

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
    nw = LazyModule("narwhals")
    pa = LazyModule("pyarrow")
    pc = LazyModule("pyarrow.compute")
    pd = LazyModule("pandas")
    pl = LazyModule("polars")
    sf = LazyModule("pyspark.sql.functions")
    st = LazyModule("pyspark.sql.types")
