from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import pytest

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
