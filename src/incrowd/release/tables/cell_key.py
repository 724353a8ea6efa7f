"""Noise on counts that a cell's people decide, so that the same people get the same noise in every table.

Each person has a secret random key. The key of a cell is the sum of its people's keys. A lookup turns count
and key into the released count: `PerturbationTable` by odds of greatest entropy, `KeyTable` of `key_table` by
a fixed table as offices write them. Only counts are perturbed: sums of numbers are out of scope.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from incrowd.core.errors import ParameterError
from incrowd.core.io.frames import numbered
from incrowd.core.lazy import NDArray, np, pl
from incrowd.core.treatments.keys import Secret


def record_keys(secret: Secret, people: pl.Series) -> NDArray[np.uint64]:
    """Derive the key of each person from a secret and the person's identifier.

    Parameters
    ----------
    secret
        The same for all tables that are to have the same noise.
    people
        Identifiers, none missing; numbers count as the text of their digits. One person has one key, however
        many rows.

    Returns
    -------
    uint64[rows], uniform

    Examples
    --------
    >>> import polars as pl
    >>> from incrowd.core.treatments.keys import Secret
    >>> keys = record_keys(Secret(b"a secret"), pl.Series(["ann", "bo", "ann"]))
    >>> bool(keys[0] == keys[2]), bool(keys[0] == keys[1])
    (True, False)
    """
    if people.has_nulls():
        raise ParameterError(f"{people.null_count()} identifiers are missing; a record key needs each one")
    numbers, first = numbered(people.to_frame())
    digests = secret.for_purpose("record key").digests(people.gather(first).cast(pl.String))
    return np.ascontiguousarray(digests[:, :8]).view("<u8").ravel()[numbers]


def cell_keys(keys: NDArray[np.integer], cells: NDArray[np.integer], size: int) -> NDArray[np.uint64]:
    """Sum the keys of each cell's people modulo 2**64; the order of the people does not matter.

    Parameters
    ----------
    keys
        integer[people], 0 or more. A person in a cell twice counts twice: give each once.
    cells
        integer[people]: the cell of each.
    size
        How many cells there are.

    Returns
    -------
    uint64[size]. Unless a person may be in several parts, `with_totals` sums the keys of totals.

    Examples
    --------
    >>> import numpy as np
    >>> cell_keys(np.array([200, 100, 7]), np.array([1, 1, 0]), 3)
    array([  7, 300,   0], dtype=uint64)
    """
    sums = np.zeros(size, np.uint64)
    np.add.at(sums, cells, keys.astype(np.uint64))
    return sums


def uniform(keys: NDArray[np.uint64]) -> NDArray[np.float64]:
    """Return keys as numbers of at least 0 and less than 1, by their upper 53 bits.

    Examples
    --------
    >>> import numpy as np
    >>> uniform(np.array([0, 2**63, 2**64 - 1], np.uint64)).round(3)
    array([0. , 0.5, 1. ])
    """
    return (keys >> np.uint64(11)).astype(np.float64) * 2.0**-53


@dataclass(frozen=True, eq=False)
class PerturbationTable:
    """The odds of each deviation for each count, made by `perturbation_table`.

    Attributes
    ----------
    probabilities
        float64[counts, 2 * D + 1]: for counts 0, 1, ... the odds of the deviations -D, ..., D. The last row
        is symmetric and holds for all larger counts, too.
    """

    probabilities: NDArray[np.float64]

    @property
    def deviation(self) -> int:
        """D, the largest deviation."""
        return int(self.probabilities.shape[1]) // 2

    def release(self, counts: NDArray[np.integer], keys: NDArray[np.uint64]) -> NDArray[np.int64]:
        """Return the released counts from true counts and `cell_keys` of the same shape.

        Examples
        --------
        >>> import numpy as np
        >>> perturbation_table(2, 1).release(np.array([0, 1, 9]), np.array([5, 2**63, 2**64 - 1], np.uint64))
        array([ 0,  1, 11])
        """
        share, row = uniform(keys), np.minimum(counts, len(self.probabilities) - 1)
        # The last odds end at 1 exactly, so that no share lies above.
        ends = np.cumsum(self.probabilities, axis=1)
        ends /= ends[:, -1:]
        released = counts.astype(np.int64)
        for number, end in enumerate(ends):
            of_row = row == number
            released[of_row] += np.searchsorted(end, share[of_row], side="right") - self.deviation
        return released

    def bounds(self, released: NDArray[np.integer]) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        """Return the least and the largest true count that can be released as each: int64, same shape.

        Examples
        --------
        >>> import numpy as np
        >>> perturbation_table(2, 1).bounds(np.array([0, 1, 9]))
        (array([0, 1, 7]), array([ 2,  3, 11]))
        """
        last = len(self.probabilities) - 1
        possible = self.probabilities > 0
        return true_counts(released, possible, -self.deviation, lambda counts: np.minimum(counts, last))


def perturbation_table(deviation: int, variance: float, js: int = 0) -> PerturbationTable:
    """Compute the odds of deviations with the greatest entropy.

    For each count the mean deviation is 0 and the variance at most `variance`. No deviation is larger than
    `deviation`, no released count is negative or one of 1..js, and 0 stays 0. On each side of 0, odds do not
    rise with the distance. These are the tables of Marley and Leaver (2011) and Giessing (2016).

    Parameters
    ----------
    deviation
        The largest deviation, at least 1 and more than `js`.
    variance
        The largest variance, above 0 and at least ``i * (js + 1 - i)`` for each count i of 1..js.
    js
        Counts 1..js are never released.

    Raises
    ------
    ParameterError
        No odds fulfil all of it.

    Examples
    --------
    >>> perturbation_table(2, 1).probabilities.round(4)
    array([[0.    , 0.    , 1.    , 0.    , 0.    ],
           [0.    , 0.3665, 0.3665, 0.1676, 0.0995],
           [0.0638, 0.2447, 0.383 , 0.2447, 0.0638]])
    """
    if js < 0 or deviation < js + 1:
        raise ParameterError(
            f"cell key: deviation={deviation} with js={js}: js must be 0 or more, and the deviation at least "
            f"{max(js, 0) + 1}, or a count of {max(js, 0) + 1} could never fall"
        )
    # A count i of 1..js can only become 0 or more than js: deviations -i and js + 1 - i vary least.
    least = ((js + 1) // 2) * (js + 1 - (js + 1) // 2)
    if not max(least, np.finfo(float).tiny) <= variance < np.inf:
        raise ParameterError(
            f"cell key: variance={variance} with js={js}: the variance must be above 0 and at least {least}; "
            "raise the variance or lower js"
        )
    # Without counts that are never released, a count of D can fall by D already.
    last = deviation + js + 1 if js else deviation
    odds = np.zeros((last + 1, 2 * deviation + 1))
    odds[0, deviation] = 1
    for count in range(1, last + 1):
        changes = np.arange(-deviation, deviation + 1)
        allowed = (count + changes == 0) | (count + changes > js)
        odds[count, allowed] = _greatest_entropy(changes[allowed], variance)
    # A key's share has 53 bits: rarer deviations never happen.
    odds[odds < 2.0**-53] = 0
    return PerturbationTable(odds)


def _greatest_entropy(changes: NDArray[np.int64], variance: float) -> NDArray[np.float64]:
    """Return the odds of changes: mean 0, at most a variance, on no side of 0 rising with the distance.

    Without the last condition the odds are exp(-a * change - b * change**2), with b >= 0. Their logarithm
    is concave, so only the side of its peak rises. There, changes are pooled to their mean logarithm::

        peak left of 0, no -2:      #                     the three left of the bar
                                    # #          ->       are pooled: odds of -1 and 0
        changes                    -1 0|1 2               become equal

    The mean falls with a, and where it is 0 the variance falls with b: each is found by bisection. If the
    variance is small enough at b = 0, no b is needed.
    """
    from scipy.optimize import brentq, isotonic_regression

    scale = float(np.abs(changes).max())
    near = changes / scale

    def odds(a: float, b: float) -> NDArray[np.float64]:
        logs = -a * near - b * near**2
        side = near <= 0 if a > 0 else near >= 0
        logs[side] = isotonic_regression(logs[side], increasing=a > 0).x
        weights: NDArray[np.float64] = np.exp(logs - logs.max())
        weights /= weights.sum()
        return weights

    def centred(b: float) -> NDArray[np.float64]:
        end = 1.0
        while odds(-end, b) @ near < 0 or odds(end, b) @ near > 0:
            end *= 2
        return odds(brentq(lambda a: odds(a, b) @ near, -end, end, xtol=1e-14), b)

    def excess(b: float) -> float:
        # At the least variance that is possible, rounding alone may exceed it.
        return float(centred(b) @ near**2 - variance / scale**2 * (1 + 1e-13))

    if excess(0.0) <= 0:
        return centred(0.0)
    end = 1.0
    while excess(end) > 0:
        end *= 2
    return centred(brentq(excess, 0.0, end, xtol=1e-14))


def true_counts(
    released: NDArray[np.integer],
    possible: NDArray[np.bool_],
    low: int,
    row: Callable[[NDArray[np.int64]], NDArray[np.integer]],
) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Return the least and the largest count that can become each released count.

    Parameters
    ----------
    released
        Released counts.
    possible
        bool[rows, changes]: which of the changes low, low + 1, ... a row has.
    low
        The first change.
    row
        Tells the row of each count.

    Raises
    ------
    ParameterError
        No count becomes one of them.
    """
    released = released.astype(np.int64)
    least = np.full_like(released, np.iinfo(np.int64).max)
    most = np.full_like(released, -1)
    for place in range(possible.shape[1]):
        count = released - (low + place)
        fits = (count >= 0) & possible[row(np.maximum(count, 0)), place]
        least[fits] = np.minimum(least[fits], count[fits])
        most[fits] = np.maximum(most[fits], count[fits])
    if (most < 0).any():
        raise ParameterError(f"no count is released as {released[most < 0].flat[0]} by this table")
    return least, most
