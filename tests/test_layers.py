"""Imports run downward only."""

from __future__ import annotations

import ast
from pathlib import Path

import pytest

import incrowd

PACKAGE = Path(incrowd.__file__).parent

# From the ground up; a module may import what stands in a lower row, or beside it in its own package.
ROWS = (
    {"errors", "progress", "chance", "markup", "missing", "exact"},
    {"addresses"},
    {"parameters"},
    {"kernels"},
    {"hierarchy", "schema"},
    {"domain"},
    {"frequency"},
    {"classes"},
    {"recoding", "_recoding_file"},
    {"io", "population", "class_table", "union"},
    {"observed", "engines"},
    {"privacy", "utility", "risk"},
    {"lattice"},
    {"algorithms"},
    {
        "policy",
        "_policy_file",
        "assessment",
        "evaluation",
        "distributions",
        "learning",
        "guess",
        "reference",
    },
    {"publication"},
    {"release", "distributed", "anatomy", "processing", "randomization"},
    {"comparison", "application", "attacks"},
    {"samples"},
    {"verification"},
    {"report"},
    {"compat"},
    {"cli", "__main__", "__init__"},
)
ROW = {name: number for number, names in enumerate(ROWS) for name in names}
# Within a row: who may look at whom.
BESIDE = {
    ("schema", "hierarchy"),
    ("policy", "_policy_file"),
    # What saved it reads it, and what is read is checked before it is one.
    ("recoding", "_recoding_file"),
    ("_recoding_file", "recoding"),
    ("guess", "policy"),
    ("__main__", "cli"),
    ("cli", "__init__"),
    ("risk", "privacy"),
    ("learning", "evaluation"),
    ("learning", "distributions"),
    # A release that is made block by block, which is judged as any other.
    ("release", "distributed"),
    ("distributed", "release"),
    # A method that writes, imported when it is called.
    ("hierarchy", "io"),
    ("recoding", "io"),
    # A method that hands its object to the pages above it, imported when it is called.
    ("assessment", "report"),
    ("comparison", "report"),
    ("release", "report"),
}


def modules() -> list[Path]:
    return sorted(PACKAGE.rglob("*.py"))


def room(path: Path) -> str:
    first = path.relative_to(PACKAGE).parts[0]
    return first.removesuffix(".py")


def imported(path: Path) -> set[str]:
    """Rooms that a module imports when it runs; imports for the type checker alone do not count."""
    tree = ast.parse(path.read_text(encoding="utf-8"))
    for node in ast.walk(tree):
        if isinstance(node, ast.If) and "TYPE_CHECKING" in ast.unparse(node.test):
            node.body = []
    found = set()
    for node in ast.walk(tree):
        if isinstance(node, ast.ImportFrom):
            assert node.level == 0, f"{path} imports relatively"
            names = (
                [f"{node.module}.{alias.name}" for alias in node.names]
                if node.module == "incrowd"
                else [node.module or ""]
            )
        elif isinstance(node, ast.Import):
            names = [alias.name for alias in node.names]
        else:
            continue
        found |= {
            name.split(".")[1] if "." in name else "__init__"
            for name in names
            if name.split(".")[0] == "incrowd"
        }
    return {name if name in ROW else "__init__" for name in found}


@pytest.mark.parametrize("path", modules(), ids=lambda path: path.relative_to(PACKAGE).as_posix())
def test_imports_run_downward(path):
    here = room(path)
    assert here in ROW, f"{here} has no row yet: say where it stands"
    for other in imported(path) - {here}:
        lower = ROW[other] < ROW[here]
        assert lower or (here, other) in BESIDE, f"{here} imports {other}"


def test_the_verifier_shares_nothing_but_the_errors():
    for path in (PACKAGE / "verification").rglob("*.py"):
        assert imported(path) <= {"verification", "errors"}, path


def test_kernels_know_nothing_above():
    for path in (PACKAGE / "kernels").rglob("*.py"):
        assert imported(path) <= {"kernels"}, path
