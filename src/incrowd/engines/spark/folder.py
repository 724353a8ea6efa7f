"""Write Spark output as a folder of Parquet files, all or nothing, on any file system of Spark."""

from __future__ import annotations

import os
import secrets
from collections.abc import Callable
from pathlib import Path
from typing import Any
from urllib.parse import unquote, urlsplit

from incrowd.core.errors import TableError, exists_already
from incrowd.core.io.kinds.files import kind_of
from incrowd.core.io.seals import refuse_other_files, seal_of
from incrowd.core.io.targets import writing
from incrowd.engines.base import NOT_THE_SAME
from incrowd.engines.spark.errors import guarded


def replace_folder(
    frame: Any,
    path: str | os.PathLike[str],
    check: Callable[[Any], object],
    *,
    force: bool,
    source: Any = None,
) -> None:
    """Write a DataFrame as a folder of Parquet files, all or nothing, wherever Spark's file systems reach.

    It is written to a hidden folder beside the target, opened again, checked, and only then renamed. Where
    anything fails, that folder is removed.

    Parameters
    ----------
    path
        A local path, or one with a scheme as ``hdfs://host/folder``.
    check
        Called with the DataFrame that was read again; what it raises ends the writing.
    force
        Whether a folder that is there already is replaced; it stays in its place until the new one is ready.
    source
        The DataFrame that it was made from, where `frame` does not say so itself.

    Raises
    ------
    TableError
        When the target exists (unless `force`), is read by the table itself, or cannot be written.
    """
    target = os.fspath(path)
    _refuse_unwritable(frame, target)
    with guarded(frame.sparkSession):
        inputs = (frame if source is None else source).inputFiles()
        folder = _Folder(frame, target)
        local = folder.local
        if local is None:
            folder.replace(check, inputs, force=force)
            return
        files = [unquote(urlsplit(file).path) for file in inputs if file.startswith("file:")]
        with writing(local, force=force, folder=True, sources=files) as temporary:
            check(_write_and_open(frame, temporary.as_uri(), str(local)))


def _refuse_unwritable(frame: Any, target: str) -> None:
    """Refuse tables and targets that Spark cannot write as a folder of Parquet files."""
    session = frame.sparkSession
    if getattr(session, "_jvm", None) is None:
        raise TableError(
            f"{target}: Spark Connect cannot rename folders; write the table with Spark, and check what was "
            "written with assess"
        )
    if target.lower().endswith((".csv", ".csv.gz")) or kind_of(Path(target)) is not None:
        raise TableError(f"{target}: a table on Spark is written as a folder of Parquet; name it so")
    folded = {name.lower() for name in frame.columns}
    if len(folded) < len(frame.columns) and session.conf.get("spark.sql.caseSensitive") != "true":
        raise TableError(
            f"{target}: columns whose names differ by case alone cannot be written by this session; set "
            "spark.sql.caseSensitive to true, or rename them"
        )


def _write_and_open(frame: Any, place: str, target: str) -> Any:
    """Write a DataFrame into a folder and open the copy."""
    frame.write.mode("append").parquet(place)
    copy = frame.sparkSession.read.parquet(place)
    if copy.columns != frame.columns:
        raise TableError(f"{target}: {NOT_THE_SAME}")
    return copy


class _Folder:
    """A folder on a Hadoop file system."""

    def __init__(self, frame: Any, target: str) -> None:
        session = frame.sparkSession
        self.frame, self.target = frame, target
        self.hadoop = session._jvm.org.apache.hadoop.fs
        self.configuration = session._jsc.hadoopConfiguration()
        path = self.hadoop.Path(target)
        self.files = path.getFileSystem(self.configuration)
        self.path = self.files.makeQualified(path)

    @property
    def local(self) -> Path | None:
        """The path on this machine, or None for a folder elsewhere."""
        uri = self.path.toUri()
        return Path(uri.getPath()) if uri.getScheme() == "file" else None

    def replace(self, check: Callable[[Any], object], inputs: list[str], *, force: bool) -> None:
        """Write the DataFrame beside the folder, check the copy, and move the copy into place."""
        exists = self._check_target(inputs, force)
        temporary = self._beside("tmp")
        try:
            # Private from the start, so that nobody else reads what was not checked.
            permission = self.hadoop.permission.FsPermission
            self.files.mkdirs(temporary, permission("700"))
            check(_write_and_open(self.frame, temporary.toString(), self.target))
            seal = self.hadoop.Path(temporary, seal_of(self._files_in(temporary)))
            self.files.create(seal).close()
            umask = permission.getUMask(self.configuration)
            self.files.setPermission(temporary, permission.getDirDefault().applyUMask(umask))
            self._move_into_place(temporary, exists)
        finally:
            if self.files.exists(temporary):
                self.files.delete(temporary, True)

    def _check_target(self, inputs: list[str], force: bool) -> bool:
        """Say whether the folder exists, and raise if the folder must not be replaced."""
        exists = bool(self.files.exists(self.path))
        if exists and not force:
            raise TableError(f"{self.target}: {exists_already()}")
        parent = self.path.getParent()
        if parent is None or not self.files.exists(parent):
            raise TableError(f"{self.target}: the folder to write it into does not exist")
        for file in inputs:
            ancestor = self.hadoop.Path(file)
            while ancestor is not None:
                if ancestor.toString() == self.path.toString():
                    raise TableError(
                        f"{self.target}: the output would replace the input; choose another name"
                    )
                ancestor = ancestor.getParent()
        if exists:
            refuse_other_files(self._files_in(self.path), self.target)
        return exists

    def _move_into_place(self, temporary: Any, exists: bool) -> None:
        """Rename the written folder into place, and restore the old folder if that fails."""
        if not self.files.exists(self.path):
            self._rename(temporary, self.path)
            return
        if not exists:
            raise TableError(f"{self.target}: was made by somebody else meanwhile; nothing was written")
        refuse_other_files(self._files_in(self.path), self.target)
        before = self._beside("old")
        self._rename(self.path, before)
        try:
            self._rename(temporary, self.path)
        except BaseException:
            self._rename(before, self.path)
            raise
        self.files.delete(before, True)

    def _beside(self, ending: str) -> Any:
        name = f".{self.path.getName()}.{secrets.token_hex(4)}.{ending}"
        return self.hadoop.Path(self.path.getParent(), name)

    def _rename(self, source: Any, target: Any) -> None:
        if not self.files.rename(source, target):
            raise TableError(f"{self.target}: cannot be written (the file system refuses to rename a folder)")

    def _files_in(self, folder: Any) -> list[tuple[str, int]]:
        """List the files of a folder at any depth, with sizes."""
        base = f"{folder.toUri().getPath()}/"
        entries = self.files.listFiles(folder, True)
        files = []
        while entries.hasNext():
            status = entries.next()
            files.append((status.getPath().toUri().getPath().removeprefix(base), int(status.getLen())))
        return files
