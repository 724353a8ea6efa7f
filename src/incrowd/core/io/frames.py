"""Frames of the same kind as the input, without any trace of the input that should not leave.

A column that was filtered, sliced or suppressed often keeps its old buffers. They hold texts of removed rows,
values beneath a missing one, and categories that no longer occur. Whoever writes or pickles such a column
hands them out. So released columns are always written anew, and a type of categories gets only those that its
rows have. Where the type gives its categories no order, they are sorted.
"""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Any, cast

from incrowd.core.errors import SchemaError
from incrowd.core.io.columns import columns_named, nameless
from incrowd.core.lazy import NDArray, np, nw, pa, pc, pd, pl

if TYPE_CHECKING:
    from collections.abc import Mapping


def without_negative_zero(series: pl.Series) -> pl.Series:
    """Return a column of floating-point numbers in which negative zero is zero.

    Adding 0 does not do it: Polars leaves a column as it is that 0 is added to.

    Examples
    --------
    >>> import polars as pl
    >>> without_negative_zero(pl.Series([-0.0, 1.5, None])).to_list()
    [0.0, 1.5, None]
    """
    nonzero = (series != 0).fill_null(value=True)
    return series.zip_with(nonzero, pl.Series([0.0], dtype=series.dtype))


def column_like(
    frame: nw.DataFrame[Any], name: str, codes: NDArray[np.integer], labels: pl.Series
) -> nw.Series[Any]:
    """Create a text column of a frame's kind, ``labels[codes]``, where each label has to occur."""
    texts = labels.gather(codes).alias(name)
    if frame.implementation.is_polars():
        return nw.from_native(texts, series_only=True)
    native: Any
    if frame.implementation.is_pyarrow():
        native = pa.chunked_array([texts.to_arrow()])
        return nw.from_native(native, series_only=True)
    native = pd.Series(texts.to_arrow().to_pandas(), name=name)
    return nw.from_native(native, series_only=True)


def with_columns(frame: nw.DataFrame[Any], columns: Mapping[str, pl.Series]) -> Any:
    """Return a native frame of the same kind with some columns replaced."""
    native: Any = frame.to_native()
    if frame.implementation.is_polars():
        clone: pl.DataFrame = native.clone()
        for name, series in columns.items():
            clone.replace_column(clone.columns.index(name), series.alias(name))
        return clone
    if frame.implementation.is_pyarrow():
        for name, series in columns.items():
            position = native.column_names.index(name)
            native = native.set_column(position, name, nameless(series).to_arrow())
        return native
    copy = native.copy(deep=False)
    for name, series in columns.items():
        # An array and no series: an index would put rows elsewhere.
        copy[name] = _pandas_like(nameless(series), native[name].dtype)
    return copy


def _pandas_like(series: pl.Series, dtype: Any) -> Any:
    """Convert a column to a pandas array, of the type before where that type holds the values."""
    values = series.to_arrow().to_pandas()
    types = pd.api.types
    # Texts stay texts, where 007 would become a number, and have no categories, which were raw values.
    if values.dtype == dtype or isinstance(dtype, pd.CategoricalDtype):
        return values.array
    if series.dtype == pl.String and types.is_numeric_dtype(dtype):
        return values.array
    if types.is_integer_dtype(dtype):
        # Fewer bits would cut numbers off without a word.
        wide = "int64[pyarrow]" if isinstance(dtype, pd.ArrowDtype) else "Int64"
        return pd.array(values, dtype=wide) if types.is_extension_array_dtype(dtype) else values.array
    try:
        return pd.array(values, dtype=dtype)
    except (TypeError, ValueError):
        return values.array


def without_traces(frame: nw.DataFrame[Any], columns: Mapping[str, Any]) -> Any:
    """Combine columns into a native frame without the input's buffers, index and metadata.

    A column of categories keeps its type, with the categories that its rows have.

    Parameters
    ----------
    columns
        Columns of the frame; or functions that call `column_like`, whose columns have nothing of the input.

    Raises
    ------
    SchemaError
        When a column is of a type that cannot be written anew.
    """
    from incrowd.core.kernels.jit import at_once

    kind = frame.implementation

    def anew(name: str) -> Any:
        column = columns[name]
        native = (column() if callable(column) else column).to_native()
        if kind.is_polars():
            return native if callable(column) else _copy_polars(native.alias(name))
        return _copy_arrow(name, native) if kind.is_pyarrow() else _copy_pandas(name, native)

    copies = at_once(len(frame), *(partial(anew, name) for name in columns))
    contents = dict(zip(columns, copies, strict=True))
    # Of a list, a series with an empty name would be renamed. Of Arrow, the metadata of fields stay behind.
    return (
        pl.DataFrame(contents)
        if kind.is_polars()
        else (pa.table if kind.is_pyarrow() else pd.DataFrame)(contents)
    )


def _refuse(name: str, kind: object) -> SchemaError:
    return SchemaError(
        f"column {name!r} is of type {str(kind)[:80]}, which cannot be released without traces of the rows "
        "that it held before; convert it first"
    )


# --- Polars ------------------------------------------------------------------------------------------


def written_anew(series: pl.Series) -> pl.Series:
    """Copy a Polars column into new buffers, with categories as text.

    Raises
    ------
    SchemaError
    """
    import io

    name, kind = series.name, _without_categories(series.dtype)
    series = nameless(series)
    if kind != series.dtype:
        series = series.cast(kind)
    if kind == pl.String:
        texts: pl.Series = pl.select(pl.concat_str([pl.lit(series), pl.lit("")])).to_series()
        return (texts if len(series) else series.clear()).alias(name)
    if not (kind.is_nested() or kind in (pl.Binary, pl.Object)):
        # Gathering writes nothing beneath a missing value.
        return series.gather(np.arange(len(series), dtype=np.uint32)).alias(name)
    if kind == pl.Object:
        raise _refuse(name, kind)
    try:
        buffer = io.BytesIO()
        series.alias("c").to_frame().write_parquet(buffer, compression="uncompressed", statistics=False)
        buffer.seek(0)
        return pl.read_parquet(buffer)["c"].alias(name)
    except pl.exceptions.PolarsError:
        raise _refuse(name, kind) from None


def _without_categories(kind: pl.DataType) -> pl.DataType:
    if isinstance(kind, pl.Categorical | pl.Enum):
        return pl.String()
    if isinstance(kind, pl.List):
        return pl.List(_without_categories(kind.inner))  # type: ignore[arg-type]
    if isinstance(kind, pl.Array):
        return pl.Array(_without_categories(kind.inner), kind.size)  # type: ignore[arg-type]
    if isinstance(kind, pl.Struct):
        return pl.Struct(
            [pl.Field(field.name, _without_categories(field.dtype)) for field in kind.fields]  # type: ignore[arg-type]
        )
    return kind


# --- PyArrow and pandas ------------------------------------------------------------------------------


def _copy_arrow(name: str, column: pa.ChunkedArray) -> pa.ChunkedArray:
    """Copy a PyArrow column into new buffers, with views as text."""
    kind = _without_views(column.type)
    try:
        values = column.cast(kind) if kind != column.type else column
        anew = pa.chunked_array(
            [chunk.take(pa.array(range(len(chunk)), pa.int64())) for chunk in values.chunks], kind
        )
        categories = _arrow_categories(column, anew) if pa.types.is_dictionary(column.type) else None
        return anew if categories is None else categories
    except (pa.ArrowException, NotImplementedError, TypeError):
        raise _refuse(name, kind) from None


def _without_views(kind: pa.DataType) -> pa.DataType:
    types = pa.types
    if types.is_dictionary(kind):
        return _without_views(kind.value_type)
    if types.is_string_view(kind) or types.is_binary_view(kind):
        return pa.large_string() if types.is_string_view(kind) else pa.large_binary()
    if types.is_struct(kind):
        return pa.struct(
            [(kind.field(i).name, _without_views(kind.field(i).type)) for i in range(kind.num_fields)]
        )
    for same, make in ((types.is_list, pa.list_), (types.is_large_list, pa.large_list)):
        if same(kind):
            return make(_without_views(kind.value_type))
    return kind


def _copy_pandas(name: str, series: pd.Series[Any]) -> pd.Series[Any]:
    """Copy a pandas column without index, attributes, and values beneath a missing cell."""
    native: pd.Series[Any] = series.reset_index(drop=True)
    if isinstance(native.dtype, pd.CategoricalDtype):
        return _pandas_categories(name, native)
    if isinstance(native.dtype, pd.ArrowDtype):
        column = native.array.__arrow_array__()
        column = column if isinstance(column, pa.ChunkedArray) else pa.chunked_array([column])
        return pd.Series(pd.arrays.ArrowExtensionArray(_copy_arrow(name, column)))
    if hasattr(native.array, "_mask") and (missing := native.isna()).any():
        # A column with a mask keeps what it masks.
        native = native.fillna(native.dtype.type(0))  # type: ignore[arg-type]
        native[missing] = pd.NA
    return pd.Series(native.array.take(np.arange(len(native))), dtype=native.dtype)


_PANDAS_KINDS = frozenset({"string", "integer", "floating", "boolean", "datetime64", "empty"})
"""Kinds of pandas categories that stay categories, while others, such as intervals, become text."""


def _copy_polars(series: pl.Series) -> pl.Series:
    """Copy a Polars column into new buffers, with unused categories removed."""
    if not isinstance(series.dtype, pl.Categorical | pl.Enum):
        return written_anew(series)
    # A series looks itself up by its name, which may be a pattern of names.
    texts = series.alias("").cast(pl.String)
    distinct = texts.drop_nulls().unique().sort()
    count = len(distinct)
    if isinstance(series.dtype, pl.Enum):
        present = set(distinct)
        categories = pl.Enum([name for name in series.dtype.categories if name in present])
        return texts.cast(categories).alias(series.name)
    # Categories are numbered as they are met; the first rows of the table are nobody's business.
    return distinct.append(texts).cast(series.dtype).slice(count).alias(series.name)


def _arrow_categories(column: pa.ChunkedArray, values: pa.ChunkedArray) -> pa.ChunkedArray | None:
    """Rebuild a PyArrow dictionary without unused values, or return None if lookup is impossible.

    Parameters
    ----------
    column
    values
        The same column without its dictionary, written anew.
    """
    kind = column.type
    try:
        distinct = values.combine_chunks().unique().drop_null()
        if kind.ordered:
            entries = pa.chunked_array([chunk.dictionary for chunk in column.chunks], kind.value_type)
            entries = entries.cast(values.type).unique()
            distinct = entries.filter(pc.is_in(entries, value_set=distinct)).drop_null()
        else:
            distinct = distinct.take(pc.array_sort_indices(distinct))
        codes = pc.index_in(values.combine_chunks(), value_set=distinct).cast(kind.index_type)
        return pa.chunked_array([pa.DictionaryArray.from_arrays(codes, distinct, ordered=kind.ordered)])
    except (pa.ArrowException, NotImplementedError, TypeError):
        return None


def _pandas_categories(name: str, series: pd.Series[Any]) -> pd.Series[Any]:
    """Rebuild a pandas column of categories without unused categories."""
    array: Any = series.array
    if pd.api.types.infer_dtype(array.categories, skipna=False) not in _PANDAS_KINDS:
        return pd.Series(np.array([*map(str, array.categories), None], object)[array.codes])
    occurring = np.unique(array.codes[array.codes >= 0])
    if not array.ordered:
        occurring = occurring[array.categories.take(occurring).argsort()]
    # The last place is that of the missing value.
    position = np.full(len(array.categories) + 1, -1, np.int64)
    position[occurring] = np.arange(len(occurring))
    categories = _copy_pandas(name, pd.Series(array.categories.take(occurring), name=None))
    kind = pd.CategoricalDtype(pd.Index(categories), bool(array.ordered))
    return pd.Series(pd.Categorical.from_codes(position[array.codes], dtype=kind))


def readable(series: pd.Series[Any]) -> pd.Series[Any]:
    """Return a pandas column in a type that other libraries read, with intervals and periods as text.

    An interval becomes its text, such as ``(30.0, 40.0]`` of `pandas.cut`. A period becomes the text of its
    month, day, week or quarter: ``2024-03``, ``2024-03-05``, ``2024Q1``. So do categories of these.

    Examples
    --------
    >>> import pandas as pd
    >>> readable(pd.cut(pd.Series([31, 47]), [30, 40, 50])).tolist()
    ['(30, 40]', '(40, 50]']
    """
    kind = series.dtype
    if isinstance(kind, pd.SparseDtype):
        return pd.Series(np.asarray(series), name=series.name)
    odd = (pd.IntervalDtype, pd.PeriodDtype)
    codes: Any
    distinct: Any
    if isinstance(kind, pd.CategoricalDtype) and isinstance(kind.categories.dtype, odd):
        codes, distinct = series.cat.codes.to_numpy(), kind.categories
    elif isinstance(kind, odd):
        codes, distinct = pd.factorize(series)
    else:
        return series
    # Code -1 is that of a missing one, whose text is the last.
    texts = np.array([*map(str, distinct), None], object)
    return pd.Series(texts[codes], name=series.name, dtype=object)


# --- columns of means ---------------------------------------------------------------------------------


def type_of_means(dtype: pl.DataType) -> pl.DataType | None:
    """Return the type of the means of a column, or None for neither numbers nor days.

    A mean of whole numbers need not be whole, so every number becomes a double.
    """
    if dtype.is_numeric():
        return pl.Float64()
    return dtype if dtype == pl.Date or isinstance(dtype, pl.Datetime) else None


def as_type(texts: pl.Expr, kind: pl.DataType) -> pl.Expr:
    """Cast texts to doubles or days (other texts: missing)."""
    if kind.is_numeric():
        return texts.cast(kind, strict=False)
    days = texts.str.to_date("%Y-%m-%d", strict=False)
    if not isinstance(kind, pl.Datetime):
        return days
    midnights = days.cast(pl.Datetime(kind.time_unit), strict=False)
    return midnights.dt.replace_time_zone(kind.time_zone, ambiguous="null", non_existent="null")


def frame_of_types(
    source: nw.DataFrame[Any], released: nw.DataFrame[Any], types: Mapping[str, pl.DataType]
) -> Any:
    """Cast some columns of texts to a type in the way of the input frame.

    Returns
    -------
    A native frame of the same kind; `released` stays as it is.
    """
    native: Any = released.to_native()
    columns = {}
    for name, kind in types.items():
        texts = nameless(released[name].to_polars())
        columns[name] = pl.select(as_type(pl.lit(texts), kind)).to_series()
    if released.implementation.is_polars():
        return with_columns(released, columns)
    if released.implementation.is_pyarrow():
        for name, series in columns.items():
            column = series.to_arrow()
            if not series.dtype.is_numeric():
                column = column.cast(source[name].to_native().type)
            native = native.set_column(native.column_names.index(name), name, column)
        return native
    frame_of_pandas = native.copy(deep=False)
    for name, series in columns.items():
        # One that knows missing values by a mask or by Arrow does so again. Of objects, days are objects.
        dtype: Any = source[name].to_native().dtype
        if series.dtype.is_numeric():
            extended = "double[pyarrow]" if isinstance(dtype, pd.ArrowDtype) else "Float64"
            dtype = extended if pd.api.types.is_extension_array_dtype(dtype) else "float64"
        frame_of_pandas[name] = pd.Series(series.to_list(), dtype=dtype)
    return frame_of_pandas


_FEW = 8
"""Rows per distinct row above which distinct rows are gathered without joining the pieces."""


def numbered(frame: pl.DataFrame) -> tuple[NDArray[np.int32], NDArray[np.int64]]:
    """Give combinations of values numbers in the order of first occurrence, missing being a value.

    Returns
    -------
    numbers
        int32[rows], from 0 without gaps.
    first
        int64[combinations]: the first row of each.

    Examples
    --------
    >>> import polars as pl
    >>> numbered(pl.DataFrame({"ward": ["b", "a", None, "b"]}))[0].tolist()
    [0, 1, 2, 0]
    """
    from incrowd.core.kernels.grouping.grouping import group_columns, group_numbers

    if frame.width == 1 and (integers := _as_integers(frame.to_series())) is not None:
        return group_numbers(integers.to_numpy())
    numbers, first = group_columns([frame.hash_rows().to_numpy()], [2**64], len(frame))
    if len(first) * _FEW > len(frame):
        # Many texts are found in one piece sooner.
        frame = frame.rechunk()
    # Rows of different hashes are different. Distinct ones are few, or lie in the order of the rows.
    if len(first) == len(frame) or frame.equals(frame[first][numbers]):
        return numbers, first
    # Two combinations have the same hash.
    plain = frame.rename({name: f"{position}" for position, name in enumerate(frame.columns)})
    grouped = (
        plain.with_row_index("row").group_by(columns_named(plain.columns), maintain_order=True).agg("row")
    )
    places = np.empty(len(frame), np.int32)
    rows = grouped["row"].explode().to_numpy()
    places[rows] = np.repeat(np.arange(len(grouped), dtype=np.int32), grouped["row"].list.len())
    return places, grouped.select(pl.col("row").list.first()).to_series().cast(pl.Int64).to_numpy()


def _as_integers(column: pl.Series) -> pl.Series | None:
    """Return a column of integers of at most 64 bits, with a free number in place of missing.

    None where it holds anything else, or every number there is.
    """
    if not column.dtype.is_integer() or str(column.dtype).endswith("128"):
        return None
    if not column.null_count():
        return column
    least, largest = (cast("int | None", end) for end in (column.min(), column.max()))
    if least is None or largest is None:
        return column.fill_null(0)
    limits = np.iinfo(str(column.dtype).lower())
    if largest < limits.max:
        return column.fill_null(largest + 1)
    return column.fill_null(least - 1) if least > limits.min else None
