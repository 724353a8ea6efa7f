"""Pictures that several pages draw of their own figures."""

from __future__ import annotations

from collections.abc import Mapping

import altair as alt

__all__ = ["bars"]


def bars(
    sides: Mapping[str, Mapping[str, float]],
    title: str,
    *,
    percent: bool = True,
    line: float | None = None,
) -> alt.FacetChart:
    """Draw figures side by side, such as before and after, on one scale.

    Parameters
    ----------
    sides
        The figures of each side by name.
    title
        What the figures are.
    percent
        Whether they are shares.
    line
        A limit to be drawn across the bars.
    """
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
