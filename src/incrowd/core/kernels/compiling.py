"""Who is told that loops are compiled, since the first job takes seconds longer than all others."""

from __future__ import annotations

from collections.abc import Callable

on_compiling: list[Callable[[], None]] = []
"""Called when a loop is compiled because its code is not kept yet."""
