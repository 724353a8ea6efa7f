"""The kernel of Mondrian that joins failing sides of a cut down a hierarchy."""

from __future__ import annotations

import numpy as np

from incrowd.core.kernels.jit import simple


@simple
def merge_failing(start, stop, sides, sizes, holds, groups):
    """Repair cuts down a hierarchy that have a failing side.

    Failing sides are pooled under the ancestor's label; a pool that fails again takes in the smallest
    good side. `sizes` and `holds` have the same index as ``sides.ends``. ``sides.many[p]`` becomes the new
    number of sides: unchanged if all sides hold, 0 for an abandoned cut, else smaller, with the new side of
    each key in `groups`::

        sides   8 holds | 3 fails | 5 holds | 2 fails     ->   8 | 5 | 3 + 2
        next    8 holds | 5 holds | 3 + 2 fails           ->   8 | 5 + 3 + 2
    """
    many, ends, first_end = sides.many, sides.ends, sides.first_end
    widest = 0
    for p in range(start, stop):
        widest = max(widest, many[p])
    side = np.empty(widest, np.int64)
    for p in range(start, stop):
        count = many[p]
        base = first_end[p]
        failing = 0
        for g in range(count):
            if not holds[base + g]:
                failing += 1
        if failing == 0:
            continue
        if sides.binary[p]:
            many[p] = 0
            continue
        pool = 0
        smallest = -1
        for g in range(count):
            if holds[base + g]:
                side[g] = 0
                if smallest < 0 or sizes[base + g] < sizes[base + smallest]:
                    smallest = g
            else:
                side[g] = -1
                pool += 1
        if pool == 1 and smallest >= 0:
            # A single failing side cannot stay alone, whether a child or an earlier pool.
            side[smallest] = -1
            pool += 1
        good = count - pool
        if good < 1:
            many[p] = 0
            continue
        number = 0
        for g in range(count):
            if side[g] == 0:
                side[g] = number
                number += 1
            else:
                side[g] = good
        i = sides.starts[p]
        for g in range(count):
            groups[i : ends[base + g]] = side[g]
            i = ends[base + g]
        many[p] = good + 1
