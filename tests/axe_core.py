"""axe-core of npm, which looks for barriers on a page."""

from __future__ import annotations

import base64
import hashlib
import json
import shutil
import subprocess
import tarfile
from typing import Any

import pytest

__all__ = ["axe", "findings"]

AXE = "4.12.1"
AXE_IS = "s7iGf5GaVMxEG0ENN9x+xTr7GFZCb1ZP/1uATUpCEK2X78nDB3RwbtFCo9pGAf9ru+VwoQ464DkaLEeRM08wJA=="
"""What npm publishes as that version: SHA-512."""


@pytest.fixture(scope="module")
def axe(tmp_path_factory: pytest.TempPathFactory) -> str:
    """axe-core of npm, from a package that is checked before the run."""
    if shutil.which("npm") is None:
        pytest.skip("npm is not installed")
    folder = tmp_path_factory.mktemp("axe")
    got = subprocess.run(
        ["npm", "pack", f"axe-core@{AXE}"], cwd=folder, capture_output=True, check=False, timeout=300
    )
    if got.returncode:
        pytest.skip("npm does not reach its registry")
    package = folder / f"axe-core-{AXE}.tgz"
    assert base64.b64encode(hashlib.sha512(package.read_bytes()).digest()).decode() == AXE_IS
    with tarfile.open(package) as packed:
        script = packed.extractfile("package/axe.min.js")
        assert script is not None
        return script.read().decode()


def findings(browser: Any, axe: str, settings: dict[str, Any]) -> list[str]:
    """Run axe-core with settings of `axe.run` on a browser's page, and return all violations."""
    browser.execute_script(
        "if (!window.axe) { const s = document.createElement('script');"
        "s.textContent = arguments[0]; document.head.append(s); }",
        axe,
    )
    result = browser.execute_async_script(
        """
        const done = arguments[arguments.length - 1];
        axe.run(document, {...arguments[0], resultTypes: ['violations']}).then(
            found => done(JSON.stringify(found.violations.map(each =>
                `${each.id}: ${each.nodes.slice(0, 3).map(node => node.html.slice(0, 200)).join(' | ')}`))),
            error => done(JSON.stringify([String(error)])));
        """,
        settings,
    )
    document: list[str] = json.loads(result)
    return document
