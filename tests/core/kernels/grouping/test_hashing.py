"""The kernel finds words among known words as a dictionary does."""

from __future__ import annotations

from collections import defaultdict

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from incrowd.core.kernels.grouping.hashing import KnownWords, group_with_company

WORDS = st.one_of(st.integers(0, 40), st.integers(0, 2**64 - 1))


@given(st.lists(WORDS, unique=True, max_size=60), st.lists(WORDS, max_size=60), st.randoms())
def test_words_are_found_as_a_dictionary_finds_them(known, others, random):
    numbers = [random.randrange(max(len(known), 1)) for _ in known]
    asked = [*known, *others]
    random.shuffle(asked)
    told = dict(zip(known, numbers, strict=True))
    result = KnownWords(np.array(known, np.uint64), np.array(numbers, np.int32)).find(
        np.array(asked, np.uint64)
    )
    assert result.tolist() == [told.get(word, -1) for word in asked]


@pytest.mark.parametrize("seed", range(20))
def test_groups_of_enough_records_are_kept(seed):
    draw = np.random.default_rng(seed)
    count, least = int(draw.integers(0, 300)), int(draw.integers(1, 6))
    codes = draw.integers(0, draw.choice([2, 5, 2**40]), (4, count))
    columns = draw.permutation(4)[: draw.integers(0, 5)].astype(np.int64)
    rows = np.flatnonzero(draw.random(count) < 0.8)
    weights = draw.integers(1, 4, count)
    kept, ids = np.empty((2, count), np.int64)
    size, groups = group_with_company(codes, columns, rows, weights, least, kept, ids)
    members = defaultdict(list)
    for row in rows.tolist():
        members[tuple(codes[columns, row].tolist())].append(row)
    large = [group for group in members.values() if weights[group].sum() >= least]
    assert groups == len(large)
    assert dict(zip(kept[:size].tolist(), ids[:size].tolist(), strict=True)) == {
        row: number for number, group in enumerate(large) for row in group
    }
    assert kept[:size].tolist() == sorted(kept[:size].tolist())
