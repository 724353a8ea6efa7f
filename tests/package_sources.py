"""The files of the package, the gate and the verifier, parsed and walked once per process for all tests."""

from __future__ import annotations

import ast
from functools import cache
from pathlib import Path

import incrowd
import incrowd_gate
import incrowd_verify

__all__ = ["GATE", "PACKAGE", "VERIFIER", "nodes", "parsed", "place", "sources"]

PACKAGE = Path(incrowd.__file__).parent
GATE = Path(incrowd_gate.__file__).parent
VERIFIER = Path(incrowd_verify.__file__).parent


@cache
def sources() -> tuple[Path, ...]:
    """Every file of Python in the package, the gate and the verifier."""
    return tuple(path for root in (PACKAGE, GATE, VERIFIER) for path in sorted(root.rglob("*.py")))


def place(path: Path) -> Path:
    """Where a file stands in the package, or in the gate or the verifier, which is named then."""
    roots = (PACKAGE, GATE.parent, VERIFIER.parent)
    return path.relative_to(next(root for root in roots if path.is_relative_to(root)))


@cache
def parsed(path: Path) -> ast.Module:
    """Parse a file, where nobody may change the result."""
    return ast.parse(path.read_text(encoding="utf-8"))


@cache
def nodes(path: Path) -> tuple[ast.AST, ...]:
    """Walk a parsed file, the outer nodes before the inner ones."""
    return tuple(ast.walk(parsed(path)))
