"""Digests of written files, by which a reader sees that nothing was changed."""

from __future__ import annotations

import hashlib
from pathlib import Path

from incrowd.io.seals import is_seal


def digest_of(path: Path) -> str:
    """Return the SHA-256 of a file in hexadecimal; of a folder that of a list of its files.

    The list has a line per file, in the order of the names: the file's own digest, two blanks, and its path
    below the folder with ``/``. This is what ``sha256sum`` prints. Seals and hidden files are left out.
    """
    if path.is_file():
        with path.open("rb") as file:
            return hashlib.file_digest(file, "sha256").hexdigest()
    names = sorted(each.relative_to(path).as_posix() for each in path.rglob("*") if each.is_file())
    kept = [name for name in names if not (is_seal(Path(name).name) or Path(name).name.startswith("."))]
    lines = "".join(f"{digest_of(path / name)}  {name}\n" for name in kept)
    return hashlib.sha256(lines.encode()).hexdigest()
