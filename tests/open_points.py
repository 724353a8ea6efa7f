"""Open points of a release: most tests let those pass that a policy could accept; tests marked ``gated`` do not."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from incrowd.gate.kinds import ANSWERABLE
from incrowd.gate.verdict import Verdict

_refuse, _holds = Verdict.refuse, Verdict.holds


def _refuse_what_nobody_accepts(verdict: Verdict, *, only_broken: bool = False) -> None:
    left = Verdict(tuple(point for point in verdict.points if point.name not in ANSWERABLE), verdict.what)
    _refuse(left, only_broken=only_broken)


def _holds_but_for_answers(verdict: Verdict) -> bool:
    return not verdict.broken and all(point.name in ANSWERABLE for point in verdict.open)


def let_open_points_pass() -> None:
    """Let releases leave, and hold, whatever a policy could accept of them."""
    Verdict.refuse = _refuse_what_nobody_accepts  # type: ignore[method-assign]
    Verdict.holds = property(_holds_but_for_answers)  # type: ignore[assignment]


def refused_as_for_users() -> Iterator[None]:
    """Refuse releases with open points for a while, as it is by default."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(Verdict, "refuse", _refuse)
        patch.setattr(Verdict, "holds", _holds)
        yield
