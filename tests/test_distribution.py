"""The order of tests in a distributed run."""

from __future__ import annotations

from pathlib import Path
from types import SimpleNamespace

import pytest

from distribution import GUESSED, GUESSED_LONG, ON_SOURCES, Seconds, in_order


class Cache(dict):
    """pytest's cache, in memory."""

    set = dict.__setitem__


def ran(cache, **seconds):
    """Let tests take so long, in two phases each."""
    kept = Seconds(cache)
    for test, long in seconds.items():
        for _ in range(2):
            kept.pytest_runtest_logreport(SimpleNamespace(nodeid=test, duration=long / 2))
    kept.pytest_sessionfinish()


def test_what_took_longest_is_begun_first_after_spark_and_its_cluster():
    cache = Cache()
    ran(cache, short=0.1, long=9, some=1, more=2)
    units = {"many": ["some", "more", "short"], "one": ["long"], "cluster": ["short"], "spark": ["short"]}
    assert in_order(units, Seconds(cache)) == ["spark", "cluster", "one", "many"]


def test_a_test_that_did_not_run_this_time_keeps_its_seconds():
    cache = Cache()
    ran(cache, a=3, b=4)
    ran(cache, b=1)
    assert Seconds(cache).of(["a", "b"]) == pytest.approx(4)


@pytest.mark.parametrize("cache", [Cache(), None], ids=["new", "switched_off"])
def test_a_first_run_goes_by_the_number_of_tests_and_the_files_known_to_be_long(cache):
    ran(cache, other=5)
    seconds, long = Seconds(cache), "tests/fuzz/test_commands.py::test_it[x::y]"
    assert seconds.of(["new", long]) == pytest.approx(GUESSED + GUESSED_LONG)
    units = {"few": ["p", "q"], "many": ["r", "s", "t"], "tests/fuzz/test_commands.py": [long]}
    assert in_order(units, seconds) == ["tests/fuzz/test_commands.py", "many", "few"]


def test_all_tests_of_the_sources_are_in_one_process():
    folder = Path(__file__).parent
    readers = [
        file.relative_to(folder.parent).as_posix()
        for file in folder.rglob("test_*.py")
        if "\nfrom package_sources import" in file.read_text(encoding="utf-8")
    ]
    assert len(readers) == len(ON_SOURCES)
    assert [file for file in readers if not file.endswith(ON_SOURCES)] == []
