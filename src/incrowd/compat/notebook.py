"""The functions of the teaching notebook "Privacy in Data Storage": Mondrian on pandas frames.

Columns that pandas takes for numbers are numerical, all others categorical.
"""

from __future__ import annotations

import dis
import functools
import inspect
import operator
import types
from collections import deque
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import suppress
from typing import TYPE_CHECKING, Any, NamedTuple

from incrowd.compat._arguments import (
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
from incrowd.core.errors import InfeasibleError, ParameterError, SchemaError, TableError
from incrowd.core.lazy import np, pd

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
    rows = _rows_of_partition(df, partition)
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
    limit = check_whole_number(k, "k", least=1)
    return len(_rows_of_partition(df, partition)) >= limit


def diversity(df: pd.DataFrame, partition: pd.Index, column: str) -> int:
    """Return the number of distinct values of a column in a partition, where missing is a value."""
    return int(_cells(df, partition, column).nunique(dropna=False))


def is_l_diverse(df: pd.DataFrame, partition: pd.Index, sensitive_column: str, l: int = 2) -> bool:  # noqa: E741
    """Say whether a partition has l distinct sensitive values or more."""
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
        `is_l_diverse` and `is_t_close`, and functions that join them by ``and``, ``or``, `all` or `any`, are
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
    conditions = _recognize(is_valid, sensitive_column)
    fast = None if conditions is None else _models(df, *conditions)
    if fast is not None:
        # Values of several types, or a condition on a feature, are nothing for the compiled code.
        with suppress(SchemaError):
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


def _rows_of_partition(df: pd.DataFrame, partition: Any) -> pd.Index[Any]:
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
    rows = _rows_of_partition(df, partition)
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
    """A condition of the three kinds k, l and t; with the type of its limit, as True equals 1."""

    kind: str
    column: Any
    type_of_limit: type
    limit: Any
    shares: Any = None


class _StandIn:
    """A stand-in for a table or a partition, which a callable can only hand on."""

    def _refuse(self, *_: object) -> Any:
        raise TypeError("not read")

    __getattribute__ = __eq__ = __hash__ = __bool__ = __repr__ = _refuse


_KINDS: dict[Any, str] = {is_k_anonymous: "k", is_l_diverse: "l", is_t_close: "t"}
_BUILTINS = (all, any)
_BUILTINS_OF: Callable[[types.FunctionType], dict[str, Any]] = operator.attrgetter("__builtins__")
_MEASURES = (diversity, t_closeness)
_MOST = 4
"""Conditions of a callable at most: it is called with every combination of their answers."""
_REFUSED = {"DELETE_ATTR", "DELETE_GLOBAL", "PUSH_EXC_INFO", "STORE_ATTR", "STORE_GLOBAL"}
"""Instructions that change something outside, or catch the errors by which a trial ends."""


class _Trial:
    """A callable that is called without a table, sees conditions and plain values, and else fails.

    So its answer depends on those of the conditions alone: bit n of `yes` says what condition n says.
    """

    def __init__(self, is_valid: Any, sensitive_column: Any) -> None:
        self.asked: list[_Asked] = []
        self.yes = 0
        self.names: set[str] = set()
        self.conditions = {function: functools.partial(self._ask, function) for function in _KINDS}
        self.arguments = _StandIn(), _StandIn(), sensitive_column
        self.callable = self._callable(is_valid)

    def answer(self, yes: int) -> bool:
        """Return the answer of the callable, where bit n of `yes` is that of condition n."""
        self.yes = yes
        return bool(self.callable(*self.arguments))

    def _ask(self, function: Any, *args: Any, **named: Any) -> bool:
        call = inspect.signature(function).bind(*args, **named)
        call.apply_defaults()
        df, partition, column, *limits = call.arguments.values()
        if df is not self.arguments[0] or partition is not self.arguments[1]:
            raise TypeError("another table or partition")
        asked = _Asked(_KINDS[function], column, type(limits[-1]), *reversed(limits))
        if asked not in self.asked:
            self.asked.append(asked)
        return bool(self.yes >> self.asked.index(asked) & 1)

    def _callable(self, called: Any) -> Callable[..., Any]:
        """Return the same callable, without sight of anything else."""
        if isinstance(called, functools.partial):
            arguments = map(self._inside, called.args)
            return functools.partial(self._callable(called.func), *arguments, **self._inside(called.keywords))
        if not isinstance(called, types.FunctionType) or called in _KINDS:
            return self.conditions[called]
        codes = [called.__code__]
        for code in codes:
            codes += [each for each in code.co_consts if isinstance(each, types.CodeType)]
            self.names.update(code.co_names)
            for step in dis.get_instructions(code):
                outside = step.opname in ("DELETE_DEREF", "STORE_DEREF") and step.argval in code.co_freevars
                if outside or step.opname in _REFUSED:
                    raise TypeError("not read")
        known = {**_BUILTINS_OF(called), **called.__globals__}
        cells = dict(zip(codes[0].co_freevars, called.__closure__ or (), strict=True))
        inner = self._visible(lambda name: cells[name].cell_contents, cells)
        closure = tuple(types.CellType(*([inner[name]] if name in inner else [])) for name in cells)
        visible = {"__builtins__": {}, **self._visible(known.__getitem__, self.names)}
        blind = types.FunctionType(codes[0], visible, closure=closure)
        blind.__defaults__ = tuple(map(self._inside, called.__defaults__ or ()))
        blind.__kwdefaults__ = dict(self._inside(called.__kwdefaults__ or {}))
        return blind

    def _visible(self, look: Callable[[str], Any], names: Iterable[str]) -> dict[str, Any]:
        """Look values up, leaving out values that the look-up cannot see."""
        values = {}
        for name in names:
            with suppress(AttributeError, KeyError, TypeError, ValueError):
                values[name] = self._inside(look(name))
        return values

    def _inside(self, value: Any) -> Any:
        """Return the substitute for a value that the callable names, or the value if plain."""
        if value is None or isinstance(value, int | float | str) or any(value is each for each in _BUILTINS):
            return value
        if isinstance(value, dict):
            return types.MappingProxyType({key: self._inside(each) for key, each in value.items()})
        if isinstance(value, types.ModuleType):
            return types.SimpleNamespace(**self._visible(functools.partial(getattr, value), self.names))
        return self.conditions[value]


def _recognize(is_valid: Validity, sensitive_column: Any) -> tuple[list[_Asked], list[int]] | None:
    """Return the conditions of a callable, and the least sets of them that suffice, as bits.

    None if it may look at anything else, or a further yes can turn its answer into a no.
    """
    count, enough = -1, set()
    try:
        trial = _Trial(is_valid, sensitive_column)
        while count < len(trial.asked) <= _MOST:
            count = len(trial.asked)
            # A call may be the first to ask for a further condition.
            enough = {yes for yes in range(1 << count) if trial.answer(yes)}
    except Exception:
        return None
    bits = [1 << number for number in range(len(trial.asked))]
    grows = all(yes | bit in enough for yes in enough for bit in bits)
    if len(bits) > _MOST or not grows or not enough or 0 in enough or (diversity, t_closeness) != _MEASURES:
        return None
    return trial.asked, [yes for yes in enough if not any(yes & bit and yes ^ bit in enough for bit in bits)]


def _models(
    df: pd.DataFrame, conditions: Sequence[_Asked], enough: Sequence[int]
) -> tuple[list[PrivacyModel], list[Any]] | None:
    """Return privacy models for conditions and the columns of the models, or None if impossible."""
    from incrowd.compat._shares import AnyOf

    models = [model for asked in conditions if (model := _model_of(df, asked))]
    if len(models) < len(conditions):
        return None
    columns = list(dict.fromkeys(asked.column for asked in conditions if asked.kind != "k"))
    sets = [[model for number, model in enumerate(models) if yes >> number & 1] for yes in enough]
    return sets[0] if len(sets) == 1 else [AnyOf(sets)], columns


def _model_of(df: pd.DataFrame, asked: _Asked) -> PrivacyModel | None:
    from incrowd.compat._shares import SharesApart
    from incrowd.measures.privacy import KAnonymity, LDiversity

    kind, column, _, limit, shares = asked
    if isinstance(limit, bool) or (kind != "k" and column not in list(df.columns)):
        return None
    if kind != "t":
        if not isinstance(limit, int) or limit < 1:
            return None
        return KAnonymity(limit) if kind == "k" else LDiversity(limit, attribute=_text_of(df, column))
    # A missing value has a share, and `t_closeness` looks at none of it.
    if not isinstance(shares, Mapping) or not isinstance(limit, int | float) or df[column].isna().any():
        return None
    totals = df[column].value_counts(normalize=True)
    # Other shares, even by a rounding, are compared as they are by `is_t_close`.
    nonzero = [{value: share for value, share in part.items() if share} for part in (totals, shares)]
    if _is_number(df[column]) or nonzero[0] != nonzero[1] or not 0 <= limit <= 1:
        return None
    text = _text_of(df, column)
    return SharesApart(float(limit), distance="maximal-frequency-difference", attribute=text)


def _text_of(df: pd.DataFrame, name: Any) -> str:
    """Return a column's position as a name, since engine names are texts and pandas' may be numbers."""
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
    frequency = engine_for(table).count(Schema.of_attributes(attributes)).frequency
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
