"""The command line."""

from __future__ import annotations

import os
import signal
import sys
import warnings
from typing import Any

import typer

from incrowd.cli import options
from incrowd.cli.commands import commands
from incrowd.cli.flattening import Commands
from incrowd.cli.helping import CommandHelp, GroupHelp
from incrowd.cli.interruption import Interruption
from incrowd.errors import IncrowdError, on_the_command_line
from incrowd.io.addresses import without_secrets

__all__ = ["app", "main"]


class _Group(GroupHelp):
    """The command itself, whose errors repeat no password that stands in an address."""

    def invoke(self, ctx: Any) -> Any:
        try:
            return super().invoke(ctx)
        except Exception as error:
            message = getattr(error, "message", None)
            if isinstance(message, str):
                error.message = without_secrets(message)  # type: ignore[attr-defined]
            raise


app = Commands(
    name="incrowd",
    cls=_Group,
    help="Anonymize a table about people, and check the result.\n\n"
    "Exit status: 0 done and every model holds; 1 the data does not satisfy the policy, or cannot; "
    "2 the input or the call is wrong.",
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
    rich_markup_mode=None,
)
for _name, _command in commands():
    if isinstance(_command, Commands):
        app.add_typer(_command, name=_name)
    else:
        app.command(_name, cls=CommandHelp)(_command)


def _version(value: bool) -> None:
    if value:
        from incrowd import __version__

        typer.echo(f"incrowd {__version__}")
        raise typer.Exit


@app.callback()
def _options(
    version: bool = typer.Option(
        False, "--version", callback=_version, is_eager=True, help="Show the version and exit."
    ),
) -> None:
    """Take the options of the bare command."""


def main() -> None:
    """Run the command line and exit with its status."""
    watch = Interruption()
    stopped = False
    try:
        with on_the_command_line():
            _run(watch)
    except SystemExit as stop:
        # Database drivers that take Ctrl-C for themselves raise KeyboardInterrupt, which comes out as 130.
        stopped = stop.code == 128 + signal.SIGINT
        raise
    finally:
        options.close_sessions()
        if stopped or watch.number is not None:
            # Whatever a library made of the exception, and however long its threads would go on. The handlers
            # stay: a second signal would end a process without them by another status.
            watch.leave()
        watch.stop()


def _run(watch: Interruption) -> None:
    warnings.formatwarning = lambda message, *_: f"incrowd: {message}\n"
    try:
        try:
            app.described(prog_name="incrowd")
        except Exception:
            if watch.number is not None:
                # What a library says of being interrupted is no error of the run.
                raise SystemExit(128 + watch.number) from None
            raise
    except IncrowdError as error:
        typer.echo(f"incrowd: {without_secrets(str(error))}", err=True)
        raise SystemExit(error.exit_status) from None
    except BrokenPipeError:
        # The reader of a pipe left; what it did not want is not written.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        raise SystemExit(1) from None
    except MemoryError:
        typer.echo("incrowd: out of memory; use fewer rows or columns at a time", err=True)
        raise SystemExit(2) from None
    except Exception as error:
        if os.environ.get("INCROWD_DEBUG"):
            raise
        # A library's message may quote cells of the table, so say where it failed and not what it said.
        trace = error.__traceback__
        while trace is not None and trace.tb_next is not None:
            trace = trace.tb_next
        place = "" if trace is None else f" at {trace.tb_frame.f_code.co_name}, line {trace.tb_lineno}"
        typer.echo(
            f"incrowd: internal error ({type(error).__name__}{place}); please report it. "
            "INCROWD_DEBUG=1 shows the whole trace, which may hold values of the table.",
            err=True,
        )
        raise SystemExit(2) from None
