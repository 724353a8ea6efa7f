"""Engines: where rows live, are counted and are recoded, and nothing else."""

from __future__ import annotations

from incrowd.engines.base import DRIVER_KEYS, Counted, Engine, EngineSettings, Released
from incrowd.engines.files import FilesEngine
from incrowd.engines.fold import TooManyKeysError
from incrowd.engines.memory import MemoryEngine
from incrowd.engines.open import (
    ENGINES,
    engine_for,
    first_rows,
    loaded,
    open_table,
    read_classes,
    with_population,
)
from incrowd.engines.scan import ScanEngine
from incrowd.engines.spark import SparkEngine
from incrowd.engines.sql.engine import SqlEngine
from incrowd.engines.sql.recoded import RecodedTable

__all__ = [
    "DRIVER_KEYS",
    "ENGINES",
    "Counted",
    "Engine",
    "EngineSettings",
    "FilesEngine",
    "MemoryEngine",
    "RecodedTable",
    "Released",
    "ScanEngine",
    "SparkEngine",
    "SqlEngine",
    "TooManyKeysError",
    "engine_for",
    "first_rows",
    "loaded",
    "open_table",
    "read_classes",
    "with_population",
]
