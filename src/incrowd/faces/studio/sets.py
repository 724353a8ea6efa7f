"""Columns whose cells hold sets of items: their settings, counts of items, and the risk beside items."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from incrowd.core.lazy import np, pl
from incrowd.measures.privacy import MODELS
from incrowd.measures.privacy.base import SensitiveModel

if TYPE_CHECKING:
    from incrowd.core.table.attribute import Attribute
    from incrowd.faces.studio.choices import Choices
    from incrowd.release.jobs.measure.assess import Assessment

KNOWN = (1, 2, 3, 4, 5)
"""How many items of a cell an attacker may know."""
RECIPES = ("flat", "prefix")
"""The recipes of hierarchies that fit items."""
_OF_ONE_VALUE = (
    "treat", "levels", "grid", "format", "decimal", "thousands", "key_of", "output", "ends", "weight",
)  # fmt: skip
"""Settings of cells with a single value."""


def set_columns(columns: Mapping[str, Mapping[str, Any]]) -> list[str]:
    """Name the quasi-identifiers whose cells hold sets, from the columns of a policy file."""
    return [name for name, each in columns.items() if each.get("kind") == "set" and each["role"] == "quasi"]


def lacking(columns: Mapping[str, Mapping[str, Any]], what: str) -> str:
    """Say in a line that something is not there for sets; empty where no column holds sets.

    Examples
    --------
    >>> lacking({"codes": {"role": "quasi", "kind": "set"}}, "Other settings")
    'Other settings: not for a table with sets, and codes holds sets.'
    """
    names = set_columns(columns)
    return f"{what}: not for a table with sets, and {names[0]} holds sets." if names else ""


def hold_sets(choices: Choices, name: str, *, holds: bool) -> None:
    """Say that the cells of a column hold sets, or that each is one value.

    A sign between items that a draft found is taken, else ``;``. Models of sensitive values go where no
    column is sensitive, since they are not defined beside items.
    """
    settings = choices.columns[name]
    for key in ("kind", "parts", "known"):
        settings.pop(key, None)
    if not holds:
        return
    for key in _OF_ONE_VALUE:
        settings.pop(key, None)
    recipe = settings.get("hierarchy")
    if isinstance(recipe, dict) and not {*RECIPES} & {*recipe}:
        del settings["hierarchy"]
    settings.update(kind="set", parts=choices.lists.get(name, ";"), known=2)
    if not choices.having("sensitive"):
        models = [x for x in choices.models if not issubclass(MODELS.get(x["model"]), SensitiveModel)]
        choices.models[:] = models


def item_counts(cells: pl.Series, attribute: Attribute, nulls: tuple[str, ...] = ()) -> dict[str, int]:
    """Count the cells that have each item, by item in order."""
    from incrowd.release.jobs.make.sets.cells import Baskets

    baskets = Baskets.of_cells(cells, attribute, nulls)
    counts = np.bincount(baskets.node, minlength=len(baskets.items.labels)).tolist()
    return {label: n for label, n in zip(baskets.items.labels, counts, strict=True) if n}


def largest_risk(assessment: Assessment, of: str) -> float | None:
    """Return the largest risk of an assessment, 0..1, also for somebody who knows items of a cell.

    Parameters
    ----------
    of
        The attacker who knows the other quasi-identifiers.
    """
    risk = assessment.risk.get(of, {}).get("max")
    fewest = [
        x.value for x in assessment.results.asked if x.model == "km-anonymity" and x.attribute and x.value
    ]
    shares = [*([] if risk is None else [risk]), *(1 / each for each in fewest)]
    return float(max(shares)) if shares else None
