"""Texts are put in the order of their bytes."""

from __future__ import annotations

import itertools
import random

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from incrowd.kernels.ordering import order_of_texts

MARKS = "ab\0\x01é€𝄞🙂"


def ordered(texts: list[str]) -> list[str]:
    """Put texts in order; what lies behind the last one does not matter."""
    parts = [text.encode() for text in texts]
    indptr = np.array([0, *itertools.accumulate(map(len, parts))], np.int64)
    order = order_of_texts(np.frombuffer(b"".join(parts) + b"behindit", np.uint8), indptr)
    assert order.dtype == np.int64
    assert sorted(order.tolist()) == list(range(len(texts)))
    return [texts[place] for place in order]


@given(st.lists(st.text(MARKS, max_size=12) | st.text(max_size=30)))
def test_few_texts_are_in_the_order_of_python(texts):
    assert ordered(texts) == sorted(texts)


@given(st.randoms(use_true_random=False), st.sampled_from([0, 3, 7, 8, 9, 31]), st.integers(1, 3))
def test_many_texts_that_begin_alike(drawn: random.Random, longest, beginnings):
    """Many share a word, and the words behind it; some are there twice, and some begin others."""
    begins = ["".join(drawn.choices(MARKS, k=longest)) for _ in range(beginnings)]
    texts = [drawn.choice(begins) + "".join(drawn.choices("ab", k=drawn.randint(0, 14))) for _ in range(300)]
    assert ordered(texts) == sorted(texts)


@pytest.mark.parametrize("size", [1, 5, 40])
@pytest.mark.parametrize("mark", ["\0", "a", "é"])
def test_texts_of_one_character_differ_in_length_alone(size, mark):
    texts = [mark * length for length in range(size)]
    random.Random(1).shuffle(texts)
    assert ordered(texts) == sorted(texts)
    assert ordered(texts * 20) == sorted(texts * 20)


def test_groups_of_texts_that_share_long_beginnings():
    """Runs of several depths, in which the words that differ lie far behind."""
    middle = ["", "x", "longer than a word", "longer than a wore"]
    texts = [f"Street of {part * 3}{number}" for part in middle for number in range(60)]
    texts += [f"{'0' * 100}{number:020}" for number in range(50)] + ["0" * 100, "0" * 99]
    random.Random(2).shuffle(texts)
    assert ordered(texts) == sorted(texts)
