"""Crosses of two lists, and long lists of cases: a part in every run, the rest in ``make slow``."""

from __future__ import annotations

import zlib
from collections import defaultdict
from collections.abc import Iterable, Iterator
from typing import Any

import pytest

__all__ = ["crossed", "left_to_other_parts", "left_to_the_slow", "quick"]


def crossed(first: Iterable[Any], second: Iterable[Any]) -> list[Any]:
    """Pair every value of a list with every value of another list.

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


def left_to_the_slow(items: Iterable[pytest.Item]) -> Iterator[pytest.Item]:
    """Yield the cases that ``make test`` leaves out where a test says ``@pytest.mark.few(3)``.

    The three cases are spread over the list. They begin where the name of the test says, so that tests of the
    same list try other ones.
    """
    cases = defaultdict(list)
    for item in items:
        few = item.get_closest_marker("few")
        if few is not None and item.get_closest_marker("slow") is None:
            cases[item.nodeid.partition("[")[0], few.args[0]].append(item)
    for (name, most), each in cases.items():
        first = zlib.crc32(name.encode())
        tried = {(first + place * len(each) // most) % len(each) for place in range(most)}
        yield from (item for place, item in enumerate(each) if place not in tried)


def left_to_other_parts(items: Iterable[pytest.Item], part: str) -> list[pytest.Item]:
    """Return the tests that a run of a single part, as ``2/5``, leaves to the other parts.

    A case of a list is in one part. A test without cases, and one in a browser, is in two parts that follow each
    other. A test stays in its parts whatever else is there.
    """
    number, parts = map(int, part.split("/"))
    assert 1 <= number <= parts, part
    left = []
    for item in items:
        case = "[" in item.name and "browser" not in getattr(item, "fixturenames", ())
        own = zlib.crc32(item.nodeid.encode()) % parts
        if (number - 1 - own) % parts >= (1 if case else 2):
            left.append(item)
    return left
