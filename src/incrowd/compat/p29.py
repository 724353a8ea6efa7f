"""The functions of the notebook "Calculation Detail for P_29 Score", on pandas frames.

One thing differs: missing is a value. Records with a missing quasi-identifier form classes, and missing
sensitive values count. If the word None is a value in a file, read the file with ``keep_default_na=False``.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from incrowd.compat._arguments import (
    check_column,
    check_columns,
    check_frame,
    check_mapping,
    check_number,
    check_series,
    check_whole_number,
)
from incrowd.core.errors import TableError
from incrowd.core.lazy import np, nw, pd

__all__ = [
    "calculate_P_29_score",
    "calculate_classes",
    "calculate_global_distribution",
    "calculate_k_anonymity",
    "calculate_normalized_entropy",
    "calculate_t_closeness",
    "compute_t_closeness",
    "ensure_privacy",
]

_NAME = "Quasi-identifiers"
_CELLS = 4_000_000
"""Counts that are laid out at a time."""


def calculate_k_anonymity(group: pd.DataFrame) -> int:
    """Return the number of records of a class, 0 for none."""
    return len(check_frame(group, "group", empty=True))


def calculate_normalized_entropy(series: pd.Series[Any]) -> float:
    """Return the entropy of a class's values over log2 of the number of values, 0 for at most 1 value."""
    shares = _shares(check_series(series, "series")).to_numpy(dtype=float)
    shares = shares[shares > 0]
    if len(shares) < 2:
        return 0.0
    return float(-(shares * np.log2(shares)).sum() / np.log2(len(shares)))


def calculate_global_distribution(series: pd.Series[Any]) -> dict[Any, float]:
    """Return the share of every value, the most frequent first."""
    shares: dict[Any, float] = _shares(check_series(series, "series")).to_dict()
    return shares


def _shares(series: pd.Series[Any]) -> pd.Series[Any]:
    try:
        return series.value_counts(normalize=True, dropna=False)
    except TypeError:
        raise TableError("series: a cell is a list or the like; turn the cells into texts") from None


def compute_t_closeness(series: pd.Series[Any], global_distribution: Mapping[Any, float]) -> float:
    """Return half the sum of absolute differences between the shares of a class and of the table.

    As in the notebook, the sum is over the values of `global_distribution`: a value that it lacks adds
    nothing, and a class of no records has the share 0 of each. What `calculate_global_distribution` returns
    for the whole table lacks none.

    Raises
    ------
    InputError
        When `series` is no pandas series, or a share is no number.

    Examples
    --------
    >>> import pandas as pd
    >>> float(compute_t_closeness(pd.Series(["a", "z"]), {"a": 1.0}))
    0.25
    """
    of_class = _one_missing(calculate_global_distribution(series))
    request = "what calculate_global_distribution returns"
    totals = _one_missing(check_mapping(global_distribution, "global_distribution", request))
    for share in totals.values():
        check_number(share, "global_distribution", low=0, high=1, wanted=request)
    # Added up in the order of the notebook, so that even the last digit agrees.
    shares = np.array([of_class.get(value, 0.0) for value in totals])
    return float(0.5 * np.sum(np.abs(shares - np.array([*totals.values()]))))


def _one_missing(shares: Mapping[Any, float]) -> dict[Any, float]:
    """Replace missing keys by None, since NaN does not equal another NaN."""
    return {
        None if pd.api.types.is_scalar(key) and pd.isna(key) else key: share for key, share in shares.items()
    }


def calculate_t_closeness(
    df: pd.DataFrame, quasi_identifiers: Sequence[str], sensitive_attributes: Sequence[str]
) -> pd.DataFrame:
    """Return the distance of every class to the table, a column ``t-closeness_<attribute>`` each.

    Classes are in the order of their values and named in the column ``Quasi-identifiers``.

    Raises
    ------
    InputError
        When the table has no rows or lacks a column, or a list is empty; the message names the argument.
    """
    classes = calculate_classes(df, quasi_identifiers, sensitive_attributes)
    return classes[[_NAME, *(f"t-closeness_{name}" for name in sensitive_attributes)]]


def calculate_classes(
    df: pd.DataFrame, quasi_identifiers: Sequence[str], sensitive_attributes: Sequence[str]
) -> pd.DataFrame:
    """Return the figures of every class, the source of the three frames of `calculate_P_29_score`.

    The columns are those of the notebook: ``Quasi-identifiers``, ``k-anonymity``, and for each sensitive
    attribute ``Normalized Entropy l-diversity_<attribute>`` and ``t-closeness_<attribute>``. Classes and
    errors are those of `calculate_t_closeness`.

    Examples
    --------
    >>> import pandas as pd
    >>> df = pd.DataFrame({"sex": list("ffmm"), "ill": list("xyxx")})
    >>> calculate_classes(df, ["sex"], ["ill"]).to_dict("split")["data"]
    [['sex: f', 2, 1.0, 0.25], ['sex: m', 2, 0.0, 0.25]]
    """
    # An index may have the name of a column, which pandas could not tell apart.
    df = check_frame(df, "df").reset_index(drop=True)
    columns = check_columns(quasi_identifiers, "quasi_identifiers", df)
    sensitive_attributes = check_columns(sensitive_attributes, "sensitive_attributes", df)
    group = df.groupby(columns, dropna=False, observed=True).ngroup().to_numpy()
    sizes, first = np.bincount(group), np.unique(group, return_index=True)[1]
    values = df[columns].iloc[first].itertuples(index=False, name=None)
    names = [
        ", ".join(f"{name}: {value}" for name, value in zip(columns, row, strict=True)) for row in values
    ]
    entropies, distances = {}, {}
    for name in sensitive_attributes:
        # Values by frequency, and floats added up in that order, so that the last digit is the notebook's.
        shares = df[name].value_counts(normalize=True, dropna=False)
        codes, distinct = pd.factorize(df[name], use_na_sentinel=False)
        order = np.argsort(shares.index.get_indexer(pd.Index(distinct)))
        rank = np.empty(len(distinct), np.int64)
        rank[order] = np.arange(len(distinct))
        wide = len(distinct)
        entropy, distance = np.empty((2, len(sizes)))
        for start in range(0, len(sizes), max(_CELLS // wide, 1)):
            part = slice(start, min(start + max(_CELLS // wide, 1), len(sizes)))
            here = (group >= start) & (group < part.stop)
            cells = (group[here] - start) * wide + rank[codes[here]]
            counts = np.bincount(cells, minlength=(part.stop - start) * wide).reshape(-1, wide)
            parts = counts / sizes[part, None]
            distance[part] = 0.5 * np.abs(parts - shares.to_numpy(dtype=float)[:wide]).sum(axis=1)
            rows = np.nonzero(counts)[0]
            positive = parts[counts > 0]
            bits = np.bincount(rows, positive * np.log2(positive), minlength=len(parts))
            # One value has no bits, over log2 of anything.
            entropy[part] = 0.0 - bits / np.log2(np.maximum(np.bincount(rows, minlength=len(parts)), 2))
        entropies[f"Normalized Entropy l-diversity_{name}"] = entropy
        distances[f"t-closeness_{name}"] = distance
    return pd.DataFrame({_NAME: names, "k-anonymity": sizes, **entropies, **distances})


def calculate_P_29_score(  # noqa: N802
    k_value: pd.DataFrame,
    l_value: pd.DataFrame,
    t_value: pd.DataFrame,
    w_k: float = 0.5,
    w_l: float = 0.25,
    w_t: float = 0.25,
) -> tuple[float, list[tuple[str, str]], list[str], int, float, float]:
    """Return the P_29 score, the problems (class, reason), the reasons, least k, least l and largest t.

    Parameters
    ----------
    k_value
        A row per class: a column that names it first, and ``k-anonymity``.
    l_value, t_value
        A column that names the class first, then one per sensitive attribute. If a column is called
        ``Quasi-identifiers``, that one names the classes, wherever it stands.
    w_k, w_l, w_t
        Weights.

    Notes
    -----
    The score is 0 where a class has one record, a normalized entropy is 0 or a distance is above 0.5. A
    column whose distances are all equal scales to 0/0; it counts as 0 here, where the notebook leaves it out
    of the mean.

    Raises
    ------
    InputError
        When there is no class or no sensitive attribute, a column is missing, a figure is no number, or a
        weight is none; the message names the argument.
    """
    entropies, distances = _figures(l_value, "l_value"), _figures(t_value, "t_value")
    check_frame(k_value, "k_value", empty=True)
    size = check_column("k-anonymity", "k_value", k_value, known=[_NAME])
    sizes = _figures(k_value[list(dict.fromkeys((_name_of(k_value), size)))], "k_value")[size]
    if (sizes < 1).any():
        raise TableError("k_value: a class has one record at least")
    weights = {"w_k": w_k, "w_l": w_l, "w_t": w_t}
    w_k, w_l, w_t = (check_number(weight, name) for name, weight in weights.items())
    reasons: list[str] = []
    problems: list[tuple[str, str]] = []

    def look(frame: pd.DataFrame, failing: Any, reason: str, problem: str) -> None:
        if failing.to_numpy().any():
            reasons.append(reason)
        for column in failing:
            text = problem.format(column)
            problems.extend((name, text) for name in frame.loc[failing[column], _name_of(frame)])

    look(k_value, (sizes == 1).to_frame(), "k-anonymity is 1", "k-anonymity is 1")
    look(
        l_value,
        entropies.eq(0),
        "normalized entropy l-value is 0 for some attribute",
        "normalized entropy l-value is 0 for {}",
    )
    look(t_value, distances > 0.5, "t-value exceeds 0.5 for some attribute", "t-value exceeds 0.5 for {}")
    k_min, l_min, t_max = int(sizes.min()), float(entropies.min().min()), float(distances.max().max())
    score = 0.0
    if not reasons:
        extent = distances.max() - distances.min()
        # Distances that are equal may differ by rounding, which scaling would blow up.
        scaled = (distances - distances.min()) / extent.where(extent > 1e-12, 1.0)
        score = w_k * (1 - 1 / k_min) + w_l * float(entropies.mean().mean())
        score += w_t * (1 - float(scaled.mean().mean()))
    return score, problems, reasons, k_min, l_min, t_max


def _figures(value: Any, argument: str) -> pd.DataFrame:
    """Return the numeric columns of a frame of classes, without the column of names."""
    frame = check_frame(value, argument, empty=True)
    rest = frame.iloc[:, :0] if not frame.shape[1] else frame.drop(columns=_name_of(frame))
    if not len(rest) or not rest.shape[1]:
        raise TableError(
            f"{argument}: the score needs one class and one sensitive attribute at least; "
            "give a row per class, first a column that names it, then one of figures"
        )
    try:
        figures = rest.astype(float)
    except (TypeError, ValueError):
        raise TableError(f"{argument}: every cell but those of {_name_of(frame)!r} is a number") from None
    if not np.isfinite(figures.to_numpy()).all():
        raise TableError(f"{argument}: a figure is missing or infinite")
    return figures


def _name_of(frame: pd.DataFrame) -> Any:
    """Return the column that names the classes, by default the first."""
    return _NAME if _NAME in frame.columns else frame.columns[0]


def ensure_privacy(
    df: pd.DataFrame,
    QI: Sequence[str],  # noqa: N803
    SA: Sequence[str],  # noqa: N803
    t: float = 0.5,
    k: int = 1,
    l: float = 0,  # noqa: E741
) -> pd.DataFrame:
    """Delete failing classes repeatedly until all hold; see `incrowd.ensure_privacy`.

    Returns
    -------
    The rows that are left with all columns, numbered from 0.

    Raises
    ------
    InputError
        When the table has no rows or lacks a column, a list is empty, or a limit is out of range; the message
        names the argument.
    """
    from incrowd.core.io.frames import without_traces
    from incrowd.core.table.schema import Attribute, Schema
    from incrowd.engines.memory import MemoryEngine
    from incrowd.release.jobs.compare.ensure_privacy import Conditions, delete_failing

    check_frame(df, "df")
    quasi, sensitive = check_columns(QI, "QI", df), check_columns(SA, "SA", df)
    conditions = Conditions(
        check_number(t, "t", low=0, high=1),
        check_whole_number(k, "k", least=0),
        check_number(l, "l", low=0, high=1),
    )
    schema = Schema.of_attributes(
        [
            *(Attribute(name, "quasi", kind="category") for name in quasi),
            *(Attribute(name, "sensitive", kind="category") for name in sensitive),
        ]
    )
    engine = MemoryEngine(df)
    frequency = engine.count(schema.measured()).frequency
    # No verdict is made of the rows: the published interface prints none, and it takes most of the time.
    left = delete_failing(frequency, conditions).has(frequency.key_of_row("ensure_privacy"))
    frame = nw.from_native(engine.native[left], eager_only=True)
    rows: pd.DataFrame = without_traces(frame, {column.name: column for column in frame.iter_columns()})
    return rows
