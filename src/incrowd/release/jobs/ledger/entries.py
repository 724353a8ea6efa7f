"""The checks of the fields of an entry, because a forged line may still fit the chain."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from datetime import datetime
from pathlib import Path
from typing import Any

from incrowd.core.errors import TableError

FILE_NAME = re.compile(r"[0-9a-f]{16}\.parquet")
_LARGEST = 2**63


def _count(value: Any) -> bool:
    return type(value) is int and 0 <= value < _LARGEST


def _number(value: Any) -> bool:
    return type(value) in (int, float) and 0 <= value < _LARGEST


def _text(value: Any) -> bool:
    # Half of a pair of surrogates is no text that can be shown.
    return isinstance(value, str) and value.encode("utf-8", "ignore").decode() == value


def _digest(value: Any) -> bool:
    return isinstance(value, str) and re.fullmatch("[0-9a-f]{64}", value) is not None


def is_column_digest(value: Any) -> bool:
    """Say whether a value is a name that `people.column_digest` returns."""
    return isinstance(value, str) and re.fullmatch("[0-9a-f]{32}", value) is not None


def _date(value: Any) -> bool:
    try:
        return datetime.fromisoformat(value) is not None
    except (TypeError, ValueError):
        return False


def _file(value: Any) -> bool:
    has_name = isinstance(value, dict) and isinstance(value.get("name"), str)
    return has_name and FILE_NAME.fullmatch(value["name"]) is not None and _digest(value.get("sha256"))


def _limits(value: Any) -> bool:
    return isinstance(value, dict) and all(map(_count, value.values()))


def _or_none(fits: Callable[[Any], bool]) -> Callable[[Any], bool]:
    return lambda value: value is None or fits(value)


_FIELDS: Mapping[str, Callable[[Any], bool]] = {
    "number": _count, "date": _date, "command": _text, "recipient": _text, "records": _count,
    "people": _or_none(_count), "matched_by": _or_none(_text), "k": _or_none(_count), "l": _limits,
    "m": _or_none(_count), "epsilon": _number, "epsilon_limit": _or_none(_number),
    "models": lambda value: isinstance(value, dict), "file": _or_none(_file),
    "input": _digest, "policy": _or_none(_digest), "release": _digest,
    "linked": lambda value: type(value) is bool, "columns": _or_none(is_column_digest),
    "key": _or_none(is_column_digest),
}  # fmt: skip
"""What each field is."""
_LATER = {"m": None, "linked": False, "columns": None, "key": None}
"""The fields that entries of earlier versions lack."""
_MISSING = object()


def require_entries(records: Sequence[Mapping[str, Any]], folder: Path) -> None:
    """Refuse records that are not entries of a ledger.

    Raises
    ------
    TableError
        Which names the first entry and its field.
    """
    for number, record in enumerate(records, 1):
        fields = {**_LATER, **record}
        wrong = [name for name, fits in _FIELDS.items() if not fits(fields.get(name, _MISSING))]
        if not wrong and record["number"] != number:
            wrong = ["number"]
        if not wrong and (record["people"] is None, record["k"] is None) != (record["file"] is None,) * 2:
            wrong = ["file"]
        if wrong:
            raise TableError(
                f"{folder}: {wrong[0]!r} of entry {number:,} is not what incrowd writes; put all files of "
                "the ledger back from a copy"
            )
