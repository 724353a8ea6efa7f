"""`incrowd list`."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Any

import typer

from incrowd.algorithms import ALGORITHMS
from incrowd.cli import options, outputs
from incrowd.cli.completing import names
from incrowd.parameters import Configured, Registry
from incrowd.privacy import MODELS, PrivacyModel
from incrowd.risk import RISKS
from incrowd.treatments import TREATMENTS, Treatment
from incrowd.utility import METRICS, Metric

if TYPE_CHECKING:
    pass

__all__ = ["list_"]


_LISTS: dict[str, Registry[Any]] = {
    "models": MODELS,
    "algorithms": ALGORITHMS,
    "metrics": METRICS,
    "risks": RISKS,
    "treatments": TREATMENTS,
}


def list_(
    what: Annotated[
        str, typer.Argument(metavar="|".join(_LISTS), help="What to list.", autocompletion=names([*_LISTS]))
    ],
    json: options.Json = False,
) -> None:
    """List what is built in, with parameters and sources."""
    if what not in _LISTS:
        raise typer.BadParameter(f"{what!r} is none of {', '.join(_LISTS)}")
    entries = [_entry(entry) for entry in _LISTS[what]]
    if json:
        outputs.print_json(entries)
        return
    from rich.table import Table

    from incrowd.cli.tables import console

    table = Table(box=None, pad_edge=False)
    # What only some lists have.
    extra = [name for name in ("monotone", "scale", "no_promise") if name in entries[0]]
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
    if issubclass(entry, Treatment):
        described["no_promise"] = entry.no_promise
    return described
