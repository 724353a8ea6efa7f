"""Runs of the command line that are stopped at a file operation.

As a program it imports all modules once, and forks for each run that a line of standard input asks for. Who
asks uses `Runs`. `stopped` holds what a run leaves against the rule: nothing, or files and entry.
"""

from __future__ import annotations

import atexit
import contextlib
import functools
import json
import os
import signal
import subprocess
import sys
import threading
from collections.abc import Collection, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

WAYS = {"error": 0, "SIGINT": signal.SIGINT, "SIGTERM": signal.SIGTERM, "SIGKILL": signal.SIGKILL}
_CHANGES = {"os.link", "os.rename", "os.remove", "os.rmdir", "os.mkdir", "os.chmod", "os.truncate"}
_WRITES = os.O_WRONLY | os.O_RDWR | os.O_CREAT
_PRIVATE = "*incrowd-*.tmp"
_OUTPUTS = ("-o", "--row-map", "--save-policy", "--recoding", "--counterfeits", "--hold", "--rows")
_OLD = b"old"


@dataclass(frozen=True)
class Run:
    """The end of a run: the status (negative for a signal), the operations, the messages and the output."""

    status: int
    operations: list[str]
    said: str
    printed: str


class Runs:
    """A process that forks for each run, so that modules are imported once."""

    def __init__(self) -> None:
        self._process = subprocess.Popen(
            [sys.executable, __file__], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
        )

    def close(self) -> None:
        self._process.communicate()

    def __call__(self, folder: Path, call: list[str], at: int | None = None, way: str = "error") -> Run:
        """Run a command in a folder, up to before a numbered operation, counted from 0."""
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        asked = {"folder": str(folder), "call": call, "at": at, "way": way}
        self._process.stdin.write(json.dumps(asked) + "\n")
        self._process.stdin.flush()
        return Run(**json.loads(self._process.stdout.readline()))


@functools.cache
def shared_runs() -> Runs:
    """Return the same process for all callers, up to the end of the present process."""
    runs = Runs()
    atexit.register(runs.close)
    return runs


# --- what a run leaves ----------------------------------------------------------------------------------


def prepare(work: Path, call: Sequence[str]) -> None:
    """Make the folder for temporary files; put old files in the places of outputs that are replaced."""
    from incrowd.core.io.seals import seal

    (work / "temporary").mkdir(exist_ok=True)
    if "--force" not in call:
        return
    for name in outputs(call):
        if (work / name).suffix:
            (work / name).write_bytes(_OLD)
        else:
            (work / name).mkdir()
            (work / name / "old.csv").write_bytes(_OLD)
            seal(work / name)


def outputs(call: Sequence[str]) -> set[str]:
    """Name the outputs of a call."""
    return {call[place + 1] for place, word in enumerate(call) if word in _OUTPUTS}


def ledger_of(call: Sequence[str], work: Path) -> Path | None:
    return work / call[call.index("--ledger") + 1] if "--ledger" in call else None


def content(work: Path, book: Path | None) -> dict[str, bytes]:
    """Every file below a folder but those of a ledger, which have special names and digests."""
    # Python tries a folder for temporary files by writing one word.
    assert {path.read_bytes() for path in (work / "temporary").iterdir()} <= {b"", b"blat"}
    left = {work / "temporary", book}
    paths = [path for path in work.rglob("*") if path.is_file() and not left & {*path.parents}]
    # Whoever looks at a ledger locks it.
    return {path.relative_to(work).as_posix(): path.read_bytes() for path in paths if path.suffix != ".lock"}


def entries(book: Path | None, *, alone: bool = False) -> list[dict[str, Any]]:
    """The entries of a ledger with all files of the entries, and no other files."""
    from incrowd.release.jobs.later.ledger import Ledger

    if book is None:
        return []
    ledger = Ledger.open(book)
    assert ledger.verify() is None
    kinds = ("file", "cells", "keys", "tables")
    named = {each[kind]["name"] for each in ledger.entries for kind in kinds if each.get(kind)}
    names = {path.name for path in (book / "people").iterdir()}
    assert names == named if alone else names >= named
    return ledger.entries


def stopped(
    runs: Runs,
    work: Path,
    call: Sequence[str],
    stops: Sequence[tuple[int, str]],
    expected: Collection[str] | None = None,
) -> tuple[int, bool]:
    """Stop a run, and on further stops the next runs, and describe the last end.

    Parameters
    ----------
    work
        The folder of the call; see `prepare`.
    stops
        The operation of each run that it is stopped at, and the way.
    expected
        The outputs that the call writes; all that it names by default.

    Raises
    ------
    AssertionError
        When there is neither nothing, nor all files and the entry.
    """
    from incrowd.core.io.scratch import remove_dead
    from incrowd.core.io.seals import digest_of
    from incrowd.core.io.targets import Outputs

    call, book = list(call), ledger_of(call, work)
    expected = outputs(call) if expected is None else expected
    target = work / call[call.index("-o") + 1]
    before, known = content(work, book), entries(book)
    killed = False
    for number, way in stops:
        old = digest_of(target) if target.exists() else None
        count = len(entries(book))
        result = runs(work, call, number, way)
        what = f"{' '.join(call)}: {way} before {result.operations[-1:]}: {result.status}, {result.said}"
        assert "internal error" not in result.said, what
        if book is not None and target.exists() and digest_of(target) != old:
            # A killed run may have entered already what the next one places.
            late = killed and entries(book)[-1]["release"] == digest_of(target)
            assert late or len(entries(book)) == count + 1, what
        killed |= way == "SIGKILL"
    if killed:
        # The next run that writes there does away with what the killed one left.
        for place in (work, work / "internal"):
            if place.is_dir():
                Outputs().add(place / "later.csv")
        remove_dead(work / "temporary")
    assert not [*work.rglob(_PRIVATE)], what
    after, now = content(work, book), entries(book, alone=not killed)
    changed = {
        name.partition("/")[0] for name in before.keys() | after.keys() if before.get(name) != after.get(name)
    }
    assert changed in (set(), set(expected)), f"{changed} changed; {what}"
    assert now[: len(known)] == known, what
    if changed and book is not None:
        assert len(now) > len(known), what
        assert now[-1]["release"] == digest_of(target), what
    if not changed:
        assert now == known, what
        assert result.status != 0, what
    return result.status, bool(changed)


# --- the process that forks --------------------------------------------------------------------------------


def _begin_stopping(folder: str, at: int | None, way: str, told: int) -> None:
    """Tell each change of a file below the folder, and stop at a chosen change."""
    from incrowd.core.io import placing

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
    placing._exchange = with_notice(placing._exchange, "exchange")
    sys.addaudithook(hook)


def _run(asked: dict[str, Any], told: int, said: int, printed: int) -> None:
    os.setpgid(0, 0)
    os.chdir(asked["folder"])
    os.environ["TMPDIR"] = asked["folder"] + "/temporary"
    null = os.open(os.devnull, os.O_RDWR)
    for number, target in ((0, null), (1, printed), (2, said)):
        os.dup2(target, number)
    sys.argv = ["incrowd", *asked["call"]]
    _begin_stopping(asked["folder"], asked["at"], asked["way"], told)
    from incrowd.faces.cli import main

    main()


def _serve() -> None:
    import importlib
    import pkgutil

    # What Polars 2.0 does at the end waits for a thread, and a forked process has no thread but its own.
    register, atexit.register = atexit.register, lambda function, *_, **__: function
    importlib.import_module("polars")
    atexit.register = register

    import incrowd
    import incrowd_gate
    import incrowd_verify

    folders = {
        f"incrowd.{name}.": [f"{incrowd.__path__[0]}/{name}"]
        for name in ("release", "faces", "engines", "core", "search")
    }
    folders |= {f"{each.__name__}.": list(each.__path__) for each in (incrowd_gate, incrowd_verify)}
    for name, places in folders.items():
        for module in pkgutil.walk_packages(places, name):
            with contextlib.suppress(ImportError):
                importlib.import_module(module.name)
    for name in ("numpy", "narwhals", "duckdb"):
        importlib.import_module(name)
    for line in sys.stdin:
        files = [os.memfd_create(name) for name in ("told", "said", "printed")]
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
        operations, said, printed = (os.pread(each, 1 << 22, 0).decode() for each in files)
        for each in files:
            os.close(each)
        told = {"status": status, "operations": operations.splitlines(), "said": said, "printed": printed}
        sys.stdout.write(json.dumps(told) + "\n")
        sys.stdout.flush()


if __name__ == "__main__":
    _serve()
