"""`incrowd warm`: all kernels are compiled beforehand."""

from __future__ import annotations

import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor

import pytest

from incrowd.core.errors import PolicyError
from incrowd.core.kernels import signatures, warming
from incrowd.faces.cli.commands.warm import warm


@pytest.mark.slow
def test_all_kernels_are_compiled_beforehand():
    process = subprocess.run(
        [sys.executable, "-m", "incrowd", "warm"], capture_output=True, text=True, check=True, timeout=600
    )
    assert process.stdout == f"{sum(map(bool, signatures.listed().values()))} kernels are ready\n"
    for name in signatures.listed():
        signatures_of_kernel = signatures.kernel_named(name).dispatcher()._cache.signatures()
        assert signatures_of_kernel >= set(signatures.signatures_of(name)), name


def test_an_algorithm_has_its_own_kernels_compiled(monkeypatch):
    compiled = []
    monkeypatch.setattr(warming, "ProcessPoolExecutor", lambda *_, **__: ThreadPoolExecutor(1))
    monkeypatch.setattr(warming, "_compile", lambda name, ship: compiled.append(name))
    warm("agglomerative:rounds=2")
    assert set(compiled) == set(signatures.loops_of("agglomerative")) < signatures.listed().keys()
    assert "clusters.rebuild:joined" in compiled
    with pytest.raises(PolicyError, match="agglomerativ"):
        warm("agglomerativ")


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
