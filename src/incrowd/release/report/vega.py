"""Parts of Vega-Lite charts: the common style, and the files, notebooks and pages that show charts."""

from __future__ import annotations

import json
import os
import re
from copy import deepcopy
from typing import Any, TypeAlias

from incrowd.core.errors import MissingExtraError, ParameterError, require_extra, visible
from incrowd.core.io.addresses import file_path

Spec: TypeAlias = dict[str, Any]
"""A Vega-Lite chart, or a part of a chart."""

# Okabe and Ito: told apart by most people with impaired colour vision, and in grey by their order.
COLOURS = ("#0072B2", "#D55E00", "#009E73", "#CC79A7", "#56B4E9", "#E69F00", "#000000", "#999999")
INK = "#010203"
"""Colour of points and lines on white paper, in place of which a page has its own colour of text."""
_LEAST_SHARE = 0.8
"""The share of its width that a panel on a page has at least, unless the page is narrower."""
_LAYOUT = {"hconcat", "concat", "columns", "spacing", "resolve"}
"""The parts of a chart that say how its panels stand beside each other."""
_FONT = "Liberation Sans"
"""Font for measuring texts, bundled with `vl_convert`."""
_FONTS = f"{_FONT}, Arial, Arimo, Helvetica, sans-serif"
"""The fonts that a page asks for: the first four have the same widths, the last is the reader's own."""
LABEL_SIZE = 10
FIGURES = {"minExtent": 34, "titlePadding": 6, "labelExpr": "datum.value == 0 ? '0' : datum.label"}
"""Settings of an axis of figures: room for labels in any font, and 0 in place of 0k."""


_CONFIG: Spec = {
    "font": _FONT,
    "background": "white",
    "padding": {"left": 5, "right": 16, "top": 5, "bottom": 9},
    "axis": {
        "labelFontSize": LABEL_SIZE, "titleFontSize": 11, "titleFontWeight": "normal",
        "grid": True, "gridColor": "#e6e6e6", "domainColor": "#888888", "tickColor": "#888888",
    },
    "view": {"stroke": None},
    "legend": {
        "orient": "top", "title": None, "labelFontSize": 10, "symbolSize": 60, "columns": 5,
        "symbolOpacity": 1, "offset": 6,
    },
}  # fmt: skip


def complete(**parts: Any) -> Spec:
    """Return a complete chart in the common style."""
    return {"$schema": "https://vega.github.io/schema/vega-lite/v6.json", "config": _CONFIG, **parts}


def quantity(field: str, **settings: Any) -> Spec:
    """Return an axis or another channel of numbers."""
    return {"field": field, "type": "quantitative", **settings}


def category(field: str, **settings: Any) -> Spec:
    """Return an axis or another channel of names."""
    return {"field": field, "type": "nominal", **settings}


def title_of(text: str, size: int = 11, **settings: Any) -> Spec:
    """Return a bold title at the left."""
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


_OF_EVERY_OBJECT = {
    "constructor", "hasOwnProperty", "isPrototypeOf", "propertyIsEnumerable", "toLocaleString", "toString",
    "valueOf", "__defineGetter__", "__defineSetter__", "__lookupGetter__", "__lookupSetter__", "__proto__",
}  # fmt: skip
"""Texts that Vega, which looks texts up as the names of an object, would find."""


def safe_text(text: str) -> str:
    """Return a text of a table in a form that Vega shows and never resolves as an object's member."""
    return f"{text} " if text in _OF_EVERY_OBJECT else visible(text)


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
        config[part] = {**config.get(part, {}), "labelColor": INK, "titleColor": INK}
    config["axis"] |= {"gridColor": INK, "gridOpacity": 0.12, "domainColor": INK, "tickColor": INK}
    config["title"]["color"] = INK
    for mark in ("rule", "text"):
        config[mark] = {"color": INK, **config.get(mark, {})}
    layout = next((key for key in ("hconcat", "concat") if key in document), None)
    panels = [document]
    if layout is not None:
        common = {key: value for key, value in document.items() if key not in _LAYOUT}
        panels = [common | panel for panel in document[layout]]
    pictures = [
        str(vl_convert.vegalite_to_svg(panel))
        .replace(INK, "currentColor")
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
