"""The proof of a search in a huge lattice: no permitted node scores less than the bound."""

from __future__ import annotations

import numpy as np
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

import incrowd as ic
from examples import examples
from incrowd.core.hierarchy.builders import Prefix
from incrowd.engines import engine_for
from incrowd.measures.utility import METRICS
from incrowd.search import SearchProblem, optimal
from incrowd.search.lattice import Explorer
from incrowd.search.lattice.lattice import Budget
from incrowd.search.lattice.proof import Proof
from lattice_reading import every_node, schema, tables

MODELS = [
    [ic.KAnonymity(2)],
    [ic.KAnonymity(4)],
    [ic.KAnonymity(2), ic.LDiversity(2, attribute="s")],
    [ic.KAnonymity(2), ic.TCloseness(0.3, attribute="s")],
]


def searched(monkeypatch, problem, *chosen, **further):
    monkeypatch.setattr(optimal, "_ENUMERATED", 1)
    return ic.Optimal(*chosen, **further).search(problem).lattice


def proof_of(frame, asked, models, limit, metric="loss", aggregate="mean") -> Proof:
    frequency = engine_for(frame).count(asked).frequency
    problem = SearchProblem(frequency, models, asked.quasi, limit)
    explorer = Explorer(problem, METRICS.get(metric)(), aggregate)
    proof = Proof.of_explorer(explorer, Budget().begin())
    assert proof is not None
    return proof


@examples(25)
@given(
    frame=tables(),
    models=st.sampled_from(MODELS),
    limit=st.sampled_from([0.0, 0.1, 0.35, 1.0]),
    metric=st.sampled_from(["loss", "precision", "non-uniform-entropy"]),
    aggregate=st.sampled_from(["mean", "geometric-mean"]),
    weights=st.tuples(*[st.sampled_from([0, 1, 2.5])] * 3).filter(any),
    levels=st.tuples(*[st.sampled_from([None, (0, 1), (1, 2), (1, 1)])] * 3),
)
def test_the_bound_is_never_above_the_optimum(frame, models, limit, metric, aggregate, weights, levels):
    given_to = {
        name: {"weight": weight, "levels": bounds}
        for name, weight, bounds in zip("tuv", weights, levels, strict=True)
    }
    roles = schema(**given_to)
    expected = every_node(frame, roles, models, limit, metric, aggregate)
    proof = proof_of(frame, roles, models, limit, metric, aggregate)
    least = min(expected.values(), default=np.inf)
    while (node := proof.step()) is not None:
        assert proof.bound <= least
        assert node.anonymous == (node.levels in expected)
    assert proof.bound <= least
    if expected and len(models) == 1:
        # Nothing is left to prove under models of sizes: the bound is the optimum, or it ends at stars.
        assert proof.is_least(least) or proof._explorer.may_be_starred(proof._explorer.lattice.top)


@pytest.mark.parametrize("aggregate", ["mean", "geometric-mean"])
def test_a_lattice_of_one_node_is_proved_at_once(aggregate):
    frame = pl.DataFrame({"t": ["b1"] * 4 + ["b2"], "u": ["x1"] * 5, "v": ["2"] * 5, "s": "p", "r": "k"})
    roles = schema(**{name: {"levels": (1, 1)} for name in "tuv"})
    proof = proof_of(frame, roles, [ic.KAnonymity(5)], 0.5, "loss", aggregate)
    nodes = [proof.step() for _ in range(2)]
    assert nodes[0] is not None
    assert nodes[1] is None
    assert proof.is_least(nodes[0].score)


def digits(rows: int, columns: int) -> tuple[pl.DataFrame, ic.Schema]:
    """Make skewed columns of three digits, with four levels each."""
    random = np.random.default_rng(11)
    frame = pl.DataFrame(
        {
            f"q{j}": ["".join(map(str, row)) for row in np.minimum(random.geometric(0.5, (rows, 3)), 4)]
            for j in range(columns)
        }
    )
    return frame, ic.Schema(
        quasi={name: ic.Attribute(name, "quasi", hierarchy=Prefix()) for name in frame.columns}
    )


def counted(limit: float, seed: int = 0) -> SearchProblem:
    frame, asked = digits(400, 5)
    return SearchProblem(
        engine_for(frame).count(asked).frequency, [ic.KAnonymity(4)], asked.quasi, limit, seed=seed
    )


@pytest.mark.few(2)
@pytest.mark.parametrize("aggregate", ["mean", "geometric-mean"])
@pytest.mark.parametrize("limit", [0.0, 0.1])
def test_gap_closes_after_a_part_of_the_nodes(monkeypatch, limit, aggregate):
    whole = ic.Optimal(aggregate=aggregate).search(counted(limit)).lattice
    assert whole.proved
    space = searched(monkeypatch, counted(limit), aggregate=aggregate, budget="400")
    assert space.best.score == pytest.approx(whole.best.score, rel=1e-9)
    assert space.bound <= whole.best.score
    assert space.gap < 0.001
    assert len(space.nodes) < space.size / 2
    assert searched(monkeypatch, counted(limit), aggregate=aggregate, budget="400").nodes == space.nodes


def test_bound_rises_with_the_budget(monkeypatch):
    bounds = [searched(monkeypatch, counted(0.1), budget=str(nodes)).bound for nodes in (100, 120, 200)]
    assert 0 < bounds[0] <= bounds[1] < bounds[2]


@pytest.mark.parametrize(("metric", "aggregate"), [("loss", "max"), ("discernibility", "mean")])
def test_nothing_is_proved_where_losses_are_no_sum(metric, aggregate):
    assert (
        Proof.of_explorer(Explorer(counted(0.1), METRICS.get(metric)(), aggregate), Budget().begin()) is None
    )
