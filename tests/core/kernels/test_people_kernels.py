"""People of classes against plain sets, in classes of few and of many entries."""

from __future__ import annotations

from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from incrowd.core.kernels.grouping.counting import Counts
from incrowd.core.kernels.grouping.grouping import group_members
from incrowd.core.kernels.people.people import (
    Entries,
    add_distinct,
    classes_that_reach,
    distinct_entries,
    first_entries,
    items_within,
    most_distinct,
)

ROWS = st.lists(st.lists(st.integers(0, 30), max_size=12), min_size=1, max_size=12)


def laid_out(rows: list[list[int]], many: int) -> Entries:
    """List the items of each key."""
    ends = np.cumsum([0, *map(len, rows)]).astype(np.int64)
    return Entries(ends, np.array([item for row in rows for item in row], np.int32), many)


def sets_of(rows: list[list[int]], class_of: list[int], classes: int) -> list[set[int]]:
    result: list[set[int]] = [set() for _ in range(classes)]
    for row, number in zip(rows, class_of, strict=True):
        if number >= 0:
            result[number] |= set(row)
    return result


def entries_of(number: int, class_of: list[int], entries: Entries) -> list[int]:
    """List the entries of the keys of a class, in order."""
    keys = [key for key, own in enumerate(class_of) if own == number]
    return [e for key in keys for e in range(entries.indptr[key], entries.indptr[key + 1])]


# With as many possible items as that, each class has a small table; with few, every item has its own slot.
@pytest.mark.parametrize("many", [31, 2**31 - 1])
@given(rows=ROWS, data=st.data())
def test_everybody_in_a_class_counts_once(many, rows, data):
    if many > 31:
        rows = [[item * 69_273_665 for item in row] for row in rows]
    class_of = data.draw(st.lists(st.integers(-1, 2), min_size=len(rows), max_size=len(rows)))
    alike = np.array(data.draw(st.lists(st.integers(0, 3), min_size=len(rows), max_size=len(rows))), np.int64)
    least = data.draw(st.integers(1, 40))
    where = group_members(np.array(class_of, np.int32), 3)
    entries, people = laid_out(rows, many), sets_of(rows, class_of, 3)
    sums = [sum(int(alike[key]) for key, number in enumerate(class_of) if number == c) for c in range(3)]

    first, result = first_entries(*where, entries)
    assert result.tolist() == [len(each) for each in people]
    assert first.sum() == result.sum()
    enough = [n + len(each) >= least for n, each in zip(sums, people, strict=True)]
    assert classes_that_reach(*where, alike, entries, least).tolist() == enough
    ends, listed = distinct_entries(*where, entries, np.arange(len(entries.items), dtype=np.int32))
    assert np.diff(ends).tolist() == [len(each) for each in people]
    assert listed.tolist() == [e for c in range(3) for e in entries_of(c, class_of, entries) if first[e]]
    values = (entries.items % 5).astype(np.int32)
    nothing = Counts(np.zeros(len(rows) + 1, np.int64), np.zeros(0, np.int32), np.zeros(0, np.int64))
    counts = add_distinct(*where, nothing, entries, values, 5)
    for c, each in enumerate(people):
        here = slice(counts.indptr[c], counts.indptr[c + 1])
        told_of = dict(zip(counts.codes[here].tolist(), counts.counts[here].tolist(), strict=True))
        assert told_of == {v: n for v in range(5) if (n := sum(item % 5 == v for item in each))}
    held = Counts(np.arange(len(rows) + 1), (alike % 5).astype(np.int32), alike + 1)
    both, most = (kernel(*where, held, entries, values, 5) for kernel in (add_distinct, most_distinct))
    assert most.tolist() == [
        max(both.counts[start:stop].tolist(), default=0) for start, stop in pairwise(both.indptr.tolist())
    ]
    if many == 31:
        chosen = np.array(data.draw(st.lists(st.booleans(), min_size=3, max_size=3)))
        met = set().union(*(each for each, taken in zip(people, chosen, strict=True) if taken))
        assert items_within(*where, entries, chosen) == len(met)
