"""The point of no return: from there signals wait until files and records are complete."""

from __future__ import annotations

import signal
import threading
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from types import FrameType
from typing import Any

_NUMBERS = (signal.SIGINT, signal.SIGTERM)
_FREE = threading.Condition()


class _Count:
    """Number of blocks of all threads in which signals wait, and of publications of this process."""

    waiting = 0
    published = 0


class Publishing:
    """A block in which files get names, created by `publishing`.

    Attributes
    ----------
    placed
        Whether they have them. Who kept a record of them then keeps it, whatever fails later.
    """

    def __init__(self) -> None:
        self.placed = False
        self._waits = False
        self._signals: list[int] = []
        self._handlers: dict[int, Any] = {}

    def hold(self) -> None:
        """Let signals wait from here to the end of the block."""
        if self._waits:
            return
        # Handlers run in the main thread alone. Where another one works, `quiet` waits for it.
        if threading.current_thread() is threading.main_thread():
            for number in _NUMBERS:
                handler = signal.getsignal(number)
                if handler not in (signal.SIG_IGN, None):
                    self._handlers[number] = handler
                    signal.signal(number, self._note)
        self._waits = True
        with _FREE:
            _Count.waiting += 1

    def done(self) -> None:
        """Record that all files have names."""
        self.placed = True
        _Count.published += 1

    def end(self) -> None:
        """Restore the handlers, and call the handler of the first signal that waited."""
        if self._waits:
            with _FREE:
                _Count.waiting -= 1
                _FREE.notify_all()
        self._waits = False
        with ExitStack() as stack:
            stack.callback(self._deliver, dict(self._handlers))
            for number, handler in self._handlers.items():
                stack.callback(signal.signal, number, handler)

    def _note(self, number: int, frame: FrameType | None) -> None:
        self._signals.append(number)

    def _deliver(self, handlers: dict[int, Any]) -> None:
        for number in self._signals[:1]:
            if callable(handlers[number]):
                handlers[number](number, None)
            else:
                signal.raise_signal(number)


class _Thread(threading.local):
    block: Publishing | None = None


_THREAD = _Thread()


@contextmanager
def publishing() -> Iterator[Publishing]:
    """Begin a publishing block, or continue the outer block of the same thread."""
    if _THREAD.block is not None:
        yield _THREAD.block
        return
    block = Publishing()
    try:
        _THREAD.block = block
        yield block
    finally:
        _THREAD.block = None
        block.end()


@contextmanager
def waiting() -> Iterator[None]:
    """Let signals wait until the end of this block, as while a private folder is removed."""
    block = Publishing()
    try:
        block.hold()
        yield
    finally:
        block.end()


@contextmanager
def quiet() -> Iterator[None]:
    """Wait until no thread publishes, and let no thread publish in this block."""
    with _FREE:
        _FREE.wait_for(lambda: not _Count.waiting)
        yield


def publications() -> int:
    """Return the number of publications of this process so far."""
    return _Count.published
