"""The tasks of the project: `make` runs the tasks of `tasks.py`, and so does Windows without make."""

from __future__ import annotations

import importlib.util
import re
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest
from packaging.version import Version

from lowest import RECORD, bounds

ROOT = Path(__file__).parent.parent


def loaded(monkeypatch, platform: str, venv: Path):
    """Load the tasks as a platform does, and return the tasks with the commands of each run."""
    monkeypatch.setattr(sys, "platform", platform)
    monkeypatch.setenv("VENV", str(venv))
    spec = importlib.util.spec_from_file_location("tasks_of_the_project", ROOT / "tasks.py")
    tasks = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(tasks)
    ran = []

    def run(command, env, check):
        ran.append(list(command))
        return subprocess.CompletedProcess(command, 1 if "--minutes" in command else 0)

    monkeypatch.setattr(tasks.subprocess, "run", run)
    monkeypatch.chdir(ROOT)
    return tasks, ran


def test_make_has_every_task_and_no_other(monkeypatch, tmp_path):
    tasks, _ = loaded(monkeypatch, "linux", tmp_path)
    result, phony = (set(line.split()) for line in re.findall(r"^(?:\.PHONY: )?(help .*?):?$",
                                                           (ROOT / "Makefile").read_text(), re.MULTILINE))  # fmt: skip
    assert result == phony == {"help", "clean", *tasks.TASKS}


@pytest.mark.parametrize(("platform", "python"), [("linux", "bin/python"), ("win32", "Scripts/python")])
def test_a_task_makes_its_environment_once_and_runs_in_it(monkeypatch, tmp_path, platform, python):
    tasks, ran = loaded(monkeypatch, platform, tmp_path)
    tasks.main(["demo"])
    place = str(tmp_path / python)
    assert ran == [
        [sys.executable, "-m", "venv", str(tmp_path)],
        [
            place,
            "-m",
            "pip",
            "install",
            "--quiet",
            *("--editable", "./gate", "--editable", "./verify", "--editable", "."),
        ],
        [place, "-m", "incrowd", "demo", "-o", "demo-release", "--force"],
    ]
    tasks.main(["demo"])
    assert len(ran) == 4


@pytest.mark.parametrize(
    ("file", "place"),
    [
        ("src/incrowd/release/tables/audit.py", "tests/release/tables"),
        ("src/incrowd/release/jobs/make/account.py", "tests/release/jobs/make"),
        ("src/incrowd/release/jobs/later/ledger/people.py", "tests/release/jobs/later"),
        ("src/incrowd/course/checking.py", "tests/course"),
        ("src/incrowd/__init__.py", "tests"),
        ("gate/src/incrowd_gate/verdict.py", "tests/gate"),
        ("verify/src/incrowd_verify/cells.py", "tests/verification"),
        ("gate/src/incrowd_gate/rules/people.py", "tests/gate"),
        ("tests/test_tasks.py", "tests/test_tasks.py"),
    ],
)
def test_a_file_has_the_tests_of_its_room(monkeypatch, tmp_path, file, place):
    tasks, ran = loaded(monkeypatch, "linux", tmp_path)
    monkeypatch.setenv("FILE", file)
    tasks.main(["test-for"])
    assert ran[-1][-1] == place
    assert Path(place).exists()


@pytest.mark.parametrize(
    ("file", "word"), [("", "name a file"), ("nowhere.py", "name a file"), ("README.md", "no file of src")]
)
def test_tests_of_no_file_are_refused(monkeypatch, tmp_path, file, word):
    tasks, _ = loaded(monkeypatch, "linux", tmp_path)
    monkeypatch.setenv("FILE", file)
    with pytest.raises(SystemExit, match=word):
        tasks.main(["test-for"])


def test_the_exit_status_of_a_command_is_that_of_the_task(monkeypatch, tmp_path):
    tasks, ran = loaded(monkeypatch, "linux", tmp_path)
    monkeypatch.setenv("SEED", "7")
    with pytest.raises(SystemExit) as stop:
        tasks.main(["fuzz"])
    assert stop.value.code == 1
    assert ran[-1][1:] == ["-m", "fuzz", "--minutes", "10", "--seed", "7"]


@pytest.mark.skipif(sys.platform != "linux", reason="other systems have no such folder")
@pytest.mark.parametrize("has_room", [True, False])
def test_files_of_quick_tests_lie_in_memory_where_there_is_room(monkeypatch, tmp_path, has_room):
    tasks, _ = loaded(monkeypatch, "linux", tmp_path / "venv")
    monkeypatch.setattr(tasks, "MEMORY", tmp_path)
    monkeypatch.setattr(tasks, "ROOM", 0 if has_room else 10**18)
    monkeypatch.setattr(tasks, "install", lambda extra: None)
    monkeypatch.delenv("TMPDIR", raising=False)
    folders = []

    def run(command, env, check):
        folders.append(env.get("TMPDIR"))
        assert not has_room or list(tmp_path.iterdir()) == [Path(env["TMPDIR"])]
        return subprocess.CompletedProcess(command, 1)

    monkeypatch.setattr(tasks.subprocess, "run", run)
    with pytest.raises(SystemExit):
        tasks.main(["test"])
    assert [folder is not None for folder in folders] == [has_room]
    # Nothing stays in memory, also of a run that failed.
    assert list(tmp_path.iterdir()) == []


def test_an_unknown_task_is_refused_and_none_lists_all(monkeypatch, tmp_path, capsys):
    tasks, ran = loaded(monkeypatch, "linux", tmp_path)
    with pytest.raises(SystemExit, match="no task 'tset'; there are demo, test"):
        tasks.main(["tset"])
    tasks.main([])
    assert ran == []
    assert len(capsys.readouterr().out.splitlines()) == len(tasks.TASKS) + 1


UNTESTED = {"snowflake-connector-python", "jupyterlab", "incrowd", "presidio-analyzer"}
"""No test uses these: a server or a language model is missing, or nothing is imported; or it is the package."""


def test_every_lower_bound_was_installed_once():
    """The record is of the last run of ``make oldest``, so a bound that was moved since needs another."""
    versions = dict(line.split("==") for line in RECORD.read_text(encoding="utf-8").split())
    for name, bound in bounds():
        assert Version(versions[name]) == Version(bound), f"{name}: run `make oldest`"


def test_the_lowest_versions_that_are_tested_are_those_of_every_extra():
    """`oldest` installs the lowest versions of the extra "test"."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    extras = project["optional-dependencies"]
    tested = {*project["dependencies"], *extras["test"]}
    used = {each for extra in extras.keys() - {"test", "docs", "dev"} for each in extras[extra]}
    for folder in ("gate", "verify"):
        other = tomllib.loads((ROOT / folder / "pyproject.toml").read_text(encoding="utf-8"))["project"]
        tested |= {*other["dependencies"]}
        used |= {each for extra in other["optional-dependencies"].values() for each in extra}
    others = {*UNTESTED, "incrowd-gate"}
    wrong = {each for each in used - tested if re.match(r"[\w-]+", each).group() not in others}
    assert wrong == set()
