"""Disk cache of compiled kernels, in user folders and in the package, sealed by digests."""

from __future__ import annotations

import contextlib
import hashlib
import io
import os
import pickle
import platform
import stat
import tempfile
import warnings
from collections.abc import Callable, Iterator
from functools import cache
from pathlib import Path
from typing import Any

import numba
from filelock import FileLock
from numba import config
from numba.core.caching import FunctionCache, IndexDataCacheFile
from numba.core.compiler_lock import global_compiler_lock
from numba.core.runtime.nrt import rtsys

from incrowd.core.progress import on_compiling

_DIGEST = hashlib.sha256().digest_size

_TESTED = ((0, 61), (0, 68))
"""First and last tested versions of Numba in which cached code needs only Numba's runtime."""

SHIPPED = Path(__file__).parent / "shipped"
"""Machine code in a platform's wheel, for all processors with the features of `PORTABLE`."""

_LATE_X86 = ("x86-64-v3", "+avx,+avx2,+bmi,+bmi2,+f16c,+fma,+lzcnt,+movbe,+popcnt,+sse4.2,+xsave")
PORTABLE = {"x86_64": _LATE_X86, "AMD64": _LATE_X86}.get(platform.machine(), ("generic", ""))
"""Target processor and features of shipped code, by their names in LLVM."""

_PATIENCE = 120
"""Seconds to wait for another process compiling the same kernel, before both compile."""


def keep_machine_code(dispatcher: Any) -> None:
    """Cache a kernel's machine code in ``NUMBA_CACHE_DIR``, beside the package or in the home folder.

    If none of these folders is writable, a private temporary folder is used. If that fails too, nothing is
    cached. A warning is given once in both cases.
    """
    if not hasattr(dispatcher, "py_func"):
        # With NUMBA_DISABLE_JIT=1 loops run in plain Python, and there is no machine code to cache.
        return
    kernel_cache = _cache_of(dispatcher.py_func)
    if kernel_cache is not None:
        dispatcher._cache = kernel_cache
        dispatcher.compile = _compile_alone(dispatcher, kernel_cache)


def _cache_of(function: Callable[..., Any]) -> KernelCache | None:
    with contextlib.suppress(RuntimeError):
        return KernelCache(function)
    if _temporary_folder() is not None:
        config.CACHE_DIR = str(_temporary_folder())  # type: ignore[attr-defined]
        with contextlib.suppress(RuntimeError):
            return KernelCache(function)
    return None


def _compile_alone(dispatcher: Any, kernel_cache: KernelCache) -> Callable[[Any], Any]:
    """Return a ``compile`` that waits for other processes compiling the same kernel."""
    compile_now = dispatcher.compile

    def compile_alone(signature: Any) -> Any:
        # Threads wait for each other first, so none holds a kernel's lock while it waits for another thread.
        with global_compiler_lock:
            try:
                return compile_now(signature)
            finally:
                kernel_cache.unlock()

    return compile_alone


@cache
def _temporary_folder() -> Path | None:
    """Return a private temporary folder for machine code, or None, with a warning in both cases."""
    problem = "compiled code can be kept neither beside the package nor in the home folder"
    remedy = "NUMBA_CACHE_DIR names another folder"
    try:
        # Code from this folder is run, so another user must not own it or be able to write to it. Windows
        # has no such modes or numbers, but gives each user a folder of temporary files.
        windows = os.name == "nt"
        user = getattr(os, "getuid", int)()
        folder = Path(tempfile.gettempdir()) / f"incrowd-kernels-{user}"
        folder.mkdir(0o700, exist_ok=True)
        status = folder.lstat()
        if (
            not stat.S_ISDIR(status.st_mode)
            or status.st_uid != user
            or (status.st_mode & 0o077 and not windows)
        ):
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
    """Digest of all kernel sources, since kernels are compiled into one another."""
    digest = hashlib.sha256()
    for path in sorted(Path(__file__).parent.rglob("*.py")):
        digest.update(hashlib.sha256(path.read_bytes()).digest())
    return digest.digest()


class _SealedFile(IndexDataCacheFile):
    """Cache files that begin with a digest of the content, so that damaged files count as missing."""

    @contextlib.contextmanager
    def _open_for_write(self, filepath: str) -> Iterator[io.BytesIO]:
        content = io.BytesIO()
        yield content
        with super()._open_for_write(filepath) as file:
            file.write(hashlib.sha256(content.getvalue()).digest() + content.getvalue())

    def _load_index(self) -> dict[Any, str]:
        try:
            content = io.BytesIO(_unsealed(self._index_path))
            if pickle.load(content) != self._version:
                return {}
            stamp, overloads = pickle.load(content)
        except (OSError, ImportError, AttributeError):
            # Signatures of earlier sources may name modules and classes that no longer exist.
            return {}
        return dict(overloads) if stamp == self._source_stamp else {}

    def _load_data(self, name: str) -> Any:
        return pickle.loads(_unsealed(self._data_path(name)))


def _unsealed(path: str) -> bytes:
    content = Path(path).read_bytes()
    if hashlib.sha256(content[_DIGEST:]).digest() != content[:_DIGEST]:
        raise OSError(f"{path}: damaged")
    return content[_DIGEST:]


class KernelCache(FunctionCache):
    """Disk cache of a single kernel, with failures that never fail a run."""

    def __init__(self, function: Any) -> None:
        super().__init__(function)
        self._loop = function.__name__.strip("_").replace("_", " ")
        name = f"{self._impl.filename_base}.sealed"
        self._cache_file = _SealedFile(self._cache_path, name, _sources())
        room = Path(function.__code__.co_filename).parent.name
        self._shipped = _SealedFile(str(SHIPPED), f"{room}.{name}", _sources())
        self._lock = Path(self._cache_path, f"{name}.lock")
        self._locks = contextlib.ExitStack()

    def signatures(self) -> set[Any]:
        """Return the cached signatures, as types of Numba."""
        return {sig for sig, *_ in self._cache_file._load_index()}

    def ship(self, target_context: Any) -> None:
        """Copy all cached code, compiled for `PORTABLE`, into `SHIPPED`."""
        SHIPPED.mkdir(exist_ok=True)
        for sig in self.signatures():
            (_, key), (file, portable) = self._places(sig, target_context)
            file.save(portable, self._cache_file.load(key))

    def load_overload(self, sig: Any, target_context: Any) -> Any:
        """Return cached code for a signature, or lock the kernel and call `on_compiling`.

        The kernel stays locked until `unlock`, if the file system supports locks.
        """
        if (code := self._load(sig, target_context)) is not None:
            return code
        with contextlib.suppress(Exception):
            self._impl.locator.ensure_cache_path()
            self._locks.enter_context(FileLock(self._lock, timeout=_PATIENCE))
        # The process that had the lock may have compiled it.
        code = self._load(sig, target_context)
        if code is None:
            for callback in tuple(on_compiling):
                callback(self._loop)
        return code

    def unlock(self) -> None:
        """Release the kernel's lock for other processes."""
        self._locks.close()

    def _places(self, sig: Any, target_context: Any) -> list[tuple[IndexDataCacheFile, Any]]:
        """Return cache files that may have code for a signature, with the key in each file."""
        key = self._index_key(sig, target_context.codegen())
        _, (_, _, features), code = key
        places = [(self._cache_file, key)]
        if set(filter(None, PORTABLE[1].split(","))) <= set(features.split(",")):
            places.append((self._shipped, (sig, PORTABLE, code)))
        return places

    def _load(self, sig: Any, target_context: Any) -> Any:
        try:
            if _TESTED[0] <= numba.version_info.short <= _TESTED[1]:
                # Numba would first load its whole compiler, which takes longer than the rest of a start.
                # Code from the disk needs Numba's runtime alone. A later compilation loads the compiler.
                rtsys.initialize(target_context)
            else:
                target_context.refresh()
            for file, key in self._places(sig, target_context):
                if (code := file.load(key)) is not None:
                    return self._impl.rebuild(target_context, code)
        except Exception:
            pass
        return None

    def save_overload(self, sig: Any, data: Any) -> None:
        """Save the code for a signature."""
        # The disk may be full, or the folder removed meanwhile.
        with contextlib.suppress(Exception):
            super().save_overload(sig, data)
