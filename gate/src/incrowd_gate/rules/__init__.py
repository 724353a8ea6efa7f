"""The rules of the verdict: a list of functions that return the points of any release.

A rule is a function of a `Release`. It counts nothing itself: it asks for distinct values, counts and an
even sample of rows, and words a point where the figures are beyond a limit. So a release has the same points
whoever looks at it, wherever its rows are.
"""

from __future__ import annotations

from collections.abc import Iterable

from incrowd_gate.points import Accepted, Point, answered
from incrowd_gate.rules.columns import Release
from incrowd_gate.rules.dependencies import points_of_dependencies
from incrowd_gate.rules.identity import points_of_identifiers
from incrowd_gate.rules.labels import points_of_labels
from incrowd_gate.rules.people import points_of_people
from incrowd_gate.rules.suppression import points_of_losses, points_of_models
from incrowd_gate.rules.texts import points_of_texts
from incrowd_gate.rules.values import points_of_values

RULES = (
    points_of_values, points_of_texts, points_of_identifiers, points_of_people, points_of_models,
    points_of_dependencies, points_of_labels, points_of_losses,
)  # fmt: skip
"""Every rule, one line each."""


def points_of(release: Release, answers: Iterable[Accepted] = ()) -> tuple[Point, ...]:
    """Return all points of a release in the order of kinds, with the reasons of answers."""
    return answered([point for rule in RULES for point in rule(release)], answers)
