from __future__ import annotations

import signal
import sys
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import pytest

from incrowd.faces.cli import main as incrowd_main
from incrowd.release.verification import Verification, verify
from policy_texts import policy_text


@pytest.fixture
def check(tmp_path: Path) -> Callable[..., Verification]:
    """Write a file and a policy, and verify."""

    def run(
        content: str | bytes,
        columns: Sequence[str],
        models: Sequence[str],
        head: str = "",
        name: str = "out.csv",
        **options: Any,
    ) -> Verification:
        data = content.encode() if isinstance(content, str) else content
        (tmp_path / name).write_bytes(data)
        (tmp_path / "policy.toml").write_text(policy_text(columns, models, head), encoding="utf-8")
        return verify(tmp_path / name, tmp_path / "policy.toml", **options)

    return run


@pytest.fixture
def call(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> Callable[..., tuple[int, str, str]]:
    """Run the verifier's command, or `incrowd verify`, in this process and in the test's folder."""
    monkeypatch.chdir(tmp_path)

    def result_of(program: Callable[[], None], *arguments: str) -> tuple[int, str, str]:
        words = ["incrowd", "verify"] if program is incrowd_main else ["incrowd-verify"]
        monkeypatch.setattr(sys, "argv", [*words, *arguments])
        handler = signal.getsignal(signal.SIGTERM)
        with pytest.raises(SystemExit) as stop:
            program()
        signal.signal(signal.SIGTERM, handler)
        out, errors = capsys.readouterr()
        return int(stop.value.code or 0), out, errors

    return result_of
