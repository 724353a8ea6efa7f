"""Points of values: columns and pairs that single out records, and a value far from all others."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from itertools import chain, combinations, count, takewhile

from incrowd_gate import wording
from incrowd_gate.lazy import NDArray, np, pl
from incrowd_gate.points import Point
from incrowd_gate.rules.columns import Column, Release, Table, UnansweredError, Values

TELLING = 0.2
"""Share of the records with values of their own from which there is a point: a fifth."""
_PAIRED = 12
"""Columns with the most values that are looked at in pairs."""
_RECORDS = 20
"""Records among which somebody stands apart: of fewer normal numbers one does so by chance too often."""
_VALUES, _MULTIPLES = 15, 3
"""Different values that the others have, so that they are quantities and no codes; after a rounding fewer."""
_EXACT_NUMBER = r"^([+-]?(0|[1-9][0-9]*)(\.[0-9]+)?([eE][+-]?[0-9]{1,4})?|[+-]?(?i:nan|inf))$"
_MOMENT = r"^[0-9]{4}-[0-9]{2}-[0-9]{2}([T ][0-9]{2}:[0-9]{2}(:[0-9]{2}(\.[0-9]+)?)?)?$"


def points_of_values(release: Release) -> Iterator[Point]:
    """Look at every column that leaves, in any role but quasi-identifier."""
    sizes = {}
    for column in release.columns:
        if column.role == "quasi":
            continue
        try:
            values = release.values(column.name)
        except UnansweredError as reason:
            if (share := _lone_share(release, [column.name])) >= TELLING:
                yield wording.unique_column(column.name, share, base=None)
            yield wording.unread_column(column.name, str(reason))
            continue
        share = values.alone / max(release.records, 1)
        if share >= TELLING:
            known = values.only(values.values.is_not_null())
            numbers, are_days = _numbers_in(known.values, column)
            base = None if numbers is None or are_days else least_base(numbers, known.counts)
            yield wording.unique_column(column.name, share, base=base)
        else:
            sizes[column.name] = len(values.values)
        if not values.is_readable:
            yield wording.unread_column(column.name, "its values are neither texts, numbers nor dates")
        elif (point := outlying_value(column, values, release.records)) is not None:
            yield point
    yield from wording.unique_together(_unique_pairs(release, sizes))


def _unique_pairs(table: Table, sizes: Mapping[str, int]) -> dict[tuple[str, str], float]:
    """Return the pairs of columns that single out many records together, with the share.

    `sizes`: how many values each column has.
    """
    largest = set(sorted(sizes, key=lambda name: -sizes[name])[:_PAIRED])
    several = [
        pair
        for pair in combinations([name for name in sizes if name in largest], 2)
        if sizes[pair[0]] * sizes[pair[1]] >= TELLING * table.records
    ]
    if not several:
        return {}
    # Who is alone among all is alone among some. Half of the limit is room for rows that are not like others.
    try:
        sample = table.sample(sorted({*chain.from_iterable(several)}))
    except UnansweredError:
        sample = pl.DataFrame()
    likely = [
        pair
        for pair in several
        if not {*pair} <= {*sample.columns} or unique_share([sample[name] for name in pair]) >= TELLING / 2
    ]
    shares = {pair: _lone_share(table, pair) for pair in likely}
    return {pair: share for pair, share in shares.items() if share >= TELLING}


def _lone_share(table: Table, names: Sequence[str]) -> float:
    """Return the share of records that are unique in some columns, or 0 without a comparison."""
    try:
        return table.lone_rows(names) / max(table.records, 1)
    except UnansweredError:
        return 0.0


def unique_share(columns: Sequence[pl.Series]) -> float:
    """Return the share of rows with a unique combination of values."""
    rows = pl.DataFrame([column.alias(f"c{place}") for place, column in enumerate(columns)])
    sizes = rows.group_by(pl.all()).len("rows")
    return sizes.filter(pl.col("rows") == 1).height / max(rows.height, 1)


def least_base(numbers: NDArray[np.float64], counts: NDArray[np.integer]) -> float | None:
    """Return the least round number with multiples that leave fewer than a fifth of the records alone.

    - `numbers`, `counts`: numbers, and how many records have each: float64[values], int[values].

    Examples
    --------
    >>> least_base(np.arange(1.0, 41), np.ones(40, int)), least_base(np.array([7.0]), np.array([1]))
    (2, None)
    """
    finite = np.isfinite(numbers)
    numbers, counts = numbers[finite], counts[finite]
    for step in rounding_steps(numbers):
        _, places = np.unique(multiples(numbers, step), return_inverse=True)
        if (np.bincount(places, weights=counts) == 1).sum() < TELLING * counts.sum():
            return step
    return None


def rounding_steps(numbers: NDArray[np.float64]) -> Iterator[float]:
    """Yield 1, 2 and 5 times powers of ten, from the least distance to a quarter of the range."""
    # Two numbers of more than 15 digits may be equal as floats.
    numbers = np.unique(numbers)
    if len(numbers) < 2:
        return
    # Python subtracts enormous numbers to infinity without a warning.
    extent = float(numbers[-1]) - float(numbers[0])
    if not math.isfinite(extent):
        return
    power = math.floor(math.log10(float(np.diff(numbers).min())))
    # The quotient of a number and a step has to be a number, too.
    power = max(power, math.floor(math.log10(extent)) - 8, -300)
    yield from takewhile(lambda step: step <= extent / 4, round_numbers(power))


def round_numbers(power: int) -> Iterator[float]:
    """Yield 1, 2 and 5 times powers of ten, from a power on."""
    for each in count(power):
        for factor in (1, 2, 5):
            step = float(f"{factor}e{each}")
            yield int(step) if step.is_integer() else step


def multiples(numbers: NDArray[np.float64], step: float) -> NDArray[np.float64]:
    """Return of which multiple of a step each number is nearest."""
    return np.asarray(np.sign(numbers) * np.floor(np.abs(numbers) / step + 0.5), np.float64)


def outlying_value(column: Column, values: Values, records: int) -> Point | None:
    """Return the point of a column with a single distant record, or None.

    The largest or the smallest value is of one record, and is farther from the next value than all others are
    from each other. That is Dixon's ratio r10 above 1/2 (Dixon, Analysis of extreme values, Annals of
    Mathematical Statistics 21(4), 1950). What means missing is no value.
    """
    known = values.only(~column.missing(values.values))
    numbers, dates = _numbers_in(known.values, column)
    if numbers is None:
        return None
    finite = np.isfinite(numbers)
    numbers, counts = numbers[finite], known.counts[finite]
    rounded = column.treatment == "round"
    for sign, largest in ((1, True), (-1, False)):
        if _stands_apart(sign * numbers, counts, _MULTIPLES if rounded else _VALUES):
            share, of = 1 / max(records, 1), int(counts.sum())
            return wording.outlying_value(
                column.name, share, of, largest=largest, dates=dates, rounded=rounded
            )
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


def _numbers_in(values: pl.Series, column: Column) -> tuple[NDArray[np.float64] | None, bool]:
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
    if column.read is not None:
        plain = pl.Series([column.read(text) for text in texts], dtype=pl.String)
        texts = texts if plain.has_nulls() else plain
    if texts.str.contains(_EXACT_NUMBER).all():
        return texts.cast(pl.Float64, strict=False).fill_null(np.nan).to_numpy(), False
    if texts.str.contains(_MOMENT).all():
        return _days(texts.str.slice(0, 10).str.to_date("%Y-%m-%d", strict=False)), True
    return None, False


def _days(values: pl.Series) -> NDArray[np.float64]:
    if isinstance(values.dtype, pl.Datetime):
        values = values.dt.convert_time_zone("UTC") if values.dtype.time_zone else values
        values = values.dt.date()
    return values.cast(pl.Int32).cast(pl.Float64).fill_null(np.nan).to_numpy()
