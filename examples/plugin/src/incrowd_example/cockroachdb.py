"""CockroachDB, which speaks the protocol of PostgreSQL."""

from __future__ import annotations

from typing import ClassVar

from incrowd.engines.dialects.postgresql import PostgreSQL


class CockroachDB(PostgreSQL):
    """A session of CockroachDB, in PostgreSQL's SQL."""

    title: ClassVar[str] = "CockroachDB"
    scheme: ClassVar[str] = "cockroachdb"
    other_schemes: ClassVar[tuple[str, ...]] = ()
    example: ClassVar[str] = "cockroachdb://user@host/db"
