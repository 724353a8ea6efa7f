"""The kernel finds words among known words as a dictionary does."""

from __future__ import annotations

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from incrowd.core.kernels.grouping.hashing import KnownWords

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
