"""`incrowd arx`: a project of ARX as a policy."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from incrowd.cli import options
from incrowd.cli.logs import LOG

__all__ = ["arx"]


def arx(
    project: Annotated[Path, typer.Argument(metavar="PROJECT", help="A project of ARX (.deid).")],
    output: Annotated[
        Path, typer.Option("-o", "--output", metavar="DIR", help="Folder for policy, hierarchies and data.")
    ],
    force: options.Force = False,
) -> None:
    """Read a project of ARX as a policy, with its hierarchies.

    What has no counterpart is listed, and not in the policy. Folder and files are for the owner of the data.
    """
    from incrowd.compat.arx import read_project
    from incrowd.io.targets import Outputs, writing

    outputs = Outputs(project, force=force)
    target = outputs.add(output, folder=True, private=True, parents=True)
    found = read_project(project)
    with outputs, writing(target) as folder:
        found.policy.write(folder / "policy.toml")
        if found.data is not None:
            (folder / "data.csv").write_bytes(found.data)
    LOG.say(f"written: {output}/policy.toml, {len(found.policy.schema.attributes)} columns")
    for each in found.unread:
        LOG.write("warning", "unread", f"not read: {each}")
    LOG.say(f"next: incrowd anonymize {output}/data.csv --policy {output}/policy.toml -o release.csv")
