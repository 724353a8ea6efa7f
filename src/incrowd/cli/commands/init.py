"""`incrowd init`: the draft of a policy."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from incrowd.cli import options, outputs

if TYPE_CHECKING:
    pass

__all__ = ["init"]


def init(
    data: options.Data,
    source: options.CsvOptions,
    output: Annotated[
        Path | None, typer.Option("-o", "--output", help="The policy file; standard output by default.")
    ] = None,
    null_value: options.NullValues = None,
    force: options.Force = False,
) -> None:
    """Draft a policy: guessed roles and hierarchies, with reasons.

    Read it before you use it.
    """
    from incrowd.io.targets import writing
    from incrowd.jobs.draft import draft_policy

    written = outputs.outputs_of(data, force=force)
    target = outputs.added(written, output)
    table, _ = source.read(data)
    text = draft_policy(table, data.name, tuple(null_value or ()))
    if target is None:
        typer.echo(text, nl=False)
    else:
        with written, writing(target) as place:
            place.write_text(text, encoding="utf-8")
        typer.echo(f"written: {output}; check every role before you use it")
