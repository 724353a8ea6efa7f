"""The distinct rows of people, against plain sets: people of few rows, and people of many."""

from __future__ import annotations

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from incrowd.core.kernels.grouping.grouping import group_members
from incrowd.core.kernels.people.person_rows import distinct_rows, first_items, number_items


@given(st.lists(st.tuples(st.integers(0, 5), st.integers(0, 2**63)), max_size=300))
def test_items_are_numbered_class_by_class(pairs):
    group = np.array([pair[0] for pair in pairs], np.int32)
    items = np.array([pair[1] for pair in pairs], np.uint64)
    classes = group_members(group, 6)
    ids = number_items(*classes, items)
    first = first_items(*classes, items)
    # The first of each class and item, class by class, has a number of its own, and larger ones follow.
    assert [pairs[place] for place in first] == sorted(dict.fromkeys(pairs), key=lambda pair: pair[0])
    assert (np.diff(ids[first]) > 0).all()
    assert not len(pairs) or 0 <= ids.min() <= ids.max() < len(pairs)
    assert len(set(zip(pairs, ids.tolist(), strict=True))) == len(first)


@given(st.lists(st.tuples(st.integers(0, 4), st.integers(-1, 5), st.integers(0, 3)), max_size=60))
def test_equal_rows_of_a_person_count_once(rows):
    person, key, value = (np.array([row[j] for row in rows], np.int64) for j in range(3))
    result = distinct_rows(*group_members(person, 5), (key + 1) * 4 + value, key)
    distinct = [(p, k, v) for p, k, v in dict.fromkeys(rows) if k >= 0]
    alone = {one for one in distinct if sum(other[0] == one[0] for other in distinct) == 1}
    assert [rows[place] for place in result.alone] == [one for one in distinct if one in alone]
    assert [rows[place] for place in result.unlike] == [one for one in distinct if one not in alone]
    assert result.nowhere == len(set(rows)) - len(distinct)
