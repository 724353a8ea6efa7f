"""The clearance of columns: the points of each column that leaves, whatever its role."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import accumulate, chain, combinations, repeat
from operator import mul
from typing import TYPE_CHECKING

from incrowd.core.errors import IncrowdError
from incrowd.core.io.columns import nameless
from incrowd.core.lazy import pl
from incrowd.release.accounts.outlying import outlying_value
from incrowd.release.gate import wording
from incrowd.release.gate.columns import are_numbers, points_of_texts, texts_of
from incrowd.release.gate.points import Point

if TYPE_CHECKING:
    from incrowd.core.table.schema import Schema
    from incrowd.engines import Engine

_MANY = 0.2
"""Share of the records with values of their own from which there is a point: a fifth."""
_PAIRED = 12
"""Columns with the most values that are looked at in pairs."""
_PAIRED_ROWS = 20_000
"""Rows, spread evenly, by which most pairs are seen to be harmless."""


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
    quasi = {attribute.name for attribute in schema.quasi}
    compared = {attribute.name for attribute in schema.sensitive if attribute.parts is None}
    sizes = {}
    for name in columns_that_leave(engine, schema):
        if name in quasi:
            continue
        try:
            values, counts = engine.values_of([name])
        except (IncrowdError, pl.exceptions.PolarsError):
            share = _lone_share(engine, [name], rows)
            if share >= _MANY:
                yield wording.unique_column(name, share, numbers=False)
            yield wording.unread_column(name, "its values cannot be listed where the rows are")
            continue
        column = nameless(values.to_series())
        share = int((counts == 1).sum()) / max(rows, 1)
        if share >= _MANY:
            yield wording.unique_column(name, share, numbers=are_numbers(column))
        else:
            sizes[name] = len(column)
        if column.dtype.is_nested() or column.dtype in (pl.Binary, pl.Object):
            yield wording.unread_column(name, "its values are neither texts, numbers nor dates")
            continue
        if (point := outlying_value(name, column, counts, rows, schema)) is not None:
            yield point
        if (texts := texts_of(column, counts)) is not None:
            records = int(counts.sum())
            yield from points_of_texts(name, *texts, records, quasi=False, compared=name in compared)
    yield from _unique_pairs(engine, sizes, rows)


def _unique_pairs(engine: Engine, sizes: Mapping[str, int], rows: int) -> Iterator[Point]:
    """Find the pairs of columns, neither of them unique, that single out many records.

    Parameters
    ----------
    sizes
        How many values each column has.
    """
    most = set(sorted(sizes, key=lambda name: -sizes[name])[:_PAIRED])
    several = [
        pair
        for pair in combinations([name for name in sizes if name in most], 2)
        if sizes[pair[0]] * sizes[pair[1]] >= _MANY * rows
    ]
    if not several:
        return
    # Who is alone among all is alone among some. Half of the limit is room for rows that are not like others.
    some = engine.some_rows(sorted({*chain.from_iterable(several)}), _PAIRED_ROWS / max(rows, 1))
    pairs = {}
    for pair in several:
        if some is None or _lone_part([some[name] for name in pair]) >= _MANY / 2:
            share = _lone_share(engine, pair, rows)
            if share >= _MANY:
                pairs[pair] = share
    yield from wording.unique_together(pairs)


def _lone_share(engine: Engine, names: Sequence[str], rows: int) -> float:
    """Return the share of the records whose values in some columns no other has; 0 where nobody can tell."""
    try:
        return (engine.lone_rows(names) or 0) / max(rows, 1)
    except IncrowdError:
        return 0.0


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
