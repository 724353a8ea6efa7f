"""`incrowd import`: convert a project, script or metadata of another tool to a policy."""

from __future__ import annotations

from pathlib import Path
from shlex import quote
from typing import Annotated

import typer

from incrowd.faces.cli import options
from incrowd.faces.cli.completing import program
from incrowd.faces.cli.logs import LOG


def import_(
    source: Annotated[
        Path,
        typer.Argument(
            metavar="FILE",
            help="A project of ARX (.deid), a script of sdcMicro (.R), a batch file of tau-ARGUS (.arb), or "
            "metadata of ARGUS (.rda).",
        ),
    ],
    output: Annotated[
        Path, typer.Option("-o", "--output", metavar="DIR", help="Folder for policy, hierarchies and data.")
    ],
    force: options.Force = False,
) -> None:
    """Read a policy from a file of another tool.

    It has roles, hierarchies, models, limits and treatments. Nothing is run. What has no counterpart is
    listed, and not in the policy. What the file does not tell is a question in the policy. Folder and files
    are for the owner of the data.
    """
    from incrowd.core.errors import named
    from incrowd.core.io.targets import Outputs, writing
    from incrowd.importers import read_foreign

    outputs = Outputs(source, force=force)
    target = outputs.add(output, folder=True, private=True, parents=True)
    project = read_foreign(source)
    with outputs, writing(target) as folder:
        project.write(folder)
    columns = len(project.policy.schema.attributes) + len(project.questions)
    LOG.say(f"written: {output}/policy.toml, {columns} columns")
    for each in project.unread:
        LOG.write("warning", "unread", f"not read: {each}")
    if project.questions:
        names = named([name for name, _ in project.questions])
        LOG.say(f"next: give {names} a role in {output}/policy.toml")
    data = quote(f"{output}/data.csv") if project.data is not None else "DATA"
    policy = quote(f"{output}/policy.toml")
    # A batch file of tau-ARGUS has tables and no model of rows.
    verb, out = ("tabulate", "tables") if project.policy.tables else ("anonymize", "release.csv")
    LOG.say(f"next: {program()} {verb} {data} --policy {policy} -o {out}")
