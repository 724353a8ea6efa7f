"""`incrowd anonymize`: release a table that satisfies privacy models."""

from __future__ import annotations

import time
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, NamedTuple

import typer

from incrowd.core.errors import InfeasibleError, ParameterError, VerdictError
from incrowd.faces.cli import option_groups, options, outputs
from incrowd.faces.cli.linked import anonymize_folder, linked_content, refuse_given
from incrowd.faces.cli.logs import LOG
from incrowd.faces.cli.parsing import file_or_address

if TYPE_CHECKING:
    from rich.console import Console
    from rich.table import Table

    from incrowd.attacks import Attack
    from incrowd.core.io.targets import Outputs, Target
    from incrowd.core.progress import Progress
    from incrowd.engines.dialects.addresses import Address
    from incrowd.release.jobs.make.plan import Plan, PlannedColumn
    from incrowd.release.jobs.make.release import Release
    from incrowd.release.policy.policy import Policy

_QUICK = 0.5
"""Longest failed search, in seconds, after which changes of the policy are tried at once."""


@dataclass(frozen=True)
class OutputOptions(option_groups.ReportOptions):
    """Options for the outputs of a release, the ledger and the report among them."""

    output: Annotated[
        Any,
        typer.Option(
            "-o",
            "--output",
            metavar="PATH",
            parser=file_or_address,
            help=f"The released file: {options.KINDS}; of many CSV or Parquet files also a folder, of linked "
            "tables a folder or a database.",
        ),
    ] = None
    into: Annotated[
        str | None,
        typer.Option(
            "--into", metavar="TABLE", help="The released table, new in the same database; or the schema."
        ),
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
    attack_results: Annotated[
        Path | None,
        typer.Option(
            metavar="FILE", help="What `incrowd attack --json` printed of this release, for the report."
        ),
    ] = None
    codebook: Annotated[
        Path | None,
        typer.Option(
            "--codebook",
            metavar="FILE",
            help="Also write a codebook: .csv (REDCap), .xml (DDI) or .json.",
        ),
    ] = None
    escape_formulas: options.Escape = False
    force: options.Force = False

    def check(self) -> None:
        """Require a ledger or a report for options about them, and readable results of attacks."""
        if self.report is None and self.attack_results is not None:
            raise ParameterError("--attack-results is for the report; add --report FILE")
        super().check()
        self.attacks()

    def attacks(self) -> Sequence[Attack]:
        """Return the saved results of attacks, none without --attack-results.

        Raises
        ------
        ParameterError, TableError
        """
        if self.attack_results is None:
            return ()
        from incrowd.attacks.saved import read_attacks

        return read_attacks(self.attack_results)

    def require_place(self, data: Path | Address, *, dry_run: bool) -> None:
        """Require a single place for the release, optional in a dry run.

        Raises
        ------
        ParameterError
        """
        if (self.output is None) == (self.into is None) and not (dry_run and self.output is None):
            raise ParameterError(
                "say where the release goes: to a file with -o, or --into a table of the database"
            )
        if not isinstance(self.output, Path | None):
            raise ParameterError(
                "-o is an address, which only linked tables go to; name a file, or a table with --into"
            )
        if self.into is not None and isinstance(data, Path):
            raise ParameterError("--into is for databases; name a file with -o")

    def targets(self, files: Outputs, data: Path | Address, *, stream: bool) -> _Targets:
        """Register every output before the work starts.

        Raises
        ------
        TableError
            When one overlaps with what is read, exists or cannot be written.
        """
        output = self.output
        if self.codebook is not None:
            from incrowd.release.codebooks import kind_for

            kind_for(self.codebook)
        return _Targets(
            None if output is None else outputs.add_release(files, output, data, stream=stream),
            outputs.add_report(files, self.report),
            outputs.add_output(files, self.save_policy),
            outputs.add_output(files, self.recoding, folder=True, private=True),
            outputs.add_output(files, self.row_map, private=True),
            outputs.add_output(files, self.codebook),
        )

    def write(self, release: Release, targets: _Targets, job: Progress) -> None:
        """Write all outputs, starting with confidential outputs."""
        job.stage("write")
        if targets.policy is not None:
            release.policy.write(targets.policy)
        if targets.recoding is not None:
            release.recoding.save(targets.recoding)
        if targets.row_map is not None:
            release.write_row_map(targets.row_map)
        if targets.released is not None:
            release.write(targets.released, escape_formulas=self.escape_formulas)
        if targets.report is not None:
            # Its first page has the digest of what was written.
            job.stage("report")
            release.report(
                targets.report,
                internal=self.internal,
                file=targets.released,
                recipient=self.recipient or "",
                purpose=self.purpose or "",
                owner=self.owner or "",
                attacks=self.attacks(),
            )
            job.stage("write")
        if targets.codebook is not None:
            release.write_codebook(targets.codebook, file=targets.released)

    def paths(self) -> list[str]:
        """Return the paths and tables of all outputs."""
        places = (
            self.output, self.into, self.report, self.save_policy, self.recoding, self.row_map, self.codebook
        )  # fmt: skip
        return [str(place) for place in places if place is not None]


class _Targets(NamedTuple):
    """The registered outputs, None for an output that is not requested."""

    released: Target | None
    report: Target | None
    policy: Target | None
    recoding: Target | None
    row_map: Target | None
    codebook: Target | None


def anonymize(
    data: options.FileOrAddress,
    source: option_groups.TableOptions,
    columns: option_groups.ColumnOptions,
    limits: option_groups.ModelOptions,
    search: option_groups.SearchOptions,
    places: OutputOptions,
    gate: option_groups.GateOptions,
    population: options.People = None,
    keep_order: options.KeepOrder = False,
    seed: options.Seed = None,
    goal: options.Goal = None,
    full: options.Full = False,
    json: options.Json = False,
    dry_run: Annotated[
        bool,
        typer.Option("--dry-run", help="Check and count, say what would be done, write nothing."),
    ] = False,
) -> None:
    """Write a release that satisfies privacy models.

    It shows what the release lost. Nothing is written when a model cannot be satisfied, or a point of the
    verdict is open (exit status 1).
    """
    from incrowd.core.io.targets import INTERNAL
    from incrowd.faces.cli.tables import progress
    from incrowd.release.accounts.row_map import ROW_MAP

    began = time.perf_counter()
    if columns.policy is not None and (content := linked_content(columns.policy)) is not None:
        refuse_given(source, columns, limits, search, places, population=population, keep_order=keep_order,
                     seed=seed, goal=goal, dry_run=dry_run)  # fmt: skip
        anonymize_folder(data, columns.policy, content, places, gate, json=json)
        return
    places.require_place(data, dry_run=dry_run)
    files = outputs.outputs_of(
        data,
        population,
        columns.hierarchies,
        places.ledger,
        places.attack_results,
        policy=columns.policy,
        force=places.force,
    )
    targets = places.targets(files, data, stream=source.stream)
    algorithm = search.algorithm or ("" if columns.policy else "mondrian")
    with progress(algorithm.partition(":")[0]) as job, files:
        job.stage("read")
        rows, csv_format, names = source.open(data, job)
        if places.into is not None:
            rows.place_for(places.into, force=places.force)
        policy = gate.applied_to(search.override(limits.applied_to(columns.policy_for(names))))
        policy = replace(
            policy,
            keep_order=policy.keep_order or keep_order,
            seed=policy.seed if seed is None else seed,
        )
        keeps_map = places.output is not None and places.row_map is None and isinstance(data, Path)
        if keeps_map and not dry_run and _hides_people(policy):
            assert places.output is not None
            beside = places.output.parent / INTERNAL / f"{places.output.name}.{ROW_MAP}"
            targets = targets._replace(row_map=outputs.add_output(files, beside, private=True))
            people = ", ".join(policy.schema.person)
            LOG.say(
                f"people are counted ({people}): {beside} says whose row each is, so verify "
                "--against finds it there; do not publish that folder",
                err=True,
            )
        settings: dict[str, Any] = {
            "levels": search.fixed_levels(),
            "population": population,
            "csv_format": csv_format,
            "progress": job,
            "force": places.force,
        }
        if goal is not None:
            from incrowd.release.analyses.analysis import analysis_of

            analysis_of(goal, policy.analyses)
        if dry_run:
            from incrowd.release.jobs.make.plan import plan

            _show_plan(plan(rows, policy, **settings), places, json=json)
            return
        searching = time.perf_counter()
        try:
            release = _release(goal, rows, policy, gate, settings)
        except VerdictError:
            raise
        except InfeasibleError as error:
            quick = time.perf_counter() - searching < _QUICK
            raise InfeasibleError(f"{error}. {_hint(rows, policy, settings, quick=quick)}") from None
        places.write(release, targets, job)
        name = places.into
        into = None if name is None else partial(release.into, name, force=places.force)
        files_of = {"input": data, "policy": columns.policy, "release": targets.released}
        places.record(files, release, rows, into=into, **files_of)
    _show_release(release, places, began, full=full, json=json)


def _hides_people(policy: Policy) -> bool:
    """Whether people are counted but released rows cannot be matched to people."""
    names = policy.schema.person
    has_keys = policy.keep_order or all(policy.schema[name].treatment is not None for name in names)
    return bool(names) and not has_keys


def _release(
    goal: str | None, rows: Any, policy: Policy, gate: option_groups.GateOptions, settings: dict[str, Any]
) -> Release:
    """Release a table by its policy, or by the setting that keeps an analysis best."""
    from incrowd.release.jobs.make.anonymize import anonymize as release_of

    if goal is not None:
        from incrowd.release.jobs.compare.tune import tune

        return tune(rows, policy, goal, **settings).release
    return release_of(rows, policy, unanswered=gate.choice, **settings)


def _hint(rows: Any, policy: Policy, settings: dict[str, Any], *, quick: bool) -> str:
    """Suggest a change for an infeasible policy, tested if the search is quick."""
    from incrowd.release.jobs.compare.suggest import suggest

    if quick:
        shared = {name: settings[name] for name in ("population", "csv_format", "progress")}
        levels = settings["levels"]
        changes = suggest(rows, policy.with_levels(levels) if levels else policy, most=1, **shared)
        if changes.found:
            return f"What would help: {changes.found[0].text}; incrowd suggest tries more"
    return "incrowd suggest tries what would help"


def _show_plan(plan: Plan, places: OutputOptions, *, json: bool) -> None:
    """Print the plan of a dry run."""
    from incrowd.faces.cli.tables import console

    if json:
        outputs.print_json(plan.to_dict() | {"would_write": places.paths()})
    else:
        show_plan(console(), plan, places.paths())


def _show_release(release: Release, places: OutputOptions, began: float, *, full: bool, json: bool) -> None:
    """Print a summary of the release and the path."""
    from incrowd.faces.cli.summary import last_line, show_release_summary
    from incrowd.faces.cli.tables import console, show_release
    from incrowd.release.jobs.make.released_rows import model_verdict

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
    sentence = last_line(release.verdict, place, model_verdict(release.values))
    out.print(
        f"{sentence}; {seconds:.2f} s with reading and writing"
        + ("" if full else "; --full shows every figure"),
    )


def show_plan(out: Console, plan: Plan, places: Iterable[str]) -> None:
    """Print a plan.

    Parameters
    ----------
    places
        Outputs that a run would write.
    """
    from incrowd.faces.cli.tables import percent

    policy = plan.policy
    out.print("Dry run: nothing is written.")
    whose = "" if plan.people is None else f" of {plan.people:,} people"
    suppressed = f", {plan.suppressed:,} of them suppressed already" if plan.suppressed else ""
    out.print(f"Records: {plan.records:,}{whose}{suppressed}.")
    out.print(f"Keys: {plan.keys:,} combinations of values of the quasi-identifiers.")
    out.print(_columns(plan.columns))
    out.print(f"Models: {', '.join(map(str, policy.models))}.")
    lattice = "" if plan.nodes is None else f" in a lattice of {plan.nodes:,} nodes"
    out.print(f"Search: {policy.algorithm}{lattice}; at most {percent(policy.max_suppression)} suppressed.")
    out.print(f"Rows: {'in the order they have' if policy.keep_order else 'in a random order'}.")
    for note in plan.notes:
        out.print(f"note: {note}")
    paths = list(places)
    out.print(
        f"Would be written: {', '.join(paths)}." if paths else "No output is named yet: say -o or --into."
    )


def _columns(columns: Iterable[PlannedColumn]) -> Table:
    from rich.table import Table

    table = Table(box=None, pad_edge=False)
    for name in ("column", "role", "becomes", "read as", "values", "levels above", "treatment"):
        table.add_column(name, justify="right" if name in ("values", "levels above") else "left")
    for column in columns:
        table.add_row(
            column.name,
            column.role,
            column.becomes,
            column.kind or "",
            "" if column.values is None else f"{column.values:,}",
            "" if column.height is None else str(column.height),
            "" if column.treatment is None else ", ".join(f"{k} = {v}" for k, v in column.treatment.items()),
        )
    return table
