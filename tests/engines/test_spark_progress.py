"""During our progress display Spark shows none, and Spark's opinion on pandas is hidden."""

from __future__ import annotations

import threading
from types import SimpleNamespace

import pytest

import incrowd as ic
from incrowd.core.progress import Silent, in_job, shown, with_bar
from incrowd.engines.spark import errors
from incrowd.engines.spark.errors import guarded


class Bar:
    """Spark's bar, which counts removals."""

    def __init__(self) -> None:
        self.taken, self.often = 0, threading.Event()

    def isDefined(self) -> bool:
        return True

    def get(self) -> Bar:
        return self

    def finishAll(self) -> None:
        self.taken += 1
        if self.taken > 2:
            self.often.set()


def session_with(bar: Bar) -> SimpleNamespace:
    context = SimpleNamespace(progressBar=lambda: bar)
    return SimpleNamespace(_jvm=object(), _jsc=SimpleNamespace(sc=lambda: context))


@pytest.mark.parametrize("verb", [with_bar, in_job])
def test_a_progress_is_known_where_it_is_shown(verb):
    @verb
    def job(*, progress=None):
        return shown()

    assert not job()
    assert job(progress=Silent())
    assert not shown()


@pytest.mark.parametrize("ours", [True, False])
def test_bars_of_spark_give_way_to_ours(monkeypatch, ours):
    monkeypatch.setattr(errors, "_BETWEEN", 0.01)
    bar = Bar()

    @with_bar
    def job(*, progress=None):
        with guarded(session_with(bar)):
            return bar.often.wait(5 if ours else 0.1)

    assert job(progress=Silent() if ours else None) == ours
    taken = bar.taken
    threading.Event().wait(0.1)
    assert bar.taken == taken
    assert not [thread for thread in threading.enumerate() if thread.name == "incrowd-hides-bars"]


def test_a_session_without_bars_and_one_of_connect():
    for session in (None, SimpleNamespace(_jvm=None)):
        with guarded(session):
            pass


@pytest.mark.filterwarnings("error::FutureWarning")
def test_spark_does_not_say_what_it_thinks_of_pandas(spark):
    assessment = ic.assess(spark.range(9).selectExpr("id % 3 as age"), ic.Schema(["age"]), progress=Silent())
    assert assessment.classes == 3
