"""Which files a lazy Polars frame reads, as far as its plan tells."""

from __future__ import annotations

import os
import re
from collections.abc import Iterator, Sequence
from typing import Any
from urllib.parse import unquote, urlsplit

from incrowd.core.io.targets import HIDDEN, Hidden
from incrowd.core.lazy import pl

_SCAN = re.compile(r"\s*\w+ SCAN \[(?P<sources>.+)\]\s*")
_MORE = re.compile(r"(?P<shown>.*), \.\.\. (?P<number>\d+) other sources", re.DOTALL)
_IN_MEMORY = re.compile(r"\d+ in-mem bytes")
_ELSEWHERE = re.compile(r"(?!file:)[a-z][a-z0-9+.-]+://.*", re.IGNORECASE)


def files_of(frame: pl.LazyFrame) -> list[str | Hidden]:
    """Return the absolute paths of the files that a lazy frame reads, and `HIDDEN` where there may be more.

    A plan in words shows the first few files of a scan; for more the plan itself is asked. Whatever is not
    understood counts as hidden: an open file, a data set of PyArrow, a plugin, words of another version.
    """
    try:
        plan = frame.explain(optimized=False)
    except Exception:
        return [HIDDEN]
    found: set[str] = set()
    hidden = False
    for line in plan.split("\n"):
        scan = _SCAN.fullmatch(line)
        if scan is None:
            hidden |= re.search(r"\bSCAN\b", line) is not None
            continue
        files = _scanned(scan["sources"], frame)
        hidden |= files is None
        found.update(files or ())
    hidden |= not re.search(r"\b(SCAN|DF) \[", plan)
    return [*sorted(found), *([HIDDEN] if hidden else [])]


def _scanned(words: str, frame: pl.LazyFrame) -> set[str] | None:
    """Return the files of one scan by its description; None where they are unknown."""
    more = _MORE.fullmatch(words)
    if more is not None:
        for paths in _lists(frame):
            if _holds(paths, more["shown"], int(more["number"])):
                return {os.path.abspath(file) for path in paths for file in _spellings(path)}
        return None
    pieces = words.split(", ")
    if all(_IN_MEMORY.fullmatch(piece) or _ELSEWHERE.fullmatch(piece) for piece in pieces):
        return set()
    # A name may have a comma in it, so all that may be meant is looked for.
    named = (
        ", ".join(pieces[start:stop])
        for start in range(len(pieces))
        for stop in range(start + 1, len(pieces) + 1)
    )
    files = {os.path.abspath(file) for name in named for file in _spellings(name) if os.path.lexists(file)}
    return files or None


def _holds(paths: Sequence[str], shown: str, number: int) -> bool:
    """Say whether files that are shown stand in a list, and so many others behind them.

    Polars makes one scan of several that are put one below the other.
    """
    for start in range(len(paths) - number):
        for stop in range(start + 1, len(paths) - number + 1):
            text = ", ".join(paths[start:stop])
            if text == shown:
                return True
            if not shown.startswith(text):
                break
    return False


def _spellings(path: str) -> list[str]:
    """Return the path that an address ``file://`` may mean, or the path itself."""
    if not path.lower().startswith("file:"):
        return [] if _ELSEWHERE.fullmatch(path) else [path]
    plain = urlsplit(path).path
    return [plain, unquote(plain)]


def _lists(frame: pl.LazyFrame) -> Iterator[list[str]]:
    """Yield the files of each scan of the plan; nothing where this version of Polars does not show it."""
    try:
        plan: Any = frame._ldf.visit()
        open_nodes = [plan.get_node()]
    except Exception:
        return
    while open_nodes:
        plan.set_node(open_nodes.pop())
        open_nodes += plan.get_inputs()
        try:
            paths = plan.view_current_node().paths
        except Exception:  # a node that is no scan, or one that cannot be looked at
            continue
        yield [os.fsdecode(path) for path in paths]
