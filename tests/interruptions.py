"""Runs of the command line that are stopped at one of their file operations.

As a program it imports all modules once, and forks for each run that a line of standard input asks for. Who
asks uses `Runs`.
"""

from __future__ import annotations

import atexit
import contextlib
import json
import os
import signal
import subprocess
import sys
import threading
from dataclasses import dataclass
from pathlib import Path
from typing import Any

WAYS = {"error": 0, "SIGINT": signal.SIGINT, "SIGTERM": signal.SIGTERM, "SIGKILL": signal.SIGKILL}
_CHANGES = {"os.link", "os.rename", "os.remove", "os.rmdir", "os.mkdir", "os.chmod", "os.truncate"}
_WRITES = os.O_WRONLY | os.O_RDWR | os.O_CREAT


@dataclass(frozen=True)
class Run:
    """How a run ended: its status (negative for a signal), its operations, what it said."""

    status: int
    operations: list[str]
    said: str


class Runs:
    """A process that forks for each run, so that modules are imported once."""

    def __init__(self) -> None:
        self._process = subprocess.Popen(
            [sys.executable, __file__], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
        )

    def close(self) -> None:
        self._process.communicate()

    def __call__(self, folder: Path, call: list[str], at: int | None = None, way: str = "error") -> Run:
        """Run a command in a folder; stop it before its operation of a number from 0."""
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        asked = {"folder": str(folder), "call": call, "at": at, "way": way}
        self._process.stdin.write(json.dumps(asked) + "\n")
        self._process.stdin.flush()
        return Run(**json.loads(self._process.stdout.readline()))


def _begin_stopping(folder: str, at: int | None, way: str, told: int) -> None:
    """Tell each change of a file below the folder, and stop at one of them."""
    from incrowd.io import placing

    count = 0

    def changed(what: str, path: object) -> None:
        nonlocal count
        if threading.current_thread() is not threading.main_thread():
            return
        number, count = count, count + 1
        os.write(told, f"{what} {path}\n".encode())
        if number == at:
            if WAYS[way]:
                os.kill(os.getpid(), WAYS[way])
            else:
                raise OSError(5, "Input/output error", str(path))

    def below(path: object) -> bool:
        return isinstance(path, str | bytes | os.PathLike) and os.path.abspath(os.fsdecode(path)).startswith(
            folder
        )

    def hook(event: str, arguments: tuple[Any, ...]) -> None:
        if event == "open":
            path, _, flags = arguments
            if below(path) and flags & _WRITES:
                changed(event, path)
        elif event in _CHANGES and any(map(below, arguments)):
            changed(event, next(filter(below, arguments)))

    def with_notice(real: Any, what: str) -> Any:
        def call(*arguments: Any) -> Any:
            changed(what, arguments[0])
            return real(*arguments)

        return call

    os.fsync = with_notice(os.fsync, "os.fsync")
    placing._exchanged = with_notice(placing._exchanged, "exchange")
    sys.addaudithook(hook)


def _run(asked: dict[str, Any], told: int, said: int) -> None:
    os.setpgid(0, 0)
    os.chdir(asked["folder"])
    os.environ["TMPDIR"] = asked["folder"] + "/temporary"
    null = os.open(os.devnull, os.O_RDWR)
    for number, target in ((0, null), (1, null), (2, said)):
        os.dup2(target, number)
    sys.argv = ["incrowd", *asked["call"]]
    _begin_stopping(asked["folder"], asked["at"], asked["way"], told)
    from incrowd.cli import main

    main()


def _serve() -> None:
    import importlib
    import pkgutil

    import incrowd

    for name in ("jobs", "cli", "engines", "io", "algorithms", "verification", "recoding"):
        for module in pkgutil.walk_packages([f"{incrowd.__path__[0]}/{name}"], f"incrowd.{name}."):
            with contextlib.suppress(ImportError):
                importlib.import_module(module.name)
    for name in ("numpy", "polars", "narwhals", "duckdb"):
        importlib.import_module(name)
    for line in sys.stdin:
        files = [os.memfd_create(name) for name in ("told", "said")]
        child = os.fork()
        if not child:
            try:
                _run(json.loads(line), *files)
            except SystemExit as stop:
                atexit._run_exitfuncs()
                os._exit(stop.code if isinstance(stop.code, int) else 0)
            finally:
                os._exit(99)
        status = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
        operations, said = (os.pread(each, 1 << 20, 0).decode() for each in files)
        for each in files:
            os.close(each)
        told = {"status": status, "operations": operations.splitlines(), "said": said}
        sys.stdout.write(json.dumps(told) + "\n")
        sys.stdout.flush()


if __name__ == "__main__":
    _serve()
