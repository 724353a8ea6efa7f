"""Which groups of nodes are kept where there is no room for all: those of which most nodes would be made."""

from __future__ import annotations

import numpy as np

from incrowd.core.kernels.jit import compiled, inner
from incrowd.core.kernels.lattice.lattice import lower_box
from incrowd.core.kernels.lattice.search_arrays import EVERY, PLACES


@compiled
def make_room(kept, other, nodes, others, keys):
    """Forget groups that one side keeps until half of its room is free; do nothing where there is room.

    Small groups that many open nodes would be made of stay first.

    Parameters
    ----------
    kept, other
        What that side keeps, and what the other one keeps.
    nodes, others
        What each of both knows of nodes; all is shared.
    keys
        How many keys there are. A node has no more groups, so where these find room, nothing is forgotten.
    """
    next_place, places, start, stop = kept.free
    if start + keys <= stop and next_place < places:
        return
    first = places - kept.start.size // 2
    low = stop - kept.keys.size // 2
    stays = _chosen(kept, nodes, first, low)
    place, start = first, low
    for old in range(first, next_place):
        if stays[old - first]:
            for group in range(kept.sizes[old]):
                # What is moved down overwrites nothing that is still to be moved.
                kept.keys[start + group] = kept.keys[kept.start[old] + group]
                kept.weights[start + group] = kept.weights[kept.start[old] + group]
            kept.nodes[place], kept.sizes[place], kept.start[place] = kept.nodes[old], kept.sizes[old], start
            start += kept.sizes[place]
            place += 1
    kept.free[0], kept.free[2] = place, start
    nodes.fewest[:] = keys * PLACES + EVERY
    _tell(kept, nodes)
    _tell(other, nodes)
    others.fewest[:] = nodes.fewest


@inner
def _chosen(kept, nodes, first, low):
    """Say which of the kept nodes stay: bool[...], from the first on."""
    next_place, places, _, stop = kept.free
    uses = np.zeros(kept.start.size, np.int64)
    for node in range(nodes.dead.size):
        place = nodes.fewest[node] % PLACES
        if place != EVERY and not nodes.dead[node] and nodes.least[node] < nodes.best[0]:
            uses[place] += 1
    worth = uses[first:next_place] / np.maximum(kept.sizes[first:next_place], 1)
    stays = np.zeros(next_place - first, np.bool_)
    groups, held = np.int64(0), 0
    for at in np.argsort(-worth, kind="mergesort"):
        size = kept.sizes[first + at]
        if worth[at] > 0 and 2 * (groups + size) <= stop - low and 2 * (held + 1) <= places - first:
            stays[at] = True
            groups += size
            held += 1
    return stays


@inner
def _tell(kept, nodes):
    """Offer the kept groups of one side to the nodes above them."""
    levels = np.empty(nodes.shape.size, np.int64)
    for place in range(kept.free[1] - kept.start.size // 2, kept.free[0]):
        for j in range(levels.size):
            levels[j] = kept.nodes[place] // nodes.strides[j] % nodes.shape[j]
        lower_box(nodes.fewest, levels, nodes.shape - 1, nodes.strides, kept.sizes[place] * PLACES + place)
