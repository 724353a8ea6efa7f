"""Groups of nodes that are kept where there is no room for all."""

from __future__ import annotations

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from examples import examples
from incrowd.core.kernels.lattice.search_arrays import EVERY, PLACES, Kept, Nodes
from incrowd.core.kernels.lattice.search_kept import make_room

SHAPE = (3, 2, 4)
LEVELS = np.array(list(np.ndindex(SHAPE)))
PLACES_OF_ONE, GROUPS_OF_ONE, KEYS = 6, 40, 10


def kept_by(side: int, random: np.random.Generator, arrays: tuple[np.ndarray, ...]) -> Kept:
    """Keep groups of some nodes, until a number of places or groups is in use."""
    kept = Kept(*arrays, np.array([side, side + 1, 0, 0]) * PLACES_OF_ONE)
    kept.free[2:] = side * GROUPS_OF_ONE, (side + 1) * GROUPS_OF_ONE
    for _ in range(random.integers(PLACES_OF_ONE + 1)):
        size, place, start = int(random.integers(1, KEYS + 1)), kept.free[0], kept.free[2]
        if start + size > kept.free[3]:
            break
        kept.nodes[place], kept.sizes[place], kept.start[place] = random.integers(len(LEVELS)), size, start
        kept.keys[start : start + size] = random.integers(0, 1000, size)
        kept.weights[start : start + size] = random.integers(0, 1000, size)
        kept.free[0], kept.free[2] = place + 1, start + size
    return kept


def places_of(side: int, kept: Kept) -> range:
    return range(side * PLACES_OF_ONE, int(kept.free[0]))


def groups_of(place: int, kept: Kept) -> tuple[int, list[int], list[int]]:
    """Return what is kept at a place: the node, keys and records."""
    part = slice(kept.start[place], kept.start[place] + kept.sizes[place])
    return int(kept.nodes[place]), kept.keys[part].tolist(), kept.weights[part].tolist()


def fewest(sides: list[Kept]) -> np.ndarray:
    """Find of each node what it is best made of, by looking at all that is kept."""
    found = np.full(len(LEVELS), KEYS * PLACES + EVERY)
    for side, kept in enumerate(sides):
        for place in places_of(side, kept):
            above = (LEVELS[kept.nodes[place]] <= LEVELS).all(axis=1)
            found[above] = np.minimum(found[above], kept.sizes[place] * PLACES + place)
    return found


@examples(100)
@given(seed=st.integers(0, 10_000), side=st.integers(0, 1))
def test_what_most_open_nodes_are_made_of_stays_and_the_rest_is_forgotten(seed, side):
    random = np.random.default_rng(seed)
    arrays = tuple(np.zeros(2 * GROUPS_OF_ONE, np.int64) for _ in range(2))
    arrays += tuple(np.zeros(2 * PLACES_OF_ONE, np.int64) for _ in range(3))
    sides = [kept_by(number, random, arrays) for number in range(2)]
    strides = np.array([8, 4, 1])
    dead, least = random.random(len(LEVELS)) < 0.3, random.random(len(LEVELS))
    one, two = (
        Nodes(np.array(SHAPE), strides, dead, least, np.array([0.8]), fewest(sides), np.zeros(24, np.bool_))
        for _ in range(2)
    )
    kept, other = sides[side], sides[1 - side]
    before = [
        [groups_of(place, kept) for place in places_of(number, kept)] for number, kept in enumerate(sides)
    ]
    made = one.fewest[~dead & (least < 0.8)] % PLACES
    uses = {place: int((made == place).sum()) for place in places_of(side, kept)}
    full = kept.free[3] - kept.free[2] < KEYS or kept.free[0] == kept.free[1]
    make_room(kept, other, one, two, KEYS)
    after = [
        [groups_of(place, kept) for place in places_of(number, kept)] for number, kept in enumerate(sides)
    ]
    assert after[1 - side] == before[1 - side]
    assert one.fewest.tolist() == two.fewest.tolist() == fewest(sides).tolist()
    if not full:
        assert after == before
        return
    # The best is what most open nodes are made of for each of its groups; of equals the first.
    stay: list[int] = []
    worth = {place: uses[place] / len(before[side][number][1]) for number, place in enumerate(uses)}
    first = side * PLACES_OF_ONE
    for place in sorted(uses, key=lambda place: (-worth[place], place)):
        size = len(before[side][place - first][1])
        groups = sum(len(before[side][other - first][1]) for other in stay)
        if uses[place] and groups + size <= GROUPS_OF_ONE / 2 and len(stay) < PLACES_OF_ONE / 2:
            stay.append(place)
    assert after[side] == [before[side][place - first] for place in sorted(stay)]
