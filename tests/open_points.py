"""Points of a release: most tests pass points without a limit, and tests marked ``gated`` do not."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from incrowd_gate.points import ANSWERABLE
from incrowd_gate.verdict import Verdict

PASSING = {*ANSWERABLE, "nothing-left"}
"""Points that no limit is about; small tables of tests often leave nothing."""
_refuse, _holds = Verdict.refuse, Verdict.holds


def _refuse_limits(verdict: Verdict, *, only_broken: bool = False) -> None:
    left = Verdict(tuple(point for point in verdict.points if point.name not in PASSING), verdict.what)
    _refuse(left, only_broken=only_broken)


def _keeps_limits(verdict: Verdict) -> bool:
    return all(point.name in PASSING for point in (*verdict.broken, *verdict.open))


def let_open_points_pass() -> None:
    """Let releases leave, and hold, if the limits of the policy are met."""
    Verdict.refuse = _refuse_limits  # type: ignore[method-assign]
    Verdict.holds = property(_keeps_limits)  # type: ignore[assignment]


def refused_as_for_users() -> Iterator[None]:
    """Refuse releases with open points for a while, as by default."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(Verdict, "refuse", _refuse)
        patch.setattr(Verdict, "holds", _holds)
        yield
