"""Charts of a report's document in Vega-Lite, beside those of classes and of compared runs."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Sequence
from typing import Any, TypeAlias

from incrowd.core.documents import loss_in_words
from incrowd.release.report.plane_charts import boundaries, crowds
from incrowd.release.report.run_charts import Measure, against, measures, panels
from incrowd.release.report.vega import (
    COLOURS,
    FIGURES,
    LABEL_SIZE,
    Spec,
    category,
    complete,
    for_notebooks,
    quantity,
    safe_text,
    save,
    svg_for_pages,
    svg_if_drawn,
    title_of,
)
from incrowd_gate.wording import at_most

__all__ = [
    "COLOURS",
    "PARTS",
    "Measure",
    "Picture",
    "Spec",
    "against",
    "attacks",
    "boundaries",
    "class_sizes",
    "coverage",
    "crowds",
    "distribution",
    "for_notebooks",
    "front",
    "losses",
    "measures",
    "panels",
    "risk_rows",
    "risk_scale",
    "risks",
    "save",
    "size_rows",
    "svg_for_pages",
    "svg_if_drawn",
]  # fmt: skip

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
_LEVEL_AXIS = {"tickCount": 3, "labelExpr": FIGURES["labelExpr"]}
"""Settings of a horizontal axis of figures: few enough that their labels stand apart in any font."""


PARTS = ("one value", "up to 5%", "up to 25%", "up to half", "more than half", "every value")
"""The parts of a column that a cell may stand for, in words."""
_DEPTHS = ("#0072B2", "#56B4E9", "#a9d7ef", "#e5e5e5", "#b5b5b5", "#666666")
"""Colours of the parts of a column: blue where a cell says much, grey where it says little."""

Picture: TypeAlias = tuple[str, Callable[[], Spec]]
"""A picture of a report: its text for those who do not see it, and what draws it."""


def _room(labels: Iterable[str]) -> int:
    """Return the pixels for the labels of an axis in any font of a reader."""
    lines = [len(line) for label in labels for line in label.split("\n")]
    longest = max(lines, default=0) * LABEL_SIZE * _WIDEST
    return math.ceil(min(longest, _LONGEST_LABEL * _WIDER)) + 8


_BEFORE, _AFTER = "before", "after"
_MANY = 8
"""Labels of a picture from which its bars are thinner."""
_ONE_WIDTH = {"type": "fit-x", "contains": "padding"}
"""Sizing by total width, so that pages scale the texts of all pictures alike."""


def _wrapped(text: str) -> str:
    """Return a text of a table with line breaks between words in place of blanks, none within a word."""
    lines = [""]
    for word in safe_text(text).split(" "):
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
    one_line = not any("\n" in label for label in labels)
    alone = 14 if one_line else 26
    beside = 8 if one_line and len(names) >= _MANY else 12
    return complete(
        data={"values": [{**row, "label": _wrapped(row["label"])} for row in rows]},
        mark={"type": "bar"},
        encoding={
            "y": category(
                "label",
                sort=labels,
                title=None,
                axis={
                    "labelLimit": _LONGEST_LABEL,
                    "minExtent": _room(labels),
                    "labelExpr": _TWO_LINES,
                    "labelLineHeight": LABEL_SIZE + 1,
                },
            ),
            "yOffset": category("when", sort=present),
            "x": quantity("value", title=unit, axis=figures),
            "color": category(
                "when", scale={"domain": present, "range": [colours[name] for name in present]}
            ),
        },
        width=width,
        autosize=_ONE_WIDTH,
        height={"step": beside if len(present) > 1 else alone},
        title=title_of(safe_text(title), limit=width),
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
    """Return scale and axis of shares from 0 to a largest share."""
    domain = [0, min(max(most, 0.01), 1)]
    return {"scale": {"domain": domain}, "axis": _LEVEL_AXIS | {"format": "~%"}}


def losses(lost: dict[str, float], *, width: int = _WIDTH) -> Spec:
    """Draw the mean loss of a cell of each quasi-identifier, 0..1."""
    rows = [{"label": safe_text(name), "value": value, "share": loss_in_words(value)}
            for name, value in lost.items()]  # fmt: skip
    # The figures stand behind the bars, so the axis is a little longer.
    share = _share_up_to(1.25 * max(lost.values(), default=1))
    label = {"limit": _LONGEST_LABEL, "labelLimit": _LONGEST_LABEL, "minExtent": _room(lost)}
    axes = {
        "y": category("label", sort=None, title=None, axis=label, scale={"paddingInner": 0.25}),
        "x": quantity("value", title=None, **share),
    }
    figures = {"type": "text", "align": "left", "dx": 4, "fontSize": LABEL_SIZE}
    return complete(
        data={"values": rows},
        layer=[
            {"mark": {"type": "bar", "color": COLOURS[0]}, "encoding": axes},
            {"mark": figures, "encoding": axes | {"text": category("share")}},
        ],
        width=width,
        autosize=_ONE_WIDTH,
        height={"step": 18},
        title=title_of("Loss of a cell, on average"),
    )


def attacks(results: Sequence[dict[str, Any]], *, width: int = _WIDTH) -> Spec:
    """Draw the success of attacks with and without the release, with 95 % intervals."""
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
        "y": category("label", sort=None, title=None, axis={"minExtent": _room(names)}),
        "yOffset": category("who", sort=present),
        # Below each other: beside the labels there is no room for three names in a row.
        "color": category(
            "who", scale={"domain": present, "range": colours[: len(present)]}, legend={"columns": 1}
        ),
    }
    low = quantity("low", title=None, **_share_up_to(max((row["high"] for row in rows), default=1)))
    return complete(
        data={"values": rows},
        layer=[
            {"mark": {"type": "rule", "strokeWidth": 2},
             "encoding": axes | {"x": low, "x2": {"field": "high"}}},
            {"mark": {"type": "point", "filled": True, "size": 40, "opacity": 1},
             "encoding": axes | {"x": quantity("value", title=None)}},
        ],
        width=width,
        autosize=_ONE_WIDTH,
        height={"step": 12},
        title=title_of("Right guesses of attacks, with 95% intervals"),
    )  # fmt: skip


def risk_scale(before: float | None, after: float, limit: float | None) -> Spec:
    """Draw the largest risk on a scale from 0 to 1, before and after, with the limit as a line."""
    rows = [{"when": _AFTER, "risk": after, "figure": at_most(after)}]
    if before is not None:
        rows.insert(0, {"when": _BEFORE, "risk": before, "figure": at_most(before)})
    share = {"scale": {"domain": [0, 1.1]}, "axis": {"format": "~%", "values": [0, 0.25, 0.5, 0.75, 1]}}
    axes = {"y": category("when", sort=None, title=None), "x": quantity("risk", title=None, **share)}
    colour = category(
        "when", legend=None, scale={"domain": [_BEFORE, _AFTER], "range": ["#999999", COLOURS[0]]}
    )
    figure = {"type": "text", "align": "left", "dx": 4, "fontSize": LABEL_SIZE}
    line = {"type": "rule", "color": COLOURS[1], "strokeWidth": 2, "aria": False}
    most = "" if limit is None else f" (line: the limit, {at_most(limit)})"
    return complete(
        data={"values": rows},
        layer=[
            {"mark": "bar", "encoding": axes | {"color": colour}},
            {"mark": figure, "encoding": axes | {"text": category("figure")}},
            *([] if limit is None else [{"mark": line, "encoding": {"x": {"datum": limit}}}]),
        ],
        width=_WIDTH, autosize=_ONE_WIDTH, height={"step": 18},
        title=title_of(f"Largest risk of being found{most}"),
    )  # fmt: skip


def coverage(attributes: Sequence[dict[str, Any]], *, width: int = _WIDTH) -> Spec:
    """Draw for each quasi-identifier the shares of the records by the part of the column a cell covers."""
    names = [safe_text(each["name"]) for each in attributes]
    rows = [
        {
            "column": name,
            "covers": part["label"],
            "records": part["after"],
            "order": PARTS.index(part["label"]),
        }
        for name, each in zip(names, attributes, strict=True)
        for part in each["covers"]
    ]
    label = {"labelLimit": _LONGEST_LABEL, "minExtent": _room(names)}
    return complete(
        data={"values": rows},
        mark="bar",
        encoding={
            "y": category("column", sort=None, title=None, axis=label, scale={"paddingInner": 0.25}),
            "x": quantity("records", stack="normalize", title=None, axis=_LEVEL_AXIS | {"format": "~%"}),
            "order": quantity("order"),
            "color": category(
                "covers",
                scale={"domain": list(PARTS), "range": list(_DEPTHS)},
                legend={"columns": 2, "columnPadding": 8},
            ),
        },
        width=width,
        autosize=_ONE_WIDTH,
        height={"step": 20},
        title=title_of("Part of its column that a cell stands for"),
    )


def front(nodes: Sequence[dict[str, Any]], *, width: int = _WIDTH, height: int = 180) -> Spec:
    """Draw the front of loss and mean risk of a lattice, with the chosen node filled."""
    rows = [
        {"score": node["score"], "risk": node["risk"], "node": "chosen" if node["chosen"] else "other"}
        for node in nodes
    ]
    domain = ["chosen", "other"]
    axes = {
        "x": quantity("score", title="loss", scale={"zero": False, "padding": 12}, axis={"tickCount": 5}),
        "y": quantity("risk", title="mean risk", axis={"format": "~%", **FIGURES}),
    }
    marks = {
        "color": category("node", scale={"domain": domain, "range": [COLOURS[1], "#999999"]}),
        "shape": category("node", scale={"domain": domain, "range": ["diamond", "circle"]}),
    }
    # Up to the next loss, nobody reaches a lower risk than the last recoding has.
    line = {"type": "line", "strokeWidth": 1.2, "color": "#999999", "interpolate": "step-after"}
    point = {"type": "point", "filled": True, "size": 55, "opacity": 1}
    return complete(
        data={"values": rows},
        layer=[{"mark": line, "encoding": axes}, {"mark": point, "encoding": axes | marks}],
        width=width,
        autosize=_ONE_WIDTH,
        height=height,
        title=title_of("Recodings that none beats in both"),
    )
