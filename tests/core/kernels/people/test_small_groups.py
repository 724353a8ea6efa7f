"""People of groups that may have too few, against sets of people."""

from __future__ import annotations

from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from incrowd.core.kernels.people.people import Entries
from incrowd.core.kernels.people.small_groups import GroupPeople, join_people

KEYS = st.lists(
    st.tuples(st.integers(0, 3), st.lists(st.integers(0, 30), max_size=20), st.integers(0, 2)), max_size=8
)


def listed(people: GroupPeople) -> list[list[int]]:
    """Return the entries under each key."""
    ends = people.entries.indptr.tolist()
    return [people.entries.items[start:stop].tolist() for start, stop in pairwise(ends)]


# With as many possible items as that, each group has a small table; with few, every item has its own slot.
@pytest.mark.parametrize("factor", [1, 69_273_665])
@given(keys=KEYS, least=st.integers(1, 40), twice=st.lists(st.integers(0, 1), min_size=3, max_size=3))
def test_groups_with_too_few_people_list_each_once(
    factor: int, keys: list[tuple[int, list[int], int]], least: int, twice: list[int]
) -> None:
    """Groups of keys list each person of a small group once, and so do groups of groups."""
    alike = np.array([alone for alone, _, _ in keys], np.int64)
    rows = [[item * factor for item in items] for _, items, _ in keys]
    ends = np.cumsum([0, *map(len, rows)]).astype(np.int64)
    items = np.array([item for row in rows for item in row], np.int32)
    people = GroupPeople(alike, Entries(ends, items, 31 * factor))
    ids = [group for _, _, group in keys]
    joined = join_people(np.array(ids, np.int32), 3, people, least)
    again = join_people(np.array(twice, np.int32), 2, joined, least)
    for found, group_of, groups in ((joined, ids, 3), (again, [twice[i] for i in ids], 2)):
        for group in range(groups):
            own = [key for key, number in enumerate(group_of) if number == group]
            alone = sum(int(alike[key]) for key in own)
            others = {item for key in own for item in rows[key]}
            told = listed(found)[group]
            if alone + len(others) >= least:
                assert told == []
                assert found.alike[group] >= least
            else:
                assert sorted(told) == sorted(others)
                assert found.alike[group] == alone


def test_many_groups_are_counted_on_all_cores(monkeypatch: pytest.MonkeyPatch) -> None:
    """Several cores count the same people as a single core."""
    rng = np.random.default_rng(5)
    size = rng.integers(0, 4, 60_000)
    ends = np.concatenate(([0], np.cumsum(size))).astype(np.int64)
    people = GroupPeople(
        rng.integers(0, 2, 60_000), Entries(ends, rng.integers(0, 9, ends[-1]).astype(np.int32), 9)
    )
    ids = rng.integers(0, 20_000, 60_000).astype(np.int32)
    result = []
    for threads in (1, 3):
        monkeypatch.setattr("incrowd.core.kernels.jit.thread_count", lambda threads=threads: threads)
        result.append(join_people(ids, 20_000, people, 6))
    assert np.array_equal(result[0].alike, result[1].alike)
    assert listed(result[0]) == listed(result[1])
    everybody = [set() for _ in range(20_000)]
    alone = np.bincount(ids, people.alike, minlength=20_000)
    for key, group in enumerate(ids.tolist()):
        everybody[group] |= set(people.entries.items[ends[key] : ends[key + 1]].tolist())
    for group, told in enumerate(listed(result[0])):
        enough = alone[group] + len(everybody[group]) >= 6
        assert set(told) == (set() if enough else everybody[group])
