"""Results that are found when they are read."""

from __future__ import annotations

import pickle
from collections.abc import Iterator
from dataclasses import dataclass
from threading import Barrier, Thread
from typing import ClassVar

import pytest

from incrowd.core.parameters import Configured
from incrowd.core.table.measured import Measured


@dataclass(frozen=True)
class Longest(Configured):
    name: ClassVar[str] = "longest"


@dataclass(frozen=True)
class Shortest(Configured):
    name: ClassVar[str] = "shortest"


class Lengths(Measured[Configured, list[str], int]):
    """Lengths of texts, with a note of each that was measured."""

    noted: ClassVar[list[str]] = []

    def _measure(self, entry: Configured, source: list[str]) -> int:
        self.noted.append(entry.name)
        return {"longest": max, "shortest": min}[entry.name](map(len, source))


@pytest.fixture
def lengths() -> Iterator[Lengths]:
    Lengths.noted.clear()
    yield Lengths([Longest(), Shortest()], ["secret", "raw"])
    Lengths.noted.clear()


def test_each_is_measured_once_and_when_it_is_read(lengths):
    assert list(lengths) == ["longest", "shortest"]
    assert len(lengths) == 2
    assert "shortest" in lengths
    assert lengths.get("widest") is None
    assert "widest" not in lengths
    assert Lengths.noted == []
    assert [lengths["shortest"], lengths["shortest"]] == [3, 3]
    assert Lengths.noted == ["shortest"]
    assert dict(lengths) == {"longest": 6, "shortest": 3}
    assert Lengths.noted == ["shortest", "longest"]


def test_the_source_is_let_go_when_all_is_measured(lengths):
    source = vars(lengths)["_source"]
    assert lengths["longest"] == 6
    assert vars(lengths)["_source"] is source
    assert lengths["shortest"] == 3
    assert vars(lengths)["_source"] is None
    assert dict(lengths) == {"longest": 6, "shortest": 3}


def test_a_pickle_has_all_results_and_no_source(lengths):
    content = pickle.dumps(lengths)
    assert b"secret" not in content
    assert dict(pickle.loads(content)) == {"longest": 6, "shortest": 3}


def test_threads_that_read_the_same_last_result_both_get_it(monkeypatch, lengths):
    """Each has the source before it asks what was found, so nobody is left without."""
    assert lengths["longest"] == 6
    both, found = Barrier(2, timeout=60), []
    measure = Lengths._measure

    def slow(self, entry, source):
        both.wait()
        return measure(self, entry, source)

    monkeypatch.setattr(Lengths, "_measure", slow)
    threads = [Thread(target=lambda: found.append(lengths["shortest"])) for _ in range(2)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert found == [3, 3]
