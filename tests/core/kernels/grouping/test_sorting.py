"""Runs are sorted as NumPy sorts, and cells beside a run stay."""

from __future__ import annotations

import numba
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from incrowd.core.kernels.grouping.sorting import sort_run


@numba.njit
def called(values, start, stop):
    sort_run(values, start, stop)


@pytest.mark.few(1)
@pytest.mark.parametrize("kind", [np.int32, np.int64])
@given(values=st.lists(st.integers(-5, 40) | st.integers(-(2**31), 2**31 - 1), max_size=80), data=st.data())
def test_a_run_is_sorted_in_its_place(kind, values, data):
    start = data.draw(st.integers(0, len(values)))
    stop = data.draw(st.integers(start, len(values)))
    expected = [*values[:start], *sorted(values[start:stop]), *values[stop:]]
    result = np.array(values, kind)
    called(result, start, stop)
    assert result.tolist() == expected
