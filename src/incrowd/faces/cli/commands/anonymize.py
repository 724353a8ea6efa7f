"""`incrowd anonymize`: a table that satisfies privacy models."""

from __future__ import annotations

import time
from collections.abc import Iterable
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, NamedTuple

import typer
from rich.console import Console
from rich.table import Table

from incrowd.core.errors import InfeasibleError, ParameterError, VerdictError
from incrowd.faces.cli import option_groups, options, outputs
from incrowd.faces.cli.logs import LOG
from incrowd.faces.cli.tables import percent

if TYPE_CHECKING:
    from incrowd.core.dialects.addresses import Address
    from incrowd.core.io.targets import Outputs, Target
    from incrowd.core.progress import Progress
    from incrowd.release.jobs.plan import Plan, PlannedColumn
    from incrowd.release.jobs.release import Release
    from incrowd.release.policy.policy import Policy

_QUICK = 0.5
"""Seconds of a search below which others are tried at once, where a policy is infeasible."""


@dataclass(frozen=True)
class OutputOptions:
    """The targets of a release."""

    output: Annotated[
        Path | None,
        typer.Option(
            "-o",
            "--output",
            help=f"The released file: {options.KINDS}; with many files also a folder for as many CSV or "
            "Parquet files.",
        ),
    ] = None
    into: Annotated[
        str | None,
        typer.Option("--into", metavar="TABLE", help="The released table, new in the same database."),
    ] = None
    row_map: Annotated[
        Path | None,
        typer.Option("--row-map", metavar="FILE", help="Also write which raw row each row is; keep it."),
    ] = None
    recoding: Annotated[
        Path | None,
        typer.Option("--recoding", metavar="DIR", help="Also save the recoding there; it knows raw values."),
    ] = None
    save_policy: Annotated[
        Path | None,
        typer.Option(
            "--save-policy",
            metavar="FILE",
            help="Also write the policy as TOML, for apply; with hierarchies it knows raw values.",
        ),
    ] = None
    report: options.Report = None
    internal: Annotated[
        bool, typer.Option("--internal", help="Let the report name values of the raw table; not to publish.")
    ] = False
    escape_formulas: options.Escape = False
    force: options.Force = False

    def require_place(self, data: Path | Address, *, dry_run: bool) -> None:
        """Refuse a call that does not say where the release goes; a dry run may leave it open.

        Raises
        ------
        ParameterError
        """
        if (self.output is None) == (self.into is None) and not (dry_run and self.output is None):
            raise ParameterError(
                "say where the release goes: to a file with -o, or --into a table of the database"
            )
        if self.into is not None and isinstance(data, Path):
            raise ParameterError("--into is for databases; name a file with -o")

    def targets(self, written: Outputs, data: Path | Address, *, stream: bool) -> _Targets:
        """Take note of every output before the work starts.

        Raises
        ------
        TableError
            When one overlaps with what is read, exists or cannot be written.
        """
        output = self.output
        return _Targets(
            None if output is None else outputs.released_file(written, output, data, stream=stream),
            outputs.added_report(written, self.report),
            outputs.added(written, self.save_policy),
            outputs.added(written, self.recoding, folder=True, private=True),
            outputs.added(written, self.row_map, private=True),
        )

    def write(self, release: Release, targets: _Targets, shown: Progress) -> None:
        """Write the outputs of a call; those for the owner of the data alone come first."""
        shown.stage("write")
        if targets.policy is not None:
            release.policy.write(targets.policy)
        if targets.recoding is not None:
            release.recoding.save(targets.recoding)
        if targets.row_map is not None:
            release.write_row_map(targets.row_map)
        if targets.report is not None:
            shown.stage("report")
            release.report(targets.report, internal=self.internal)
            shown.stage("write")
        if targets.released is not None:
            release.write(targets.released, escape_formulas=self.escape_formulas)
        if self.into is not None:
            release.into(self.into, force=self.force)

    def named(self) -> list[str]:
        """Return all places that were named."""
        places = (self.output, self.into, self.report, self.save_policy, self.recoding, self.row_map)
        return [str(place) for place in places if place is not None]


class _Targets(NamedTuple):
    """The outputs that were noted; None where one was not asked for."""

    released: Target | None
    report: Target | None
    policy: Target | None
    recoding: Target | None
    row_map: Target | None


def anonymize(
    data: options.FileOrAddress,
    source: option_groups.TableOptions,
    columns: option_groups.ColumnOptions,
    limits: option_groups.ModelOptions,
    search: option_groups.SearchOptions,
    places: OutputOptions,
    book: option_groups.LedgerOptions,
    gate: option_groups.GateOptions,
    population: options.People = None,
    keep_order: options.KeepOrder = False,
    seed: options.Seed = None,
    full: options.Full = False,
    json: options.Json = False,
    dry_run: Annotated[
        bool,
        typer.Option(
            "--dry-run", help="Read, check and count, tell what would be done, and write nothing at all."
        ),
    ] = False,
) -> None:
    """Write a release that satisfies privacy models.

    It shows what the release lost. Nothing is written when a model cannot be satisfied, or a point of the
    verdict is open (exit status 1).
    """
    from incrowd.faces.cli.tables import progress
    from incrowd.release.jobs.anonymize import anonymize as release_of
    from incrowd.release.jobs.plan import plan

    began = time.perf_counter()
    places.require_place(data, dry_run=dry_run)
    if book.ledger is not None and not isinstance(data, Path):
        raise ParameterError("--ledger: rows of a database are not in memory; fetch them into a file")
    written = outputs.outputs_of(
        data, population, columns.hierarchies, book.ledger, policy=columns.policy, force=places.force
    )
    targets = places.targets(written, data, stream=source.stream)
    with progress() as shown, written:
        shown.stage("read")
        rows, csv_format, names = source.open(data, shown)
        if places.into is not None:
            rows.place_for(places.into, force=places.force)
        policy = gate.applied_to(search.override(limits.applied_to(columns.policy_for(names))))
        policy = replace(
            policy,
            keep_order=policy.keep_order or keep_order,
            seed=policy.seed if seed is None else seed,
        )
        if places.output is not None and places.row_map is None and _hides_people(policy):
            LOG.say(
                f"people are counted ({', '.join(policy.schema.person)}): add --row-map ROWS if verify or "
                "utility shall look at the release; it says whose row each is, and cannot be written later",
                err=True,
            )
        settings: dict[str, Any] = {
            "levels": search.fixed_levels(),
            "population": population,
            "csv_format": csv_format,
            "progress": shown,
            "force": places.force,
        }
        if dry_run:
            _show_plan(plan(rows, policy, **settings), places, json=json)
            return
        searching = time.perf_counter()
        try:
            release = release_of(rows, policy, unanswered=gate.choice, **settings)
        except VerdictError:
            raise
        except InfeasibleError as error:
            quick = time.perf_counter() - searching < _QUICK
            raise InfeasibleError(f"{error}. {_hint(rows, policy, settings, quick=quick)}") from None
        places.write(release, targets, shown)
        book.record(written, release, rows, input=data, policy=columns.policy, release=targets.released)
    _show_release(release, places, began, full=full, json=json)


def _hides_people(policy: Policy) -> bool:
    """Say whether nobody can tell from the release whose row each is, though people are counted."""
    names = policy.schema.person
    kept = policy.keep_order or all(policy.schema[name].treatment is not None for name in names)
    return bool(names) and not kept


def _hint(rows: Any, policy: Policy, settings: dict[str, Any], *, quick: bool) -> str:
    """Return a sentence on a change that would help: one that was tried where a search is quick."""
    from incrowd.release.jobs.suggest import suggest

    if quick:
        named = {name: settings[name] for name in ("population", "csv_format", "progress")}
        levels = settings["levels"]
        found = suggest(rows, policy.with_levels(levels) if levels else policy, most=1, **named)
        if found.found:
            return f"What would help: {found.found[0].text}; incrowd suggest tries more"
    return "incrowd suggest tries what would help"


def _show_plan(found: Plan, places: OutputOptions, *, json: bool) -> None:
    """Print the result of a dry run."""
    from incrowd.faces.cli.tables import console

    if json:
        outputs.print_json(found.to_dict() | {"would_write": places.named()})
    else:
        show_plan(console(), found, places.named())


def _show_release(release: Release, places: OutputOptions, began: float, *, full: bool, json: bool) -> None:
    """Print a summary of the release, and where it is."""
    from incrowd.faces.cli.summary import last_line, show_release_summary
    from incrowd.faces.cli.tables import console, show_release
    from incrowd.release.jobs.released_rows import model_verdict

    if places.save_policy is not None:
        LOG.write(
            "warning",
            "confidential",
            f"{places.save_policy} is for you alone: it and the hierarchies beside it know values that the "
            "release hides",
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
    place = f"{places.output or places.into} ({release.privacy.records:,} rows)"
    said = last_line(release.verdict, place, model_verdict(release.values))
    out.print(
        f"{said}; {seconds:.2f} s with reading and writing" + ("" if full else "; --full shows every figure"),
    )


def show_plan(out: Console, found: Plan, places: Iterable[str]) -> None:
    """Print a plan.

    Parameters
    ----------
    places
        What would be written.
    """
    policy = found.policy
    out.print("Dry run: nothing is written.")
    whose = "" if found.people is None else f" of {found.people:,} people"
    suppressed = f", {found.suppressed:,} of them suppressed already" if found.suppressed else ""
    out.print(f"Records: {found.records:,}{whose}{suppressed}.")
    out.print(f"Keys: {found.keys:,} combinations of values of the quasi-identifiers.")
    out.print(_columns(found.columns))
    out.print(f"Models: {', '.join(map(str, policy.models))}.")
    lattice = "" if found.nodes is None else f" in a lattice of {found.nodes:,} nodes"
    out.print(f"Search: {policy.algorithm}{lattice}; at most {percent(policy.max_suppression)} suppressed.")
    out.print(f"Rows: {'in the order they have' if policy.keep_order else 'in a random order'}.")
    for note in found.notes:
        out.print(f"note: {note}")
    named = list(places)
    out.print(
        f"Would be written: {', '.join(named)}." if named else "No output is named yet: say -o or --into."
    )


def _columns(columns: Iterable[PlannedColumn]) -> Table:
    table = Table(box=None, pad_edge=False)
    for name in ("column", "role", "becomes", "read as", "values", "levels above", "treatment"):
        table.add_column(name, justify="right" if name in ("values", "levels above") else "left")
    for each in columns:
        table.add_row(
            each.name,
            each.role,
            each.becomes,
            each.kind or "",
            "" if each.values is None else f"{each.values:,}",
            "" if each.height is None else str(each.height),
            "" if each.treatment is None else ", ".join(f"{k} = {v}" for k, v in each.treatment.items()),
        )
    return table
