"""`incrowd demo`: anonymize and verify a generated table."""

from __future__ import annotations

import shlex
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from incrowd.faces.cli import options
from incrowd.faces.cli.completing import program

if TYPE_CHECKING:
    from incrowd.release.jobs.make.release import Release

_NEXT = (
    "assess people.csv --policy policy.toml",
    "anonymize people.csv --policy policy.toml -o ../mine.csv",
    "verify ../mine.csv --policy policy.toml",
)
"""Example commands, to be run in the output folder."""
_WHY = "The patients are made up, so nobody can be found."
"""Reason for accepting the open points of the generated table."""


def demo(
    rows: Annotated[int, typer.Option("--rows", min=20, help="Rows of the table.")] = 50_000,
    seed: Annotated[int, typer.Option("--seed", min=0, help="Seed of the generator.")] = 0,
    output: Annotated[
        Path, typer.Option("-o", "--output", metavar="DIR", help="Folder for table, policy and release.")
    ] = Path("incrowd-demo"),
    full: options.Full = False,
    force: options.Force = False,
) -> None:
    """Try the main job on a made-up hospital table.

    The folder gets people.csv, its policy.toml, and release/ with what may be handed out. The policy accepts
    what would be open if the patients were real.
    """
    from incrowd.core.io.files import CsvFormat, write_table
    from incrowd.core.io.targets import Outputs, writing
    from incrowd.faces.cli.summary import show_release_summary
    from incrowd.faces.cli.tables import console, progress, show_release
    from incrowd.release.jobs.make.anonymize import anonymize
    from incrowd.release.verification import verify
    from incrowd.samples import hospital, hospital_policy
    from incrowd_gate.points import Accepted

    outputs = Outputs(force=force)
    target = outputs.add(output, folder=True, parents=True)
    with progress() as job, outputs, writing(target) as folder:
        job.stage("generate")
        table, policy = hospital(rows, seed), hospital_policy()
        raw = folder / "people.csv"
        write_table(table, raw, raw, CsvFormat())
        release = anonymize(raw, policy, unanswered="write", progress=job)
        answers = tuple(
            Accepted(point.name, next(iter(point.columns), None), _WHY) for point in release.verdict.open
        )
        release = release.accepting(answers)
        replace(policy, accepted=answers).write(folder / "policy.toml")
        job.stage("write")
        release.save(folder / "release")
        job.stage("report")
        _write_report(release, folder / "release")
        job.stage("verify")
        verification = verify(folder / "release" / "release.csv", folder / "release" / "policy.toml")
    out = console()
    show_release_summary(out, release)
    if full:
        out.print()
        show_release(out, release)
    agrees = "agrees" if verification.ok else "DISAGREES"
    out.print(f"A second implementation (SQL) {agrees}. Written to {output}; go on there:")
    command = program(output)
    for number, line in enumerate(_NEXT):
        # A line break would spoil pasting the command into a shell.
        there = "" if number else f"cd {shlex.quote(str(output))} && "
        out.print(f"  {there}{command} {line}", soft_wrap=True)
    if not verification.ok:
        raise typer.Exit(1)


def _write_report(release: Release, folder: Path) -> None:
    """Write the report as HTML, or as JSON without the extra for charts."""
    from incrowd.core.errors import MissingExtraError

    try:
        release.report(folder / "report.html", file=folder / "release.csv")
    except MissingExtraError:
        release.report(folder / "report.json", file=folder / "release.csv")
