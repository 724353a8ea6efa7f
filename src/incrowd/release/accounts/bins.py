"""Distributions of a quasi-identifier before and after recoding, in bins that name nobody.

A bin of the raw table names no value that the release does not name. Bins with fewer records than the
smallest class that was asked for are merged.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterable
from typing import TYPE_CHECKING, Any

from incrowd.core.lazy import NDArray, np
from incrowd.core.recoding import SUPPRESSED, FullDomain
from incrowd_verify.gate.wording import percent

if TYPE_CHECKING:
    from incrowd.core.recoding import Recoding
    from incrowd.core.table.domain import Domain
    from incrowd.core.table.frequency import FrequencyTable

_BINS = 8
_NAMED = 12
"""Bins of numbers, and values of categories that a distribution shows."""


def attribute_entry(
    position: int,
    domain: Domain,
    frequency: FrequencyTable,
    recoding: Recoding,
    floor: int,
    *,
    internal: bool,
) -> dict[str, Any]:
    """Return the recoding of a quasi-identifier as plain data, with both distributions."""
    cells = recoding.cells[position]
    weights = np.where(recoding.suppressed, 0, frequency.weights)
    records = np.bincount(cells.codes, weights, len(cells.labels)).astype(np.float64)
    labels = {label for label, count in zip(cells.labels, records, strict=True) if count}
    totals = frequency.totals(position)
    if isinstance(recoding, FullDomain):
        how = f"level {recoding.levels[position]} of {domain.tree.height}"
    else:
        same = float(records[cells.lo == cells.hi].sum() / max(weights.sum(), 1))
        how = f"{len(labels):,} different cells; {percent(same)} of the records keep a single value"
    suppressed = int(frequency.weights[recoding.suppressed].sum()) + frequency.suppressed
    if internal and not domain.ordered:
        bins = _named_bins(domain, totals, cells, records, {str(value) for value in domain.values}, 0)
    elif domain.ordered and domain.hierarchy is None:
        bins = _number_bins(domain, totals, cells, records, floor)
    elif domain.hierarchy is not None and not internal:
        bins = _branch_bins(domain, totals, cells, records, labels, floor)
    else:
        bins = _named_bins(domain, totals, cells, records, {str(label) for label in labels}, floor)
    return {
        "name": domain.name,
        "how": how,
        "cells": len(labels),
        "suppressed": suppressed,
        "bins": bins,
    }


Bins = list[dict[str, Any]]


def _number_bins(
    domain: Domain, totals: NDArray[np.int64], cells: Any, records: NDArray[np.float64], floor: int
) -> Bins:
    """Count numbers between round edges, with an even spread of each cell."""
    has_number = ~np.isnan(domain.numbers)
    numbers = domain.numbers[has_number]
    merged: list[list[Any]] = []
    if len(numbers):
        edges = _edges(float(numbers.min()), float(numbers.max()))
        place = np.full(domain.size, -1)
        place[has_number] = np.searchsorted(edges, numbers, "right")
        width = len(edges) + 1
        before = np.bincount(place[has_number], totals[has_number], width)
        after = np.zeros(width)
        for lo, hi, count in zip(cells.lo, cells.hi, records, strict=True):
            inside = place[lo : hi + 1]
            inside = inside[inside >= 0]
            if count and len(inside):
                after += np.bincount(inside, minlength=width) * (count / len(inside))
        names = _edge_names(edges, domain.kind == "date")
        bins = [[name, float(raw), float(out)] for name, raw, out in zip(names, before, after, strict=True)]
        merged = _neighbours_merged(bins, floor)
    missing = float(totals[~has_number].sum())
    if missing >= max(floor, 1):
        missing_records = math.fsum(
            float(count)
            for lo, hi, count in zip(cells.lo, cells.hi, records, strict=True)
            if not has_number[lo : hi + 1].any()
        )
        merged.append(["missing", missing, missing_records])
    return [{"label": name, "before": raw, "after": out} for name, raw, out in merged]


def _edges(low: float, high: float) -> NDArray[np.float64]:
    """Return round numbers between the ends, at most `_BINS` - 1."""
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
    """Merge each bin with too few raw records into a neighbour."""
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


def _branch_bins(
    domain: Domain,
    totals: NDArray[np.int64],
    cells: Any,
    records: NDArray[np.float64],
    labels: set[str | None],
    floor: int,
) -> Bins:
    """Count by the branches below the root, named where the release does so or no leaf is revealed."""
    tree = domain.tree
    below = np.flatnonzero(tree.parents == 0)
    bins: Bins = []
    other = [0.0, 0.0]
    vague = float(records.sum())
    for node in below.tolist():
        lo, hi = int(tree.lo[node]), int(tree.hi[node]) - 1
        raw = float(totals[lo : hi + 1].sum())
        inside = (cells.lo >= lo) & (cells.hi <= hi)
        out = float(records[inside].sum())
        vague -= out
        name = tree.labels[node]
        hidden = name not in labels and _reveals_leaf(name, tree.values[lo : hi + 1])
        if hidden or raw < floor or len(bins) >= _NAMED:
            other[0] += raw
            other[1] += out
        elif raw or out:
            bins.append({"label": name, "before": raw, "after": out})
    return _with_rest(bins, other, vague, floor)


def _reveals_leaf(name: str, leaves: Iterable[str]) -> bool:
    """Say whether a label repeats a leaf as a word, as ``[cook - judge]`` does."""
    return any(
        leaf in name
        and (name == leaf or not re.fullmatch(r"[\d.,:+-]+", leaf))
        and re.search(rf"(?<!\w){re.escape(leaf)}(?!\w)", name)
        for leaf in leaves
    )


def _named_bins(
    domain: Domain,
    totals: NDArray[np.int64],
    cells: Any,
    records: NDArray[np.float64],
    public: Iterable[str],
    floor: int,
) -> Bins:
    """Count the most frequent values that the release names, and the others together."""
    public_values = set(public)
    single = cells.lo == cells.hi
    after = np.bincount(cells.lo[single], records[single], domain.size)
    vague = float(records[~single].sum())
    bins: Bins = []
    other = [0.0, 0.0]
    for rank in np.argsort(-totals, kind="stable").tolist():
        value = domain.values[rank]
        raw, out = float(totals[rank]), float(after[rank])
        name = "(missing)" if value is None else str(value)
        hidden = str(value) not in public_values or value == SUPPRESSED or raw < floor or (floor and not out)
        if hidden or len(bins) >= _NAMED:
            other[0] += raw
            other[1] += out
        elif raw or out:
            bins.append({"label": name, "before": raw, "after": out})
    return _with_rest(bins, other, vague, floor)


def _with_rest(bins: Bins, other: list[float], vague: float, floor: int) -> Bins:
    """Add a bin of the other values, with the smallest bins merged if too small."""
    while bins and 0 < other[0] < floor:
        least = min(bins, key=lambda each: each["before"])
        bins.remove(least)
        other[0] += least["before"]
        other[1] += least["after"]
    if other[0] or other[1]:
        bins.append({"label": "others", "before": other[0], "after": other[1]})
    if vague > 0:
        bins.append({"label": "generalized further", "before": 0.0, "after": vague})
    return bins
