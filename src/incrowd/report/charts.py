"""Charts in Vega-Lite: small multiples of a comparison, classes of a local recoding in two dimensions."""

from __future__ import annotations

import math
import os
from collections.abc import Callable, Iterable, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple, Protocol

from incrowd.errors import MissingExtraError, ParameterError, visible
from incrowd.io.addresses import file_path
from incrowd.lazy import np

if TYPE_CHECKING:
    from incrowd.recoding import Recoding
    from incrowd.report.document import ComparisonRun
    from incrowd.table.frequency import FrequencyTable

# Okabe and Ito: told apart by most people with impaired colour vision, and in grey by their order.
COLOURS = ("#0072B2", "#D55E00", "#009E73", "#CC79A7", "#56B4E9", "#E69F00", "#000000", "#999999")
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
_FONT = "Liberation Sans"
"""The font by which texts are measured; `vl_convert` brings it."""
_FONTS = f"{_FONT}, Arial, Arimo, Helvetica, sans-serif"
"""The fonts that a page asks for: the first four have the same widths, the last is the reader's own."""
_LABEL_SIZE = 9
_WIDEST = 0.62
"""Average width of a character, in heights of the font, in the widest font that readers commonly have."""
_LONGEST_LABEL = 180
"""Width at which a label is cut, in pixels, as measured in `_FONT`."""
_WIDER = 1.25
"""How much wider a text may be in the reader's font."""
_SIDES = ("left", "right", "top", "bottom")
_WIDTH = 420
"""Width of a picture of a report, in pixels, its texts included."""
_FIGURES = {"minExtent": 34, "titlePadding": 6, "labelExpr": "datum.value == 0 ? '0' : datum.label"}
"""Settings of an axis of figures: room for its labels in any font, and 0 in place of 0k."""


class Measure(NamedTuple):
    """An axis: its title, and how to get the figure and its spread of a run."""

    title: str
    of: Callable[[ComparisonRun], tuple[float, float]]


def measures(records: int) -> list[Measure]:
    """Return the measures of the one page: seconds, LM and MD, each summed over records."""

    def utility(name: str, scale: float) -> Callable[[ComparisonRun], tuple[float, float]]:
        def figure(run: ComparisonRun) -> tuple[float, float]:
            return run.lost(name) * scale, (run.spread or {}).get(name, 0.0) * scale

        return figure

    return [
        Measure("seconds", lambda run: (run.seconds, (run.spread or {}).get("seconds", 0.0))),
        Measure("LM", utility("loss", records)),
        Measure("MD", utility("distortion", 1.0)),
    ]


def _altair() -> Any:
    try:
        import altair
        import vl_convert  # noqa: F401
    except ModuleNotFoundError:
        raise MissingExtraError("altair and vl-convert", "report", "drawing charts") from None
    return altair


def _themed(chart: Any) -> Any:
    return (
        chart.configure(font=_FONT, background="white", padding={**dict.fromkeys(_SIDES, 5), "right": 16})
        .configure_axis(
            labelFontSize=_LABEL_SIZE, titleFontSize=10, titleFontWeight="normal",
            grid=True, gridColor="#e6e6e6", domainColor="#888888", tickColor="#888888",
        )
        .configure_view(stroke=None)
        .configure_legend(
            orient="top", title=None, labelFontSize=10, symbolSize=60, columns=5, symbolOpacity=1
        )
    )  # fmt: skip


def _room(labels: Iterable[str]) -> int:
    """Return the pixels that the labels of an axis need in any font that a reader may have."""
    longest = max(map(len, labels), default=0) * _LABEL_SIZE * _WIDEST
    return math.ceil(min(longest, _LONGEST_LABEL * _WIDER)) + 8


def against(
    runs: Sequence[ComparisonRun],
    limit: str,
    shown: Sequence[Measure],
    *,
    width: int = 150,
    height: int = 105,
    algorithms: Sequence[str] | None = None,
) -> Any:
    """Draw measures against a limit of the grid as an Altair chart: a panel each, a line per algorithm.

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
    done = [run for run in runs if run.utility is not None and getattr(run, limit) is not None]
    if not done:
        raise ParameterError(f"no run with a limit {limit} gave a release, so there is nothing to draw")
    names = list(dict.fromkeys(algorithms or (run.algorithm for run in done)))
    alt = _altair()
    panels = [
        _panel(done, limit, measure, names).properties(
            width=width,
            height=height,
            title=alt.TitleParams(
                f"{measure.title} (log scale)" if _spans_magnitudes(done, measure) else measure.title,
                fontSize=10, anchor="start", frame="group", fontWeight="bold", font=_FONT,
            ),
        )
        for measure in shown
    ]  # fmt: skip
    return _themed(alt.hconcat(*panels, spacing=14))


def _panel(runs: Sequence[ComparisonRun], limit: str, measure: Measure, algorithms: Sequence[str]) -> Any:
    """Draw one measure against a limit: per algorithm a line, its points, and a band of its spread."""
    alt = _altair()
    across, up = _limit_axis(runs, limit), _measure_axis(runs, measure)
    present = {run.algorithm for run in runs}
    legend = alt.Legend(values=[name for name in algorithms if name in present])

    def distinguished(channel: Any, marks: Sequence[str]) -> Any:
        scale = alt.Scale(domain=list(algorithms), range=list(marks[: len(algorithms)]))
        return channel("algorithm:N", scale=scale, legend=legend)

    colour, shape = distinguished(alt.Color, COLOURS), distinguished(alt.Shape, SHAPES)
    base = alt.Chart(alt.Data(values=_points(runs, limit, measure)))
    band = base.mark_area(opacity=0.2).encode(x=across, y=alt.Y("low:Q", **up), y2="high:Q", color=colour)
    figure = alt.Y("figure:Q", **up)
    line = base.mark_line(strokeWidth=1.5).encode(x=across, y=figure, color=colour)
    point = base.mark_point(filled=True, size=28, opacity=1)
    return alt.layer(band, line, point.encode(x=across, y=figure, color=colour, shape=shape))


def _points(runs: Sequence[ComparisonRun], limit: str, measure: Measure) -> list[dict[str, Any]]:
    """Return a row per run: the limit, the figure and the ends of its band."""
    # A logarithmic axis has no place for nothing, so a band ends there at half the least figure.
    floor = min(measure.of(run)[0] for run in runs) / 2 if _spans_magnitudes(runs, measure) else 0.0
    rows = []
    for run in runs:
        figure, spread = measure.of(run)
        ends = {"low": max(figure - spread, floor), "high": figure + spread}
        rows.append({"algorithm": run.algorithm, "limit": getattr(run, limit), "figure": figure, **ends})
    return rows


def _spans_magnitudes(runs: Sequence[ComparisonRun], measure: Measure) -> bool:
    """Tell whether an axis has to be logarithmic: times of algorithms differ by orders of magnitude."""
    figures = [measure.of(run)[0] for run in runs]
    return measure.title == "seconds" and max(figures) > 20 * min(figures) > 0


def _limit_axis(runs: Sequence[ComparisonRun], limit: str) -> Any:
    alt = _altair()
    values = sorted({getattr(run, limit) for run in runs})
    logarithmic = limit == "k" and values[0] > 0
    scale = alt.Scale(type="log", base=2, nice=False) if logarithmic else alt.Scale(nice=False, zero=False)
    # Many values would be a grid of lines without labels; then the axis chooses its own.
    marks = {"values": values} if len(values) <= _MOST_TICKS else {"tickCount": 6}
    axis = alt.Axis(
        title=limit, format="~g", labelFlush=False, labelOverlap="greedy", labelSeparation=3, **marks
    )
    return alt.X("limit:Q", scale=scale, axis=axis)


def _measure_axis(runs: Sequence[ComparisonRun], measure: Measure) -> dict[str, Any]:
    """Return scale and axis of a measure, which its line, points and band share."""
    alt = _altair()
    wide = _spans_magnitudes(runs, measure)
    ticks = {"values": [10.0**power for power in range(-6, 7)]} if wide else {"tickCount": 5}
    form = "~g" if measure.title == "seconds" else "~s"
    return {
        "scale": alt.Scale(type="log") if wide else alt.Scale(zero=True),
        "axis": alt.Axis(title=None, format=form, **ticks, **_FIGURES),
    }


class Recoded(Protocol):
    """A recoded table, as a `Release` has it."""

    @property
    def recoding(self) -> Recoding:
        """The chosen recoding."""

    @property
    def frequency(self) -> FrequencyTable:
        """The keys that were recoded."""


def boundaries(release: Recoded, x: str, y: str, *, width: int = 420, height: int = 320) -> Any:
    """Draw the classes of a local recoding as an Altair chart: rectangles over two columns of numbers.

    A class is as wide as the smallest and the largest value that its records had, so the picture knows raw
    values; it is for whoever may see them. Colour tells the records of a class.

    Parameters
    ----------
    release
        A release by a local algorithm, as Mondrian.
    x, y
        Two quasi-identifiers that are numbers or dates without a hierarchy.

    Raises
    ------
    ParameterError
        When a column is none, or the recoding has no classes of its own.
    """
    from incrowd.recoding import Local

    alt = _altair()
    recoding, frequency = release.recoding, release.frequency
    if not isinstance(recoding, Local):
        raise ParameterError(f"{recoding.kind} recoding has no classes of its own to draw; use a local one")
    places = {domain.name: j for j, domain in enumerate(frequency.domains)}
    for name in (x, y):
        if name not in places or not frequency.domains[places[name]].ordered:
            raise ParameterError(f"{name!r} is no quasi-identifier of numbers without a hierarchy")
    keep = recoding.class_of_key >= 0
    of_key = recoding.class_of_key[keep]
    sizes = np.bincount(of_key, frequency.weights[keep], recoding.count)
    ends = {}
    for name in (x, y):
        place = places[name]
        numbers = frequency.domains[place].numbers[frequency.codes[place][keep]]
        low, high = np.full(recoding.count, np.inf), np.full(recoding.count, -np.inf)
        np.fmin.at(low, of_key, numbers)
        np.fmax.at(high, of_key, numbers)
        ends[name] = low, high
    rows = [
        {"x": float(a), "x2": float(b), "y": float(c), "y2": float(d), "records": int(n)}
        for a, b, c, d, n in zip(*ends[x], *ends[y], sizes, strict=True)
        if np.isfinite([a, b, c, d]).all() and n
    ]
    base = alt.Chart(alt.Data(values=rows)).encode(
        x=alt.X("x:Q", title=_text(x), scale=alt.Scale(zero=False, nice=False)),
        x2="x2:Q",
        y=alt.Y("y:Q", title=_text(y), scale=alt.Scale(zero=False, nice=False), axis=alt.Axis(**_FIGURES)),
        y2="y2:Q",
    )
    colour = alt.Color(
        "records:Q",
        title="records",
        scale=alt.Scale(scheme="yellowgreenblue", type="log"),
        legend=alt.Legend(orient="right", title="records", type="gradient", columns=1),
    )
    area = base.mark_rect(opacity=0.85, stroke="#333333", strokeWidth=0.6).encode(color=colour)
    # A class of one value in a column has no area.
    flat = base.mark_rule(strokeWidth=2.5, strokeCap="round").encode(color=colour)
    return _themed(
        alt.layer(
            area.transform_filter("datum.x < datum.x2 && datum.y < datum.y2"),
            flat.transform_filter("datum.x == datum.x2 || datum.y == datum.y2"),
        ).properties(width=width, height=height)
    )


def save(chart: Any, path: str | os.PathLike[str]) -> None:
    """Write a chart as ``.svg``, ``.png`` (two pixels to one), ``.pdf`` or ``.json`` (Vega-Lite).

    Raises
    ------
    ParameterError
        For another suffix.
    """
    _altair()
    import vl_convert

    target = file_path(path)
    document = chart.to_json()
    suffix = target.suffix.lower()
    if suffix == ".svg":
        target.write_text(vl_convert.vegalite_to_svg(document), encoding="utf-8", newline="\n")
    elif suffix == ".png":
        target.write_bytes(vl_convert.vegalite_to_png(document, scale=2))
    elif suffix == ".pdf":
        target.write_bytes(vl_convert.vegalite_to_pdf(document))
    elif suffix == ".json":
        target.write_text(document, encoding="utf-8", newline="\n")
    else:
        raise ParameterError(f"{target}: charts are written as .svg, .png, .pdf or .json")


# --- parts of a report --------------------------------------------------------------------------------

_BEFORE, _AFTER = "before", "after"


_OF_EVERY_OBJECT = {
    "constructor", "hasOwnProperty", "isPrototypeOf", "propertyIsEnumerable", "toLocaleString", "toString",
    "valueOf", "__defineGetter__", "__defineSetter__", "__lookupGetter__", "__lookupSetter__", "__proto__",
}  # fmt: skip
"""Texts that Vega, which looks texts up as the names of an object, would find."""


def _text(text: str) -> str:
    """Return a text of a table as Vega shows it and does not run into it."""
    return f"{text} " if text in _OF_EVERY_OBJECT else visible(text)


def _pairs(title: str, rows: list[dict[str, Any]], names: Sequence[str], *, width: int, unit: str) -> Any:
    """Draw bars of before and after beside each other, a row per label, in the order given."""
    alt = _altair()
    present = [name for name in (_BEFORE, _AFTER) if any(row["when"] == name for row in rows)]
    colours = {_BEFORE: "#999999", _AFTER: COLOURS[0]}
    rows = [{**row, "label": _text(row["label"])} for row in rows]
    return _themed(
        alt.Chart(alt.Data(values=rows))
        .mark_bar()
        .encode(
            y=alt.Y(
                "label:N",
                sort=[_text(name) for name in names],
                title=None,
                axis=alt.Axis(labelLimit=_LONGEST_LABEL, minExtent=_room(names)),
            ),
            yOffset=alt.YOffset("when:N", sort=present),
            x=alt.X(
                "value:Q",
                title=unit,
                axis=alt.Axis(
                    format="~s" if unit == "records" else "~%",
                    tickCount=5,
                    labelExpr=_FIGURES["labelExpr"],
                ),
            ),
            color=alt.Color(
                "when:N", scale=alt.Scale(domain=present, range=[colours[name] for name in present])
            ),
        )
        .properties(
            width=width,
            # Pictures of one width have texts of one size when a page scales them.
            autosize=alt.AutoSizeParams(type="fit-x", contains="padding"),
            height=alt.Step(11 if len(present) > 1 else 14),
            title=alt.TitleParams(
                _text(title), fontSize=11, anchor="start", fontWeight="bold", font=_FONT, limit=width
            ),
        )
    )


def class_sizes(classes: dict[str, Any], *, width: int = _WIDTH) -> Any:
    """Draw the records by the size of their class, before and after where both are there."""
    rows = size_rows(classes)
    names = list(dict.fromkeys(row["label"] for row in rows))
    return _pairs("Records by the size of their class", rows, names, width=width, unit="records")


def size_rows(classes: dict[str, Any]) -> list[dict[str, Any]]:
    """Return how many records are in classes of each span of sizes, the smallest sizes first."""
    found = []
    for when, sizes in classes.items():
        for each in sizes["distribution"]:
            least, most = each["least"], each["most"]
            label = str(least) if least == most else f"{least:,} to {most:,}"
            found.append((least, {"label": label, "when": when, "value": each["records"]}))
    return [row for _, row in sorted(found, key=lambda each: each[0])]


_RISKS = {
    ("prosecutor", "max"): "prosecutor, highest",
    ("prosecutor", "mean"): "prosecutor, average",
    ("prosecutor", "at_risk"): "records at risk",
    ("journalist", "max"): "journalist, highest",
    ("journalist", "mean"): "journalist, average",
    ("marketer", "expected"): "marketer",
    ("attribute-disclosure", "mean"): "attribute disclosure",
}


def risks(risk: dict[str, Any], *, width: int = _WIDTH) -> Any:
    """Draw the figures of the risk models, before and after where both are there."""
    return _pairs("Risk", risk_rows(risk), list(_RISKS.values()), width=width, unit="probability")


def risk_rows(risk: dict[str, Any]) -> list[dict[str, Any]]:
    """Return the figures of the risk models that are shares, each before and after where it is there."""
    return [
        {"label": label, "when": when, "value": figures[model][figure]}
        for (model, figure), label in _RISKS.items()
        for when, figures in risk.items()
        if figure in figures.get(model, {})
    ]


def distribution(attribute: dict[str, Any], *, width: int = _WIDTH) -> Any:
    """Draw the distribution of a quasi-identifier before and after."""
    rows = [
        {"label": each["label"], "when": when, "value": each[when]}
        for each in attribute["bins"]
        for when in (_BEFORE, _AFTER)
    ]
    return _pairs(
        attribute["name"], rows, [each["label"] for each in attribute["bins"]], width=width, unit="records"
    )


def front(nodes: Sequence[dict[str, Any]], *, width: int = _WIDTH, height: int = 180) -> Any:
    """Draw the front of loss and mean risk of a lattice; the chosen node is filled."""
    alt = _altair()
    rows = [
        {"score": node["score"], "risk": node["risk"], "node": "chosen" if node["chosen"] else "other"}
        for node in nodes
    ]
    base = alt.Chart(alt.Data(values=rows)).encode(
        x=alt.X("score:Q", title="loss"),
        y=alt.Y("risk:Q", title="mean risk", axis=alt.Axis(format="~%", **_FIGURES)),
    )
    line = base.mark_line(strokeWidth=1.2, color="#999999", interpolate="step-before")
    point = base.mark_point(filled=True, size=55, opacity=1).encode(
        color=alt.Color("node:N", scale=alt.Scale(domain=["chosen", "other"], range=[COLOURS[1], "#999999"])),
        shape=alt.Shape("node:N", scale=alt.Scale(domain=["chosen", "other"], range=["diamond", "circle"])),
    )
    return _themed(
        alt.layer(line, point).properties(
            width=width,
            autosize=alt.AutoSizeParams(type="fit-x", contains="padding"),
            height=height,
            title=alt.TitleParams(
                "Recodings that none beats in both",
                fontSize=11,
                anchor="start",
                fontWeight="bold",
                font=_FONT,
            ),
        )
    )


def svg_for_pages(chart: Any) -> str:
    """Return an SVG for a page with light and dark colours: ink and lines take the page's text colour."""
    _altair()
    import vl_convert

    document = chart.copy().configure_view(stroke=None).to_dict()
    document["background"] = None
    config = document["config"]
    config["background"] = None
    ink = "#010203"
    for part in ("axis", "legend", "title"):
        config.setdefault(part, {})
        config[part] |= {"labelColor": ink, "titleColor": ink}
    config["axis"] |= {"gridColor": ink, "gridOpacity": 0.12, "domainColor": ink, "tickColor": ink}
    config["title"]["color"] = ink
    text: str = vl_convert.vegalite_to_svg(document)
    return text.replace(ink, "currentColor").replace(f'"{_FONT}"', f'"{_FONTS}"')
