"""Importable files of other tools, with a reader for each ending."""

from __future__ import annotations

from collections.abc import Callable
from importlib import import_module
from typing import TYPE_CHECKING, Any

from incrowd.core.errors import TableError
from incrowd.core.io.addresses import file_path

if TYPE_CHECKING:
    import os

    from incrowd.importers.imported import Imported

__all__ = ["IMPORTED", "read_foreign"]

IMPORTED: dict[str, tuple[str, str]] = {
    ".deid": ("arx", "a project of ARX"),
    ".r": ("sdcmicro", "a script of sdcMicro"),
    ".arb": ("argus_batch", "a batch file of tau-ARGUS"),
    ".rda": ("argus", "metadata of mu-ARGUS or tau-ARGUS"),
}
"""Of each ending the module with its `read_project`, and what such a file is."""


def read_foreign(path: str | os.PathLike[str]) -> Imported:
    """Read a file of another tool, recognized by the ending.

    Parameters
    ----------
    path
        A project of ARX (``.deid``), a script of sdcMicro (``.R``), a batch file of tau-ARGUS (``.arb``), or
        metadata of ARGUS (``.rda``).

    Raises
    ------
    TableError
        It is none of these, or cannot be read.
    InputError
        What it asks for contradicts itself.

    Examples
    --------
    >>> read_foreign("study.deid").policy  # doctest: +SKIP
    Policy(9 columns; k-anonymity; optimal)
    """
    file = file_path(path)
    if file.suffix.lower() not in IMPORTED:
        kinds = ", ".join(f"{what} ({ending})" for ending, (_, what) in IMPORTED.items())
        raise TableError(f"{file}: is none of the files that are imported: {kinds}")
    module, _ = IMPORTED[file.suffix.lower()]
    read: Callable[[Any], Imported] = import_module(f"incrowd.importers.{module}").read_project
    return read(file)
