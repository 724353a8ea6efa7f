"""Attacks that are tried on a release and counted, with a file for each kind."""

from __future__ import annotations

from incrowd.attacks.base import Attack, Rate, wilson
from incrowd.attacks.kinds import ATTACKS
from incrowd.attacks.trying import attack

__all__ = ["KINDS", "Attack", "Rate", "attack", "wilson"]

KINDS = tuple(ATTACKS)
"""Names of the attacks, in the order in which they are tried."""
