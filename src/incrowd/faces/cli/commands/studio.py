"""`incrowd studio`: start the browser interface."""

from __future__ import annotations

from typing import Annotated, Any

import typer

from incrowd.faces.cli import options
from incrowd.faces.cli.parsing import file_or_address


def studio(
    data: Annotated[
        Any,
        typer.Argument(
            metavar="[DATA]",
            parser=file_or_address,
            help="A file, a folder or a pattern, or the address of a database; or a folder of projects. "
            "Without one the page asks, and lists the projects of this folder.",
        ),
    ] = None,
    table: options.Table = None,
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
    from pathlib import Path

    from incrowd.core.errors import ParameterError, TableError
    from incrowd.core.io.addresses import is_scan
    from incrowd.faces.cli.interruption import Interruption
    from incrowd.faces.studio.places import projects
    from incrowd.faces.studio.server import serve
    from incrowd.faces.studio.tables import in_database, read_policy

    draft = None if policy is None else read_policy(policy)
    source: Path | tuple[str, str] | None = data
    folder = Path.cwd()
    if isinstance(data, Path):
        if table is not None:
            raise ParameterError("--table is for databases; leave it out")
        if not (is_scan(data) or data.exists()):
            raise TableError(f"{data}: there is no such file")
        if data.is_dir() and projects(data):
            source, folder = None, data.absolute()
    elif data is not None:
        # Raise early for an invalid address, or a password in the address.
        source = data.url, table or ""
        in_database(*source, Path())
    elif table is not None:
        raise ParameterError("--table needs the address of its database before it")
    Interruption.serving = True
    serve(source, draft, folder, host, port, browser=not no_browser, tell=typer.echo)
