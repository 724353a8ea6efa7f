"""`incrowd anonymize`: a table that satisfies privacy models."""

from __future__ import annotations

import time
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from incrowd.cli import options, outputs
from incrowd.cli.logs import LOG

if TYPE_CHECKING:
    from collections.abc import Sequence

    from incrowd.engines.sql.databases import Address
    from incrowd.io.targets import Target
    from incrowd.jobs.plan import Plan
    from incrowd.jobs.release import Release

__all__ = ["anonymize"]


def anonymize(
    data: options.FileOrAddress,
    source: options.TableOptions,
    columns: options.ColumnOptions,
    limits: options.ModelOptions,
    search: options.SearchOptions,
    output: Annotated[
        Path | None,
        typer.Option(
            "-o",
            "--output",
            help=f"The released file: {options.KINDS}; with many files also a folder for as many CSV or "
            "Parquet files.",
        ),
    ] = None,
    into: Annotated[
        str | None,
        typer.Option("--into", metavar="TABLE", help="The released table, new in the same database."),
    ] = None,
    population: options.People = None,
    keep_order: options.KeepOrder = False,
    row_map: Annotated[
        Path | None,
        typer.Option("--row-map", metavar="FILE", help="Also write which raw row each row is; keep it."),
    ] = None,
    seed: options.Seed = None,
    recoding: Annotated[
        Path | None,
        typer.Option("--recoding", metavar="DIR", help="Also save the recoding there; it knows raw values."),
    ] = None,
    save_policy: Annotated[
        Path | None,
        typer.Option(
            "--save-policy",
            metavar="FILE",
            help="Also write the policy as TOML, for apply; with hierarchies it knows raw values.",
        ),
    ] = None,
    report: options.Report = None,
    internal: Annotated[
        bool, typer.Option("--internal", help="Let the report name values of the raw table; not to publish.")
    ] = False,
    escape_formulas: options.Escape = False,
    force: options.Force = False,
    full: options.Full = False,
    json: options.Json = False,
    dry_run: Annotated[
        bool,
        typer.Option(
            "--dry-run", help="Read, check and count, tell what would be done, and write nothing at all."
        ),
    ] = False,
) -> None:
    """Write a table that satisfies privacy models; tell the loss.

    Nothing is written when a model cannot be satisfied.
    """
    from dataclasses import replace

    from incrowd.cli.summary import show_release_summary
    from incrowd.cli.tables import console, progress, show_release
    from incrowd.jobs.anonymize import anonymize as release_of
    from incrowd.jobs.plan import plan

    began = time.perf_counter()
    limits.models()  # A slip is told before the table is read.
    _require_place(data, output, into, dry_run=dry_run)
    written = outputs.outputs_of(data, population, columns.hierarchies, policy=columns.policy, force=force)
    released = None if output is None else outputs.released_file(written, output, data, stream=source.stream)
    page = outputs.added_report(written, report)
    policy_file = outputs.added(written, save_policy)
    recoding_folder = outputs.added(written, recoding, folder=True, private=True)
    map_file = outputs.added(written, row_map, private=True)
    with progress() as shown, written:
        shown.stage("read")
        rows, csv_format, names = source.open(data, shown)
        if into is not None:
            rows.place_for(into, force=force)
        policy = search.override(limits.asked_of(columns.policy_for(names)))
        policy = replace(
            policy,
            keep_order=policy.keep_order or keep_order,
            seed=policy.seed if seed is None else seed,
        )
        settings: dict[str, Any] = {
            "levels": search.fixed_levels(),
            "population": population,
            "csv_format": csv_format,
            "progress": shown,
            "force": force,
        }
        if dry_run:
            found = plan(rows, policy, **settings)
            _tell(found, [output, into, report, save_policy, recoding, row_map], json=json)
            return
        release = release_of(rows, policy, **settings)
        shown.stage("write")
        _write_confidential(release, policy_file, recoding_folder, map_file)
        if page is not None:
            shown.stage("report")
            release.report(page, internal=internal)
            shown.stage("write")
        if released is not None:
            release.write(released, escape_formulas=escape_formulas)
        if into is not None:
            release.into(into, force=force)
    if save_policy is not None:
        LOG.write(
            "warning",
            "confidential",
            f"{save_policy} is for you alone: it and the hierarchies beside it know values that the release "
            "hides",
        )
    if json:
        outputs.print_json(release.to_dict())
        return
    out = console()
    show_release_summary(out, release)
    if full:
        out.print()
        show_release(out, release)
        out.print()
    seconds = time.perf_counter() - began
    out.print(
        f"written: {output or into} ({release.privacy.records:,} rows), every model holds; "
        f"{seconds:.2f} s with reading and writing" + ("" if full else "; --full shows every figure"),
    )


def _require_place(data: Path | Address, output: Path | None, into: str | None, *, dry_run: bool) -> None:
    """Refuse a call that does not say where the release goes; a dry run may leave it open."""
    from incrowd.errors import ParameterError

    if (output is None) == (into is None) and not (dry_run and output is None):
        raise ParameterError(
            "say where the release goes: to a file with -o, or --into a table of the database"
        )
    if into is not None and isinstance(data, Path):
        raise ParameterError("--into is for databases; name a file with -o")


def _tell(found: Plan, places: Sequence[Path | str | None], *, json: bool) -> None:
    """Print what a dry run found out."""
    from incrowd.cli.planning import show_plan
    from incrowd.cli.tables import console

    named = [str(place) for place in places if place is not None]
    if json:
        outputs.print_json(found.to_dict() | {"would_write": named})
    else:
        show_plan(console(), found, named)


def _write_confidential(
    release: Release, policy: Target | None, recoding: Target | None, row_map: Target | None
) -> None:
    """Write what is for the owner of the data alone."""
    if policy is not None:
        release.policy.write(policy)
    if recoding is not None:
        release.recoding.save(recoding)
    if row_map is not None:
        release.write_row_map(row_map)
