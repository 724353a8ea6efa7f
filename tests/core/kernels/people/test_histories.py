"""People with all classes of somebody, compared with sets."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from incrowd.core.kernels.people.histories import supersets


def listed(sets) -> tuple[np.ndarray, np.ndarray]:
    """Return sets of classes in the form of the kernel."""
    ends = np.cumsum([0, *map(len, sets)]).astype(np.int64)
    return ends, np.array([number for one in sets for number in sorted(one)], np.int64)


def counted(sets, times) -> list[int]:
    return [sum(count for other, count in zip(sets, times, strict=True) if one <= other) for one in sets]


@given(st.integers(1, 12).flatmap(lambda many: st.tuples(st.just(many), st.sets(st.frozensets(st.integers(0, many - 1), min_size=1), max_size=30))), st.data())  # fmt: skip
def test_a_set_is_met_by_itself_and_all_larger_ones(drawn, data):
    many, sets = drawn[0], list(drawn[1])
    times = data.draw(st.lists(st.integers(1, 5), min_size=len(sets), max_size=len(sets)))
    result = supersets(*listed(sets), np.array(times, np.int64), many)
    assert result.tolist() == counted(sets, times)


@pytest.mark.few(1)
@pytest.mark.parametrize("longest", [4, 40])
def test_short_and_long_sets_on_several_cores(longest):
    rng = np.random.default_rng(longest)
    sets = list({frozenset(rng.integers(0, 45, rng.integers(1, longest)).tolist()) for _ in range(3_000)})
    # Each set also as part of a longer one, so that long ones contain some.
    sets = list({*sets, *(one | other for one, other in zip(sets, sets[1:], strict=False))})
    times = rng.integers(1, 4, len(sets))
    sets_as_bits = np.array([sum(1 << number for number in one) for one in sets], np.uint64)
    expected = [int(times[(sets_as_bits & one) == one].sum()) for one in sets_as_bits]
    assert supersets(*listed(sets), times, 45).tolist() == expected
