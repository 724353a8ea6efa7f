"""`incrowd compare`: algorithms over lists of limits."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from incrowd.cli import options, outputs
from incrowd.cli.flattening import Without
from incrowd.cli.logs import LOG
from incrowd.cli.parsing import algorithms_of, numbers_of

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    import polars as pl
    from rich.console import Console

    from incrowd.algorithms import Algorithm
    from incrowd.jobs.compare import Comparison
    from incrowd.jobs.policy import Policy
    from incrowd.report.document import ComparisonRun

__all__ = ["compare"]

_PAGE_NAMES = 12
_PAGE_K = (4, 8, 16, 32, 64, 128, 256)
_PAGE_L = (1, 2, 3, 4, 5, 6, 7, 8)
"""What --one-page varies unless it is told."""
_COMPARED = {
    "LM": "loss",
    "MD": "distortion",
    "NCP": "ncp",
    "discernibility": "discernibility",
    "class size": "average-class-size",
}
"""Columns of a comparison, and the metric in each."""


def compare(
    data: options.Data,
    algorithms: Annotated[
        str,
        typer.Option(
            "--algorithms",
            metavar="A,B,...",
            help="Algorithms with their parameters, e.g. mondrian,clustering,optimal:metric=ncp; or all.",
        ),
    ],
    source: options.CsvOptions,
    columns: options.MeasuredColumns,
    limits: Annotated[options.ModelOptions, Without("k", "l", "t", "wildcards")],
    k: Annotated[str | None, typer.Option("-k", metavar="K,...", help="Limits of k-anonymity.")] = None,
    l: Annotated[  # noqa: E741
        str | None, typer.Option("-l", metavar="L,...", help="Limits of distinct l-diversity.")
    ] = None,
    t: Annotated[str | None, typer.Option("-t", metavar="T,...", help="Limits of t-closeness.")] = None,
    population: options.People = None,
    max_suppression: options.Suppression = None,
    seeds: Annotated[
        str, typer.Option("--seeds", metavar="S,...", help="Seeds for algorithms that choose at random.")
    ] = "0",
    json: options.Json = False,
    csv: Annotated[bool, typer.Option("--csv", help="Print CSV, a line per run.")] = False,
    shuffle: Annotated[
        bool,
        typer.Option(
            "--shuffle", help="Run what depends on the order of rows on rows shuffled by each seed."
        ),
    ] = False,
    one_page: Annotated[
        Path | None,
        typer.Option(
            "--one-page", metavar="PDF", help="Write plots and tables of time, LM and MD to one page."
        ),
    ] = None,
    at_k: Annotated[
        int, typer.Option("--at-k", min=1, help="With --one-page: the k at which l is varied.")
    ] = 16,
    report: options.Report = None,
    force: options.Force = False,
) -> None:
    """Run algorithms over limits and seeds, and show time and loss.

    Nothing is released.

    With --one-page, k and l are not crossed: the page has every algorithm against k, and the full-domain ones
    (or all, where there is none) against l from 1 to 8, or as -l says, at the k of --at-k; rows are shuffled.

    The exit status is 1 when a run gives no release; the others are shown all the same.
    """
    from incrowd.cli.tables import console, progress
    from incrowd.errors import ParameterError
    from incrowd.jobs.compare import compare as grid

    if json and csv:
        raise ParameterError("--json and --csv: say one of them")
    chosen = algorithms_of(algorithms)
    varied = {
        "k": numbers_of(k, "-k"),
        "l": numbers_of(l, "-l"),
        "t": numbers_of(t, "-t", float),
        "seeds": numbers_of(seeds, "--seeds"),
    }
    models = limits.models()
    if one_page is not None:
        if varied["t"]:
            raise ParameterError("--one-page shows k and l; leave -t out, or name t-closeness with --model")
        shuffle = True
    written = outputs.outputs_of(data, population, columns.hierarchies, policy=columns.policy, force=force)
    sheet = outputs.added(written, one_page)
    page = outputs.added_report(written, report)
    with progress() as shown, written:
        shown.stage("read")
        table, csv_format = source.read(data)
        policy = columns.policy_for(table.columns, lenient=True)

        def run(chosen: Sequence[Algorithm], **values: Any) -> Comparison:
            return grid(
                table, policy, chosen, models=models, max_suppression=max_suppression, population=population,
                csv_format=csv_format, shuffle=shuffle, progress=shown, **values,
            )  # fmt: skip

        varied_l: Comparison | None = None
        if sheet is None:
            comparison = run(chosen, **varied)
        else:
            comparison = run(chosen, k=varied["k"] or _PAGE_K, seeds=varied["seeds"])
            varied_l = _against_l(run, chosen, varied, at_k, _most_l(policy, table))
            shown.stage("page")
            about = f"{data.name}; {_quasi_identifiers(policy)}"
            comparison.one_page(sheet, against_l=varied_l, at_k=at_k, about=about)
        if page is not None:
            comparison.report(page)
    if json:
        document = comparison.to_dict() | ({"against_l": varied_l.to_dict()} if varied_l else {})
        outputs.print_json(document)
    elif csv:
        typer.echo(comparison.to_csv(), nl=False)
    else:
        show_comparison(console(), comparison)
        if varied_l:
            show_comparison(console(), varied_l)
    if one_page is not None:
        LOG.say(f"written: {one_page}", err=json or csv)
    if not comparison.complete or not (varied_l is None or varied_l.complete):
        raise typer.Exit(1)


def _against_l(
    run: Callable[..., Comparison],
    chosen: Sequence[Algorithm],
    varied: Mapping[str, list[Any]],
    at_k: int,
    most: int,
) -> Comparison | None:
    """Compare full-domain algorithms, or all where there is none, against l up to the most there can be."""
    from incrowd.algorithms import FullDomainAlgorithm

    if not most:
        return None
    full_domain = [algorithm for algorithm in chosen if isinstance(algorithm, FullDomainAlgorithm)]
    values = varied["l"] or [each for each in _PAGE_L if each <= most]
    return run(full_domain or chosen, k=[at_k], l=values, seeds=varied["seeds"])


def _quasi_identifiers(policy: Policy) -> str:
    names = [attribute.name for attribute in policy.schema.quasi]
    more = f" and {len(names) - _PAGE_NAMES} more" if len(names) > _PAGE_NAMES else ""
    return f"quasi-identifiers: {', '.join(names[:_PAGE_NAMES])}{more}"


def _most_l(policy: Policy, table: pl.DataFrame) -> int:
    """Return the largest l that every sensitive attribute has values for; 0 where there is none."""
    return min((table[attribute.name].n_unique() for attribute in policy.schema.sensitive), default=0)


def show_comparison(out: Console, comparison: Comparison) -> None:
    """Print a line per algorithm and setting; seeds are averaged."""
    from rich.table import Table
    from rich.text import Text

    from incrowd.cli.tables import number

    rows = comparison.averaged()
    out.print(f"{comparison.records:,} records; LM and NCP are means per cell, MD counts levels in all cells")
    table = Table(box=None, pad_edge=False)
    table.add_column("algorithm", overflow="fold")
    limits = [name for name in ("k", "l", "t") if any(getattr(row, name) is not None for row in rows)]
    for name in [*limits, "seconds", *_COMPARED, "suppressed"]:
        table.add_column(name, justify="right")
    for row in rows:
        cells = [row.algorithm, *("" if (x := getattr(row, name)) is None else f"{x:g}" for name in limits)]
        if row.utility is None:
            table.add_row(*cells, Text("nothing released", "bold red"))
            continue
        cells.append(_spread(row, "seconds", f"{row.seconds:.3f}"))
        cells += [_spread(row, metric, number(row.utility[metric])) for metric in _COMPARED.values()]
        table.add_row(*cells, number(row.suppressed))
    out.print(table)
    problems = [run for run in comparison.runs if run.problem is not None]
    if problems:
        out.print("nothing was released by:")
    for run in problems:
        given = {"k": run.k, "l": run.l, "t": run.t, "seed": run.seed}
        named = " ".join(f"{name}={value:g}" for name, value in given.items() if value is not None)
        out.print(f"  {run.algorithm} {named}: {run.problem}")


def _spread(row: ComparisonRun, name: str, text: str) -> str:
    """Write the standard deviation beside a mean: two significant digits."""
    if not row.spread:
        return text
    deviation = row.spread[name]
    return f"{text} ±{deviation:,.0f}" if deviation >= 10 else f"{text} ±{deviation:.2g}"
