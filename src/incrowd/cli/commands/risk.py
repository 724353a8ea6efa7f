"""`incrowd risk`: how easily people are found."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

import typer

from incrowd.cli import options, outputs
from incrowd.table.documents import envelope

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from rich.console import Console

    from incrowd.risk import Identifying, Suda, Uniqueness

__all__ = ["risk"]

_SETS = 10


def risk(
    data: options.Data,
    source: options.CsvOptions,
    columns: options.MeasuredColumns,
    population: options.People = None,
    size: Annotated[
        int | None,
        typer.Option("--population-size", min=1, help="How many people the table is a sample of."),
    ] = None,
    max_size: Annotated[
        int, typer.Option("--max-size", min=1, help="Columns of the largest sets that are looked at.")
    ] = 3,
    distinction: Annotated[
        float, typer.Option("--distinction", help="From which share of distinct records a set identifies.")
    ] = 0.9,
    json: options.Json = False,
) -> None:
    """Measure how easily people are found again.

    The figures are risk models, special uniques, and the columns that identify.

    With --population-size also how many people are unique in the population, estimated; with --weights the
    individual risk of the rows of a survey, estimated; with --household the risk of households.
    """
    from incrowd.cli.tables import console, progress
    from incrowd.engines import read_classes
    from incrowd.jobs.assess import assess_classes
    from incrowd.risk import (
        household_figures,
        individual_figures,
        population_uniqueness,
        quasi_identifiers,
        suda2,
    )

    with progress() as shown:
        shown.stage("read")
        table, _ = source.read(data)
        schema = columns.policy_for(table.columns, lenient=True).schema
        names = [attribute.name for attribute in schema.quasi]
        largest = min(max_size, len(names))
        shown.stage("risk models")
        classes = read_classes(table, schema, population=population)
        measured = assess_classes(classes)
        risks, estimates = measured.risk, measured.estimates
        shown.stage("special uniques")
        share = 0.01 if size is None else min(len(table) / size, 1.0)
        special = suda2(table, names, max_size=largest, fraction=share)
        shown.stage("quasi-identifiers")
        sets = quasi_identifiers(table, names, max_size=largest, distinction=distinction)
        unique = None if size is None else population_uniqueness(table, names, population=size)
        individual, homes = individual_figures(classes), household_figures(classes)
    if json:
        document = {
            **envelope("risk"),
            "risks": risks,
            **({} if estimates is None else {"estimated": estimates.to_dict()}),
            "special_uniques": special.to_dict(),
            "quasi_identifiers": [entry.to_dict() for entry in sets],
            **({} if unique is None else {"population_uniqueness": unique.to_dict()}),
            **({"individual_risk": individual} if individual else {}),
            **({"household_risk": homes} if homes else {}),
        }
        outputs.print_json(document)
    else:
        show_risk(console(), len(table), risks, special, sets, unique, individual)
        if estimates is not None:
            console().print(str(estimates), markup=False)
        if homes:
            show_households(console(), homes)


def show_risk(
    out: Console,
    records: int,
    risks: Mapping[str, Mapping[str, float]],
    special: Suda,
    sets: Sequence[Identifying],
    unique: Uniqueness | None,
    individual: Mapping[str, float],
) -> None:
    """Print risk models, special uniques, the columns that identify, and estimates for the population."""
    from incrowd.cli.tables import risk_table

    out.print(risk_table(risks))
    out.print()
    _show_special(out, records, special)
    out.print()
    _show_sets(out, sets)
    if unique is not None:
        out.print()
        _show_estimates(out, unique)
    if individual:
        out.print()
        _show_individual(out, individual)


def _show_special(out: Console, records: int, special: Suda) -> None:
    from incrowd.cli.tables import number, percent

    told = special.to_dict()
    found = ", ".join(
        f"{count:,} of {size} columns" for size, count in enumerate(told["minimal_sample_uniques"], 1)
    )
    out.print(
        f"{told['rows_with_one']:,} of {records:,} records have minimal sample uniques: {found}; "
        f"largest score {number(told['largest_score'])}, DIS-SUDA {number(told['largest_dis_score'])}"
    )
    shares = sorted(told["contributions"].items(), key=lambda item: -item[1])
    out.print("share of the scores: " + ", ".join(f"{name} {percent(share)}" for name, share in shares))


def _show_sets(out: Console, sets: Sequence[Identifying]) -> None:
    from rich.table import Table
    from rich.text import Text

    from incrowd.cli.tables import number

    table = Table(
        title="Columns that tell records apart (* the smallest sets that identify)",
        title_justify="left",
        box=None,
        pad_edge=False,
    )
    for name in ("", "columns", "distinction", "separation", "unique"):
        table.add_column(name, justify="left" if name in ("", "columns") else "right")
    shown = [entry for entry in sets if entry.minimal]
    shown += [entry for entry in sets if not entry.minimal][: max(_SETS - len(shown), 0)]
    for entry in shown:
        shares = (entry.distinction, entry.separation, entry.unique)
        table.add_row("*" if entry.minimal else "", Text(", ".join(entry.columns)), *map(number, shares))
    out.print(table)


def _show_estimates(out: Console, unique: Uniqueness) -> None:
    from incrowd.cli.tables import number, percent

    found = {
        "pitman": unique.pitman,
        "zayatz": unique.zayatz,
        "snb": unique.snb,
        "poisson-gamma": unique.poisson_gamma,
    }
    estimates = ", ".join(f"{name} {number(value)}" for name, value in found.items() if value is not None)
    out.print(
        f"unique in the population, estimated: {percent(unique.dankar)} ({unique.chosen}; {estimates}); "
        f"in the table {percent(unique.sample)}"
    )


def _show_individual(out: Console, individual: Mapping[str, float]) -> None:
    from incrowd.cli.tables import number

    out.print(
        f"individual risk by sampling weights: mean {number(individual['mean'])}, largest "
        f"{number(individual['max'])}, {number(individual['expected'])} records expected to be found"
    )


def show_households(out: Console, homes: Mapping[str, float]) -> None:
    """Print the risk of households."""
    from incrowd.cli.tables import number, percent

    out.print(
        f"household risk: mean {number(homes['mean'])}, largest {number(homes['max'])}, "
        f"{percent(homes['at_risk'])} of {homes['households']:,} households at risk, "
        f"{number(homes['expected'])} records expected to be found"
    )
