"""Measures of classes by the share of a sensitive value, and by the parts of sensitive lists."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING

from incrowd.core.errors import ParameterError
from incrowd.core.lazy import NDArray, np
from incrowd.core.parameters import Parameter

if TYPE_CHECKING:
    from incrowd.core.table.classes import EquivalenceClasses
    from incrowd.core.table.frequency import FrequencyTable


EXACT = 10
"""Parts up to which `hitting_numbers` counts exactly, beside those that stand alone in a cell."""


def part_shares(classes: EquivalenceClasses, attribute: int) -> NDArray[np.float64]:
    """Return the share of each class with the most frequent part: float64[classes]."""
    shares: NDArray[np.float64] = classes.most_frequent(attribute) / classes.sizes
    return shares


def part_distances(
    classes: EquivalenceClasses, attribute: int, *, absent: bool = True
) -> NDArray[np.float64]:
    """Return the largest difference between a part's share of a class and of the table: float64[classes].

    Parameters
    ----------
    absent
        Whether parts count that the table has and the class lacks.
    """
    counts, counted = classes.part_counts(attribute), classes.frequency.sensitive[attribute]
    totals, everybody = counted.part_totals, counted.everybody
    lengths = np.diff(counts.indptr)
    sizes = np.repeat(classes.sizes, lengths)
    # Products of whole numbers are exact up to 2**53.
    apart = np.abs(counts.counts * float(everybody) - totals[counts.codes] * sizes.astype(np.float64))
    largest = np.maximum.reduceat(apart / (sizes * float(everybody)), counts.indptr[:-1])
    if not absent:
        return largest
    # Rank the table's parts by share, the largest first: the first part that a class lacks is the farthest.
    # Example: shares a 0.5, b 0.3, c 0.2. A class with a and c has ranks 0, 2, so its first gap is rank 1:
    # b, at a distance of 0.3. A class with a and b has no gap, so rank 2 (c) is the first that it lacks.
    rank = np.empty(len(totals), np.int64)
    order = np.argsort(-totals, kind="stable")
    rank[order] = np.arange(len(order))
    owner = np.repeat(np.arange(len(lengths)), lengths)
    ranks = rank[counts.codes]
    ranks = ranks[np.lexsort((ranks, owner))]
    gaps = ranks > np.arange(len(ranks)) - np.repeat(counts.indptr[:-1], lengths)
    lacking = lengths.copy()
    jumps = np.flatnonzero(gaps)
    holders, first = np.unique(owner[jumps], return_index=True)
    lacking[holders] = jumps[first] - counts.indptr[:-1][holders]
    shares = np.append(totals[order], 0) / everybody
    return np.maximum(largest, shares[lacking])


def part_lifts(
    classes: EquivalenceClasses, attribute: int
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Compare the shares of parts in each class and in the table, as `ClassCounts.lifts` does for values."""
    counts, counted = classes.part_counts(attribute), classes.frequency.sensitive[attribute]
    size = np.repeat(classes.sizes, np.diff(counts.indptr)).astype(np.float64)
    totals = counted.part_totals[counts.codes].astype(np.float64)
    return counts.counts * float(counted.everybody) / (size * totals), totals / float(counted.everybody)


def hitting_numbers(classes: EquivalenceClasses, attribute: int, least: int) -> NDArray[np.int64]:
    """Count for each class the fewest parts that hit every record: int64[classes].

    Parts that are the only one of some record are counted all. Of the others at most `EXACT` are counted, or
    as many as reach `least`, whichever is more.

    Parameters
    ----------
    least
        A number that is found exactly whether it is reached.
    """
    parts = classes.frequency.sensitive[attribute].domain.parts
    assert parts is not None, "only lists have parts"
    counts = classes.counts(attribute)
    lists, of_value = parts.distinct
    codes = of_value[counts.codes]
    numbers = np.empty(len(classes), np.int64)
    for number, (start, stop) in enumerate(zip(counts.indptr[:-1], counts.indptr[1:], strict=True)):
        numbers[number] = hitting_number([lists[code] for code in set(codes[start:stop].tolist())], least)
    return numbers


def hitting_number(lists: Iterable[frozenset[int]], least: int = 1) -> int:
    """Return the fewest parts that hit every list; see `hitting_numbers`.

    Examples
    --------
    >>> hitting_number([frozenset({1, 2}), frozenset({1, 3}), frozenset({4})])
    2
    """
    lists = set(lists)
    # A list of a single part needs that part, so these parts are in every choice.
    alone = frozenset[int]().union(*(parts for parts in lists if len(parts) == 1))
    minimal = _minimal([parts for parts in lists if not parts & alone])
    most = max(EXACT, least - len(alone))
    number = _disjoint(minimal, most)
    while number < most and not _can_meet(minimal, number):
        number += 1
    return len(alone) + number


def _minimal(lists: Sequence[frozenset[int]]) -> list[frozenset[int]]:
    """Leave out supersets of other lists: a part that meets the subset meets the superset."""
    minimal: list[frozenset[int]] = []
    by_smallest: dict[int, list[frozenset[int]]] = {}
    for parts in sorted(lists, key=len):
        # A subset's smallest part is in the superset, so looking under each part finds every subset.
        if any(other <= parts for part in parts for other in by_smallest.get(part, ())):
            continue
        minimal.append(parts)
        by_smallest.setdefault(min(parts), []).append(parts)
    return minimal


def _disjoint(lists: Sequence[frozenset[int]], most: int) -> int:
    """Count disjoint lists, at most `most`: a lower bound, as each needs a different part."""
    union: set[int] = set()
    count = 0
    for parts in lists:
        if count == most:
            break
        if union.isdisjoint(parts):
            union |= parts
            count += 1
    return count


def _can_meet(lists: Sequence[frozenset[int]], many: int) -> bool:
    """Return whether `many` parts meet all lists, by branching over the parts of the shortest list."""
    if not lists:
        return True
    if many == 0 or _disjoint(lists, many + 1) > many:
        return False
    often = Counter(part for parts in lists for part in parts)
    if sum(count for _, count in often.most_common(many)) < len(lists):
        return False
    shortest = min(lists, key=len)
    return any(
        _can_meet([parts for parts in lists if part not in parts], many - 1)
        for part in sorted(shortest, key=lambda part: (-often[part], part))
    )


VALUE = Parameter(str, "the one sensitive value to protect; every value by default", optional=True)
"""Which sensitive value a model concerns."""


def value_code(frequency: FrequencyTable, position: int, value: str) -> int | None:
    """Return the rank of a protected value, or None if no record has this value.

    It may be a part of lists, or all records with it are left out.
    """
    counted = frequency.sensitive[position]
    values = counted.domain.values
    if value not in values or not counted.totals[values.index(value)]:
        return None
    return values.index(value)


def check_value(frequency: FrequencyTable, positions: Sequence[int], value: str | None) -> None:
    """Raise for a protected value that a table lacks: a typing error must not count as protection.

    Raises
    ------
    ParameterError
        When a sensitive attribute has neither such a value nor such a part of lists.
    """
    if value is None:
        return
    for position in positions:
        if value_code(frequency, position, value) is None and part_code(frequency, position, value) is None:
            counted = frequency.sensitive[position]
            raise ParameterError(
                f"the value to protect is none of the {counted.present} values of column {counted.name!r}; "
                "write it as it stands in the table"
            )


def part_code(frequency: FrequencyTable, position: int, value: str) -> int | None:
    """Return the code of a protected part of lists, or None if there is no such part."""
    counted = frequency.sensitive[position]
    parts = counted.domain.parts
    if parts is None or value not in parts.names:
        return None
    code = parts.names.index(value)
    return code if counted.part_totals[code] else None


def largest_part_shares(
    classes: EquivalenceClasses, position: int, value: str | None = None
) -> NDArray[np.float64]:
    """Return the share of each class with the most frequent part, or with `value`: float64[classes]."""
    if value is None:
        return part_shares(classes, position)
    code, counts = part_code(classes.frequency, position, value), classes.part_counts(position)
    amounts = np.where(counts.codes == code, counts.counts, 0) if code is not None else counts.counts * 0
    shares: NDArray[np.float64] = np.maximum.reduceat(amounts, counts.indptr[:-1]) / classes.sizes
    return shares


def largest_shares(
    classes: EquivalenceClasses, position: int, value: str | None = None
) -> NDArray[np.float64]:
    """Return the share of each class with the most frequent value, or with `value`: float64[classes]."""
    counts = classes.counts(position)
    amounts = counts.counts
    if value is not None:
        code = value_code(classes.frequency, position, value)
        amounts = np.where(counts.codes == (-1 if code is None else code), amounts, 0)
    shares: NDArray[np.float64] = np.maximum.reduceat(amounts, counts.indptr[:-1]) / classes.sizes
    return shares
