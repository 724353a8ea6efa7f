"""Measures of classes whose sensitive values are lists, by the parts of these; see `incrowd.table.parts`."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING

from incrowd.lazy import NDArray, np

if TYPE_CHECKING:
    from incrowd.table.classes import EquivalenceClasses

EXACT = 10
"""Parts up to which `hitting_numbers` counts exactly, beside those that stand alone in a cell."""


def part_shares(classes: EquivalenceClasses, attribute: int) -> NDArray[np.float64]:
    """Return the share of each class that has its most frequent part: float64[classes]."""
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
    # The parts of the table by their share: the first that a class lacks is the farthest.
    rank = np.empty(len(totals), np.int64)
    order = np.argsort(-totals, kind="stable")
    rank[order] = np.arange(len(order))
    owner = np.repeat(np.arange(len(lengths)), lengths)
    places = rank[counts.codes]
    places = places[np.lexsort((places, owner))]
    gaps = places > np.arange(len(places)) - np.repeat(counts.indptr[:-1], lengths)
    lacking = lengths.copy()
    seen = np.flatnonzero(gaps)
    holders, first = np.unique(owner[seen], return_index=True)
    lacking[holders] = seen[first] - counts.indptr[:-1][holders]
    shares = np.append(totals[order], 0) / everybody
    return np.maximum(largest, shares[lacking])


def part_lifts(
    classes: EquivalenceClasses, attribute: int
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Compare the parts of each class with the whole table, as `ClassCounts.lifts` does with values."""
    counts, counted = classes.part_counts(attribute), classes.frequency.sensitive[attribute]
    size = np.repeat(classes.sizes, np.diff(counts.indptr)).astype(np.float64)
    whole = counted.part_totals[counts.codes].astype(np.float64)
    return counts.counts * float(counted.everybody) / (size * whole), whole / float(counted.everybody)


def hitting_numbers(classes: EquivalenceClasses, attribute: int, least: int) -> NDArray[np.int64]:
    """Count the fewest parts such that every record of a class has one of them: int64[classes].

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
    held = of_value[counts.codes]
    found = np.empty(len(classes), np.int64)
    for number, (start, stop) in enumerate(zip(counts.indptr[:-1], counts.indptr[1:], strict=True)):
        found[number] = hitting_number([lists[code] for code in set(held[start:stop].tolist())], least)
    return found


def hitting_number(lists: Iterable[frozenset[int]], least: int = 1) -> int:
    """Return the fewest parts such that each list has one of them; see `hitting_numbers`.

    Examples
    --------
    >>> hitting_number([frozenset({1, 2}), frozenset({1, 3}), frozenset({4})])
    2
    """
    lists = set(lists)
    alone = frozenset[int]().union(*(each for each in lists if len(each) == 1))
    # Whoever has one part alone is met by nothing else, so these parts are in every choice.
    left = [each for each in lists if not each & alone]
    return len(alone) + _fewest(_minimal(left), max(EXACT, least - len(alone)))


def _minimal(lists: Sequence[frozenset[int]]) -> list[frozenset[int]]:
    """Leave out lists that hold another one: who meets that meets them."""
    kept: list[frozenset[int]] = []
    holders: dict[int, list[frozenset[int]]] = {}
    for each in sorted(lists, key=len):
        if any(other <= each for part in each for other in holders.get(part, ())):
            continue
        kept.append(each)
        # A list is found by its smallest part, which whoever holds it has.
        holders.setdefault(min(each), []).append(each)
    return kept


def _fewest(lists: Sequence[frozenset[int]], most: int) -> int:
    """Return the fewest parts that meet all lists, at most `most`."""
    reached = _disjoint(lists, most)
    while reached < most and not _can_meet(lists, reached):
        reached += 1
    return reached


def _disjoint(lists: Sequence[frozenset[int]], most: int) -> int:
    """Count lists without a common part, at most `most`: each needs a part of its own."""
    taken: set[int] = set()
    count = 0
    for each in lists:
        if count == most:
            break
        if taken.isdisjoint(each):
            taken |= each
            count += 1
    return count


def _can_meet(lists: Sequence[frozenset[int]], many: int) -> bool:
    """Say whether so many parts meet all lists: some part of the shortest list is among them."""
    if not lists:
        return True
    if many == 0 or _disjoint(lists, many + 1) > many:
        return False
    often: dict[int, int] = {}
    for each in lists:
        for part in each:
            often[part] = often.get(part, 0) + 1
    most_often = sorted(often.values(), reverse=True)[:many]
    if sum(most_often) < len(lists):
        return False
    branch = min(lists, key=len)
    return any(
        _can_meet([each for each in lists if part not in each], many - 1)
        for part in sorted(branch, key=lambda part: (-often[part], part))
    )
