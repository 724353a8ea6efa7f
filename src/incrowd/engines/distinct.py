"""Dictionary encoding of a column in memory: the distinct values in order, and a code for each row."""

from __future__ import annotations

from typing import TYPE_CHECKING

from incrowd.core.errors import SchemaError
from incrowd.core.io.columns import has_objects, is_nested
from incrowd.core.io.frames import without_negative_zero
from incrowd.core.lazy import NDArray, np, pl
from incrowd.core.table.schema import UNRELEASED

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from incrowd.core.table.domain import Dictionary
    from incrowd.core.table.frequency import FrequencyTable
    from incrowd.core.table.schema import Schema


_FEW = 1000
"""Largest number of texts converted to Python at once."""

_COPY_FACTOR = 4
"""Ratio of the bytes of a column and the distinct texts up to which the column may stay in memory."""


def require_countable(column: str, dtype: pl.DataType) -> None:
    """Refuse columns of lists, bytes, times of day and the like.

    Raises
    ------
    SchemaError
        When the column is neither text, number nor date.
    """
    texts = (pl.String, pl.Categorical, pl.Enum, pl.Null, pl.Boolean)
    if not (dtype.is_numeric() or dtype in (*texts, pl.Date, pl.Datetime)):
        raise SchemaError(f"column {column!r} {_describe_type(dtype)}")


def _describe_type(dtype: pl.DataType) -> str:
    """Say why values of a type are not read, and name the way out."""
    leave = "or leave the column out"
    if has_objects(dtype):
        return f"has lists of objects, whose fields have no role; make a table of a row per object, {leave}"
    if is_nested(dtype):
        return (
            f"has lists of type {dtype}, which are no single values; turn them into texts or numbers, {leave}"
        )
    if dtype == pl.Duration:
        return f"has spans of time; turn them into numbers first, such as days, {leave}"
    if dtype == pl.Binary:
        return f"has bytes, which are neither text, number nor date; turn them into text first, {leave}"
    if dtype == pl.Time:
        return f"has times of day; turn them into text or numbers first, such as hours, {leave}"
    return f"is of type {str(dtype)[:80]}, which is neither text, number nor date; convert it first, {leave}"


def as_text(values: pl.Series) -> pl.Series:
    """Take truth values and categories for texts."""
    textual = isinstance(values.dtype, pl.Categorical | pl.Enum) or values.dtype in (pl.Null, pl.Boolean)
    return values.cast(pl.String) if textual else values


def refuse_objects(types: Mapping[str, pl.DataType], schema: Schema) -> None:
    """Raise for a released column of nested objects, as the objects' fields have no role.

    Raises
    ------
    SchemaError
    """
    for name, dtype in types.items():
        leaves = schema[name].role not in UNRELEASED if name in schema else schema.unlisted == "keep"
        if leaves and has_objects(dtype):
            raise SchemaError(f"column {name!r} {_describe_type(dtype)}")


def dictionary(
    series: pl.Series, column: str, null_values: tuple[str, ...]
) -> tuple[Dictionary, NDArray[np.integer]]:
    """Encode a column as the distinct values and a code for each row (missing: the last code).

    Raises
    ------
    SchemaError
        When the column is neither text, number nor date, or has infinite values.
    """
    from incrowd.core.io.columns import nameless
    from incrowd.core.reading.missing import null_values_of

    series = nameless(series)
    dtype = series.dtype
    require_countable(column, dtype)
    if dtype in (pl.Null, pl.Boolean):
        series = series.cast(pl.String)
    if series.dtype == pl.String or isinstance(dtype, pl.Categorical | pl.Enum):
        return _encode_texts(series, null_values)
    if null_values:
        series = null_values_of(null_values).without(series)
    return _encode_numbers(series, column) if dtype.is_numeric() else _encode_days(series)


def _encode_texts(series: pl.Series, null_values: tuple[str, ...]) -> tuple[Dictionary, NDArray[np.integer]]:
    """Encode a text column as the distinct texts in order and a code for each row."""
    from incrowd.core.io.frames import numbered
    from incrowd.core.kernels.jit import PARALLEL_FROM
    from incrowd.core.reading.missing import null_values_of
    from incrowd.core.table.domain import Dictionary

    # Fewer rows are done before the loops of the other way are loaded.
    if len(series) >= PARALLEL_FROM:
        # Categories have numbers already.
        ids, first = numbered(series.to_physical().to_frame())
        distinct = series.gather(first).cast(pl.String)
        distinct = null_values_of(null_values).without(distinct) if null_values else distinct
        order = distinct.arg_sort(nulls_last=True).head(len(distinct) - distinct.null_count()).to_numpy()
        texts = _compact(distinct.gather(order), series)
        ranks = _rank_rows(ids, order, len(distinct))
        return Dictionary(texts, len(order) < len(distinct), in_order=True), ranks
    series = series.cast(pl.String)
    series = null_values_of(null_values).without(series) if null_values else series
    has_missing = series.null_count() > 0
    distinct = series.drop_nulls().unique().sort()
    codes = series.cast(pl.Enum(distinct)).to_physical()
    if has_missing:
        codes = codes.cast(pl.UInt32).fill_null(len(distinct))
    return Dictionary(distinct.to_list(), has_missing, in_order=True), codes.to_numpy()


def _compact(distinct: pl.Series, series: pl.Series) -> Sequence[str]:
    """Return the distinct texts, copied where a view would hold a much larger column in memory."""
    from incrowd.core.reading.texts import Texts

    if len(distinct) <= _FEW:
        return distinct.to_list()
    if series.dtype == pl.String:
        size, column_size = (int(each.str.len_bytes().sum() or 0) for each in (distinct, series))
        if column_size > _COPY_FACTOR * size:
            copied = pl.concat_str("text", pl.lit(""))
            return Texts(pl.DataFrame({"text": distinct}).select(copied).to_series())
    return Texts(distinct)


def _rank_rows(ids: NDArray[np.integer], order: NDArray[np.int64], count: int) -> NDArray[np.integer]:
    """Return the rank of each row's value (values outside `order`: the last rank).

    Parameters
    ----------
    ids
        int[rows]: which of `count` values each row has.
    order
        The values in order.
    """
    ranks = np.full(count, len(order), np.min_scalar_type(count))
    ranks[order] = np.arange(len(order))
    placed: NDArray[np.integer] = ranks[ids]
    return placed


def _sort_distinct(series: pl.Series) -> tuple[pl.Series, NDArray[np.integer]]:
    """Return the distinct values in order without missing, and a code for each row (missing: last)."""
    from incrowd.core.io.frames import numbered
    from incrowd.core.kernels.grouping.grouping import group_numbers

    if series.dtype.is_float():
        # Equal numbers have equal bits, and what is missing those of one that is none.
        bits = series.to_numpy()
        ids, first = group_numbers(bits.view(np.dtype(f"i{bits.itemsize}")))
    else:
        ids, first = numbered(series.to_physical().to_frame())
    distinct = series.gather(first)
    present = np.flatnonzero(distinct.is_not_null().to_numpy())
    values = distinct.gather(present).to_physical()
    # NumPy sorts numbers many times as fast, but does not know those of 128 bits.
    wide = str(values.dtype).endswith("128")
    order = present[values.arg_sort().to_numpy() if wide else np.argsort(values.to_numpy())]
    return distinct.gather(order), _rank_rows(ids, order, len(distinct))


def _encode_numbers(series: pl.Series, column: str) -> tuple[Dictionary, NDArray[np.integer]]:
    """Encode a numeric column as the distinct numbers in order, NaN being missing."""
    from incrowd.core.reading.texts import Texts
    from incrowd.core.table.domain import Dictionary

    if series.dtype.is_float():
        # Negative zero is the same number, and would be named by whichever comes first.
        series = without_negative_zero(series.fill_nan(None))
    distinct, places = _sort_distinct(series)
    if series.dtype.is_float() and distinct.is_infinite().any():
        raise SchemaError(f"column {column!r} has infinite values; replace them, or turn it into text")
    numbers = distinct.cast(pl.Float64).to_numpy()
    texts, has_missing = Texts(distinct, _number_texts), series.null_count() > 0
    return Dictionary(texts, has_missing, "number", numbers, in_order=True), places


def _encode_days(series: pl.Series) -> tuple[Dictionary, NDArray[np.integer]]:
    """Encode dates or zoneless points of time as the distinct values in order."""
    from incrowd.core.reading.texts import Texts
    from incrowd.core.table.domain import Dictionary

    if series.dtype == pl.Date:
        distinct, places = _sort_distinct(series)
        whole_days, days = True, distinct.cast(pl.Int32).cast(pl.Float64)
    else:
        series = series.dt.replace_time_zone(None)
        distinct, places = _sort_distinct(series)
        whole_days = bool((distinct == distinct.dt.truncate("1d")).all())
        days = distinct.dt.epoch("us").cast(pl.Float64) / 86_400_000_000
    texts, has_missing = Texts(distinct, _date_texts if whole_days else _time_texts), series.null_count() > 0
    return Dictionary(texts, has_missing, "date", days.to_numpy(), in_order=True), places


def _number_texts(numbers: pl.Series) -> pl.Series:
    """Write numbers as texts, whole floats without the decimal part."""
    return numbers.cast(pl.String).str.strip_suffix(".0")


def _date_texts(days: pl.Series) -> pl.Series:
    """Write dates, or points of time that are midnights."""
    return days.dt.to_string("%Y-%m-%d")


def _time_texts(moments: pl.Series) -> pl.Series:
    """Write points of time."""
    return moments.dt.to_string("%Y-%m-%dT%H:%M:%S%.f")


_LEAST = 20
"""Rows below which an order is taken for chance."""
_ONE_WAY = 0.9
"""Share of the changes from row to row in one direction above which a column is nearly sorted."""
_GROUPED = 0.5
"""Share of the changes of a random order below which equal values stand together."""


class ColumnOrder:
    """The order of the values of a column, fed in batches.

    Parameters
    ----------
    size
        Number of distinct values.
    """

    def __init__(self, size: int) -> None:
        self._counts = np.zeros(size, np.int64)
        self._last: int | None = None
        self._changes = self._upward = 0

    def add(self, ranks: NDArray[np.integer]) -> None:
        """Add the ranks of the next rows."""
        ranks = ranks.astype(np.int64)
        self._counts += np.bincount(ranks, minlength=len(self._counts))
        if self._last is not None:
            ranks = np.concatenate([[self._last], ranks])
        steps = np.diff(ranks)
        self._changes += int((steps != 0).sum())
        self._upward += int((steps > 0).sum())
        self._last = int(ranks[-1]) if len(ranks) else self._last

    @property
    def tells(self) -> bool:
        """Whether the rows are nearly sorted by the column, or equal values stand together."""
        rows = int(self._counts.sum())
        if rows < _LEAST:
            return False
        usual = (rows - 1) * float(1 - ((self._counts / rows) ** 2).sum())
        if usual < 1:
            return False  # nearly everybody has one value, and its place tells nothing
        upward = max(self._upward, self._changes - self._upward)
        sorted_ = self._changes > 1 and upward >= _ONE_WAY * self._changes
        return sorted_ or self._changes <= _GROUPED * usual


def columns_in_order(frequency: FrequencyTable) -> list[str]:
    """Return the quasi-identifiers that are nearly sorted, or that group equal values together.

    Suppressed rows are passed over. Where rows are not in memory nobody knows, and nothing is returned.

    Examples
    --------
    A log has the columns time and age. Its rows are sorted by time, so this returns ``["time"]``.
    """
    if frequency.row_keys is None:
        return []
    keys = frequency.row_keys[frequency.row_keys >= 0]
    names = []
    for domain, codes in zip(frequency.domains, frequency.codes, strict=True):
        order = ColumnOrder(domain.size)
        order.add(codes[keys])
        if order.tells:
            names.append(domain.name)
    return names
