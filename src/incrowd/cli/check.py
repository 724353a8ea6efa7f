"""Commands that check and explain: verify, list."""

from __future__ import annotations

import json as json_module
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from incrowd.algorithms import ALGORITHMS
from incrowd.cli import options
from incrowd.parameters import Configured, Registry
from incrowd.privacy import MODELS, PrivacyModel
from incrowd.risk import RISKS
from incrowd.utility import METRICS, Metric

if TYPE_CHECKING:
    from incrowd.verification import Verification

__all__ = ["list_entries", "verify"]

_LISTS: dict[str, Registry[Any]] = {
    "models": MODELS,
    "algorithms": ALGORITHMS,
    "metrics": METRICS,
    "risks": RISKS,
}


def verify(
    released: options.Released,
    policy: Annotated[Path, typer.Option("--policy", help="The policy file that it has to satisfy.")],
    table: options.Table = None,
    population: options.People = None,
    against: Annotated[
        Any,
        typer.Option(
            "--against",
            metavar="RAW",
            parser=options.file_or_address,
            help="The raw table: each cell must be true of its record, other columns unchanged.",
        ),
    ] = None,
    against_table: Annotated[
        str | None, typer.Option("--against-table", metavar="TABLE", help="Its table, if it is a database.")
    ] = None,
    names: Annotated[
        str | None,
        typer.Option("--names", metavar="A,B,...", help="Column names of a raw CSV that has no header line."),
    ] = None,
    delimiter: options.Delimiter = None,
    encoding: Annotated[
        str | None, typer.Option("--encoding", help="Encoding of a CSV; UTF-8 by default.")
    ] = None,
    escape_formulas: Annotated[
        bool, typer.Option("--escape-formulas", help="The CSV was written with --escape-formulas.")
    ] = False,
    json: options.Json = False,
) -> None:
    """Check a release against its policy with a second, independent implementation (SQL).

    Exit status 1: the release breaks the policy. 2: it cannot be checked. What was not looked at is listed.
    """
    from incrowd.verification import verify as check

    result = check(
        options.named(released),
        policy,
        table=table,
        population=population,
        against=None if against is None else options.named(against),
        against_table=against_table,
        delimiter=delimiter,
        encoding=encoding,
        names=() if names is None else names.split(","),
        escaped=escape_formulas,
    )
    if json:
        typer.echo(json_module.dumps(result.to_dict(), ensure_ascii=False, indent=1))
    else:
        _show(result)
    if not result.ok:
        raise typer.Exit(1)


def _show(result: Verification) -> None:
    from rich.table import Table

    from incrowd.cli.render import console, number, verdict

    out = console()
    out.print(
        f"{result.file}: {result.records:,} records in {result.classes:,} classes, "
        f"{result.suppressed:,} suppressed",
    )
    table = Table(box=None, pad_edge=False)
    for name in ("model", "attribute", "reached", "asked", ""):
        table.add_column(name)
    for finding in result.findings:
        table.add_row(
            finding.model,
            finding.attribute or "",
            number(finding.reached),
            number(finding.asked),
            verdict(finding.holds),
        )
    out.print(table)
    for problem in result.problems:
        out.print(f"problem: {problem}")
    for what in result.unchecked:
        out.print(f"not checked: {what}")
    out.print("verified: the policy is satisfied" if result.ok else "NOT verified")


def list_entries(
    what: Annotated[str, typer.Argument(metavar="|".join(_LISTS), help="What to list.")],
    json: options.Json = False,
) -> None:
    """List what is built in, with parameters and sources."""
    if what not in _LISTS:
        raise typer.BadParameter(f"{what!r} is none of {', '.join(_LISTS)}")
    entries = [_entry(entry) for entry in _LISTS[what]]
    if json:
        typer.echo(json_module.dumps(entries, ensure_ascii=False, indent=1))
        return
    from rich.table import Table

    from incrowd.cli.render import console

    table = Table(box=None, pad_edge=False)
    # What only some lists have.
    extra = [name for name in ("monotone", "scale") if name in entries[0]]
    for name in ("name", "what it is", "parameters", *extra, "source"):
        table.add_column(name, overflow="fold")
    for entry in entries:
        parameters = "\n".join(_words(entry["parameters"]))
        further = ["\n".join(_words(entry[name])) for name in extra]
        table.add_row(entry["name"], entry["summary"], parameters, *further, entry["paper"])
    console().print(table)


def _words(value: str | dict[str, str]) -> list[str]:
    return [f"{name}: {words}" for name, words in value.items()] if isinstance(value, dict) else [value]


def _entry(entry: type[Configured]) -> dict[str, Any]:
    described: dict[str, Any] = {
        "name": entry.name,
        "summary": entry.summary,
        "parameters": {
            name: f"{declared.meaning}; {declared.describe()}"
            for name, declared in entry.parameters().items()
        },
        "paper": entry.paper,
    }
    if issubclass(entry, Metric):
        described["scale"] = entry.scale
    if issubclass(entry, PrivacyModel):
        generalization, suppression = entry.monotone_words()
        described["monotone"] = {"generalization": generalization, "suppression": suppression}
    return described
