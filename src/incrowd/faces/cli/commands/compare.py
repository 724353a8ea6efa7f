"""`incrowd compare`: run algorithms over lists of limits."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, NamedTuple

import typer

from incrowd.core.errors import ParameterError
from incrowd.core.lazy import pl
from incrowd.faces.cli import option_groups, options, outputs
from incrowd.faces.cli.flattening import Without
from incrowd.faces.cli.logs import LOG
from incrowd.faces.cli.parsing import algorithms_of, numbers_of

if TYPE_CHECKING:
    from rich.console import Console

    from incrowd.release.jobs.compare.compare import Comparison
    from incrowd.release.policy.policy import Policy
    from incrowd.search import Algorithm

_USUAL = "mondrian,optimal:budget=30s,datafly,random"
"""Default algorithms: a quick one of each family, and a baseline."""
_PAGE_NAMES = 12
_PAGE_K = (4, 8, 16, 32, 64, 128, 256)
_PAGE_L = (1, 2, 3, 4, 5, 6, 7, 8)
"""Default values of k and l for --one-page."""


@dataclass(frozen=True)
class VariedOptions:
    """Lists of limits and seeds."""

    k: Annotated[str | None, typer.Option("-k", metavar="K,...", help="Limits of k-anonymity.")] = None
    l: Annotated[  # noqa: E741
        str | None, typer.Option("-l", metavar="L,...", help="Limits of distinct l-diversity.")
    ] = None
    t: Annotated[str | None, typer.Option("-t", metavar="T,...", help="Limits of t-closeness.")] = None
    seeds: Annotated[
        str, typer.Option("--seeds", metavar="S,...", help="Seeds for algorithms that choose at random.")
    ] = "0"
    at_k: Annotated[
        int, typer.Option("--at-k", min=1, help="With --one-page: the k at which l is varied.")
    ] = 16

    def values(self) -> dict[str, list[Any]]:
        """Parse the limits and seeds.

        Raises
        ------
        ParameterError
            For a text that is no list of numbers.
        """
        return {
            "k": numbers_of(self.k, "-k"),
            "l": numbers_of(self.l, "-l"),
            "t": numbers_of(self.t, "-t", float),
            "seeds": numbers_of(self.seeds, "--seeds"),
        }


@dataclass(frozen=True)
class PrintedForm:
    """The output format, a table by default."""

    json: options.Json = False
    csv: Annotated[bool, typer.Option("--csv", help="Print CSV, a line per run.")] = False
    markdown: Annotated[bool, typer.Option("--markdown", help="Print the table in Markdown.")] = False
    latex: Annotated[
        bool, typer.Option("--latex", help="Print the table in LaTeX, for the package booktabs.")
    ] = False

    def name(self) -> str | None:
        """Return the name of the output format, None for the table.

        Raises
        ------
        ParameterError
            For more than one format.
        """
        names = [name for name, is_set in vars(self).items() if is_set]
        if len(names) > 1:
            raise ParameterError(f"{' and '.join(f'--{name}' for name in names)}: give only one of them")
        return names[0] if names else None


def compare(
    data: options.Data,
    algorithms: Annotated[
        str,
        typer.Option(
            "--algorithms",
            metavar="A,B,...",
            help="Algorithms with their parameters, e.g. mondrian,clustering,optimal:metric=ncp; or all.",
        ),
    ] = _USUAL,
    *,
    source: option_groups.CsvOptions,
    columns: option_groups.MeasuredColumns,
    limits: Annotated[option_groups.ModelOptions, Without("k", "l", "t", "wildcards")],
    varied: VariedOptions,
    population: options.People = None,
    max_suppression: options.Suppression = None,
    printed: PrintedForm,
    shuffle: Annotated[
        bool,
        typer.Option(
            "--shuffle",
            help="Run what depends on the order of rows, and has no seed, on rows shuffled by each seed.",
        ),
    ] = False,
    one_page: Annotated[
        Path | None,
        typer.Option(
            "--one-page", metavar="PDF", help="Write plots and tables of time, LM and MD to one page."
        ),
    ] = None,
    report: options.Report = None,
    force: options.Force = False,
) -> None:
    """Run algorithms over limits, and show time and loss.

    Nothing is released.

    With --one-page, k and l are not crossed: the page has every algorithm against k, and the full-domain ones
    (or all, where there is none) against l from 1 to 8, or as -l says, at the k of --at-k. It implies
    --shuffle. Every setting runs once per seed, and those that both curves share run only once.

    The exit status is 1 when a run gives no release; the others are shown all the same.
    """
    from incrowd.faces.cli.tables import progress

    form = printed.name()
    values = varied.values()
    if one_page is not None and values["t"]:
        raise ParameterError("--one-page shows k and l; leave -t out, or name t-closeness with --model")
    settings: dict[str, Any] = {
        "models": limits.models(),
        "max_suppression": max_suppression,
        "population": population,
        "shuffle": shuffle or one_page is not None,
        "repeat": one_page is not None,
    }
    candidates = algorithms_of(algorithms)
    files = outputs.outputs_of(data, population, columns.hierarchies, policy=columns.policy, force=force)
    sheet = outputs.add_output(files, one_page)
    if one_page is not None:
        from incrowd.release.report.one_page import check_one_page

        check_one_page(one_page, list(dict.fromkeys(map(str, candidates))))
    page = outputs.add_report(files, report)
    with progress() as job, files:
        job.stage("read")
        table, settings["csv_format"] = source.read(data)
        policy = columns.policy_for(table.columns, lenient=True)
        settings["progress"] = job
        grid = _Grid(table, policy, candidates, settings)
        if sheet is None:
            comparisons = [grid.run(**values)]
        else:
            comparisons = grid.sides_of_page(values, varied.at_k)
            job.stage("page")
            about = f"{data.name}; {_quasi_identifiers(policy)}"
            comparisons[0].one_page(
                sheet, against_l=comparisons[1] if comparisons[1:] else None, at_k=varied.at_k, about=about
            )
        if page is not None:
            comparisons[0].report(page)
    _show_comparisons(comparisons, form)
    if one_page is not None:
        LOG.say(f"written: {one_page}", err=form is not None)
    if not all(comparison.complete for comparison in comparisons):
        raise typer.Exit(1)


class _Grid(NamedTuple):
    """The settings shared by all runs of a call."""

    table: pl.DataFrame
    policy: Policy
    algorithms: list[Algorithm]
    settings: dict[str, Any]

    def run(self, algorithms: list[Algorithm] | None = None, **values: Any) -> Comparison:
        """Run algorithms, all by default, over combinations of the values."""
        from incrowd.release.jobs.compare.compare import compare as run_grid

        return run_grid(self.table, self.policy, algorithms or self.algorithms, **self.settings, **values)

    def sides_of_page(self, values: dict[str, list[Any]], at_k: int) -> list[Comparison]:
        """Compare against k and, with sensitive attributes, against l.

        All algorithms run against k; the full-domain ones, or all without any, against l.
        """
        from incrowd.search import FullDomainAlgorithm

        against_k = self.run(k=values["k"] or list(_PAGE_K), seeds=values["seeds"])
        most = self._most_l()
        if not most:
            return [against_k]
        full_domain: list[Algorithm] = [
            each for each in self.algorithms if isinstance(each, FullDomainAlgorithm)
        ]
        l_values = values["l"] or [each for each in _PAGE_L if each <= most]
        against_l = self.run(full_domain, k=[at_k], l=l_values, seeds=values["seeds"], known=against_k)
        return [against_k, against_l]

    def _most_l(self) -> int:
        """Return the largest l possible for every sensitive attribute, 0 without any."""
        names = [attribute.name for attribute in self.policy.schema.sensitive]
        return min((self.table[name].n_unique() for name in names), default=0)


def _show_comparisons(comparisons: list[Comparison], form: str | None) -> None:
    """Print a comparison against k and, if present, against l."""
    from incrowd.faces.cli.tables import console

    first, *against_l = comparisons
    if form == "json":
        more = {"against_l": against_l[0].to_dict()} if against_l else {}
        outputs.print_json(first.to_dict() | more)
    elif form == "csv":
        typer.echo(first.to_csv(), nl=False)
    elif form is not None:
        texts = (each.to_markdown() if form == "markdown" else each.to_latex() for each in comparisons)
        typer.echo("\n".join(texts), nl=False)
    else:
        for comparison in comparisons:
            show_comparison(console(), comparison)


def _quasi_identifiers(policy: Policy) -> str:
    names = [attribute.name for attribute in policy.schema.quasi]
    more = f" and {len(names) - _PAGE_NAMES} more" if len(names) > _PAGE_NAMES else ""
    return f"quasi-identifiers: {', '.join(names[:_PAGE_NAMES])}{more}"


def show_comparison(out: Console, comparison: Comparison) -> None:
    """Print a line per algorithm and setting, averaged over seeds."""
    from rich.table import Table
    from rich.text import Text

    from incrowd.release.report.comparison_table import NOTHING, caption, table_of_runs

    out.print(caption(comparison.records))
    table = Table(box=None, pad_edge=False)
    header, rows = table_of_runs(comparison.averaged())
    table.add_column(header[0], overflow="fold")
    for name in header[1:]:
        table.add_column(name, justify="right")
    for row in rows:
        table.add_row(*(Text(cell, "bold red") if cell == NOTHING else cell for cell in row))
    out.print(table)
    problems = [run for run in comparison.runs if run.problem is not None]
    if problems:
        out.print("nothing was released by:")
    for run in problems:
        settings = {"k": run.k, "l": run.l, "t": run.t, "seed": run.seed}
        text = " ".join(f"{name}={value:g}" for name, value in settings.items() if value is not None)
        out.print(f"  {run.algorithm} {text}: {run.problem}")
