"""Ctrl-C and SIGTERM end a run within two seconds, and no files are left."""

from __future__ import annotations

import contextlib
import os
import select
import signal
import socket
import sys
import threading
import weakref
from types import FrameType
from typing import ClassVar, NoReturn

from incrowd.core.io.publishing import publications, quiet
from incrowd.core.progress import Cancellable
from incrowd.faces.cli.logs import LOG

_SIGNALS = {signal.SIGINT: "interrupted", signal.SIGTERM: "terminated"}
JOBS: list[Cancellable] = []
"""Jobs that a signal cancels, registered by `cli.tables.progress`."""
_REMOVERS = ("shutil", "tempfile", "incrowd", "incrowd_gate", "incrowd_verify")
"""The packages whose finalizers remove folders."""
_GRACE = 1.0
"""Seconds that a signal handler of Python gets; compiled code holds handlers up."""


class Interruption:
    """Watches for signals in a separate thread while a command runs.

    Python's handlers run in the main thread, and only between two of its instructions: a kernel or a query
    holds them up for as long as it takes. So the first signal raises SystemExit there, which removes files
    and closes sessions on the way out; where that does not happen soon, or a second signal comes, the watcher
    removes the private folders and ends the process. While files get their names, both wait.

    Attributes
    ----------
    number
        The signal that came, None as long as none did.
    serving
        Whether the command runs until Ctrl-C, which then interrupts nothing. A command sets it on the class.
    """

    serving: ClassVar[bool] = False

    def __init__(self) -> None:
        Interruption.serving = False
        self.number: int | None = None
        self._published = publications()
        self._leaving = threading.Lock()
        # Sockets, since Windows waits for nothing else.
        self._reader, self._writer = socket.socketpair()
        self._writer.setblocking(False)
        self._handlers = {number: signal.signal(number, self._raise) for number in _SIGNALS}
        self._wakeup = signal.set_wakeup_fd(self._writer.fileno(), warn_on_full_buffer=False)
        self._watcher = threading.Thread(target=self._watch, name="incrowd-signals", daemon=True)
        self._watcher.start()

    def stop(self) -> None:
        """Stop watching and restore the signal handlers."""
        signal.set_wakeup_fd(self._wakeup)
        for number, handler in self._handlers.items():
            signal.signal(number, handler)
        self._writer.send(b"\0")
        self._watcher.join()
        self._reader.close()
        self._writer.close()

    @property
    def status(self) -> int:
        """Exit status for the received signal, 0 for Ctrl-C in a serving command."""
        number = signal.SIGINT if self.number is None else self.number
        return 0 if self.serving and number == signal.SIGINT else 128 + number

    def leave(self) -> NoReturn:
        """Remove the private folders, log the signal and end the process, whatever threads run."""
        if not self._leaving.acquire(blocking=False):
            threading.Event().wait()  # the other thread ends the process
        with quiet():
            self._leave()

    def _leave(self) -> NoReturn:
        for finalizer in list(weakref.finalize._registry):  # type: ignore[attr-defined]
            # Folders alone: what else is to be finalized may be in use by a thread that still computes.
            with contextlib.suppress(Exception):
                _, work, _, _ = finalizer.peek()
                if str(work.__module__).partition(".")[0] in _REMOVERS:
                    finalizer()
        status = self.status
        with contextlib.suppress(Exception):
            sys.stdout.flush()
        with contextlib.suppress(OSError):
            if status:
                written = publications() > self._published
                when = "when its files were written" if written else "before it was done"
                message = f"{_SIGNALS[signal.Signals(status - 128)]} {when}"
                os.write(2, LOG.line("error", "signal", message, exit_status=status).encode())
        os._exit(status)

    def _raise(self, number: int, frame: FrameType | None) -> None:
        if self._leaving.locked():
            return  # the process ends already
        self.number = number
        raise SystemExit(128 + number)

    def _watch(self) -> None:
        """Read signal numbers from the wakeup socket until a signal or the 0 of `stop`."""
        while (number := self._reader.recv(1)[0]) not in _SIGNALS:
            if not number:
                return
        self.number = number
        # Running database queries are cancelled at once, so that Python can go on.
        for job in JOBS:
            job.cancel()
        again, _, _ = select.select([self._reader], [], [], _GRACE)
        if not again or self._reader.recv(1) != b"\0":
            for job in JOBS:
                job.wait_until_interrupted(_GRACE)
            self.leave()
