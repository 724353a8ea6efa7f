"""Log records on standard error, as text lines or JSON, from a level on."""

from __future__ import annotations

import json
import os
import sys
import time
import warnings
from collections.abc import Callable, Sequence
from copy import copy
from datetime import UTC, datetime
from typing import Annotated, Any, get_args

import typer

from incrowd.core.errors import ParameterError, quoted, visible
from incrowd.core.io.addresses import without_secrets

LEVELS = ("debug", "info", "warning", "error")
FORMATS = ("text", "json")
_EVERY = 1.0
"""Seconds between two progress records of a stage."""


class Log:
    """Writes records from a level on to standard error, each on a line.

    No value of the table is ever in a record: messages are those of errors, which name columns and places,
    and figures are times and counts.

    Attributes
    ----------
    level
        The least of `LEVELS` that is written.
    form
        ``text`` or ``json``.
    quiet
        Whether summaries for people are left out, on standard output as well.
    """

    def __init__(self) -> None:
        self.begin(())

    def begin(self, arguments: Sequence[str]) -> None:
        """Reset the log, reading ``--log-format`` early so that parse errors use the format."""
        self.level, self.quiet = "warning", False
        self.started = time.perf_counter()
        form = os.environ.get("INCROWD_LOG_FORMAT", "")
        for index, argument in enumerate(arguments):
            name, _, value = argument.partition("=")
            if name == "--log-format":
                form = value or "".join(arguments[index + 1 : index + 2])
        self.form = form if form in FORMATS else "text"

    def write(self, level: str, event: str, message: str, **fields: Any) -> None:
        """Write a record if `level` is enabled."""
        if self.takes(level):
            sys.stderr.write(self.line(level, event, message, **fields))
            sys.stderr.flush()

    def takes(self, level: str) -> bool:
        """Whether records of a level are written."""
        return LEVELS.index(level) >= LEVELS.index(self.level)

    def line(self, level: str, event: str, message: str, **fields: Any) -> str:
        """Format a record as a line, including the newline."""
        message = without_secrets(message)
        if self.form == "text":
            return f"incrowd: {visible(message)}\n"
        now = datetime.now(UTC).isoformat(timespec="milliseconds")
        record = {"time": now, "level": level, "event": event, "message": message, **fields}
        return json.dumps(record, ensure_ascii=False) + "\n"

    def say(self, text: str, *, err: bool = False) -> None:
        """Print a text for people, unless quiet or, on standard error, in JSON format."""
        if not self.quiet and not (err and self.form == "json"):
            typer.echo(visible(text), err=err)

    def failed(self, error: BaseException, message: str, status: int) -> None:
        """Log the error that ended the run."""
        self.write("error", "error", message, error=type(error).__name__, exit_status=status)

    def take_warnings(self) -> None:
        """Redirect Python warnings to records if the format or the level requires that."""
        if self.form == "json" or not self.takes("warning"):
            warnings.showwarning = lambda message, *_, **__: self.write("warning", "warning", str(message))

    @property
    def seconds(self) -> float:
        """Time since the run began."""
        return round(time.perf_counter() - self.started, 3)


LOG = Log()
"""The log of this process."""


def _quiet(value: bool) -> bool:
    LOG.quiet = LOG.quiet or value
    return value


def _one_of(field: str, option: str, allowed: Sequence[str]) -> Callable[[str | None], str | None]:
    def take(value: str | None) -> str | None:
        if value is None:
            return None
        if value not in allowed:
            raise ParameterError(f"{option}: must be one of {', '.join(allowed)}, got {quoted(value)}")
        setattr(LOG, field, value)
        LOG.take_warnings()
        return value

    return take


Quiet = Annotated[
    bool,
    typer.Option(
        "-q",
        "--quiet",
        is_eager=True,
        callback=_quiet,
        help="Print no summary and no progress: only warnings, errors and what --json asks for.",
    ),
]
LogLevel = Annotated[
    str | None,
    typer.Option(
        "--log-level",
        metavar="LEVEL",
        is_eager=True,
        callback=_one_of("level", "--log-level", LEVELS),
        envvar="INCROWD_LOG_LEVEL",
        help="What standard error shows: debug, info (stages and their times), warning (default) or error.",
    ),
]
LogFormat = Annotated[
    str | None,
    typer.Option(
        "--log-format",
        metavar="FORMAT",
        is_eager=True,
        callback=_one_of("form", "--log-format", FORMATS),
        envvar="INCROWD_LOG_FORMAT",
        help="Standard error as text, or as json: a record in each line.",
    ),
]


def _hide(option: Any) -> Any:
    kind, info = get_args(option)
    info = copy(info)
    info.hidden = True
    return Annotated[kind, info]


HIDDEN_OPTIONS = {
    "quiet": (_hide(Quiet), False),
    "log_level": (_hide(LogLevel), None),
    "log_format": (_hide(LogFormat), None),
}
"""Log options accepted behind a command, with defaults, but absent from the command's help."""


class LoggedProgress:
    """Progress as log records: begin and end of each stage, and percentages at level debug."""

    def __init__(self, log: Log) -> None:
        self._log = log
        self._stage: str | None = None
        self._began = self._reported = 0.0

    def stage(self, name: str) -> None:
        """End the current stage and begin another."""
        self.finish()
        self._stage, self._began = name, time.perf_counter()
        self._reported = self._began
        self._log.write("info", "stage", f"{name} ...", stage=name)

    def advance(self, done: int, total: int) -> None:
        """Log the stage's progress, once a second at most."""
        now = time.perf_counter()
        if now - self._reported >= _EVERY or done == total:
            self._reported = now
            message = f"{self._stage}: {done:,} of {total:,}"
            self._log.write("debug", "progress", message, stage=self._stage, done=int(done), total=int(total))

    def finish(self) -> None:
        """Log the end of the current stage."""
        if self._stage is not None:
            seconds = round(time.perf_counter() - self._began, 3)
            message = f"{self._stage} took {seconds:.3f} s"
            self._log.write("info", "stage-end", message, stage=self._stage, seconds=seconds)
            self._stage = None
