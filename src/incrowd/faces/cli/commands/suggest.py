"""`incrowd suggest`: find changes that make an infeasible policy feasible."""

from __future__ import annotations

from typing import Annotated

import typer

from incrowd.faces.cli import option_groups, options, outputs
from incrowd.faces.cli.flattening import Without


def suggest(
    data: options.FileOrAddress,
    source: option_groups.TableOptions,
    columns: option_groups.ColumnOptions,
    limits: Annotated[option_groups.ModelOptions, Without("wildcards")],
    search: option_groups.SearchOptions,
    population: options.People = None,
    most: Annotated[int, typer.Option("--most", min=1, help="Changes to look for.")] = 3,
    json: options.Json = False,
) -> None:
    """Try what would help where a policy is infeasible.

    Single changes are tried, each with a search of its own: another algorithm, more suppression, longer
    lists in a cell, a looser limit, a column less. Of each kind the mildest that helps is printed. Nothing is
    released.

    The exit status is 1 when none of them helps.
    """
    from rich.text import Text

    from incrowd.faces.cli.tables import console, progress
    from incrowd.release.jobs.compare.suggest import suggest as find_changes

    with progress() as job:
        job.stage("read")
        rows, csv_format, names = source.open(data, job)
        policy = search.override(limits.applied_to(columns.policy_for(names)))
        if levels := search.fixed_levels():
            policy = policy.with_levels(levels)
        result = find_changes(
            rows, policy, population=population, csv_format=csv_format, most=most, progress=job
        )
    out = console()
    if json:
        outputs.print_json(result.to_dict())
    elif result.feasible:
        out.print("The policy as it is gives a release.")
    elif result.found:
        lost = "The policy as it is gives a release that tells little. " if result.points else ""
        out.print(f"{lost}Each of these changes alone is enough:")
        for change in result.found:
            out.print(f"  {change.text}")
    else:
        out.print("No single change that was tried is enough. Loosen two limits, or name fewer columns.")
    if result.points and not json:
        out.print(Text(f"Its verdict: {result.verdict.text}"))
    if not result.feasible and not result.found:
        raise typer.Exit(1)
