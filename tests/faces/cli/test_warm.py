"""`incrowd warm`: all kernels are compiled beforehand."""

from __future__ import annotations

import subprocess
import sys

import pytest

from incrowd.core.kernels import signatures, warming


@pytest.mark.slow
def test_all_kernels_are_compiled_beforehand():
    process = subprocess.run(
        [sys.executable, "-m", "incrowd", "warm"], capture_output=True, text=True, check=True, timeout=600
    )
    assert process.stdout == f"{sum(map(bool, signatures.listed().values()))} kernels are ready\n"
    for name in signatures.listed():
        signatures_of_kernel = signatures.kernel_named(name).dispatcher()._cache.signatures()
        assert signatures_of_kernel >= set(signatures.signatures_of(name)), name


class CancelledError(Exception):
    """An exception that ends a job from outside."""


class Impatient:
    """Ends the job with the first kernel."""

    def stage(self, name: str) -> None:
        assert name == "compiling"

    def advance(self, done: int, total: int) -> None:
        raise CancelledError


def test_no_further_kernel_begins_once_it_is_cancelled(monkeypatch):
    monkeypatch.setattr(signatures, "listed", lambda: {"trees:_shape": [[]], "lines:_scan": [[]]})
    monkeypatch.setattr(warming, "thread_count", lambda: 1)
    with pytest.raises(CancelledError):
        warming.warm(Impatient())
