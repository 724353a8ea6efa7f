"""The command line."""

from __future__ import annotations

import atexit
import gc
import io
import os
import signal
import sys
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from functools import cache
from typing import Any

import typer

from incrowd.core.errors import IncrowdError
from incrowd.core.io.addresses import without_secrets
from incrowd.core.progress import Cancelled
from incrowd.faces.cli import completing
from incrowd.faces.cli.commands import NAMES, commands
from incrowd.faces.cli.flattening import CommandHelp, Commands, GroupHelp
from incrowd.faces.cli.interruption import Interruption
from incrowd.faces.cli.logs import LOG, LogFormat, LogLevel, Quiet
from incrowd_gate.errors import on_the_command_line

__all__ = ["main", "program"]

_OBJECTS = 500_000
"""Allocations between two runs of the garbage collector; Python's default is 700."""
_PIPE_CLOSED = 141
"""Exit status if the reader of standard output left early: 128 + SIGPIPE."""


class _Group(GroupHelp):
    """The top-level command, with passwords removed from error messages."""

    def invoke(self, ctx: Any) -> Any:
        with _wrong_calls():
            return super().invoke(ctx)

    def make_context(self, *args: Any, **kwargs: Any) -> Any:
        with _wrong_calls():
            return super().make_context(*args, **kwargs)


@contextmanager
def _wrong_calls() -> Iterator[None]:
    """Remove secrets from usage errors, and log usage errors as JSON if configured."""
    try:
        yield
    except BrokenPipeError:
        # The reader of a pipe left, as `head` does, so the rest is not written. Left to Typer the
        # status would be 1, which says that a policy is not satisfied.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        raise SystemExit(_PIPE_CLOSED) from None
    except Exception as error:
        message = getattr(error, "message", None)
        if isinstance(message, str):
            error.message = without_secrets(message)  # type: ignore[attr-defined]
        failure: Any = error
        if LOG.form == "json" and hasattr(failure, "format_message"):
            LOG.failed(error, failure.format_message(), failure.exit_code)
            raise SystemExit(failure.exit_code) from None
        raise


def _version(value: bool) -> None:
    if value:
        from incrowd import __version__

        typer.echo(f"incrowd {__version__}")
        raise typer.Exit


def _options(
    version: bool = typer.Option(
        False, "--version", callback=_version, is_eager=True, help="Show the version and exit."
    ),
    quiet: Quiet = False,
    log_level: LogLevel = None,
    log_format: LogFormat = None,
) -> None:
    """Take the options of the bare command."""


@cache
def program(alone: str | None = None) -> Commands:
    """Build the program with all commands, or faster with the command `alone`.

    If no command has that name, the program knows the names alone, as the error needs no more.
    """
    app = Commands(
        name="incrowd",
        cls=_Group,
        help="Anonymize a table about people, and check the result.\n\n"
        "Exit status: 0 the work is done, and the verdict holds or none was asked for; 1 the data does not "
        "satisfy the policy, or cannot, or a point waits for an answer; 2 the input or the call is wrong, or "
        "verify could not check a limit; 130 or 143 it was stopped; 141 the output was not read to its end."
        "\n\nThe options below may also stand behind the command.",
        no_args_is_help=True,
        add_completion=False,
        pretty_exceptions_enable=False,
        context_settings={"help_option_names": ["-h", "--help"]},
        rich_markup_mode=None,
    )
    app.callback()(_options)
    if alone is not None and alone not in NAMES:
        for name in NAMES:
            app.command(name)(lambda: None)
        return app
    for name, command in commands(NAMES if alone is None else (alone,)):
        if isinstance(command, Commands):
            app.add_typer(command, name=name)
        else:
            app.command(name, cls=CommandHelp)(command)
    return app


def __getattr__(name: str) -> Commands:
    if name == "app":
        return program()
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


def main() -> None:
    """Run the command line and exit with the command's status."""
    _relax_garbage_collection()
    _replace_unprintable()
    watch = Interruption()
    stopped = False
    try:
        with on_the_command_line():
            _run(watch)
    except SystemExit as stop:
        # Database drivers that take Ctrl-C for themselves raise KeyboardInterrupt, which comes out as 130.
        stopped = stop.code == 128 + signal.SIGINT
        status = stop.code if isinstance(stop.code, int) else 0
        if stopped or watch.number is not None:
            status = watch.status
        LOG.write("info", "end", f"exit status {status}", exit_status=status, seconds=LOG.seconds)
        raise
    finally:
        # A wrong command does not load the options of tables.
        if options := sys.modules.get("incrowd.faces.cli.option_groups"):
            options.close_sessions()
        if stopped or watch.number is not None:
            # A library may have replaced the exception, and its threads may go on. The handlers
            # stay: a second signal would end a process without them by another status.
            watch.leave()
        watch.stop()


def _relax_garbage_collection() -> None:
    """Run the garbage collector rarely, since commands create few reference cycles."""
    gc.set_threshold(_OBJECTS, *gc.get_threshold()[1:])
    atexit.register(_skip_final_collection)


def _replace_unprintable() -> None:
    """Print characters missing from a stream's encoding as `?`, and prefer UTF-8 off a terminal.

    Files and pipes get UTF-8 unless PYTHONIOENCODING names an encoding.
    """
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper) and "utf" not in stream.encoding.lower():
            keeps_encoding = stream.isatty() or "PYTHONIOENCODING" in os.environ
            stream.reconfigure(encoding=None if keeps_encoding else "utf-8", errors="replace")


def _skip_final_collection() -> None:
    """Exempt all objects from the garbage collection at exit."""
    if "duckdb" not in sys.modules:  # Its module complains of objects that outlive it.
        gc.freeze()


def _run(watch: Interruption) -> None:
    completing.begin()
    LOG.begin(sys.argv[1:])
    warnings.formatwarning = lambda message, *_: f"incrowd: {message}\n"
    try:
        try:
            first = "".join(sys.argv[1:2])
            program(None if not first or first.startswith("-") else first).described(prog_name="incrowd")
        except (Exception, Cancelled):
            if watch.number is not None:
                # An interrupted library's exception is no error of the run.
                raise SystemExit(128 + watch.number) from None
            raise
    except IncrowdError as error:
        LOG.failed(error, str(error), error.exit_status)
        raise SystemExit(error.exit_status) from None
    except MemoryError as error:
        LOG.failed(error, "out of memory; use fewer rows or columns at a time", 2)
        raise SystemExit(2) from None
    except Exception as error:
        if os.environ.get("INCROWD_DEBUG"):
            raise
        if isinstance(error, OSError) and error.strerror and error.filename:
            what = f"{error.filename}: cannot be read, written or removed ({error.strerror})"
            way_out = "look at the free space and your rights there, and run the command again"
            LOG.failed(error, f"{what}; {way_out}", 2)
            raise SystemExit(2) from None
        # A library's message may quote cells of the table, so only the place is reported.
        trace = error.__traceback__
        while trace is not None and trace.tb_next is not None:
            trace = trace.tb_next
        where = "" if trace is None else f" at {trace.tb_frame.f_code.co_name}, line {trace.tb_lineno}"
        LOG.failed(
            error,
            f"internal error ({type(error).__name__}{where}); please report it. "
            "INCROWD_DEBUG=1 shows the whole trace, which may hold values of the table.",
            2,
        )
        raise SystemExit(2) from None
