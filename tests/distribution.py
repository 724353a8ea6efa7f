"""Which process of a run takes which tests, and when."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

import pytest
from xdist.scheduler import LoadFileScheduling

__all__ = ["FilesAndSpark", "Seconds", "in_order"]

ON_SPARK = ("release/jobs/make/test_distributed.py", "fuzz/test_cases.py")
"""Files of tests on the session of Spark, beside those whose names say so."""
CLUSTER = "release/jobs/make/test_spark_cluster.py"
"""Has processes of its own and no use for the session; it waits for them half of its time."""
ON_SOURCES = (
    "engines/test_locked_connections.py", "engines/test_names.py", "faces/cli/test_messages.py",
    "faces/studio/test_job.py", "tests/test_doors.py", "tests/test_guests.py", "tests/test_layers.py",
    "tests/test_named_places.py", "tests/test_naming_of_settings.py", "tests/test_platforms.py",
    "tests/test_sql_texts.py", "tests/test_words.py",
)  # fmt: skip
"""Files of tests that read all sources, which one process parses once for all."""

LONG = (
    "fuzz/test_commands.py", "core/kernels/test_cache.py", "faces/studio/test_studio_hostile.py",
    "faces/studio/test_studio_for_all.py", "/test_contributing.py",
)  # fmt: skip
"""Files of few tests that take long, for the first run, which knows no times."""
GUESSED, GUESSED_LONG = 0.04, 10.0
"""Seconds of a test that never ran here."""


class Seconds:
    """The duration of each test in the last run here, kept in pytest's cache."""

    PLACE = "incrowd/seconds"

    def __init__(self, cache: Any) -> None:
        self._cache = cache
        self._known: dict[str, float] = cache.get(self.PLACE, {}) if cache is not None else {}
        self._now: dict[str, float] = {}

    def of(self, tests: Iterable[str]) -> float:
        """Add up how long tests take."""
        return sum(self._known.get(test, self._guess(test)) for test in tests)

    @staticmethod
    def _guess(test: str) -> float:
        return GUESSED_LONG if test.partition("::")[0].endswith(LONG) else GUESSED

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        """Add a phase of a test."""
        self._now[report.nodeid] = self._now.get(report.nodeid, 0.0) + report.duration

    def pytest_sessionfinish(self) -> None:
        """Keep the durations, also of tests that did not run."""
        if self._cache is not None:
            self._cache.set(self.PLACE, self._known | {test: round(t, 3) for test, t in self._now.items()})


def in_order(units: Mapping[str, Iterable[str]], seconds: Seconds) -> list[str]:
    """Order the units: Spark, then the cluster, then by duration, the longest first.

    A unit that takes long and is begun last keeps one process busy while all others have nothing to do.
    """
    first = ("spark", "cluster")
    return sorted(
        units, key=lambda unit: (first.index(unit) if unit in first else 2, -seconds.of(units[unit]))
    )


class FilesAndSpark(LoadFileScheduling):
    """A file's tests stay in a single process, and all tests with Spark in another, which begins with Spark.

    A session takes long to start and long to become fast, so there is one. Its tests are the longest
    part of a run that cannot be shared out. The next process begins with the cluster.
    Tests of all sources stay together, too: parsing takes longer than looking.
    """

    def __init__(self, config: pytest.Config, log: Any = None) -> None:
        super().__init__(config, log)
        self.seconds = Seconds(getattr(config, "cache", None))
        self._in_order = False
        config.pluginmanager.register(self.seconds)

    def _split_scope(self, nodeid: str) -> str:
        file = super()._split_scope(nodeid)
        if file.endswith(CLUSTER):
            return "cluster"
        if file.endswith(ON_SOURCES):
            return "sources"
        return "spark" if "spark" in nodeid.lower() or file.endswith(ON_SPARK) else file

    def _assign_work_unit(self, node) -> None:
        if not self._in_order:
            for unit in in_order(self.workqueue, self.seconds):
                self.workqueue.move_to_end(unit)
            self._in_order = True
        super()._assign_work_unit(node)
