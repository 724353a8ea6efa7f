"""The table of a comparison, a row per algorithm and setting, as texts, Markdown and LaTeX."""

from __future__ import annotations

from collections.abc import Sequence

from incrowd.core.documents import figure
from incrowd.release.report.details import Row
from incrowd.release.report.document import ComparisonRun

COMPARED = {
    "LM": "loss",
    "MD": "distortion",
    "NCP": "ncp",
    "discernibility": "discernibility",
    "class size": "average-class-size",
}
"""Columns of figures, and the metric in each."""
NOTHING = "nothing released"
"""Cell of a setting without a release, in place of figures."""

_DIGITS = 6
_LATEX = {
    "\\": r"\textbackslash{}", "~": r"\textasciitilde{}", "^": r"\textasciicircum{}", "±": r"$\pm$",
    **{mark: f"\\{mark}" for mark in "&%$#_{}"},
}  # fmt: skip


def caption(records: int) -> str:
    """Return the caption that explains how the figures of a comparison count."""
    return (
        f"{records:,} records; seconds are processor time; LM and NCP are means per cell, MD counts levels "
        f"in all cells; LM times {records:,} is the LM of the one page, a sum over records"
    )


def table_of_runs(runs: Sequence[ComparisonRun]) -> tuple[Row, list[Row]]:
    """Return the header and a row per run, where a run without a release ends with `NOTHING`.

    Parameters
    ----------
    runs
        Averages, as `Comparison.averaged` gives them. Means over several seeds get their standard deviation.
    """
    limits = [name for name in ("k", "l", "t") if any(getattr(run, name) is not None for run in runs)]
    rows = []
    for run in runs:
        row = [run.algorithm, *("" if (x := getattr(run, name)) is None else f"{x:g}" for name in limits)]
        if run.utility is None:
            rows.append([*row, NOTHING])
            continue
        row.append(_with_spread(run, "seconds", f"{run.seconds:.3f}"))
        row += [
            _with_spread(run, metric, figure(run.utility[metric], _DIGITS)) for metric in COMPARED.values()
        ]
        rows.append([*row, "-" if run.suppressed is None else figure(run.suppressed, _DIGITS)])
    return ["algorithm", *limits, "seconds", *COMPARED, "suppressed"], rows


def _with_spread(run: ComparisonRun, name: str, text: str) -> str:
    """Add the standard deviation to a mean, with two significant digits."""
    deviation = (run.spread or {}).get(name, 0.0)
    if not deviation:
        return text
    return f"{text} ±{deviation:,.0f}" if deviation >= 10 else f"{text} ±{deviation:.2g}"


def to_markdown(records: int, runs: Sequence[ComparisonRun]) -> str:
    """Return the table in Markdown, with the caption below."""
    header, rows = table_of_runs(runs)
    lines = [header, ["---", *("---:" for _ in header[1:])]]
    lines += [[*row, *[""] * (len(header) - len(row))] for row in rows]
    texts = ("| " + " | ".join(cell.replace("|", "\\|") for cell in line) + " |" for line in lines)
    return "\n".join([*texts, "", f"{caption(records)}."]) + "\n"


def to_latex(records: int, runs: Sequence[ComparisonRun]) -> str:
    """Return the table as a `tabular` of LaTeX, for the package booktabs."""
    header, rows = table_of_runs(runs)

    def line(cells: Row) -> str:
        texts = ["".join(_LATEX.get(mark, mark) for mark in cell) for cell in cells]
        if len(cells) < len(header):
            texts[-1] = rf"\multicolumn{{{len(header) - len(cells) + 1}}}{{l}}{{{texts[-1]}}}"
        return " & ".join(texts) + r" \\"

    return "\n".join(
        [
            f"% {caption(records)}.",
            rf"\begin{{tabular}}{{l{'r' * (len(header) - 1)}}}",
            r"\toprule",
            line(header),
            r"\midrule",
            *map(line, rows),
            r"\bottomrule",
            r"\end{tabular}",
            "",
        ]
    )
