"""Results of attacks, read again from the JSON of ``incrowd attack --json``."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from incrowd.attacks.base import Attack, Rate
from incrowd.attacks.kinds import ATTACKS
from incrowd.core.documents import envelope
from incrowd.core.errors import ParameterError, TableError

_SAVING = "save what `incrowd attack` prints as JSON"


def read_attacks(path: Path) -> list[Attack]:
    """Return the attacks that a file describes.

    Raises
    ------
    TableError
        When the file cannot be read.
    ParameterError
        When it is another document, or an entry is incomplete or has impossible rates.
    """
    try:
        document = json.loads(path.read_text(encoding="utf-8"))
    except OSError as error:
        raise TableError(f"{path}: cannot be read ({error.strerror})") from None
    except (ValueError, RecursionError):
        raise ParameterError(f"{path}: is no JSON; {_SAVING}") from None
    head = envelope("attack")
    if not isinstance(document, dict) or any(document.get(key) != value for key, value in head.items()):
        raise ParameterError(f"{path}: has no results of attacks; {_SAVING}")
    entries = document.get("attacks")
    if not isinstance(entries, list) or not entries:
        raise ParameterError(f"{path}: has no attack; {_SAVING}")
    attacks = []
    for place, entry in enumerate(entries, 1):
        try:
            attacks.append(_attack(entry))
        except (KeyError, TypeError, ValueError):
            raise ParameterError(
                f"{path}: attack {place} is incomplete or has impossible figures; {_SAVING} again"
            ) from None
    return attacks


def _attack(entry: Mapping[str, Any]) -> Attack:
    """Return an attack; `KeyError`, `TypeError` or `ValueError` if the entry describes none."""
    name, guesses = entry["name"], entry["attacks"]
    if name not in ATTACKS or type(guesses) is not int or guesses < 0:
        raise ValueError("no attack")
    beyond = {rate: None if entry[rate] is None else _rate(entry[rate]) for rate in ("control", "risk")}
    return Attack(
        name,
        guesses,
        _rate(entry["main"]),
        _rate(entry["baseline"]),
        **beyond,
        figures=dict(entry["figures"]),
        columns=dict(entry["columns"]),
        remarks=tuple(entry["remarks"]),
    )


def _rate(entry: Mapping[str, Any]) -> Rate:
    rate = Rate(**entry)
    if not 0 <= rate.low <= rate.value <= rate.high <= 1:
        raise ValueError("no shares")
    return rate
