"""Modules have documented names, which stay when the rooms move: both names are one module."""

from __future__ import annotations

import subprocess
import sys
from importlib import import_module
from pathlib import Path

import pytest

import incrowd as ic

PLACES = ic._PLACES
PACKAGE = Path(ic.__file__).parent


@pytest.mark.parametrize("name", PLACES)
def test_a_documented_name_is_the_module_itself(name):
    module = import_module(f"incrowd.{name}")
    assert module is import_module(PLACES[name])
    assert module.__name__ == module.__spec__.name == PLACES[name]
    assert getattr(ic, name) is module


def test_type_checkers_read_the_same_names():
    stubs = {path.stem: path.read_text() for path in PACKAGE.glob("*.pyi") if path.stem != "__init__"}
    assert stubs == {
        name: f'"""`{place}`, by its documented name."""\n\nfrom {place} import *\n'
        for name, place in PLACES.items()
    }


@pytest.mark.parametrize(
    "name", ["compat.p29", "compat.petworks.attributetypes", "report.charts", "privacy.k_anonymity"]
)
def test_so_are_the_modules_below(name):
    room, _, rest = name.partition(".")
    assert import_module(f"incrowd.{name}") is import_module(f"{PLACES[room]}.{rest}")


def test_a_function_with_the_name_of_its_module_stays_a_function():
    code = (
        "import incrowd.privacy.t_closeness\n"
        "assert callable(incrowd.privacy.t_closeness)\n"
        "from incrowd.privacy import k_anonymity\n"
        "assert callable(k_anonymity)\n"
    )
    subprocess.run([sys.executable, "-c", code], check=True)


def test_a_module_runs_as_a_program_by_its_documented_name():
    command = [sys.executable, "-m", "incrowd.compat.comp430"]
    said = subprocess.run(command, capture_output=True, text=True, check=False)
    assert "Usage: python -m incrowd.compat.comp430" in said.stdout + said.stderr


@pytest.mark.parametrize("name", ["incrowd.privacy.no_such_model", "incrowd.no_such_room"])
def test_other_names_are_refused_as_usual(name):
    with pytest.raises(ModuleNotFoundError, match=name.rpartition(".")[2]):
        import_module(name)


def test_an_import_loads_no_room():
    code = "import sys, incrowd; sys.exit(len([name for name in sys.modules if name.startswith('incrowd.')]))"
    subprocess.run([sys.executable, "-c", code], check=True)
