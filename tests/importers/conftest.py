"""Running the command line in this process."""

from __future__ import annotations

import sys
from types import SimpleNamespace

import pytest

from incrowd.faces.cli import main


@pytest.fixture
def run_command(capsys, monkeypatch):
    """Run a command, and return the exit status and the output."""

    def call(*arguments):
        monkeypatch.setattr(sys, "argv", ["incrowd", *map(str, arguments)])
        capsys.readouterr()
        with pytest.raises(SystemExit) as stop:
            main()
        output = capsys.readouterr()
        return SimpleNamespace(status=int(stop.value.code or 0), out=output.out, err=output.err)

    return call
