"""Depths, heights and leaf ranges of a tree in depth-first order."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from incrowd.core.kernels import numpy_fallback
from incrowd.core.kernels.jit import compiled, so_few


@compiled
def _shape(parents, last, depths, heights):
    way = np.zeros(parents.size, np.int32)
    for node in range(1, parents.size):
        steps = depths[parents[node]]
        if steps > depths[node - 1] or way[steps] != parents[node]:
            return node
        depths[node] = steps + 1
        way[steps + 1] = node
    for node in range(parents.size - 1, 0, -1):
        parent = parents[node]
        last[parent] = max(last[parent], last[node])
        heights[parent] = max(heights[parent], heights[node] + 1)
    return -1


def shape_of(
    parents: NDArray[np.int32], is_leaf: NDArray[np.bool_]
) -> tuple[NDArray[np.int32], NDArray[np.int32], NDArray[np.int32], int]:
    """Compute depths, heights and covered leaves of all nodes.

    Parameters
    ----------
    parents
        int32[nodes]: the parent of each node, which comes before it; -1 for the root, the first.
    is_leaf
        bool[nodes]: whether a node has no children.

    Returns
    -------
    depths, heights
        int32[nodes]: steps below the root, and steps to the deepest leaf below.
    last
        int32[nodes]: one more than the rank of the last leaf below.
    wrong
        The first node that is not in depth-first order, -1 if all are. The others say nothing then.

    Examples
    --------
    >>> import numpy as np
    >>> parents = np.array([-1, 0, 1, 0], np.int32)
    >>> depths, heights, last, wrong = shape_of(parents, np.array([False, False, True, True]))
    >>> depths.tolist(), heights.tolist(), last.tolist(), wrong
    ([0, 1, 2, 1], [2, 1, 0, 0], [2, 1, 1, 2], -1)
    """
    last = np.cumsum(is_leaf).astype(np.int32)
    return numpy_fallback.shape(parents, last) if so_few(len(parents)) else by_kernel(parents, last)


def by_kernel(
    parents: NDArray[np.int32], last: NDArray[np.int32]
) -> tuple[NDArray[np.int32], NDArray[np.int32], NDArray[np.int32], int]:
    """Compute the shape by the compiled kernel, given the number of leaves up to each node."""
    depths, heights = np.zeros(len(parents), np.int32), np.zeros(len(parents), np.int32)
    wrong = int(_shape(parents, last, depths, heights))
    return depths, heights, last, wrong
