"""The account of a release as rows of pictures and tables: plain data in, plain data out."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, Any, NamedTuple

from incrowd.core.report.charts import risk_rows, size_rows

if TYPE_CHECKING:
    from incrowd.attacks import Attack, Rate
    from incrowd.release.jobs.fidelity import Fidelity


class Pair(NamedTuple):
    """A figure before and after; None where it was not measured."""

    label: str
    before: float | None
    after: float | None


class Change(NamedTuple):
    """The recoding of a quasi-identifier.

    `how` says it in words, and `lost` is what a cell lost on average, 0..1.
    """

    name: str
    how: str
    lost: float
    records: list[Pair]


def changes(document: Mapping[str, Any]) -> list[Change]:
    """Return the recoding of each quasi-identifier of `Release.document`."""
    lost = next(each for each in document["loss"] if each["metric"] == "loss")["per_attribute"]
    rows = []
    for each in document["attributes"]:
        records = [Pair(one["label"], one["before"], one["after"]) for one in each["bins"]]
        rows.append(Change(each["name"], each["how"], lost[each["name"]], records))
    return rows


def class_sizes(document: Mapping[str, Any]) -> list[Pair]:
    """Return the records by the size of their class, the smallest sizes first."""
    return _pairs(size_rows(document["classes"]))


def risks(document: Mapping[str, Any]) -> list[Pair]:
    """Return the risks that are probabilities or shares."""
    return _pairs(risk_rows(document["risk"]))


def risk_figures(document: Mapping[str, Any]) -> list[tuple[str, str, Any, Any]]:
    """Return every figure of every risk model: whose, which, before and after."""
    raw = document["risk"]["before"]
    return [
        (model, name.replace("_", " "), raw.get(model, {}).get(name), value)
        for model, figures in document["risk"]["after"].items()
        for name, value in figures.items()
    ]


def _pairs(rows: Iterable[Mapping[str, Any]]) -> list[Pair]:
    found: dict[str, dict[str, float]] = {}
    for row in rows:
        found.setdefault(row["label"], {})[row["when"]] = row["value"]
    return [Pair(label, each.get("before"), each.get("after")) for label, each in found.items()]


def weakest(document: Mapping[str, Any]) -> tuple[list[str], list[tuple[str, ...]]]:
    """Return the class that is nearest to failing each model: the names of its parts, and a row per model."""
    entries = [each for each in document["models"] if each.get("weakest")]
    names = list(dict.fromkeys(name for each in entries for name in each["weakest"]["cells"]))
    rows = []
    for each in entries:
        of = each["model"] if each["attribute"] is None else f"{each['model']} of {each['attribute']}"
        cells = each["weakest"]["cells"]
        cells_of_class = ("(missing)" if (cell := cells.get(name, "any")) is None else cell for name in names)
        rows.append((of, *cells_of_class, f"{each['weakest']['records']:,}", f"{each['reached']:.4g}"))
    return ["model", *names, "records", "reached"], rows


def distances(found: Fidelity) -> list[tuple[str, float, float]]:
    """Return how far each column's distribution moved, 0..1: total variation and Hellinger distance."""
    return [(each.column, each.total_variation, each.hellinger) for each in found.marginals]


def associations(found: Fidelity) -> list[tuple[str, float, float]]:
    """Return how strongly columns go together before and after, the pairs that changed most first."""
    rows = [(" and ".join(each.columns), *each.cramers_v) for each in found.associations]
    return sorted(rows, key=lambda row: -abs(row[1] - row[2]))


def attempts(found: Iterable[Attack]) -> list[tuple[str, ...]]:
    """Return a row per kind of attack: guesses, success with the release, without it, and its meaning."""
    rows: list[tuple[str, ...]] = []
    for each in found:
        helps = "helps" if each.stronger_than_guessing else "no better than guessing"
        rows.append((each.name, f"{each.attacks:,}", _rate(each.main), _rate(each.baseline), helps))
    return rows


def _rate(rate: Rate) -> str:
    return f"{rate.value:.1%} ({rate.low:.1%} to {rate.high:.1%})"
