"""`incrowd completion`: print a shell's completion script."""

from __future__ import annotations

from typing import Annotated

import typer

from incrowd.faces.cli.completing import SHELLS, names, script


def completion(
    shell: Annotated[
        str,
        typer.Argument(metavar="|".join(SHELLS), help="The shell.", autocompletion=names(SHELLS)),
    ],
) -> None:
    """Print a script that lets a tab complete commands."""
    if shell not in SHELLS:
        raise typer.BadParameter(f"{shell!r} is none of {', '.join(SHELLS)}")
    typer.echo(script(shell))
