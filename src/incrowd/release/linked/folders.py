"""Folders of linked tables: recognition, drafts of their policies, and plain names for files that come in."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from incrowd.core.errors import TableError
from incrowd.release.health import STANDARDS, standard_of
from incrowd.release.jobs.compare.draft_linked import Join, LinkedDraft, draft_linked, has_different_tables

if TYPE_CHECKING:
    from incrowd.release.linked.policy import LinkedTable

_KINDS = (".csv.gz", ".csv", ".tsv", ".parquet", ".pq", ".ndjson")
_LONGEST = 60


def has_linked_tables(folder: Path) -> bool:
    """Say whether a folder has tables of a standard, or several files with different columns."""
    return standard_of(folder) is not None or has_different_tables(folder)


def draft_of(folder: Path, standard: str | None = None) -> LinkedDraft:
    """Draft the policy of the tables of a folder, by a standard where one is named or recognized."""
    name = standard or standard_of(folder)
    return draft_linked(folder) if name is None else STANDARDS[name][1](folder)


def joins_of(tables: Iterable[LinkedTable]) -> list[Join]:
    """Return the join of each table of a policy but that of the people, by its first column."""
    return [
        Join(table.name, column, above, key, 1.0)
        for table in tables
        for column, target in [*table.join.items()][:1]
        for above, _, key in [target.partition(".")]
    ]


def plain_files(names: Sequence[str]) -> list[str]:
    """Return a plain name for each of several files, by which a draft calls their tables.

    Raises
    ------
    TableError
        When a file is of another kind than a draft reads.

    Examples
    --------
    >>> plain_files(["../visits [1].csv", "a/visits-1-.CSV", "<b>.parquet"])
    ['visits-1.csv', 'visits-1-2.csv', 'b.parquet']
    """
    given: list[str] = []
    for name in names:
        ending = next((each for each in _KINDS if name.lower().endswith(each)), None)
        if ending is None:
            raise TableError(
                f"{name}: several tables together are files of these kinds: {', '.join(_KINDS)}; open a file "
                "of another kind alone"
            )
        last = re.split(r"[/\\]", name[: -len(ending)])[-1]
        stem = re.sub(r"[^A-Za-z0-9_]+", "-", last)[:_LONGEST].strip("-") or "table"
        taken = {each.partition(".")[0].lower() for each in given}
        new, number = stem, 2
        while new.lower() in taken:
            new, number = f"{stem}-{number}", number + 1
        given.append(new + ending)
    return given
