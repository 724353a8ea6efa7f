"""`incrowd apply`: the next batch of rows by an earlier recoding."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from incrowd.cli import options, outputs
from incrowd.cli.logs import LOG

if TYPE_CHECKING:
    from incrowd.jobs.apply import AppliedBatch

__all__ = ["apply"]


def apply(
    recoding: Annotated[
        Path, typer.Argument(metavar="RECODING", help="The folder where a recoding was saved (--recoding).")
    ],
    data: options.Data,
    source: options.FileOptions,
    policy: Annotated[Path, typer.Option("--policy", help="The policy file of the earlier release.")],
    output: Annotated[Path, typer.Option("-o", "--output", help="The released file.")],
    previous_release: Annotated[
        Path | None,
        typer.Option(
            "--previous-release",
            "--beside",
            metavar="RELEASE",
            help="The earlier release; classes are those of both.",
        ),
    ] = None,
    previous_table: Annotated[
        Path | None,
        typer.Option(
            "--previous-table",
            metavar="RAW",
            help="The raw table of the earlier release, to count people over both.",
        ),
    ] = None,
    previous_row_map: Annotated[
        Path | None,
        typer.Option(
            "--previous-row-map",
            metavar="FILE",
            help="Which row of it each earlier released row is (internal/rows.parquet).",
        ),
    ] = None,
    rows: Annotated[
        Path | None,
        typer.Option("--rows", metavar="CSV", help="Also write which rows were suppressed and why."),
    ] = None,
    max_suppression: options.Suppression = None,
    escape_formulas: options.Escape = False,
    force: options.Force = False,
    json: options.Json = False,
) -> None:
    """Recode the next batch of rows by an earlier recoding.

    The batch is checked, and rows that do not fit are suppressed.

    Nothing is written when more rows than the policy allows would have to be suppressed.
    """
    from dataclasses import replace

    from incrowd.cli.tables import progress
    from incrowd.engines import loaded as loaded_table
    from incrowd.io.files import CsvFormat, escaping, write_file
    from incrowd.jobs.apply import apply_recoding
    from incrowd.jobs.policy import Policy

    earlier_files = (previous_release, previous_table, previous_row_map)
    written = outputs.outputs_of(data, *earlier_files, policy=policy, recoding=recoding, force=force)
    released = outputs.released_file(written, output, data, stream=source.stream)
    numbers = outputs.added(written, rows)
    loaded = Policy.read(policy)
    if max_suppression is not None:
        loaded = replace(loaded, max_suppression=max_suppression)
    with progress() as shown, written:
        shown.stage("read")
        table, csv_format, _ = source.open(data, shown)
        # It was written as this one will be.
        as_written = escaping(None, escape_formulas)
        earlier = None if previous_release is None else loaded_table(previous_release, as_written)
        shown.stage("apply")
        applied = apply_recoding(
            recoding,
            table,
            loaded,
            previous_release=earlier,
            previous_table=previous_table,
            previous_row_map=previous_row_map,
            csv_format=csv_format,
            force=force,
        )
        shown.stage("write")
        if numbers is not None:
            write_file(applied.rows(), numbers, CsvFormat())
        applied.write(released, escape_formulas=escape_formulas)
    if json:
        outputs.print_json(applied.to_dict())
    else:
        _show(applied)
        LOG.say(f"written: {output}, every model holds")


def _show(applied: AppliedBatch) -> None:
    LOG.say(
        f"{applied.records:,} rows: {applied.outside:,} covered by no cell, {applied.too_small:,} in "
        f"classes that fail, {applied.suppressed:,} suppressed in all"
    )
    for sentence in applied.sentences():
        LOG.say(sentence)
