"""Lower bounds for the nodes below one: each of its classes falls into so many parts, of k records each."""

from __future__ import annotations

import numpy as np

from incrowd.core.kernels.jit import inner
from incrowd.core.kernels.lattice.lattice import first_run, next_run

_EXACT, _STEPS, _BINS = 64, 8, 384
"""Numbers of parts with a bin of their own, bins for every doubling beyond, and how many bins there are."""

_HOPE = 0.5
"""The share of the best score that a better one to come is not expected to fall below."""


@inner
def raise_below(levels, sums, given, nodes):
    """Raise the lower bounds of the nodes below one, given the sizes of the node's groups.

    At a node below, a group of s records falls into F groups at most: F is the product over the attributes
    of the most cells that one cell falls into. Each group that is kept has k records. So ``min(s // k, F)``
    of them are kept at most, and their squares add up to ``s * s / min(s // k, F)`` at least. Groups are put
    into bins by ``s // k``, so that the sum is at hand for every F: exactly up to 64 parts, and a little less
    sharp beyond.
    """
    costs, limit = given.costs, given.limit
    # Where suppressing records of a class that could be kept might pay, squares bound nothing.
    if not costs.by_class and not 0 < costs.square * limit.rows <= costs.suppressed:
        return
    small, large, most = _in_bins(sums, costs, limit)
    # The more parts, the less is known; so only nodes of few parts are told something that may settle them.
    reach = 1.0
    while reach <= most and _score(reach, small, large, given) >= _HOPE * nodes.best[0]:
        reach = reach + 1.0 if reach < _EXACT else reach * 2.0 ** (1.0 / _STEPS)
    if reach == 1.0:
        return
    if reach > most:
        reach = np.inf
    parts = given.cells.parts
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
                score = _score(min(many, most), small, large, given)
                nodes.least[node] = max(nodes.least[node], score)
        run = next_run(at, low, levels, nodes.strides, run)


@inner
def _score(parts, small, large, given):
    """Return a lower bound of a node's loss if each class falls into so many parts."""
    place = _bin(parts)
    if given.costs.by_class:
        return given.costs.record * given.limit.kept / max(small[place] + parts * large[place], 1.0)
    # What does not fall apart is the node itself.
    return small[place] + large[place] / max(parts, 2.0)


@inner
def _bin(parts):
    """Return the bin of a number of parts: all that begin with it, or that it begins."""
    if parts < _EXACT:
        return int(parts)
    return min(int(_EXACT + _STEPS * np.log2(parts / _EXACT)), _BINS - 1)


@inner
def _in_bins(sums, costs, limit):
    """Add up over groups by bins of the parts that they have room for.

    Returns
    -------
    small, large
        float64[bins + 1]: what the groups of all smaller bins add up to, each in as many parts as it has room
        for; and what those of this bin and of larger ones are to be multiplied with the parts, or divided by.
    most
        The most parts that a group has room for.
    """
    small, large = np.zeros(_BINS + 1), np.zeros(_BINS + 1)
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
    for place in range(_BINS):
        small[place + 1] += small[place]
    for place in range(_BINS - 1, -1, -1):
        large[place] += large[place + 1]
    return small, large, most
