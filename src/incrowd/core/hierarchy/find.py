"""Finding the hierarchy file of each column in a folder."""

from __future__ import annotations

import os
from collections.abc import Iterable
from pathlib import Path

from incrowd.core.errors import HierarchyError
from incrowd.core.io.addresses import file_path

SUFFIXES = (".txt", ".csv", ".json", ".yaml", ".yml")


def find_files(folder: str | os.PathLike[str], columns: Iterable[str]) -> dict[str, Path]:
    """Return the hierarchy file of each column that has such a file.

    A file belongs to a column if its name without suffix is the column's name, or ends with ``_`` and the
    column's name. Example: ``adult_hierarchy_age.csv`` belongs to ``age``. If the name ends with the names of
    several columns, the longest one counts: ``adult_marital_status.csv`` belongs to ``marital_status``, not
    to ``status``. Other files are passed over.

    Raises
    ------
    HierarchyError
        When the folder cannot be read or a column has two files.
    """
    path = file_path(folder)
    try:
        files = sorted(child for child in path.iterdir() if child.suffix.lower() in SUFFIXES)
    except OSError as error:
        raise HierarchyError(f"{path}: cannot read the folder of hierarchies ({error.strerror})") from None
    names_of_columns = list(columns)
    owner: dict[Path, str] = {}
    for file in files:
        ends = [column for column in names_of_columns if f"_{file.stem}".endswith(f"_{column}")]
        if ends:
            owner[file] = max(ends, key=len)
    matches: dict[str, Path] = {}
    for column in names_of_columns:
        candidates = [file for file, name in owner.items() if name == column]
        matching = [file for file in candidates if file.stem == column] or candidates
        if len(matching) > 1:
            names = " and ".join(file.name for file in matching)
            raise HierarchyError(f"{path}: column {column!r} has several hierarchies, {names}; keep one")
        if matching:
            matches[column] = matching[0]
    return matches
