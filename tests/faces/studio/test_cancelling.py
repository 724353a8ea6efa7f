"""A job that is told to stop."""

from __future__ import annotations

import pytest

import incrowd as ic
from incrowd.faces.studio.cancelling import Cancelled, Watched
from incrowd.works.samples import hospital

SCHEMA = ic.Schema(quasi=["age", "sex"], unlisted="drop")


class StopsAfter(Watched):
    def __init__(self, words: int) -> None:
        super().__init__()
        self.words = words

    def check(self) -> None:
        self.words -= 1
        if self.words < 0:
            self.cancel()
        super().check()


def test_a_job_is_cancelled_at_each_of_its_stages():
    table = hospital(200)
    words = 0
    while True:
        watched = StopsAfter(words)
        try:
            release = ic.anonymize(
                table, SCHEMA, "k-anonymity:5", "optimal", progress=watched, unanswered="write"
            )
        except Cancelled:
            words += 1
            continue
        break
    assert words > 5
    assert release.privacy.holds
    assert not watched.cancelled


def test_a_job_that_goes_on_without_what_fails_does_not_go_on():
    assert not issubclass(Cancelled, Exception)
    watched = Watched()
    watched.cancel()
    with pytest.raises(Cancelled):
        watched.advance(1, 2)


def test_it_tells_the_stage_and_the_share():
    watched = Watched()
    assert watched.state() == ("start", 0.0, None)
    watched.stage("search")
    watched.advance(1, 4)
    assert (watched.state()[0], watched.state()[2]) == ("search", 0.25)
    watched.advance(1, 0)
    assert watched.state()[2] is None
    watched.stage("apply")
    assert (watched.state()[0], watched.state()[2]) == ("apply", None)
