"""The curves of a comparison in sentences, each decided by the figures."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from itertools import combinations, groupby, pairwise, product
from operator import attrgetter, methodcaller
from typing import TYPE_CHECKING, Any

from incrowd.core.documents import figure

if TYPE_CHECKING:
    from incrowd.release.report.document import ComparisonRun

_MOST_SPANS = 6
"""How many spans of a limit, or runs without a release, a sentence names."""
_NEAR = 0.1
"""Relative excess over the least LM up to which a faster algorithm is preferred."""
_SAME = 0.005
"""Relative difference up to which two losses, or two risks, are called the same."""
_PACE = 0.25
"""Relative difference up to which two times are called the same."""
_ROOT = 0.9
"""Share of the most possible LM from which an algorithm nears the root."""
_SECONDS, _LOSS = attrgetter("seconds"), methodcaller("lost", "loss")
_LOSSES = {"LM": "loss", "MD": "distortion"}
_GAINS = {
    "k": {"prosecutor-max": "the highest risk of finding a person"},
    "l": {
        "attribute-disclosure-homogeneous": "the share of records whose class has one sensitive value",
        "attribute-disclosure-max": "the surest guess of a sensitive value by the class",
    },
}
"""The risks that a limit is meant to lower."""

_Figure = tuple[float, float]
"""A mean over runs, and the standard deviation."""


def observations(runs: Sequence[ComparisonRun], limit: str, records: int = 0) -> list[str]:
    """Describe the fastest algorithm, the least loss and the curve of each algorithm in sentences.

    A sentence says why a curve looks so only where the figures fit that reason. LM is summed over so many
    records; without a number it is given per record.
    """
    by_value = _by_value(runs, limit)
    curves = _curves(by_value)
    lines = []
    if len(curves) > 1:
        # Who ties is named, too: sums of floats differ in their last digits, times by less than is shown.
        best = {name: _best_by_value(by_value, metric, 1e-9) for name, metric in _LOSSES.items()}
        if best["LM"] == best["MD"]:
            best = {"LM and MD": best["LM"]}
        for name, each in best.items():
            lines.append(_best(each, limit, (f"loses least {name}", f"lose least {name}")))
        lines.append(_best(_best_by_value(by_value, "seconds", 0.0005), limit, ("is fastest", "are fastest")))
    lines += [_growth(name, series, limit, records) for name, series in curves.items() if len(series) > 1]
    if failed := [
        f"{run.algorithm} ({limit} = {getattr(run, limit)})" for run in runs if run.utility is None
    ]:
        lines.append(f"No release: {_listed(failed)}.")
    return lines


def conclusions(runs: Sequence[ComparisonRun], limit: str) -> list[str]:
    """Describe the gain of a stricter limit, weigh time against loss, and recommend algorithms."""
    by_value = _by_value(runs, limit)
    curves = _curves(by_value)
    lines = _gains(curves, limit)
    if len(curves) > 1:
        ends = [value for value in dict.fromkeys((min(by_value), max(by_value))) if len(by_value[value]) > 1]
        if ends:
            trade_offs = "; ".join(_trade_off(by_value[value], f"{limit} = {value}") for value in ends)
            lines.append(f"Trade-off: {trade_offs}.")
        preferred = {}
        for value, by_name in by_value.items():
            least = min(map(_LOSS, by_name.values()))
            good = [run for run in by_name.values() if _LOSS(run) <= (1 + _NEAR) * least + 1e-9]
            preferred[value] = (min(good, key=_SECONDS).algorithm,)
        quickest = _best_by_value(by_value, "seconds", 0.0005)
        alone = "" if preferred == quickest else f" If seconds alone count: {_best(quickest, limit)}"
        near = f"the fastest of those within {_NEAR:.0%} of the least LM: {_best(preferred, limit)}"
        lines.append(f"To prefer, {near}{alone}")
    lines += _expectations(curves, limit)
    return lines


def _by_value(runs: Sequence[ComparisonRun], limit: str) -> dict[Any, dict[str, ComparisonRun]]:
    """Return the runs with a release by the values of a limit, in order, and by algorithm."""
    released = [run for run in runs if run.utility is not None and getattr(run, limit) is not None]
    return {
        value: {run.algorithm: run for run in released if getattr(run, limit) == value}
        for value in sorted({getattr(run, limit) for run in released})
    }


def _curves(by_value: Mapping[Any, Mapping[str, ComparisonRun]]) -> dict[str, list[ComparisonRun]]:
    """Return the runs of each algorithm in the order of the limit."""
    names = dict.fromkeys(name for by_name in by_value.values() for name in by_name)
    return {name: [each[name] for each in by_value.values() if name in each] for name in names}


def _measured(run: ComparisonRun, name: str) -> _Figure:
    """Return seconds, a risk or a loss, with a spread."""
    figures = {"seconds": run.seconds, **(run.risk or {}), **(run.utility or {})}
    return figures[name], (run.spread or {}).get(name, 0.0)


def _change(before: _Figure, after: _Figure, near: float) -> str:
    """Say whether a figure rises or falls by more than a share and twice both spreads; else ""."""
    (first, spread), (last, other) = before, after
    if abs(last - first) <= max(near * min(first, last), 2 * (spread + other)) + 1e-12:
        return ""
    return "rises" if last > first else "falls"


def _course(curve: Sequence[_Figure], near: float, form: Callable[[float], str]) -> str:
    """Say whether a curve stays, rises or falls from end to end, or goes up and down."""
    means = [mean for mean, _ in curve]
    first, last, least, most = map(form, (means[0], means[-1], min(means), max(means)))
    changes = {_change(*pair, near) for pair in combinations(curve, 2)} - {""}
    if not changes:
        return f"stays at {least}" if least == most else f"stays between {least} and {most}"
    if changes == {_change(curve[0], curve[-1], near)}:
        return f"{changes.pop()} from {first} to {last}"
    ends = "" if first == last else f" from {first} to {last}"
    within = "" if {first, last} == {least, most} else f"{',' * bool(ends)} between {least} and {most}"
    return f"goes up and down{ends}{within}"


def _growth(name: str, series: Sequence[ComparisonRun], limit: str, records: int) -> str:
    """Describe how losses and time of an algorithm change with a limit, and why."""
    first, last, times = series[0], series[-1], [_measured(run, "seconds") for run in series]
    loss = [_measured(run, "loss") for run in series]
    loss_form = (lambda mean: f"{mean * records:,.0f}") if records else "{:.3f}".format
    distortion = _course([_measured(run, "distortion") for run in series], _SAME, "{:,.0f}".format)
    pace = _course(times, _PACE, lambda seconds: f"{figure(seconds, 2)} s")
    steady = max(times)[0] <= (1 + _PACE) * min(times)[0]
    pace += ", within its spread" * ("stays" in pace and not steady)
    lines = [
        f"{name}: from {limit} = {getattr(first, limit)} to {getattr(last, limit)} "
        f"LM{'' if records else ' per record'} {_course(loss, _SAME, loss_form)}, and MD {distortion}.",
        f"It takes as long at every {limit}: time {pace}." if steady else f"Its time {pace}.",
    ]
    if "falls" in pace and name.partition("(")[0] == "clustering" and limit == "k" and records:
        before, after = (records // getattr(run, limit) for run in (first, last))
        lines.append(f"There are fewer centroids: {after:,} in place of {before:,}.")
    if limit == "l" and first.l == 1 and {_change(times[0], time, _PACE) for time in times[1:]} == {"rises"}:
        lines.append(f"From l = {series[1].l} on the values of each class are counted, too.")
    alike = groupby(series, lambda run: (run.levels, run.lost("loss"), run.lost("distortion")))
    steps = [[getattr(run, limit) for run in runs] for (levels, *_), runs in alike if levels is not None]
    if flat := [_span(values) for values in steps if len(values) > 1]:
        where = f"at every {limit}" if len(steps[0]) == len(series) else f"for {limit} = {_join_names(flat)}"
        lines.append(f"Full-domain recoding moves whole columns: it is flat where levels stay, {where}.")
    if loss[-1][0] >= _ROOT:
        share = math.floor(100 * loss[-1][0] + 1e-6)
        lines.append(
            f"At {limit} = {getattr(last, limit)} it nears the root: LM is {share}% of the most possible."
        )
        lines += ["People drawn at random have little else in common."] * (name == "random")
    return " ".join(lines)


def _gains(curves: Mapping[str, Sequence[ComparisonRun]], limit: str) -> list[str]:
    """Describe the risks that a stricter limit is meant to lower."""
    courses, changes, percent = [], set(), lambda share: f"{figure(100 * share, 2)}%"
    for risk, meaning in _GAINS.get(limit, {}).items():
        measured = {
            name: [_measured(run, risk) for run in series]
            for name, series in curves.items()
            if len(series) > 1 and any((run.risk or {}).get(risk) for run in series)
        }
        changes |= {_change(curve[0], curve[-1], _SAME) for curve in measured.values()}
        each = [f"{_course(curve, _SAME, percent)} with {name}" for name, curve in measured.items()]
        # The verb stands once where it is the same.
        each = [
            text.removeprefix("falls " * (i and each[i - 1].startswith("falls ")))
            for i, text in enumerate(each)
        ]
        courses += [f"{meaning} {_join_names(each)}"] if each else []
    gain = "less risk" if "falls" in changes else "no less risk here"
    if gain == "less risk" and any("up and down" in course for course in courses):
        gain += ", but not with every step"
    return [f"A larger {limit} buys {gain}: {'; '.join(courses)}."] if courses else []


def _trade_off(by_name: Mapping[str, ComparisonRun], where: str) -> str:
    quick, best = min(by_name.values(), key=_SECONDS), min(by_name.values(), key=_LOSS)
    if quick is best or not best.seconds or not all(map(best.lost, _LOSSES.values())):
        return f"at {where} {quick.algorithm} is the fastest" + (
            " and loses least" if quick is best else f", and {best.algorithm} loses least"
        )
    times = [f"{quick.lost(loss) / best.lost(loss):.3g} times the {name}" for name, loss in _LOSSES.items()]
    return (
        f"at {where} {quick.algorithm} takes {quick.seconds / best.seconds:.1%} of the time of "
        f"{best.algorithm}, for {' and '.join(times)}"
    )


def _expectations(curves: Mapping[str, Sequence[ComparisonRun]], limit: str) -> list[str]:
    """Compare losses with two expectations: a stricter limit costs more, and random classes cost most."""
    baseline = {getattr(run, limit): run for run in curves.get("random", ())}
    falls, worse = [], []
    for (name, series), (title, loss) in product(curves.items(), _LOSSES.items()):
        for before, after in pairwise(series):
            if _change(_measured(before, loss), _measured(after, loss), _SAME) == "falls":
                span = _span([getattr(before, limit), getattr(after, limit)])
                falls.append(f"{title} of {name} from {limit} = {span}")
        for run in series:
            other = baseline.get(value := getattr(run, limit), run)
            if _change(_measured(other, loss), _measured(run, loss), _SAME) == "rises":
                worse.append(f"{title} of {name} at {limit} = {value}")
    claims = [(f"neither LM nor MD falls as {limit} grows", f"losses fall as {limit} grows", falls)]
    if baseline and len(curves) > 1:
        claims.append(("none loses more than random", "some lose more than random", worse))
    lines = [f"Against expectation {against}: {_listed(which)}." for _, against, which in claims if which]
    expected = [fits for fits, _, which in claims if not which]
    if expected and any(len(series) > 1 for series in curves.values()):
        lines.append(f"As expected, {', and '.join(expected)}.")
    return lines


def _best_by_value(
    by_value: Mapping[Any, Mapping[str, ComparisonRun]], name: str, apart: float
) -> dict[Any, tuple[str, ...]]:
    """Return the algorithms with the least figure, and algorithms within twice the spreads of the least."""
    best = {}
    for value, by_name in by_value.items():
        figures = {algorithm: _measured(run, name) for algorithm, run in by_name.items()}
        least, spread = min(figures.values())
        best[value] = tuple(
            each for each, (mean, own) in figures.items() if mean <= least + max(apart, 2 * (spread + own))
        )
    return best


def _best(best: Mapping[Any, tuple[str, ...]], limit: str, title: tuple[str, str] = ("", "")) -> str:
    """Describe the best algorithms by spans of a limit's values, in singular or plural."""
    spans = [(names, list(values)) for names, values in groupby(best, best.__getitem__)]
    lead, places = "", [(names, f"for {limit} = {_span(values)}") for names, values in spans]
    if len(spans) == 1:
        places = [(spans[0][0], f"at every {limit}")]
    if len(spans) > _MOST_SPANS:
        lead = f"Of {len(best)} values of {limit}: "
        places = [(names, f"for {count}") for names, count in Counter(best.values()).most_common()]
    verb = f" {title[len(places[0][0]) > 1]}".rstrip()
    (first, where), *others = ((_join_names(names), where) for names, where in places)
    return f"{lead}{', '.join([f'{first}{verb} {where}', *map(' '.join, others)])}."


def _join_names(names: Sequence[str]) -> str:
    return " and ".join([", ".join(names[:-1]), names[-1]][len(names) == 1 :])


def _span(values: Sequence[Any]) -> str:
    return f"{values[0]}" if len(values) == 1 else f"{values[0]} to {values[-1]}"


def _listed(which: Sequence[str]) -> str:
    more = f" and {len(which) - _MOST_SPANS} more" if len(which) > _MOST_SPANS else ""
    return f"{', '.join(which[:_MOST_SPANS])}{more}"
