"""Charts of the classes of a local recoding, over two columns of numbers."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, NamedTuple, Protocol

from incrowd.core.errors import ParameterError
from incrowd.core.lazy import NDArray, np
from incrowd.release.report.vega import (
    COLOURS,
    FIGURES,
    INK,
    Spec,
    complete,
    for_notebooks,
    quantity,
    safe_text,
    title_of,
)

if TYPE_CHECKING:
    from incrowd.core.recoding import Recoding
    from incrowd.core.table.frequency import FrequencyTable

_MOST_POINTS = 5_000
_DAY = 86_400_000.0
"""Milliseconds of a day, in which Vega counts time."""


class Recoded(Protocol):
    """A recoded table, such as a `Release`."""

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
        title = safe_text(self.name.replace("_", " "))
        if self.dates:
            return {
                "type": "temporal",
                "title": title,
                "scale": scale | {"type": "utc"},
                "axis": {"format": "%Y-%m", "tickCount": 4},
            }
        room = {} if self.flat else FIGURES
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
    """Return the rectangle of each class, as wide as the class's records, with the number of records."""
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
    """Return layers of rectangles, and of lines for classes with a single value in a column, without area."""
    encoding = channels | {"x2": {"field": "x2"}, "y2": {"field": "y2"}} | colour
    area = {"type": "rect", "opacity": 0.85, "stroke": INK, "strokeWidth": 0.6}
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
        "color": quantity(
            "records",
            title="records",
            scale={"scheme": "yellowgreenblue", "type": "log"},
            legend={"title": "records", "columns": 8},
        )
    }
    layers = _drawn_boxes(channels, colour)
    return for_notebooks(complete(data={"values": rows}, layer=layers, width=width, height=height))


def crowds(release: Recoded, x: str, y: str, *, width: int = 260, height: int = 250) -> Any:
    """Draw the same people before and after a local recoding as an Altair chart: points, then boxes.

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
    one = {"condition": {"test": "datum.one", "value": COLOURS[1]}, "value": INK}

    def dots(opacity: float, highlighted: bool) -> Spec:
        big = {"condition": {"test": "datum.one", "value": 110}, "value": 9} if highlighted else {"value": 9}
        return {
            "data": {"values": points},
            "mark": {"type": "circle", "opacity": 1},
            "encoding": channels
            | {
                "size": big,
                "color": one if highlighted else {"value": INK},
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
        return {
            "layer": layers,
            "width": width,
            "height": height,
            "title": title_of(title, 13, frame="group"),
        }

    return for_notebooks(
        complete(
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
