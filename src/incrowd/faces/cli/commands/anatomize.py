"""`incrowd anatomize`: a table of quasi-identifiers and a table of sensitive values."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from incrowd.faces.cli import option_groups, options, outputs
from incrowd.faces.cli.flattening import Without
from incrowd.faces.cli.logs import LOG

if TYPE_CHECKING:
    from rich.console import Console

    from incrowd.release.jobs.make.anatomize import Anatomy


def anatomize(
    data: options.Data,
    output: Annotated[
        Path,
        typer.Option(
            "-o",
            "--output",
            help="Folder for quasi.csv and sensitive.csv (or as DATA ends); made if need be.",
        ),
    ],
    source: option_groups.CsvOptions,
    columns: option_groups.TreatedColumns,
    limits: Annotated[option_groups.ModelOptions, Without("k", "t", "wildcards")],
    gate: option_groups.GateOptions,
    seed: options.Seed = None,
    escape_formulas: options.Escape = False,
    force: options.Force = False,
    json: options.Json = False,
) -> None:
    """Release the sensitive attribute in a table of its own.

    A number for each group of l different values connects both tables.

    The quasi-identifiers are released as they are, so everybody in the table can be found in it.
    """
    from dataclasses import replace

    from incrowd.faces.cli.tables import console, progress
    from incrowd.release.jobs.make.anatomize import anatomize as split_table
    from incrowd.release.jobs.make.anatomize import outputs_of

    models = limits.models()
    files = outputs.outputs_of(data, policy=columns.policy, force=force)
    targets = outputs_of(files, output, data)
    with progress() as job, files:
        job.stage("read")
        table, csv_format = source.read(data)
        policy = gate.applied_to(columns.policy_for(table.columns).with_models(models))
        if seed is not None:
            policy = replace(policy, seed=seed)
        job.stage("anatomize")
        anatomy = split_table(table, policy, csv_format=csv_format, unanswered=gate.choice)
        job.stage("write")
        anatomy.write_to(targets, escape_formulas=escape_formulas)
    if json:
        outputs.print_json(anatomy.to_dict())
        return
    show_anatomy(console(), anatomy)
    LOG.say(f"written: {targets[0]} and {targets[1]}, every model holds")


def show_anatomy(out: Console, anatomy: Anatomy) -> None:
    """Print the contents and the privacy of the two tables."""
    from rich.text import Text

    from incrowd.faces.cli.tables import limit_text, number, quantity_text, verdict
    from incrowd.release.jobs.make.table_treatments import treatment_sentences
    from incrowd_verify.cli import show_verdict

    after = anatomy.privacy
    show_verdict(out, anatomy.verdict)
    out.print(
        f"{after.records:,} records in {anatomy.groups:,} groups of {after.smallest:,} to {after.largest:,}, "
        f"each with {anatomy.l} different values or more"
    )
    out.print("the quasi-identifiers are released as they are; only sensitive values are hidden in groups")
    for sentence in treatment_sentences(anatomy.policy.schema):
        out.print(Text(sentence))
    for result in anatomy.privacy.privacy:
        if result.holds is not None:
            reached = f"{result.quantity} {number(result.value)} {limit_text(result)}"
            out.print(f"  {quantity_text(result)} {reached} ", end="")
            out.print(verdict(result.holds))
