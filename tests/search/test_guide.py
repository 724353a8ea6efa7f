"""Lattices too large for a whole search: nodes are guessed, and the best of the guesses are good."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import polars as pl
import pytest

import incrowd as ic
from crossed import quick
from incrowd.core.hierarchy.builders import Prefix
from incrowd.core.progress import Silent
from incrowd.engines import engine_for
from incrowd.measures.utility import METRICS
from incrowd.search import SearchProblem, optimal
from incrowd.search.lattice import Explorer
from incrowd.search.lattice.guide import Guide
from incrowd.search.lattice.proof import Proof

ROWS = 2000


def problem(limit: float, seed: int = 0) -> SearchProblem:
    """Make a table of nine columns of three digits, skewed and some dependent, with 4 ** 9 nodes."""
    random = np.random.default_rng(7)
    common = random.integers(0, 3, ROWS)
    columns = {}
    for place in range(9):
        digits = np.minimum(random.geometric(0.45 + 0.05 * place, (ROWS, 3)), 4)
        digits += common[:, None] if place % 3 == 0 else 0
        columns[f"q{place}"] = ["".join(str(digit) for digit in row) for row in digits]
    schema = ic.Schema(quasi={name: ic.Attribute(name, "quasi", hierarchy=Prefix()) for name in columns})
    frequency = engine_for(pl.DataFrame(columns)).count(schema).frequency
    return SearchProblem(frequency, [ic.KAnonymity(4)], schema.quasi, limit, seed=seed)


@pytest.fixture
def from_the_top(monkeypatch):
    monkeypatch.setattr(optimal, "_ENUMERATED", 1)


@pytest.mark.slow
@pytest.mark.parametrize("limit", quick([0.0, 0.1], 0.0))
def test_few_nodes_are_enough_for_the_optimum(monkeypatch, limit):
    whole = ic.Optimal().search(problem(limit)).lattice
    assert whole.proved
    assert whole.size == 4**9
    monkeypatch.setattr(optimal, "_ENUMERATED", 1)
    for seed in range(3):
        some = ic.Optimal(budget="600").search(problem(limit, seed)).lattice
        assert len(some.nodes) <= 601
        assert some.best.score == pytest.approx(whole.best.score, rel=1e-9)


@pytest.mark.slow
@pytest.mark.parametrize(("limit", "worse"), [(0.1, 0.003), (1.0, 0.02)])
def test_without_guesses_the_same_budget_is_not_enough(monkeypatch, from_the_top, limit, worse):
    """Otherwise the test above would not show an effect of guesses."""
    guided = ic.Optimal(budget="600").search(problem(limit)).lattice.best.score
    monkeypatch.setattr(Guide, "of_explorer", classmethod(lambda cls, explorer: None))
    # What proves the bound finds good nodes, too.
    monkeypatch.setattr(Proof, "of_explorer", classmethod(lambda cls, explorer, deadline: None))
    assert ic.Optimal(budget="600").search(problem(limit)).lattice.best.score > guided + worse


@pytest.mark.few(3)
@pytest.mark.parametrize("aggregate", ["mean", "geometric-mean", "max"])
@pytest.mark.parametrize("metric", ["loss", "precision", "non-uniform-entropy"])
def test_what_is_guessed_of_a_share_is_near_what_it_costs(metric, aggregate):
    search = problem(1.0)
    explorer = Explorer(search, METRICS.get(metric)(), aggregate)
    nodes = [node for node in explorer.look((2,) * 9, (3, 2, 2) * 3, (2, 3, 3) * 3) if node.anonymous]
    assert len(nodes) == 3
    levels = np.array([node.levels for node in nodes])
    shares = np.array([node.suppressed / ROWS for node in nodes])
    assert explorer.guess(levels, shares) == pytest.approx([node.score for node in nodes], abs=0.1)
    # Without suppression nothing is left to guess.
    assert explorer.guess(levels, np.zeros(len(nodes))) == pytest.approx(
        [explorer.least_scores()[explorer.lattice.node(node.levels)] for node in nodes]
    )


def test_metrics_of_classes_are_searched_without_guesses(from_the_top):
    explorer = Explorer(problem(0.1), METRICS.get("discernibility")())
    assert Guide.of_explorer(explorer) is None
    space = ic.Optimal("discernibility", budget="300").search(problem(0.1)).lattice
    assert len(space.nodes) <= 301
    assert space.best.anonymous


@pytest.mark.slow
def test_a_seed_gives_one_search_and_threads_none(monkeypatch, from_the_top):
    result = {}
    for seed, threads in ((0, "1"), (0, "2"), (1, "1")):
        monkeypatch.setenv("INCROWD_THREADS", threads)
        space = ic.Optimal(budget="200").search(problem(0.1, seed)).lattice
        result[seed, threads] = [node.levels for node in space.nodes]
    assert result[0, "1"] == result[0, "2"]
    assert result[0, "1"] != result[1, "1"]


def test_a_lattice_of_one_node_has_nothing_to_guess(from_the_top):
    frame = pl.DataFrame({"q": ["11", "12", "21", "22"] * 3})
    schema = ic.Schema(quasi={"q": ic.Attribute("q", "quasi", hierarchy=Prefix(), levels=(1, 1))})
    asked = SearchProblem(engine_for(frame).count(schema).frequency, [ic.KAnonymity(3)], schema.quasi, 0.1)
    space = ic.Optimal().search(asked).lattice
    assert space.best.levels == (1,)


def test_progress_is_told_from_the_first_nodes_on(from_the_top):
    """Chains of guesses come first, and on a large table the guesses take seconds."""
    told = []

    class Telling(Silent):
        def advance(self, done, total):
            told.append(done / total)

    ic.Optimal(budget="60").search(replace(problem(0.1), progress=Telling()))
    assert len(told) > 30
    assert told == sorted(told)
    assert told[0] < 0.5 < told[-1]
