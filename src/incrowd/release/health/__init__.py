"""Tables of health data by their standards, and drafts of their policies."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from incrowd.release.health.omop import draft_omop, is_omop

if TYPE_CHECKING:
    from incrowd.release.jobs.compare.draft_linked import LinkedDraft


class Standard(NamedTuple):
    """A standard: how a folder of it is recognized, and how its policy is drafted."""

    is_there: Callable[[Path], bool]
    draft: Callable[[Path], LinkedDraft]


STANDARDS = {"omop": Standard(is_omop, draft_omop)}
"""Every standard, by the name of its option."""


def standard_of(folder: Path) -> str | None:
    """Return the standard that a folder has tables of, or None.

    Examples
    --------
    >>> from pathlib import Path
    >>> standard_of(Path("docs")) is None
    True
    """
    return next((name for name, each in STANDARDS.items() if each.is_there(folder)), None)
