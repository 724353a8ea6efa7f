"""Kinds of attacks: one in one file each, listed here."""

from __future__ import annotations

from incrowd.attacks.kind import AttackKind

# One line an entry, in the order in which they are tried and listed everywhere.
# isort: off
# ruff: noqa: PLC0414 - an alias says that the entry is used, by the line below
from incrowd.attacks.singling_out import UNIVARIATE as UNIVARIATE
from incrowd.attacks.singling_out import MULTIVARIATE as MULTIVARIATE
from incrowd.attacks.linkability import LINKABILITY as LINKABILITY
from incrowd.attacks.inference import INFERENCE as INFERENCE
from incrowd.attacks.membership import MEMBERSHIP as MEMBERSHIP
from incrowd.attacks.linkage import LINKAGE as LINKAGE
from incrowd.attacks.order import ORDER as ORDER
from incrowd.attacks.composition import BY_ORDER as BY_ORDER
from incrowd.attacks.composition import COMPOSITION as COMPOSITION
from incrowd.attacks.minimality import MINIMALITY as MINIMALITY
# isort: on

ATTACKS = {each.name: each for each in list(globals().values()) if isinstance(each, AttackKind)}
"""Every kind by its name."""
