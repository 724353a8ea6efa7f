"""The clauses of a release's profile, as the verifier judges them on the released table."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from incrowd.errors import TableError
from incrowd.io.scratch import PrivateFolder

if TYPE_CHECKING:
    from collections.abc import Callable

    from incrowd.policy.policy import Policy
    from incrowd.verification import ClauseResult


def judged_clauses(policy: Policy, write: Callable[[Path], None]) -> tuple[ClauseResult, ...]:
    """Write a release into a private folder, and let the verifier judge its clauses there.

    A release that cannot be written as a file, as one in a database, has none here: `verify` judges it.

    Parameters
    ----------
    policy
        Its policy.
    write
        Writes the released table to a path.
    """
    from incrowd.verification import clauses_of

    if policy.profile is None and policy.context is None:
        return ()
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
