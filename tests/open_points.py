"""Open points of a release: most tests make it all the same, those marked ``gated`` as users do."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from incrowd.gate.verdict import Verdict

_refuse = Verdict.refuse


def refuse_broken_ones(verdict: Verdict, *, only_broken: bool = True) -> None:
    """Refuse a broken release, whatever the caller asks."""
    _refuse(verdict, only_broken=True)


@contextmanager
def refused_as_for_users() -> Iterator[None]:
    """Refuse releases with open points, as it is by default."""
    before, Verdict.refuse = Verdict.refuse, _refuse  # type: ignore[method-assign]
    try:
        yield
    finally:
        Verdict.refuse = before  # type: ignore[method-assign]
