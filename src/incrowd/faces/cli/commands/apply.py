"""`incrowd apply`: a new batch of rows, recoded by an earlier recoding."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from incrowd.faces.cli import option_groups, options, outputs
from incrowd.faces.cli.logs import LOG

if TYPE_CHECKING:
    from incrowd.release.jobs.later.apply import AppliedBatch


def apply(
    recoding: Annotated[
        Path, typer.Argument(metavar="RECODING", help="The folder where a recoding was saved (--recoding).")
    ],
    data: options.Data,
    source: option_groups.FileOptions,
    book: option_groups.LedgerOptions,
    gate: option_groups.GateOptions,
    policy: Annotated[Path, typer.Option("--policy", help="The policy file of the earlier release.")],
    output: Annotated[Path, typer.Option("-o", "--output", help="The released file.")],
    previous_release: Annotated[
        Path | None,
        typer.Option(
            "--previous-release",
            metavar="RELEASE",
            help="The earlier release; the models have to hold for both together, too.",
        ),
    ] = None,
    published_as_one: Annotated[
        bool,
        typer.Option(
            "--published-as-one",
            help="Judge the batch only with the earlier release: they are merged before anybody sees them.",
        ),
    ] = False,
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
    held: Annotated[
        Path | None,
        typer.Option("--held", metavar="FILE", help="Rows that an earlier batch held; they join this batch."),
    ] = None,
    hold: Annotated[
        Path | None,
        typer.Option(
            "--hold",
            metavar="PARQUET",
            help="Rows of classes that fail wait in this private file, and are not suppressed.",
        ),
    ] = None,
    rows: Annotated[
        Path | None,
        typer.Option("--rows", metavar="CSV", help="Also write which rows were suppressed or wait, and why."),
    ] = None,
    max_suppression: options.Suppression = None,
    escape_formulas: options.Escape = False,
    force: options.Force = False,
    json: options.Json = False,
) -> None:
    """Recode the next batch of rows by an earlier recoding.

    The models have to hold for the batch alone. Rows that do not fit are suppressed, or wait (--hold).

    Nothing is written when more rows than the policy allows would have to be suppressed. Nor is it when no
    cell covers more than a fifth of the rows, unless --max-suppression is given.

    Exit status 1: nothing is released. If every row waits, the file of waiting rows is written all the same.
    """
    from incrowd.core.io.files import CsvFormat, escaping, write_file
    from incrowd.engines import loaded as load_table
    from incrowd.faces.cli.tables import progress
    from incrowd.release.jobs.later.apply import apply_recoding, waiting_file
    from incrowd.release.policy.policy import Policy

    earlier_files = (held, previous_release, previous_table, previous_row_map)
    files = outputs.outputs_of(
        data, *earlier_files, book.ledger, policy=policy, recoding=recoding, force=force
    )
    release_target = outputs.add_release(files, output, data, stream=source.stream)
    rows_target = None if rows is None else outputs.add_release(files, rows, data, stream=False)
    hold_target = None if hold is None else waiting_file(files, hold)
    rules = gate.applied_to(Policy.read(policy))
    with progress() as job, files:
        job.stage("read")
        table, csv_format, _ = source.open(data, job)
        # The earlier release was written with the same options.
        csv_options = escaping(None, escape_formulas)
        earlier = None if previous_release is None else load_table(previous_release, csv_options)
        job.stage("apply")
        batch = apply_recoding(
            recoding,
            table,
            rules,
            previous_release=earlier,
            previous_table=previous_table,
            previous_row_map=previous_row_map,
            published_as_one=published_as_one,
            held=held,
            hold=hold is not None,
            max_suppression=max_suppression,
            csv_format=csv_format,
            force=force,
            unanswered=gate.choice,
        )
        job.stage("write")
        if rows_target is not None:
            write_file(batch.rows(), rows_target, CsvFormat())
        batch.write(release_target, hold=hold_target, escape_formulas=escape_formulas)
        if batch.table is not None:
            book.record(files, batch, table, input=data, policy=policy, release=release_target)
    if json:
        outputs.print_json(batch.to_dict())
    else:
        _show_batch(batch, hold)
        if batch.table is not None:
            LOG.say(f"written: {output}, {batch.holding}")
    batch.refuse_nothing()


def _show_batch(batch: AppliedBatch, hold: Path | None) -> None:
    from incrowd.faces.cli.tables import console
    from incrowd.release.jobs.later.batch import unknown_values
    from incrowd_verify.cli import show_verdict

    if batch.table is not None:
        show_verdict(console(), batch.verdict)
    before = f" ({batch.held_before:,} of them held before)" if batch.held_before else ""
    LOG.say(
        f"{batch.records:,} rows{before}: {batch.outside:,} covered by no cell, {batch.too_small:,} in "
        f"classes that fail, {batch.suppressed:,} suppressed in all"
    )
    if batch.unknown:
        LOG.say(unknown_values(batch.unknown))
    if hold is not None:
        LOG.say(f"{batch.held:,} rows wait in {hold}; keep it private")
    for sentence in batch.sentences():
        LOG.say(sentence)
