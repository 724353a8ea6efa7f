"""What a report says: one document, from which the JSON, the page and the PDF are made.

It is safe to publish. Classes are described by the cells of the released table alone; distributions before
recoding are counted in bins that do not name a value which the release does not name, and bins below the
smallest class that was asked for are merged. With `internal` the bins before are the values themselves.
"""

from __future__ import annotations

import platform
import re
from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from incrowd.recoding import SUPPRESSED, FullDomain

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from incrowd.assessment import Assessment
    from incrowd.comparison import Comparison
    from incrowd.domain import Domain
    from incrowd.frequency import FrequencyTable
    from incrowd.policy import Policy
    from incrowd.privacy import Measured
    from incrowd.recoding import Recoding
    from incrowd.release import Release
    from incrowd.schema import Schema

__all__ = ["FORMAT", "VERSION", "figure", "of_assessment", "of_comparison", "of_release"]

FORMAT, VERSION = "incrowd report", 1
_BINS = 8
_NAMED = 12
"""Bins of numbers, and values of categories that a distribution shows."""
_LEAST = 5
"""Records below which a bin before recoding is merged where no class size was asked for."""


def of_release(release: Release, *, internal: bool = False) -> dict[str, Any]:
    """Return the report of a release as plain data."""
    after, before, policy = release.privacy, release.before, release.policy
    asked = [measured for measured in after.privacy if measured.limit is not None]
    floor = 0 if internal else _floor(policy)
    columns = _columns(release)
    return {
        "format": FORMAT,
        "version": VERSION,
        "kind": "release",
        "internal": internal,
        "title": "Release of an anonymized table",
        "verdict": {"holds": after.holds, "text": _verdict(asked, what="release")},
        "sentences": _release_sentences(release, asked, columns),
        "records": after.records,
        "suppressed": after.suppressed,
        "columns": columns,
        "models": [_model(measured, cells=True) for measured in asked],
        "measured": [_model(measured, cells=False) for measured in after.privacy if measured.limit is None],
        "loss": [
            {
                "metric": lost.metric,
                "value": lost.value,
                "normalized": lost.normalized,
                "per_attribute": lost.per_attribute or {},
            }
            for lost in release.utility.values()
        ],
        "risk": {"before": before.risk, "after": after.risk},
        "classes": {"before": _sizes(before), "after": _sizes(after)},
        "attributes": [
            _attribute(j, domain, release.frequency, release.recoding, floor, internal=internal)
            for j, domain in enumerate(release.frequency.domains)
        ],
        "recoding": {"kind": release.recoding.kind, **release.recoding.decisions()},
        "front": None
        if release.lattice is None
        else [
            {
                "levels": list(node.levels),
                "score": node.score,
                "risk": node.classes / max(after.records - node.suppressed, 1),
                "suppressed": node.suppressed,
                "chosen": release.lattice.best is not None and node.levels == release.lattice.best.levels,
            }
            for node in release.lattice.front()
        ],
        "policy": _policy(policy),
        "reproduce": _versions(policy),
    }


def of_assessment(assessment: Assessment, schema: Schema) -> dict[str, Any]:
    """Return the report of a table as it stands; no class is described by its cells, which may be raw."""
    asked = [measured for measured in assessment.privacy if measured.limit is not None]
    roles = {attribute.name: attribute.role for attribute in schema.attributes}
    shown = [*assessment.quasi, *assessment.sensitive]
    return {
        "format": FORMAT,
        "version": VERSION,
        "kind": "assessment",
        "internal": False,
        "title": "Privacy of a table as it stands",
        "verdict": {"holds": assessment.holds if asked else None, "text": _verdict(asked, what="table")},
        "sentences": _assessment_sentences(assessment, asked),
        "records": assessment.records,
        "suppressed": assessment.suppressed,
        "columns": {"released": [{"name": name, "role": roles[name]} for name in shown], "dropped": 0},
        "models": [_model(measured, cells=False) for measured in asked],
        "measured": [
            _model(measured, cells=False) for measured in assessment.privacy if measured.limit is None
        ],
        "loss": [],
        "risk": {"after": assessment.risk},
        "classes": {"after": _sizes(assessment)},
        "attributes": [],
        "recoding": None,
        "front": None,
        "policy": None,
        "reproduce": _versions(None),
    }


def of_comparison(comparison: Comparison) -> dict[str, Any]:
    """Return the report of a comparison as plain data."""
    from incrowd.report.one_page import observations

    runs = comparison.averaged()
    limits = [limit for limit in ("k", "l", "t") if len({getattr(run, limit) for run in runs} - {None}) > 1]
    done = sum(run.utility is not None for run in runs)
    return {
        "format": FORMAT,
        "version": VERSION,
        "kind": "comparison",
        "internal": False,
        "title": "Anonymization algorithms compared",
        "verdict": {
            "holds": comparison.complete,
            "text": f"{done:,} of {len(runs):,} settings gave a release of {comparison.records:,} records.",
        },
        "sentences": [line for limit in limits or ["k"] for line in observations(runs, limit)],
        "records": comparison.records,
        "limits": limits,
        "runs": [run.to_dict() for run in runs],
        "reproduce": _versions(None),
    }


# --- in words -----------------------------------------------------------------------------------------

_SAID = {
    "k-anonymity": "every record looks like at least {less} others",
    "l-diversity": "every class has at least {value} {kind} values of {attribute}",
    "t-closeness": "no class is farther than {value} from the whole table in {attribute}",
    "maximum-risk": "nobody is found with a probability above {value}",
    "average-risk": "records are found with a probability of {value} on average",
}


def figure(value: float | None) -> str:
    """Write a figure: whole and large ones without decimals, others with four digits."""
    if value is None:
        return "nothing"
    if value == float("inf"):
        return "infinite"
    return f"{value:,.0f}" if float(value).is_integer() or abs(value) >= 1000 else f"{value:.4g}"


def _percent(share: float) -> str:
    return f"{share:.1%}" if share >= 0.001 or share == 0 else "below 0.1%"


def _verdict(asked: Sequence[Measured], *, what: str) -> str:
    if not asked:
        return f"No limit was asked for; the figures say how private the {what} is."
    failed = [measured for measured in asked if measured.holds is False]
    if not failed:
        number = "the model" if len(asked) == 1 else f"all {len(asked)} conditions"
        return f"The {what} satisfies {number} asked for."
    names = ", ".join(dict.fromkeys(measured.model for measured in failed))
    return f"The {what} does not satisfy what was asked for: {names}."


def _model_sentence(measured: Measured) -> str:
    about = f" of {measured.attribute}" if measured.attribute else ""
    holds = {True: "holds", False: "fails", None: "is measured"}[measured.holds]
    text = (
        f"{measured.model}{about} {holds}: {measured.quantity} is {figure(measured.value)}, asked was "
        f"{measured.sign} {figure(measured.limit)}"
    )
    said = _SAID.get(measured.model)
    if said and measured.holds and measured.value is not None:
        text += ", so " + said.format(
            value=figure(measured.value),
            less=figure(measured.value - 1),
            kind=measured.settings.get("kind", "different"),
            attribute=measured.attribute or "the sensitive attributes",
        )
    return text + "."


def _release_sentences(release: Release, asked: Sequence[Measured], columns: dict[str, Any]) -> list[str]:
    after, before = release.privacy, release.before
    quasi = ", ".join(after.quasi)
    share = after.suppressed / after.records if after.records else 0.0
    found = [
        f"The table has {after.records:,} records; {after.suppressed:,} of them ({_percent(share)}) "
        "are suppressed. "
        f"Quasi-identifiers are {quasi}.",
        *(_model_sentence(measured) for measured in asked),
    ]
    risk, raw = after.risk.get("prosecutor"), before.risk.get("prosecutor")
    if risk and raw:
        found.append(
            "Whoever knows that a person is in the table, and the person's quasi-identifiers, finds "
            "the right record "
            f"with a probability of at most {_percent(risk['max'])} ({_percent(risk['mean'])} on "
            "average); before it "
            f"was {_percent(raw['max'])} ({_percent(raw['mean'])})."
        )
    disclosure = after.risk.get("attribute-disclosure")
    if disclosure:
        found.append(
            "Guessing the most frequent sensitive value of a class is right for "
            f"{_percent(disclosure['mean'])} of the "
            f"records, against {_percent(disclosure['baseline'])} without the release; "
            f"{_percent(disclosure['homogeneous'])} of "
            "them are in classes with a single value."
        )
    loss = release.utility.get("loss")
    if loss:
        found.append(
            f"A released cell covers on average {_percent(loss.value)} of what its column could be "
            "(loss metric; 0% is "
            "the raw table, 100% nothing left)."
        )
    left = [column["name"] for column in columns["released"] if column["role"] != "quasi"]
    if left:
        found.append(
            f"Released as they are: {', '.join(left)}. The models protect them only where they are named "
            "above."
        )
    if columns["dropped"]:
        number = columns["dropped"]
        found.append(f"{number} identifying {'columns were' if number > 1 else 'column was'} left out.")
    return found


def _assessment_sentences(assessment: Assessment, asked: Sequence[Measured]) -> list[str]:
    records = max(assessment.records - assessment.suppressed, 1)
    risk = assessment.risk.get("prosecutor", {})
    found = [
        f"The table has {assessment.records:,} records in {assessment.classes:,} equivalence classes of "
        f"{', '.join(assessment.quasi)}; {assessment.suppressed:,} records are suppressed.",
        f"{assessment.unique:,} records ({_percent(assessment.unique / records)}) are alone in their class.",
        *(_model_sentence(measured) for measured in asked),
    ]
    if risk:
        found.append(
            "Whoever knows that a person is in the table, and the person's quasi-identifiers, finds "
            "the right record "
            f"with a probability of up to {_percent(risk['max'])}, {_percent(risk['mean'])} on average."
        )
    return found


# --- parts --------------------------------------------------------------------------------------------


def _model(measured: Measured, *, cells: bool) -> dict[str, Any]:
    entry: dict[str, Any] = {
        "model": measured.model,
        "quantity": measured.quantity,
        "settings": {name: str(value) for name, value in measured.settings.items()},
        "attribute": measured.attribute,
        "reached": None if measured.value is None else _finite(measured.value),
        "reasons": list(measured.reasons),
    }
    if measured.limit is not None:
        entry |= {"asked": measured.limit, "sign": measured.sign, "holds": measured.holds}
        entry["failing_classes"] = None if measured.failing is None else measured.failing[0]
        crowd = measured.weakest
        entry["weakest"] = crowd.to_dict() if cells and crowd is not None else None
    return entry


def _finite(value: float) -> float | str:
    """JSON has no infinity."""
    return "infinite" if value == float("inf") else float(value)


def _sizes(assessment: Assessment) -> dict[str, Any]:
    return {
        "count": assessment.classes,
        "smallest": assessment.smallest,
        "largest": assessment.largest,
        "mean": assessment.mean_size,
        "unique": assessment.unique,
        "distribution": [
            {"least": each.least, "most": each.most, "classes": each.classes, "records": each.records}
            for each in assessment.distribution
        ],
    }


def _columns(release: Release) -> dict[str, Any]:
    """Name the columns that left, and count those that did not."""
    from incrowd.engines import engine_for

    schema = release.policy.schema
    released = [
        {"name": name, "role": schema[name].role if name in schema else "insensitive"}
        for name in engine_for(release.table).columns
    ]
    return {"released": released, "dropped": len(schema.having("identifying"))}


def _floor(policy: Policy) -> int:
    """Return the smallest number of records that a bin before recoding may have."""
    asked = [int(model.settings()["k"]) for model in policy.models if model.name == "k-anonymity"]
    return max([_LEAST, *asked])


def _policy(policy: Policy) -> dict[str, Any]:
    """Say what was asked, without lists of values, which a hierarchy may hold."""
    return {
        "models": [str(model) for model in policy.models],
        "algorithm": str(policy.algorithm),
        "max_suppression": policy.max_suppression,
        "output": policy.output,
        "shuffle": policy.shuffle,
        "columns": [
            {
                "name": attribute.name,
                "role": attribute.role,
                "kind": attribute.kind,
                "hierarchy": None
                if attribute.hierarchy is None
                else type(attribute.hierarchy).__name__.lower(),
                "weight": attribute.weight,
            }
            for attribute in policy.schema.attributes
            if attribute.role != "identifying"
        ],
    }


def _versions(policy: Policy | None) -> dict[str, Any]:
    from importlib.metadata import version

    import numba
    import polars as pl

    found: dict[str, Any] = {
        "incrowd": version("incrowd"),
        "python": platform.python_version(),
        "numpy": np.__version__,
        "polars": pl.__version__,
        "numba": numba.__version__,
    }
    # With the seed, whoever has the data can do it again; alone it undoes nothing.
    return found if policy is None else found | {"seed": policy.seed}


# --- distributions ------------------------------------------------------------------------------------


def _attribute(
    position: int,
    domain: Domain,
    frequency: FrequencyTable,
    recoding: Recoding,
    floor: int,
    *,
    internal: bool,
) -> dict[str, Any]:
    """Describe how a quasi-identifier was recoded, and its distribution before and after."""
    cells = recoding.cells[position]
    held = np.where(recoding.suppressed, 0, frequency.weights)
    records = np.bincount(cells.codes, held, len(cells.labels)).astype(np.float64)
    labels = {label for label, count in zip(cells.labels, records, strict=True) if count}
    totals = frequency.totals(position)
    if isinstance(recoding, FullDomain):
        how = f"level {recoding.levels[position]} of {domain.tree.height}"
    else:
        same = float(records[cells.lo == cells.hi].sum() / max(held.sum(), 1))
        how = f"{len(labels):,} different cells; {_percent(same)} of the records keep a single value"
    gone = int(frequency.weights[recoding.suppressed].sum()) + frequency.suppressed
    if internal and not domain.ordered:
        bins = _named(domain, totals, cells, records, {str(value) for value in domain.values}, 0)
    elif domain.ordered and domain.hierarchy is None:
        bins = _numbers(domain, totals, cells, records, floor)
    elif domain.hierarchy is not None and not internal:
        bins = _branches(domain, totals, cells, records, labels, floor)
    else:
        bins = _named(domain, totals, cells, records, {str(label) for label in labels}, floor)
    return {
        "name": domain.name,
        "how": how,
        "cells": len(labels),
        "suppressed": gone,
        "bins": bins,
    }


Bins = list[dict[str, Any]]


def _numbers(
    domain: Domain, totals: NDArray[np.int64], cells: Any, records: NDArray[np.float64], floor: int
) -> Bins:
    """Count numbers between round edges, open at the ends; cells count evenly over what they cover."""
    known = ~np.isnan(domain.numbers)
    numbers = domain.numbers[known]
    merged: list[list[Any]] = []
    if len(numbers):
        edges = _edges(float(numbers.min()), float(numbers.max()))
        place = np.full(domain.size, -1)
        place[known] = np.searchsorted(edges, numbers, "right")
        width = len(edges) + 1
        before = np.bincount(place[known], totals[known], width)
        after = np.zeros(width)
        for lo, hi, count in zip(cells.lo, cells.hi, records, strict=True):
            inside = place[lo : hi + 1]
            inside = inside[inside >= 0]
            if count and len(inside):
                after += np.bincount(inside, minlength=width) * (count / len(inside))
        names = _edge_names(edges, domain.kind == "date")
        bins = [[name, float(raw), float(out)] for name, raw, out in zip(names, before, after, strict=True)]
        merged = _neighbours_merged(bins, floor)
    missing = float(totals[~known].sum())
    if missing >= max(floor, 1):
        told = sum(
            float(count)
            for lo, hi, count in zip(cells.lo, cells.hi, records, strict=True)
            if not known[lo : hi + 1].any()
        )
        merged.append(["missing", missing, told])
    return [{"label": name, "before": raw, "after": out} for name, raw, out in merged]


def _edges(low: float, high: float) -> NDArray[np.float64]:
    """Return round numbers between the ends, at most `_BINS` - 1 of them."""
    if low == high:
        return np.zeros(0)
    rough = (high - low) / _BINS
    power = 10.0 ** np.floor(np.log10(rough))
    step = next(power * factor for factor in (1, 2, 2.5, 5, 10) if power * factor >= rough * (1 - 1e-12))
    first = np.floor(low / step) + 1
    return np.asarray(np.arange(first, np.ceil(high / step)) * step)


def _edge_names(edges: NDArray[np.float64], days: bool) -> list[str]:
    import datetime as dt

    def text(edge: float) -> str:
        if days:
            return (dt.date(1970, 1, 1) + dt.timedelta(days=round(edge))).isoformat()
        return f"{edge:.10g}"

    if not len(edges):
        return ["one value"]
    inner = [f"{text(a)} to {text(b)}" for a, b in zip(edges[:-1], edges[1:], strict=True)]
    return [f"below {text(edges[0])}", *inner, f"{text(edges[-1])} and more"]


def _neighbours_merged(bins: list[list[Any]], floor: int) -> list[list[Any]]:
    """Merge each bin with too few records before recoding into its neighbour."""
    bins = [each for each in bins if each[1] or each[2]]
    while len(bins) > 1:
        small = [j for j, each in enumerate(bins) if each[1] < floor]
        if not small:
            break
        j = small[0]
        other = j - 1 if j else 1
        a, b = sorted((j, other))
        first, last = bins[a][0], bins[b][0]
        low = first.split(" to ")[0] if " to " in first else first
        high = last.split(" to ")[-1] if " to " in last else last
        if low.startswith("below"):
            name = f"below {high}" if " to " in last else "all"
        elif "and more" in high:
            name = f"{low} and more"
        else:
            name = f"{low} to {high}"
        bins[a : b + 1] = [[name, bins[a][1] + bins[b][1], bins[a][2] + bins[b][2]]]
    return bins


def _branches(
    domain: Domain,
    totals: NDArray[np.int64],
    cells: Any,
    records: NDArray[np.float64],
    labels: set[str | None],
    floor: int,
) -> Bins:
    """Count by the branches right below the root, which are named where the release names them, or where
    their names do not tell a leaf.
    """
    tree = domain.tree
    below = np.flatnonzero(tree.parents == 0)
    found: Bins = []
    other = [0.0, 0.0]
    vague = float(records.sum())
    for node in below.tolist():
        lo, hi = int(tree.lo[node]), int(tree.hi[node]) - 1
        raw = float(totals[lo : hi + 1].sum())
        inside = (cells.lo >= lo) & (cells.hi <= hi)
        out = float(records[inside].sum())
        vague -= out
        name = tree.labels[node]
        hidden = name not in labels and _tells_leaf(name, tree.values[lo : hi + 1])
        if hidden or raw < floor or len(found) >= _NAMED:
            other[0] += raw
            other[1] += out
        elif raw or out:
            found.append({"label": name, "before": raw, "after": out})
    return _with_rest(found, other, vague, floor)


def _tells_leaf(name: str, leaves: Iterable[str]) -> bool:
    """Say whether a label repeats a leaf as a word, as ``[cook - judge]`` does; ends of intervals do not."""
    return any(
        leaf in name
        and (name == leaf or not re.fullmatch(r"[\d.,:+-]+", leaf))
        and re.search(rf"(?<!\w){re.escape(leaf)}(?!\w)", name)
        for leaf in leaves
    )


def _named(
    domain: Domain,
    totals: NDArray[np.int64],
    cells: Any,
    records: NDArray[np.float64],
    public: Iterable[str],
    floor: int,
) -> Bins:
    """Count the values that the release names, the most frequent ones; the others together."""
    shown = set(public)
    single = cells.lo == cells.hi
    after = np.bincount(cells.lo[single], records[single], domain.size)
    vague = float(records[~single].sum())
    found: Bins = []
    other = [0.0, 0.0]
    for rank in np.argsort(-totals, kind="stable").tolist():
        value = domain.values[rank]
        raw, out = float(totals[rank]), float(after[rank])
        name = "(missing)" if value is None else str(value)
        hidden = str(value) not in shown or value == SUPPRESSED or raw < floor or (floor and not out)
        if hidden or len(found) >= _NAMED:
            other[0] += raw
            other[1] += out
        elif raw or out:
            found.append({"label": name, "before": raw, "after": out})
    return _with_rest(found, other, vague, floor)


def _with_rest(found: Bins, other: list[float], vague: float, floor: int) -> Bins:
    """Put what is not named into one bin, which takes in the smallest named one where it would be "
    "too small.
    """
    while found and 0 < other[0] < floor:
        least = min(found, key=lambda each: each["before"])
        found.remove(least)
        other[0] += least["before"]
        other[1] += least["after"]
    if other[0] or other[1]:
        found.append({"label": "others", "before": other[0], "after": other[1]})
    if vague > 0:
        found.append({"label": "generalized further", "before": 0.0, "after": vague})
    return found
