"""The result about a node of the lattice, and the comparison of two."""

from __future__ import annotations

from collections.abc import Iterable
from typing import NamedTuple

SLACK = 1e-12
"""By how much, relatively, a score must be lower to be better: scores are equal but for rounding."""


class Node(NamedTuple):
    """The result about a node that was looked at.

    Attributes
    ----------
    levels
        Level per quasi-identifier.
    anonymous
        Whether every model holds with no more suppression than allowed.
    suppressed
        Records that are suppressed, those suppressed before included; where the node is not anonymous, a
        lower bound.
    classes, smallest
        Number of classes that are kept, and records of the smallest; 0 where the node is not anonymous.
    score
        The metric, lower is better; infinite where the node is not anonymous.
    fails_below
        Whether every node below fails for the same reason.
    bound, floor
        What no node above, and none below, can fall below, for a metric of classes; else 0.
    """

    levels: tuple[int, ...]
    anonymous: bool
    suppressed: int
    classes: int
    smallest: int
    score: float
    fails_below: bool
    bound: float
    floor: float = 0.0


def score_to_beat(best: Node) -> float:
    """Return the limit that a score must stay below to beat the best so far by more than rounding."""
    return best.score - SLACK * max(1.0, abs(best.score))


def score_of_equals(best: Node) -> float:
    """Return the highest score that equals that of the best but for rounding."""
    return 2 * best.score - score_to_beat(best)


def better(node: Node, best: Node | None) -> bool:
    """Say whether a node beats the best so far by more than rounding."""
    return best is None or node.score < score_to_beat(best)


def least(nodes: Iterable[Node]) -> Node | None:
    """Return the node of least score; of scores that are equal but for rounding, the first by levels."""
    good = list(nodes)
    if not good:
        return None
    best = min(good, key=lambda node: node.score)
    return min((node for node in good if not better(best, node)), key=lambda node: node.levels)
