"""The clearance of columns: the points of each column that leaves, whatever its role."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from itertools import accumulate, combinations, repeat
from operator import mul
from typing import TYPE_CHECKING

from incrowd.errors import IncrowdError
from incrowd.gate import wording
from incrowd.gate.columns import are_numbers, points_of_texts, texts_of
from incrowd.gate.points import Point
from incrowd.io.columns import nameless
from incrowd.lazy import pl

if TYPE_CHECKING:
    from incrowd.engines import Engine
    from incrowd.table.schema import Schema

_MANY = 0.2
"""Share of the records with values of their own from which there is a point: a fifth."""
_FIRST = 50_000
"""Rows by which uniqueness is looked at first; only where they show something, all rows are counted."""
_PAIRED = 12
"""Columns with the most values that are looked at in pairs, and rows of them."""
_PAIRED_ROWS = 20_000


def columns_that_leave(engine: Engine, schema: Schema) -> list[str]:
    """Return the columns of the rows that leave, in their order, quasi-identifiers included."""
    after = schema.after_treatment()
    return [
        name
        for name in engine.columns
        if (after[name].leaves if name in after else schema.unlisted == "keep")
    ]


def points_of_columns(engine: Engine, schema: Schema, rows: int) -> Iterator[Point]:
    """Return the points of all columns that leave.

    Parameters
    ----------
    engine
        The rows that leave, with their treatments. Cells of quasi-identifiers may be raw or released.
    schema
        The roles of the columns.
    rows
        All records.
    """
    names = columns_that_leave(engine, schema)
    quasi = {attribute.name for attribute in schema.quasi}
    others = [name for name in names if name not in quasi]
    yield from _unique_columns(engine, others, rows)
    yield from _unique_pairs(engine, others, rows)
    compared = {attribute.name for attribute in schema.sensitive if attribute.parts is None}
    for name in others:
        yield from _texts(engine, name, compared=name in compared)


def _unique_columns(engine: Engine, names: Sequence[str], rows: int) -> Iterator[Point]:
    for name in names:
        share = _lone_share(engine, [name], rows)
        if share is not None and share >= _MANY:
            yield wording.unique_column(name, share, numbers=_is_of_numbers(engine, name))


def _is_of_numbers(engine: Engine, name: str) -> bool:
    try:
        return are_numbers(nameless(engine.values_of([name])[0].to_series()))
    except IncrowdError:
        return False


def _unique_pairs(engine: Engine, names: Sequence[str], rows: int) -> Iterator[Point]:
    """Find the pairs of columns, neither of them unique, that single out many records."""
    heads = {name: engine.head(name, _PAIRED_ROWS) for name in names}
    kinds = {name: _kinds(engine, name, head, rows) for name, head in heads.items()}
    sizes = {name: found[0] for name, found in kinds.items() if found is not None and found[1] < _MANY}
    most = set(sorted(sizes, key=lambda name: -sizes[name])[:_PAIRED])
    pairs = {}
    for one, other in combinations([name for name in sizes if name in most], 2):
        both = [head for name in (one, other) if (head := heads[name]) is not None]
        if sizes[one] * sizes[other] < _MANY * (len(both[0]) if both else rows):
            continue
        if len(both) > 1 and _lone_part(both) < _MANY:
            continue
        share = _lone_share(engine, (one, other), rows)
        if share is not None and share >= _MANY:
            pairs[one, other] = share
    yield from wording.unique_together(pairs)


def _kinds(engine: Engine, name: str, head: pl.Series | None, rows: int) -> tuple[int, float] | None:
    """Return how many values a column has, and the share of the records that have a value of their own.

    They are those of its first values where they are at hand. None where the engine counts no pairs.
    """
    if head is not None:
        return head.n_unique(), _lone_part([head])
    try:
        lone = engine.lone_rows([name])
        return None if lone is None else (len(engine.values_of([name])[0]), lone / max(rows, 1))
    except IncrowdError:
        return None


def _lone_share(engine: Engine, names: Sequence[str], rows: int) -> float | None:
    """Return the share of the records whose values in some columns no other record has.

    None where the engine cannot say. A share below `_MANY` may be one of the first rows alone.
    """
    heads = [head for name in names if (head := engine.head(name, _FIRST)) is not None]
    if len(heads) == len(names):
        share = _lone_part(heads)
        if share < _MANY or len(heads[0]) < _FIRST:
            return share
    try:
        lone = engine.lone_rows(names)
        if lone is None and len(names) == 1:
            lone = int((engine.values_of(names)[1] == 1).sum())
    except IncrowdError:
        return None
    return None if lone is None else lone / max(rows, 1)


def _lone_part(columns: Sequence[pl.Series]) -> float:
    """Return the share of rows whose values in all columns no other row has."""
    rows = pl.DataFrame([column.alias(f"c{place}") for place, column in enumerate(columns)])
    sizes = rows.group_by(pl.all()).len("rows")
    return sizes.filter(pl.col("rows") == 1).height / max(rows.height, 1)


def rounding_base(
    column: pl.Series, others: Sequence[pl.Series] = (), bases: Iterable[float] | None = None
) -> float | None:
    """Return the smallest base to which numbers are rounded so that they are no point any more.

    Parameters
    ----------
    column
        The column as it came.
    others
        Columns that single out records together with it; none if it does so alone.
    bases
        The bases that are tried, ascending; powers of ten from 10 if None.

    Returns
    -------
    None where the column has other values than numbers, or where no rounding helps that leaves two values.

    Examples
    --------
    >>> rounding_base(pl.Series(range(1000)))
    10
    >>> rounding_base(pl.Series(["a", "b"])) is None
    True
    """
    if not are_numbers(column):
        return None
    numbers = column.cast(pl.Float64, strict=False)
    for base in accumulate(repeat(10), mul) if bases is None else bases:
        rounded = (numbers / base).round()
        if rounded.n_unique() < 2:
            return None
        if all(_lone_part([rounded, *other]) < _MANY for other in ([[each] for each in others] or [[]])):
            return base
    return None


def _texts(engine: Engine, name: str, *, compared: bool) -> Iterator[Point]:
    try:
        values, counts = engine.values_of([name])
    except (IncrowdError, pl.exceptions.PolarsError):
        yield wording.unread_column(name, "its values cannot be listed where the rows are")
        return
    column = nameless(values.to_series())
    if column.dtype.is_nested() or column.dtype in (pl.Binary, pl.Object):
        yield wording.unread_column(name, "its values are neither texts, numbers nor dates")
        return
    found = texts_of(column, counts)
    if found is not None:
        yield from points_of_texts(name, *found, int(counts.sum()), quasi=False, compared=compared)
