"""Putting finished files and folders in their places: all or none, and never over something unexpected."""

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
"""Device and inode: which file or folder it is, whatever its name."""

_JOURNAL, _RECORD = "steps.json", "record.json"
_NO_REPLACE, _EXCHANGE = 1, 2
"""What renameat2 of Linux can do at once."""
_NO_LINKS = {errno.EPERM, errno.ENOTSUP, errno.ENOSYS, errno.EMLINK, errno.EXDEV, errno.EINVAL}


class Appeared(Exception):  # noqa: N818 - it says what happened
    """Something stands at a place that was not there when the work began."""

    def __init__(self, target: Path) -> None:
        super().__init__(target)
        self.target = target


def identity(path: str | os.PathLike[str], *, follow: bool = True) -> Identity | None:
    """Say which file or folder a path leads to, None where there is none."""
    try:
        status = os.stat(path, follow_symlinks=follow)
    except (OSError, ValueError):
        return None
    return status.st_dev, status.st_ino


@dataclass(frozen=True)
class Step:
    """One file or folder on its way.

    Attributes
    ----------
    made
        Where it was made, in a private folder on the file system of its target.
    target
        Where it belongs.
    number
        Which file it is.
    before
        What is replaced; None where there has to be nothing, or an empty folder.
    check
        Looks at what was replaced, and raises if it has to stay.
    """

    made: Path
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
        return self.made.parent.with_name(f"{self.made.parent.name}-{name}")

    @property
    def done(self) -> bool:
        """Whether it stands in its place."""
        return identity(self.target, follow=False) == self.number

    def put(self) -> None:
        """Put it in its place.

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
        if _exchanged(self.made, self.target):
            found = self.made
        else:
            os.rename(self.target, self.aside)
            self._put_new()
            found = self.aside
        if identity(found, follow=False) != self.before:
            raise Appeared(self.target)
        if self.check is not None:
            self.check(found)

    def _put_new(self) -> None:
        try:
            if self.made.is_dir():
                # Fails where there is a file, or a folder with something in it.
                try:
                    os.rename(self.made, self.target)
                except FileExistsError:
                    os.rmdir(self.target)  # Windows replaces no folder, not even an empty one
                    os.rename(self.made, self.target)
            else:
                _link(self.made, self.target)
        except OSError as error:
            if error.errno in (errno.EEXIST, errno.ENOTEMPTY, errno.ENOTDIR, errno.EISDIR):
                raise Appeared(self.target) from None
            raise

    def undo(self) -> None:
        """Give the target back its former content."""
        if not self.done:
            if identity(self.aside, follow=False) and identity(self.target, follow=False) is None:
                os.rename(self.aside, self.target)
            return
        others = (None, self.number)
        old = next((p for p in (self.made, self.aside) if identity(p, follow=False) not in others), None)
        if old is not None and _exchanged(old, self.target):
            return
        taken = self._beside("undone")
        os.rename(self.target, taken)
        if old is not None:
            os.rename(old, self.target)


class Publication:
    """Files and folders that are finished. Called, it puts all of them in their places, or nothing.

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
        """Begin a publication that a chain of records has a record of; return the mark that this gets.

        From here signals wait; see `publishing`. If the process is killed before the last step, the next run
        takes the record back (`undo_unfinished`).
        """
        with publishing() as block:
            block.hold()
            made, mark = self._steps[-1].made, token_hex(8)
            record = [os.path.abspath(chain), mark, os.fspath(made), _state(made)]
            self._note(_RECORD, record)
            return mark

    def __call__(self) -> None:
        """Put everything in its place, or nothing.

        Raises
        ------
        Appeared, OSError
        """
        with publishing() as block:
            block.hold()
            if len(self._steps) > 1 or any(step.before for step in self._steps):
                steps = [[os.fspath(s.made), os.fspath(s.target), s.number, s.before] for s in self._steps]
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
    """Return which file or folder a path leads to and when it last changed: a new name is a change, too."""
    try:
        status = os.lstat(path)
    except OSError:
        return None
    return [status.st_dev, status.st_ino, status.st_ctime_ns]


def undo_unfinished(folder: Path) -> None:
    """Undo the steps of a process that was killed before the last, and take back the record of them.

    The record stays where what was made is not as it was: somebody may have got it.

    Parameters
    ----------
    folder
        Its private folder.
    """
    with contextlib.suppress(OSError, ValueError, TypeError, TableError):
        chain, mark, made, state = json.loads((folder / _RECORD).read_text(encoding="utf-8"))
        if _state(Path(made)) == state:
            Chain(Path(chain)).take_back(mark)
    try:
        journal = json.loads((folder / _JOURNAL).read_text(encoding="utf-8"))
        steps = [
            Step(Path(made), Path(target), (number[0], number[1]), None if before is None else tuple(before))
            for made, target, number, before in journal
        ]
    except (OSError, ValueError, TypeError, LookupError):
        return
    if steps and steps[-1].done:
        return
    for step in reversed(steps):
        with contextlib.suppress(OSError):
            step.undo()


def _link(made: Path, target: Path) -> None:
    """Give a file its name, which nothing may have."""
    try:
        follow = {"follow_symlinks": False} if os.link in os.supports_follow_symlinks else {}
        os.link(made, target, **follow)
    except OSError as error:
        if error.errno not in _NO_LINKS:
            raise
        if _renamed(made, target, _NO_REPLACE):
            return
        # The name is taken first, by whoever comes first.
        os.close(os.open(target, os.O_CREAT | os.O_EXCL | os.O_WRONLY, 0o600))
        try:
            os.replace(made, target)
        except BaseException:
            os.unlink(target)
            raise


def _exchanged(one: Path, other: Path) -> bool:
    """Exchange two names at once; say whether the system can do that."""
    return _renamed(one, other, _EXCHANGE)


def _renamed(one: Path, other: Path, how: int) -> bool:
    """Rename as only Linux can; say whether the system can do that."""
    try:
        rename = ctypes.CDLL(None, use_errno=True).renameat2
    except (OSError, AttributeError, TypeError):  # Windows wants the name of a library
        return False
    here = -100  # AT_FDCWD
    if rename(here, os.fsencode(one), here, os.fsencode(other), how) == 0:
        return True
    failed = ctypes.get_errno()
    if failed in (errno.ENOSYS, errno.EINVAL, errno.ENOTSUP, errno.EPERM):
        return False
    raise OSError(failed, os.strerror(failed), os.fspath(other))
