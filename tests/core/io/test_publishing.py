"""Signals wait past the point of no return, in the main thread and in others."""

from __future__ import annotations

import signal
import threading

import pytest

from incrowd.core.io.publishing import publications, publishing, quiet

SIGNALS = [signal.SIGINT, signal.SIGTERM]


class Came(Exception):  # noqa: N818
    """The exception of a test's handler."""


@pytest.fixture(params=SIGNALS)
def number(request):
    def raise_it(number, frame):
        raise Came(number)

    before = {each: signal.signal(each, raise_it) for each in SIGNALS}
    yield request.param
    assert all(signal.getsignal(each) is raise_it for each in SIGNALS)
    for each, handler in before.items():
        signal.signal(each, handler)


def publish(number, reached, *, hold):
    with publishing() as outer:
        with publishing() as inner:
            assert inner is outer
            if hold:
                inner.hold()
            signal.raise_signal(number)
            reached.append("inner")
        reached.append("outer")


@pytest.mark.parametrize(("hold", "expected"), [(False, []), (True, ["inner", "outer"])])
def test_past_the_point_a_signal_waits_until_the_outermost_block_ends(number, hold, expected):
    reached = []
    with pytest.raises(Came):
        publish(number, reached, hold=hold)
    assert reached == expected


def test_a_signal_that_is_ignored_stays_ignored():
    before = signal.signal(signal.SIGINT, signal.SIG_IGN)
    try:
        with publishing() as block:
            block.hold()
            signal.raise_signal(signal.SIGINT)
        assert signal.getsignal(signal.SIGINT) is signal.SIG_IGN
    finally:
        signal.signal(signal.SIGINT, before)


def test_who_ends_the_process_waits_for_other_threads():
    held, go, order = threading.Event(), threading.Event(), []

    def publish():
        with publishing() as block:
            block.hold()
            held.set()
            go.wait(60)
            order.append("published")
            block.done()

    def leave():
        with quiet():
            order.append("left")

    before = publications()
    threads = [threading.Thread(target=publish), threading.Thread(target=leave)]
    threads[0].start()
    assert held.wait(60)
    threads[1].start()
    go.set()
    for each in threads:
        each.join(60)
    assert order == ["published", "left"]
    assert publications() == before + 1
