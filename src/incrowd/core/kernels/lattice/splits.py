"""Lower bounds for the nodes below a node, by the parts of k records that each class falls into."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from incrowd.core.kernels.jit import compiled, inner
from incrowd.core.kernels.lattice.lattice import fill_box, first_run, next_run, raise_box

_EXACT, _STEPS, BINS = 64, 8, 384
"""Numbers of parts with a bin of their own, bins for every doubling beyond, and how many bins there are."""

_HOPE = 0.5
"""The share of the best score that a better one to come is not expected to fall below."""


class Nodes(NamedTuple):
    """The nodes of a lattice: which are settled, and lower bounds of all.

    Attributes
    ----------
    shape, strides
        int64[attributes].
    dead
        bool[nodes]: settled.
    least
        float64[nodes]: what a node cannot fall below.
    parts
        float64[attributes, levels, levels]: the most cells of the one level that a cell of the other falls
        into; 1 where there are no such levels.
    """

    shape: NDArray[np.int64]
    strides: NDArray[np.int64]
    dead: NDArray[np.bool_]
    least: NDArray[np.float64]
    parts: NDArray[np.float64]


@compiled
def settle(levels, fails, bounds, rows, bins, best, least_score, nodes):
    """Mark the nodes of a lattice that some settle, and raise the lower bounds of others.

    Parameters
    ----------
    levels
        int64[some, attributes]: how far the nodes are above the bottom.
    fails
        bool[some]: whether those below fail, too.
    bounds
        float64[some, 3]: what no node above, and none below, falls below; and the parts of `put_in_bins`, 0
        where they tell nothing.
    rows, bins
        int64[some]: the row of each in the bins, float64[..., 2, BINS + 1].
    best
        What a score must stay below to beat the best so far.
    least_score
        What is to be divided by the number of classes; 0 where squares are added up.
    nodes
        See `Nodes`; written.
    """
    bottom, top = np.zeros(levels.shape[1], np.int64), nodes.shape - 1
    for at in range(levels.shape[0]):
        node = 0
        for j in range(levels.shape[1]):
            node += levels[at, j] * nodes.strides[j]
        nodes.dead[node] = True
        if fails[at]:
            fill_box(nodes.dead, bottom, levels[at], nodes.strides, True)
        if bounds[at, 0] > 0:
            raise_box(nodes.least, levels[at], top, nodes.strides, bounds[at, 0])
        if bounds[at, 1] > 0:
            raise_box(nodes.least, bottom, levels[at], nodes.strides, bounds[at, 1])
        if bounds[at, 2] > 0:
            small, large = bins[rows[at], 0], bins[rows[at], 1]
            _raise_below(levels[at], small, large, bounds[at, 2], best, least_score, nodes)


@inner
def _raise_below(levels, small, large, most, best, least_score, nodes):
    """Raise the lower bounds of the nodes below a node.

    At a node below, a group of s records falls into F groups at most: F is the product over the attributes
    of the most cells that one cell falls into. Each group that is kept has k records. So ``min(s // k, F)``
    of them are kept at most, and their squares add up to ``s * s / min(s // k, F)`` at least. Groups are put
    into bins by ``s // k``, so that the sum is at hand for every F: exactly up to 64 parts, and a little less
    sharp beyond.
    """
    # The more parts, the less is known; so only nodes of few parts are told something that may settle them.
    reach = 1.0
    while reach <= most and _score(reach, small, large, least_score) >= _HOPE * best:
        reach = reach + 1.0 if reach < _EXACT else reach * 2.0 ** (1.0 / _STEPS)
    if reach == 1.0:
        return
    if reach > most:
        reach = np.inf
    parts = nodes.parts
    low = np.empty(levels.size, np.int64)
    for j in range(levels.size):
        low[j] = levels[j]
        while low[j] > 0 and parts[j, low[j] - 1, levels[j]] < reach:
            low[j] -= 1
    at = np.empty(levels.size, np.int64)
    last = levels.size - 1
    run = first_run(at, low, nodes.strides)
    while run >= 0:
        others = 1.0
        for j in range(last):
            others *= parts[j, at[j], levels[j]]
        for level in range(low[last], levels[last] + 1):
            many = others * parts[last, level, levels[last]]
            if many < reach:
                node = run + level - low[last]
                score = _score(min(many, most), small, large, least_score)
                nodes.least[node] = max(nodes.least[node], score)
        run = next_run(at, low, levels, nodes.strides, run)


@inner
def _score(parts, small, large, least_score):
    """Return a lower bound of a node's loss if each class falls into so many parts."""
    place = _bin(parts)
    if least_score > 0:
        return least_score / max(small[place] + parts * large[place], 1.0)
    # What does not fall apart is the node itself.
    return small[place] + large[place] / max(parts, 2.0)


@inner
def _bin(parts):
    """Return the bin of a number of parts: all that begin with it, or that it begins."""
    if parts < _EXACT:
        return int(parts)
    return min(int(_EXACT + _STEPS * np.log2(parts / _EXACT)), BINS - 1)


@compiled
def put_in_bins(sums, costs, limit, small, large):
    """Add up over groups by bins of the parts that a group has room for.

    Parameters
    ----------
    sums
        int64[groups]: the records of each.
    costs, limit
        See `kernels.lattice.nodes`.
    small, large
        float64[BINS + 1], written: what the groups of all smaller bins add up to, each in as many parts as it
        has room for; and what those of this bin and of larger ones are to be multiplied with the parts, or
        divided by.

    Returns
    -------
    float
        The most parts that a group has room for.
    """
    small[:], large[:] = 0.0, 0.0
    most, gone = 1, 0
    for group in range(sums.size):
        size = sums[group]
        # Most groups of most nodes are small, and a division takes longer than all else.
        if size < limit.least:
            gone += size
            continue
        room = size // limit.least
        most = max(most, room)
        place = _bin(float(room))
        if costs.by_class:
            small[place + 1] += room
            large[place] += 1.0
            continue
        squares = costs.square * float(size) * size
        if room > 1 or 2 * size <= limit.rows:
            small[place + 1] += squares / room
            large[place] += squares
    if not costs.by_class:
        small[1] += costs.suppressed * float(limit.before + gone)
    for place in range(BINS):
        small[place + 1] += small[place]
    for place in range(BINS - 1, -1, -1):
        large[place] += large[place + 1]
    return float(most)
