"""The known figures of a window's table and of the recoding."""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

from incrowd.core.documents import loss_in_words
from incrowd.core.table.schema import OPEN_ROLE
from incrowd.faces.studio.sets import largest_risk
from incrowd.faces.studio.work import RISK, Work
from incrowd.release.report.details import risk_limit
from incrowd_gate.wording import at_most, who_knows


class Figures(NamedTuple):
    """The largest risk before and after, the limit, the loss, and the suppressed records: shares, 0..1.

    `knows` says who finds somebody, and `sample` the rows that were measured where those are not all.
    """

    knows: str
    before: float | None
    after: float | None
    limit: float | None
    loss: float | None
    suppressed: int | None
    records: int
    sample: int | None

    def told(self) -> str:
        """Say the largest risk in a sentence."""
        if self.before is None and self.after is None:
            return f"Largest risk for {self.knows}: not measured yet"
        now = "" if self.after is None else f"{at_most(self.after)} after"
        then = "" if self.before is None else f"{at_most(self.before)} before"
        of = "" if self.sample is None else f" (estimate, by {self.sample:,} random rows)"
        return f"Largest risk for {self.knows}: {', '.join(part for part in (then, now) if part)}{of}"

    def tiles(self) -> Iterator[tuple[str, str, str]]:
        """Return the name, the figure and the mark of each tile that stays in sight."""
        if self.loss is not None:
            yield "Loss", loss_in_words(self.loss), "status-loss"
        if self.suppressed is not None:
            yield "Suppressed", f"{self.suppressed:,} of {self.records:,}", "status-suppressed"


def has_roles(work: Work) -> bool:
    """Return whether every column has a role, with at least a quasi-identifier."""
    return (
        work.choices is not None and not work.choices.having(OPEN_ROLE) and bool(work.choices.having("quasi"))
    )


def mark(work: Work) -> tuple[str, str] | None:
    """Return the state of the verdict of a window's release, and the verdict in a few words."""
    release = work.release if work.linked is None else work.linked.release
    return None if release is None else (release.verdict.state, release.verdict.brief)


def figures(work: Work) -> Figures:
    """Return the known figures of the risk and the loss of a window's table."""
    columns, sets = work.chosen.columns, work.sets
    quasi = [
        f"{columns[name].get('known')} items of {name}" if name in sets else name
        for name in work.chosen.having("quasi")
    ]
    given = ((each["model"], name, each.get(name)) for each in work.chosen.models for name in ("k", "risk"))
    limit = risk_limit((model, name, limit) for model, name, limit in given if limit)
    knows = who_knows(quasi) if quasi else "who knows some columns"
    before, after, loss, counts = work.risk_before, work.privacy, work.loss, work.suppressed
    if after is None or loss is None or counts is None:
        return Figures(knows, before, None, limit, None, None, work.height, None)
    suppressed, records = counts
    return Figures(
        knows,
        before,
        largest_risk(after, RISK),
        limit,
        float(loss.value),
        suppressed,
        records,
        records if work.sampled else None,
    )
