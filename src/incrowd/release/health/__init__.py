"""Tables of health data by their standards, and drafts of their policies."""

from __future__ import annotations

from pathlib import Path

from incrowd.release.health import fhir, omop

STANDARDS = {"omop": (omop.is_omop, omop.draft_omop), "fhir": (fhir.is_fhir, fhir.draft_fhir)}
"""Every standard, by the name of its option: how a folder is recognized, and how its policy is drafted."""


def standard_of(folder: Path) -> str | None:
    """Return the standard that a folder has tables of, or None.

    Examples
    --------
    >>> from pathlib import Path
    >>> standard_of(Path("docs")) is None
    True
    """
    return next((name for name, (is_there, _) in STANDARDS.items() if is_there(folder)), None)
