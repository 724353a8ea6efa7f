"""The first page of a report, in words: the facts for a board that decides on a release."""

from __future__ import annotations

import datetime as dt
import os
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from incrowd.core.documents import loss_in_words
from incrowd.core.errors import named
from incrowd.core.io.seals import digest_of
from incrowd.release.accounts.people import of_people
from incrowd_gate.wording import at_most, percent

if TYPE_CHECKING:
    from incrowd.core.table.schema import Schema
    from incrowd.release.policy.policy import Policy

_NAMED = 30
"""Columns that a fact names."""
_SUPPRESSED = {
    "judged": "they leave if they satisfy every limit as a class of their own",
    "drop": "none of them leaves",
    "keep": "they leave, and nothing is promised of them",
}
_RECIPIENTS = {"public": "The public", "known": "A known recipient under contract"}

Card = tuple[str, str, str]
"""A figure that counts most: the label, the figure, and a note."""
Fact = tuple[str, str]
"""A term, and what is so called; an empty text is left to fill in by hand."""


def cards_of(after: Any, before: Any = None, loss: Any = None, suppressed: int | None = None) -> list[Card]:
    """Return the most important figures of a table, with the figures before where there is a raw table.

    Parameters
    ----------
    after, before
        Assessments of the table and of the raw one.
    loss
        The loss of a release; None of a table as it stands.
    suppressed
        Suppressed records, those left out included; by default those in the table.
    """
    cards: list[Card] = []

    def was(figure: str) -> str:
        return f"{figure} before" if figure else ""

    risk = after.risk.get("prosecutor")
    if risk:
        raw = "" if before is None else at_most(before.risk["prosecutor"]["max"])
        cards.append(("Largest risk", at_most(risk["max"]), was(raw) or "of being found"))
    raw = "" if before is None else f"{before.smallest:,}"
    cards.append(("Smallest class", f"{after.smallest:,}", was(raw) or "records that look alike"))
    if loss is None:
        cards.append(("Alone in a class", f"{after.unique:,}", f"of {after.records:,} records"))
    else:
        cards.append(("Loss", loss_in_words(loss.value), "of a cell, on average"))
    number = after.suppressed if suppressed is None else suppressed
    cards.append(("Suppressed", f"{number:,}", f"records, {percent(number / max(after.records, 1))}"))
    return cards


def table_facts(after: Any, schema: Schema, columns: Sequence[str], left_out: int = 0) -> list[Fact]:
    """Return the records, people and columns of a table."""
    rows = f"{after.records:,}{of_people(after.people)}"
    roles = {
        "Quasi-identifiers": [name for name in columns if name in after.quasi],
        "Sensitive": [name for name in columns if name in after.sensitive],
        "Other columns": [name for name in columns if name not in (*after.quasi, *after.sensitive)],
    }
    treated = {each.name for each in schema.treated}
    marked = {role: [f"{name} (treated)" if name in treated else name for name in names]
              for role, names in roles.items()}  # fmt: skip
    return [
        ("Records", f"{rows}; {left_out:,} left out" if left_out else rows),
        *((role, ", ".join(names[:_NAMED]) + _more(names)) for role, names in marked.items() if names),
    ]


def _more(names: Sequence[str]) -> str:
    return f" and {len(names) - _NAMED} more" if len(names) > _NAMED else ""


def file_facts(file: str | os.PathLike[str] | None) -> list[Fact]:
    """Return name, date and digest of a written table, or that there is none yet."""
    if file is None:
        return [("Table", "not written to a file when this report was made")]
    place = Path(getattr(file, "temporary", file))
    day = dt.datetime.fromtimestamp(place.stat().st_mtime, dt.UTC)
    return [("Table", Path(file).name), ("Written", f"{day:%Y-%m-%d}"), ("SHA-256", digest_of(place))]


def audience_facts(policy: Policy, after: Any, recipient: str, purpose: str, owner: str) -> list[Fact]:
    """Return owner, recipient and purpose, and the attackers against whom the limits are judged."""
    context, chosen = policy.context, policy.profile
    if not recipient and context is not None:
        recipient = _RECIPIENTS[context.recipient]
        if context.recipient == "known":
            recipient += f"; controls {context.controls}, motives {context.motives}"
    attackers = {
        each.attacker: f"{each.attacker}, who knows {_every(each.knows)}"
        for each in after.results.asked
        if each.attacker is not None
    }
    against = "; ".join(attackers.values()) or f"Whoever knows {_every(after.quasi)}, and nothing else"
    return [
        ("Data set and owner", owner),
        ("For whom", recipient),
        ("Why", purpose),
        ("Against whom", against),
        *([] if chosen is None else [("Rules", chosen.profile.full_name)]),
        *([] if context is None else [("Class size needed", context.arithmetic())]),
    ]


def _every(columns: Sequence[str]) -> str:
    """Name all columns: whoever signs has to see against whom the release protects."""
    *first, last = columns
    return f"{', '.join(first)} and {last}" if first else last


def left_out(dropped: Sequence[str], treated: Mapping[str, str]) -> list[str]:
    """Return sentences on the columns that do not leave, by name, and on columns that leave otherwise."""
    lines = [f"Columns: {named(dropped, _NAMED)}."] if dropped else []
    return lines + [f"{name}: {does}" for name, does in treated.items()]


def decision_facts(policy: Policy, suppressed: float) -> list[Fact]:
    """Return the decisions behind a release: the search, suppression, order, and attested clauses."""
    attested = () if policy.profile is None else policy.profile.attested.values()
    return [
        ("Search", str(policy.algorithm)),
        (
            "Suppressed records",
            f"at most {percent(policy.max_suppression)} allowed, {percent(suppressed)} are; "
            + _SUPPRESSED[policy.suppressed],
        )
        if policy.max_suppression
        else ("Suppressed records", "none allowed"),
        ("Order of the rows", "as they came" if policy.keep_order else "random"),
        *((f"Clause {each.clause}", f"{each.says} ({each.by}, {each.on})") for each in attested),
    ]
