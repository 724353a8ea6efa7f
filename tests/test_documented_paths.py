"""A documented name is the path: the page's imports live there, for Python and for type checkers."""

from __future__ import annotations

import json
import re
import subprocess
import sys
from functools import cache
from importlib import import_module
from pathlib import Path

import pytest

import incrowd as ic

ROOT = Path(__file__).parents[1]
_PATH = re.compile(r"\bincrowd(?:\.[A-Za-z_]\w*)+")
_IMPORT = re.compile(r"^\s*from (incrowd[\w.]*) import (?:\(([^)]*)\)|(.*))$", re.MULTILINE)
NO_PATHS = ("incrowd.rb", "incrowd.command")
"""The formula of Homebrew, and an option of R."""


@cache
def documented() -> frozenset[str]:
    """Return every dotted path of the pages, the notebooks and the examples."""
    pages = [*ROOT.glob("*.md"), *ROOT.glob("docs/**/*.md"), *ROOT.glob("examples/**/*.py")]
    pages += ROOT.glob("src/incrowd/course/notebooks/*.ipynb")
    paths = set()
    for page in pages:
        # Recipes add what is not there yet, and entry points have names of their own.
        if page.name in ("CHANGELOG.md", "CONTRIBUTING.md") or page.name.startswith("add-"):
            continue
        text = page.read_text(encoding="utf-8").replace("\\n", "\n")
        paths |= {
            path.group()
            for path in _PATH.finditer(text)
            # `df.incrowd.risk` is the namespace of a frame; a file has no brackets.
            if text[path.start() - 1 : path.start()] not in (".", "/", "-", "_", "@")
        }
        for module, several, one in _IMPORT.findall(text):
            names = re.findall(r"^\s*(\w+)", (several or one).replace(",", "\n"), re.MULTILINE)
            paths |= {f"{module}.{name}" for name in names if name != "as"}
    return frozenset(path for path in paths if not path.startswith(NO_PATHS))


FIND = """
import json, sys
from importlib import import_module

missing = []
for path in json.load(sys.stdin):
    parts, at = path.split("."), 1
    thing = import_module(parts[0])
    while at < len(parts):
        name = ".".join(parts[: at + 1])
        try:
            thing = getattr(thing, parts[at])
        except AttributeError:
            try:
                thing = import_module(name)
            except ImportError:
                missing.append(path)
                break
        at += 1
print(json.dumps(missing))
"""
"""Looks for paths in a process that has imported nothing before."""


@pytest.mark.slow
def test_every_documented_path_is_there():
    assert {"incrowd.compat.p29", "incrowd.sklearn.Anonymizer", "incrowd.course.check"} <= documented()
    paths = json.dumps(sorted(documented()))
    process = subprocess.run(
        [sys.executable, "-c", FIND], input=paths, capture_output=True, text=True, check=True
    )
    assert json.loads(process.stdout) == []


@pytest.mark.slow
def test_type_checkers_find_the_same(tmp_path):
    pytest.importorskip("mypy")
    modules = {path for path in documented() if is_module(path)}
    lines = [f"import {module}" for module in sorted(modules)]
    for path in sorted(documented() - modules):
        module, _, name = path.rpartition(".")
        if is_module(module):
            lines.append(f"from {module} import {name} as name_{len(lines)}")
    (tmp_path / "user.py").write_text("\n".join(lines) + "\n")
    call = [sys.executable, "-m", "mypy", "--strict", "--cache-dir", str(tmp_path), str(tmp_path / "user.py")]
    process = subprocess.run(call, cwd=ROOT, capture_output=True, text=True, check=False)
    assert process.returncode == 0, process.stdout


def is_module(path: str) -> bool:
    place = ROOT / "src" / path.replace(".", "/")
    return place.is_dir() or place.with_suffix(".py").is_file()


def test_a_module_is_a_program_at_its_path():
    command = [sys.executable, "-m", "incrowd.compat.comp430"]
    said = subprocess.run(command, capture_output=True, text=True, check=False)
    assert "Usage: python -m incrowd.compat.comp430" in said.stdout + said.stderr


def test_a_function_with_the_name_of_its_module_stays_a_function():
    code = (
        "import incrowd.measures.privacy.t_closeness\n"
        "assert callable(incrowd.measures.privacy.t_closeness)\n"
        "from incrowd.measures.privacy import k_anonymity\n"
        "assert callable(k_anonymity)\n"
    )
    subprocess.run([sys.executable, "-c", code], check=True)


@pytest.mark.parametrize("name", ["incrowd.measures.privacy.no_such_model", "incrowd.no_such_room"])
def test_other_names_are_refused_as_usual(name):
    with pytest.raises(ModuleNotFoundError, match=name.rpartition(".")[2]):
        import_module(name)


def test_rooms_are_names_of_the_package():
    assert ic.privacy is import_module("incrowd.measures.privacy")
    assert ic.compat is import_module("incrowd.compat")
    assert {*ic._ROOMS} <= {*ic.__all__}


def test_an_import_loads_no_room():
    code = "import sys, incrowd; sys.exit(len([name for name in sys.modules if name.startswith('incrowd.')]))"
    subprocess.run([sys.executable, "-c", code], check=True)
