"""Pictures of the course."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from incrowd.core.errors import require_extra
from incrowd.core.lazy import pd

__all__ = ["bars", "partitions"]


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
    rows = [
        {"side": side, "name": name, "figure": figure}
        for side, figures in sides.items()
        for name, figure in figures.items()
    ]
    several = max(map(len, sides.values())) > 8
    axis = alt.Axis(format="%") if percent else alt.Axis(tickMinStep=1)
    layers = [
        alt.Chart()
        .mark_bar()
        .encode(
            x=alt.X("name:N", title=None, sort=None, axis=alt.Axis(labelAngle=-90 if several else -40)),
            y=alt.Y("figure:Q", title=title, axis=axis),
            color=alt.Color("side:N", legend=None, sort=None),
        )
    ]
    if line is not None:
        layers.append(alt.Chart().mark_rule(strokeDash=[4, 3]).encode(y=alt.datum(line)))
    picture = alt.layer(*layers, data=alt.Data(values=rows))
    size = picture.properties(width=220 if several else 170, height=150)
    return size.facet(column=alt.Column("side:N", title=None, sort=[*sides])).resolve_scale(x="independent")


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
