"""`incrowd apply`: the next batch of rows by an earlier recoding."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from incrowd.faces.cli import option_groups, options, outputs
from incrowd.faces.cli.logs import LOG

if TYPE_CHECKING:
    from incrowd.release.jobs.apply import AppliedBatch


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
            "--beside",
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
    from incrowd.engines import loaded as loaded_table
    from incrowd.faces.cli.tables import progress
    from incrowd.release.jobs.apply import apply_recoding, waiting_file
    from incrowd.release.policy.policy import Policy

    earlier_files = (held, previous_release, previous_table, previous_row_map)
    written = outputs.outputs_of(
        data, *earlier_files, book.ledger, policy=policy, recoding=recoding, force=force
    )
    released = outputs.released_file(written, output, data, stream=source.stream)
    numbers = None if rows is None else outputs.released_file(written, rows, data, stream=False)
    waiting = None if hold is None else waiting_file(written, hold)
    loaded = gate.applied_to(Policy.read(policy))
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
            published_as_one=published_as_one,
            held=held,
            hold=hold is not None,
            max_suppression=max_suppression,
            csv_format=csv_format,
            force=force,
            unanswered=gate.choice,
        )
        shown.stage("write")
        if numbers is not None:
            write_file(applied.rows(), numbers, CsvFormat())
        applied.write(released, hold=waiting, escape_formulas=escape_formulas)
        if applied.table is not None:
            book.record(written, applied, table, input=data, policy=policy, release=released)
    if json:
        outputs.print_json(applied.to_dict())
    else:
        _show(applied, hold)
        if applied.table is not None:
            LOG.say(f"written: {output}, {applied.holding}")
    applied.refuse_nothing()


def _show(applied: AppliedBatch, hold: Path | None) -> None:
    from incrowd.faces.cli.tables import console
    from incrowd.release.jobs.batch import unknown_values
    from incrowd_verify.cli import show_verdict

    if applied.table is not None:
        show_verdict(console(), applied.verdict)
    before = f" ({applied.held_before:,} of them held before)" if applied.held_before else ""
    LOG.say(
        f"{applied.records:,} rows{before}: {applied.outside:,} covered by no cell, {applied.too_small:,} in "
        f"classes that fail, {applied.suppressed:,} suppressed in all"
    )
    if applied.unknown:
        LOG.say(unknown_values(applied.unknown))
    if hold is not None:
        LOG.say(f"{applied.held:,} rows wait in {hold}; keep it private")
    for sentence in applied.sentences():
        LOG.say(sentence)
