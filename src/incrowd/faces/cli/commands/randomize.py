"""`incrowd randomize`: randomize columns for local differential privacy."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from incrowd.faces.cli import option_groups, options, outputs
from incrowd.faces.cli.logs import LOG

if TYPE_CHECKING:
    from rich.console import Console

    from incrowd.release.jobs.make.randomize import RandomizedTable


def randomize(
    data: options.Data,
    source: option_groups.CsvOptions,
    spec: Annotated[
        Path, typer.Option("--spec", help="TOML file with a mechanism per column, and a budget.")
    ],
    output: options.Written,
    book: option_groups.LedgerOptions,
    gate: option_groups.GateOptions,
    escape_formulas: options.Escape = False,
    force: options.Force = False,
    json: options.Json = False,
) -> None:
    """Randomize columns for local differential privacy.

    Numbers get Laplace noise, categories randomized response.

    Columns that the file does not name are written as they are.
    """
    from incrowd.core.io.files import escaping, write_file
    from incrowd.faces.cli.tables import console, progress
    from incrowd.release.jobs.make.randomize import mechanisms_from_toml
    from incrowd.release.jobs.make.randomize import randomize as randomize_table
    from incrowd.release.policy.policy_file import read_toml

    mechanisms, budget = mechanisms_from_toml(spec)
    limit = read_toml(spec).get("ledger", {}).get("epsilon")
    files = outputs.outputs_of(data, spec, book.ledger, force=force)
    target = outputs.add_release(files, output, data, stream=False)
    with progress() as job, files:
        job.stage("read")
        table, csv_format = source.read(data)
        job.stage("randomize")
        result = randomize_table(
            table, mechanisms, budget=budget, accepted=gate.answers(), unanswered=gate.choice
        )
        job.stage("write")
        write_file(result.table, target, escaping(csv_format, escape_formulas))
        book.record(files, result, table, limit, input=data, policy=spec, release=target)
    if json:
        outputs.print_json(result.to_dict())
        return
    show_randomized(console(), result, budget)
    LOG.say(f"written: {output}")


def show_randomized(out: Console, result: RandomizedTable, budget: float | None) -> None:
    """Print epsilon by column and per record, and the budget."""
    from rich.text import Text

    from incrowd.faces.cli.tables import number, titled

    table = titled("Local differential privacy", ("column",), ("epsilon",))
    for name, epsilon in result.epsilons.items():
        table.add_row(Text(name), number(epsilon))
    table.add_row("a whole record", number(result.epsilon))
    out.print(table)
    if budget is not None:
        out.print(f"budget {number(budget)}, {number(budget - result.epsilon)} left")
