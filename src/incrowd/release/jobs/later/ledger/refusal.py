"""The words in which a ledger refuses a release."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from incrowd.core.errors import quoted
from incrowd_gate.points import Point
from incrowd_gate.verdict import Verdict


def refuse(text: str, way_out: str) -> None:
    """Raise for a release that breaks a promise together with earlier releases.

    Raises
    ------
    VerdictError
    """
    Verdict((Point("ledger", (), None, text, way_out),)).refuse()


def entry_name(entry: Mapping[str, Any]) -> str:
    """Return the name of an entry in a sentence, with number, date and recipient."""
    return f"release {entry['number']} of the ledger ({entry['date'][:10]}, {quoted(entry['recipient'])})"
