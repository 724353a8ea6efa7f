"""The lower bounds of all packages, and the versions of a run of ``make oldest``.

``python tests/lowest.py`` writes the versions of its own environment into ``tests/lowest.txt``.
"""

from __future__ import annotations

import tomllib
from collections.abc import Iterator
from importlib.metadata import version
from pathlib import Path

from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

ROOT = Path(__file__).parent.parent
RECORD = ROOT / "tests" / "lowest.txt"
TOOLS = ("docs", "dev")
"""Extras of tools that no user needs."""


def bounds() -> Iterator[tuple[str, str]]:
    """Yield each dependency of a package that has a lower bound, with the bound."""
    for folder in ("", "gate", "verify"):
        file = ROOT / folder / "pyproject.toml"
        project = tomllib.loads(file.read_text(encoding="utf-8"))["project"]
        extras = project["optional-dependencies"]
        every = [*project["dependencies"], *(each for name in extras.keys() - TOOLS for each in extras[name])]
        for requirement in map(Requirement, every):
            for each in requirement.specifier:
                if each.operator == ">=":
                    yield canonicalize_name(requirement.name), each.version


if __name__ == "__main__":
    lines = sorted({f"{name}=={version(name)}\n" for name, _ in bounds()})
    RECORD.write_text("".join(lines), encoding="utf-8")
