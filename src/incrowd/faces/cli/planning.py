"""The output of a dry run: the changes to each column, the questions, and the targets."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING

from rich.console import Console
from rich.table import Table

from incrowd.faces.cli.tables import percent

if TYPE_CHECKING:
    from incrowd.release.jobs.plan import Plan, PlannedColumn


def show_plan(out: Console, found: Plan, places: Iterable[str]) -> None:
    """Print a plan.

    Parameters
    ----------
    places
        What would be written.
    """
    policy = found.policy
    out.print("Dry run: nothing is written.")
    whose = "" if found.people is None else f" of {found.people:,} people"
    suppressed = f", {found.suppressed:,} of them suppressed already" if found.suppressed else ""
    out.print(f"Records: {found.records:,}{whose}{suppressed}.")
    out.print(f"Keys: {found.keys:,} combinations of values of the quasi-identifiers.")
    out.print(_columns(found.columns))
    out.print(f"Models: {', '.join(map(str, policy.models))}.")
    lattice = "" if found.nodes is None else f" in a lattice of {found.nodes:,} nodes"
    out.print(f"Search: {policy.algorithm}{lattice}; at most {percent(policy.max_suppression)} suppressed.")
    out.print(f"Rows: {'in the order they have' if policy.keep_order else 'in a random order'}.")
    for note in found.notes:
        out.print(f"note: {note}")
    named = list(places)
    out.print(
        f"Would be written: {', '.join(named)}." if named else "No output is named yet: say -o or --into."
    )


def _columns(columns: Iterable[PlannedColumn]) -> Table:
    table = Table(box=None, pad_edge=False)
    for name in ("column", "role", "becomes", "read as", "values", "levels above", "treatment"):
        table.add_column(name, justify="right" if name in ("values", "levels above") else "left")
    for each in columns:
        table.add_row(
            each.name,
            each.role,
            each.becomes,
            each.kind or "",
            "" if each.values is None else f"{each.values:,}",
            "" if each.height is None else str(each.height),
            "" if each.treatment is None else ", ".join(f"{k} = {v}" for k, v in each.treatment.items()),
        )
    return table
