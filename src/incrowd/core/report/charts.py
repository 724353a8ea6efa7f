"""Charts in Vega-Lite: small multiples of a comparison, classes of a local recoding in two dimensions."""

from __future__ import annotations

import json
import math
import os
import re
from collections.abc import Callable, Iterable, Sequence
from copy import deepcopy
from typing import TYPE_CHECKING, Any, NamedTuple, Protocol, TypeAlias

from incrowd.core.errors import MissingExtraError, ParameterError, require_extra, visible
from incrowd.core.io.addresses import file_path
from incrowd.core.lazy import NDArray, np
from incrowd.core.presentation.documents import loss_in_words

if TYPE_CHECKING:
    from incrowd.core.recoding import Recoding
    from incrowd.core.report.document import ComparisonRun
    from incrowd.core.table.frequency import FrequencyTable

Spec: TypeAlias = dict[str, Any]
"""A Vega-Lite chart, or a part of a chart."""

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
_MOST_POINTS = 5_000
_DAY = 86_400_000.0
"""Milliseconds of a day, in which Vega counts time."""
_INK = "#010203"
"""Colour of points and lines on white paper, in place of which a page has its own colour of text."""
_LEAST_SHARE = 0.8
"""The share of its width that a panel on a page has at least, unless the page is narrower."""
_LAYOUT = {"hconcat", "concat", "columns", "spacing", "resolve"}
"""The parts of a chart that say how its panels stand beside each other."""
_FONT = "Liberation Sans"
"""Font for measuring texts, bundled with `vl_convert`."""
_FONTS = f"{_FONT}, Arial, Arimo, Helvetica, sans-serif"
"""The fonts that a page asks for: the first four have the same widths, the last is the reader's own."""
_LABEL_SIZE = 10
_WIDEST = 0.62
"""Average width of a character, in heights of the font, in the widest font that readers commonly have."""
_LONGEST_LABEL = 180
"""Width at which a label is cut, in pixels, as measured in `_FONT`."""
_LONGEST_LINE = 28
"""Characters after which a label goes on in a second line, which are surely narrower than the longest."""
_TWO_LINES = (
    "length(split(datum.label, '\\n')) > 2"
    " ? [split(datum.label, '\\n')[0], split(datum.label, '\\n')[1] + ' …'] : split(datum.label, '\\n')"
)
"""The first two lines of a label, the most for which two bars have room."""
_WIDER = 1.25
"""How much wider a text may be in the reader's font."""
_WIDTH = 310
"""Width of a picture of a report in pixels, texts included: two stand side by side on A4."""
_FIGURES = {"minExtent": 34, "titlePadding": 6, "labelExpr": "datum.value == 0 ? '0' : datum.label"}
"""Settings of an axis of figures: room for labels in any font, and 0 in place of 0k."""
_LEVEL_AXIS = {"tickCount": 3, "labelExpr": _FIGURES["labelExpr"]}
"""Settings of a horizontal axis of figures: few enough that their labels stand apart in any font."""


Picture: TypeAlias = tuple[str, Callable[[], Spec]]
"""A picture of a report: its text for those who do not see it, and what draws it."""


class Measure(NamedTuple):
    """An axis of a chart: the title, and a function from a run to the figure and the spread."""

    title: str
    of: Callable[[ComparisonRun], tuple[float, float]]


def measures(records: int) -> list[Measure]:
    """Return the measures of the one-page report: seconds, LM and MD, each summed over records."""

    def utility(name: str, scale: float) -> Callable[[ComparisonRun], tuple[float, float]]:
        def figure(run: ComparisonRun) -> tuple[float, float]:
            return run.lost(name) * scale, (run.spread or {}).get(name, 0.0) * scale

        return figure

    return [
        Measure("seconds", lambda run: (run.seconds, (run.spread or {}).get("seconds", 0.0))),
        Measure("LM", utility("loss", records)),
        Measure("MD", utility("distortion", 1.0)),
    ]


_CONFIG: Spec = {
    "font": _FONT,
    "background": "white",
    "padding": {"left": 5, "right": 16, "top": 5, "bottom": 9},
    "axis": {
        "labelFontSize": _LABEL_SIZE, "titleFontSize": 11, "titleFontWeight": "normal",
        "grid": True, "gridColor": "#e6e6e6", "domainColor": "#888888", "tickColor": "#888888",
    },
    "view": {"stroke": None},
    "legend": {
        "orient": "top", "title": None, "labelFontSize": 10, "symbolSize": 60, "columns": 5,
        "symbolOpacity": 1, "offset": 6,
    },
}  # fmt: skip


def _themed(**parts: Any) -> Spec:
    """Return a complete chart in the common style."""
    return {"$schema": "https://vega.github.io/schema/vega-lite/v6.json", "config": _CONFIG, **parts}


def _number(field: str, **settings: Any) -> Spec:
    return {"field": field, "type": "quantitative", **settings}


def _name(field: str, **settings: Any) -> Spec:
    return {"field": field, "type": "nominal", **settings}


def _title(text: str, size: int = 11, **settings: Any) -> Spec:
    return {
        "text": text, "fontSize": size, "anchor": "start", "fontWeight": "bold", "font": _FONT, **settings
    }  # fmt: skip


def for_notebooks(spec: Spec) -> Any:
    """Return a chart as an Altair chart for notebooks."""
    require_extra(["altair", "vl_convert"], "report", "drawing charts")
    # It loads slowly, and a page of a report does without it.
    import altair

    chart = altair.Chart.from_dict(spec)
    if "data" in spec:
        # Otherwise the rows go to another place, under a name that Altair makes up.
        chart.data = altair.Data(**spec["data"])  # type: ignore[no-untyped-call]
    return chart


def _room(labels: Iterable[str]) -> int:
    """Return the pixels for the labels of an axis in any font of a reader."""
    lines = [len(line) for label in labels for line in label.split("\n")]
    longest = max(lines, default=0) * _LABEL_SIZE * _WIDEST
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
            panel | {"width": size[0], "height": size[1], "title": _title(title, 10, frame="group")}
        )
    return _themed(hconcat=charts, spacing=14)


def _panel(runs: Sequence[ComparisonRun], limit: str, measure: Measure, algorithms: Sequence[str]) -> Spec:
    """Draw a measure against a limit, with a line, points and a band of spread per algorithm."""
    present = {run.algorithm for run in runs}
    legend = {"values": [name for name in algorithms if name in present]}

    def distinguished(marks: Sequence[str]) -> Spec:
        scale = {"domain": list(algorithms), "range": list(marks[: len(algorithms)])}
        return _name("algorithm", scale=scale, legend=legend)

    up = _measure_axis(runs, measure)
    axes = {"x": _limit_axis(runs, limit), "color": distinguished(COLOURS)}
    figure = axes | {"y": _number("figure", **up)}
    return {
        "data": {"values": _points(runs, limit, measure)},
        "layer": [
            {
                "mark": {"type": "area", "opacity": 0.2},
                "encoding": axes | {"y": _number("low", **up), "y2": {"field": "high"}},
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
    return _number("limit", scale=scale, axis={"title": limit, "format": "~g", **axis})


def _measure_axis(runs: Sequence[ComparisonRun], measure: Measure) -> Spec:
    """Return the scale and axis of a measure, common to line, points and band."""
    wide = _spans_magnitudes(runs, measure)
    ticks = {"values": [10.0**power for power in range(-6, 7)]} if wide else {"tickCount": 5}
    form = "~g" if measure.title == "seconds" else "~s"
    return {
        "scale": {"type": "log"} if wide else {"zero": True},
        "axis": {"title": None, "format": form, **ticks, **_FIGURES},
    }


class Recoded(Protocol):
    """A recoded table, as a `Release` has it."""

    @property
    def recoding(self) -> Recoding:
        """The chosen recoding."""

    @property
    def frequency(self) -> FrequencyTable:
        """The recoded keys."""


class _Axis(NamedTuple):
    """A quasi-identifier as an axis of a picture of classes."""

    name: str
    numbers: NDArray[np.float64]
    """Position of each key: float64[keys]; of dates in milliseconds since 1970."""
    dates: bool
    flat: bool
    """Whether it is the horizontal axis, whose labels need no room at its side."""

    def channel(self, padding: float = 0.0) -> Spec:
        """Return the encoding that the boxes and the points of a picture share."""
        # Each panel shows the same plane, whatever it draws.
        ends = [float(np.nanmin(self.numbers)), float(np.nanmax(self.numbers))]
        scale = {"domain": ends, "nice": False, "zero": False, "padding": padding}
        title = _text(self.name.replace("_", " "))
        if self.dates:
            return {
                "type": "temporal",
                "title": title,
                "scale": scale | {"type": "utc"},
                "axis": {"format": "%Y-%m", "tickCount": 4},
            }
        room = {} if self.flat else _FIGURES
        return {"type": "quantitative", "title": title, "scale": scale, "axis": room | {"tickCount": 6}}


def _plane(release: Recoded, x: str, y: str) -> tuple[_Axis, _Axis, NDArray[np.int64], NDArray[np.int64]]:
    """Return two axes, and the class and the weight of each key: int64[keys] each."""
    from incrowd.core.recoding import Local

    recoding, frequency = release.recoding, release.frequency
    if not isinstance(recoding, Local):
        raise ParameterError(f"{recoding.kind} recoding has no classes of its own to draw; use a local one")
    places = {domain.name: j for j, domain in enumerate(frequency.domains)}
    axes: list[_Axis] = []
    for name in (x, y):
        if name not in places or not frequency.domains[places[name]].ordered:
            raise ParameterError(f"{name!r} is no quasi-identifier of numbers without a hierarchy")
        domain = frequency.domains[places[name]]
        dates = domain.kind == "date"
        numbers = domain.numbers[frequency.codes[places[name]]]
        axes.append(_Axis(name, numbers * _DAY if dates else numbers, dates, not axes))
    return axes[0], axes[1], recoding.class_of_key.astype(np.int64), frequency.weights


def _boxes(across: _Axis, up: _Axis, class_of_key: NDArray[np.int64], weights: Any) -> list[dict[str, Any]]:
    """Return the rectangle of each class, as wide as its records are, with the number of records."""
    keep = class_of_key >= 0
    of_key = class_of_key[keep]
    count = int(of_key.max(initial=-1)) + 1
    sizes = np.bincount(of_key, weights[keep], count)
    ends = []
    for axis in (across, up):
        low, high = np.full(count, np.inf), np.full(count, -np.inf)
        np.fmin.at(low, of_key, axis.numbers[keep])
        np.fmax.at(high, of_key, axis.numbers[keep])
        ends += [low, high]
    return [
        {"x": float(a), "x2": float(b), "y": float(c), "y2": float(d), "records": int(n), "class": number}
        for number, (a, b, c, d, n) in enumerate(zip(*ends, sizes, strict=True))
        if np.isfinite([a, b, c, d]).all() and n
    ]


def _drawn_boxes(channels: Spec, colour: Spec) -> list[Spec]:
    """Return layers of rectangles, and of lines for classes of one value in a column, which have no area."""
    encoding = channels | {"x2": {"field": "x2"}, "y2": {"field": "y2"}} | colour
    area = {"type": "rect", "opacity": 0.85, "stroke": _INK, "strokeWidth": 0.6}
    flat = {"type": "rule", "strokeWidth": 2.5, "strokeCap": "round"}
    return [
        {"mark": mark, "encoding": encoding, "transform": [{"filter": condition}]}
        for mark, condition in (
            (area, "datum.x < datum.x2 && datum.y < datum.y2"),
            (flat, "datum.x == datum.x2 || datum.y == datum.y2"),
        )
    ]


def boundaries(release: Recoded, x: str, y: str, *, width: int = 350, height: int = 290) -> Any:
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
    across, up, class_of_key, weights = _plane(release, x, y)
    rows = _boxes(across, up, class_of_key, weights)
    channels = {"x": {"field": "x", **across.channel()}, "y": {"field": "y", **up.channel()}}
    colour = {
        "color": _number(
            "records",
            title="records",
            scale={"scheme": "yellowgreenblue", "type": "log"},
            legend={"title": "records", "columns": 8},
        )
    }
    layers = _drawn_boxes(channels, colour)
    return for_notebooks(_themed(data={"values": rows}, layer=layers, width=width, height=height))


def crowds(release: Recoded, x: str, y: str, *, width: int = 260, height: int = 250) -> Any:
    """Draw the same people before and after a local recoding as an Altair chart: points, then boxes of them.

    One person stands out before, and after only the class does that the person is in. The picture shows raw
    values, so it is for whoever may see them.

    Parameters
    ----------
    release
        A release by a local algorithm, as Mondrian, of at most 5,000 records that differ.
    x, y
        Two quasi-identifiers that are numbers or dates without a hierarchy.
    width, height
        Of each of the two panels, in pixels.

    Raises
    ------
    ParameterError
        When a column is none, the recoding has no classes of its own, or there are too many points to see.
    """
    across, up, class_of_key, weights = _plane(release, x, y)
    if len(class_of_key) > _MOST_POINTS:
        raise ParameterError(
            f"crowds: {len(class_of_key):,} points are too many to see; draw a release of fewer records, at "
            f"most {_MOST_POINTS:,} that differ"
        )
    boxes = _boxes(across, up, class_of_key, weights)
    seen = np.isfinite(across.numbers) & np.isfinite(up.numbers) & (class_of_key >= 0)
    person = _in_the_middle(across, up, boxes, class_of_key, seen)
    points = [
        {"x": float(across.numbers[key]), "y": float(up.numbers[key]), "one": key == person}
        for key in np.flatnonzero(seen).tolist()
    ]
    for box in boxes:
        box["one"] = box["class"] == int(class_of_key[person])
    size = int(max(box["records"] for box in boxes if box["one"]))
    channels = {"x": {"field": "x", **across.channel(5)}, "y": {"field": "y", **up.channel(5)}}
    one = {"condition": {"test": "datum.one", "value": COLOURS[1]}, "value": _INK}

    def dots(opacity: float, highlighted: bool) -> Spec:
        big = {"condition": {"test": "datum.one", "value": 110}, "value": 9} if highlighted else {"value": 9}
        return {
            "data": {"values": points},
            "mark": {"type": "circle", "opacity": 1},
            "encoding": channels
            | {
                "size": big,
                "color": one if highlighted else {"value": _INK},
                "opacity": {"condition": {"test": "datum.one", "value": 1}, "value": opacity}
                if highlighted
                else {"value": opacity},
            },
        }

    filled = {"condition": {"test": "datum.one", "value": COLOURS[1]}, "value": COLOURS[4]}
    fainter = {"condition": {"test": "datum.one", "value": 0.75}, "value": 0.35}
    groups = [
        {"data": {"values": boxes}, **layer}
        for layer in _drawn_boxes(channels, {"color": filled, "fillOpacity": fainter})
    ]
    for group in groups:
        group["mark"] |= {"opacity": 1, "stroke": COLOURS[0]} if group["mark"]["type"] == "rect" else {}

    def panel(layers: list[Spec], title: str) -> Spec:
        return {"layer": layers, "width": width, "height": height, "title": _title(title, 13, frame="group")}

    return for_notebooks(
        _themed(
            hconcat=[
                panel([dots(0.75, True)], "Before: one person stands alone"),
                panel([*groups, dots(0.5, False)], f"After: one of {size:,} who look alike"),
            ],
            spacing=24,
        )
    )


def _in_the_middle(
    across: _Axis, up: _Axis, boxes: Sequence[dict[str, Any]], class_of_key: NDArray[np.int64], seen: Any
) -> int:
    """Return the key nearest to the middle of the box that is nearest to the middle of the plane."""
    spans = [float(np.ptp(axis.numbers[seen])) or 1.0 for axis in (across, up)]
    lows = [float(axis.numbers[seen].min()) for axis in (across, up)]

    def distance(a: Any, b: Any, centre: tuple[float, float]) -> Any:
        places = [(value - low) / span for value, low, span in zip((a, b), lows, spans, strict=True)]
        return (places[0] - centre[0]) ** 2 + (places[1] - centre[1]) ** 2

    middles = {box["class"]: ((box["x"] + box["x2"]) / 2, (box["y"] + box["y2"]) / 2) for box in boxes}
    chosen = min(middles, key=lambda number: distance(*middles[number], (0.5, 0.5)))
    within = np.flatnonzero(seen & (class_of_key == chosen))
    a, b = middles[chosen]
    centre = ((a - lows[0]) / spans[0], (b - lows[1]) / spans[1])
    return int(within[np.argmin(distance(across.numbers[within], up.numbers[within], centre))])


def save(chart: Any, path: str | os.PathLike[str]) -> None:
    """Write a chart as ``.svg``, ``.png`` (two pixels to one), ``.pdf`` or ``.json`` (Vega-Lite).

    Parameters
    ----------
    chart
        A chart of Altair, or Vega-Lite as plain data.
    path
        Its suffix says the kind of file.

    Raises
    ------
    ParameterError
        For another suffix.
    """
    require_extra(["vl_convert"], "report", "drawing charts")
    import vl_convert

    target = file_path(path)
    document = _spec_of(chart)
    suffix = target.suffix.lower()
    if suffix == ".svg":
        target.write_text(vl_convert.vegalite_to_svg(document), encoding="utf-8", newline="\n")
    elif suffix == ".png":
        target.write_bytes(vl_convert.vegalite_to_png(document, scale=2))
    elif suffix == ".pdf":
        target.write_bytes(vl_convert.vegalite_to_pdf(document))
    elif suffix == ".json":
        text = json.dumps(document, indent=2, sort_keys=True)
        target.write_text(text, encoding="utf-8", newline="\n")
    else:
        raise ParameterError(f"{target}: charts are written as .svg, .png, .pdf or .json")


def _spec_of(chart: Any) -> Spec:
    spec: Spec = chart if isinstance(chart, dict) else chart.to_dict()
    return spec


# --- parts of a report --------------------------------------------------------------------------------

_BEFORE, _AFTER = "before", "after"
_MANY = 8
"""Labels of a picture from which its bars are thinner."""
_ONE_WIDTH = {"type": "fit-x", "contains": "padding"}
"""Sizing by total width, so that pages scale the texts of all pictures alike."""


_OF_EVERY_OBJECT = {
    "constructor", "hasOwnProperty", "isPrototypeOf", "propertyIsEnumerable", "toLocaleString", "toString",
    "valueOf", "__defineGetter__", "__defineSetter__", "__lookupGetter__", "__lookupSetter__", "__proto__",
}  # fmt: skip
"""Texts that Vega, which looks texts up as the names of an object, would find."""


def _text(text: str) -> str:
    """Return a text of a table in a form that Vega shows and never resolves as an object's member."""
    return f"{text} " if text in _OF_EVERY_OBJECT else visible(text)


def _wrapped(text: str) -> str:
    """Return a text of a table with line breaks between words in place of blanks, none within a word."""
    lines = [""]
    for word in _text(text).split(" "):
        if lines[-1] and len(lines[-1]) + 1 + len(word) > _LONGEST_LINE:
            lines.append(word)
        else:
            lines[-1] = f"{lines[-1]} {word}" if lines[-1] else word
    return "\n".join(lines)


def _pairs(title: str, rows: list[dict[str, Any]], names: Sequence[str], *, width: int, unit: str) -> Spec:
    """Draw bars of before and after beside each other, with a row per label in the given order."""
    present = [name for name in (_BEFORE, _AFTER) if any(row["when"] == name for row in rows)]
    colours = {_BEFORE: "#999999", _AFTER: COLOURS[0]}
    labels = [_wrapped(name) for name in names]
    figures = _LEVEL_AXIS | {"format": "~s" if unit == "records" else "~%"}
    return _themed(
        data={"values": [{**row, "label": _wrapped(row["label"])} for row in rows]},
        mark={"type": "bar"},
        encoding={
            "y": _name(
                "label",
                sort=labels,
                title=None,
                axis={
                    "labelLimit": _LONGEST_LABEL,
                    "minExtent": _room(labels),
                    "labelExpr": _TWO_LINES,
                    "labelLineHeight": _LABEL_SIZE + 1,
                },
            ),
            "yOffset": _name("when", sort=present),
            "x": _number("value", title=unit, axis=figures),
            "color": _name("when", scale={"domain": present, "range": [colours[name] for name in present]}),
        },
        width=width,
        autosize=_ONE_WIDTH,
        height={
            "step": (8 if len(names) >= _MANY and "\n" not in "".join(labels) else 12)
            if len(present) > 1
            else 14
            if "\n" not in "".join(labels)
            else 26
        },
        title=_title(_text(title), limit=width),
    )


def class_sizes(classes: dict[str, Any], *, width: int = _WIDTH) -> Spec:
    """Draw the records by class size, before and after where both are given."""
    rows = size_rows(classes)
    names = list(dict.fromkeys(row["label"] for row in rows))
    return _pairs("Records by the size of their class", rows, names, width=width, unit="records")


def size_rows(classes: dict[str, Any]) -> list[dict[str, Any]]:
    """Return the number of records by span of class sizes, in ascending order."""
    rows = []
    for when, sizes in classes.items():
        for each in sizes["distribution"]:
            least, most = each["least"], each["most"]
            label = str(least) if least == most else f"{least:,} to {most:,}"
            rows.append((least, {"label": label, "when": when, "value": each["records"]}))
    return [row for _, row in sorted(rows, key=lambda each: each[0])]


_RISKS = {
    ("prosecutor", "max"): "prosecutor, highest",
    ("prosecutor", "mean"): "prosecutor, average",
    ("prosecutor", "at_risk"): "records at risk",
    ("journalist", "max"): "journalist, highest",
    ("journalist", "mean"): "journalist, average",
    ("marketer", "expected"): "marketer",
    ("attribute-disclosure", "mean"): "attribute disclosure",
}


def risks(risk: dict[str, Any], *, width: int = _WIDTH) -> Spec:
    """Draw the figures of the risk models, before and after where both are given."""
    return _pairs("Risk", risk_rows(risk), list(_RISKS.values()), width=width, unit="probability")


def risk_rows(risk: dict[str, Any]) -> list[dict[str, Any]]:
    """Return the risk models' figures that are shares, before and after where both are given."""
    return [
        {"label": label, "when": when, "value": figures[model][figure]}
        for (model, figure), label in _RISKS.items()
        for when, figures in risk.items()
        if figure in figures.get(model, {})
    ]


def distribution(attribute: dict[str, Any], *, width: int = _WIDTH) -> Spec:
    """Draw the distribution of a quasi-identifier before and after."""
    rows = [
        {"label": each["label"], "when": when, "value": each[when]}
        for each in attribute["bins"]
        for when in (_BEFORE, _AFTER)
    ]
    return _pairs(
        attribute["name"], rows, [each["label"] for each in attribute["bins"]], width=width, unit="records"
    )


def _share_up_to(most: float) -> Spec:
    """Return scale and axis of shares from 0 to a largest one."""
    domain = [0, min(max(most, 0.01), 1)]
    return {"scale": {"domain": domain}, "axis": _LEVEL_AXIS | {"format": "~%"}}


def losses(lost: dict[str, float], *, width: int = _WIDTH) -> Spec:
    """Draw the mean loss of a cell of each quasi-identifier, 0..1."""
    rows = [{"label": _text(name), "value": value, "share": loss_in_words(value)}
            for name, value in lost.items()]  # fmt: skip
    # The figures stand behind the bars, so the axis is a little longer.
    share = _share_up_to(1.25 * max(lost.values(), default=1))
    label = {"limit": _LONGEST_LABEL, "labelLimit": _LONGEST_LABEL, "minExtent": _room(lost)}
    axes = {
        "y": _name("label", sort=None, title=None, axis=label, scale={"paddingInner": 0.25}),
        "x": _number("value", title=None, **share),
    }
    figures = {"type": "text", "align": "left", "dx": 4, "fontSize": _LABEL_SIZE}
    return _themed(
        data={"values": rows},
        layer=[
            {"mark": {"type": "bar", "color": COLOURS[0]}, "encoding": axes},
            {"mark": figures, "encoding": axes | {"text": _name("share")}},
        ],
        width=width,
        autosize=_ONE_WIDTH,
        height={"step": 18},
        title=_title("Loss of a cell, on average"),
    )


def attacks(results: Sequence[dict[str, Any]], *, width: int = _WIDTH) -> Spec:
    """Draw the success of attacks with and without the release, with their 95 % intervals."""
    who = {"main": "with the release", "baseline": "without it", "control": "against others"}
    rows = [
        {"label": each["name"].replace("-", " "), "who": words, **each[rate]}
        for each in results
        for rate, words in who.items()
        if each.get(rate) is not None
    ]
    present = [words for words in who.values() if any(row["who"] == words for row in rows)]
    names = list(dict.fromkeys(row["label"] for row in rows))
    colours = [COLOURS[1], "#999999", COLOURS[0]]
    axes = {
        "y": _name("label", sort=None, title=None, axis={"minExtent": _room(names)}),
        "yOffset": _name("who", sort=present),
        # Below each other: beside the labels there is no room for three names in a row.
        "color": _name(
            "who", scale={"domain": present, "range": colours[: len(present)]}, legend={"columns": 1}
        ),
    }
    low = _number("low", title=None, **_share_up_to(max((row["high"] for row in rows), default=1)))
    return _themed(
        data={"values": rows},
        layer=[
            {"mark": {"type": "rule", "strokeWidth": 2},
             "encoding": axes | {"x": low, "x2": {"field": "high"}}},
            {"mark": {"type": "point", "filled": True, "size": 40, "opacity": 1},
             "encoding": axes | {"x": _number("value", title=None)}},
        ],
        width=width,
        autosize=_ONE_WIDTH,
        height={"step": 12},
        title=_title("Right guesses of attacks, with 95% intervals"),
    )  # fmt: skip


def front(nodes: Sequence[dict[str, Any]], *, width: int = _WIDTH, height: int = 180) -> Spec:
    """Draw the front of loss and mean risk of a lattice, with the chosen node filled."""
    rows = [
        {"score": node["score"], "risk": node["risk"], "node": "chosen" if node["chosen"] else "other"}
        for node in nodes
    ]
    domain = ["chosen", "other"]
    axes = {
        "x": _number("score", title="loss", scale={"zero": False, "padding": 12}, axis={"tickCount": 5}),
        "y": _number("risk", title="mean risk", axis={"format": "~%", **_FIGURES}),
    }
    marks = {
        "color": _name("node", scale={"domain": domain, "range": [COLOURS[1], "#999999"]}),
        "shape": _name("node", scale={"domain": domain, "range": ["diamond", "circle"]}),
    }
    # Up to the next loss, nobody reaches a lower risk than the last recoding has.
    line = {"type": "line", "strokeWidth": 1.2, "color": "#999999", "interpolate": "step-after"}
    point = {"type": "point", "filled": True, "size": 55, "opacity": 1}
    return _themed(
        data={"values": rows},
        layer=[{"mark": line, "encoding": axes}, {"mark": point, "encoding": axes | marks}],
        width=width,
        autosize=_ONE_WIDTH,
        height=height,
        title=_title("Recodings that none beats in both"),
    )


def svg_if_drawn(chart: Any) -> str:
    """Return a picture for a notebook, or nothing without the extra `report`."""
    try:
        return svg_for_pages(chart)
    except MissingExtraError:
        return ""


def svg_for_pages(chart: Any) -> str:
    """Return an SVG for light and dark pages, with ink and lines in the page's text colour.

    Panels beside each other become pictures of their own, which stand below each other on a narrow page.
    """
    require_extra(["vl_convert"], "report", "drawing charts")
    import vl_convert

    document = deepcopy(_spec_of(chart))
    document["background"] = None
    config = document.setdefault("config", {})
    config["background"] = None
    config["view"] = {**config.get("view", {}), "stroke": None}
    for part in ("axis", "legend", "title", "header"):
        config[part] = {**config.get(part, {}), "labelColor": _INK, "titleColor": _INK}
    config["axis"] |= {"gridColor": _INK, "gridOpacity": 0.12, "domainColor": _INK, "tickColor": _INK}
    config["title"]["color"] = _INK
    for mark in ("rule", "text"):
        config[mark] = {"color": _INK, **config.get(mark, {})}
    layout = next((key for key in ("hconcat", "concat") if key in document), None)
    panels = [document]
    if layout is not None:
        common = {key: value for key, value in document.items() if key not in _LAYOUT}
        panels = [common | panel for panel in document[layout]]
    pictures = [
        str(vl_convert.vegalite_to_svg(panel))
        .replace(_INK, "currentColor")
        .replace(f'"{_FONT}"', f'"{_FONTS}"')
        for panel in panels
    ]
    if len(pictures) == 1:
        return pictures[0]
    # Rather than be shrunk by more than a fifth, a picture goes into the next row.
    parts = "".join(
        f'<div style="flex:1 1 {_LEAST_SHARE * _width(picture):.0f}px;min-width:0">{picture}</div>'
        for picture in pictures
    )
    return f'<div style="display:flex;flex-wrap:wrap;gap:1rem">{parts}</div>'


def _width(picture: str) -> float:
    """Return the width of an SVG in pixels."""
    found = re.search(r'<svg[^>]* width="([0-9.]+)"', picture)
    assert found is not None
    return float(found[1])
