"""The workflows run tasks of the project, on each system and on Pythons that the package names."""

from __future__ import annotations

import re
import tomllib
from pathlib import Path

import pytest
import yaml

from test_tasks import ROOT, loaded

PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
NAMED = re.findall(r"Python :: (3\.\d+)", "\n".join(PROJECT["classifiers"]))
LOWEST = PROJECT["requires-python"].removeprefix(">=")
WORKFLOWS = sorted((ROOT / ".github" / "workflows").glob("*.yml"))


def steps(path: Path):
    """Return the steps of a workflow, of all jobs."""
    return [step for job in read(path)["jobs"].values() for step in job["steps"]]


def read(path: Path):
    # YAML takes the key "on" for a truth value.
    return yaml.safe_load(path.read_text(encoding="utf-8").replace("\non:", '\n"on":', 1))


@pytest.mark.parametrize("path", WORKFLOWS, ids=lambda path: path.stem)
def test_a_workflow_runs_tasks_that_there_are(path, monkeypatch, tmp_path):
    tasks, _ = loaded(monkeypatch, "linux", tmp_path)
    run = [
        task
        for step in steps(path)
        for task in re.findall(r"^(?:make|python tasks\.py) (\w+)", step.get("run", ""))
    ]
    assert run
    assert set(run) <= set(tasks.TASKS)


@pytest.mark.parametrize("path", WORKFLOWS, ids=lambda path: path.stem)
def test_a_workflow_may_do_no_more_than_it_says(path):
    workflow = read(path)
    assert workflow["permissions"] == {"contents": "read"}
    assert all(step["uses"].count("@") == 1 for step in steps(path) if "uses" in step)


def test_the_quick_suite_runs_on_each_system_and_several_pythons():
    quick = read(ROOT / ".github" / "workflows" / "test.yml")["jobs"]["quick"]
    matrix = quick["strategy"]["matrix"]
    assert {name.partition("-")[0] for name in matrix["os"]} == {"ubuntu", "windows", "macos"}
    assert {LOWEST, "3.13", NAMED[-1]} <= set(matrix["python"]) <= set(NAMED)
    # Windows has no make.
    assert all(not step.get("run", "").startswith("make") for step in quick["steps"])


def test_the_lowest_versions_run_on_the_lowest_python():
    oldest = read(ROOT / ".github" / "workflows" / "test.yml")["jobs"]["oldest"]["steps"]
    assert [step["with"]["python-version"] for step in oldest if "setup-python" in step.get("uses", "")] == [
        LOWEST
    ]
    assert oldest[-1]["run"] == "make oldest"


def test_what_the_fuzzer_finds_at_night_becomes_an_issue():
    fuzz = read(ROOT / ".github" / "workflows" / "slow.yml")["jobs"]["fuzz"]
    assert "run_id" in fuzz["env"]["SEED"]
    assert fuzz["permissions"]["issues"] == "write"
    assert any("gh issue create" in step.get("run", "") for step in fuzz["steps"])
