"""The second, independent implementation, `incrowd_verify`, with the databases that only incrowd reaches."""

from __future__ import annotations

from typing import Any

from incrowd.engines.dialects import DIALECTS
from incrowd.engines.dialects.addresses import Address
from incrowd.engines.dialects.base import Dialect
from incrowd_gate.points import Accepted, Point
from incrowd_gate.verdict import Verdict
from incrowd_verify import (
    ClauseResult,
    Finding,
    PeopleFound,
    Verification,
    checks_as_sql,
    clauses_of,
    verify,
)
from incrowd_verify.count_tables import verify_tables
from incrowd_verify.databases import OTHERS, OWN, Database

__all__ = [
    "Accepted",
    "ClauseResult",
    "Finding",
    "PeopleFound",
    "Point",
    "Verdict",
    "Verification",
    "checks_as_sql",
    "clauses_of",
    "verify",
    "verify_tables",
]


def _database(dialect: type[Dialect]) -> Database:
    def connect(url: str) -> Any:
        return dialect.connect(url if dialect.server else Address(url).path)

    return Database(dialect.scheme, lambda url: str(Address(url)), connect, dialect, dialect.server)


OTHERS.update(
    (scheme, _database(each))
    for each in DIALECTS
    if each.scheme not in OWN
    for scheme in (each.scheme, *each.other_schemes)
)
