"""Columns of frames: exact names, and objects and lists in cells.

Polars takes a text such as ``^name$`` or ``*`` for a pattern of names. So columns that users name are
addressed by these functions alone. A series often looks itself up by its name. So a series of a user's column
is made `nameless` before.

A column of objects has a role for each of its fields, never one for all of them. So
``{"profile": {"age": 30}}`` is a column ``profile.age``. A list of texts, whole numbers, truth values or days
is one text, ``a;b``. Lists of anything else stay lists, which nobody can read as values.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Any, TypeVar

from incrowd.core.errors import TableError, setting
from incrowd.core.lazy import nw, pa, pd, pl
from incrowd.core.progress import Cancelled, current

if TYPE_CHECKING:
    from collections.abc import Container, Iterable, Sequence


_SHOWN = 20


class FrameNames(list[str]):
    """Column names of a caller's frame, as opposed to names read from a file, which may be a person's row."""


def address(name: str) -> str:
    """Return the text by which Polars finds the column of a name and no other."""
    if name != "*" and not (name.startswith("^") and name.endswith("$")):
        return name
    letters = (mark if mark.isascii() and mark.isalnum() else f"\\x{{{ord(mark):x}}}" for mark in name)
    return f"^{''.join(letters)}$"


def column_named(name: str) -> pl.Expr:
    """Return the column of a name, whatever the name looks like."""
    return pl.col(address(name))


def nameless(series: pl.Series) -> pl.Series:
    """Return a series without the name."""
    return series.alias("")


def columns_named(names: Iterable[str]) -> list[pl.Expr]:
    """Return the columns of some names, in this order."""
    return [column_named(name) for name in names]


_TURN = 2654435761
"""2^32 over the golden ratio, whose multiples spread evenly and without a rhythm that rows may have."""


def spread_rows(place: pl.Expr, share: float) -> pl.Expr:
    """Choose a share of the rows by position, the same rows each time.

    Rows of a rhythm, as husband and wife in turn, are chosen alike. The verifier has the same formula.

    Examples
    --------
    >>> places = pl.DataFrame({"place": range(10)})
    >>> places.filter(spread_rows(pl.col("place"), 0.5))["place"].to_list()
    [0, 2, 4, 5, 7]
    """
    return place.cast(pl.Int64) * _TURN % 2**32 < int(min(share, 1.0) * 2**32)


def repeated_columns(columns: Sequence[str], user_names: Container[str] = ()) -> str | None:
    """Describe columns that share a name by position, and by name only if among `user_names`."""
    places: dict[str, list[int]] = {}
    for position, name in enumerate(columns, 1):
        places.setdefault(name, []).append(position)
    for name, positions in places.items():
        if len(positions) > 1:
            what = f"named {name!r}" if name in user_names else "of one name"
            listed = ", ".join(map(str, positions[:_SHOWN]))
            return (
                f"several columns {what} (columns {listed}); rename them, and if the first line of a file is "
                f"a row and no header, name the columns ({setting('CsvFormat(names=...)', '--names')})"
            )
    return None


Frame = TypeVar("Frame", "pl.DataFrame", "pl.LazyFrame")

_BETWEEN = ";"
_FIRST = 100
"""Rows that are looked at before all are."""


def flat(table: Frame, place: str) -> Frame:
    """Return a table with objects as columns and short lists as texts.

    Parameters
    ----------
    place
        What the table is called in an error.

    Raises
    ------
    TableError
        When two columns get one name, or no column is left.

    Examples
    --------
    >>> import polars as pl
    >>> people = pl.DataFrame({"id": [1], "home": [{"zip": "10115", "pets": ["cat", "dog"]}]})
    >>> flat(people, "people").to_dicts()
    [{'id': 1, 'home.zip': '10115', 'home.pets': 'cat;dog'}]
    """
    types = dict(table.collect_schema())
    if not any(is_nested(kind) for kind in types.values()):
        return table
    columns = flat_columns(types)
    names = [name for name, _ in columns]
    if repeated := repeated_columns(names):
        raise TableError(f"{place}: has {repeated}; a field of an object is a column such as profile.age")
    if not names:
        raise TableError(f"{place}: its objects have no fields")
    return table.select(cells.alias(name) for name, cells in columns)


def frame_without_objects(frame: nw.DataFrame[Any]) -> nw.DataFrame[Any]:
    """Return a frame of the same kind with the fields of objects as columns and lists unchanged.

    Raises
    ------
    TableError
        When two columns get one name, an object has no fields, or a column has objects beside other values.
    """
    native = frame.to_native()
    objects = {
        column.name: cells
        for column in frame.iter_columns()
        if (cells := _objects(frame, column)) is not None
    }
    if not objects:
        return frame
    columns: list[tuple[str, Any]] = []
    for name in frame.columns:
        if name not in objects:
            columns.append((name, frame[name].to_native()))
            continue
        fields = flat(objects[name].alias(name).to_frame(), f"column {name!r}")
        columns += [(cells.name, _convert(frame, cells)) for cells in fields]
    if repeated := repeated_columns([name for name, _ in columns]):
        raise TableError(f"the table has {repeated}; a field of an object is a column such as profile.age")
    if frame.implementation.is_polars():
        flat_frame: Any = pl.DataFrame([cells.alias(name) for name, cells in columns])
    elif frame.implementation.is_pyarrow():
        flat_frame = pa.table([cells for _, cells in columns], names=[name for name, _ in columns])
    else:
        flat_frame = pd.DataFrame(dict(columns), index=native.index)
    return nw.from_native(flat_frame, eager_only=True)


def first_value(frame: nw.DataFrame[Any], name: str) -> Any:
    """Return the first value of a pandas column of Python objects, or None if there is none."""
    cells = frame[name].to_native()
    if not frame.implementation.is_pandas():
        return None
    for part in (cells.iloc[:_FIRST], cells.iloc[_FIRST:]):
        present = part.notna().to_numpy()
        if present.any():
            return part.iloc[int(present.argmax())]
    return None


def _objects(frame: nw.DataFrame[Any], column: nw.Series[Any]) -> pl.Series | None:
    """Return a column of objects as a Polars struct, or None for any other column."""
    name, cells = column.name, column.to_native()
    if frame.implementation.is_polars():
        return cells if isinstance(cells.dtype, pl.Struct) else None
    if frame.implementation.is_pyarrow():
        return pl.Series(cells) if pa.types.is_struct(cells.type) else None
    kind = cells.dtype
    if isinstance(kind, pd.ArrowDtype):
        return pl.Series(cells.array.__arrow_array__()) if pa.types.is_struct(kind.pyarrow_dtype) else None
    if not pd.api.types.is_object_dtype(kind) or not isinstance(first_value(frame, name), dict):
        return None
    try:
        return pl.Series(pa.array(cells, from_pandas=True))
    except (pa.ArrowException, TypeError, ValueError):
        raise TableError(
            f"column {name!r} has objects beside other values, or fields of several types; take it apart "
            "first, as pandas.json_normalize does"
        ) from None


def _convert(frame: nw.DataFrame[Any], cells: pl.Series) -> Any:
    """Convert a column to the kind of a frame."""
    if frame.implementation.is_polars():
        return cells
    arrow = cells.alias("").to_arrow()
    return arrow if frame.implementation.is_pyarrow() else arrow.to_pandas().array


def flat_columns(types: Mapping[str, pl.DataType]) -> list[tuple[str, pl.Expr]]:
    """List the columns of a flat table, each with the expression that computes the column."""
    return [column for name, kind in types.items() for column in _leaves(name, column_named(name), kind)]


def joined(column: pl.Series) -> pl.Series:
    """Return a column of short lists as a column of texts, and any other column unchanged."""
    if not _is_short(column.dtype):
        return column
    return (
        column.alias("")
        .to_frame()
        .select(_join_list(pl.col(""), column.dtype))
        .to_series()
        .alias(column.name)
    )


def is_nested(kind: pl.DataType) -> bool:
    """Say whether a type consists of objects or lists."""
    return isinstance(kind, pl.Struct | pl.List | pl.Array)


def has_objects(kind: pl.DataType) -> bool:
    """Say whether a type consists of objects, or of lists with objects inside."""
    return isinstance(kind, pl.Struct) or (isinstance(kind, pl.List | pl.Array) and has_objects(_inner(kind)))


def _leaves(name: str, cells: pl.Expr, kind: pl.DataType) -> Iterator[tuple[str, pl.Expr]]:
    """Yield the columns of an object, or the column itself for any other type."""
    if not isinstance(kind, pl.Struct):
        yield name, _join_list(cells, kind) if _is_short(kind) else cells
        return
    for field in kind.fields:
        inner = cells.struct.field(address(field.name))
        yield from _leaves(f"{name}.{field.name}", inner, _instance(field.dtype))


def _join_list(cells: pl.Expr, kind: pl.DataType) -> pl.Expr:
    """Join the values of lists, with values that contain the separator in quotes, as in a CSV."""
    lists = cells.arr.to_list() if isinstance(kind, pl.Array) else cells
    text = pl.element().cast(pl.String)
    quoted = pl.concat_str(pl.lit('"'), text.str.replace_all('"', '""', literal=True), pl.lit('"'))
    odd = (text == "") | text.str.contains(_BETWEEN, literal=True) | text.str.contains('"', literal=True)
    value_text = pl.when(odd).then(quoted).otherwise(text).fill_null("")
    return lists.list.eval(value_text).list.join(_BETWEEN)


def _is_short(kind: pl.DataType) -> bool:
    """Say whether a type is a list read as a text."""
    if not isinstance(kind, pl.List | pl.Array):
        return False
    inner = _inner(kind)
    texts = (pl.String, pl.Categorical, pl.Boolean, pl.Date, pl.Null)
    return inner in texts or isinstance(inner, pl.Enum) or inner.is_integer()


def _inner(kind: pl.List | pl.Array) -> pl.DataType:
    return _instance(kind.inner)


def _instance(kind: object) -> pl.DataType:
    """Return an instance of a type given as instance or class."""
    return kind() if isinstance(kind, type) else kind  # type: ignore[return-value]


def passing(frame: pl.LazyFrame) -> pl.LazyFrame:
    """Return the same rows, ended by `Cancelled` when the job of this thread is cancelled.

    For a plan that is run at once: it knows the job. All columns of the frame are read, so choose them first.
    """
    job = current()
    if job is None:
        return frame

    def look(part: pl.DataFrame) -> pl.DataFrame:
        if job.cancelled:
            raise Cancelled
        return part

    return frame.map_batches(look, streamable=True, validate_output_schema=False)
