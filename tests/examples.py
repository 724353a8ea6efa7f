"""How many random examples a property is tried with."""

from __future__ import annotations

import os
from typing import Any

from hypothesis import settings

__all__ = ["examples", "share"]

_SHARE = float(os.environ.get("INCROWD_EXAMPLES", "0.3"))
"""`make test` tries this share of the examples of each property, `make slow` 0.7 of them, `make explore` ten times as many."""


def share(many: int) -> int:
    """How many of so many examples this run tries: one at least."""
    return max(1, round(many * _SHARE))


def examples(many: int, **others: Any) -> settings:
    """Try so many examples, or the share that was asked for: ``@examples(20)`` above ``@given(...)``."""
    return settings(max_examples=share(many), **others)
