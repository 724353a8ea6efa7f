"""Linked tables of a window: a folder of tables, their policy in the making, and the release of them all."""

from __future__ import annotations

import os
import shlex
import tomllib
from collections.abc import Callable, Mapping, Sequence
from copy import deepcopy
from pathlib import Path
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any

from incrowd.core.io.targets import INTERNAL
from incrowd.core.lazy import pl
from incrowd.core.progress import Cancelled
from incrowd.engines import loaded
from incrowd.faces.studio.choices import DRAFTED, Choices, groups_of
from incrowd.faces.studio.tables import Source, called, option_words, packed
from incrowd.faces.studio.values import most_frequent, refuse_prompts
from incrowd.release.linked import LinkedPolicy, LinkedRelease, LinkedTable, anonymize_linked
from incrowd.release.linked.folders import draft_of, has_linked_tables
from incrowd.release.linked.policy import is_linked, linked_tables
from incrowd.release.linked.tables import tables_by_name

if TYPE_CHECKING:
    from incrowd.core.progress import Progress
    from incrowd_gate.points import Accepted

_RELEASED = "released"


class LinkedTables:
    """Tables about the same people, which are released together.

    Attributes
    ----------
    source
        The folder of their files.
    choices, chosen
        The policy in the making; its columns are called ``TABLE.COLUMN``.
    frames
        The first rows of each table, the people first.
    release
        The release under the current choices, if any.
    reasons
        What is typed so far into the fields of points.
    """

    columns = ()
    """No column gets the form of sets, which are for one table."""

    def __init__(self, source: Source, choices: Choices, place: Callable[[str], Path]) -> None:
        self.source, self.choices, self.chosen, self.place = source, choices, choices, place
        self.release: LinkedRelease | None = None
        self.reasons: dict[str, str] = {}
        with called(source.path, source.name):
            tables = tables_by_name(source.path, SimpleNamespace(tables=self.tables))
            frames = {name: loaded(table) for name, table in tables.items()}
        self.height = {name: frame.height for name, frame in frames.items()}
        self.frames: dict[str, pl.DataFrame] = {name: frame.head(DRAFTED) for name, frame in frames.items()}

    @property
    def tables(self) -> list[LinkedTable]:
        """The tables as the choices name them, while columns may still be open."""
        return linked_tables(self.chosen.document)

    def joined(self, table: str) -> dict[str, str]:
        """Return the columns of a table that hold keys of another, each with the column of the keys."""
        return next(dict(each.join) for each in self.tables if each.name == table)

    def cells(self, name: str) -> pl.Series:
        """Return the first raw cells of a column ``TABLE.COLUMN``, under a name that is no pattern."""
        table, _, column = name.partition(".")
        return self.frames[table][column].alias("cells")

    def distribution(self, name: str) -> list[tuple[str, int]]:
        """Count the records of a column by value, of the raw table."""
        return most_frequent(self.cells(name), self.chosen.columns[name]) or [("no rows", 0)]

    def is_edited(self, _: Any) -> bool:
        """Say whether a hierarchy was edited on this page, which none of several tables can be."""
        return False

    def policy(self, document: Mapping[str, Any] | None = None) -> LinkedPolicy:
        """Read the choices as a policy."""
        choices = self.chosen.document if document is None else document
        policy = LinkedPolicy.from_dict(choices, self.chosen.folder, "the choices of this page")
        refuse_prompts(policy.terms.schema)
        return policy

    def lacking_keys(self) -> list[dict[str, Any]]:
        """Return the treatments whose key is in a variable that the environment of the studio lacks."""
        treats = [each.get("treat") for each in self.chosen.columns.values()]
        keys = [each for each in treats if isinstance(each, dict) and "key" in each]
        return [x for x in keys if str(x["key"]).startswith("env:") and x["key"][4:] not in os.environ]

    def changed(self) -> None:
        """Forget the release under the choices before."""
        self.release = None

    def anonymize(self, progress: Progress) -> LinkedRelease:
        """Make the release of all tables together."""
        document = deepcopy(self.chosen.document)
        policy, folder = self.policy(document), self.source.path
        with called(folder, self.source.name):
            release = anonymize_linked(folder, policy, progress=progress, unanswered="write")
        if document != self.chosen.document:
            raise Cancelled  # The choices changed meanwhile, and this is no release under them.
        self.release = release
        return release

    def accept(self, answers: Sequence[Accepted], _: Sequence[dict[str, str]] = ()) -> bool:
        """Accept points in the policy, and in the existing release."""
        accepted = self.chosen.document.setdefault("accepted", [])
        accepted.extend(answer.to_dict() for answer in answers)
        if self.release is not None:
            self.release = self.release.accepting(answers)
        return True

    def archive(self, progress: Progress) -> tuple[Path, str]:
        """Write all tables and their public documents, and return the archive with a name."""
        assert self.release is not None
        self.release.verdict.refuse()
        folder = self.place("")
        folder.mkdir(0o700)
        saved = folder / _RELEASED
        with called(saved, _RELEASED):
            self.release.save(saved, progress=progress)
        progress.stage("pack")
        inside = [file for file in saved.rglob("*") if not file.is_relative_to(saved / INTERNAL)]
        return packed(folder / f"{_RELEASED}.zip", inside)

    def command(self) -> str:
        """Return the command line that makes the release again, beside the policy file."""
        options = option_words({"policy": "policy.toml", "output": _RELEASED})
        return shlex.join(["incrowd", "anonymize", self.source.name, *options])


def is_linked_source(source: Source, given: Mapping[str, Any] | None) -> bool:
    """Say whether a folder is one of linked tables: a given policy or its files say so."""
    return source.path.is_dir() and (is_linked(given or {}) or has_linked_tables(source.path))


def open_tables(
    source: Source, given: tuple[dict[str, Any], Path] | None, name: str | None, place: Callable[[str], Path]
) -> LinkedTables:
    """Open the tables of a folder, with a given policy of linked tables, or a draft as by ``incrowd init``.

    Raises
    ------
    InputError
        When no table joins another, or a file is absent or cannot be read.
    """
    if given is not None and is_linked(given[0]):
        document, folder, origin = deepcopy(given[0]), given[1].parent, f"from {name}"
    else:
        with called(source.path, source.name):
            draft = draft_of(source.path)
        document, folder = tomllib.loads(draft.text), place("")
        origin = "drafted from the names and values of the columns, as incrowd init does"
        for file, tree in draft.hierarchies.items():
            (folder / file).parent.mkdir(0o700, parents=True, exist_ok=True)
            tree.write(folder / file)
        remarks = [*draft.notes, *(f"left out, as nothing joins it: {each}" for each in draft.left_out)]
        origin = "; ".join([origin, *remarks])
    return LinkedTables(source, Choices(document, folder, origin, {}, {}, groups_of(document)), place)
