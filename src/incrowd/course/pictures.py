"""Pictures of the course."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import cycle
from typing import Any

from incrowd.core.errors import require_extra
from incrowd.core.lazy import pd
from incrowd.release.report.charts import COLOURS

__all__ = ["bars", "partitions"]

_FEW = 8
_WIDEST_NAME = 180
"""Pixels at which the name of a bar is cut."""


def _altair() -> Any:
    require_extra(["altair", "vl_convert"], "course", "drawing pictures")
    import altair

    # As SVG they are shown without a network.
    altair.renderers.enable("svg")
    return altair


def bars(
    sides: Mapping[str, Mapping[str, float]], title: str, *, percent: bool = True, line: float | None = None
) -> Any:
    """Draw figures side by side on a common scale, such as before and after.

    Parameters
    ----------
    sides
        The figures of each side by name.
    title
        The name of the scale.
    percent
        Whether the figures are shares.
    line
        A limit to be drawn across the bars.
    """
    alt = _altair()
    figures = [figure for each in sides.values() for figure in each.values()]
    ends = [min(0, *figures, line or 0), max(0, *figures, line or 0)]
    marks: dict[str, Any] = {"format": "%"} if percent else {}
    if not percent and all(figure == int(figure) for figure in figures) and ends[0] >= 0 and ends[1] <= _FEW:
        marks = {"values": [*range(int(ends[1]) + 1)], "format": "d"}
    ticks = alt.Axis(tickCount=4, labelFlush=False, labelOverlap="greedy", labelSeparation=6, **marks)
    longest = max(len(str(name)) for each in sides.values() for name in each)
    # Names stand beside their bars, since below them they would be turned. A sign takes at most 7 pixels.
    names = alt.Axis(labelLimit=_WIDEST_NAME, minExtent=min(7 * longest + 8, _WIDEST_NAME))
    step = alt.Step(13 if max(map(len, sides.values())) > _FEW else 20)
    pictures = []
    for (side, each), colour in zip(sides.items(), cycle(COLOURS)):
        rows = [{"name": name, "figure": figure} for name, figure in each.items()]
        across = alt.X("figure:Q", title=title, axis=ticks, scale=alt.Scale(domain=ends))
        layers = [
            alt.Chart()
            .mark_bar(color=colour)
            .encode(y=alt.Y("name:N", title=None, sort=None, axis=names), x=across)
        ]
        if line is not None:
            # One line and one text in place of one for each bar.
            once = alt.Chart().transform_aggregate(bars="count()")
            limit = alt.value(f"limit {line:.0%}" if percent else f"limit {line:g}")
            words = once.mark_text(baseline="bottom", dy=-3, fontSize=11)
            layers += [
                once.mark_rule(strokeDash=[4, 3]).encode(x=alt.datum(line)),
                words.encode(x=alt.datum(line), y=alt.value(0), text=limit),
            ]
        named = alt.TitleParams(
            side, fontSize=12, anchor="start", frame="group", offset=6 if line is None else 20
        )
        picture = alt.layer(*layers, data=alt.Data(values=rows))
        pictures.append(picture.properties(width=150, height=step, title=named))
    return alt.hconcat(*pictures)


def partitions(rounds: Sequence[Sequence[pd.DataFrame]], x: str, y: str) -> Any:
    """Draw the parts of a table after each round of cuts: a point for each row, a rectangle for each part."""
    alt = _altair()
    axes = [alt.Scale(zero=False, nice=False, padding=6)] * 2
    pictures = []
    for parts in rounds:
        points = [{"x": a, "y": b} for part in parts for a, b in part[[x, y]].to_numpy().tolist()]
        ends = [[*part[[x, y]].min().tolist(), *part[[x, y]].max().tolist()] for part in parts]
        boxes = [dict(zip(("x", "y", "x2", "y2"), map(float, corners), strict=True)) for corners in ends]
        channels = {"x": alt.X("x:Q", title=x, scale=axes[0]), "y": alt.Y("y:Q", title=y, scale=axes[1])}
        dots = alt.Chart(alt.Data(values=points)).mark_circle(size=7, color="#555555").encode(**channels)
        box = alt.Chart(alt.Data(values=boxes)).mark_rect(
            fill="#56B4E9", fillOpacity=0.25, stroke="#0072B2", strokeWidth=1
        )
        layers = alt.layer(box.encode(**channels, x2="x2:Q", y2="y2:Q"), dots)
        pictures.append(layers.properties(width=210, height=150, title=f"parts: {len(parts)}"))
    return alt.concat(*pictures, columns=3)
