"""Which nodes of a lattice the compiled search looks at next, on each of two sides."""

from __future__ import annotations

import numpy as np

from incrowd.core.kernels.jit import compiled, inner
from incrowd.core.kernels.lattice.lattice import choose_nodes
from incrowd.core.kernels.lattice.search_arrays import PLACES

_MANY, ALIVE, COUNTS = range(3)
"""Places in `Choice.counts`: how many nodes were wanted, and how many were open."""

_LOT = 8
"""Nodes that lie near each other and are looked at one after the other, at most."""

_PAYS = 3
"""A node below others pays for itself where so many or more are made of it."""


@compiled
def plan_nodes(choice, nodes, most, shared):
    """Choose the next nodes, few at first, and divide them among two; before them come nodes below several.

    Chosen nodes are parted where they differ most, until lots of few are left. All nodes of a lot go to one
    side, the one with less to do.

    Parameters
    ----------
    choice, nodes
        See `kernels.lattice.search_arrays`; what the plan was before is forgotten.
    most
        How many nodes may be chosen.
    shared
        Whether nodes below several come before them. That is work in vain where most of these are settled
        before their turn comes.

    Returns
    -------
    int
        How many groups will be gone through, roughly.
    """
    counts = choice.counts
    # What is settled stays settled, so the order forgets it.
    alive = 0
    for place in range(counts[ALIVE]):
        node = choice.order[place]
        choice.order[alive] = node
        alive += not nodes.dead[node] and nodes.least[node] < nodes.best[0]
    counts[ALIVE] = alive
    counts[_MANY] = max(min(2 * counts[_MANY], choice.plan.shape[1] // 2), 2)
    many = min(counts[_MANY], most)
    part = np.empty(many, np.int64)
    order, around = choice.order[:alive], choice.around
    chosen = choose_nodes(order, nodes.shape, nodes.strides, around, many, part)
    lot = max(min(_LOT, chosen // 2), 1)
    choice.planned[:] = 0
    work = np.zeros(2, np.int64)
    waiting = np.empty((chosen + 2, 2), np.int64)
    waiting[0, 0] = 0
    waiting[0, 1] = chosen
    left = int(chosen > 0)
    while left > 0:
        left -= 1
        start, stop = waiting[left, 0], waiting[left, 1]
        meet, middle = _divide(part, start, stop, nodes)
        if stop - start > lot and start < middle < stop:
            waiting[left, 0], waiting[left, 1] = start, middle
            waiting[left + 1, 0], waiting[left + 1, 1] = middle, stop
            left += 2
            continue
        side = int(work[1] < work[0])
        work[side] += nodes.fewest[meet] // PLACES * (_PAYS + stop - start) // _PAYS
        _put(part, start, stop, nodes, choice, side, shared)
    return work.sum()


@inner
def _put(part, start, stop, nodes, choice, side, shared):
    """Add a lot to the plan of a side: first nodes below all of it, or below some, then its own."""
    plan = choice.plan[side]
    planned = choice.planned[side]
    waiting = np.empty((stop - start + 2, 2), np.int64)
    waiting[0, 0] = start
    waiting[0, 1] = stop
    left = int(shared)
    while left > 0:
        left -= 1
        first, last = waiting[left, 0], waiting[left, 1]
        if last - first < _PAYS:
            continue
        meet, middle = _divide(part, first, last, nodes)
        plan[planned, 0] = meet
        plan[planned, 1] = last - first
        planned += 1
        if first < middle < last:
            waiting[left, 0], waiting[left, 1] = first, middle
            waiting[left + 1, 0], waiting[left + 1, 1] = middle, last
            left += 2
    for place in range(start, stop):
        plan[planned, 0] = part[place]
        plan[planned, 1] = 0
        planned += 1
    choice.planned[side] = planned


@inner
def _divide(part, start, stop, nodes):
    """Part some nodes where they differ most; return the node below all of them, and the place of the cut."""
    widest = -1.0
    axis = 0
    cut = 0.0
    meet = 0
    for j in range(nodes.shape.size):
        low = nodes.shape[j]
        total = 0.0
        squares = 0.0
        for place in range(start, stop):
            level = part[place] // nodes.strides[j] % nodes.shape[j]
            low = min(low, level)
            total += level
            squares += level * level
        meet += low * nodes.strides[j]
        mean = total / (stop - start)
        spread = (squares / (stop - start) - mean * mean) / max(nodes.shape[j] - 1, 1) ** 2
        if spread > widest:
            widest = spread
            axis = j
            cut = mean
    middle = start
    for place in range(start, stop):
        if part[place] // nodes.strides[axis] % nodes.shape[axis] <= cut:
            other = part[middle]
            part[middle] = part[place]
            part[place] = other
            middle += 1
    return meet, middle


@compiled
def share_nodes(nodes, others):
    """Share the knowledge of two sides about nodes; see `Nodes`."""
    for node in range(nodes.dead.size):
        dead = nodes.dead[node] | others.dead[node]
        nodes.dead[node] = dead
        others.dead[node] = dead
        refused = nodes.refused[node] | others.refused[node]
        nodes.refused[node] = refused
        others.refused[node] = refused
    for node in range(nodes.dead.size):
        least = max(nodes.least[node], others.least[node])
        nodes.least[node] = least
        others.least[node] = least
        fewest = min(nodes.fewest[node], others.fewest[node])
        nodes.fewest[node] = fewest
        others.fewest[node] = fewest
    best = min(nodes.best[0], others.best[0])
    nodes.best[0] = best
    others.best[0] = best
