"""How work is shared by cores: what has a core of its own does not wait for the others."""

from __future__ import annotations

import numpy as np

from incrowd.kernels.jit import PARALLEL_FROM, each_on_a_core, over_ranges


def test_ranges_within_work_on_a_core_stay_there(monkeypatch):
    monkeypatch.setenv("INCROWD_THREADS", "2")
    before = np.array([0, PARALLEL_FROM, 2 * PARALLEL_FROM])

    def ranges(_=0):
        return over_ranges(lambda start, stop: (start, stop), before)

    # Eight pieces of work that would wait for two threads, which they have themselves.
    assert each_on_a_core(ranges, range(8)) == [[(0, 2)]] * 8
    assert ranges() == [(0, 1), (1, 2)]
