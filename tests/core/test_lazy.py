"""Libraries are imported at first use."""

from __future__ import annotations

import pickle
import re
import shlex
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

import incrowd
from crossed import quick
from incrowd.core import lazy
from incrowd.core.lazy import LazyModule
from incrowd.samples import hospital


@pytest.mark.slow
def test_a_module_is_imported_when_a_name_of_it_is_used():
    job = (
        "import sys; from incrowd.core.lazy import np, pl; assert not {'numpy', 'polars'} & set(sys.modules); "
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
        "import sys; sys.argv = ['incrowd', 'list', '--help']; from incrowd.faces.cli import main\n"
        "try: main()\nexcept SystemExit: pass\n"
        "loaded = {name.rpartition('.')[2] for name in sys.modules if '.commands.' in name}\n"
        "print(sorted(loaded))"
    )
    ran = subprocess.run([sys.executable, "-c", job], capture_output=True, text=True, check=True)
    assert ran.stdout.endswith("\n['list_']\n")
    assert "Usage: incrowd list" in ran.stdout


def test_the_version_is_printed_without_the_commands():
    job = (
        "import sys; sys.argv = ['incrowd', '--version']; from incrowd.__main__ import main\nmain()\n"
        "print(sorted(name for name in sys.modules if name.startswith(('incrowd.', 'typer', 'click'))))"
    )
    ran = subprocess.run([sys.executable, "-c", job], capture_output=True, text=True, check=True)
    assert ran.stdout == f"incrowd {incrowd.__version__}\n['incrowd.__main__']\n"


HEAVY = {"numba", "scipy", "pandas", "pyarrow", "duckdb", "altair", "pydantic", "rich", "stdnum"}
LOADED_AT_ONCE = {
    "--help": ["typer"],
    "anonymise": ["pydantic", "typer"],
    "anonymize --help": ["pydantic", "typer"],
    "verify --help": ["pydantic", "typer"],
}
"""Calls that read no table, and the libraries that they load; Typer reads options by Pydantic."""


@pytest.mark.few(1)
@pytest.mark.parametrize("call", quick(LOADED_AT_ONCE, "--help", "anonymise"))
def test_help_and_a_wrong_command_load_neither_polars_nor_numpy(call):
    job = (
        "import sys; from incrowd.__main__ import main\n"
        "try: main()\nexcept SystemExit: pass\n"
        f"print(sorted({HEAVY | {'numpy', 'polars', 'narwhals', 'typer'}!r} & set(sys.modules)))"
    )
    ran = subprocess.run(
        [sys.executable, "-c", job, *call.split()], capture_output=True, text=True, check=True
    )
    assert ran.stdout.splitlines()[-1] == str(LOADED_AT_ONCE[call])


ROOT = Path(__file__).parents[2]
A_COMMAND = "from incrowd.faces.cli import main\ntry: main()\nexcept SystemExit as stop: assert not stop.code"
TABLE = "anonymize people.csv -o out.csv --qi age,zip --sensitive diagnosis --unlisted drop"
TREES = f"{TABLE} --unanswered write --max-suppression 0.5 --hierarchy zip=prefix --hierarchy age=intervals:5,10,20"
SMALL_JOBS = {
    "demo --rows 1000 -o demo": {"duckdb", "pydantic", "rich"},
    f"{TREES} -k 5 --report report.html": {"pydantic", "rich"},
    f"{TREES} -k 5 --full": {"pydantic", "rich"},
    f"{TREES} -k 5 -l 2": {"pydantic", "rich"},
    f"{TREES} -k 5 -t 0.7": {"pydantic", "rich"},
    f"{TREES} -k 5 --hierarchy diagnosis=flat -t 0.7": {"pydantic", "rich"},
    f"{TREES} -k 5 --algorithm mdav": {"pydantic", "rich"},
    "README": set(),
}
"""Jobs on small tables, and what they load of the libraries that take long; the demo is checked by DuckDB."""


@pytest.mark.slow
@pytest.mark.parametrize("job", quick(SMALL_JOBS, "README", f"{TREES} -k 5 -l 2"))
def test_a_small_job_loads_neither_the_compiler_nor_what_it_does_not_use(tmp_path, job):
    code = A_COMMAND
    if job == "README":
        code = re.findall(r"^```python\n(.*?)^```", (ROOT / "README.md").read_text("utf-8"), re.M | re.S)[0]
    elif "people.csv" in job:
        hospital(1_000, 1).write_csv(tmp_path / "people.csv")
    unused = (
        "incrowd.release.linked.judged",
        "incrowd.release.jobs.compare",
        "incrowd.release.jobs.make.plan",
    )
    show = f"\nimport sys; print(*({HEAVY | {*unused}!r} & set(sys.modules)), file=sys.stderr)"
    ran = subprocess.run(
        [sys.executable, "-c", code + show, *shlex.split(job)],
        cwd=tmp_path,
        capture_output=True,
        text=True,
        check=False,
    )
    assert ran.returncode == 0, ran.stderr
    assert set(ran.stderr.splitlines()[-1].split()) == SMALL_JOBS[job]
