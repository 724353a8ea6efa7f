"""The one number or date of a column that stands apart from all others."""

from __future__ import annotations

from typing import TYPE_CHECKING

from incrowd.core.lazy import NDArray, np, pl
from incrowd.core.reading.missing import null_values_of
from incrowd.core.reading.spellings import Spelling
from incrowd.core.treatments.round import Round
from incrowd.release.gate import wording
from incrowd.release.gate.points import Point

if TYPE_CHECKING:
    from incrowd.core.table.schema import Schema

_RECORDS = 20
"""Records among which somebody stands apart: of fewer normal numbers one does so by chance too often."""
_VALUES, _MULTIPLES = 15, 3
"""Different values that the others have, so that they are quantities and no codes; after a rounding fewer."""
_NUMBER = r"^([+-]?(0|[1-9][0-9]*)(\.[0-9]+)?([eE][+-]?[0-9]{1,4})?|[+-]?(?i:nan|inf))$"
_MOMENT = r"^[0-9]{4}-[0-9]{2}-[0-9]{2}([T ][0-9]{2}:[0-9]{2}(:[0-9]{2}(\.[0-9]+)?)?)?$"


def outlying_value(
    name: str, values: pl.Series, counts: NDArray[np.int64], rows: int, schema: Schema
) -> Point | None:
    """Return the point of a column in which one record stands apart; None if there is none.

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
    known = values.is_not_null()
    spelling = schema[name].spelling if name in schema else Spelling()
    numbers, dates = _numbers_in(values.filter(known), spelling)
    if numbers is None:
        return None
    finite = np.isfinite(numbers)
    numbers, counts = numbers[finite], counts[known.to_numpy()][finite]
    rounded = name in schema and isinstance(schema[name].treatment, Round)
    for sign, largest in ((1, True), (-1, False)):
        if _stands_apart(sign * numbers, counts, _MULTIPLES if rounded else _VALUES):
            of, share = int(counts.sum()), 1 / max(rows, 1)
            return wording.outlying_value(name, share, of, largest=largest, dates=dates, rounded=rounded)
    return None


def _stands_apart(numbers: NDArray[np.float64], counts: NDArray[np.int64], values: int) -> bool:
    """Say whether the largest number is of one record, and beyond all reach of the others."""
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
        texts = _plain(texts, spelling)
    if texts.str.contains(_NUMBER).all():
        return texts.cast(pl.Float64, strict=False).fill_null(np.nan).to_numpy(), False
    if texts.str.contains(_MOMENT).all():
        return _days(texts.str.slice(0, 10).str.to_date("%Y-%m-%d", strict=False)), True
    return None, False


def _plain(texts: pl.Series, spelling: Spelling) -> pl.Series:
    """Write texts plainly, unless some are not spelled so."""
    plain = pl.Series([spelling.read(text) for text in texts], dtype=pl.String)
    return texts if plain.has_nulls() else plain


def _days(values: pl.Series) -> NDArray[np.float64]:
    if isinstance(values.dtype, pl.Datetime):
        values = values.dt.convert_time_zone("UTC") if values.dtype.time_zone else values
        values = values.dt.date()
    return values.cast(pl.Int32).cast(pl.Float64).fill_null(np.nan).to_numpy()
