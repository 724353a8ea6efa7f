"""A single-page PDF about a comparison, with plots, tables and sentences."""

from __future__ import annotations

import os
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from incrowd.core.errors import ParameterError, require_extra
from incrowd.core.io.addresses import file_path
from incrowd.core.io.scratch import PrivateFolder
from incrowd.release.report.charts import Measure, measures, panels, save
from incrowd.release.report.comparison_sentences import conclusions, observations
from incrowd.release.report.pages import count_pages, typeset

if TYPE_CHECKING:
    from incrowd.release.report.document import ComparisonRun, Runs

_MOST = 5
_WIDEST = 125
"""Characters of a table's row that fit beside each other."""
_BLANK = "\N{NARROW NO-BREAK SPACE}"


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
    """Write a single-page PDF: time, LM and MD against k, and against l if given.

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
    """Return the document with as many table rows as fit on a page."""

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
    spread = f" Figures are means of up to {most} runs; bands and figures after ± are one standard deviation."
    spread = spread if most > 1 else ""
    return (
        f"{comparison.records:,} records. LM (loss metric) and MD (distortion metric) are sums over records, "
        f"lower is better. The terminal gives LM per record: LM / {comparison.records:,}. "
        f"Seconds are processor time from counting the rows to the checked release.{spread}"
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
    save(panels(runs, limit, axes, names, (150, 84)), folder / chart)
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
                cells += [_cell(*each.of(matches[0]), 3 * (each.title == "seconds")) for each in axes]
        rows.append(cells)
    if max(len("".join(row)) for row in rows) > _WIDEST:
        rows = [
            [cell.partition(_BLANK)[0] for cell in row] for row in rows
        ]  # The bands of the charts remain.
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


def _cell(figure: float, spread: float, decimals: int) -> str:
    text = f"{figure:,.{decimals}f}"
    if spread <= 0:
        return text
    return f"{text}{_BLANK}±{_BLANK}{spread:,.{decimals}f}"
