"""The files of the package and of its verifier, parsed once a process for all tests that read them."""

from __future__ import annotations

import ast
from functools import cache
from pathlib import Path

import incrowd
import incrowd_verify

__all__ = ["PACKAGE", "VERIFIER", "parsed", "place", "sources"]

PACKAGE = Path(incrowd.__file__).parent
VERIFIER = Path(incrowd_verify.__file__).parent


@cache
def sources() -> tuple[Path, ...]:
    """Every file of Python in the package and in its verifier."""
    return (*sorted(PACKAGE.rglob("*.py")), *sorted(VERIFIER.rglob("*.py")))


def place(path: Path) -> Path:
    """Where a file stands in the package, or in the verifier, which is named then."""
    return path.relative_to(PACKAGE if path.is_relative_to(PACKAGE) else VERIFIER.parent)


@cache
def parsed(path: Path) -> ast.Module:
    """Parse a file; nobody may change what is returned."""
    return ast.parse(path.read_text(encoding="utf-8"))
