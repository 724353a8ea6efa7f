"""Finding the hierarchy file of each column in a folder."""

from __future__ import annotations

import os
from collections.abc import Iterable
from pathlib import Path

from incrowd.errors import HierarchyError

__all__ = ["SUFFIXES", "find_files"]

SUFFIXES = (".txt", ".csv", ".json", ".yaml", ".yml")


def find_files(folder: str | os.PathLike[str], columns: Iterable[str]) -> dict[str, Path]:
    """Find the hierarchy file of each column that has one.

    A file belongs to a column when its name without suffix is the column's, or ends with ``_`` and the
    column's (``adult_hierarchy_age.csv``). Other files are passed over.

    Raises
    ------
    HierarchyError
        When the folder cannot be read or a column has two files.
    """
    path = Path(folder)
    try:
        files = sorted(child for child in path.iterdir() if child.suffix.lower() in SUFFIXES)
    except OSError as error:
        raise HierarchyError(f"{path}: cannot read the folder of hierarchies ({error.strerror})") from None
    found: dict[str, Path] = {}
    for column in columns:
        exact = [file for file in files if file.stem == column]
        matching = exact or [file for file in files if file.stem.endswith(f"_{column}")]
        if len(matching) > 1:
            names = " and ".join(file.name for file in matching)
            raise HierarchyError(f"{path}: column {column!r} has several hierarchies, {names}; keep one")
        if matching:
            found[column] = matching[0]
    return found
