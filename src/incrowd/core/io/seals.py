"""Seals of folders, which list the files of a release, and digests, which reveal changes."""

from __future__ import annotations

import hashlib
import os
import re
import stat
import sys
from collections.abc import Sequence
from pathlib import Path

from incrowd.core.errors import TableError

_SEAL = "_incrowd-files-"
"""Begins the name of an empty file that says which files a folder was written with.

It is empty and its name begins with an underscore, so that no reader takes it for a part of the table.
"""
_SHOWN = 3
_LONGEST_PATH = 260
"""Characters of a path that Windows does not take, unless long paths are switched on."""


def reason(error: BaseException) -> str:
    """Say in a few words why something could not be written."""
    if isinstance(error, OSError) and error.strerror:
        if sys.platform == "win32" and isinstance(error, PermissionError):
            return f"{error.strerror}; another program, as Excel, may have it open: close it there"
        if sys.platform == "win32" and len(str(error.filename or "")) >= _LONGEST_PATH:
            return f"{error.strerror}; the path is longer than Windows takes: choose a shorter one"
        return error.strerror
    # Polars tells the number alone.
    match = re.search(r"os error (\d+)", str(error))
    return os.strerror(int(match[1])) if match else f"the system refused it, {type(error).__name__}"


def is_seal(name: str) -> bool:
    """Say whether a file name is that of a seal."""
    return name.startswith(_SEAL)


def refuse_strangers(folder: Path, title: str) -> None:
    """Raise for a folder with files that no earlier release wrote.

    Raises
    ------
    TableError
        Which names what is in the way.
    """
    try:
        refuse_other_files(_list_files(folder), title)
    except OSError as error:
        raise TableError(f"{title}: cannot be read ({reason(error)})") from None


def refuse_other_files(files: Sequence[tuple[str, int]], title: str) -> None:
    """Raise where the files of a folder, by name and size, differ from the seal (see `refuse_strangers`)."""
    seals = [name for name, _ in files if is_seal(name)]
    rest = [entry for entry in files if not is_seal(entry[0])]
    if seals == [seal_of(rest)]:
        return
    if not seals:
        raise TableError(
            f"{title}: holds files that no release wrote ({_first([name for name, _ in rest])}); "
            "choose another name"
        )
    for strangers in ([e for e in rest if not e[0].startswith("part-")], *([entry] for entry in rest)):
        if seals == [seal_of([entry for entry in rest if entry not in strangers])]:
            raise TableError(
                f"{title}: beside the files of a release it holds {_first([name for name, _ in strangers])}; "
                "move that, or choose another name"
            )
    raise TableError(
        f"{title}: its files are not those that a release wrote, some were added, changed or removed; "
        "choose another name"
    )


def seal(folder: Path) -> None:
    """Put a seal into a folder, listing the files in the folder's seal name."""
    # That of the whole says what those of its parts would.
    for old in list(folder.rglob(f"{_SEAL}*")):
        old.unlink()
    (folder / seal_of(_list_files(folder))).touch(0o600)


def seal_of(files: Sequence[tuple[str, int]]) -> str:
    """Return the name of the seal file for the files of a folder, by name and size."""
    lines = "".join(f"{name}\0{size}\n" for name, size in sorted(files))
    return _SEAL + hashlib.sha256(lines.encode("utf-8", "surrogateescape")).hexdigest()[:32]


def _list_files(folder: Path) -> list[tuple[str, int]]:
    """List the content of a folder at any depth, with sizes (folders: -1, links and the like: -2)."""
    entries = []
    for root, folders, files in os.walk(folder):
        for name in (*folders, *files):
            path = os.path.join(root, name)
            status = os.lstat(path)
            size = (
                status.st_size if stat.S_ISREG(status.st_mode) else -1 if stat.S_ISDIR(status.st_mode) else -2
            )
            entries.append((Path(path).relative_to(folder).as_posix(), size))
    return entries


def _first(names: list[str]) -> str:
    names = sorted(names)
    more = f" and {len(names) - _SHOWN} more" if len(names) > _SHOWN else ""
    return ", ".join(names[:_SHOWN]) + more


def digest_of(path: Path) -> str:
    """Return the SHA-256 of a file in hexadecimal, or for a folder the SHA-256 of a list of files.

    The list has a line per file, in the order of the names: the file's own digest, two blanks, and its path
    below the folder with ``/``. This is what ``sha256sum`` prints. Seals and hidden files are left out.
    """
    if path.is_file():
        with path.open("rb") as file:
            return hashlib.file_digest(file, "sha256").hexdigest()
    names = sorted(each.relative_to(path).as_posix() for each in path.rglob("*") if each.is_file())
    content = [name for name in names if not (is_seal(Path(name).name) or Path(name).name.startswith("."))]
    lines = "".join(f"{digest_of(path / name)}  {name}\n" for name in content)
    return hashlib.sha256(lines.encode()).hexdigest()
