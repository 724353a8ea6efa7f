"""Inputs and outputs of a call: no input is overwritten, and all outputs are written or none."""

from __future__ import annotations

import contextlib
import glob
import os
import stat
import unicodedata
from collections.abc import Callable, Iterator, Sequence
from enum import Enum, auto
from fnmatch import fnmatchcase
from functools import partial
from pathlib import Path
from typing import Protocol, runtime_checkable

from incrowd.core.errors import TableError, exists_already
from incrowd.core.io.addresses import file_path, is_pattern
from incrowd.core.io.placing import Appeared, Identity, Publication, Step, identity, undo_unfinished
from incrowd.core.io.publishing import publishing
from incrowd.core.io.scratch import PrivateFolder, remove_dead
from incrowd.core.io.seals import reason, refuse_strangers, seal

_LONGEST_NAME = 255
"""Characters of a name, where the system cannot be asked."""
INTERNAL = "internal"
"""A folder of this name stays private where all else in a released folder gets the usual modes."""


def is_folder(target: Path) -> bool:
    """Say whether a target for many files is a folder, that is, has no file ending."""
    return not target.suffix


# --- inputs ------------------------------------------------------------------------------------------


class Hidden(Enum):
    """Inputs with unknown paths, such as the files of some lazy frames."""

    HIDDEN = auto()


HIDDEN = Hidden.HIDDEN


@runtime_checkable
class HasFiles(Protocol):
    """An input that is more than a path, such as the address of a database."""

    @property
    def files(self) -> Sequence[str]:
        """Paths of the input's files; none of a server."""


class _Inputs:
    """Input files, folders, patterns and file databases, identified by device and inode."""

    def __init__(self) -> None:
        self._files: dict[Identity, str] = {}
        self._folders: dict[Identity, str] = {}
        self._above: dict[Identity, str] = {}
        self._names: dict[str, str] = {}
        self._patterns: list[tuple[Identity, str | None, str]] = []
        self.hidden = False

    def add(self, source: object) -> None:
        """Add a path, a pattern, a list of inputs, or something with `files`, ignoring missing files.

        Raises
        ------
        TableError
            For the text of an address, whose files nobody here knows.
        """
        if isinstance(source, list | tuple):
            for each in source:
                self.add(each)
        elif isinstance(source, Hidden):
            self.hidden = True
        elif isinstance(source, HasFiles):
            for path in source.files:
                self._add_file(path)
        elif isinstance(source, str | os.PathLike):
            self._add_path(os.fsdecode(file_path(source)))

    def _add_path(self, text: str) -> None:
        if is_pattern(text):
            for match in glob.glob(text, recursive=True, include_hidden=True):
                self._add_folder(match) if os.path.isdir(match) else self._add_file(match)
            base, last = os.path.split(text)
            deep = is_pattern(base)
            while is_pattern(base):
                base = os.path.dirname(base)
            number = identity(base or ".")
            if number is not None:
                self._patterns.append((number, None if deep else last, text))
        elif os.path.isdir(text):
            self._add_folder(text)
        else:
            self._add_file(text)

    def _add_file(self, path: str) -> None:
        self._note(path)
        self._add_above(path)

    def _add_folder(self, path: str) -> None:
        number = identity(path)
        if number is not None:
            self._folders[number] = path
        self._add_above(path)
        # What lies in it may have a second name elsewhere, or be a link to elsewhere.
        for root, folders, files in os.walk(path):
            for name in files:
                inner = os.path.join(root, name)
                self._add_file(inner) if os.path.islink(inner) else self._note(inner)
            for name in folders:
                inner = os.path.join(root, name)
                if os.path.islink(inner) and (number := identity(inner)) is not None:
                    self._folders[number] = inner
                    self._add_above(inner)

    def _note(self, path: str) -> None:
        number = identity(path)
        if number is not None:
            self._files[number] = path

    def _add_above(self, path: str) -> None:
        real = _real(path)
        self._names[_folded(real)] = path
        for parent in Path(real).parents:
            number = identity(parent)
            if number is not None:
                self._above.setdefault(number, path)

    def refuse(self, target: Target) -> None:
        """Raise for a target that is an input, contains an input or lies inside an input.

        Raises
        ------
        TableError
        """
        number = identity(target.path)
        if _folded(target.path) in self._names or number in self._files or number in self._folders:
            raise TableError(f"{target}: the output would replace an input file; choose another name")
        if number in self._above:
            raise TableError(
                f"{target}: the output would replace the input's folder, which holds "
                f"{Path(self._above[number]).name}; choose another name"
            )
        above = [
            parent_number for parent in target.path.parents if (parent_number := identity(parent)) is not None
        ]
        if any(each in self._folders for each in above):
            raise TableError(f"{target}: lies inside the input's folder; choose a place outside of it")
        for base, last, text in self._patterns:
            beside = above[:1] == [base] and last is not None and fnmatchcase(target.path.name, last)
            if (last is None and base in above) or beside:
                raise TableError(
                    f"{target}: would be read as part of the input {text} the next time; choose another place"
                )


def _real(path: str) -> str:
    """Resolve links, except links that this user may not follow."""
    try:
        return os.path.realpath(path)
    except OSError:
        return os.path.abspath(path)


def _folded(path: str | os.PathLike[str]) -> str:
    """Normalize a path as on a file system without upper case and with a single spelling of accents."""
    return unicodedata.normalize("NFC", os.fspath(path)).casefold()


# --- outputs -----------------------------------------------------------------------------------------


class Target(os.PathLike[str]):
    """A file or folder that a call writes, created by `Outputs.add`.

    It is a path, so that whatever writes to a path takes it; `writing` then gives the temporary place.
    """

    def __init__(
        self, requested: Path, outputs: Outputs, *, folder: bool, private: bool, parents: bool = False
    ) -> None:
        self.requested = requested
        self.outputs = outputs
        self.folder = folder
        self.private = private
        self.parents = parents
        self.written = False
        text = os.fspath(requested)
        # The last part may be a link: a file is put in the link's place, never through it.
        through = folder or requested.name in ("", "..")
        self.path = (
            Path(_real(text)) if through else Path(_real(os.path.dirname(text) or "."), requested.name)
        )
        self.before: Identity | None = None
        self._temporary: Path | None = None

    def __fspath__(self) -> str:
        return os.fspath(self.requested)

    __str__ = __fspath__

    @property
    def temporary(self) -> Path:
        """The private temporary file or folder with the target's name, created on first access."""
        if self._temporary is None:
            slot = self.outputs.slot(self.path.parent)
            self._temporary = slot / self.path.name
            # Created before anything is written, so that nobody else can read it meanwhile.
            if self.folder:
                self._temporary.mkdir(0o700)
            else:
                os.close(os.open(self._temporary, os.O_CREAT | os.O_EXCL | os.O_WRONLY, 0o600))
        return self._temporary

    def check(self, *, force: bool) -> None:
        """Raise for a target that cannot be written or may not be replaced.

        Raises
        ------
        TableError
        """
        if self.requested.name in ("", "..") and not self.folder:
            raise TableError(f"{self}: is a folder; name a file")
        parent = self.path.parent
        folder = self.requested.parent
        while self.parents and not os.path.lexists(parent):
            parent = parent.parent
        if not os.path.isdir(parent):
            raise TableError(f"{self}: the folder {folder} does not exist")
        most = os.pathconf(parent, "PC_NAME_MAX") if hasattr(os, "pathconf") else _LONGEST_NAME
        if len(os.fsencode(self.path.name)) > most > 0:
            raise TableError(
                f"{self.requested.name[:20]}...: a name of {len(os.fsencode(self.path.name))} bytes "
                f"is too long; the file system takes {most}"
            )
        self._check_there(force=force)
        if not os.access(parent, os.W_OK | os.X_OK):
            why = "the file system is read-only" if _read_only(parent) else "you may not write there"
            raise TableError(f"{self}: cannot be written to the folder {folder} ({why})")

    def _check_there(self, *, force: bool) -> None:
        try:
            status = os.lstat(self.path)
        except FileNotFoundError:
            return
        except OSError as error:
            raise TableError(f"{self}: cannot be written ({reason(error)})") from None
        if stat.S_ISDIR(status.st_mode):
            if not self.folder:
                raise TableError(f"{self}: is a folder; name a file")
            with os.scandir(self.path) as entries:
                if not any(entries):
                    return
            if not force:
                raise TableError(f"{self}: {exists_already()}")
            refuse_strangers(self.path, str(self))
            self.before = identity(self.path)
            return
        if not (stat.S_ISREG(status.st_mode) or stat.S_ISLNK(status.st_mode)):
            raise TableError(f"{self}: is no file that can be replaced; choose another name")
        if not force:
            raise TableError(f"{self}: {exists_already()}")
        if self.folder:
            raise TableError(f"{self}: is a file; name a folder")
        self.before = identity(self.path, follow=False)

    def finish(self) -> Step:
        """Set the usual permissions on the written file, and return the move into place."""
        temporary = self.temporary
        number = identity(temporary, follow=False)
        if number is None:
            raise TableError(
                f"{self}: what was written beside it is gone, something else removed it; write it again"
            )
        if self.folder:
            seal(temporary)
        umask = _umask(temporary.parent.parent)
        for path in (temporary, *(temporary.rglob("*") if self.folder else ())):
            hidden = self.private or INTERNAL in path.relative_to(temporary).parts
            path.chmod((0o777 if path.is_dir() else 0o666) & ~(0o077 if hidden else umask))
        # Something may have come into a replaced folder since.
        check = partial(refuse_strangers, title=str(self)) if self.folder else None
        return Step(temporary, self.path, number, self.before, check)


class Outputs:
    """All outputs of a call: checked when added, written aside, and moved into place together or not at all.

    Used as a context: at its end, if nothing failed, everything that was written with `writing` gets its
    name. The first one added comes last, so that it never stands alone.

    Parameters
    ----------
    sources
        What the call reads: files, folders, patterns, addresses of databases; None is passed over.
    force
        Whether files that exist are replaced, and folders that an earlier release wrote.
    """

    def __init__(self, *sources: object, force: bool = False) -> None:
        self._inputs = _Inputs()
        self._targets: list[Target] = []
        self._folders: dict[Path, PrivateFolder] = {}
        self._new: list[Path] = []
        self._slots = 0
        self._force = force
        # Gets what gives the outputs their names. A ledger calls it after its entry is written.
        self.through: Callable[[Publication], object] = lambda publish: publish()
        self.read(*sources)

    def read(self, *sources: object) -> None:
        """Add further inputs.

        Raises
        ------
        TableError
            When it overlaps with an output.
        """
        self._inputs.add(sources)
        for target in self._targets:
            self._inputs.refuse(target)
            self._refuse_hidden(target)

    def _refuse_hidden(self, target: Target) -> None:
        if self._inputs.hidden and target.before is not None:
            raise TableError(
                f"{target}: exists already, and the lazy frame does not tell which files it reads; choose "
                "another name, or scan the files by their paths"
            )

    def add(
        self,
        path: str | os.PathLike[str],
        *,
        folder: bool = False,
        private: bool = False,
        parents: bool = False,
    ) -> Target:
        """Add an output, before any work is done.

        Parameters
        ----------
        path
            Where it goes.
        folder
            Whether it is a folder and not a file.
        private
            Whether nobody else shall read it.
        parents
            Whether the folders above it are made where there are none.

        Raises
        ------
        TableError
            When it is, holds or lies in an input or another output, exists (unless forced), or has nowhere to
            go.
        """
        requested = file_path(path)
        target = Target(requested, self, folder=folder, private=private, parents=parents)
        self._inputs.refuse(target)
        for other in self._targets:
            _refuse_both(target, other)
        target.check(force=self._force)
        self._refuse_hidden(target)
        if folder and identity(target.path) in map(identity, (Path.cwd(), *Path.cwd().parents)):
            raise TableError(f"{target}: the working folder cannot be replaced; name a new folder in it")
        remove_dead(target.path.parent, undo_unfinished)
        self._targets.append(target)
        return target

    def slot(self, parent: Path) -> Path:
        """Create a slot for a target in a private folder beside the target."""
        if parent not in self._folders:
            missing = parent
            while not missing.exists():
                self._new.append(missing)
                missing = missing.parent
            parent.mkdir(0o700 if parent.name == INTERNAL else 0o777, parents=True, exist_ok=True)
            self._folders[parent] = PrivateFolder(parent)
        self._slots += 1
        slot = self._folders[parent].path / str(self._slots)
        slot.mkdir(0o700)
        return slot

    def __enter__(self) -> Outputs:
        return self

    def __exit__(self, kind: type[BaseException] | None, *_: object) -> None:
        with publishing() as block:
            try:
                if kind is None:
                    self._place()
            finally:
                block.hold()
                for folder in self._folders.values():
                    folder.remove()
                self._folders = {}
                for path in self._new:
                    # For outputs that did not come.
                    with contextlib.suppress(OSError):
                        path.rmdir()

    def _place(self) -> None:
        ready = [target for target in reversed(self._targets) if target.written]
        by_path = {target.path: target for target in ready}
        try:
            steps = [target.finish() for target in ready]
            self.through(Publication(steps, [folder.path for folder in self._folders.values()]))
        except Appeared as error:
            raise TableError(
                f"{by_path[error.target]}: something else was put there while the work was done; nothing was "
                "written, choose another name"
            ) from None
        except OSError as error:
            failed = by_path.get(Path(os.fsdecode(error.filename2 or error.filename or "")), ready[-1])
            raise TableError(f"{failed}: cannot be written ({reason(error)})") from None


@contextlib.contextmanager
def writing(
    path: str | os.PathLike[str],
    *,
    force: bool = False,
    folder: bool = False,
    private: bool = False,
    parents: bool = False,
    sources: object = None,
) -> Iterator[Path]:
    """Yield the private temporary path of an output, which gets the final name once all outputs are complete.

    Parameters
    ----------
    path
        A path, or a `Target` that was added to `Outputs` and comes with the others.
    force, folder, private, parents
        As in `Outputs`, for a path.
    sources
        What is read, for a path.

    Raises
    ------
    TableError
        When it cannot be written; see `Outputs`.
    """
    with contextlib.ExitStack() as stack:
        if isinstance(path, Target):
            target = path
        else:
            outputs = Outputs(sources, force=force)
            target = outputs.add(path, folder=folder, private=private, parents=parents)
            stack.enter_context(outputs)
        try:
            yield target.temporary
            target.written = True
        except Exception as error:
            # Polars tells a full disk in an error of its own.
            of_polars = type(error).__module__.startswith("polars") and "os error" in str(error)
            if isinstance(error, OSError) or of_polars:
                raise TableError(f"{target}: cannot be written ({reason(error)})") from None
            raise


def _umask(folder: Path) -> int:
    """Return the umask for new files in a private folder.

    Nobody can ask the system without changing it for a moment, for all threads. So a file is made.
    """
    probe = folder / "rights"
    try:
        with open(probe, "xb", opener=partial(os.open, mode=0o777)) as file:
            return 0o777 & ~os.fstat(file.fileno()).st_mode
    finally:
        probe.unlink(missing_ok=True)


def _refuse_both(first: Target, second: Target) -> None:
    """Raise for two outputs of the same name or nested in each other."""
    numbers = identity(first.path), identity(second.path)
    if _folded(first.path) == _folded(second.path) or (numbers[0] is not None and numbers[0] == numbers[1]):
        raise TableError(f"{first}: another output of this call has that name; choose two names")
    for inner, outer in ((first, second), (second, first)):
        if _folded(outer.path) in map(_folded, inner.path.parents):
            raise TableError(f"{inner}: lies in {outer}, another output of this call; choose a place outside")


def _read_only(folder: Path) -> bool:
    with contextlib.suppress(OSError):
        return hasattr(os, "statvfs") and bool(os.statvfs(folder).f_flag & getattr(os, "ST_RDONLY", 1))
    return False
