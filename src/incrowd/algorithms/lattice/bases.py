"""Nodes that lie below several others: grouped once, they save work for each of these."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from incrowd.lazy import np

_FEWEST = 3
"""Nodes that are made of one below them, so that it pays for itself."""


def below_several(
    nodes: Sequence[tuple[int, ...]], shape: Sequence[int]
) -> Iterator[tuple[tuple[int, ...], int]]:
    """Yield nodes below several of those given, and how many are above each; below most comes first.

    Example: of ``(2, 0)``, ``(2, 1)`` and ``(3, 1)`` it yields ``(2, 0), 3``.

    Parameters
    ----------
    shape
        Number of levels per attribute.
    """
    heights = np.maximum(np.array(shape) - 1, 1)
    waiting = [np.array(nodes)]
    while waiting:
        part = waiting.pop()
        if len(part) < _FEWEST:
            continue
        yield tuple(part.min(axis=0).tolist()), len(part)
        axis = int((part / heights).var(axis=0).argmax())
        low = part[:, axis] <= part[:, axis].mean()
        if not low.all():
            waiting += [part[low], part[~low]]
