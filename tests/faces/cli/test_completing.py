"""Printed commands work as printed, in the shell that called the program."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from incrowd.faces.cli.completing import program

SCRIPT = f'#!/bin/sh\nexec "{sys.executable}" -c "import sys; from incrowd.faces.cli import main; sys.argv[0]=\'$0\'; main()" "$@"\n'


@pytest.fixture
def project(tmp_path, monkeypatch):
    """A folder with an environment inside, which is not on the path."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / ".venv" / "bin").mkdir(parents=True)
    place = tmp_path / ".venv" / "bin" / "incrowd"
    place.write_text(SCRIPT)
    place.chmod(0o755)
    monkeypatch.setenv("PATH", "/usr/bin:/bin")
    monkeypatch.delenv("UV", raising=False)
    return tmp_path


def shell(line: str, **more: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        ["bash", "--norc", "-c", line], capture_output=True, text=True, check=False, env=os.environ | more
    )


CALLED = (".venv/bin/incrowd", f"{sys.executable} -m incrowd", "a link/incrowd")


@pytest.mark.slow
@pytest.mark.parametrize("called", ["PATH", *(pytest.param(each, marks=pytest.mark.slow) for each in CALLED)])
def test_what_the_demo_prints_is_pasted_into_a_fresh_shell(project, called):
    more = {}
    if called == "PATH":
        called, more = "incrowd", {"PATH": f"{project}/.venv/bin:/usr/bin:/bin"}
    if called.startswith("a link"):
        (project / "a link").symlink_to(project / ".venv" / "bin")
        called = "'a link'/incrowd"
    (project / "out of the way").mkdir()
    process = shell(f"{called} demo --rows 500 -o 'out of the way/demo'", **more)
    assert process.returncode == 0, process.stderr
    commands = ("assess people.csv", "anonymize people.csv", "verify ../mine.csv")
    lines = [line for line in process.stdout.splitlines() if any(each in line for each in commands)]
    assert len(lines) == 3
    assert lines[1].startswith("  incrowd ") == (called == "incrowd")
    pasted = shell("\n".join(f"{line}; echo status $?" for line in lines), **more)
    assert [line for line in pasted.stdout.splitlines() if line.startswith("status")] == [
        "status 1", "status 0", "status 0",
    ], pasted.stderr  # fmt: skip
    # And the demo may be made anew.
    assert shell(f"{called} demo --rows 500 -o 'out of the way/demo' --force", **more).returncode == 0


def test_the_place_is_told_from_where_the_shell_will_be(project, monkeypatch):
    monkeypatch.setattr(sys, "argv", [".venv/bin/incrowd"])
    (project / "demo").mkdir()
    assert program() == ".venv/bin/incrowd"
    assert program(Path("demo")) == "../.venv/bin/incrowd"
    assert program(Path("/")) == f"{project}/.venv/bin/incrowd".removeprefix("/")
    assert program(Path("/usr/share/doc")) == f"{project}/.venv/bin/incrowd"
    monkeypatch.chdir(project / ".venv" / "bin")
    monkeypatch.setattr(sys, "argv", [f"{project}/.venv/bin/incrowd"])
    assert program() == "./incrowd"
    monkeypatch.setenv("PATH", f"{project}/.venv/bin")
    assert program() == "incrowd"
    monkeypatch.setenv("UV", "/usr/bin/uv")
    assert program() == "./incrowd", "what uv runs is on the path of that run alone"
    monkeypatch.setattr(sys, "argv", ["incrowd"])
    assert program() == "incrowd"


@pytest.mark.slow
def test_drafts_say_how_to_go_on(project):
    (project / "my people.csv").write_text("age,zip\n" + "".join(f"{n},{10000 + n % 7}\n" for n in range(60)))
    process = shell(".venv/bin/incrowd init 'my people.csv' --no-questions -o 'a policy.toml'")
    assert process.returncode == 0, process.stderr
    line = next(line for line in process.stdout.splitlines() if line.startswith("2. "))
    assert line == "2. .venv/bin/incrowd assess 'my people.csv' --policy 'a policy.toml'"
