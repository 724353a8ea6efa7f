"""Boxes of the lattice are written as by a walk over all nodes."""

from __future__ import annotations

from itertools import product

import numba
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from examples import examples
from incrowd.core.kernels.lattice.lattice import fill_box, raise_box


@numba.njit
def filled(values, low, high, strides, value):
    fill_box(values, low, high, strides, value)


@numba.njit
def raised(values, low, high, strides, value):
    raise_box(values, low, high, strides, value)


@st.composite
def boxes(draw):
    """Draw the shape of a lattice and two nodes, the first below the second."""
    shape = draw(st.lists(st.integers(1, 4), min_size=1, max_size=4))
    low = [draw(st.integers(0, count - 1)) for count in shape]
    return shape, low, [draw(st.integers(level, count - 1)) for level, count in zip(low, shape, strict=True)]


@pytest.mark.parametrize(("work", "of_two"), [(filled, lambda _, value: value), (raised, max)])
@examples(40)
@given(box=boxes(), value=st.integers(0, 9), seed=st.integers(0, 99))
def test_a_box_is_written_and_nothing_else(work, of_two, box, value, seed):
    shape, low, high = box
    before = np.random.default_rng(seed).integers(0, 10, shape)
    after = before.copy().reshape(-1)
    strides = np.array([int(np.prod(shape[j + 1 :])) for j in range(len(shape))], np.int64)
    work(after, np.array(low), np.array(high), strides, np.int64(value))
    expected = before.copy()
    for node in product(*(range(bottom, top + 1) for bottom, top in zip(low, high, strict=True))):
        expected[node] = of_two(before[node], value)
    assert after.tolist() == expected.reshape(-1).tolist()
