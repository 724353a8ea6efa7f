"""Modules that are imported at first use, so that a start of the program does not wait.

For example, ``from incrowd.core.lazy import pl`` costs nothing, and ``pl.DataFrame`` then imports Polars.
Type checkers see the modules themselves.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from incrowd_gate.lazy import LazyModule, NDArray, duckdb, np, pl

if TYPE_CHECKING:
    import narwhals as nw
    import pandas as pd
    import pyarrow as pa
    import pyarrow.compute as pc
    from pyspark.sql import functions as sf
    from pyspark.sql import types as st

__all__ = ["LazyModule", "NDArray", "duckdb", "np", "nw", "pa", "pc", "pd", "pl", "sf", "st"]


if not TYPE_CHECKING:
    nw = LazyModule("narwhals")
    pa = LazyModule("pyarrow")
    pc = LazyModule("pyarrow.compute")
    pd = LazyModule("pandas")
    sf = LazyModule("pyspark.sql.functions")
    st = LazyModule("pyspark.sql.types")
