"""Moving finished files and folders into place: all or none, and never over something unexpected."""

from __future__ import annotations

import contextlib
import ctypes
import errno
import json
import os
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from secrets import token_hex

from incrowd.core.errors import TableError
from incrowd.core.io.chain import Chain
from incrowd.core.io.publishing import publishing

Identity = tuple[int, int]
"""Device and inode, which identify a file or folder whatever the name."""

_JOURNAL, _RECORD = "steps.json", "record.json"
_NO_REPLACE, _EXCHANGE = 1, 2
"""Flags of Linux's renameat2."""
_NO_LINKS = {errno.EPERM, errno.ENOTSUP, errno.ENOSYS, errno.EMLINK, errno.EXDEV, errno.EINVAL}


class Appeared(Exception):  # noqa: N818 - it says what happened
    """An unexpected file or folder appeared at a target since the work began."""

    def __init__(self, target: Path) -> None:
        super().__init__(target)
        self.target = target


def identity(path: str | os.PathLike[str], *, follow: bool = True) -> Identity | None:
    """Return the device and inode of a path, or None where there is nothing."""
    try:
        status = os.stat(path, follow_symlinks=follow)
    except (OSError, ValueError):
        return None
    return status.st_dev, status.st_ino


@dataclass(frozen=True)
class Step:
    """Move of a file or folder into place.

    Attributes
    ----------
    source
        The written file or folder, in a private folder on the file system of its target.
    target
        Where it belongs.
    number
        Which file it is.
    before
        What is replaced; None where there has to be nothing, or an empty folder.
    check
        Looks at what was replaced, and raises if it has to stay.
    """

    source: Path
    target: Path
    number: Identity
    before: Identity | None = None
    check: Callable[[Path], object] | None = None

    @property
    def aside(self) -> Path:
        """The place where a replaced target waits, if the system cannot exchange two names."""
        return self._beside("before")

    def _beside(self, name: str) -> Path:
        # What was made may have any name.
        return self.source.parent.with_name(f"{self.source.parent.name}-{name}")

    @property
    def done(self) -> bool:
        """Whether the file or folder is in place."""
        return identity(self.target, follow=False) == self.number

    def put(self) -> None:
        """Move the file or folder into place.

        Raises
        ------
        Appeared
            When something else stands there than was there before.
        """
        now = identity(self.target, follow=False)
        if self.before is None or now is None:
            self._put_new()
            return
        if now != self.before:
            raise Appeared(self.target)
        if _exchange(self.source, self.target):
            replaced = self.source
        else:
            os.rename(self.target, self.aside)
            self._put_new()
            replaced = self.aside
        if identity(replaced, follow=False) != self.before:
            raise Appeared(self.target)
        if self.check is not None:
            self.check(replaced)

    def _put_new(self) -> None:
        try:
            if self.source.is_dir():
                # Fails where there is a file, or a folder with something in it.
                try:
                    os.rename(self.source, self.target)
                except FileExistsError:
                    os.rmdir(self.target)  # Windows replaces no folder, not even an empty one
                    os.rename(self.source, self.target)
            else:
                _link(self.source, self.target)
        except OSError as error:
            if error.errno in (errno.EEXIST, errno.ENOTEMPTY, errno.ENOTDIR, errno.EISDIR):
                raise Appeared(self.target) from None
            raise

    def undo(self) -> None:
        """Restore the target's former content."""
        if not self.done:
            if identity(self.aside, follow=False) and identity(self.target, follow=False) is None:
                os.rename(self.aside, self.target)
            return
        others = (None, self.number)
        old = next((p for p in (self.source, self.aside) if identity(p, follow=False) not in others), None)
        if old is not None and _exchange(old, self.target):
            return
        removed = self._beside("undone")
        os.rename(self.target, removed)
        if old is not None:
            os.rename(old, self.target)


class Publication:
    """Finished files and folders, moved into place all or none when called.

    Parameters
    ----------
    steps
        In their order; the last is what the others accompany.
    folders
        The private folders in which they were made; they tell the next run how far a killed one came.
    """

    def __init__(self, steps: Sequence[Step], folders: Sequence[Path]) -> None:
        self._steps, self._folders = steps, folders

    def recorded(self, chain: Path) -> str:
        """Begin a publication that a chain of records documents, and return the mark of the publication.

        From here signals wait; see `publishing`. If the process is killed before the last step, the next run
        takes the record back (`undo_unfinished`).
        """
        with publishing() as block:
            block.hold()
            file, mark = self._steps[-1].source, token_hex(8)
            record = [os.path.abspath(chain), mark, os.fspath(file), _state(file)]
            self._note(_RECORD, record)
            return mark

    def __call__(self) -> None:
        """Move everything into place, or nothing.

        Raises
        ------
        Appeared, OSError
        """
        with publishing() as block:
            block.hold()
            if len(self._steps) > 1 or any(step.before for step in self._steps):
                steps = [[os.fspath(s.source), os.fspath(s.target), s.number, s.before] for s in self._steps]
                self._note(_JOURNAL, steps)
            begun: list[Step] = []
            try:
                for step in self._steps:
                    begun.append(step)
                    step.put()
            except BaseException:
                for step in reversed(begun):
                    step.undo()
                raise
            block.done()
            for path in (folder / name for folder in self._folders for name in (_JOURNAL, _RECORD)):
                # The next run sees that the last step was done.
                with contextlib.suppress(OSError):
                    path.unlink(missing_ok=True)

    def _note(self, name: str, content: object) -> None:
        for folder in self._folders:
            (folder / name).write_text(json.dumps(content), encoding="utf-8", newline="\n")


def _state(path: Path) -> list[int] | None:
    """Return the device, inode and change time of a path, where a rename is a change, too."""
    try:
        status = os.lstat(path)
    except OSError:
        return None
    return [status.st_dev, status.st_ino, status.st_ctime_ns]


def undo_unfinished(folder: Path) -> None:
    """Undo the steps of a process killed before the last step, and take back the record of the steps.

    The record stays where what was made is not as it was: somebody may have got it.

    Parameters
    ----------
    folder
        Its private folder.
    """
    with contextlib.suppress(OSError, ValueError, TypeError, TableError):
        chain, mark, file, state = json.loads((folder / _RECORD).read_text(encoding="utf-8"))
        if _state(Path(file)) == state:
            Chain(Path(chain)).take_back(mark)
    try:
        journal = json.loads((folder / _JOURNAL).read_text(encoding="utf-8"))
        steps = [
            Step(Path(file), Path(target), (number[0], number[1]), None if before is None else tuple(before))
            for file, target, number, before in journal
        ]
    except (OSError, ValueError, TypeError, LookupError):
        return
    if steps and steps[-1].done:
        return
    for step in reversed(steps):
        with contextlib.suppress(OSError):
            step.undo()


def _link(source: Path, target: Path) -> None:
    """Link a file to a name that has to be free."""
    try:
        follow = {"follow_symlinks": False} if os.link in os.supports_follow_symlinks else {}
        os.link(source, target, **follow)
    except OSError as error:
        if error.errno not in _NO_LINKS:
            raise
        if _rename(source, target, _NO_REPLACE):
            return
        # The name is taken first, by whoever comes first.
        os.close(os.open(target, os.O_CREAT | os.O_EXCL | os.O_WRONLY, 0o600))
        try:
            os.replace(source, target)
        except BaseException:
            os.unlink(target)
            raise


def _exchange(source: Path, target: Path) -> bool:
    """Exchange two names at once, or return False where the system cannot."""
    return _rename(source, target, _EXCHANGE)


def _rename(source: Path, target: Path, how: int) -> bool:
    """Rename with flags as only Linux can, or return False where the system cannot."""
    try:
        rename = ctypes.CDLL(None, use_errno=True).renameat2
    except (OSError, AttributeError, TypeError):  # Windows wants the name of a library
        return False
    working_folder = -100  # AT_FDCWD
    if rename(working_folder, os.fsencode(source), working_folder, os.fsencode(target), how) == 0:
        return True
    failed = ctypes.get_errno()
    if failed in (errno.ENOSYS, errno.EINVAL, errno.ENOTSUP, errno.EPERM):
        return False
    raise OSError(failed, os.strerror(failed), os.fspath(target))
