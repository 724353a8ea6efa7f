"""The clauses of a release's profile, as the verifier judges them on the released table."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from incrowd.core.errors import TableError
from incrowd.core.io.scratch import PrivateFolder
from incrowd.release.gate import wording

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from incrowd.release.gate.points import Point
    from incrowd.release.policy.policy import Policy
    from incrowd.verification import ClauseResult


def clause_results(policy: Policy, write: Callable[[Path], None]) -> tuple[ClauseResult, ...]:
    """Write a release into a private folder, and let the verifier judge its clauses there.

    A release that cannot be written as a file, as one in a database, has none here: `verify` judges it.

    Parameters
    ----------
    policy
        Its policy.
    write
        Writes the released table to a path.
    """
    if policy.profile is None and policy.context is None:
        return ()
    # Only a job with a profile loads the verifier.
    from incrowd.verification import clauses_of

    folder = PrivateFolder()
    try:
        write(folder.path / "release.parquet")
        # The files that the profile names lie beside the policy that chose it, and not here.
        replace(policy, profile=None).write(folder.path / "policy.toml")
        return clauses_of(folder.path / "release.parquet", folder.path / "policy.toml", policy.profile)
    except TableError:
        return ()
    finally:
        folder.remove()


def points_of_clauses(policy: Policy, clauses: Sequence[ClauseResult]) -> Iterator[Point]:
    """Return a point for each clause that is not met, or that lacks an answer.

    Parameters
    ----------
    clauses
        The judgement of the clauses of the policy; none where nobody judged them.
    """
    for each in clauses:
        if each.state == "not met":
            yield wording.clause(each.id, each.text, each.detail, unanswered=each.unanswered)
    if not clauses and (policy.profile is not None or policy.context is not None):
        name = "context" if policy.profile is None else policy.profile.profile.full_name
        yield wording.clause(
            name, "Its clauses are judged on a written file.", "verify the release", unanswered=True
        )
