"""The account of a release as rows of pictures and tables: plain data in, plain data out."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from incrowd.attacks import Attack, Rate
    from incrowd.release.jobs.compare.fidelity import Fidelity


Pair = tuple[str, float | None, float | None]
"""A label, and its figure before and after; None where it was not measured."""


def pairs(rows: Iterable[Mapping[str, Any]]) -> list[Pair]:
    """Return rows of a chart of the report by label, in order."""
    found: dict[str, dict[str, float]] = {}
    for row in rows:
        found.setdefault(row["label"], {})[row["when"]] = row["value"]
    return [(label, each.get("before"), each.get("after")) for label, each in found.items()]


def weakest(document: Mapping[str, Any]) -> tuple[list[str], list[tuple[str, ...]]]:
    """Return the weakest class of each model: column names, and a row per model."""
    entries = [each for each in document["models"] if each.get("weakest")]
    names = list(dict.fromkeys(name for each in entries for name in each["weakest"]["cells"]))
    rows = []
    for each in entries:
        of = each["model"] if each["attribute"] is None else f"{each['model']} of {each['attribute']}"
        cells = each["weakest"]["cells"]
        cells_of_class = ("(missing)" if (cell := cells.get(name, "any")) is None else cell for name in names)
        rows.append((of, *cells_of_class, f"{each['weakest']['records']:,}", f"{each['reached']:.4g}"))
    return ["model", *names, "records", "reached"], rows


def associations(found: Fidelity) -> list[tuple[str, float, float]]:
    """Return how strongly columns go together before and after, the pairs that changed most first."""
    rows = [(" and ".join(each.columns), *each.cramers_v) for each in found.associations]
    return sorted(rows, key=lambda row: -abs(row[1] - row[2]))


def attempts(found: Iterable[Attack]) -> list[tuple[str, ...]]:
    """Return a row per kind of attack: guesses, success with and without the release, and the meaning."""
    rows: list[tuple[str, ...]] = []
    for each in found:
        helps = "helps" if each.stronger_than_guessing else "no better than guessing"
        rows.append((each.name, f"{each.attacks:,}", _rate(each.main), _rate(each.baseline), helps))
    return rows


def _rate(rate: Rate) -> str:
    return f"{rate.value:.1%} ({rate.low:.1%} to {rate.high:.1%})"
