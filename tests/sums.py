"""Sums of floats that would differ between Pythons fail in the test that meets such a sum."""

from __future__ import annotations

import builtins
import sys
from typing import Any

PLAIN = builtins.sum


def watched_sum(iterable: Any, /, start: Any = 0) -> Any:
    """Add up as `sum` does, but refuse the package a sum of floats.

    From Python 3.12 on, `sum` of floats is compensated and rounds otherwise. A figure or a choice that follows
    from it would depend on the Python, so the package takes `math.fsum`.
    """
    total = PLAIN(iterable, start)
    if isinstance(total, float):
        asking = sys._getframe(1).f_globals.get("__name__", "")
        assert not asking.startswith("incrowd."), f"{asking} adds up floats with sum: take math.fsum"
    return total
