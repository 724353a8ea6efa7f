"""Imports run downward: from room to room, and from file to file within a room."""

from __future__ import annotations

import ast
from functools import cache
from graphlib import TopologicalSorter
from pathlib import Path

import pytest

from package_sources import PACKAGE, parsed, sources

GROUND = {"errors", "lazy", "parameters", "progress"}
"""The loose modules that everybody may import."""

FLOORS = (
    {"kernels", "dialects", "gate", "profiles"},
    {"io", "verification"},
    {"hierarchy", "treatments", "reading", "presentation"},
    {"table"},
    {"recoding"},
    {"engines", "utility", "report"},
    {"privacy"},
    {"risk", "algorithms"},
    {"policy", "drafting"},
    {"accounts"},
    {"jobs"},
    {"attacks", "samples"},
    {"compat", "course", "frames", "importers", "sklearn", "studio"},
    {"cli"},
)
"""The rooms from the ground up: a file may import from lower floors and from its own room."""
FLOOR = {room: number for number, rooms in enumerate(FLOORS) for room in rooms}

CIRCLE = {"hierarchy.tree", "hierarchy.builders", "hierarchy.formats"}
"""The only circle: a tree is made by recipes and written to files, and both make trees."""


@cache
def modules() -> dict[str, Path]:
    """Every module by its name below the package; the package itself is the empty text."""
    found = {}
    for path in sources():
        parts = path.relative_to(PACKAGE).with_suffix("").parts
        found[".".join(parts[:-1] if parts[-1] == "__init__" else parts)] = path
    return found


@cache
def imported(module: str) -> frozenset[str]:
    """Every module that one imports, at whatever place and for whatever reason: types count, too."""
    found = set()
    for node in ast.walk(parsed(modules()[module])):
        if isinstance(node, ast.ImportFrom):
            assert node.level == 0, f"{module} imports relatively"
            names = [f"{node.module}.{alias.name}" for alias in node.names]
        elif isinstance(node, ast.Import):
            names = [alias.name for alias in node.names]
        else:
            continue
        for name in names:
            package, _, rest = name.partition(".")
            if package == "incrowd":
                found.add(rest if rest in modules() else rest.rpartition(".")[0])
    return frozenset(found - {module})


def room(module: str) -> str:
    return module.partition(".")[0]


def test_every_room_has_a_floor_and_no_module_is_loose():
    rooms = {room(name) for name in modules()}
    assert rooms == {"", "__main__", *GROUND, *FLOOR}
    loose = {path.stem for path in PACKAGE.glob("*.py")}
    assert loose == {"__init__", "__main__", *GROUND}
    assert len(FLOORS) <= 14


@pytest.mark.parametrize("module", sorted(name for name in modules() if room(name) in FLOOR))
def test_imports_run_downward(module):
    here = room(module)
    for other in imported(module):
        lower = room(other) in GROUND or FLOOR.get(room(other), len(FLOORS)) < FLOOR[here]
        # The version stands in the package itself.
        assert lower or room(other) == here or (here, other) == ("cli", ""), f"{module} imports {other}"


def test_files_import_in_no_circle():
    graph = {name: imported(name) - (CIRCLE if name in CIRCLE else set()) for name in modules()}
    assert list(TopologicalSorter(graph).static_order())


def test_the_ground_knows_nothing_above():
    for module in GROUND:
        assert {room(other) for other in imported(module)} <= GROUND


def test_the_verifier_shares_nothing_but_errors_and_how_a_database_is_reached():
    for module in modules():
        if room(module) == "verification":
            assert {room(other) for other in imported(module)} <= {
                "verification",
                "dialects",
                "errors",
                "gate",
                "profiles",
            }, module


HEART = {"figures", "models", "quantities", "attribute", "classes", "checks", "demands", "result"}
"""The files of the verifier that decide whether a limit holds."""
READERS = {
    "inputs", "tables", "source", "other_kinds", "policy", "spellings", "treatments", "cells", "spans", "recipes",
    "tree_files", "persons", "population",
}  # fmt: skip
"""Files of the verifier that the heart stands on: they read tables, policies, hierarchies and people."""


@pytest.mark.parametrize("name", sorted(HEART | READERS))
def test_the_heart_of_the_verifier_imports_no_file_around_it(name):
    inner = {f"verification.{other}" for other in HEART | READERS}
    others = {other for other in imported(f"verification.{name}") if room(other) == "verification"}
    assert others <= inner


def test_kernels_know_nothing_above():
    for module in modules():
        if room(module) == "kernels":
            # A kernel looks whether its job was cancelled before it begins.
            assert {room(other) for other in imported(module)} <= {"kernels", "progress"}, module


def test_dialects_know_nothing_above():
    for module in modules():
        if room(module) == "dialects":
            assert {room(other) for other in imported(module)} <= {"dialects", "errors", "lazy"}, module
