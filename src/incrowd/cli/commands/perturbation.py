"""`incrowd perturbation`: what noise, swapping or microaggregation changed in numbers, and what it hides."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from incrowd.cli import options, outputs

if TYPE_CHECKING:
    from rich.console import Console

    from incrowd.jobs.perturbation import Perturbation

__all__ = ["perturbation"]


def perturbation(
    raw: options.Data,
    release: Annotated[Path, typer.Argument(metavar="RELEASE", help="The released file, of the same rows.")],
    source: options.CsvOptions,
    columns: Annotated[
        str | None,
        typer.Option(
            "--columns",
            metavar="A,B,...",
            help="Columns of numbers; by default those that the policy treats.",
        ),
    ] = None,
    policy: options.PolicyFile = None,
    null_value: options.NullValues = None,
    row_map: options.RowMap = None,
    one_to_one: Annotated[
        bool,
        typer.Option("--one-to-one", help="Also link every row with a released one of its own (extra ml)."),
    ] = False,
    json: options.Json = False,
) -> None:
    """Measure what perturbed numbers lost, and what they hide.

    Information loss (IL1s, means, covariances, eigenvalues), interval disclosure, and distance-based record
    linkage. A release has its rows in another order, so name its row map.
    """
    from incrowd.cli.parsing import listed
    from incrowd.cli.tables import console, progress
    from incrowd.errors import ParameterError
    from incrowd.io.files import read_table
    from incrowd.jobs.perturbation import perturbation as measured
    from incrowd.jobs.policy import Policy
    from incrowd.table.schema import Schema

    schema = Schema(()) if policy is None else Policy.read(policy).schema
    wanted = listed(columns) or [
        each.name
        for each in schema.treated
        if each.treatment is not None and each.treatment.reads == "number"
    ]
    if not wanted:
        raise ParameterError("no columns are named: give --columns, or a policy that treats numbers")
    with progress() as shown:
        shown.stage("read")
        before, csv_format = source.read(raw)
        after, _ = read_table(release, csv_format)
        shown.stage("measure")
        found = measured(
            before, after, wanted, one_to_one=one_to_one, row_map=row_map, schema=schema,
            null_values=null_value or (),
        )  # fmt: skip
    if json:
        outputs.print_json(found.to_dict())
        return
    show_perturbation(console(), found)


def show_perturbation(out: Console, found: Perturbation) -> None:
    """Print what analyses lose, and what an attacker finds."""
    from rich.table import Table
    from rich.text import Text

    from incrowd.cli.tables import number, percent

    out.print(f"{found.records:,} records have a number in all columns, before and after")
    out.print()
    table = Table(title="Information loss", title_justify="left", box=None, pad_edge=False)
    table.add_column("column")
    table.add_column("IL1s", justify="right")
    table.add_column("difference of means", justify="right")
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
