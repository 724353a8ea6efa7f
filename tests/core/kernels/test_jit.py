"""Cores share work, and a part with a core for itself does not wait for the others."""

from __future__ import annotations

import numpy as np

from incrowd.core.kernels import jit
from incrowd.core.kernels.jit import PARALLEL_FROM, at_once, each_on_a_core, over_ranges


def test_ranges_within_work_on_a_core_stay_there(monkeypatch):
    monkeypatch.setenv("INCROWD_THREADS", "2")
    before = np.array([0, PARALLEL_FROM, 2 * PARALLEL_FROM])

    def ranges(_=0):
        return over_ranges(lambda start, stop: (start, stop), before)

    # Eight pieces of work that would wait for two threads, which they have themselves.
    assert each_on_a_core(ranges, range(8)) == [[(0, 2)]] * 8
    assert ranges() == [(0, 1), (1, 2)]


def test_simple_loops_are_left_to_python_until_the_compiler_would_have_been_sooner(monkeypatch):
    monkeypatch.setattr(jit, "_is_loaded", lambda: False)
    monkeypatch.setattr(jit.Kernel, "spent", 0)
    monkeypatch.setattr(jit.Kernel, "by_python", lambda *_: "Python")
    monkeypatch.setattr(jit.Kernel, "__call__", lambda *_: "compiled")
    loop = jit.simple(lambda start, stop: None)

    def run(work):
        return over_ranges(loop, np.array([0, work]))[0]

    assert run(jit.FEW + 1) == "compiled", "one long loop"
    assert [run(jit.FEW) for _ in range(11)] == ["Python"] * 10 + ["compiled"], "many loops together"
    monkeypatch.setattr(jit.Kernel, "spent", 0)
    monkeypatch.setattr(jit, "_is_loaded", lambda: True)
    assert run(1) == "compiled"


def test_shared_tasks_give_their_loops_all_cores_where_there_are_two_for_each(monkeypatch):
    before = np.array([0, PARALLEL_FROM, 2 * PARALLEL_FROM])

    def ranges():
        return over_ranges(lambda start, stop: (start, stop), before)

    def nested():
        return at_once(PARALLEL_FROM, ranges, ranges)

    monkeypatch.setenv("INCROWD_THREADS", "4")
    assert at_once(PARALLEL_FROM, ranges, ranges) == [[(0, 1), (1, 2)]] * 2
    assert at_once(PARALLEL_FROM, nested, nested) == [[[(0, 1), (1, 2)]] * 2] * 2
    assert at_once(PARALLEL_FROM, *[ranges] * 3) == [[(0, 2)]] * 3, "too few cores for all"
    assert each_on_a_core(lambda task: task(), [ranges, ranges]) == [[(0, 2)]] * 2, "not shared"
