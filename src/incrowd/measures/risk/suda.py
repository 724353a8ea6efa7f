"""SUDA: minimal sample uniques."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from itertools import combinations
from math import comb, prod
from typing import Any, Literal

from incrowd.core.lazy import NDArray, np
from incrowd.core.markup import InNotebooks
from incrowd.core.parameters import COUNT, PART, Parameter
from incrowd.measures.privacy._one_call import Columns, read_for
from incrowd.measures.privacy.k_anonymity import KAnonymity

_SCORING = Parameter(str, "how scores are made", choices=("product", "subsets"))


@dataclass(frozen=True, eq=False)
class Suda(InNotebooks):
    """The minimal sample uniques of a table.

    Attributes
    ----------
    quasi
        The quasi-identifiers.
    scores
        float64[rows]: SUDA score of each row; 0 for one without a minimal sample unique.
    dis
        The chance that a match with a record that is unique in the table is right, in [0, 1], by data
        intrusion simulation.
    dis_scores
        float64[rows]: DIS-SUDA score of each row in [0, 1], the chance `dis` shared out by the scores.
    sizes
        int64[rows, max_size]: minimal sample uniques of each size that the row has.
    contributions
        Per quasi-identifier its share of all scores in [0, 1]: that of the minimal sample uniques it is in.
    value_contributions
        The same for each of its values that is in one, the largest first; None is the missing value. They are
        raw values, mostly rare ones: neither `to_dict` nor a report has them.
    """

    _shown = (
        "quasi", "rows_with_one", "minimal_sample_uniques", "largest_score", "dis", "largest_dis_score",
        "contributions",
    )  # fmt: skip

    quasi: tuple[str, ...]
    scores: NDArray[np.float64]
    dis: float
    dis_scores: NDArray[np.float64]
    sizes: NDArray[np.int64]
    contributions: dict[str, float]
    value_contributions: dict[str, dict[str | None, float]] = field(repr=False)

    def __repr__(self) -> str:
        unique = int((self.scores > 0).sum())
        return f"Suda({unique:,} of {len(self.scores):,} records have minimal sample uniques)"

    def to_dict(self) -> dict[str, Any]:
        """Return plain data for JSON: figures of the table, and of no row."""
        return {
            "quasi": list(self.quasi),
            "rows_with_one": int((self.scores > 0).sum()),
            "minimal_sample_uniques": self.sizes.sum(axis=0).tolist(),
            "largest_score": float(self.scores.max(initial=0.0)),
            "dis": self.dis,
            "largest_dis_score": float(self.dis_scores.max(initial=0.0)),
            "contributions": self.contributions,
        }


def suda2(
    table: Any,
    quasi: Columns,
    *,
    max_size: int = 3,
    fraction: float = 0.01,
    scoring: Literal["product", "subsets"] = "product",
) -> Suda:
    """Find every row's minimal sample uniques (SUDA2), and score the rows.

    A minimal sample unique is a set of values of a row that is unique in the table, while none of its subsets
    is. Example: only one person is a widow of 19. Others are widows, and others are 19.

    The score of a row is the sum over its minimal sample uniques. Those with few values count most. One of
    size k among a attributes counts:

    - with scoring ``"product"``, the product of (a - i) for i from k to `max_size`;
    - with ``"subsets"``, (2^(a - k) - 1) / C(a, k), as the program SUDA counted.

    The DIS-SUDA score of a row with score s is 1 / (1 + (U/DIS - U) / (s^Q A)). Here U is the number of
    uniques of the table, Q = 1 + (8 - a)/20, and A is the sum of s^-Q over rows with a score. DIS = U f / (U
    f + P (1 - f)). Here P is the number of records that are equal to exactly one other, and f is `fraction`.

    Parameters
    ----------
    table
        A pandas, Polars or PyArrow table, or the path of a CSV or Parquet file.
    quasi
        Names of the quasi-identifiers.
    max_size
        Largest size looked at, 1 to the number of quasi-identifiers. Every set of so many columns is
        grouped once.
    fraction
        Share of the population that the table is a sample of, above 0 and at most 1.
    scoring
        How much a minimal sample unique counts. Published DIS-SUDA scores may come from either.

    Raises
    ------
    ParameterError
        When `max_size`, `fraction` or `scoring` is out of range.
    InputError
        When the table cannot be read or lacks a column.

    References
    ----------
    Elliot, Manning and Ford, A computational algorithm for handling the special uniques problem, IJUFKS
    10(5), 2002; Manning, Haglin and Keane, A recursive search algorithm for statistical disclosure
    assessment, Data Mining and Knowledge Discovery 16, 2008. What is found is the same; sets are grouped
    here, not searched. Elliot, Manning, Mayes, Gurd and Bane, SUDA: a program for detecting special uniques,
    UNECE/Eurostat work session, 2005; Skinner and Elliot, A measure of disclosure risk for microdata,
    J. Royal Statistical Society B 64(4), 2002 (DIS). Exponent and adjustment are those of sdcMicro's suda2.
    """
    from incrowd.core.kernels.grouping.grouping import group_columns

    classes = read_for(KAnonymity(1), table, quasi)
    frequency = classes.frequency
    width = len(frequency.domains)
    max_size = COUNT.within(1, width).check(max_size, "suda2", "max_size")
    fraction = PART.check(fraction, "suda2", "fraction")
    scoring = _SCORING.check(scoring, "suda2", "scoring")
    sizes = [domain.size for domain in frequency.domains]
    unique: dict[tuple[int, ...], NDArray[np.bool_]] = {(): np.zeros(frequency.keys, np.bool_)}
    scores = np.zeros(frequency.keys)
    counts = np.zeros((frequency.keys, max_size), np.int64)
    shares = np.zeros((width, frequency.keys))
    for size in range(1, max_size + 1):
        if scoring == "product":
            worth = float(prod(width - i for i in range(size, max_size + 1) if width > i))
        else:
            worth = (2 ** (width - size) - 1) / comb(width, size)
        uniques_of_size: dict[tuple[int, ...], NDArray[np.bool_]] = {}
        for chosen in combinations(range(width), size):
            columns = [frequency.codes[j] for j in chosen]
            ids, first = group_columns(columns, [sizes[j] for j in chosen], frequency.keys)
            alone = np.bincount(ids, frequency.weights, len(first))[ids] == 1
            uniques_of_size[chosen] = alone
            minimal = alone.copy()
            for left_out in range(size):
                minimal &= ~unique[chosen[:left_out] + chosen[left_out + 1 :]]
            counts[:, size - 1] += minimal
            scores += worth * minimal
            shares[list(chosen)] += worth * minimal
        unique = uniques_of_size
    rows = frequency.key_of_row("suda2")
    dis, dis_scores = _intrusion_simulation(scores, frequency.weights, width, fraction)
    total = float(scores.sum())
    names = [domain.name for domain in frequency.domains]
    return Suda(
        tuple(names),
        np.append(scores, 0.0)[rows],
        dis,
        np.append(dis_scores, 0.0)[rows],
        np.vstack((counts, np.zeros((1, max_size), np.int64)))[rows],
        {
            name: float(share.sum()) / total if total else 0.0
            for name, share in zip(names, shares, strict=True)
        },
        {
            domain.name: _by_value(domain.values, np.bincount(codes, share, domain.size), total)
            for domain, codes, share in zip(frequency.domains, frequency.codes, shares, strict=True)
        },
    )


def _by_value(values: Sequence[str | None], shares: NDArray[Any], total: float) -> dict[str | None, float]:
    order = np.argsort(-shares, kind="stable")
    return {values[rank]: float(shares[rank]) / total for rank in order.tolist() if shares[rank]}


def _intrusion_simulation(
    scores: NDArray[np.float64], weights: NDArray[np.int64], width: int, fraction: float
) -> tuple[float, NDArray[np.float64]]:
    """Return DIS by data intrusion simulation, and the DIS score of each key's record."""
    alone = int((weights == 1).sum())
    paired = 2 * int((weights == 2).sum())
    right = alone * fraction
    dis = right / (right + paired * (1 - fraction)) if alone else 0.0
    exponent = 1 + (8 - width) / 20
    shares = np.zeros(len(scores))
    special = scores > 0
    if special.any():
        powers = scores[special] ** exponent
        adjusted = powers * float((1 / powers).sum())
        shares[special] = 1 / (1 + alone * (1 / dis - 1) / adjusted)
    return dis, shares
