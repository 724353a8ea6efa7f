"""What two sides of a search do next, and what they tell each other, as plain Python says it."""

from __future__ import annotations

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from examples import examples
from incrowd.core.kernels.lattice.lattice import choose_nodes
from incrowd.core.kernels.lattice.search_arrays import EVERY, PLACES, Choice, Nodes
from incrowd.core.kernels.lattice.search_plan import ALIVE, COUNTS, plan_nodes, share_nodes

SHAPES = st.lists(st.integers(1, 5), min_size=1, max_size=4)


def nodes_of(shape: list[int], seed: int) -> Nodes:
    """Make up what is known of the nodes of a lattice."""
    random = np.random.default_rng(seed)
    size = int(np.prod(shape))
    strides = np.array([int(np.prod(shape[j + 1 :])) for j in range(len(shape))], np.int64)
    return Nodes(
        np.array(shape, np.int64),
        strides,
        random.random(size) < 0.2,
        random.random(size),
        np.array([random.choice([0.8, np.inf])]),
        # A node without groups is no work, and so may leave one side idle; there is none.
        random.integers(1, 1000, size) * PLACES + EVERY,
        random.random(size) < 0.1,
    )


def choice_of(nodes: Nodes, many: int) -> Choice:
    """Make room for a plan of so many nodes."""
    size = nodes.dead.size
    counts = np.zeros(COUNTS, np.int64)
    counts[ALIVE] = size
    around, plan = np.empty((1, size), np.int32), np.full((2, 2 * many, 2), -1, np.int64)
    return Choice(np.argsort(nodes.least), around, plan, np.zeros(2, np.int64), counts)


@examples(60)
@given(
    shape=SHAPES,
    seed=st.integers(0, 99),
    many=st.sampled_from([2, 8, 64]),
    most=st.sampled_from([1, 3, 99]),
    shared=st.booleans(),
)
def test_each_chosen_node_is_planned_once_and_what_lies_below_several_comes_before(
    shape, seed, many, most, shared
):
    nodes = nodes_of(shape, seed)
    choice = choice_of(nodes, many)
    wanted, rounds = 2, 0
    while True:
        still = [
            node
            for node in np.argsort(nodes.least)
            if not nodes.dead[node] and nodes.least[node] < nodes.best[0]
        ]
        expected = np.empty(min(wanted, many, most), np.int64)
        around = np.empty((1, nodes.dead.size), np.int32)
        order = np.array(still, np.int64)
        expected = expected[
            : choose_nodes(order, nodes.shape, nodes.strides, around, len(expected), expected)
        ]
        plan_nodes(choice, nodes, most, shared)
        assert choice.counts[ALIVE] == len(still)
        planned = [choice.plan[side, : choice.planned[side]].tolist() for side in range(2)]
        judged = [node for side in planned for node, served in side if not served]
        assert sorted(judged) == sorted(expected.tolist())
        for side in planned:
            _check_served(side, nodes)
            assert shared or not any(served for _, served in side)
        if not judged:
            break
        assert len(judged) < 2 or all(side for side in planned)
        nodes.dead[judged] = True
        wanted, rounds = 2 * wanted, rounds + 1
    assert rounds or not still


def _check_served(side: list[list[int]], nodes: Nodes) -> None:
    """Check that what is made for so many nodes lies below as many that come after it."""
    for place, (node, served) in enumerate(side):
        if not served:
            continue
        assert 3 <= served <= 8
        following = [other for other, more in side[place:] if not more]
        levels = _levels(np.array(following), nodes)
        above = levels[(levels >= _levels(np.array([node]), nodes)).all(axis=1)]
        assert len(above) >= served


def _levels(numbers: np.ndarray, nodes: Nodes) -> np.ndarray:
    return numbers[:, None] // nodes.strides % nodes.shape


@examples(40)
@given(shape=SHAPES, seed=st.integers(0, 99))
def test_both_sides_know_what_either_knew(shape, seed):
    sides = nodes_of(shape, seed), nodes_of(shape, seed + 1000)
    first, second = (Nodes(*(values.copy() for values in side)) for side in sides)
    share_nodes(first, second)
    expected = {
        "dead": sides[0].dead | sides[1].dead,
        "least": np.maximum(sides[0].least, sides[1].least),
        "best": np.minimum(sides[0].best, sides[1].best),
        "fewest": np.minimum(sides[0].fewest, sides[1].fewest),
        "refused": sides[0].refused | sides[1].refused,
    }
    for name, values in expected.items():
        assert getattr(first, name).tolist() == getattr(second, name).tolist() == values.tolist()
