"""Databases, a file and a line each.

A line below is all that a new database needs: addresses, `--help`, the studio, the verifier and the contract
tests read the rest from its class.
"""

from __future__ import annotations

from incrowd.core.plugins import plugin_classes
from incrowd.engines.dialects.base import Dialect

# One line an entry, in the order in which they are listed everywhere.
# isort: off
from incrowd.engines.dialects.postgresql import PostgreSQL as PostgreSQL
from incrowd.engines.dialects.sqlite import SQLite as SQLite
from incrowd.engines.dialects.duckdb import DuckDB as DuckDB
from incrowd.engines.dialects.mysql import MySQL as MySQL
from incrowd.engines.dialects.snowflake import Snowflake as Snowflake
# isort: on

__all__ = ["DIALECTS"]

_OWN = [each for each in list(globals().values()) if isinstance(each, type) and hasattr(each, "scheme")]

DIALECTS: tuple[type[Dialect], ...] = (
    *_OWN,
    *plugin_classes("incrowd.dialects", Dialect, _OWN, lambda each: {each.scheme, *each.other_schemes}),
)
"""Every database, including the databases of other packages."""
