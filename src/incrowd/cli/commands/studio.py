"""The whole job in a browser."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from incrowd.cli import options

__all__ = ["studio"]


def studio(
    data: Annotated[
        Path | None,
        typer.Argument(
            metavar="[DATA]", help="A CSV or Parquet file, a folder or a pattern; without one the page asks."
        ),
    ] = None,
    policy: options.PolicyFile = None,
    port: Annotated[int, typer.Option("--port", min=0, max=65535, help="Port; 0 takes a free one.")] = 0,
    host: Annotated[
        str,
        typer.Option(
            "--host", help="Address to listen on; from any but this machine's own, others reach it."
        ),
    ] = "127.0.0.1",
    no_browser: Annotated[
        bool, typer.Option("--no-browser", help="Print the address, and open no browser.")
    ] = False,
) -> None:
    """Do the whole job in a browser, on this machine.

    The page leaves a policy file, a command and a script that make the same release without it.
    """
    from incrowd.errors import TableError
    from incrowd.io.streams import is_scan
    from incrowd.jobs.policy import Policy
    from incrowd.jobs.policy_file import read_toml
    from incrowd.studio.server import serve
    from incrowd.studio.work import answered

    given = None
    if policy is not None:
        document = read_toml(policy)
        # A draft may have open questions, which the page asks. The rest of it has to be right.
        Policy.from_dict(answered(document), policy.parent, str(policy))
        given = document, policy
    if data is not None and not (is_scan(data) or data.exists()):
        raise TableError(f"{data}: there is no such file")
    serve(data, given, host, port, browser=not no_browser, tell=typer.echo)
