"""A bundle of wheels: the contents, and an installation and release without a network."""

from __future__ import annotations

import importlib.util
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent
OFFLINE = ("unshare", "--map-root-user", "--net")
"""Runs a command in a network of its own, which has no other machine."""


@pytest.fixture
def bundle(tmp_path):
    """Fill a folder as `make bundle` does."""

    def filled(*options):
        subprocess.run([sys.executable, "-m", "pip", "install", "--quiet", "uv"], check=True)
        command = [sys.executable, str(ROOT / "channels/bundle.py"), str(tmp_path / "bundle"), *options]
        subprocess.run(command, check=True, capture_output=True)
        return tmp_path / "bundle"

    return filled


@pytest.mark.slow
@pytest.mark.skipif(
    sys.platform != "linux" or shutil.which(OFFLINE[0]) is None, reason="no network of its own"
)
def test_a_bundle_installs_and_releases_without_a_network(bundle):
    folder = bundle()
    page = (folder / "README.txt").read_text().splitlines()
    assert len(page) == 5
    commands = [line.partition(": ")[2] for line in page[1:4]]
    commands[0] = re.sub(r"^\S+", sys.executable, commands[0])
    environment = {
        name: value for name, value in os.environ.items() if not name.startswith(("PIP_", "PYTHON"))
    }
    for command in commands:
        subprocess.run(
            [*OFFLINE, *command.split()], cwd=folder, env=environment, check=True, capture_output=True
        )
    assert (folder / "demo/release/release.csv").exists()
    # There was no network: what the folder lacks is not fetched from elsewhere.
    lacking = [*OFFLINE, "env/bin/python", "-m", "pip", "install", "--retries", "0", "six==1.16.0"]
    assert subprocess.run(lacking, cwd=folder, env=environment, check=False, capture_output=True).returncode
    # A wheel that was changed on its way is refused.
    wheel = next(folder.glob("incrowd-*.whl"))
    wheel.write_bytes(wheel.read_bytes() + b" ")
    anew = subprocess.run(
        [*OFFLINE, *commands[1].split(), "--force-reinstall"],
        cwd=folder, env=environment, check=False, capture_output=True, text=True,
    )  # fmt: skip
    assert "DO NOT MATCH THE HASHES" in anew.stderr


@pytest.mark.slow
def test_a_bundle_for_another_system_has_its_wheels_and_its_commands(bundle):
    folder = bundle("--system", "windows", "--python", "3.12")
    platforms = {wheel.stem.split("-")[-1] for wheel in folder.glob("*.whl")}
    assert platforms == {"any", "win_amd64"}
    # Typer needs it on Windows alone.
    assert list(folder.glob("colorama-*.whl"))
    assert r"env\Scripts\incrowd demo -o demo" in (folder / "README.txt").read_text()
    pinned = (folder / "requirements.txt").read_text().splitlines()
    assert len(pinned) == len(list(folder.glob("*.whl")))
    assert all(re.fullmatch(r"\S+==\S+ --hash=sha256:[0-9a-f]{64}", line) for line in pinned)


def test_a_system_that_is_not_known_is_named():
    spec = importlib.util.spec_from_file_location("bundle_of_the_project", ROOT / "channels/bundle.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    assert {"linux", "linux-arm", "macos", "windows"} == set(module.SYSTEMS)
    command = [sys.executable, str(ROOT / "channels/bundle.py"), "x", "--system", "beos"]
    failed = subprocess.run(command, capture_output=True, text=True, check=False)
    assert failed.returncode == 2
    assert "linux-arm" in failed.stderr
