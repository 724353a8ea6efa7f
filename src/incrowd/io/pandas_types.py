"""Types that only pandas has: intervals and periods are read as texts, sparse columns as dense."""

from __future__ import annotations

from typing import Any

from incrowd.lazy import np, pd


def readable(series: pd.Series[Any]) -> pd.Series[Any]:
    """Return a column of pandas in a type that other libraries know; most are returned as they are.

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
    if isinstance(kind, pd.CategoricalDtype):
        if isinstance(kind.categories.dtype, pd.IntervalDtype | pd.PeriodDtype):
            held: Any = series.array
            return _texts([*map(str, held.categories), None], held.codes, series.name)
        return series
    if isinstance(kind, pd.IntervalDtype | pd.PeriodDtype):
        codes, distinct = pd.factorize(series)
        return _texts([*map(str, distinct), None], codes, series.name)
    return series


def _texts(texts: list[str | None], codes: Any, name: Any) -> pd.Series[Any]:
    """Return the text of each row; code -1 is that of a missing one, whose text is the last."""
    return pd.Series(np.array(texts, object)[codes], name=name, dtype=object)
