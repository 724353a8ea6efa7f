"""The functions of the notebook "Calculation Detail for P_29 Score", on pandas frames.

One thing differs: missing is a value, so records with a missing quasi-identifier are a class and missing
sensitive values count. Files where the word None means something are read with ``keep_default_na=False``.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from incrowd.errors import TableError
from incrowd.schema import require_columns

if TYPE_CHECKING:
    import pandas as pd

__all__ = [
    "calculate_P_29_score",
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
    """Return the number of records of a class."""
    return len(group)


def calculate_normalized_entropy(series: pd.Series[Any]) -> float:
    """Return the entropy of a class's values over log2 of how many there are; 0 for one value or none."""
    import numpy as np

    shares = series.value_counts(normalize=True, dropna=False).to_numpy(dtype=float)
    shares = shares[shares > 0]
    if len(shares) < 2:
        return 0.0
    return float(-(shares * np.log2(shares)).sum() / np.log2(len(shares)))


def calculate_global_distribution(series: pd.Series[Any]) -> dict[Any, float]:
    """Return the share of every value, the most frequent first."""
    found: dict[Any, float] = series.value_counts(normalize=True, dropna=False).to_dict()
    return found


def compute_t_closeness(series: pd.Series[Any], global_distribution: Mapping[Any, float]) -> float:
    """Return half the sum of absolute differences between the shares of a class and of the table."""
    shares = calculate_global_distribution(series)
    values = [*global_distribution, *(value for value in shares if value not in global_distribution)]
    return 0.5 * sum(abs(shares.get(value, 0.0) - global_distribution.get(value, 0.0)) for value in values)


def calculate_t_closeness(
    df: pd.DataFrame, quasi_identifiers: Sequence[str], sensitive_attributes: Sequence[str]
) -> pd.DataFrame:
    """Return the distance of every class to the table, a column ``t-closeness_<attribute>`` each.

    Classes are in the order of their values and named in the column ``Quasi-identifiers``.

    Raises
    ------
    InputError
        When the table lacks a column.
    """
    import numpy as np
    import pandas as pd

    columns = list(quasi_identifiers)
    require_columns((*columns, *sensitive_attributes), list(df.columns))
    group = df.groupby(columns, dropna=False, observed=True).ngroup().to_numpy()
    sizes, first = np.bincount(group), np.unique(group, return_index=True)[1]
    values = df[columns].iloc[first].itertuples(index=False, name=None)
    names = [
        ", ".join(f"{name}: {value}" for name, value in zip(columns, row, strict=True)) for row in values
    ]
    figures = {}
    for name in sensitive_attributes:
        # Values by frequency, and floats added up in that order, so that the last digit is the notebook's.
        shares = df[name].value_counts(normalize=True, dropna=False)
        codes, met = pd.factorize(df[name], use_na_sentinel=False)
        order = np.argsort(shares.index.get_indexer(pd.Index(met)))
        place = np.empty(len(met), np.int64)
        place[order] = np.arange(len(met))
        wide = len(met)
        distance = np.empty(len(sizes))
        for start in range(0, len(sizes), max(_CELLS // wide, 1)):
            stop = min(start + max(_CELLS // wide, 1), len(sizes))
            here = (group >= start) & (group < stop)
            cells = (group[here] - start) * wide + place[codes[here]]
            counts = np.bincount(cells, minlength=(stop - start) * wide).reshape(-1, wide)
            apart = np.abs(counts / sizes[start:stop, None] - shares.to_numpy(dtype=float)[: counts.shape[1]])
            distance[start:stop] = 0.5 * apart.sum(axis=1)
        figures[f"t-closeness_{name}"] = distance
    return pd.DataFrame({_NAME: names, **figures})


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
        Columns ``Quasi-identifiers`` and ``k-anonymity``, a row per class.
    l_value, t_value
        ``Quasi-identifiers`` first, then a column per sensitive attribute.
    w_k, w_l, w_t
        Weights.

    Notes
    -----
    The score is 0 where a class has one record, a normalized entropy is 0 or a distance is above 0.5. A
    column whose distances are all equal scales to 0/0; it counts as 0 here, where the notebook leaves it out
    of the mean.

    Raises
    ------
    TableError
        When there is no class or no sensitive attribute.
    """
    entropies, distances = (value.iloc[:, 1:].astype(float) for value in (l_value, t_value))
    if not len(k_value) or not entropies.shape[1] or not distances.shape[1]:
        raise TableError("the score needs one class and one sensitive attribute at least")
    sizes = k_value["k-anonymity"]
    reasons: list[str] = []
    problems: list[tuple[str, str]] = []

    def look(frame: pd.DataFrame, failing: Any, reason: str, each: str) -> None:
        if failing.to_numpy().any():
            reasons.append(reason)
        for column in failing:
            said = each.format(column)
            problems.extend((name, said) for name in frame.loc[failing[column], _NAME])

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


def ensure_privacy(
    df: pd.DataFrame,
    QI: Sequence[str],  # noqa: N803
    SA: Sequence[str],  # noqa: N803
    t: float = 0.5,
    k: int = 1,
    l: float = 0,  # noqa: E741
) -> pd.DataFrame:
    """Delete the classes that fail, look anew, and repeat; see `incrowd.ensure_privacy`.

    Returns
    -------
    The rows that are left with all columns, numbered from 0.
    """
    from incrowd.processing import ensure_privacy as ensure
    from incrowd.schema import Attribute, Schema

    schema = Schema.of(
        [
            *(Attribute(name, "quasi", kind="category") for name in QI),
            *(Attribute(name, "sensitive", kind="category") for name in SA),
        ],
        others="keep",
    )
    left: pd.DataFrame = ensure(df, schema, t=t, k=k, l=l).table
    return left
