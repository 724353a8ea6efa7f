"""The permissions of a search are settled before the start."""

from __future__ import annotations

from dataclasses import FrozenInstanceError
from types import SimpleNamespace

import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

import incrowd as ic
from incrowd.engines import engine_for
from incrowd.search import SearchProblem
from incrowd.search.lattice import Budget, Limits, lattice


def problem(rows: int, share: float, gone: int = 0, k: int = 2) -> SearchProblem:
    schema = ic.Schema(quasi={"q": ic.Hierarchy.flat()})
    frequency = engine_for(pl.DataFrame({"q": ["a"] * (rows - gone) + ["*"] * gone})).count(schema).frequency
    return SearchProblem(frequency, [ic.KAnonymity(k)], schema.quasi, share)


@given(rows=st.integers(1, 60), part=st.integers(0, 60), nudge=st.sampled_from([0.0, 1e-9, -1e-9]))
def test_the_share_itself_decides_how_many_records_may_go(rows, part, nudge):
    share = min(max(part / rows + nudge, 0.0), 1.0)
    allowed = Limits.of_problem(problem(rows, share)).allowed
    assert allowed == max(count for count in range(rows + 1) if count / rows <= share)


def test_limits_cannot_be_changed():
    limits = Limits.of_problem(problem(10, 0.5))
    with pytest.raises(FrozenInstanceError):
        limits.allowed = 10
    assert (limits.at_most(2).allowed, limits.at_most(9).allowed, limits.allowed) == (2, 5, 5)


def test_an_algorithm_may_allow_itself_less():
    search = problem(10, 0.9, gone=1, k=3)
    allowed = {
        "optimal": ic.Optimal().limits(search).allowed,
        "bottom-up": ic.BottomUp().limits(search).allowed,
        "datafly": ic.Datafly().limits(search).allowed,
        "datafly, k at most": ic.Datafly(suppress_k=True).limits(search).allowed,
    }
    assert allowed == {"optimal": 9, "bottom-up": 1, "datafly": 9, "datafly, k at most": 4}
    assert not ic.BottomUp().limits(search).suppresses
    # What looks at nodes keeps to that, also where the algorithm tries what an error advises.
    assert ic.BottomUp().explorer(search).limits.allowed == 1


def test_budgets_are_read_once():
    search = problem(10, 0.0)
    budgets = {text: ic.Optimal(budget=text).limits(search).budget for text in ("30s", "2m", "500")}
    assert budgets == {"30s": Budget(seconds=30), "2m": Budget(seconds=120), "500": Budget(nodes=500)}
    assert ic.Optimal().limits(search).budget == Budget()
    assert [Budget(nodes=5).begin().spent(looked) for looked in (4, 5)] == [False, True]
    assert Budget(seconds=0).begin().spent(0)


def test_what_is_spent_of_a_budget_is_what_progress_tells(monkeypatch):
    now = [100.0]
    monkeypatch.setattr(lattice, "time", SimpleNamespace(monotonic=lambda: now[0]))
    by_time, by_nodes = Budget(seconds=20).begin(), Budget(nodes=40).begin()
    assert [Budget().begin().reached(10**9), by_nodes.reached(10)] == [(0, 1000), (250, 1000)]
    now[0] = 115.0
    assert by_time.reached(10**9) == (750, 1000)
    now[0] = 121.0
    assert [by_time.reached(0), by_nodes.reached(41)] == [(1000, 1000)] * 2


def test_as_many_nodes_are_looked_at_at_once_as_there_is_time_for(monkeypatch: pytest.MonkeyPatch) -> None:
    """The past time per node is the guess, a few nodes begin, and a budget of nodes is kept exactly."""
    now = 100.0
    monkeypatch.setattr("incrowd.search.lattice.lattice.time.monotonic", lambda: now)
    deadline = Budget.of_text("10s").begin()
    assert 1 <= deadline.left(0) < 64
    now = 102.0
    # 20 nodes in two seconds: 80 in the eight that are left.
    assert deadline.left(20) == 80
    now = 109.99
    assert deadline.left(20) == 1
    assert Budget.of_text("500").begin().left(480) == 20
    assert Budget().begin().left(10**6) == 2**31
