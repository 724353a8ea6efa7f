"""`incrowd perturbation`: measure information loss and disclosure risk of perturbed columns."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from incrowd.core.documents import envelope
from incrowd.core.errors import ParameterError
from incrowd.faces.cli import option_groups, options, outputs

if TYPE_CHECKING:
    from collections.abc import Sequence

    from rich.console import Console

    from incrowd.core.table.schema import Schema
    from incrowd.release.jobs.compare.perturbation import Perturbation
    from incrowd.release.jobs.compare.transitions import Transitions

_VALUES = 40


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
    from incrowd.faces.cli.parsing import names_of
    from incrowd.faces.cli.tables import console, progress
    from incrowd.release.jobs.compare.perturbation import perturbation as measure_numbers
    from incrowd.release.jobs.compare.transitions import transitions
    from incrowd.release.jobs.measure.evaluate import compare_analyses
    from incrowd.release.policy.policy import Policy

    chosen = Policy(Schema(())) if policy is None else Policy.read(policy)
    schema = chosen.schema
    numbers, categories = _columns_by_kind(names_of(columns), schema)
    settings: dict[str, Any] = {"row_map": row_map, "by": by, "schema": schema}
    settings["null_values"] = null_value or ()
    with progress() as job:
        job.stage("read")
        before, csv_format = source.read(raw)
        after = source.read_beside(release, csv_format)
        job.stage("measure")
        numbers_result = (
            measure_numbers(before, after, numbers, one_to_one=one_to_one, **settings) if numbers else None
        )
        categories_results = transitions(before, after, categories, **settings) if categories else []
        computed = compare_analyses(before, after, schema, chosen.analyses)
    if json:
        document = (
            {**envelope("perturbation"), "columns": []}
            if numbers_result is None
            else numbers_result.to_dict()
        )
        if categories_results:
            document["categories"] = [each.to_dict() for each in categories_results]
        document |= {} if computed is None else computed.public()
        outputs.print_json(document)
        return
    if numbers_result is not None:
        show_perturbation(console(), numbers_result)
    for each in categories_results:
        show_transitions(console(), each)
    for sentence in () if computed is None else computed.sentences():
        console().print(sentence)


def _columns_by_kind(names: Sequence[str] | None, schema: Schema) -> tuple[list[str], list[str]]:
    """Return the numeric columns and the PRAM columns."""
    from incrowd.core.treatments import Pram

    pram = [each.name for each in schema.treated if isinstance(each.treatment, Pram)]
    treated = [
        each.name
        for each in schema.treated
        if each.treatment is not None and each.treatment.reads == "number"
    ]
    columns = list(names or (*treated, *pram))
    if not columns:
        raise ParameterError(
            "no columns are named: give --columns, or a policy that treats numbers or has pram"
        )
    return [name for name in columns if name not in pram], [name for name in columns if name in pram]


def show_perturbation(out: Console, result: Perturbation) -> None:
    """Print information loss, interval disclosure and record linkage."""
    from rich.text import Text

    from incrowd.faces.cli.tables import number, percent, titled

    out.print(f"{result.records:,} records have a number in all columns, before and after")
    out.print()
    table = titled("Information loss", ("column",), ("IL1s", "difference of means"))
    for name in result.columns:
        table.add_row(Text(name), number(result.il1s[name]), number(result.means[name]))
    out.print(table)
    out.print(
        f"covariances differ by {number(result.covariances)} at most, eigenvalues by "
        f"{number(result.eigenvalues)} of the largest (standardized columns)"
    )
    out.print()
    out.print(f"interval disclosure: {percent(result.interval_disclosure)} of the numbers")
    out.print(f"record linkage: {percent(result.linked)} of the records are nearest to their released one")
    if result.linked_one_to_one is not None:
        out.print(f"  one to one: {percent(result.linked_one_to_one)}")


def show_transitions(out: Console, result: Transitions) -> None:
    """Print transitions of a PRAM column, and estimates of the original frequencies."""
    from rich.text import Text

    from incrowd.faces.cli.tables import number, percent, titled

    groups = "" if result.within is None else f", where {result.within} is {result.group or '(missing)'}"
    figures = ("before", "released", "estimated", "standard error", "stays by matrix", "stayed")
    table = titled(Text(f"PRAM: {result.column}{groups}"), ("value",), figures)
    stayed = result.counted.diagonal() / result.before.clip(1)
    for place, value in enumerate(result.values[:_VALUES]):
        table.add_row(
            Text(value),
            number(int(result.before[place])),
            number(int(result.after[place])),
            number(None if result.estimated is None else result.estimated[place]),
            number(None if result.errors is None else result.errors[place]),
            percent(float(result.matrix[place, place])),
            percent(float(stayed[place])) if result.before[place] else "-",
        )
    out.print()
    out.print(table)
    if len(result.values) > _VALUES:
        out.print(f"{len(result.values) - _VALUES:,} more values; --json prints all, with both matrices")
    if result.estimated is None:
        out.print("the matrix cannot be undone, so nothing can be estimated")
