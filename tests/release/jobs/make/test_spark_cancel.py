"""Jobs of Spark that are given up when the job is cancelled."""

from __future__ import annotations

import threading

import pytest

import incrowd as ic
from incrowd.core.progress import Cancellable, Cancelled, running
from incrowd.engines.spark.errors import guarded

LONG = 60.0
"""Seconds after which a job that should have been cancelled is taken for one that goes on."""


@pytest.mark.slow
def test_a_count_on_spark_is_given_up_and_the_session_goes_on(spark):
    from pyspark.sql import functions as sf

    job, ended = Cancellable(), []
    # The rows would take hours.
    endless = spark.range(10**13).select((sf.col("id") % 7).cast("string").alias("age"))

    def count() -> None:
        with pytest.raises(Cancelled):
            ic.assess(endless, ic.Schema(["age"]), progress=job)
        ended.append(True)

    counting = threading.Thread(target=count, daemon=True)
    counting.start()
    tracker = spark.sparkContext.statusTracker()
    while not tracker.getActiveJobsIds():
        assert counting.is_alive()
        counting.join(0.1)
    job.cancel()
    counting.join(LONG)
    assert ended == [True]
    assert tracker.getActiveJobsIds() == []
    # Other jobs of the session go on, in this thread and in others, and no tag stays behind.
    assert spark.range(9).count() == 9
    with running(Cancellable()), guarded(spark):
        assert len(spark.sparkContext.getJobTags()) == 1
        assert spark.range(9).count() == 9
    assert len(spark.sparkContext.getJobTags()) == 0


def test_spark_is_not_asked_to_tag_what_cannot_be_cancelled():
    with guarded(None):
        pass
