"""The random numbers of rows as in production; `conftest` gives each row a position instead."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

import pytest

from incrowd.core.io.shuffle import RandomOrder

__all__ = ["rows_in_random_order"]

_NUMBERS = RandomOrder.numbers


@contextmanager
def rows_in_random_order() -> Iterator[None]:
    """Let released rows come in a random order for a while, as in fixtures of a module."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(RandomOrder, "numbers", _NUMBERS)
        yield
