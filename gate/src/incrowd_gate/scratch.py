"""A private folder for copies that verify makes; the next run removes the folder of a killed run.

Names and locks are those of the private folders of all other commands. So the next run of any command removes
the folders of dead processes and keeps the others.
"""

from __future__ import annotations

import contextlib
import os
import re
import secrets
import shutil
import stat
import tempfile
import weakref
from pathlib import Path

from filelock import lock_descriptor

_NAME = re.compile(r"incrowd-[0-9a-f]{12}\.tmp")
LOCK = "lock"


class PrivateFolder:
    """A folder of mode 0700 among the temporary files, locked as long as the process lives.

    It goes at the end of a ``with`` block, which it gives the path to, or when the process ends.
    """

    def __init__(self) -> None:
        parent = Path(tempfile.gettempdir())
        _remove_dead(parent)
        self._path, lock = _make_folder(parent)
        self._end = weakref.finalize(self, _remove, self._path, lock, os.getpid())

    def __enter__(self) -> Path:
        return self._path

    def __exit__(self, *_: object) -> None:
        self._end()


def _make_folder(parent: Path) -> tuple[Path, int]:
    while True:
        path = parent / f"incrowd-{secrets.token_hex(6)}.tmp"
        path.mkdir(0o700)
        # Another run may take the folder for a dead one's until it is locked.
        with contextlib.suppress(FileNotFoundError):
            lock = os.open(path / LOCK, os.O_CREAT | os.O_EXCL | os.O_RDWR, 0o600)
            # Where a file system knows no locks nobody can take it for one either.
            with contextlib.suppress(OSError):
                lock_descriptor(lock)
            with contextlib.suppress(OSError):
                if os.path.samestat(os.fstat(lock), os.stat(path / LOCK)):
                    return path, lock
            os.close(lock)


def _remove_dead(parent: Path) -> None:
    """Remove the folders of this user with a lock that nobody holds."""
    with contextlib.suppress(OSError):
        for name in filter(_NAME.fullmatch, os.listdir(parent)):
            with contextlib.suppress(OSError):
                status = (parent / name).lstat()
                # Windows has no numbers of users: every file has 0.
                user = getattr(os, "geteuid", int)()
                if stat.S_ISDIR(status.st_mode) and status.st_uid == user:
                    _remove_if_dead(parent / name)


def _remove_if_dead(folder: Path) -> None:
    try:
        lock = os.open(folder / LOCK, os.O_RDWR | getattr(os, "O_NOFOLLOW", 0))
    except FileNotFoundError:
        with contextlib.suppress(OSError):
            folder.rmdir()  # killed before it held anything
        # The lock comes first: where there is something, and still no lock, nobody uses it any more.
        if not os.path.lexists(folder / LOCK):
            shutil.rmtree(folder, ignore_errors=True)
        return
    try:
        if not lock_descriptor(lock, blocking=False):
            return
        clear(folder)
    finally:
        os.close(lock)
    shutil.rmtree(folder, ignore_errors=True)  # Windows keeps a file that is open


def clear(folder: Path) -> None:
    """Remove a folder, the lock last, by which the next run finds the folder of a killed run."""
    with contextlib.suppress(OSError):
        for name in os.listdir(folder):
            if name != LOCK:
                shutil.rmtree(folder / name, ignore_errors=True)
                (folder / name).unlink(missing_ok=True)
    shutil.rmtree(folder, ignore_errors=True)


def _remove(path: Path, lock: int, owner: int) -> None:
    # A forked child has a copy of the object and no right to the folder.
    if os.getpid() == owner:
        try:
            clear(path)
        finally:
            os.close(lock)
            shutil.rmtree(path, ignore_errors=True)  # Windows keeps a file that is open; Ctrl-C may come
