"""The package's own files, parsed once a process for all tests that read them."""

from __future__ import annotations

import ast
from functools import cache
from pathlib import Path

import incrowd

__all__ = ["PACKAGE", "parsed", "sources"]

PACKAGE = Path(incrowd.__file__).parent


@cache
def sources() -> tuple[Path, ...]:
    """Every file of Python in the package."""
    return tuple(sorted(PACKAGE.rglob("*.py")))


@cache
def parsed(path: Path) -> ast.Module:
    """Parse a file; nobody may change what is returned."""
    return ast.parse(path.read_text(encoding="utf-8"))
