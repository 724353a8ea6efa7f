"""Linkage of people of an external table to released records."""

from __future__ import annotations

from collections.abc import Sequence

from incrowd.attacks.base import Attack, wilson
from incrowd.attacks.kind import AttackCall, AttackKind
from incrowd.attacks.setting import Setting, nearest_records
from incrowd.core.errors import SchemaError, TableError, those_are
from incrowd.core.lazy import np


def linkage(setting: Setting, known: Sequence[str], attacks: int) -> Attack:
    """Link each person of an external table (the raw table's people) to the nearest released record.

    The nearest record is that by the columns that are known. A guess is right if the record is the person's.
    """
    for name in known:
        if name not in setting.quasi:
            raise SchemaError(f"known: {name!r} is no quasi-identifier; {those_are(setting.quasi, name)}")
    if setting.records != setting.people or not known:
        raise TableError(
            f"linkage: the release has {setting.records} rows and the raw table {setting.people}; name known "
            "columns, and tables whose row N is the same person"
        )
    random = np.random.default_rng([setting.seed, 7])
    number = min(attacks, setting.people)
    rows = random.choice(setting.people, number, replace=False)
    right = int((nearest_records(setting, known, rows, 1)[0][:, 0] == rows).sum())
    guessed = int((random.integers(setting.records, size=number) == rows).sum())
    return Attack("linkage", number, wilson(right, number), wilson(guessed, number), None, None)


def _known_columns(call: AttackCall) -> Sequence[str]:
    """Return the quasi-identifiers that the external table has, by default all."""
    return call.setting.quasi if call.known is None else call.known


LINKAGE = AttackKind(
    "linkage",
    "aligned=True, row_map= or by=",
    lambda call: call.aligned,
    lambda call: linkage(call.setting, _known_columns(call), call.attacks),
    columns=lambda call: set(_known_columns(call)) & set(call.setting.quasi),
)
