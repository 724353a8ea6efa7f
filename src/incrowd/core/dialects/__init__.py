"""Databases: one file and one line each.

A line below is all that a new database needs: addresses, `--help`, the studio, the verifier and the contract
tests read the rest from its class.
"""

from __future__ import annotations

from incrowd.core.dialects.base import Dialect

# One line an entry, in the order in which they are listed everywhere.
# isort: off
from incrowd.core.dialects.postgresql import PostgreSQL as PostgreSQL
from incrowd.core.dialects.sqlite import SQLite as SQLite
from incrowd.core.dialects.duckdb import DuckDB as DuckDB
from incrowd.core.dialects.mysql import MySQL as MySQL
from incrowd.core.dialects.snowflake import Snowflake as Snowflake
# isort: on

__all__ = ["DIALECTS"]

DIALECTS: tuple[type[Dialect], ...] = tuple(
    each for each in list(globals().values()) if isinstance(each, type) and hasattr(each, "scheme")
)
"""Every database."""
