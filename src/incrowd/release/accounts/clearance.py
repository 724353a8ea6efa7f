"""The clearance of columns: the points of each released column of any role."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import accumulate, chain, combinations, repeat
from operator import mul
from typing import TYPE_CHECKING

from incrowd.core.errors import IncrowdError
from incrowd.core.io.columns import nameless
from incrowd.core.lazy import NDArray, np, pl
from incrowd.core.reading.missing import null_values_of
from incrowd.core.reading.spellings import Spelling
from incrowd.core.treatments.round import Round
from incrowd_verify.gate import wording
from incrowd_verify.gate.columns import are_numbers, points_of_texts, texts_of
from incrowd_verify.gate.points import Point

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
    """Return the released columns in order, quasi-identifiers included."""
    after = schema.after_treatment()
    return [
        name
        for name in engine.columns
        if (after[name].leaves if name in after else schema.unlisted == "keep")
    ]


def points_of_columns(engine: Engine, schema: Schema, rows: int) -> Iterator[Point]:
    """Return the points of all released columns.

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
    """Return points of pairs of columns that single out many records together.

    Parameters
    ----------
    sizes
        How many values each column has.
    """
    largest = set(sorted(sizes, key=lambda name: -sizes[name])[:_PAIRED])
    several = [
        pair
        for pair in combinations([name for name in sizes if name in largest], 2)
        if sizes[pair[0]] * sizes[pair[1]] >= _MANY * rows
    ]
    if not several:
        return
    # Who is alone among all is alone among some. Half of the limit is room for rows that are not like others.
    sample = engine.some_rows(sorted({*chain.from_iterable(several)}), _PAIRED_ROWS / max(rows, 1))
    pairs = {}
    for pair in several:
        if sample is None or _unique_share([sample[name] for name in pair]) >= _MANY / 2:
            share = _lone_share(engine, pair, rows)
            if share >= _MANY:
                pairs[pair] = share
    yield from wording.unique_together(pairs)


def _lone_share(engine: Engine, names: Sequence[str], rows: int) -> float:
    """Return the share of records with unique values in some columns, or 0 if unknown."""
    try:
        return (engine.lone_rows(names) or 0) / max(rows, 1)
    except IncrowdError:
        return 0.0


def _unique_share(columns: Sequence[pl.Series]) -> float:
    """Return the share of rows with a unique combination of values."""
    rows = pl.DataFrame([column.alias(f"c{place}") for place, column in enumerate(columns)])
    sizes = rows.group_by(pl.all()).len("rows")
    return sizes.filter(pl.col("rows") == 1).height / max(rows.height, 1)


def rounding_base(
    column: pl.Series, others: Sequence[pl.Series] = (), bases: Iterable[float] | None = None
) -> float | None:
    """Return the smallest rounding base at which numbers no longer single out records.

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
        if all(_unique_share([rounded, *other]) < _MANY for other in ([[each] for each in others] or [[]])):
            return base
    return None


_RECORDS = 20
"""Records among which somebody stands apart: of fewer normal numbers one does so by chance too often."""
_VALUES, _MULTIPLES = 15, 3
"""Different values that the others have, so that they are quantities and no codes; after a rounding fewer."""
_NUMBER = r"^([+-]?(0|[1-9][0-9]*)(\.[0-9]+)?([eE][+-]?[0-9]{1,4})?|[+-]?(?i:nan|inf))$"
_MOMENT = r"^[0-9]{4}-[0-9]{2}-[0-9]{2}([T ][0-9]{2}:[0-9]{2}(:[0-9]{2}(\.[0-9]+)?)?)?$"


def outlying_value(
    name: str, values: pl.Series, counts: NDArray[np.int64], rows: int, schema: Schema
) -> Point | None:
    """Return the point of a column with a single distant record, or None.

    The largest or the smallest value is of one record, and is farther from the next value than all others are
    from each other. That is Dixon's ratio r10 above 1/2. What means missing is no value.

    Parameters
    ----------
    values, counts
        The distinct values, and how many records have each.
    rows
        All records.

    References
    ----------
    Dixon, Analysis of extreme values, Annals of Mathematical Statistics 21(4), 1950.
    """
    values = null_values_of(schema.nulls(name)).without(values)
    has_value = values.is_not_null()
    spelling = schema[name].spelling if name in schema else Spelling()
    numbers, dates = _numbers_in(values.filter(has_value), spelling)
    if numbers is None:
        return None
    finite = np.isfinite(numbers)
    numbers, counts = numbers[finite], counts[has_value.to_numpy()][finite]
    rounded = name in schema and isinstance(schema[name].treatment, Round)
    for sign, largest in ((1, True), (-1, False)):
        if _stands_apart(sign * numbers, counts, _MULTIPLES if rounded else _VALUES):
            of, share = int(counts.sum()), 1 / max(rows, 1)
            return wording.outlying_value(name, share, of, largest=largest, dates=dates, rounded=rounded)
    return None


def _stands_apart(numbers: NDArray[np.float64], counts: NDArray[np.int64], values: int) -> bool:
    """Say whether the largest number is unique and far from the other numbers."""
    if len(numbers) <= values:
        return False
    beyond = numbers == numbers.max()
    others = numbers[~beyond]
    if counts[beyond].sum() != 1 or counts.sum() <= _RECORDS or not len(others):
        return False
    high, low = others.max(), others.min()
    return bool(numbers.max() - high > high - low) and len(np.unique(others)) >= values


def _numbers_in(values: pl.Series, spelling: Spelling) -> tuple[NDArray[np.float64] | None, bool]:
    """Read numbers, or dates as days, in plain texts and in declared spellings, too.

    Returns
    -------
    The numbers, None where the column has other values; and whether they are days.
    """
    kind = values.dtype
    if kind == pl.Date or isinstance(kind, pl.Datetime):
        return _days(values), True
    if kind.is_numeric():
        return values.cast(pl.Float64).to_numpy(), False
    if kind not in (pl.String, pl.Categorical, pl.Enum) or not len(values):
        return None, False
    texts = values.cast(pl.String)
    if spelling:
        plain = pl.Series([spelling.read(text) for text in texts], dtype=pl.String)
        texts = texts if plain.has_nulls() else plain
    if texts.str.contains(_NUMBER).all():
        return texts.cast(pl.Float64, strict=False).fill_null(np.nan).to_numpy(), False
    if texts.str.contains(_MOMENT).all():
        return _days(texts.str.slice(0, 10).str.to_date("%Y-%m-%d", strict=False)), True
    return None, False


def _days(values: pl.Series) -> NDArray[np.float64]:
    if isinstance(values.dtype, pl.Datetime):
        values = values.dt.convert_time_zone("UTC") if values.dtype.time_zone else values
        values = values.dt.date()
    return values.cast(pl.Int32).cast(pl.Float64).fill_null(np.nan).to_numpy()
