"""`incrowd risk`: measure re-identification risk."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Any, NamedTuple

import typer

from incrowd.core.documents import envelope
from incrowd.core.lazy import pl
from incrowd.faces.cli import option_groups, options, outputs

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from rich.console import Console

    from incrowd.core.progress import Progress
    from incrowd.core.table.classes import EquivalenceClasses
    from incrowd.measures.risk import Identifying, Suda, Uniqueness
    from incrowd.release.jobs.measure.assess import Assessment

_SETS = 10


def risk(
    data: options.Data,
    source: option_groups.CsvOptions,
    columns: option_groups.MeasuredColumns,
    population: options.People = None,
    suppressed_as: options.SuppressedAs = None,
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
    from incrowd.core.recoding.suppression_marks import with_stars
    from incrowd.engines import read_classes
    from incrowd.faces.cli.tables import console, progress

    with progress() as job:
        job.stage("read")
        table, _ = source.read(data)
        schema = columns.policy_for(table.columns, lenient=True).written
        table = with_stars(table, [each.name for each in schema.quasi], suppressed_as or ())
        job.stage("risk models")
        classes = read_classes(table, schema, population=population)
        names = [attribute.name for attribute in schema.quasi]
        figures = _measure(
            table, names, classes, job, max_size=max_size, distinction=distinction, population=size
        )
    if json:
        outputs.print_json({**envelope("risk"), **figures.to_dict()})
    else:
        _show_figures(console(), figures)


class _Figures(NamedTuple):
    """Risk figures of a table, None or empty if not applicable."""

    records: int
    assessment: Assessment
    special: Suda
    sets: list[Identifying]
    unique: Uniqueness | None
    individual: Mapping[str, float]
    households: Mapping[str, float]

    def to_dict(self) -> dict[str, Any]:
        estimates = self.assessment.estimates
        return {
            "risks": self.assessment.risk,
            **({} if estimates is None else {"estimated": estimates.to_dict()}),
            "special_uniques": self.special.to_dict(),
            "quasi_identifiers": [entry.to_dict() for entry in self.sets],
            **({} if self.unique is None else {"population_uniqueness": self.unique.to_dict()}),
            **({"individual_risk": self.individual} if self.individual else {}),
            **({"household_risk": self.households} if self.households else {}),
        }


def _measure(
    table: pl.DataFrame,
    names: Sequence[str],
    classes: EquivalenceClasses,
    job: Progress,
    *,
    max_size: int,
    distinction: float,
    population: int | None,
) -> _Figures:
    from incrowd.measures.risk import (
        household_figures,
        individual_figures,
        population_uniqueness,
        quasi_identifiers,
        suda2,
    )
    from incrowd.release.jobs.measure.assess import assess_classes

    assessment = assess_classes(classes)
    largest = min(max_size, len(names))
    job.stage("special uniques")
    share = 0.01 if population is None else min(len(table) / population, 1.0)
    special = suda2(table, names, max_size=largest, fraction=share)
    job.stage("quasi-identifiers")
    sets = quasi_identifiers(table, names, max_size=largest, distinction=distinction)
    unique = None if population is None else population_uniqueness(table, names, population=population)
    individual, households = individual_figures(classes), household_figures(classes)
    return _Figures(len(table), assessment, special, sets, unique, individual, households)


def _show_figures(out: Console, figures: _Figures) -> None:
    from incrowd.faces.cli.tables import risk_table

    out.print(risk_table(figures.assessment.risk))
    out.print()
    _show_special(out, figures.records, figures.special)
    out.print()
    _show_sets(out, figures.sets)
    if figures.unique is not None:
        out.print()
        _show_estimates(out, figures.unique)
    if figures.individual:
        out.print()
        _show_individual(out, figures.individual)
    if figures.assessment.estimates is not None:
        out.print(str(figures.assessment.estimates), markup=False)
    if figures.households:
        _show_households(out, figures.households)


def _show_special(out: Console, records: int, special: Suda) -> None:
    from incrowd.faces.cli.tables import number, percent

    figures = special.to_dict()
    counts = ", ".join(
        f"{count:,} of {size} columns" for size, count in enumerate(figures["minimal_sample_uniques"], 1)
    )
    out.print(
        f"{figures['rows_with_one']:,} of {records:,} records have minimal sample uniques: {counts}; "
        f"largest score {number(figures['largest_score'])}, DIS-SUDA {number(figures['largest_dis_score'])}"
    )
    shares = sorted(figures["contributions"].items(), key=lambda item: -item[1])
    out.print("share of the scores: " + ", ".join(f"{name} {percent(share)}" for name, share in shares))


def _show_sets(out: Console, sets: Sequence[Identifying]) -> None:
    from rich.text import Text

    from incrowd.faces.cli.tables import number, titled

    title = "Columns that tell records apart (* the smallest sets that identify)"
    table = titled(title, ("", "columns"), ("distinction", "separation", "unique"))
    rows = [entry for entry in sets if entry.minimal]
    rows += [entry for entry in sets if not entry.minimal][: max(_SETS - len(rows), 0)]
    for entry in rows:
        shares = (entry.distinction, entry.separation, entry.unique)
        table.add_row("*" if entry.minimal else "", Text(", ".join(entry.columns)), *map(number, shares))
    out.print(table)


def _show_estimates(out: Console, unique: Uniqueness) -> None:
    from incrowd.faces.cli.tables import number, percent

    figures = {
        "pitman": unique.pitman,
        "zayatz": unique.zayatz,
        "snb": unique.snb,
        "poisson-gamma": unique.poisson_gamma,
    }
    estimates = ", ".join(f"{name} {number(value)}" for name, value in figures.items() if value is not None)
    out.print(
        f"unique in the population, estimated: {percent(unique.dankar)} ({unique.chosen}; {estimates}); "
        f"in the table {percent(unique.sample)}"
    )


def _show_individual(out: Console, individual: Mapping[str, float]) -> None:
    from incrowd.faces.cli.tables import number

    out.print(
        f"individual risk by sampling weights: mean {number(individual['mean'])}, largest "
        f"{number(individual['max'])}, {number(individual['expected'])} records expected to be found"
    )


def _show_households(out: Console, homes: Mapping[str, float]) -> None:
    from incrowd.faces.cli.tables import number, percent

    out.print(
        f"household risk: mean {number(homes['mean'])}, largest {number(homes['max'])}, "
        f"{percent(homes['at_risk'])} of {homes['households']:,} households at risk, "
        f"{number(homes['expected'])} records expected to be found"
    )
