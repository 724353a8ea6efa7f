"""Private temporary folders, removed by the next run if the process was killed."""

from __future__ import annotations

import contextlib
import os
import re
import secrets
import shutil
import stat
import tempfile
import time
import weakref
from collections.abc import Callable, Iterator
from pathlib import Path

from filelock import lock_descriptor

from incrowd.core.io.publishing import waiting
from incrowd_gate.scratch import LOCK, clear

_NAME = re.compile(r"\.?incrowd-[0-9a-f]{12}\.tmp")
_TRIES = 5


class PrivateFolder:
    """A folder private to the user, removed by `remove` or with the last object that needs the folder.

    A lock on a file in it is held as long as its process lives, so that others can tell a folder in use from
    one whose process was killed.

    Parameters
    ----------
    parent
        Where it stands, hidden; the system's folder for temporary files by default.

    Attributes
    ----------
    path
        The folder, of mode 0700.
    """

    def __init__(self, parent: Path | None = None) -> None:
        if parent is None:
            remove_dead(Path(tempfile.gettempdir()))
            self.path, lock = _create(Path(tempfile.gettempdir()), "incrowd-")
        else:
            self.path, lock = _create(parent, ".incrowd-")
        self._end = weakref.finalize(self, _remove, self.path, lock, os.getpid())

    def remove(self) -> None:
        """Remove the folder and the content."""
        self._end()

    def __enter__(self) -> Path:
        return self.path

    def __exit__(self, *_: object) -> None:
        self.remove()


def remove_dead(parent: Path, before: Callable[[Path], object] | None = None) -> None:
    """Remove the private folders that dead processes of this user left in a folder.

    What a living process holds is left alone, and so is what cannot be locked or belongs to somebody else.

    Parameters
    ----------
    before
        Called with each of them before it goes.
    """
    for folder in _private_folders(parent):
        try:
            lock = os.open(folder / LOCK, os.O_RDWR | getattr(os, "O_NOFOLLOW", 0))
        except FileNotFoundError:
            # Its maker had no time to put anything into it, or sees that it is gone and makes another.
            with contextlib.suppress(OSError):
                folder.rmdir()
                continue
            # The lock comes first. So where there is something, and still no lock, nobody uses it any more.
            if not os.path.lexists(folder / LOCK):
                shutil.rmtree(folder, ignore_errors=True)
            continue
        except OSError:
            continue
        try:
            if not lock_descriptor(lock, blocking=False):
                continue
            if before is not None:
                before(folder)
            clear(folder)
        except OSError:
            continue
        finally:
            os.close(lock)
        shutil.rmtree(folder, ignore_errors=True)  # Windows keeps a file that is open


def user() -> int:
    """Return the user id of this process (Windows: 0, as for every file)."""
    return getattr(os, "geteuid", int)()


def _private_folders(parent: Path) -> Iterator[Path]:
    """List the private folders of this user."""
    try:
        with os.scandir(parent) as entries:
            matches = [entry for entry in entries if _NAME.fullmatch(entry.name)]
    except OSError:
        return
    for entry in matches:
        with contextlib.suppress(OSError):
            status = entry.stat(follow_symlinks=False)
            if stat.S_ISDIR(status.st_mode) and status.st_uid == user():
                yield Path(entry.path)


def _create(parent: Path, prefix: str) -> tuple[Path, int]:
    while True:
        path = parent / f"{prefix}{secrets.token_hex(6)}.tmp"
        path.mkdir(0o700)
        try:
            lock = os.open(path / LOCK, os.O_CREAT | os.O_EXCL | os.O_RDWR, 0o600)
        except BaseException as error:
            with contextlib.suppress(OSError):
                path.rmdir()
            if not isinstance(error, FileNotFoundError):
                raise
            continue  # another run took it for one of a dead process
        # Where a file system knows no locks nobody can take the folder for a dead one's.
        with contextlib.suppress(OSError):
            lock_descriptor(lock)
        with contextlib.suppress(OSError):
            if os.path.samestat(os.fstat(lock), os.stat(path / LOCK)):
                return path, lock
        os.close(lock)


def _remove(path: Path, lock: int, owner: int) -> None:
    # A forked child has a copy of the object and no right to the folder.
    if os.getpid() == owner:
        with waiting():
            for _ in range(_TRIES):
                clear(path)
                if not path.exists():
                    break
                time.sleep(0.01)  # another thread removes a folder of its own below
            os.close(lock)
            shutil.rmtree(path, ignore_errors=True)  # Windows keeps a file that is open
