"""Making frames of the kind that came in, with nothing of the input but what is meant to stay."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    import narwhals as nw
    import numpy as np
    from numpy.typing import NDArray

__all__ = ["column_like", "plain", "without_traces"]


def column_like(
    frame: nw.DataFrame[Any], name: str, codes: NDArray[np.integer], labels: Sequence[str | None]
) -> nw.Series[Any]:
    """Make a text column of a frame's kind: ``labels[codes]``."""
    import narwhals as nw
    import polars as pl

    texts = pl.Series(name, labels, dtype=pl.String).gather(codes)
    if frame.implementation.is_polars():
        return nw.from_native(texts, series_only=True)
    native: Any
    if frame.implementation.is_pyarrow():
        import pyarrow as pa

        native = pa.chunked_array([texts.to_arrow()])
        return nw.from_native(native, series_only=True)
    import pandas as pd

    native = pd.Series(texts.to_arrow().to_pandas(), name=name)
    return nw.from_native(native, series_only=True)


def plain(series: nw.Series[Any]) -> nw.Series[Any]:
    """Turn categories into text: those that no longer occur would travel along inside the type."""
    import narwhals as nw

    return series.cast(nw.String) if isinstance(series.dtype, nw.Categorical | nw.Enum) else series


def without_traces(frame: nw.DataFrame[Any], columns: Mapping[str, Any]) -> Any:
    """Put columns together to a native frame without the input's index and metadata."""
    if frame.implementation.is_polars():
        import polars as pl

        return pl.DataFrame([series.to_native().alias(name) for name, series in columns.items()])
    if frame.implementation.is_pyarrow():
        import pyarrow as pa

        # Names and arrays alone: schema and field metadata stay behind.
        return pa.table({name: series.to_native() for name, series in columns.items()})
    import pandas as pd

    plain = {}
    for name, series in columns.items():
        native = series.to_native().reset_index(drop=True)
        native.attrs = {}
        plain[name] = native
    return pd.DataFrame(plain)
