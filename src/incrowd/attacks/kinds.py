"""The list of attacks."""

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

ATTACKS = {kind.name: kind for kind in list(globals().values()) if isinstance(kind, AttackKind)}
"""Every kind by its name."""
