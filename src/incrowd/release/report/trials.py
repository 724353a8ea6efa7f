"""The settings that `tune` tried: a picture of risk against the analysis, and a table."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

from incrowd.core.documents import loss_in_words
from incrowd.release.report.details import Table, number
from incrowd.release.report.vega import (
    COLOURS,
    FIGURES,
    Spec,
    category,
    complete,
    quantity,
    safe_text,
    title_of,
)

_STATES = {
    "chosen": ("diamond", COLOURS[1]),
    "holds": ("circle", COLOURS[0]),
    "refused": ("cross", "#999999"),
}
"""The shape and the colour of a setting by what became of it."""
_TITLE = "Settings that were tried to keep the analysis"


@dataclass(frozen=True)
class Trial:
    """One setting, tried on some records.

    Attributes
    ----------
    setting
        The setting in words.
    records
        The records that it was tried on: a sample, or all.
    kept
        What is kept of the analysis, 0 to 1; None where there is no release.
    loss, suppressed
        The loss LM, and the share of suppressed records.
    risk, average_risk
        The highest and the average risk of a prosecutor.
    problem
        Why the setting is not chosen whatever it keeps: a broken limit, or an open point.
    chosen
        Whether it was chosen.
    """

    setting: str
    records: int
    kept: float | None = None
    loss: float | None = None
    suppressed: float | None = None
    risk: float | None = None
    average_risk: float | None = None
    problem: str | None = None
    chosen: bool = False

    @property
    def state(self) -> str:
        """The outcome of the setting: chosen, holds or refused."""
        return "chosen" if self.chosen else "holds" if self.problem is None else "refused"


def entries_of(trials: Sequence[Trial]) -> list[dict[str, Any]]:
    """Return the trials on all records as plain data for a report, without any message about the table."""
    most = max((trial.records for trial in trials), default=0)
    return [
        {"state": trial.state, **{name: value for name, value in vars(trial).items() if name in _SHOWN}}
        for trial in trials
        if trial.records == most
    ]


_SHOWN = ("setting", "kept", "loss", "suppressed", "risk", "average_risk")


def chart(trials: Sequence[Mapping[str, Any]], *, width: int = 360, height: int = 220) -> Spec:
    """Draw the average risk of each setting against the share of the analysis that the setting keeps.

    The highest risk says less: where k is the limit, most settings just reach it.

    Parameters
    ----------
    trials
        As `entries_of` gives them; those without a release are left out.
    width, height
        In pixels.
    """
    rows = [
        {**each, "setting": safe_text(each["setting"])}
        for each in trials
        if each["kept"] is not None and each["average_risk"] is not None
    ]
    # The chosen one is drawn last, above settings that come out the same.
    rows.sort(key=lambda each: list(_STATES).index(each["state"]), reverse=True)
    states = [state for state in _STATES if any(each["state"] == state for each in rows)]
    marks = [
        {"scale": {"domain": states, "range": [_STATES[state][place] for state in states]}}
        for place in (0, 1)
    ]
    share = {"scale": {"zero": False, "padding": 12}}
    return complete(
        data={"values": rows},
        mark={"type": "point", "filled": True, "size": 55, "opacity": 0.85},
        encoding={
            "x": quantity(
                "average_risk",
                title="average risk of finding a person",
                axis={"format": "~%", "tickCount": 5},
                **share,
            ),
            "y": quantity("kept", title="kept of the analysis", axis={"format": "~%", **FIGURES}, **share),
            "shape": category("state", **marks[0]),
            "color": category("state", **marks[1]),
            "tooltip": [category("setting"), quantity("kept"), quantity("suppressed")],
        },
        width=width,
        height=height,
        title=title_of(_TITLE),
    )


def table_of(trials: Sequence[Mapping[str, Any]]) -> Table:
    """Return a row for each setting: the share that is kept, the loss, the risk and the outcome."""
    shares = ("kept", "loss", "suppressed", "risk", "average_risk")
    rows = [[each["setting"], *(_share(each[name]) for name in shares), each["state"]] for each in trials]
    return Table(
        _TITLE, ["setting", "kept", "loss", "suppressed", "highest risk", "average risk", "result"], rows
    )


def blocks_of(document: Mapping[str, Any]) -> list[dict[str, Any]]:
    """Return the picture and the table of a report about a release that was tuned; else nothing."""
    trials = document.get("trials") or ()
    if not trials:
        return []
    there = sum(each["average_risk"] is not None and each["kept"] is not None for each in trials)
    words = f"Each point is a setting; {len(trials) - there:,} of {len(trials):,} gave no release"
    pictures = [(words, partial(chart, trials))] if there else []
    return [
        *({"kind": "pictures", "title": _TITLE, "pictures": pictures, "wide": False} for _ in pictures),
        {"kind": "table", "folded": True, **table_of(trials)._asdict()},
    ]


def _share(value: float | None) -> str:
    """Write a share for a cell of the table."""
    return number(None) if value is None else loss_in_words(value)
