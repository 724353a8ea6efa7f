"""Distributions of a quasi-identifier before and after recoding, in bins that name nobody.

A bin of the raw table names no value that the release does not name. Bins with fewer records than the
smallest class that was asked for are merged.
"""

from __future__ import annotations

import datetime as dt
import math
import re
from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING, Any, NamedTuple

from incrowd.core.errors import InputError
from incrowd.core.lazy import NDArray, np
from incrowd.core.reading.recognition import recognize
from incrowd.core.reading.spellings import read_spelled
from incrowd.core.recoding import SUPPRESSED, FullDomain
from incrowd.release.report.charts import PARTS
from incrowd_gate.wording import percent
from incrowd_gate.words.meanings import find_word

if TYPE_CHECKING:
    from incrowd.core.recoding import Recoding
    from incrowd.core.table.domain import Domain
    from incrowd.core.table.frequency import FrequencyTable

_BINS = 10
_NAMED = 12
"""Bins of numbers, and bins of dates, codes and categories that a distribution shows at most."""
_MONTHS = (1, 3, 12, 60, 120, 240, 600)
"""Months in a bin of dates: the fewest that give at most `_NAMED` bins."""
_CODE = re.compile(r"[A-Za-z]{0,3}[0-9][A-Za-z0-9 .-]*")
"""Postal codes, codes of diagnoses and the like, which are alike where they begin alike."""
_COVERS = (0, 0.05, 0.25, 0.5, 0.999)
"""Parts of a column up to which a cell covers little, more, or nearly all of it."""
_VAGUE = 0.2
"""Share of the records up to which cells may be wider than the branches that are shown."""


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
    spread = scale_of(domain)
    if spread is not None:
        bins = _spread_bins(spread, totals, cells, records, floor)
    elif internal:
        bins = _named_bins(domain, totals, cells, records, {str(value) for value in domain.values}, 0)
    elif domain.hierarchy is not None:
        bins = _branch_bins(domain, totals, cells, records, labels, floor)
    else:
        bins = _named_bins(domain, totals, cells, records, {str(label) for label in labels}, floor)
    named = math.fsum(each["before"] for each in bins if each["label"] not in _UNNAMED)
    if 2 * named < totals.sum() and domain.size > 1:
        bins = _width_bins(totals, cells, records)
    return {
        "name": domain.name,
        "how": how,
        "cells": len(labels),
        "suppressed": suppressed,
        "bins": bins,
        "covers": _covered(cells, records, domain.size, suppressed),
    }


def _covered(cells: Any, records: NDArray[np.float64], size: int, suppressed: int) -> list[dict[str, Any]]:
    """Count the records by the part of their column that the cell covers."""
    part = (cells.hi - cells.lo) / max(size - 1, 1)
    counts = np.bincount(np.searchsorted(_COVERS, part), records, len(_COVERS) + 1)
    counts[-1] += suppressed
    return [
        {"label": label, "after": float(count)} for label, count in zip(PARTS, counts, strict=True) if count
    ]


Bins = list[dict[str, Any]]
_UNNAMED = ("others", "generalized further")


class _Scale(NamedTuple):
    """The bins of values that have neighbours.

    Attributes
    ----------
    place
        int64[values]: the bin of each value, ascending; -1 for a value without one.
    name
        The name of the bins from one to another, ends included.
    """

    place: NDArray[np.int64]
    name: Callable[[int, int], str]


def scale_of(domain: Domain) -> _Scale | None:
    """Return round bins of numbers, calendar bins of dates, or bins of codes that begin alike."""
    if domain.hierarchy is not None:
        return None
    texts = [text for text in domain.values if text is not None]
    if not texts:
        return None
    numbers, days = domain.numbers, domain.kind == "date"
    if not domain.ordered:
        known = recognize(texts) if domain.size > _NAMED and not domain.typed else None
        if known is None or not known.ways or (known.kind == "number" and len(known.ways) > 1):
            is_code = domain.size > _NAMED and all(_CODE.fullmatch(text) for text in texts)
            return _code_scale(domain, lambda text: text) if is_code else None
        days = known.kind == "date"
        numbers = np.full(domain.size, np.nan)
        present = [j for j, text in enumerate(domain.values) if text is not None]
        try:
            _, of_text, places = read_spelled(texts, known.ways[0], domain.name)
        except InputError:
            # Some of the texts are fillers, or of different units.
            return None
        numbers[present] = of_text[places]
    elif domain.kind == "number" and domain.whole and find_word("postal", domain.name):
        width = max(len(text) for text in texts)
        return _code_scale(domain, lambda text: text.partition(".")[0].zfill(width))
    is_known = ~np.isnan(numbers)
    if not is_known.any():
        return None
    low, high = float(numbers[is_known].min()), float(numbers[is_known].max())
    edges, name = _calendar(low, high) if days else _round_numbers(low, high)
    return _Scale(np.where(is_known, np.searchsorted(edges, numbers, "right"), -1), name)


def _code_scale(domain: Domain, code: Callable[[str], str]) -> _Scale:
    """Put codes with the same first characters into a bin, with as many characters as give few bins."""
    codes = [None if text is None else code(text) for text in domain.values]
    length, starts = 1, sorted({text[:1] for text in codes if text is not None})
    longest = max(len(text) for text in codes if text is not None)
    while length < longest - 1:
        longer = sorted({text[: length + 1] for text in codes if text is not None})
        if len(longer) > _NAMED and len(starts) > 1:
            break
        length, starts = length + 1, longer
    together = math.ceil(len(starts) / _NAMED)
    at = {start: j // together for j, start in enumerate(starts)}

    def name(first: int, last: int) -> str:
        ends = starts[first * together], starts[min((last + 1) * together, len(starts)) - 1]
        return " to ".join(f"{end}{'*' * (longest - len(end))}" for end in dict.fromkeys(ends))

    return _Scale(np.array([-1 if text is None else at[text[:length]] for text in codes]), name)


def _round_numbers(low: float, high: float) -> tuple[NDArray[np.float64], Callable[[int, int], str]]:
    """Return round numbers between the ends, at most `_BINS` - 1, and the names of the bins."""
    edges = np.zeros(0)
    if low < high:
        rough = (high - low) / _BINS
        power = 10.0 ** np.floor(np.log10(rough))
        step = next(power * factor for factor in (1, 2, 2.5, 5, 10) if power * factor >= rough * (1 - 1e-12))
        edges = np.asarray(np.arange(np.floor(low / step) + 1, np.ceil(high / step)) * step)

    def name(first: int, last: int) -> str:
        if not first and last == len(edges):
            return "all" if len(edges) else "one value"
        if not first:
            return f"below {edges[last]:.10g}"
        if last == len(edges):
            return f"{edges[first - 1]:.10g} and more"
        return f"{edges[first - 1]:.10g} to {edges[last]:.10g}"

    return edges, name


def _calendar(low: float, high: float) -> tuple[NDArray[np.float64], Callable[[int, int], str]]:
    """Return the first days of months, quarters or years between two days, and the names of the bins."""
    ends = [dt.date(1970, 1, 1) + dt.timedelta(days=math.floor(day)) for day in (low, high)]
    first, last = (12 * day.year + day.month - 1 for day in ends)
    step = next((step for step in _MONTHS if last // step - first // step < _NAMED), _MONTHS[-1])
    starts = [step * period for period in range(first // step, last // step + 1)]
    days = [(dt.date(max(start // 12, 1), start % 12 + 1, 1) - dt.date(1970, 1, 1)).days for start in starts]

    def words(start: int, end: int) -> str:
        """Name the months from the start of a bin to the end of the same or a later bin."""
        if step < 12:
            form = "{}-Q{}" if step == 3 else "{}-{:02}"
            texts = [form.format(month // 12, month % 12 // step + 1) for month in (start, end)]
        else:
            texts = [str(start // 12), str((end + step) // 12 - 1)]
        return " to ".join(dict.fromkeys(texts))

    def name(first: int, last: int) -> str:
        if not first and last == len(starts) - 1:
            return "all" if len(starts) > 1 else "one value"
        if not first:
            return f"until {words(starts[last], starts[last]).split(' to ')[-1]}"
        if last == len(starts) - 1:
            return f"from {words(starts[first], starts[first]).split(' to ')[0]}"
        return words(starts[first], starts[last])

    return np.array(days[1:], np.float64), name


def _spread_bins(
    scale: _Scale, totals: NDArray[np.int64], cells: Any, records: NDArray[np.float64], floor: int
) -> Bins:
    """Count values by bin, with an even spread of each cell, and merge bins of few raw records."""
    place = scale.place
    known = place >= 0
    width = int(place.max()) + 1
    before = np.bincount(place[known], totals[known], width)
    after = np.zeros(width)
    missing_records = 0.0
    for lo, hi, count in zip(cells.lo, cells.hi, records, strict=True):
        inside = place[lo : hi + 1]
        inside = inside[inside >= 0]
        if not len(inside):
            missing_records += float(count)
        elif count:
            after += np.bincount(inside, minlength=width) * (count / len(inside))
    merged = [[j, j, before[j], after[j]] for j in range(width) if before[j] or after[j]]
    while len(merged) > 1 and (small := [j for j, each in enumerate(merged) if each[2] < floor]):
        first = max(small[0] - 1, 0)
        a, b = merged[first : first + 2]
        merged[first : first + 2] = [[a[0], b[1], a[2] + b[2], a[3] + b[3]]]
    bins = [
        {"label": scale.name(first, last), "before": float(raw), "after": float(out)}
        for first, last, raw, out in merged
    ]
    missing = float(totals[~known].sum())
    if missing >= max(floor, 1):
        bins.append({"label": "missing", "before": missing, "after": missing_records})
    return bins


def _width_bins(totals: NDArray[np.int64], cells: Any, records: NDArray[np.float64]) -> Bins:
    """Count records by the number of values of the record's cell, where values cannot be named."""
    values = cells.hi - cells.lo + 1
    power = np.ceil(np.log2(values)).astype(np.int64)
    after = np.bincount(power, records)
    bins: Bins = [{"label": "a single value", "before": float(totals.sum()), "after": float(after[0])}]
    for exponent in np.flatnonzero(after[1:]).tolist():
        low, high = 2**exponent + 1, 2 ** (exponent + 1)
        label = "2 values" if low == high else f"{low:,} to {high:,} values"
        bins.append({"label": label, "before": 0.0, "after": float(after[exponent + 1])})
    return bins


def _branch_bins(
    domain: Domain,
    totals: NDArray[np.int64],
    cells: Any,
    records: NDArray[np.float64],
    labels: set[str | None],
    floor: int,
) -> Bins:
    """Count by the branches of the finest level that names few branches, no hidden leaf and most cells."""
    tree = domain.tree

    def hides(node: int) -> bool:
        name = tree.labels[node]
        return name not in labels and _reveals_leaf(name, tree.values[tree.lo[node] : tree.hi[node]])

    def inside(node: int) -> NDArray[np.bool_]:
        return np.asarray((cells.lo >= tree.lo[node]) & (cells.hi < tree.hi[node]))

    branches = np.flatnonzero(tree.parents == 0).tolist()
    while True:
        below = [np.flatnonzero(tree.parents == node).tolist() or [node] for node in branches]
        finer = [node for nodes in below for node in nodes]
        if len(finer) > _NAMED or finer == branches or any(map(hides, finer)):
            break
        if math.fsum(records[inside(node)].sum() for node in finer) < (1 - _VAGUE) * records.sum():
            break
        branches = finer
    bins: Bins = []
    other = [0.0, 0.0]
    vague = float(records.sum())
    for node in branches:
        raw = float(totals[tree.lo[node] : tree.hi[node]].sum())
        out = float(records[inside(node)].sum())
        vague -= out
        if hides(node) or raw < floor or len(bins) >= _NAMED:
            other[0] += raw
            other[1] += out
        elif raw or out:
            bins.append({"label": tree.labels[node], "before": raw, "after": out})
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
