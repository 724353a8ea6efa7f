"""Sorting inside kernels, since NumPy's sort takes a second to compile for each type."""

from __future__ import annotations

from incrowd.core.kernels.jit import inner

_FEW = 16
"""Largest number of values for insertion sort."""


@inner
def sort_run(values, start, stop):
    """Sort ``values[start:stop]`` in place by insertion sort or heapsort."""
    if stop - start <= _FEW:
        _insert(values, start, stop)
        return
    count = stop - start
    for root in range(count // 2 - 1, -1, -1):
        _sift_down(values, start, root, count)
    for last in range(count - 1, 0, -1):
        largest = values[start]
        values[start] = values[start + last]
        values[start + last] = largest
        _sift_down(values, start, 0, last)


@inner
def _insert(values, start, stop):
    for i in range(start + 1, stop):
        value = values[i]
        j = i - 1
        while j >= start and values[j] > value:
            values[j + 1] = values[j]
            j -= 1
        values[j + 1] = value


@inner
def _sift_down(values, start, root, count):
    """Move the root of a subtree down until no child is larger."""
    value = values[start + root]
    child = 2 * root + 1
    while child < count:
        if child + 1 < count and values[start + child] < values[start + child + 1]:
            child += 1
        if values[start + child] <= value:
            break
        values[start + root] = values[start + child]
        root = child
        child = 2 * root + 1
    values[start + root] = value
