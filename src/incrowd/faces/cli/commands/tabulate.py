"""`incrowd tabulate`: count tables that protect people."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from incrowd.faces.cli import option_groups, options, outputs
from incrowd.faces.cli.flattening import Without
from incrowd.faces.cli.logs import LOG

if TYPE_CHECKING:
    from rich.console import Console

    from incrowd.release.jobs.make.tabulate import TableRelease
    from incrowd.release.tables.protect import PublishedTable

_MOST = 12
"""Most rows, and most columns, of a table that is shown on the screen."""
_ABOUT = ("recipient", "purpose", "owner")
"""Options that the report tells."""


@dataclass(frozen=True)
class Book(option_groups.ReportOptions):
    """The ledger, and the page that shows the tables."""

    report: Annotated[
        Path | None, typer.Option("--report", metavar="FILE", help="Also write a page of the tables: .html.")
    ] = None


def tabulate(
    data: options.FileOrAddress,
    source: option_groups.TableOptions,
    policy: Annotated[
        Path, typer.Option("--policy", metavar="FILE", help="The policy: its columns, and its [[tables]].")
    ],
    output: Annotated[
        Path, typer.Option("-o", "--output", metavar="DIR", help="Folder for the tables and tables.json.")
    ],
    gate: option_groups.GateOptions,
    book: Annotated[Book, Without("ledger_keys", "ledger_new_people")],
    kinds: Annotated[
        str, typer.Option("--kinds", metavar="A,B,...", help="Kinds of files: csv, parquet, xlsx.")
    ] = "csv",
    seconds: Annotated[
        float,
        typer.Option("--seconds", min=0.1, help="Time of the search; all ends after twice that and 10 s."),
    ] = 30.0,
    label: Annotated[
        str | None,
        typer.Option("--label", metavar="TEXT", help="What stands for a suppressed value, as '[c]' or '..'."),
    ] = None,
    escape_formulas: options.Escape = False,
    force: options.Force = False,
    json: options.Json = False,
) -> None:
    """Release count tables that protect people.

    Small cells are suppressed, rounded or changed, as the policy says. A sum has the threshold alone unless
    the policy asks for dominance or p_percent. An audit of all tables together then
    proves that nobody can compute a small cell from the others.
    """
    from incrowd.faces.cli.parsing import names_of
    from incrowd.faces.cli.tables import console, progress
    from incrowd.release.jobs.later.ledger import Ledger
    from incrowd.release.jobs.make.tabulate import tabulate as count
    from incrowd.release.policy.policy import Policy

    files = outputs.outputs_of(data, book.ledger, policy=policy, force=force)
    target = outputs.add_output(files, output, folder=True)
    report = outputs.add_report(files, book.report, (".html",))
    with progress() as job, files:
        job.stage("read")
        rows, _, _ = source.open(data, job)
        terms = gate.applied_to(Policy.read(policy))
        file = data if isinstance(data, Path) else None
        earlier = [] if book.ledger is None else Ledger.open(book.ledger).tables_of(rows, file)
        release = count(rows, terms, seconds=seconds, unanswered=gate.choice, earlier=earlier, progress=job)
        book.record(files, release, rows, input=file, policy=policy, release=target)
        job.stage("write")
        assert target is not None
        release.save(target, kinds=names_of(kinds), label=label, escape_formulas=escape_formulas)
        if report is not None:
            about: dict[str, Any] = {each: getattr(book, each) or "" for each in _ABOUT}
            release.report(report, internal=book.internal, folder=target, **about)
    if json:
        outputs.print_json(release.to_dict())
        return
    show_tables(console(), release)
    LOG.say(f"written: {output}; check it with: incrowd verify {output}")


def show_tables(out: Console, release: TableRelease) -> None:
    """Print each table, or the beginning of a large one, with a sentence on its protection."""
    from incrowd.release.jobs.make.tabulate import sentence_of
    from incrowd_verify.cli import show_verdict

    for table in release.tables:
        _show_table(out, table)
        out.print(f"{table.layout.name}: {sentence_of(table)}", markup=False, soft_wrap=True)
        out.print()
    show_verdict(out, release.verdict)


def _show_table(out: Console, table: PublishedTable) -> None:
    from rich.text import Text

    from incrowd.core.lazy import np
    from incrowd.faces.cli.tables import titled

    rows, columns, cells = table.grid()
    names = [" by ".join(axis.column for axis in table.axes[: len(rows[0])])]
    heads = [" ".join(codes) or table.quantity for codes in columns[:_MOST]]
    grid = titled(f"{table.layout.name}: {table.quantity}", names, heads)
    for codes, values in zip(rows[:_MOST], cells, strict=False):
        texts = ["x" if np.isnan(value) else f"{value:,.10g}" for value in values[:_MOST].tolist()]
        grid.add_row(Text(" ".join(codes)), *map(Text, texts))
    out.print(grid)
    left = max(len(rows) - _MOST, 0), max(len(columns) - _MOST, 0)
    if any(left):
        out.print(f"and {left[0]:,} more rows, {left[1]:,} more columns: see the file", style="dim")
