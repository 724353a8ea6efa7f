"""Output through a pipe may be cut off, and the lines are for people, too."""

from __future__ import annotations

import json
import os
import subprocess
import sys

import pytest


@pytest.mark.few(1)
@pytest.mark.parametrize(
    "asked",
    [
        "list models",
        "list models --json",
        "--help",
        "anonymize --help",
        "completion bash",
        "assess DATA -k 2 --full",
    ],
)
def test_a_pipe_that_is_not_read_ends_quietly(asked, hospital_csv):
    """The status 1 would say that a policy is not satisfied."""
    reader, writer = os.pipe()
    os.close(reader)
    words = [str(hospital_csv) if word == "DATA" else word for word in asked.split()]
    if "assess" in words:
        words += ["--qi", "sex,zip"]
    process = subprocess.run(
        [sys.executable, "-m", "incrowd", *words],
        stdout=writer,
        stderr=subprocess.PIPE,
        text=True,
        check=False,
    )
    os.close(writer)
    assert (process.returncode, process.stderr) == (141, "")


@pytest.mark.parametrize("what", ["models", "algorithms", "metrics", "risks", "treatments"])
@pytest.mark.parametrize("width", [60, 80])
def test_a_list_fits_the_terminal_and_a_pipe(run, monkeypatch, what, width):
    monkeypatch.setenv("COLUMNS", str(width))
    lines = run("list", what).out.splitlines()
    assert max(map(len, lines)) <= width
    entries = json.loads(run("list", what, "--json").out)
    assert [line for line in lines if line and not line.startswith(" ")] == [each["name"] for each in entries]
    words = " ".join(" ".join(lines).split())
    for entry in entries:
        assert entry["summary"] in words
        assert entry["paper"] in words
        assert entry.get("no_promise", "") in words
        assert all(f"{name}: {meaning}" in words for name, meaning in entry["parameters"].items())
