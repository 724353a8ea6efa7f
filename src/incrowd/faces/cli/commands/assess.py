"""`incrowd assess`: measure the privacy of a table."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

import typer

from incrowd.core.documents import envelope
from incrowd.faces.cli import option_groups, options, outputs
from incrowd.faces.cli.linked import assess_folder, linked_content, refuse_given

if TYPE_CHECKING:
    from rich.console import Console

    from incrowd.release.accounts.class_figures import ClassFigures

_CLASSES = 100
"""Most classes printed on the screen."""


def assess(
    data: options.FileOrAddress,
    source: option_groups.TableOptions,
    columns: option_groups.MeasuredColumns,
    limits: option_groups.ModelOptions,
    population: options.People = None,
    by_class: Annotated[
        bool,
        typer.Option(
            "--by-class", help="Also show every class with what each model measures of it: --json has all."
        ),
    ] = False,
    report: options.Report = None,
    suppressed_as: options.SuppressedAs = None,
    force: options.Force = False,
    full: options.Full = False,
    json: options.Json = False,
) -> None:
    """Measure how private a table is as it stands.

    With limits (-k, -l, -t, --model, --policy) the exit status is 1 when one is not met, or a point is open.
    """
    from incrowd.faces.cli.summary import show_assessment_summary
    from incrowd.faces.cli.tables import console, progress, show_assessment
    from incrowd.release.jobs.measure.assess import assess as measure

    if columns.policy is not None and (content := linked_content(columns.policy)) is not None:
        refuse_given(source, columns, limits, population=population, by_class=by_class, report=report)
        assess_folder(data, columns.policy, content, json=json)
        return
    files = outputs.outputs_of(data, population, columns.hierarchies, policy=columns.policy, force=force)
    page = outputs.add_report(files, report)
    with progress() as job, files:
        job.stage("read")
        rows, _, names = source.open(data, job)
        policy = limits.applied_to(columns.policy_for(names, lenient=True))
        job.stage("assess")
        assessment = measure(
            rows,
            policy.written,
            policy.models,
            population=population,
            progress=job,
            wildcards=policy.wildcards,
            accepted=policy.accepted,
            suppressed_as=suppressed_as or (),
        )
        if page is not None:
            job.stage("report")
            assessment.report(page, policy.schema)
    if json:
        document = envelope("assessment") | {"file": str(data), **assessment.to_dict()}
        if by_class:
            document["by_class"] = assessment.by_class().to_dict()
        outputs.print_json(document)
    else:
        show_assessment_summary(console(), assessment)
        if full:
            console().print()
            show_assessment(console(), assessment)
        if by_class:
            show_classes(console(), assessment.by_class())
    if assessment.verdict is not None and not assessment.verdict.holds:
        raise typer.Exit(1)


def show_classes(out: Console, figures: ClassFigures) -> None:
    """Print cells, sizes and distances of the first classes."""
    from rich.table import Table
    from rich.text import Text

    from incrowd.faces.cli.tables import number

    many = len(figures)
    measures = {
        f"v{place}": (measure, values)
        for place, (measure, values) in enumerate(zip(figures.measures, figures.values, strict=True), 1)
    }
    legend = Table("value", "is", title="Classes", title_justify="left", box=None, pad_edge=False)
    for short, (measure, _) in measures.items():
        legend.add_row(short, Text(str(measure)))
    table = Table(box=None, pad_edge=False)
    for name in figures.cells:
        table.add_column(Text(name), overflow="fold")
    for name in ("records", *measures):
        table.add_column(name, justify="right")
    for row in range(min(many, _CLASSES)):
        cells = (column[row] for column in figures.cells.values())
        table.add_row(
            *(Text("(missing)" if cell is None else cell) for cell in cells),
            f"{figures.records[row]:,}",
            *(number(values[row].item()) for _, values in measures.values()),
        )
    out.print()
    out.print(legend)
    out.print()
    out.print(table)
    if many > _CLASSES:
        out.print(f"{many - _CLASSES:,} more classes: --json has all")
