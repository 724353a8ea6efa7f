"""Raw values of verify in a private folder, which never stays after the run."""

from __future__ import annotations

import os
import signal
import stat
import subprocess
import sys

import pytest

import incrowd as ic
from incrowd.core.io.scratch import remove_dead

# Verifies a file that has to be copied first, says so and does not come to an end.
ENDLESS = """
import sys, time
from incrowd_verify import verification
from incrowd.faces.cli import main

def endless(*arguments, **settings):
    print("now", flush=True)
    time.sleep(300)

verification._checked = endless
main()
"""
POLICY = """version = 1
[columns.name]
role = "quasi"
[[models]]
model = "k-anonymity"
k = 2
"""


@pytest.fixture
def started(tmp_path, monkeypatch):
    """Start a run of verify over a file in another encoding, and wait until the file is copied."""
    (tmp_path / "policy.toml").write_text(POLICY)
    (tmp_path / "people.csv").write_text("name\nZoë\nZoë\n", encoding="latin-1")
    scratch = tmp_path / "scratch"
    scratch.mkdir()
    monkeypatch.setenv("TMPDIR", str(scratch))
    monkeypatch.setattr("tempfile.tempdir", None)
    process = subprocess.Popen(
        [sys.executable, "-c", ENDLESS, "verify", str(tmp_path / "people.csv"), "--policy",
         str(tmp_path / "policy.toml"), "--encoding", "latin-1"],
        stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
    )  # fmt: skip
    assert process.stdout is not None
    assert process.stdout.readline() == "now\n"
    yield process, scratch
    process.kill()
    process.communicate()
    monkeypatch.undo()


def verified(folder):
    return ic.verify(folder / "people.csv", folder / "policy.toml", encoding="latin-1")


def test_the_copy_is_private_and_stays_while_verify_removes_what_another_command_left(started, tmp_path):
    _, scratch = started
    (folder,) = scratch.iterdir()
    assert stat.S_IMODE(folder.stat().st_mode) == 0o700
    (copy,) = folder.glob("*.csv")
    assert verified(tmp_path).keeps_limits
    remove_dead(scratch)
    assert copy.read_text(encoding="utf-8") == "name\nZoë\nZoë\n"
    assert list(scratch.iterdir()) == [folder]
    # What another command left is nobody's.
    left = scratch / "incrowd-0123456789ab.tmp"
    left.mkdir(0o700)
    (left / "lock").touch()
    (left / "rows.parquet").touch()
    not_ours = scratch / "incrowd-notes.tmp"
    not_ours.mkdir()
    (scratch / "incrowd-0123456789ac.tmp").symlink_to(not_ours)
    assert verified(tmp_path).keeps_limits
    assert not left.exists()
    assert not_ours.exists()


@pytest.mark.few(1)
@pytest.mark.parametrize("cleaner", ["verify", "any other run"])
def test_the_next_run_removes_what_a_killed_one_left(started, tmp_path, cleaner):
    process, scratch = started
    process.kill()
    process.communicate()
    (folder,) = scratch.iterdir()
    assert list(folder.glob("*.csv"))
    verified(tmp_path) if cleaner == "verify" else remove_dead(scratch)
    assert list(scratch.iterdir()) == []


def test_a_signal_leaves_nothing(started):
    process, scratch = started
    process.send_signal(signal.SIGTERM)
    _, errors = process.communicate(timeout=60)
    assert (process.returncode, errors) == (143, "incrowd: terminated before it was done\n")
    assert list(scratch.iterdir()) == []


def test_a_forked_child_removes_nothing(tmp_path, monkeypatch):
    from incrowd_gate.scratch import PrivateFolder

    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    folder = PrivateFolder()
    with monkeypatch.context() as child:
        child.setattr(os, "getpid", lambda: 1)
        with folder as path:
            pass
    assert list(tmp_path.iterdir()) == [path]
