"""The functions of the teaching notebook "Privacy in Data Storage": Mondrian on pandas frames.

Columns that pandas takes for numbers are numerical, all others categorical.
"""

from __future__ import annotations

import functools
import types
from collections import deque
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

from incrowd.core.errors import InfeasibleError, ParameterError, SchemaError, TableError
from incrowd.core.lazy import np, pd
from incrowd.works.compat._arguments import (
    WrongTypeError,
    check_column,
    check_columns,
    check_frame,
    check_items,
    check_mapping,
    check_number,
    check_series,
    check_whole_number,
)

if TYPE_CHECKING:
    from incrowd.measures.privacy import PrivacyModel

__all__ = [
    "agg_categorical_column",
    "agg_numerical_column",
    "build_anonymized_dataset",
    "diversity",
    "get_spans",
    "is_k_anonymous",
    "is_l_diverse",
    "is_t_close",
    "partition_dataset",
    "split",
    "t_closeness",
]


def get_spans(df: pd.DataFrame, partition: pd.Index) -> dict[str, Any]:
    """Return the span of every column in a partition: max - min of numbers, else the number of values."""
    rows = _rows(df, partition)
    part = df.loc[rows]
    return {column: _span(part[column]) for column in df.columns}


def split(df: pd.DataFrame, partition: pd.Index, column: str) -> tuple[pd.Index, pd.Index]:
    """Split a partition along a column.

    Numbers: below the median, and from the median up. Categories: values in the order in which they first
    appear, halved, the smaller half first.
    """
    cells = _cells(df, partition, column)
    if not _is_number(cells):
        values = cells.unique()
        first = cells.isin(list(values[: len(values) // 2]))
    else:
        first = cells < cells.median()
    return cells.index[first], cells.index[~first]


def is_k_anonymous(df: pd.DataFrame, partition: pd.Index, sensitive_column: str, k: int = 3) -> bool:
    """Say whether a partition has k records or more."""
    if isinstance(df, _Probe):
        return df.asked(partition, sensitive_column, "k", sensitive_column, k)
    limit = check_whole_number(k, "k", least=1)
    return len(_rows(df, partition)) >= limit


def diversity(df: pd.DataFrame, partition: pd.Index, column: str) -> int:
    """Return the number of distinct values of a column in a partition, where missing is a value."""
    return int(_cells(df, partition, column).nunique(dropna=False))


def is_l_diverse(df: pd.DataFrame, partition: pd.Index, sensitive_column: str, l: int = 2) -> bool:  # noqa: E741
    """Say whether a partition has l distinct sensitive values or more."""
    if isinstance(df, _Probe):
        return df.asked(partition, None, "l", sensitive_column, l)
    limit = check_whole_number(l, "l", least=1)
    return diversity(df, partition, sensitive_column) >= limit


def t_closeness(
    df: pd.DataFrame, partition: pd.Index, column: str, global_freqs: Mapping[Any, float]
) -> float:
    """Return the largest difference between the share of a value in a partition and in the whole table.

    Only values that the partition has are looked at. This is the maximal difference of two frequencies. It is
    not the Earth Mover's distance. For more than two values it is not the Kolmogorov-Smirnov distance either.
    """
    cells = _cells(df, partition, column)
    request = "a dict of every value's share of the table"
    totals = check_mapping(global_freqs, "global_freqs", request)
    shares = {value: count / len(cells) for value, count in cells.value_counts().items() if count}
    missing = sum(value not in totals for value in shares)
    if missing:
        raise ParameterError(f"global_freqs: {missing} values of the partition have no share; give {request}")
    apart = (
        abs(share - check_number(totals[value], "global_freqs", low=0, high=1, wanted=request))
        for value, share in shares.items()
    )
    return max(apart, default=0.0)


def is_t_close(
    df: pd.DataFrame,
    partition: pd.Index,
    sensitive_column: str,
    global_freqs: Mapping[Any, float],
    p: float = 0.2,
) -> bool:
    """Say whether `t_closeness` is at most p, in floats as in the notebook.

    Raises
    ------
    SchemaError
        When the column is one of numbers.
    """
    if isinstance(df, _Probe):
        return df.asked(partition, None, "t", sensitive_column, (global_freqs, p))
    check_frame(df, "df", empty=True)
    if _is_number(df[check_column(sensitive_column, "sensitive_column", df)]):
        raise SchemaError(f"column {sensitive_column!r}: this method only works for categorical values")
    limit = check_number(p, "p", low=0)
    return t_closeness(df, partition, sensitive_column, global_freqs) <= limit


Validity = Callable[[Any, Any, str], Any]


def partition_dataset(
    df: pd.DataFrame, feature_columns: Sequence[str], sensitive_column: str, is_valid: Validity
) -> list[pd.Index]:
    """Partition a table by Mondrian, as long as both halves are valid.

    Partitions are taken in turn, the columns of one by their spans, the widest first.

    Parameters
    ----------
    df
        The table; its index names every row once.
    feature_columns
        The quasi-identifiers.
    sensitive_column
        Is given to `is_valid`.
    is_valid
        Says of (df, partition, sensitive_column) whether a partition may stand. `is_k_anonymous`,
        `is_l_diverse` and `is_t_close`, and functions that ask only for several of these at once, are
        recognized and take compiled code; any other callable is called for every half.

    Returns
    -------
    The partitions as indices of rows, in the order in which they were finished.

    Raises
    ------
    InputError
        When a column is missing or has missing numbers, or the index names a row twice.
    """
    _check(df, feature_columns, sensitive_column)
    if not callable(is_valid):
        raise WrongTypeError("is_valid: give a function of (df, partition, sensitive_column)")
    conditions = _recognize(is_valid)
    fast = None if conditions is None else _models(df, conditions, sensitive_column)
    if fast is not None:
        return _run_compiled(df, feature_columns, *fast)
    finished = []
    waiting = deque([df.index])
    while waiting:
        partition = waiting.popleft()
        spans = get_spans(df[list(feature_columns)], partition)
        for column in sorted(spans, key=lambda name: -spans[name]):
            halves = split(df, partition, column)
            # An empty half does not count, whatever is_valid says, or the loop would never end.
            if all(map(len, halves)) and all(is_valid(df, half, sensitive_column) for half in halves):
                waiting.extend(halves)
                break
        else:
            finished.append(partition)
    return finished


def agg_categorical_column(series: pd.Series[Any]) -> list[str]:
    """Return the sorted values of a column joined by commas, an empty text without any."""
    return [",".join(sorted(set(map(str, check_series(series, "series").dropna()))))]


def agg_numerical_column(series: pd.Series[Any]) -> list[float]:
    """Return the mean of a column, NaN without numbers.

    Raises
    ------
    TableError
        When the column is none of numbers.
    """
    if len(check_series(series, "series")) and not _is_number(series):
        raise TableError("series: the column holds no numbers; use agg_categorical_column")
    return [float(series.mean()) if len(series) else float("nan")]


def build_anonymized_dataset(
    df: pd.DataFrame, partitions: Sequence[pd.Index], feature_columns: Sequence[str], sensitive_column: str
) -> pd.DataFrame:
    """Return a row per partition and sensitive value: means, joined categories, and the count.

    Raises
    ------
    InputError
        When a column is missing or has missing numbers, or a row is unknown or named twice.
    """
    _check(df, feature_columns, sensitive_column)
    if "count" in (*feature_columns, sensitive_column):
        raise SchemaError("feature_columns: the table that is made has a column 'count'; rename yours")
    request = "a list of partitions, each an index of rows"
    indices = (
        check_items(part, "partitions", request) for part in check_items(partitions, "partitions", request)
    )
    parts = [df.index.get_indexer(pd.Index(index)) for index in indices if index]
    rows = np.concatenate(parts) if parts else np.zeros(0, np.int64)
    if (rows < 0).any() or len(np.unique(rows)) < len(rows):
        raise TableError("partitions: a row is not in the table, or in two partitions")
    group = np.repeat(np.arange(len(parts)), list(map(len, parts)))
    part = df.iloc[rows]
    columns = {}
    for column in feature_columns:
        cells = part[column].reset_index(drop=True)
        if _is_number(cells):
            columns[column] = cells.astype(float).groupby(group).mean()
        else:
            texts: Any = cells.astype("string").groupby(group)
            columns[column] = texts.agg(lambda values: agg_categorical_column(values)[0])

    sensitive = part[sensitive_column].reset_index(drop=True).rename(sensitive_column)
    counts = sensitive.groupby([group, sensitive], observed=True, dropna=False).size()
    # Levels by names of our own: pandas takes a number for the name of a level, as of a column named 0.
    counts.index = counts.index.set_names(["group", "value"])
    at = counts.index.get_level_values("group")
    released = {column: values.loc[at].to_numpy() for column, values in columns.items()}
    released[sensitive_column] = counts.index.get_level_values("value").to_numpy()
    return pd.DataFrame({**released, "count": counts.to_numpy()})


# --- numbers and categories ---------------------------------------------------------------------------


def _is_number(cells: pd.Series[Any]) -> bool:
    return pd.api.types.is_numeric_dtype(cells) and not pd.api.types.is_bool_dtype(cells)


def _span(cells: pd.Series[Any]) -> Any:
    if not _is_number(cells):
        return len(cells.unique())
    span = cells.max() - cells.min()
    return span.item() if hasattr(span, "item") else span


def _rows(df: pd.DataFrame, partition: Any) -> pd.Index[Any]:
    """Return a partition that names rows of the frame."""
    check_frame(df, "df", empty=True)
    if not isinstance(partition, pd.Index):
        partition = pd.Index(check_items(partition, "partition", "an index of rows, e.g. df.index"))
    rows: pd.Index[Any] = partition
    try:
        unknown = rows is not df.index and bool((df.index.get_indexer_for(rows) < 0).any())
    except (KeyError, TypeError):
        unknown = True
    if unknown:
        raise TableError("partition: a row is not in the table; give an index of its rows")
    return rows


def _cells(df: pd.DataFrame, partition: Any, column: Any) -> pd.Series[Any]:
    """Return the cells of a column in a partition."""
    rows = _rows(df, partition)
    cells: pd.Series[Any] = df[check_column(column, "column", df)].loc[rows]
    return cells


def _check(df: pd.DataFrame, feature_columns: Sequence[str], sensitive_column: str) -> None:
    check_frame(df, "df")
    check_columns(feature_columns, "feature_columns", df)
    check_column(sensitive_column, "sensitive_column", df, known=list(feature_columns))
    if sensitive_column in feature_columns:
        raise SchemaError(f"column {sensitive_column!r} is sensitive and cannot be a feature as well")
    if not df.index.is_unique:
        raise TableError("the index names a row twice; use df.reset_index(drop=True)")
    for column in feature_columns:
        if _is_number(df[column]) and df[column].isna().any():
            raise TableError(
                f"column {column!r}: a missing number lies on neither side of a median, so that its record "
                "would vanish; fill it in, or cast the column to text"
            )


# --- which conditions a callable asks for -------------------------------------------------------------


class _Asked(NamedTuple):
    """A condition of the three kinds k, l and t."""

    kind: str
    column: str
    limit: Any


class _Probe:
    """A stand-in for a table that records the conditions of a callable and answers no to a single one."""

    def __init__(self, no: int) -> None:
        self.no = no
        self.partition = object()
        self.seen: list[_Asked] = []

    def asked(self, partition: object, _: str | None, kind: str, column: str, limit: Any) -> bool:
        if partition is not self.partition:
            raise TypeError("another partition")
        self.seen.append(_Asked(kind, column, limit))
        return len(self.seen) - 1 != self.no


_KNOWN = (is_k_anonymous, is_l_diverse, is_t_close)


def _recognize(is_valid: Validity) -> list[_Asked] | None:
    """Return the conditions that a callable requires together, or None if it may do anything else."""
    if not _asks_only(is_valid):
        return None
    runs: list[tuple[Any, list[_Asked]]] = []
    try:
        for no in range(-1, 4):
            probe = _Probe(no)
            runs.append((is_valid(probe, probe.partition, "\0sensitive"), probe.seen))
    except Exception:
        return None
    answer, conditions = runs[0]
    if answer is not True or not 0 < len(conditions) < 4:
        return None
    # Each no has to make the whole a no: then it is all of them, and nothing else.
    if any(answer is not False for answer, _ in runs[1 : len(conditions) + 1]):
        return None
    return conditions


def _asks_only(is_valid: Any) -> bool:
    """Return whether a callable uses nothing but the three functions and plain values."""
    if is_valid in _KNOWN:
        return True
    if isinstance(is_valid, functools.partial):
        return is_valid.func in _KNOWN and len(is_valid.args) == 0
    if not isinstance(is_valid, types.FunctionType):
        return False
    code = is_valid.__code__
    cells = dict(zip(code.co_freevars, is_valid.__closure__ or (), strict=True))
    values: list[Any] = []
    for name in code.co_names:
        if name not in is_valid.__globals__:
            return False
        values.append(is_valid.__globals__[name])
    try:
        values += [cell.cell_contents for cell in cells.values()]
    except ValueError:
        return False
    values += [*(is_valid.__defaults__ or ()), *(is_valid.__kwdefaults__ or {}).values()]
    return all(
        value in _KNOWN if callable(value) else isinstance(value, int | float | str | dict)
        for value in values
    )


def _models(
    df: pd.DataFrame, conditions: Sequence[_Asked], sensitive_column: str
) -> tuple[list[PrivacyModel], list[str]] | None:
    """Return privacy models for conditions and the columns of the models, or None if impossible."""
    from incrowd.measures.privacy import KAnonymity, LDiversity
    from incrowd.works.compat._shares import SharesApart

    models: list[PrivacyModel] = []
    columns: dict[str, None] = {}
    text = ""
    for kind, name, limit in conditions:
        column = sensitive_column if name == "\0sensitive" else name
        if kind != "k":
            if column not in df.columns:
                return None
            columns[column] = None
            text = _text_of(df, column)
        if kind == "t":
            shares, p = limit
            if not isinstance(shares, Mapping) or not isinstance(p, int | float):
                return None
            totals = df[column].value_counts(normalize=True, dropna=False)
            # Other shares, even by a rounding, are compared as they are by `is_t_close`.
            nonzero = [{value: share for value, share in part.items() if share} for part in (totals, shares)]
            same = nonzero[0] == nonzero[1]
            if _is_number(df[column]) or not same or not 0 <= p <= 1:
                return None
            models.append(SharesApart(float(p), distance="maximal-frequency-difference", attribute=text))
        elif isinstance(limit, bool) or not isinstance(limit, int) or limit < 1:
            return None
        else:
            models.append(KAnonymity(limit) if kind == "k" else LDiversity(limit, attribute=text))
    return models, list(columns)


def _text_of(df: pd.DataFrame, name: Any) -> str:
    """Return a column's position as its name, since engine names are texts and pandas' may be numbers."""
    return str(list(df.columns).index(name))


def _run_compiled(
    df: pd.DataFrame, features: Sequence[str], models: Sequence[PrivacyModel], sensitive: Sequence[str]
) -> list[pd.Index]:
    from incrowd.core.kernels.grouping.grouping import group_members
    from incrowd.core.recoding import Local
    from incrowd.core.table.schema import Attribute, Schema
    from incrowd.engines import engine_for
    from incrowd.search import Mondrian, SearchProblem

    attributes = [
        *(
            Attribute(_text_of(df, name), "quasi", "number" if _is_number(df[name]) else "category")
            for name in features
        ),
        *(Attribute(_text_of(df, name), "sensitive", "category") for name in sensitive),
    ]
    table = df[list(dict.fromkeys((*features, *sensitive)))].reset_index(drop=True)
    table.columns = [_text_of(df, name) for name in table.columns]
    frequency = engine_for(table).count(Schema.of(attributes)).frequency
    rules = Mondrian(choose="span", median="below", categories="appearance")
    try:
        quasi = attributes[: len(features)]
        solution = rules.search(SearchProblem(frequency, models, quasi, max_suppression=1.0))
    except (InfeasibleError, ParameterError):
        # The whole table is not valid itself, so no half is; the notebook does not look at it.
        return [df.index]
    recoding = solution.recoding
    assert isinstance(recoding, Local)
    of_row = recoding.class_of_key[frequency.key_of_row("partition_dataset")]
    indptr, members = group_members(of_row, recoding.count)
    return [
        df.index.take(np.sort(members[start:stop]))
        for start, stop in zip(indptr[:-1], indptr[1:], strict=True)
    ]
