"""`incrowd perturbation`: the changes in perturbed numbers and categories, and the protection they give."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from incrowd.core.errors import ParameterError
from incrowd.core.presentation.documents import envelope
from incrowd.faces.cli import option_groups, options, outputs

if TYPE_CHECKING:
    from collections.abc import Sequence

    from rich.console import Console

    from incrowd.core.table.schema import Schema
    from incrowd.release.jobs.perturbation import Perturbation
    from incrowd.release.jobs.transitions import Transitions

_SHOWN = 40


def perturbation(
    raw: options.Data,
    release: Annotated[Path, typer.Argument(metavar="RELEASE", help="The released file, of the same rows.")],
    source: option_groups.CsvOptions,
    columns: Annotated[
        str | None,
        typer.Option(
            "--columns",
            metavar="A,B,...",
            help="Columns of numbers, or with PRAM; by default those that the policy treats.",
        ),
    ] = None,
    policy: options.PolicyFile = None,
    null_value: options.NullValues = None,
    row_map: options.RowMap = None,
    by: options.ByKey = None,
    one_to_one: Annotated[
        bool,
        typer.Option("--one-to-one", help="Also link every row with a released one of its own."),
    ] = False,
    json: options.Json = False,
) -> None:
    """Measure what perturbed columns lost, and what they hide.

    Information loss (IL1s, means, covariances, eigenvalues), interval disclosure, and distance-based record
    linkage. Of columns with PRAM: the matrix, what was counted, and what the release tells of the
    frequencies before. A release has its rows in another order, so name its row map, or a key.
    """
    from incrowd.core.table.schema import Schema
    from incrowd.faces.cli.parsing import listed
    from incrowd.faces.cli.tables import console, progress
    from incrowd.release.jobs.perturbation import perturbation as measured
    from incrowd.release.jobs.transitions import transitions
    from incrowd.release.policy.policy import Policy

    schema = Schema(()) if policy is None else Policy.read(policy).schema
    numbers, categories = _wanted(listed(columns), schema)
    settings: dict[str, Any] = {"row_map": row_map, "by": by, "schema": schema}
    settings["null_values"] = null_value or ()
    with progress() as shown:
        shown.stage("read")
        before, csv_format = source.read(raw)
        after = source.read_beside(release, csv_format)
        shown.stage("measure")
        found = measured(before, after, numbers, one_to_one=one_to_one, **settings) if numbers else None
        changed = transitions(before, after, categories, **settings) if categories else []
    if json:
        document = {**envelope("perturbation"), "columns": []} if found is None else found.to_dict()
        if changed:
            document["categories"] = [each.to_dict() for each in changed]
        outputs.print_json(document)
        return
    if found is not None:
        show_perturbation(console(), found)
    for each in changed:
        show_transitions(console(), each)


def _wanted(given: Sequence[str] | None, schema: Schema) -> tuple[list[str], list[str]]:
    """Return the columns of numbers, and those with PRAM."""
    from incrowd.core.treatments import Pram

    pram = [each.name for each in schema.treated if isinstance(each.treatment, Pram)]
    treated = [
        each.name
        for each in schema.treated
        if each.treatment is not None and each.treatment.reads == "number"
    ]
    wanted = list(given or (*treated, *pram))
    if not wanted:
        raise ParameterError(
            "no columns are named: give --columns, or a policy that treats numbers or has pram"
        )
    return [name for name in wanted if name not in pram], [name for name in wanted if name in pram]


def show_perturbation(out: Console, found: Perturbation) -> None:
    """Print the loss of analyses, and the success of an attacker."""
    from rich.text import Text

    from incrowd.faces.cli.tables import number, percent, titled

    out.print(f"{found.records:,} records have a number in all columns, before and after")
    out.print()
    table = titled("Information loss", ("column",), ("IL1s", "difference of means"))
    for name in found.columns:
        table.add_row(Text(name), number(found.il1s[name]), number(found.means[name]))
    out.print(table)
    out.print(
        f"covariances differ by {number(found.covariances)} at most, eigenvalues by "
        f"{number(found.eigenvalues)} of the largest (standardized columns)"
    )
    out.print()
    out.print(f"interval disclosure: {percent(found.interval_disclosure)} of the numbers")
    out.print(f"record linkage: {percent(found.linked)} of the records are nearest to their released one")
    if found.linked_one_to_one is not None:
        out.print(f"  one to one: {percent(found.linked_one_to_one)}")


def show_transitions(out: Console, found: Transitions) -> None:
    """Print the changes of the values of a column, and the estimates of the frequencies before."""
    from rich.text import Text

    from incrowd.faces.cli.tables import number, percent, titled

    groups = "" if found.within is None else f", where {found.within} is {found.group or '(missing)'}"
    figures = ("before", "released", "estimated", "standard error", "stays by matrix", "stayed")
    table = titled(Text(f"PRAM: {found.column}{groups}"), ("value",), figures)
    stayed = found.counted.diagonal() / found.before.clip(1)
    for place, value in enumerate(found.values[:_SHOWN]):
        table.add_row(
            Text(value),
            number(int(found.before[place])),
            number(int(found.after[place])),
            number(None if found.estimated is None else found.estimated[place]),
            number(None if found.errors is None else found.errors[place]),
            percent(float(found.matrix[place, place])),
            percent(float(stayed[place])) if found.before[place] else "-",
        )
    out.print()
    out.print(table)
    if len(found.values) > _SHOWN:
        out.print(f"{len(found.values) - _SHOWN:,} more values; --json prints all, with both matrices")
    if found.estimated is None:
        out.print("the matrix cannot be undone, so nothing can be estimated")
