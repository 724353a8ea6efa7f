"""SUDA: minimal sample uniques."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import combinations
from math import prod
from typing import TYPE_CHECKING, Any

from incrowd.errors import ParameterError
from incrowd.privacy.base import Columns, read_for
from incrowd.privacy.k_anonymity import KAnonymity

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

__all__ = ["Suda", "suda2"]


@dataclass(frozen=True, eq=False)
class Suda:
    """The minimal sample uniques of a table.

    Attributes
    ----------
    quasi
        The quasi-identifiers.
    scores
        float64[rows]: SUDA score of each row; 0 for one without a minimal sample unique.
    sizes
        int64[rows, max_size]: minimal sample uniques of each size that the row has.
    contributions
        Per quasi-identifier its share of all scores in [0, 1]: that of the minimal sample uniques it is in.
    """

    quasi: tuple[str, ...]
    scores: NDArray[np.float64]
    sizes: NDArray[np.int64]
    contributions: dict[str, float]

    def to_dict(self) -> dict[str, Any]:
        """Return plain data for JSON: figures of the table, and of no row."""
        return {
            "quasi": list(self.quasi),
            "rows_with_one": int((self.scores > 0).sum()),
            "minimal_sample_uniques": self.sizes.sum(axis=0).tolist(),
            "largest_score": float(self.scores.max(initial=0.0)),
            "contributions": self.contributions,
        }


def suda2(table: Any, quasi: Columns, *, max_size: int = 3) -> Suda:
    """Find every row's minimal sample uniques: sets of values that are unique in the table, and no subset is.

    A minimal sample unique of size k scores the product of (attributes - i) for i from k to `max_size`; a
    row's score is the sum over its own. So few values that single somebody out count most.

    Parameters
    ----------
    table
        A pandas, Polars or PyArrow table, or the path of a CSV or Parquet file.
    quasi
        Names of the quasi-identifiers.
    max_size
        Largest size looked at, 1 to the number of quasi-identifiers. Every set of so many columns is
        grouped once.

    Raises
    ------
    ParameterError
        When `max_size` is out of range.
    InputError
        When the table cannot be read or lacks a column.

    References
    ----------
    Elliot, Manning and Ford, A computational algorithm for handling the special uniques problem, IJUFKS
    10(5), 2002; Manning, Haglin and Keane, A recursive search algorithm for statistical disclosure
    assessment, Data Mining and Knowledge Discovery 16, 2008. What is found is the same; sets are grouped
    here, not searched.
    """
    import numpy as np

    from incrowd.kernels.grouping import group_columns

    classes = read_for(KAnonymity(1), table, quasi)
    frequency = classes.frequency
    width = len(frequency.domains)
    if not 1 <= max_size <= width:
        raise ParameterError(
            f"max_size must be 1 to {width}, the number of quasi-identifiers, got {max_size!r}"
        )
    sizes = [domain.size for domain in frequency.domains]
    unique: dict[tuple[int, ...], NDArray[np.bool_]] = {(): np.zeros(frequency.keys, np.bool_)}
    scores = np.zeros(frequency.keys)
    found = np.zeros((frequency.keys, max_size), np.int64)
    shares = np.zeros(width)
    for size in range(1, max_size + 1):
        worth = float(prod(width - i for i in range(size, max_size + 1) if width > i))
        here: dict[tuple[int, ...], NDArray[np.bool_]] = {}
        for chosen in combinations(range(width), size):
            columns = [frequency.codes[j] for j in chosen]
            ids, first = group_columns(columns, [sizes[j] for j in chosen], frequency.keys)
            alone = np.bincount(ids, frequency.weights, len(first))[ids] == 1
            here[chosen] = alone
            minimal = alone.copy()
            for left_out in range(size):
                minimal &= ~unique[chosen[:left_out] + chosen[left_out + 1 :]]
            found[:, size - 1] += minimal
            scores += worth * minimal
            shares[list(chosen)] += worth * int(minimal.sum())
        unique = here
    rows = frequency.row_keys
    assert rows is not None
    total = float(scores.sum())
    names = [domain.name for domain in frequency.domains]
    return Suda(
        tuple(names),
        np.append(scores, 0.0)[rows],
        np.vstack((found, np.zeros((1, max_size), np.int64)))[rows],
        {name: float(share) / total if total else 0.0 for name, share in zip(names, shares, strict=True)},
    )
