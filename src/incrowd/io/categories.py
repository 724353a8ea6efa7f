"""Columns of categories that leave as they are: their type has the categories of their rows and no others.

A column of categories carries all of them in its type: those of removed rows, too, and often in the order
in which they were first met. So the type is made anew. Where it gives its categories no order, they are
sorted.
"""

from __future__ import annotations

from typing import Any

from incrowd.lazy import np, pa, pc, pd, pl

_PANDAS_KINDS = frozenset({"string", "integer", "floating", "boolean", "datetime64", "empty"})
"""What categories of pandas may be; others, such as intervals, become text."""


def polars_categories(series: pl.Series) -> pl.Series:
    """Make a column of Polars' `Categorical` or `Enum` anew."""
    texts = series.cast(pl.String)
    met = texts.drop_nulls().unique().sort()
    count = len(met)
    if isinstance(series.dtype, pl.Enum):
        held = set(met)
        return texts.cast(pl.Enum([name for name in series.dtype.categories if name in held]))
    # Categories are numbered as they are met; the first rows of the table are nobody's business.
    return met.append(texts).cast(series.dtype).slice(count)


def arrow_categories(column: pa.ChunkedArray, values: pa.ChunkedArray) -> pa.ChunkedArray | None:
    """Make a dictionary of PyArrow anew; None where its values cannot be looked up.

    Parameters
    ----------
    column
    values
        The same column without its dictionary, written anew.
    """
    kind = column.type
    try:
        met = values.combine_chunks().unique().drop_null()
        if kind.ordered:
            known = pa.chunked_array([chunk.dictionary for chunk in column.chunks], kind.value_type)
            known = known.cast(values.type).unique()
            met = known.filter(pc.is_in(known, value_set=met)).drop_null()
        else:
            met = met.take(pc.array_sort_indices(met))
        codes = pc.index_in(values.combine_chunks(), value_set=met).cast(kind.index_type)
        return pa.chunked_array([pa.DictionaryArray.from_arrays(codes, met, ordered=kind.ordered)])
    except (pa.ArrowException, NotImplementedError, TypeError):
        return None


def pandas_categories(series: pd.Series[Any]) -> tuple[Any, pd.Series[Any], bool] | None:
    """Find the codes, categories and order of a column of pandas; None where it is better told as text."""
    held: Any = series.array
    if pd.api.types.infer_dtype(held.categories, skipna=False) not in _PANDAS_KINDS:
        return None
    met = np.unique(held.codes[held.codes >= 0])
    if not held.ordered:
        met = met[held.categories.take(met).argsort()]
    # The last place is that of the missing value.
    place = np.full(len(held.categories) + 1, -1, np.int64)
    place[met] = np.arange(len(met))
    return place[held.codes], pd.Series(held.categories.take(met), name=None), bool(held.ordered)
