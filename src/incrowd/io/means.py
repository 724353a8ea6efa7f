"""Columns of means: texts of numbers and days as the type that the column came in."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from incrowd.io.columns import column_named, nameless
from incrowd.io.frames import with_columns
from incrowd.lazy import nw, pd, pl

if TYPE_CHECKING:
    from collections.abc import Mapping


def type_of_means(came: pl.DataType) -> pl.DataType | None:
    """Return the type of the means of a column; None where they are no numbers or days.

    A mean of whole numbers need not be whole, so every number becomes a double.
    """
    if came.is_numeric():
        return pl.Float64()
    return came if came == pl.Date or isinstance(came, pl.Datetime) else None


def as_type(texts: pl.Expr, kind: pl.DataType) -> pl.Expr:
    """Read texts as doubles or days; other texts become missing."""
    if kind.is_numeric():
        return texts.cast(kind, strict=False)
    days = texts.str.to_date("%Y-%m-%d", strict=False)
    if not isinstance(kind, pl.Datetime):
        return days
    midnights = days.cast(pl.Datetime(kind.time_unit), strict=False)
    return midnights.dt.replace_time_zone(kind.time_zone, ambiguous="null", non_existent="null")


def plan_of_types(frame: pl.LazyFrame, types: Mapping[str, pl.DataType]) -> pl.LazyFrame:
    """Give some columns of texts a type when the frame is collected."""
    return frame.with_columns(as_type(column_named(name), kind).alias(name) for name, kind in types.items())


def frame_of_types(
    came: nw.DataFrame[Any], released: nw.DataFrame[Any], types: Mapping[str, pl.DataType]
) -> Any:
    """Give some columns of texts a type, as the frame that came in has it.

    Returns
    -------
    A native frame of the same kind; `released` stays as it is.
    """
    native: Any = released.to_native()
    made = {}
    for name, kind in types.items():
        texts = nameless(released[name].to_polars())
        made[name] = pl.select(as_type(pl.lit(texts), kind)).to_series()
    if released.implementation.is_polars():
        return with_columns(released, made)
    if released.implementation.is_pyarrow():
        for name, series in made.items():
            column = series.to_arrow()
            if not series.dtype.is_numeric():
                column = column.cast(came[name].to_native().type)
            native = native.set_column(native.column_names.index(name), name, column)
        return native
    frame_of_pandas = native.copy(deep=False)
    for name, series in made.items():
        frame_of_pandas[name] = _to_pandas(series, came[name].to_native().dtype)
    return frame_of_pandas


def _to_pandas(series: pl.Series, came: Any) -> pd.Series[Any]:
    """Make a column of pandas; one that knows missing values by a mask or by Arrow does so again."""
    kind = came
    if series.dtype.is_numeric():
        if not pd.api.types.is_extension_array_dtype(came):
            kind = "float64"
        else:
            kind = "double[pyarrow]" if isinstance(came, pd.ArrowDtype) else "Float64"
    # Of a column of objects, days are objects again.
    made: pd.Series[Any] = pd.Series(series.to_list(), dtype=kind)
    return made
