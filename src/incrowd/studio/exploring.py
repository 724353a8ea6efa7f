"""Results of a comparison or a lattice, as points of loss against risk that can be chosen."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

from incrowd.algorithms import ALGORITHMS

if TYPE_CHECKING:
    from incrowd.algorithms.lattice.space import SolutionSpace
    from incrowd.jobs.compare import Comparison

_MODEL = "k-anonymity"
_MOST = 40
"""Nodes of a front that are shown; more would hide each other."""


class Point(NamedTuple):
    """A result that can be chosen, by its loss and risk.

    Attributes
    ----------
    label
        What it is, in words.
    loss, risk
        0..1, or the score of the search's metric.
    of
        What is taken: a run of a comparison, or the level of each quasi-identifier.
    """

    label: str
    loss: float
    risk: float
    of: Any


def of_runs(found: Comparison) -> dict[str, Point]:
    """Return the runs that gave a release, by their number."""
    points = {}
    for number, run in enumerate(found.runs, 1):
        if run.problem is None and run.utility is not None:
            # Where everything is suppressed there is no risk.
            risk = 1 / run.smallest if run.smallest else 0.0
            label = f"{run.algorithm}, k = {run.k}"
            points[str(number)] = Point(label, run.utility["loss"], risk, run)
    return points


def losses(found: Comparison) -> tuple[list[str], list[tuple[str, ...]]]:
    """Return the loss of each run in each quasi-identifier: names of the columns of a table, and its rows.

    Runs that gave no release are left out.
    """
    runs = {
        f"{number}: {run.algorithm}, k = {run.k}": run.per_attribute
        for number, run in enumerate(found.runs, 1)
        if run.per_attribute
    }
    columns = next(iter(runs.values()), {})
    rows = [(name, *(f"{lost[name]:.1%}" for lost in runs.values())) for name in columns]
    return ["column", *runs], rows


def of_lattice(space: SolutionSpace) -> dict[str, Point]:
    """Return the nodes that none beats in both loss and mean risk, by number; the least loss first."""
    points = {}
    for number, node in enumerate(space.front()[:_MOST], 1):
        levels = dict(zip(space.names, node.levels, strict=True))
        label = ", ".join(f"{name} {level}" for name, level in levels.items())
        risk = node.classes / max(space.records - node.suppressed, 1)
        points[str(number)] = Point(label, node.score, risk, levels)
    return points


def cell_at(level: int, example: Sequence[str] | None) -> str:
    """Describe a level, with the cell of a value there: ``2: [20-39]``."""
    if not example:
        return str(level)
    return f"{level}: {example[min(level, len(example) - 1)]}"


def ends(points: Mapping[str, Point]) -> str:
    """Say from where to where the axes go."""
    losses, risks = ([each.loss for each in points.values()], [each.risk for each in points.values()])
    return (
        f"Risk from {min(risks):.1%} on the left to {max(risks):.1%}, loss from {min(losses):.4g} below to "
        f"{max(losses):.4g}."
    )


def place(value: float, among: Sequence[float]) -> float:
    """Return where a figure stands between the least and the largest, in percent of the way."""
    low, high = min(among), max(among)
    return 5 + 90 * ((value - low) / (high - low) if high > low else 0.5)


def take_setting(document: dict[str, Any], run: Any) -> None:
    """Make the algorithm and the class size of a run the choice of a policy document."""
    document["algorithm"] = {"name": ALGORITHMS.get(run.algorithm).name}
    if run.k is not None:
        others = [each for each in document.get("models", ()) if each["model"] != _MODEL]
        document["models"] = [{"model": _MODEL, "k": run.k}, *others]


def take_levels(document: dict[str, Any], levels: Mapping[str, int]) -> None:
    """Fix the level of each quasi-identifier, and let an algorithm search that knows levels."""
    for name, level in levels.items():
        document["columns"][name]["levels"] = [level, level]
    name = document.get("algorithm", {}).get("name")
    if name is None or not ALGORITHMS.get(name).full_domain:
        document["algorithm"] = {"name": "optimal"}


def free_levels(document: dict[str, Any]) -> bool:
    """Let every level be chosen again; say whether one was fixed."""
    fixed = [settings.pop("levels", None) for settings in document["columns"].values()]
    return any(each is not None for each in fixed)
