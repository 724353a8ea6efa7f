"""A job that is told to stop."""

from __future__ import annotations

from contextvars import copy_context

import pytest

import incrowd as ic
from incrowd.core.errors import InputError
from incrowd.faces.studio.cancelling import Cancelled, Watched
from incrowd.faces.studio.outcomes import Outcome, outcome_of
from incrowd.samples import hospital

SCHEMA = ic.Schema(quasi=["age", "sex"], unlisted="drop")


def in_a_context(*arguments):
    """The outcome of some work, in a context as in a thread of the page."""
    return copy_context().run(outcome_of, *arguments)


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


def test_what_was_cancelled_is_told_from_an_error_that_says_so():
    def work(error=None):
        if error is not None:
            raise error
        return 3

    watched = Watched()
    assert in_a_context(watched, work) == Outcome(3)
    error = InputError("Cancelled visits: there is no such column")
    assert in_a_context(watched, lambda: work(error)) == Outcome(None, str(error))
    stopped = in_a_context(watched, lambda: work(Cancelled()))
    assert (stopped.result, stopped.cancelled) == (None, True)
    assert in_a_context(None, lambda: work(MemoryError())).problem.startswith("Out of memory")
