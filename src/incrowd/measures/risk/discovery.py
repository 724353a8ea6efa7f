"""Sets of columns that identify people: distinction and separation."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from itertools import combinations
from typing import Any

from incrowd.core.lazy import NDArray, np
from incrowd.core.markup import InNotebooks
from incrowd.core.parameters import COUNT, PART
from incrowd.measures.privacy._one_call import Columns, read_for
from incrowd.measures.privacy.k_anonymity import KAnonymity


@dataclass(frozen=True, slots=True)
class Identifying(InNotebooks):
    """How well a set of columns tells records apart.

    Attributes
    ----------
    columns
    distinction
        Distinct combinations of values over records, in (0, 1].
    separation
        Share of all pairs of records that differ in a column, in [0, 1].
    unique
        Share of the records that are alone with their combination.
    minimal
        Whether the set reaches the distinction asked for and no smaller one in it does.
    """

    _shown = ("columns", "distinction", "separation", "unique", "minimal")

    columns: tuple[str, ...]
    distinction: float
    separation: float
    unique: float
    minimal: bool

    def to_dict(self) -> dict[str, Any]:
        """Return plain data for JSON."""
        return asdict(self) | {"columns": list(self.columns)}


def quasi_identifiers(
    table: Any, columns: Columns, *, max_size: int = 3, distinction: float = 0.9
) -> list[Identifying]:
    """Measure every set of columns up to a size, and mark the minimal sets that identify.

    Parameters
    ----------
    table
        A pandas, Polars or PyArrow table, or the path of a CSV or Parquet file.
    columns
        Names of the columns to look at.
    max_size
        Columns of the largest sets, 1 to all.
    distinction
        The distinction from which a set counts as identifying, in (0, 1]. With 1 only sets count whose values
        are different in every record.

    Returns
    -------
    All sets, the most distinct first, then smaller ones first, then in order of the columns.

    Raises
    ------
    ParameterError
        When a setting is out of range.
    InputError
        When the table cannot be read or lacks a column.

    References
    ----------
    Motwani and Xu, Efficient algorithms for masking and finding quasi-identifiers, SDM workshop PPDM 2007
    (distinct ratio and separation ratio).
    """
    from incrowd.core.kernels.grouping.grouping import group_columns

    frequency = read_for(KAnonymity(1), table, columns).frequency
    width = len(frequency.domains)
    max_size = COUNT.within(1, width).check(max_size, "quasi_identifiers", "max_size")
    distinction = PART.check(distinction, "quasi_identifiers", "distinction")
    sizes = [domain.size for domain in frequency.domains]
    names = [domain.name for domain in frequency.domains]
    results: list[Identifying] = []
    identifying: list[set[int]] = []
    for size in range(1, max_size + 1):
        for chosen in combinations(range(width), size):
            codes = [frequency.codes[j] for j in chosen]
            ids, first = group_columns(codes, [sizes[j] for j in chosen], frequency.keys)
            counts = np.bincount(ids, frequency.weights, len(first)).astype(np.int64)
            share = len(counts) / frequency.records
            minimal = share >= distinction and not any(smaller.issubset(chosen) for smaller in identifying)
            if minimal:
                identifying.append(set(chosen))
            results.append(
                Identifying(
                    tuple(names[j] for j in chosen),
                    share,
                    _separation(counts, frequency.records),
                    int((counts == 1).sum()) / frequency.records,
                    minimal,
                )
            )
    return sorted(results, key=lambda entry: (-entry.distinction, len(entry.columns)))


def _separation(counts: NDArray[np.int64], records: int) -> float:
    """Share of pairs of records in different classes, 1 for a single record."""
    pairs = records * (records - 1) // 2
    alike = sum(int(count) * (int(count) - 1) // 2 for count in counts)
    return 1 - alike / pairs if pairs else 1.0
