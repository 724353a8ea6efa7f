"""Engines: where the rows live. An engine counts rows and applies a recoding to them, nothing else."""

from __future__ import annotations

from incrowd.engines.base import Engine, engine_for, loaded, read_classes, with_population
from incrowd.engines.memory import MemoryEngine

__all__ = ["ENGINES", "Engine", "MemoryEngine", "engine_for", "loaded", "read_classes", "with_population"]

ENGINES: tuple[type[MemoryEngine], ...] = (MemoryEngine,)
"""Every engine, asked in this order whether it takes a table."""
