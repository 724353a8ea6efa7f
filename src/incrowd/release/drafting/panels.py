"""Ids of people who have several rows, told by constant facts and by periods."""

from __future__ import annotations

from collections.abc import Sequence

from incrowd.core.io.columns import column_named
from incrowd.core.lazy import NDArray, np, pl
from incrowd_verify.gate.rules.dependencies import codes_of

_ROWS = 100_000
_FIRST = 1_000
_IDS = 20
"""Ids with several rows that it takes to believe that they are of people."""
_LOOKED = 12
_CHANCE = 50.0
"""Pairs of rows that would be alike by chance, from which it tells something that none are."""


def columns_of_ids(
    table: pl.DataFrame, ids: str, others: Sequence[str], null_values: Sequence[str] = ()
) -> list[str]:
    """Return the columns with a constant value for each id, missing values aside.

    An id that repeats and always has the same birth year or sex is one of a person.

    Examples
    --------
    >>> import polars as pl
    >>> table = pl.DataFrame({"id": [*range(30)] * 2, "sex": [*"mfmfmf"] * 10, "wave": [*range(60)]})
    >>> columns_of_ids(table, "id", ["sex", "wave"])
    ['sex']
    """
    columns = []
    for name in others:
        first = table.head(_ROWS)
        pairs = first.select(id=column_named(ids), value=column_named(name).cast(pl.String, strict=False))
        pairs = pairs.drop_nulls().filter(~pl.col("value").is_in(list(null_values)))
        several = (
            pairs.group_by("id").agg(pl.col("value").n_unique(), rows=pl.len()).filter(pl.col("rows") > 1)
        )
        if several.height >= _IDS and (several["value"] == 1).all() and pairs["value"].n_unique() > 1:
            columns.append(name)
    return columns


def ids_of_panels(table: pl.DataFrame, ids: Sequence[str], periods: Sequence[str]) -> dict[str, list[str]]:
    """Return the ids that never repeat a period although chance would repeat many, with the periods.

    An id that repeats and has one row in each year, wave or visit is one of a panel. The first twelve
    periods are looked at.

    Examples
    --------
    >>> import polars as pl
    >>> table = pl.DataFrame({"nr": [*range(40)] * 5, "year": [year for year in range(5) for _ in range(40)]})
    >>> ids_of_panels(table, ["nr"], ["year"])
    {'nr': ['year']}
    """
    rows = table.head(_ROWS)
    of_period = {name: codes_of(rows[name]) for name in periods[:_LOOKED]}
    periods_by_id: dict[str, list[str]] = {}
    for name in ids if of_period else ():
        codes = codes_of(rows[name])
        periods_of_id = [
            period for period, each in of_period.items() if period != name and _are_once(codes, each)
        ]
        if periods_of_id:
            periods_by_id[name] = periods_of_id
    return periods_by_id


def _are_once(one: NDArray[np.int64], other: NDArray[np.int64]) -> bool:
    """Say whether no two rows have the same values, although by chance many would."""
    pairs = one * (int(other.max(initial=0)) + 1) + other
    # Most pairs are seen to come twice by the first rows.
    if any(len(np.unique(part)) < len(part) for part in (pairs[:_FIRST], pairs)):
        return False
    squares = [float((np.bincount(each).astype(np.float64) ** 2).sum()) for each in (one, other)]
    return squares[0] * squares[1] / max(len(pairs), 1) ** 2 / 2 >= _CHANCE
