"""The pages for contributors name places in the code that are there."""

from __future__ import annotations

import ast
import re
from functools import cache
from pathlib import Path

import pytest

from package_sources import nodes, sources
from test_contributing import RECIPES

ROOT = Path(__file__).parents[1]
DECISIONS = tuple(
    f"docs/decisions/{page.name}" for page in sorted((ROOT / "docs" / "decisions").glob("*.md"))
)
PAGES = ("docs/architecture.md", "CONTRIBUTING.md", *DECISIONS)
PLACE = re.compile(r"[A-Za-z_][\w-]*(?:[./][A-Za-z_*][\w*-]*)+/?(?:\(\))?")
WRITTEN = (".toml", ".csv", ".parquet", ".json", ".html", ".xlsx", ".so", ".whl", ".arrow", ".pyc")
"""Endings of files that a user has."""
NEW = {step.path for steps in RECIPES.values() for step in steps if step.language == "py"}
"""Files that a recipe writes."""
OTHERS = {"math.fsum"}
"""Names of Python's own library."""


@cache
def modules() -> dict[str, frozenset[str]]:
    """Return the names that each file of the code defines, by the dotted path below `src`."""
    names = {}
    for path in sources():
        parts = path.with_suffix("").relative_to(ROOT).parts
        start = next(
            i for i, part in enumerate(parts) if part in ("incrowd", "incrowd_gate", "incrowd_verify")
        )
        own = [part for part in parts[start:] if part != "__init__"]
        definitions = {
            node.name
            for node in nodes(path)
            if isinstance(node, ast.FunctionDef | ast.ClassDef | ast.AsyncFunctionDef)
        }
        for node in nodes(path):
            target = node.target if isinstance(node, ast.AnnAssign) else None
            targets = node.targets if isinstance(node, ast.Assign) else [target]
            definitions |= {each.id for each in targets if isinstance(each, ast.Name)}
            definitions |= {each.attr for each in targets if isinstance(each, ast.Attribute)}
        names[".".join(own)] = frozenset(definitions)
    return names


def is_there(place: str) -> bool:
    """Say whether a path is a file or folder, or a dotted name a module or a name of a module."""
    plain = place.removesuffix("()").rstrip("/")
    folders = (
        ROOT,
        ROOT / "src" / "incrowd",
        *(ROOT / folder / "src" for folder in ("gate", "verify")),
        ROOT / "gate" / "src" / "incrowd_gate",
        ROOT / "verify" / "src" / "incrowd_verify",
        ROOT / "r" / "R",
        ROOT / "docs",
    )
    if any((folder / plain).exists() or (folder / f"{plain}.py").exists() for folder in folders):
        return True
    if "/" in plain:
        return any(name.replace(".", "/").endswith(f"/{plain.removesuffix('.py')}") for name in modules())
    parts = plain.removesuffix(".py").removeprefix("ic.").split(".")
    for cut in range(len(parts), 0, -1):
        module, rest = ".".join(parts[:cut]), parts[cut:]
        for name, names in modules().items():
            # A file of a room stands for the room, too.
            ends = any(f".{each}".endswith(f".{module}") for each in (name, name.rpartition(".")[0]))
            if ends and set(rest) <= names:
                return True
    # A class and its attribute, wherever it stands.
    return any(set(parts) <= names for names in modules().values())


def places(page: str) -> list[str]:
    text = (ROOT / page).read_text(encoding="utf-8")
    prose = re.sub(r"^```.*?^```", "", text, flags=re.MULTILINE | re.DOTALL)
    return [
        place
        for place in re.findall(r"`([^`\n]+)`", prose)
        if PLACE.fullmatch(place) and not place.endswith(WRITTEN) and place not in NEW | OTHERS
    ]


@pytest.mark.parametrize("page", PAGES)
def test_every_place_on_the_page_is_there(page):
    assert [place for place in places(page) if not is_there(place)] == []


def test_the_pages_name_many():
    assert sum(len(places(page)) for page in PAGES) > 200
    assert len((ROOT / "docs" / "architecture.md").read_text(encoding="utf-8").splitlines()) <= 400


@pytest.mark.parametrize(
    "gone",
    [
        "lattice/memory",
        "proof.SharedBudget",
        "release.jobs.apply",
        "release/jobs/account.py",
        "ic.unheard_of",
    ],
)
def test_the_guard_sees(gone):
    assert not is_there(gone)
