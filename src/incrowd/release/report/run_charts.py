"""Charts of compared runs: a panel per measure, and a line per algorithm."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

from incrowd.core.errors import ParameterError
from incrowd.release.report.vega import (
    COLOURS,
    FIGURES,
    Spec,
    category,
    complete,
    for_notebooks,
    quantity,
    title_of,
)

if TYPE_CHECKING:
    from incrowd.release.report.document import ComparisonRun

SHAPES = (
    "circle",
    "square",
    "triangle-up",
    "diamond",
    "cross",
    "triangle-down",
    "triangle-right",
    "triangle-left",
)
_MOST_TICKS = 10
_PLAIN = ",.6~r"
"""Format of labels: six digits and no exponent, as 10 and not 1e+1."""


class Measure(NamedTuple):
    """An axis of a chart: the title, and a function from a run to the figure and the spread."""

    title: str
    of: Callable[[ComparisonRun], tuple[float, float]]


def measures(records: int) -> list[Measure]:
    """Return the measures of the single-page report: seconds, LM and MD, each summed over records."""

    def utility(name: str, scale: float) -> Callable[[ComparisonRun], tuple[float, float]]:
        def figure(run: ComparisonRun) -> tuple[float, float]:
            return run.lost(name) * scale, (run.spread or {}).get(name, 0.0) * scale

        return figure

    return [
        Measure("seconds", lambda run: (run.seconds, (run.spread or {}).get("seconds", 0.0))),
        Measure("LM", utility("loss", records)),
        Measure("MD", utility("distortion", 1.0)),
    ]


def against(
    runs: Sequence[ComparisonRun],
    limit: str,
    shown: Sequence[Measure],
    *,
    width: int = 150,
    height: int = 105,
    algorithms: Sequence[str] | None = None,
) -> Any:
    """Draw measures against a limit as an Altair chart, with a panel per measure and a line per algorithm.

    Bands are one standard deviation over runs that differ in the seed. Runs without a release are left out.

    Parameters
    ----------
    runs
        Averages, as `Comparison.averaged` gives them.
    limit
        ``k``, ``l`` or ``t``; k has a logarithmic axis.
    shown
        At least one.
    width, height
        Of a panel, in pixels at 96 to the inch.
    algorithms
        All algorithms of a page, so that each has one colour in all of its charts.
    """
    return for_notebooks(panels(runs, limit, shown, algorithms, (width, height)))


def panels(
    runs: Sequence[ComparisonRun],
    limit: str,
    measures: Sequence[Measure],
    algorithms: Sequence[str] | None = None,
    size: tuple[int, int] = (150, 105),
) -> Spec:
    """Draw the chart of `against` as plain data for a page."""
    released = [run for run in runs if run.utility is not None and getattr(run, limit) is not None]
    if not released:
        raise ParameterError(f"no run with a limit {limit} gave a release, so there is nothing to draw")
    names = list(dict.fromkeys(algorithms or (run.algorithm for run in released)))
    charts = []
    for measure in measures:
        title = f"{measure.title} (log scale)" if _spans_magnitudes(released, measure) else measure.title
        panel = _panel(released, limit, measure, names)
        charts.append(
            panel | {"width": size[0], "height": size[1], "title": title_of(title, 10, frame="group")}
        )
    return complete(hconcat=charts, spacing=14)


def _panel(runs: Sequence[ComparisonRun], limit: str, measure: Measure, algorithms: Sequence[str]) -> Spec:
    """Draw a measure against a limit, with a line, points and a band of spread per algorithm."""
    present = {run.algorithm for run in runs}
    legend = {"values": [name for name in algorithms if name in present]}

    def distinguished(marks: Sequence[str]) -> Spec:
        scale = {"domain": list(algorithms), "range": list(marks[: len(algorithms)])}
        return category("algorithm", scale=scale, legend=legend)

    up = _measure_axis(runs, measure)
    axes = {"x": _limit_axis(runs, limit), "color": distinguished(COLOURS)}
    figure = axes | {"y": quantity("figure", **up)}
    return {
        "data": {"values": _points(runs, limit, measure)},
        "layer": [
            {
                "mark": {"type": "area", "opacity": 0.2},
                "encoding": axes | {"y": quantity("low", **up), "y2": {"field": "high"}},
            },
            {"mark": {"type": "line", "strokeWidth": 1.5}, "encoding": figure},
            {
                "mark": {"type": "point", "filled": True, "size": 28, "opacity": 1},
                "encoding": figure | {"shape": distinguished(SHAPES)},
            },
        ],
    }


def _points(runs: Sequence[ComparisonRun], limit: str, measure: Measure) -> list[dict[str, Any]]:
    """Return a row per run: the limit, the figure and the ends of the band."""
    # A logarithmic axis has no place for nothing, so a band ends there at half the least figure.
    floor = min(measure.of(run)[0] for run in runs) / 2 if _spans_magnitudes(runs, measure) else 0.0
    rows = []
    for run in runs:
        figure, spread = measure.of(run)
        ends = {"low": max(figure - spread, floor), "high": figure + spread}
        rows.append({"algorithm": run.algorithm, "limit": getattr(run, limit), "figure": figure, **ends})
    return rows


def _spans_magnitudes(runs: Sequence[ComparisonRun], measure: Measure) -> bool:
    """Say whether an axis has to be logarithmic, as for times that differ by orders of magnitude."""
    figures = [measure.of(run)[0] for run in runs]
    return measure.title == "seconds" and max(figures) > 20 * min(figures) > 0


def _limit_axis(runs: Sequence[ComparisonRun], limit: str) -> Spec:
    values = sorted({getattr(run, limit) for run in runs})
    logarithmic = limit == "k" and values[0] > 0
    scale = {"type": "log", "base": 2, "nice": False} if logarithmic else {"nice": False, "zero": False}
    # Many values would be a grid of lines without labels; then the axis chooses its own.
    marks = {"values": values} if len(values) <= _MOST_TICKS else {"tickCount": 6}
    axis = {"labelFlush": False, "labelOverlap": "greedy", "labelSeparation": 3, **marks}
    return quantity("limit", scale=scale, axis={"title": limit, "format": _PLAIN, **axis})


def _measure_axis(runs: Sequence[ComparisonRun], measure: Measure) -> Spec:
    """Return the scale and axis of a measure, common to line, points and band."""
    wide = _spans_magnitudes(runs, measure)
    ticks = {"values": [10.0**power for power in range(-6, 7)]} if wide else {"tickCount": 5}
    return {
        "scale": {"type": "log"} if wide else {"zero": True},
        "axis": {"title": None, "format": _PLAIN, **ticks, **FIGURES},
    }
