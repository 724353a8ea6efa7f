"""Libraries are imported when they are first used."""

from __future__ import annotations

import pickle
import subprocess
import sys

import numpy as np
import pytest

from incrowd import lazy
from incrowd.lazy import LazyModule


def test_a_module_is_imported_when_a_name_of_it_is_used():
    job = (
        "import sys; from incrowd.lazy import np, pl; assert not {'numpy', 'polars'} & set(sys.modules); "
        "pl.DataFrame; assert 'polars' in sys.modules; print(np.arange(2).tolist())"
    )
    assert (
        subprocess.run([sys.executable, "-c", job], capture_output=True, text=True, check=True).stdout
        == "[0, 1]\n"
    )


def test_the_names_are_those_of_the_module():
    assert lazy.np.ndarray is np.ndarray
    with pytest.raises(AttributeError, match="numpy"):
        lazy.np.no_such_name  # noqa: B018


def test_a_module_that_is_not_installed_is_named_at_its_first_use():
    module = LazyModule("no_such_library")
    with pytest.raises(ModuleNotFoundError, match="no_such_library"):
        module.name  # noqa: B018


def test_other_processes_take_the_module_by_its_name():
    assert pickle.loads(pickle.dumps(lazy.np)) is np


def test_a_command_is_loaded_alone():
    job = (
        "import sys; sys.argv = ['incrowd', 'list', '--help']; from incrowd.cli import main\n"
        "try: main()\nexcept SystemExit: pass\n"
        "loaded = {name.rpartition('.')[2] for name in sys.modules if '.commands.' in name}\n"
        "print(sorted(loaded))"
    )
    ran = subprocess.run([sys.executable, "-c", job], capture_output=True, text=True, check=True)
    assert ran.stdout.endswith("\n['list_']\n")
    assert "Usage: incrowd list" in ran.stdout
