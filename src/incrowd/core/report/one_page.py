"""A PDF of one page about a comparison, with plots, tables and sentences."""

from __future__ import annotations

import math
import os
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from itertools import pairwise
from pathlib import Path
from typing import TYPE_CHECKING, Any

from incrowd.core.errors import ParameterError, require_extra
from incrowd.core.io.addresses import file_path
from incrowd.core.io.scratch import PrivateFolder
from incrowd.core.report.charts import Measure, measures, panels, save
from incrowd.core.report.pages import count_pages, typeset

if TYPE_CHECKING:
    from incrowd.core.report.document import ComparisonRun, Runs

_MOST = 5
_MOST_SPANS = 6
"""How many spans of a limit, or runs without a release, a sentence names."""

_NEAR = 0.1
"""Relative excess over the least LM up to which a faster algorithm is preferred."""
_SAME = 0.005
"""Relative difference up to which two losses are called the same."""

_Title = tuple[str, str]
"""Phrase for a single algorithm, and for several."""


def check_one_page(path: str | os.PathLike[str], algorithms: Sequence[str]) -> None:
    """Raise for a page that cannot be written, before any run (see `write_one_page`)."""
    require_extra(["typst", "vl_convert"], "report", "the one page")
    if file_path(path).suffix.lower() != ".pdf":
        raise ParameterError(f"{Path(path)}: the one page is written as .pdf")
    if len(algorithms) > _MOST:
        raise ParameterError(f"one page has room for {_MOST} algorithms, not for {len(algorithms)}")


def write_one_page(
    against_k: Runs,
    path: str | os.PathLike[str],
    *,
    against_l: Runs | None = None,
    at_k: int | None = None,
    title: str = "Anonymization algorithms compared",
    about: str = "",
    force: bool = False,
) -> None:
    """Write a PDF of one page: time, LM and MD against k, and against l if given.

    LM and MD are summed over the records, so that they stand beside each other as costs.

    Parameters
    ----------
    against_k
        Runs over k; at most five algorithms.
    path
        The file, ``.pdf``; written all or nothing.
    against_l
        Runs over l at one k.
    at_k
        That k.
    title, about
        What stands above, and a line about the table.

    Raises
    ------
    ParameterError
        When the file is not named ``.pdf``, there are more than five algorithms, or no run gave a release.
    MissingExtraError
        Without the extra `report`.
    """
    from incrowd.core.io.targets import writing

    runs = against_k.averaged()
    names = list(dict.fromkeys(run.algorithm for run in runs))
    check_one_page(path, names)
    axes = measures(against_k.records)
    with PrivateFolder() as folder:
        parts = [_part(runs, "k", "Impact of k in k-anonymity", axes, names, folder)]
        lines = [*observations(runs, "k", against_k.records), *conclusions(runs, "k")]
        if against_l is not None:
            condition = "" if at_k is None else f" at k = {at_k}"
            averaged = against_l.averaged()
            parts.append(_part(averaged, "l", f"Impact of l in l-diversity{condition}", axes, names, folder))
            lines += [*observations(averaged, "l", against_k.records), *conclusions(averaged, "l")]
        page = {
            "title": title,
            "subtitle": about,
            "parts": parts,
            "observations": lines,
            "notes": _notes(against_k, runs),
        }
        page = _fitted(page, folder)
        with writing(path, force=force) as temporary:
            typeset("one_page.typ", page, folder, temporary)


def _fitted(page: dict[str, Any], folder: Path) -> dict[str, Any]:
    """Return the document with as many table rows as fit on one page."""

    def fits(each: dict[str, Any]) -> bool:
        return count_pages("one_page.typ", each, folder) == 1

    if fits(page):
        return page
    most = max(len(part["rows"]) for part in page["parts"])
    few, many = 1, most  # One row is none: first and last would be two.
    while many - few > 1:
        middle = (few + many) // 2
        few, many = (middle, many) if fits(_thinned(page, middle)) else (few, middle)
    thinned = _thinned(page, few)
    if few == 1 and not fits(thinned):
        raise ParameterError("one page has no room for all of this; shorten the title or the line about it")
    return thinned


def _thinned(page: dict[str, Any], most: int) -> dict[str, Any]:
    """Keep at most `most` rows in each table, evenly spaced, with the first and the last."""
    parts, remarks = [], []
    for part in page["parts"]:
        rows = part["rows"]
        if len(rows) > most:
            places = [round(i * (len(rows) - 1) / (most - 1)) for i in range(most)] if most > 1 else []
            remarks.append(f"{len(places) or 'none'} of {len(rows)} values of {part['header'][0]}")
            rows = [rows[position] for position in places]
        parts.append({**part, "rows": rows})
    return {
        **page,
        "parts": parts,
        "notes": f"{page['notes']} The tables show {' and '.join(remarks)}; the charts show all.",
    }


def _notes(comparison: Runs, runs: Sequence[ComparisonRun]) -> str:
    most = max((run.runs for run in runs), default=1)
    spread = (
        f" Figures of algorithms with random choices, or that depend on the order of rows, are means of "
        f"{most} runs; bands and figures after ± are one standard deviation."
        if most > 1
        else ""
    )
    return (
        f"{comparison.records:,} records. LM (loss metric) and MD (distortion metric) are sums over records, "
        f"lower is better. The terminal gives LM per record: LM / {comparison.records:,}. "
        f"Seconds are wall time from counting the rows to the checked release.{spread}"
    )


def _part(
    runs: Sequence[ComparisonRun],
    limit: str,
    title: str,
    axes: Sequence[Measure],
    names: Sequence[str],
    folder: Path,
) -> dict[str, Any]:
    """Draw the charts and build the table of a limit."""
    chart = f"{limit}.pdf"
    save(panels(runs, limit, axes, names), folder / chart)
    present = [name for name in names if any(run.algorithm == name for run in runs)]
    values = sorted({getattr(run, limit) for run in runs if getattr(run, limit) is not None})
    rows = []
    for value in values:
        cells = [str(value)]
        for name in present:
            matches = [run for run in runs if run.algorithm == name and getattr(run, limit) == value]
            if not matches or matches[0].utility is None:
                cells += ["none"] + [""] * (len(axes) - 1)
            else:
                cells += [
                    _cell(*measure.of(matches[0]), seconds=measure.title == "seconds") for measure in axes
                ]
        rows.append(cells)
    header = [limit, *(measure.title for _ in present for measure in axes)]
    groups = [{"name": "", "span": 1}, *({"name": name, "span": len(axes)} for name in present)]
    return {
        "title": title,
        "chart": chart,
        "share": 1.0,
        "width": min(0.25 + 0.25 * len(present), 1.0),
        "alt": f"{', '.join(measure.title for measure in axes)} against {limit} for {', '.join(present)}; "
        "the table below has the figures",
        "groups": groups,
        "header": header,
        "rows": rows,
    }


def _cell(figure: float, spread: float, *, seconds: bool) -> str:
    text = f"{figure:.3f}" if seconds else f"{figure:,.0f}"
    if spread <= 0 or seconds:
        return text
    # Spaces at which no line breaks.
    return f"{text}\N{NARROW NO-BREAK SPACE}±\N{NARROW NO-BREAK SPACE}{spread:,.0f}"


def _by_value(runs: Sequence[ComparisonRun], limit: str) -> dict[Any, dict[str, ComparisonRun]]:
    """Return the runs with a release by the values of a limit, in order, and by algorithm."""
    released = [run for run in runs if run.utility is not None and getattr(run, limit) is not None]
    return {
        value: {run.algorithm: run for run in released if getattr(run, limit) == value}
        for value in sorted({getattr(run, limit) for run in released})
    }


def conclusions(runs: Sequence[ComparisonRun], limit: str) -> list[str]:
    """Weigh time against loss, recommend algorithms, and compare losses with expectations, in sentences."""
    by_value = _by_value(runs, limit)
    names = list(dict.fromkeys(run.algorithm for run in runs if run.utility is not None))
    lines = []
    if len(names) > 1:
        ends = [value for value in dict.fromkeys((min(by_value), max(by_value))) if len(by_value[value]) > 1]
        if ends:
            trade_offs = "; ".join(_trade_off(by_value[value], f"{limit} = {value}") for value in ends)
            lines.append(f"Trade-off: {trade_offs}.")
        preferred, quickest = {}, {}
        for value, by_name in by_value.items():
            least = min(map(_loss, by_name.values()))
            good = [run for run in by_name.values() if _loss(run) <= (1 + _NEAR) * least + 1e-9]
            preferred[value] = (min(good, key=_seconds).algorithm,)
            quickest[value] = (min(by_name.values(), key=_seconds).algorithm,)
        lines.append(
            f"To prefer, the fastest of those within {_NEAR:.0%} of the least LM: "
            + _best(("", ""), preferred, limit)
            + (
                ""
                if preferred == quickest
                else f" If seconds alone count: {_best(('', ''), quickest, limit)}"
            )
        )
    lines += _expectations(by_value, names, limit)
    return lines


def _trade_off(by_name: dict[str, ComparisonRun], where: str) -> str:
    quick, best = min(by_name.values(), key=_seconds), min(by_name.values(), key=_loss)
    if quick is best or not best.seconds or not _loss(best):
        return f"at {where} {quick.algorithm} is the fastest" + (
            " and loses least" if quick is best else f", and {best.algorithm} loses least"
        )
    return (
        f"at {where} {quick.algorithm} takes {quick.seconds / best.seconds:.1%} of the time of "
        f"{best.algorithm}, and loses {_loss(quick) / _loss(best):.3g} times as much"
    )


def _expectations(by_value: dict[Any, dict[str, ComparisonRun]], names: list[str], limit: str) -> list[str]:
    """Compare losses with two expectations: a stricter limit costs more, and random classes cost most."""
    falls, worse = [], []
    baseline = next((name for name in names if name.partition(":")[0] == "random"), None)
    for name in names:
        losses = [(value, _loss(by_name[name])) for value, by_name in by_value.items() if name in by_name]
        falls += [
            f"{name} from {limit} = {low} to {high}"
            for (low, before), (high, after) in pairwise(losses)
            if after < before * (1 - _SAME)
        ]
        worse += [
            f"{name} at {limit} = {value}"
            for value, loss in losses
            if baseline in by_value[value] and loss > _loss(by_value[value][baseline]) * (1 + _SAME)
        ]
    claims = [(f"no LM falls as {limit} grows", f"LM falls as {limit} grows", falls)]
    if baseline is not None and len(names) > 1:
        claims.append((f"none loses more than {baseline}", f"some lose more than {baseline}", worse))
    lines = [
        f"Against expectation {against}: {', '.join(which[:_MOST_SPANS])}"
        + (f" and {len(which) - _MOST_SPANS} more." if len(which) > _MOST_SPANS else ".")
        for _, against, which in claims
        if which
    ]
    expected = [fits for fits, _, which in claims if not which]
    if expected and len(by_value) > 1:
        lines.append(f"As expected, {', and '.join(expected)}.")
    return lines


def observations(runs: Sequence[ComparisonRun], limit: str, records: int = 0) -> list[str]:
    """Describe the fastest algorithm, the least loss and the cost of the limit in sentences.

    LM is summed over so many records; without a number it is given per record.
    """
    by_value = _by_value(runs, limit)
    released = [run for by_name in by_value.values() for run in by_name.values()]
    names = list(dict.fromkeys(run.algorithm for run in runs if run in released))
    lines = []
    if len(names) > 1:
        # Who ties is named, too: sums of floats differ in their last digits, times by less than is shown.
        kinds: tuple[tuple[_Title, Callable[[ComparisonRun], float], float], ...] = (
            (("loses least (LM)", "lose least (LM)"), _loss, 1e-9),
            (("is fastest", "are fastest"), _seconds, 0.0005),
        )
        for title, figure, apart in kinds:
            best = {}
            for value, by_name in by_value.items():
                figures = {name: figure(run) for name, run in by_name.items()}
                least = min(figures.values())
                best[value] = tuple(name for name in names if figures.get(name, math.inf) <= least + apart)
            lines.append(_best(title, best, limit))
    for name in names:
        series = [run for run in released if run.algorithm == name]
        series.sort(key=lambda run: getattr(run, limit))
        if len(series) > 1:
            lines.append(_growth(name, series, limit, records))
    failed = [run for run in runs if run.utility is None]
    if failed:
        which = [f"{run.algorithm} ({limit} = {getattr(run, limit)})" for run in failed]
        more = f" and {len(which) - _MOST_SPANS} more" if len(which) > _MOST_SPANS else ""
        lines.append(f"No release: {', '.join(which[:_MOST_SPANS])}{more}.")
    return lines


def _loss(run: ComparisonRun) -> float:
    return run.lost("loss")


def _seconds(run: ComparisonRun) -> float:
    return run.seconds


def _best(title: _Title, best: Mapping[Any, tuple[str, ...]], limit: str) -> str:
    """Describe the best algorithms by spans of a limit's values."""
    spans: list[tuple[tuple[str, ...], list[Any]]] = []
    for value, names in best.items():
        if spans and spans[-1][0] == names:
            spans[-1][1].append(value)
        else:
            spans.append((names, [value]))
    if len(spans) == 1:
        return f"{_subject(spans[0][0], title)} at every {limit}."
    if len(spans) > _MOST_SPANS:
        counts = Counter(best.values()).most_common()
        winners = [
            f"{_subject(names, title) if not position else _join_names(names)} for {count}"
            for position, (names, count) in enumerate(counts)
        ]
        return f"Of {len(best)} values of {limit}: {', '.join(winners)}."
    winners = [
        f"{_subject(names, title) if not position else _join_names(names)} for {limit} = "
        + (f"{values[0]}" if len(values) == 1 else f"{values[0]} to {values[-1]}")
        for position, (names, values) in enumerate(spans)
    ]
    return f"{', '.join(winners)}."


def _subject(names: tuple[str, ...], title: _Title) -> str:
    return f"{_join_names(names)} {title[len(names) > 1]}".rstrip()


def _join_names(names: tuple[str, ...]) -> str:
    return " and ".join([", ".join(names[:-1]), names[-1]][len(names) == 1 :])


def _growth(name: str, series: Sequence[ComparisonRun], limit: str, records: int) -> str:
    first, last = series[0], series[-1]
    before, after = _loss(first), _loss(last)
    low, high = getattr(first, limit), getattr(last, limit)
    time = last.seconds / first.seconds if first.seconds else 1.0
    pace = "takes as long" if 0.8 <= time <= 1.25 else f"takes {time:.2g} times as long"
    if abs(after - before) <= _SAME * max(before, 1e-12):
        return f"{name}: from {limit} = {low} to {high} it loses the same, and {pace}."
    cost = (
        f"LM goes from {before * records:,.0f} to {after * records:,.0f}"
        if records
        else f"LM per record goes from {before:.3f} to {after:.3f}"
    )
    return f"{name}: from {limit} = {low} to {high} its {cost}, and it {pace}."
