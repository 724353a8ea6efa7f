"""The figures that stay in sight at the foot of the page, as far as they are known."""

from __future__ import annotations

from typing import TYPE_CHECKING

from incrowd.core.lazy import pl
from incrowd.core.table.schema import OPEN_ROLE
from incrowd_verify.gate.wording import at_most, percent

if TYPE_CHECKING:
    from incrowd.faces.studio.work import Work

_RISK = "prosecutor"
_AGAINST = "by quasi-identifiers alone"
"""Whose risk that is."""
_MEASURED = 200_000
"""Rows of a table in memory whose risk is measured after each change."""


def has_roles(work: Work) -> bool:
    """Return whether every column has a role, and one at least is a quasi-identifier."""
    return (
        work.choices is not None and not work.choices.having(OPEN_ROLE) and bool(work.choices.having("quasi"))
    )


def is_measurable(work: Work) -> bool:
    """Return whether the risk of the table can be measured while somebody looks on, and is not known yet."""
    is_measured = work.release is not None or work.assessment is not None
    in_memory = isinstance(work.table, pl.DataFrame) and work.height <= _MEASURED
    return not is_measured and in_memory and has_roles(work)


def mark(work: Work) -> tuple[str, str] | None:
    """Return the state of the verdict of a window's release, and the verdict in a few words."""
    return None if work.release is None else (work.release.verdict.state, work.release.verdict.brief)


def figures(work: Work) -> list[str]:
    """Describe the table of a window, its open questions, its risk and its loss, each in a few words.

    Example: ``["2,000 records", "no open question", "largest risk 100% now (by quasi-identifiers alone)"]``.
    """
    if work.choices is None:
        return []
    open_questions = len(work.choices.having(OPEN_ROLE))
    parts = [
        f"{work.height:,} records",
        f"{open_questions} open question{'' if open_questions == 1 else 's'}"
        if open_questions
        else "no open question",
    ]
    if work.release is not None:
        risk = work.account["risk"]["after"].get(_RISK, {}).get("max")
        lost = next(each["value"] for each in work.account["loss"] if each["metric"] == "loss")
        parts += [] if risk is None else [f"largest risk {at_most(risk)} after ({_AGAINST})"]
        parts.append(f"loss {percent(lost)}")
    elif work.assessment is not None:
        parts.append(f"largest risk {at_most(work.assessment.risk[_RISK]['max'])} now ({_AGAINST})")
    return parts
