"""How many random examples a property is tried with."""

from __future__ import annotations

import os
from typing import Any

from hypothesis import settings

__all__ = ["TIMES", "examples"]

TIMES = int(os.environ.get("INCROWD_EXAMPLES", "1"))
"""The suite tries some examples of each property; `make explore` tries ten times as many."""


def examples(many: int, **others: Any) -> settings:
    """Try so many examples, or the multiple that was asked for: ``@examples(20)`` above ``@given(...)``."""
    return settings(max_examples=many * TIMES, **others)
