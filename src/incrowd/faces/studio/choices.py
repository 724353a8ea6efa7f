"""The choices of a window: a policy file in the making, given or drafted."""

from __future__ import annotations

import tomllib
from collections.abc import Mapping, Sequence
from copy import deepcopy
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

from incrowd.core.errors import named
from incrowd.core.io.files import CsvFormat, note_names_of_line, was_read
from incrowd.core.io.streams import Files
from incrowd.core.lazy import pl
from incrowd.core.table.schema import OPEN_ROLE
from incrowd.engines import first_rows
from incrowd.faces.studio.tables import Source
from incrowd.release.policy.policy import Policy

if TYPE_CHECKING:
    from incrowd.release.jobs.compare.draft import Draft

_MADE = "the choices of this page"
DRAFTED = 100_000
"""Rows that a draft looks at."""


@dataclass(frozen=True)
class Choices:
    """A policy file in the making, as plain data, and the file's origin.

    Attributes
    ----------
    document
        What a policy file holds; the page changes it.
    folder
        Where the hierarchy files are that it names.
    origin
        Where it came from, in words.
    reasons
        Why each column has its role, and its recipe; of a draft.
    ways
        How the numbers or dates of a column may be written, where its texts do not tell; of a draft.
    together
        Questions about several columns that look alike, each with its columns.
    telling
        Pairs of columns of which the first tells the second; of a draft.
    lists
        The sign between the items of each column whose cells look like lists; of a draft.
    """

    document: dict[str, Any]
    folder: Path
    origin: str
    reasons: Mapping[str, str]
    ways: Mapping[str, list[dict[str, str]]]
    together: Mapping[str, Sequence[str]]
    telling: Sequence[tuple[str, str]] = ()
    lists: Mapping[str, str] = field(default_factory=dict)

    def policy(self) -> Policy:
        """Read the choices as a policy."""
        return Policy.from_dict(self.document, self.folder, _MADE)

    @property
    def columns(self) -> dict[str, dict[str, Any]]:
        """The columns with settings."""
        return cast("dict[str, dict[str, Any]]", self.document["columns"])

    @property
    def models(self) -> list[dict[str, Any]]:
        """The models with settings."""
        return cast("list[dict[str, Any]]", self.document.setdefault("models", []))

    @property
    def algorithm(self) -> dict[str, Any]:
        """The algorithm with parameters."""
        return cast("dict[str, Any]", self.document.setdefault("algorithm", {}))

    def having(self, *roles: str) -> list[str]:
        """Name the columns of some roles."""
        return [name for name, settings in self.columns.items() if settings["role"] in roles]


def choices_for(
    whole: pl.DataFrame | Files,
    height: int,
    source: Source,
    csv_format: CsvFormat | None,
    given: tuple[dict[str, Any], Path, str] | None,
    folder: Path,
) -> Choices:
    """Take the given policy where the policy fits, else draft a policy.

    Parameters
    ----------
    given
        The policy as plain data, its path, and how its owner calls it.
    folder
        Where files of a drafted policy are.
    """
    from incrowd.release.jobs.compare.draft import draft_policy

    rows = first_rows(whole, DRAFTED)
    table = rows.head(DRAFTED)
    if was_read(rows):
        note_names_of_line(table)
    of = "" if height <= DRAFTED else f" in the first {DRAFTED:,} rows"
    origin = f"drafted from the names and values of the columns{of}, as incrowd init does"
    if given is not None:
        document, path, called = given
        unknown = [name for name in document["columns"] if name not in table.columns]
        if not unknown:
            document = deepcopy(document)
            groups = groups_of(document)
            return Choices(document, path.parent, f"from {called}", {}, {}, groups)
        origin = f"drafted, since this table lacks {named(unknown, 5)} of {called}"
    labels = None if csv_format is None else csv_format.labels
    codes = None if csv_format is None else csv_format.missing_codes
    draft = draft_policy(table, source.name, labels=labels, missing_codes=codes)
    document = tomllib.loads(draft.text)
    groups_of(document)
    if not draft.having("sensitive"):
        # The page offers this model as soon as a column is called sensitive.
        document["models"] = [each for each in document["models"] if each["model"] != "l-diversity"]
    together = {each.text: each.names for each in draft.questions if each.mark != OPEN_ROLE}
    lists = {guess.name: guess.lists for guess in draft.guesses if guess.lists}
    return Choices(document, folder, origin, _reasons(draft), _ways(draft), together, draft.telling, lists)


def groups_of(document: dict[str, Any]) -> dict[str, list[str]]:
    """Return columns with a common question in a policy file, and make each a question of a single column."""
    groups: dict[str, list[str]] = {}
    for name, settings in document["columns"].items():
        mark = str(settings.get("role"))
        if mark.startswith(OPEN_ROLE) and mark != OPEN_ROLE:
            settings["role"] = OPEN_ROLE
            groups.setdefault(f"Columns of question {mark}", []).append(name)
    return groups


def _reasons(draft: Draft) -> dict[str, str]:
    return {
        guess.name: guess.reason + (f"; {guess.recipe}" if guess.recipe else "") for guess in draft.guesses
    }


def _ways(draft: Draft) -> dict[str, list[dict[str, str]]]:
    return {guess.name: [way.settings() for way in guess.ways] for guess in draft.guesses if guess.ways[1:]}
