"""Commands about the ledger of releases."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from incrowd.core.documents import envelope
from incrowd.faces.cli.flattening import Commands
from incrowd.faces.cli.logs import LOG
from incrowd.faces.cli.options import Json
from incrowd.faces.cli.outputs import print_json

ledger = Commands(help="Make, show and verify a ledger of releases.", no_args_is_help=True)
Folder = Annotated[Path, typer.Argument(metavar="DIR", help="The folder of the ledger.")]


@ledger.command()
def init(folder: Folder) -> None:
    """Make a ledger in a new, private folder."""
    from incrowd.release.jobs.later.ledger import Ledger

    Ledger.init(folder)
    LOG.say(f"written: {folder}; keep it where the raw tables are, and keep copies")


@ledger.command()
def show(folder: Folder, json: Json = False) -> None:
    """Show when, for whom and of how many people."""
    from rich.text import Text

    from incrowd.faces.cli.tables import console, titled
    from incrowd.release.jobs.later.ledger import Ledger

    content = Ledger.open(folder).read()
    if json:
        print_json(envelope("ledger") | {"digest": content.digest, "entries": content.records})
        return
    table = titled("Releases", ("no.", "date", "command", "recipient"), ("records", "people", "epsilon"))
    for entry in content.records:
        people, epsilon = entry["people"], entry["epsilon"]
        figures = ("" if people is None else f"{people:,}", f"{epsilon:g}" if epsilon else "")
        whom = (str(entry["number"]), entry["date"][:10], entry["command"], Text(entry["recipient"]))
        table.add_row(*whom, f"{entry['records']:,}", *figures)
    console().print(table)
    LOG.say(f"last line: {content.digest}")


@ledger.command()
def verify(folder: Folder) -> None:
    """Find changed and lost lines (exit status 1)."""
    from incrowd.release.jobs.later.ledger import Ledger

    book = Ledger.open(folder)
    if problem := book.verify():
        LOG.write("error", "error", problem)
        raise typer.Exit(1)
    content = book.read()
    LOG.say(
        f"{folder}: entries: {len(content.records):,}, nothing changed or lost; last line {content.digest}"
    )
