"""An attacker who knows rows of several tables finds people in raw tables, and not in released ones."""

from __future__ import annotations

import pytest

import incrowd as ic
from incrowd.attacks.linked import joining
from incrowd.core.errors import ParameterError, PolicyError
from linked_readings import draw


@pytest.mark.slow
def test_a_release_leaves_k_people_for_each_guess():
    lone = 0.0
    for seed in (1, 2, 4):
        tables, policy = draw(seed, k=5, people=200, max_suppression=0.9)
        known = min(int(each.known) for each in policy.tables if each.known != "all")
        lone += joining(tables, policy, facts=known, attacks=200).figures["alone"]
        release = ic.anonymize_linked(tables, policy, unanswered="write")
        after = joining(release.tables, policy, facts=known, attacks=200)
        assert after.figures["fewest"] >= 5
        assert after.figures["alone"] == 0
        assert after.main.value < 0.3
        assert after == joining(release.tables, policy, facts=known, attacks=200)
    assert lone > 0


def test_arguments_are_checked():
    with pytest.raises(ParameterError, match="attacks"):
        joining(*draw(0), attacks=1)
    with pytest.raises(PolicyError, match="must be 1"):
        joining(*draw(0), facts=9)
