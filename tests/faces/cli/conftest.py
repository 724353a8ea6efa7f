from __future__ import annotations

import signal
import sys
from dataclasses import dataclass
from pathlib import Path

import pytest

from incrowd.faces.cli import main
from incrowd.samples import hospital


@dataclass
class Result:
    status: int
    out: str
    err: str


@pytest.fixture
def run(capsys, monkeypatch):
    """Run the command line in this process, as the console script does."""

    def call(*arguments: str) -> Result:
        monkeypatch.setattr(sys, "argv", ["incrowd", *arguments])
        handler = signal.getsignal(signal.SIGTERM)
        capsys.readouterr()
        with pytest.raises(SystemExit) as stop:
            main()
        signal.signal(signal.SIGTERM, handler)
        captured = capsys.readouterr()
        return Result(int(stop.value.code or 0), captured.out, captured.err)

    return call


@pytest.fixture(scope="session")
def hospital_csv(tmp_path_factory) -> Path:
    path = tmp_path_factory.mktemp("hospital") / "hospital.csv"
    hospital(3000, 1).write_csv(path)
    return path
