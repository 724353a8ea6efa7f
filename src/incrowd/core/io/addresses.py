"""Paths of files, distinguished from addresses, and messages without passwords."""

from __future__ import annotations

import errno
import os
import re
import stat
import sys
from pathlib import Path

from incrowd.core.errors import TableError

# A path has lost one of the two slashes; a letter alone is a drive. libpq also takes words and values.
_ADDRESS = re.compile(
    r"(?i)\s*(?:[a-z][a-z0-9+.-]+:)+/|.*://|(?![a-z]:[\\/]).*:/\S*@|.*\bpassword\s*=", re.DOTALL
)
_DEVICE = re.compile(r"(?i)(con|prn|aux|nul|com[0-9]|lpt[0-9])\s*(\..*)?")
"""Names that Windows reserves for devices, with any ending."""
_LOGIN = re.compile(r"([A-Za-z][A-Za-z0-9+.-]+:/{1,2})[^\n]*@")
_PASSWORD = re.compile(r"(?i)(\bpassword\s*=\s*)[^\s&]+")


def looks_like_address(path: object) -> bool:
    """Say whether a text or path is an address of whatever scheme, and not the name of a file."""
    return _ADDRESS.match(str(path)) is not None


def file_path(path: str | os.PathLike[str]) -> Path:
    """Return the path of a file or folder.

    Raises
    ------
    TableError
        When it is an address; the message does not name it, since it may have a password. Also when it holds
        a NUL character, or its name is that of a device of Windows there.
    """
    if looks_like_address(path):
        raise TableError("an address is no file; open a database with ic.Database(address).table(name)")
    if "\0" in os.fspath(path):
        raise TableError("a NUL character is no part of a file's name; look at what wrote the path")
    file = Path(path)
    if sys.platform == "win32" and _DEVICE.fullmatch(file.name):
        raise TableError(f"{file}: is the name of a device on Windows; choose another name")
    return file


def is_pattern(text: str) -> bool:
    """Say whether a path is a pattern, as ``big/*.parquet``."""
    return any(mark in text for mark in "*?[") and not os.path.lexists(text)


def is_scan(path: str | os.PathLike[str]) -> bool:
    """Say whether a path is a folder, or a pattern such as ``big/*.parquet``."""
    text = os.fspath(file_path(path))
    return is_pattern(text) or os.path.isdir(text)


def require_regular(path: Path) -> None:
    """Raise for inputs without a known end, such as pipes, sockets and devices.

    Raises
    ------
    OSError
        For a pipe, a socket or a device, and where there is nothing.
    """
    mode = path.stat().st_mode
    if not stat.S_ISREG(mode) and not stat.S_ISDIR(mode):
        raise OSError(errno.EINVAL, "a pipe, socket or device; save what it gives to a file first")


def read_bytes(path: Path) -> bytes:
    """Read a whole file.

    Raises
    ------
    OSError
        When it cannot be read, or is no regular file.
    """
    require_regular(path)
    return path.read_bytes()


def without_secrets(text: str) -> str:
    """Take users and passwords out of the addresses in a message."""
    return _PASSWORD.sub(r"\1...", _LOGIN.sub(r"\1...@", text))
