"""How many random examples a property is tried with."""

from __future__ import annotations

import os
from typing import Any

from hypothesis import settings

__all__ = ["examples", "share"]

_SHARE = float(os.environ.get("INCROWD_EXAMPLES", "0.3"))
"""The share of a property's examples that is tried: all by `make slow`, 10 times all by `make explore`."""


def share(many: int) -> int:
    """The number of examples that this run tries, at least a single example."""
    return max(1, round(many * _SHARE))


def examples(many: int, **others: Any) -> settings:
    """Try so many examples, or the share that was asked for: ``@examples(20)`` above ``@given(...)``."""
    return settings(max_examples=share(many), **others)
