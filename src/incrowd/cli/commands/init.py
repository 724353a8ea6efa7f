"""`incrowd init`: the draft of a policy."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from incrowd.cli import options

if TYPE_CHECKING:
    pass

__all__ = ["init"]


def init(
    data: options.Data,
    output: Annotated[
        Path | None, typer.Option("-o", "--output", help="The policy file; standard output by default.")
    ] = None,
    null_value: options.NullValues = None,
    delimiter: options.Delimiter = None,
    encoding: options.Encoding = "utf-8",
    names: options.Names = None,
    force: options.Force = False,
) -> None:
    """Draft a policy: guessed roles and hierarchies of the columns, and why. Read it before you use it."""
    from incrowd.io.files import read_table
    from incrowd.io.targets import writing
    from incrowd.jobs.draft import draft_policy

    outputs = options.outputs_of(data, force=force)
    target = options.added(outputs, output)
    table, _ = read_table(data, options.csv_format(delimiter, encoding, names))
    text = draft_policy(table, data.name, tuple(null_value or ()))
    if target is None:
        typer.echo(text, nl=False)
    else:
        with outputs, writing(target) as place:
            place.write_text(text, encoding="utf-8")
        typer.echo(f"written: {output}; check every role before you use it")
