"""Crosses of two lists: a part in every run, the rest in ``make slow``."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import pytest

__all__ = ["crossed", "quick"]


def crossed(first: Iterable[Any], second: Iterable[Any]) -> list[Any]:
    """Pair every value of one list with every value of another.

    ``make test`` tries so many pairs that it has each value of both, and ``make slow`` all others.

    Examples
    --------
    >>> [each.values for each in crossed("ab", "xyz") if not each.marks]
    [('a', 'x'), ('a', 'z'), ('b', 'y')]
    """
    one, other = list(first), list(second)
    fast = {(n % len(one), n % len(other)) for n in range(max(len(one), len(other)))}
    return [
        pytest.param(a, b, marks=() if (i, j) in fast else pytest.mark.slow)
        for i, a in enumerate(one)
        for j, b in enumerate(other)
    ]


def quick(values: Iterable[Any], *tried: Any) -> list[Any]:
    """Give values of which ``make test`` tries some, and ``make slow`` all others.

    Examples
    --------
    >>> [each.values for each in quick("abc", "b") if not each.marks]
    [('b',)]
    """
    every = list(values)
    assert all(each in every for each in tried), tried
    return [pytest.param(each, marks=() if each in tried else pytest.mark.slow) for each in every]
