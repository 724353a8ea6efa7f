"""`incrowd lattice`: search the full-domain recodings of a table."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from incrowd.faces.cli import option_groups, options, outputs
from incrowd.faces.cli.completing import program
from incrowd.faces.cli.flattening import Without
from incrowd.faces.cli.logs import LOG

if TYPE_CHECKING:
    from rich.console import Console

    from incrowd.search.lattice import SolutionSpace


def lattice(
    data: options.FileOrAddress,
    source: option_groups.TableOptions,
    columns: option_groups.MeasuredColumns,
    limits: Annotated[option_groups.ModelOptions, Without("wildcards")],
    search: Annotated[option_groups.SearchOptions, Without("style", "ends")],
    population: options.People = None,
    output: Annotated[
        Path | None,
        typer.Option("-o", "--output", help="Also write every node looked at: .parquet or .json."),
    ] = None,
    force: options.Force = False,
    json: options.Json = False,
) -> None:
    """Search the lattice of full-domain recodings.

    The trade-off of loss and risk is shown, and nothing is released.

    Take a node with `anonymize --levels`. Columns without a role do no harm here.
    """
    from incrowd.faces.cli.tables import console, progress
    from incrowd.release.jobs.make.anonymize import explore
    from incrowd.search.lattice.space import check_suffix

    files = outputs.outputs_of(data, population, columns.hierarchies, policy=columns.policy, force=force)
    target = outputs.add_output(files, output)
    if output is not None:
        check_suffix(output)
    with progress() as job:
        job.stage("read")
        rows, csv_format, names = source.open(data, job)
        policy = search.override(columns.policy_for(names, lenient=True).with_models(limits.models()))
        policy = policy.with_levels(search.fixed_levels())
        space = explore(rows, policy, population=population, csv_format=csv_format, progress=job)
    if target is not None:
        with files:
            space.save(target)
    if json:
        outputs.print_json(space.to_dict())
        return
    show_lattice(console(), space)
    if output is not None:
        LOG.say(f"written: {output} ({len(space.nodes):,} nodes)")


def show_lattice(out: Console, space: SolutionSpace) -> None:
    """Print the number of visited nodes, the best node and alternatives on the Pareto front."""
    from incrowd.faces.cli.tables import number, titled

    anonymous = sum(node.anonymous for node in space.nodes)
    out.print(
        f"{space.size:,} nodes, {len(space.nodes):,} looked at, {anonymous:,} of them anonymous; "
        + ("the best is proved" if space.proved else "the best is not proved to be the best of all")
    )
    out.print()
    names = ("score", "suppressed", "classes", "smallest", "largest risk", "mean risk")
    table = titled(f"Loss against risk: {space.metric}; the first is the choice", ("levels",), names)
    table.columns[0].no_wrap = True
    best = [] if space.best is None else [space.best]
    for node in best + [node for node in space.front() if node not in best]:
        records = max(space.records - node.suppressed, 1)
        figures = (node.score, node.suppressed, node.classes, node.smallest)
        risks = (1 / max(node.smallest, 1), node.classes / records)
        levels = " ".join(map(str, node.levels))
        table.add_row(levels, *map(number, figures), *map(number, risks))
    out.print(table)
    out.print()
    out.print(f"levels are those of {', '.join(space.names)}")
    if space.best is not None:
        levels = ",".join(
            f"{name}={level}" for name, level in zip(space.names, space.best.levels, strict=True)
        )
        out.print(f"to take a node, e.g. the first: {program()} anonymize ... --levels {levels}")
