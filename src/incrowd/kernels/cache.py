"""The cache of machine code between runs, and the handling of one that is damaged or cannot be written."""

from __future__ import annotations

import contextlib
import hashlib
import io
import os
import pickle
import stat
import tempfile
import warnings
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import Any

import numba
from numba import config
from numba.core.caching import FunctionCache, IndexDataCacheFile
from numba.core.runtime.nrt import rtsys

from incrowd.kernels.compiling import on_compiling

_DIGEST = hashlib.sha256().digest_size

_TRIED = ((0, 61), (0, 68))
"""The first and the last version of Numba of which we know what kept code needs."""


def keep_machine_code(dispatcher: Any) -> None:
    """Keep compiled kernels in ``NUMBA_CACHE_DIR``, beside the package or in the home folder.

    Where none of them can be written, a private temporary folder serves, and where that cannot be had
    either, nothing is kept; a warning says so once.
    """
    if not hasattr(dispatcher, "py_func"):
        # NUMBA_DISABLE_JIT=1: the loops run as they are written, and there is nothing to keep.
        return
    with contextlib.suppress(RuntimeError):
        dispatcher._cache = _KernelCache(dispatcher.py_func)
        return
    if _temporary_folder() is not None:
        config.CACHE_DIR = str(_temporary_folder())  # type: ignore[attr-defined]
        with contextlib.suppress(RuntimeError):
            dispatcher._cache = _KernelCache(dispatcher.py_func)


@cache
def _temporary_folder() -> Path | None:
    """Return a folder of this user alone for machine code, None where there is no safe one; and say so."""
    problem = "compiled code can be kept neither beside the package nor in the home folder"
    remedy = "NUMBA_CACHE_DIR names another folder"
    try:
        # Code from this folder is run, so another user must not own it or be able to write to it. Windows
        # has no such modes or numbers, but gives each user a folder of temporary files.
        windows = os.name == "nt"
        user = getattr(os, "getuid", int)()
        folder = Path(tempfile.gettempdir()) / f"incrowd-kernels-{user}"
        folder.mkdir(0o700, exist_ok=True)
        found = folder.lstat()
        if not stat.S_ISDIR(found.st_mode) or found.st_uid != user or (found.st_mode & 0o077 and not windows):
            raise PermissionError
        tempfile.TemporaryFile(dir=folder).close()
    except (OSError, AttributeError):
        warnings.warn(
            f"{problem}, so every run compiles anew, which takes some ten seconds; {remedy}", stacklevel=4
        )
        return None
    warnings.warn(f"{problem}, so it is kept in {folder}; {remedy}", stacklevel=4)
    return folder


@cache
def _sources() -> bytes:
    """Digest of the sources of all kernels: they are compiled into one another."""
    digest = hashlib.sha256()
    for path in sorted(Path(__file__).parent.rglob("*.py")):
        digest.update(hashlib.sha256(path.read_bytes()).digest())
    return digest.digest()


class _SealedFile(IndexDataCacheFile):
    """Files that begin with a digest of the rest; a file with another digest counts as missing."""

    @contextlib.contextmanager
    def _open_for_write(self, filepath: str) -> Iterator[io.BytesIO]:
        content = io.BytesIO()
        yield content
        with super()._open_for_write(filepath) as file:
            file.write(hashlib.sha256(content.getvalue()).digest() + content.getvalue())

    def _load_index(self) -> dict[Any, str]:
        try:
            content = io.BytesIO(_unsealed(self._index_path))
        except OSError:
            return {}
        if pickle.load(content) != self._version:
            return {}
        stamp, overloads = pickle.load(content)
        return dict(overloads) if stamp == self._source_stamp else {}

    def _load_data(self, name: str) -> Any:
        return pickle.loads(_unsealed(self._data_path(name)))


def _unsealed(path: str) -> bytes:
    content = Path(path).read_bytes()
    if hashlib.sha256(content[_DIGEST:]).digest() != content[:_DIGEST]:
        raise OSError(f"{path}: damaged")
    return content[_DIGEST:]


class _KernelCache(FunctionCache):
    """Machine code of one kernel; to keep it and to find it is a convenience that never fails a run."""

    def __init__(self, function: Any) -> None:
        super().__init__(function)
        self._cache_file = _SealedFile(self._cache_path, f"{self._impl.filename_base}.sealed", _sources())

    def load_overload(self, sig: Any, target_context: Any) -> Any:
        found = self._found(sig, target_context)
        if found is None:
            for tell in tuple(on_compiling):
                tell()
        return found

    def _found(self, sig: Any, target_context: Any) -> Any:
        try:
            if not _TRIED[0] <= numba.version_info.short <= _TRIED[1]:
                return super().load_overload(sig, target_context)
            # Numba would first load all that it can compile, which takes longer than the rest of a start.
            # Kept code needs the runtime alone, and what is compiled after it loads the rest by itself.
            rtsys.initialize(target_context)
            return self._load_overload(sig, target_context)
        except Exception:
            return None

    def save_overload(self, sig: Any, data: Any) -> None:
        # A full disk, or a folder that was taken away meanwhile.
        with contextlib.suppress(Exception):
            super().save_overload(sig, data)
