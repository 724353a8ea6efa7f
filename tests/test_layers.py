"""Imports run downward: from wing to wing, from room to room, and from file to file within a room."""

from __future__ import annotations

import ast
from functools import cache
from graphlib import TopologicalSorter
from pathlib import Path

import pytest

from package_sources import GATE as GATE_FOLDER
from package_sources import PACKAGE, VERIFIER, nodes, parsed, place, sources

BY_NAME = ("samples", "compat", "course", "importers", "frames", "sklearn")
"""Rooms that users import by name, so they stand beside the wings: ``incrowd.compat.p29``."""
WINGS = ("core", "engines", "measures", "search", "release", "attacks", *BY_NAME, "faces")
"""The wings from the ground up: a file may import from lower wings and from its own."""

GATE = "incrowd_gate"
"""What a verdict is, a package of its own, which both implementations import."""
VERIFY = "incrowd_verify"
"""The verifier, a package of its own, which imports nothing of ours but the gate."""

GROUND = {
    *(f"{GATE}.{name}" for name in ("errors", "lazy", "parameters")),
    *(
        f"core.{name}"
        for name in (
            "documents",
            "errors",
            "lazy",
            "markup",
            "parameters",
            "plugins",
            "progress",
        )
    ),
}
"""The loose modules that everybody may import."""

TAKERS = {"core.errors", "core.lazy", "core.parameters", "core.io.scratch", "core.treatments.presidio"}
"""The files below the wing `release` that import something of the gate: errors, words, names, a folder."""

FLOORS = (
    {f"{GATE}.texts", f"{GATE}.words"},
    {GATE, f"{GATE}.profiles"},
    {VERIFY},
    {"core.kernels"},
    {"core.io"},
    {"core.hierarchy", "core.treatments", "core.reading"},
    {"core.table"},
    {"core.recoding"},
    {"engines.dialects"},
    {"engines", "measures.utility"},
    {"measures.privacy"},
    {"measures.risk", "search"},
    {"release.verification", "release.codebooks", "release.report", "release.sampling"},
    {"release.tables", "release.analyses"},
    {"release.policy", "release.drafting"},
    {"release.accounts"},
    {"release.jobs", "release.jobs.measure"},
    {"release.jobs.make"},
    {"release.jobs.later", "release.jobs.compare"},
    {"release.health"},
    {"release.linked"},
    {"attacks", "samples"},
    {"compat", "course", "importers", "frames", "sklearn", "faces.studio"},
    {"faces.cli"},
)
"""The rooms from the ground up: a file may import from lower floors and from its own room."""
FLOOR = {room: number for number, rooms in enumerate(FLOORS) for room in rooms}

CIRCLE = {"core.hierarchy.tree", "core.hierarchy.builders", "core.hierarchy.formats"}
"""The only circle: a tree is made by recipes and written to files, and both make trees."""

HEART = {"figures", "models", "quantities", "attribute", "classes", "limits"}
"""The files of the verifier that decide whether a limit holds."""
MOST_LINES = 1_200
"""Lines of the heart: whoever checks the checker reads them all."""
MODES = {"persons", "population", "lists", "groups"}
"""Files that the heart calls where a policy asks for people, a population, lists, few known cells, wildcards."""
READERS = {
    "tables", "databases", "source", "other_kinds", "policy", "demands", "spellings", "values", "cells",
    "recipes", "tree_files", "checks",
}  # fmt: skip
"""Files that the heart stands on: they read tables, policies, cells and hierarchies, and run statements."""

QUESTIONS = {
    "Where is a date read?": "core/reading",
    "How is `46+` read in a release of others?": "core/reading/cells.py",
    "Where is a value blanked, rounded or made a pseudonym?": "core/treatments",
    "Where is a hierarchy read from a file?": "core/hierarchy/formats.py",
    "How is a name quoted in SQL?": "engines/dialects/base.py",
    "Where is an Excel file read?": "core/io/kinds/excel.py",
    "How is a telephone number found in a text?": "incrowd_gate/texts/telephone.py",
    "Where are the charts of a report drawn?": "release/report/charts.py",
    "What is an equivalence class?": "core/table/classes.py",
    "Where are rows counted in memory?": "engines/memory.py",
    "Where is l counted on Spark?": "engines/spark",
    "Where is t-closeness defined?": "measures/privacy/t_closeness.py",
    "Where is the loss LM?": "measures/utility/loss.py",
    "What is prosecutor risk?": "measures/risk/prosecutor.py",
    "Where does Mondrian choose a cut?": "core/kernels/mondrian/partition.py",
    "How is a policy file read?": "release/policy/policy_file.py",
    "Who says that a release holds?": "incrowd_gate/verdict.py",
    "Where does `anonymize` begin?": "release/jobs/make/anonymize.py",
    "Does my regression come out the same?": "release/analyses",
    "Where is an earlier release remembered?": "release/jobs/later/ledger",
    "How many people does singling out reach?": "attacks/singling_out.py",
    "Where is a file of ARX read?": "importers/arx.py",
    "Where is `incrowd verify` printed?": "incrowd_verify/cli.py",
    "Where is a panel of the page drawn?": "faces/studio/panels",
    "Why was a record suppressed?": "release/jobs/make/reasons.py",
    "Which cells of a count table are unsafe?": "release/tables/primary.py",
    "What removes a point in the studio?": "faces/studio/mends.py",
    "Where is a decimal comma read?": "core/reading/spellings.py",
    "When is a batch refused?": "release/jobs/later/batch.py",
}
"""What a reader asks on the first day, and where the answer is looked for first."""


@cache
def modules() -> dict[str, Path]:
    """Every module by the name below the package, where the package itself is the empty text."""
    by_name = {}
    for path in sources():
        parts = place(path).with_suffix("").parts
        by_name[".".join(parts[:-1] if parts[-1] == "__init__" else parts)] = path
    return by_name


@cache
def imports_of(module: str) -> frozenset[str]:
    """Every module that a module imports, in any place and for any reason, including types."""
    targets = set()
    for node in nodes(modules()[module]):
        if isinstance(node, ast.ImportFrom):
            assert node.level == 0, f"{module} imports relatively"
            names = [f"{node.module}.{alias.name}" for alias in node.names]
        elif isinstance(node, ast.Import):
            names = [alias.name for alias in node.names]
        else:
            continue
        for name in names:
            package, _, rest = name.partition(".")
            if package in ("incrowd", GATE, VERIFY):
                known = rest if package == "incrowd" else name
                targets.add(known if known in modules() else known.rpartition(".")[0])
    return frozenset(targets - {module})


def room(module: str) -> str:
    """The room of a module, where a wing without rooms is a room."""
    parts = module.split(".")
    names = (".".join(parts[:most]) for most in (3, 2, 1))
    return next((name for name in names if name in FLOOR or name in GROUND), ".".join(parts[:2]))


def wing(module: str) -> str:
    return module.partition(".")[0]


def test_the_first_listing_is_the_architecture():
    assert {path.name for path in PACKAGE.iterdir() if path.is_dir()} - {"__pycache__"} == {*WINGS}
    assert {path.stem for path in PACKAGE.glob("*.py")} == {"__init__", "__main__"}
    # What a user imports says more: its pages, an example.
    for name in {*WINGS} - {*BY_NAME}:
        said = ast.get_docstring(parsed(modules()[name]))
        assert said is not None, name
        assert "\n\n" not in said, f"{name} says more than one sentence"


def test_every_room_has_a_floor_and_no_module_is_loose():
    assert {room(name) for name in modules()} == {"", "__main__", *WINGS, *GROUND, *FLOOR}


def test_imports_run_downward_from_wing_to_wing():
    order = {name: place for place, name in enumerate(WINGS)}
    for module in modules():
        for other in imports_of(module):
            if {wing(module), wing(other)} <= set(order):
                assert order[wing(other)] <= order[wing(module)], f"{module} imports {other}"


def test_imports_run_downward():
    upward = []
    for module in modules():
        here = room(module)
        for other in imports_of(module) if here in FLOOR else ():
            lower = room(other) in GROUND or FLOOR.get(room(other), len(FLOORS)) < FLOOR[here]
            # The version stands in the package itself.
            if not (lower or room(other) == here or (here, other) == ("faces.cli", "")):
                upward.append(f"{module} imports {other}")
    assert upward == []


def test_files_import_in_no_circle():
    graph = {name: imports_of(name) - (CIRCLE if name in CIRCLE else set()) for name in modules()}
    assert list(TopologicalSorter(graph).static_order())


def test_the_ground_knows_nothing_above():
    for module in GROUND:
        assert {room(other) for other in imports_of(module)} <= GROUND


@pytest.mark.parametrize(
    ("name", "others"),
    [
        # A kernel looks whether its job was cancelled before it begins.
        ("core.kernels", {"core.progress"}),
        ("engines.dialects", {"core.errors", "core.lazy", "core.plugins"}),
    ],
)
def test_a_room_that_stands_apart_knows_nothing_else(name, others):
    for module in modules():
        if room(module) == name:
            assert {room(other) for other in imports_of(module)} <= {name, *others}, module


def test_the_anonymizer_imports_the_gate_and_the_verifier_from_the_release_upward():
    above = {*WINGS[WINGS.index("release") :], GATE, VERIFY}
    for module in modules():
        others = {wing(other) for other in imports_of(module)} & {GATE, VERIFY}
        assert wing(module) in above or others <= ({GATE} if module in TAKERS else set()), module


def test_the_heart_of_the_verifier_imports_no_file_around_it():
    inner = {f"{VERIFY}.{other}" for other in HEART | MODES | READERS}
    for name in inner:
        others = {other for other in imports_of(name) if room(other) == VERIFY}
        assert others <= inner, name


def test_the_heart_of_the_verifier_can_be_read_in_an_afternoon():
    lines = [len((VERIFIER / f"{name}.py").read_text(encoding="utf-8").splitlines()) for name in HEART]
    assert sum(lines) <= MOST_LINES


def test_a_reader_finds_the_answer_at_the_first_guess():
    roots = (PACKAGE, GATE_FOLDER.parent, VERIFIER.parent)
    assert [
        question
        for question, place in QUESTIONS.items()
        if not any((root / place).exists() for root in roots)
    ] == []
