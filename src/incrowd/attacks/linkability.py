"""Linkability: two halves of the known attributes that lead to the same released record."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import chain

from incrowd.attacks.base import Attack
from incrowd.attacks.kind import AttackCall, AttackKind
from incrowd.attacks.setting import Setting, nearest_records
from incrowd.core.errors import SchemaError, those_are
from incrowd.core.lazy import NDArray, np


def linkability(
    setting: Setting, sides: tuple[Sequence[str], Sequence[str]], attacks: int, neighbours: int
) -> Attack:
    """Look each person up by either side, and count how often both sides find the same record.

    A guess is right if one of the nearest released records by one side is among those by the other. Without
    released records a link is right by chance.
    """
    count = min(neighbours, setting.records)
    random = np.random.default_rng([setting.seed, 4])

    def wins(rows: NDArray[np.int64]) -> int:
        first, second = (nearest_records(setting, names, rows, count)[0] for names in sides)
        return sum(bool(set(a) & set(b)) for a, b in zip(first.tolist(), second.tolist(), strict=True))

    def guesses() -> int:
        drawn = (random.choice(setting.records, (2, count)) for _ in range(min(attacks, setting.people)))
        return sum(bool(set(a) & set(b)) for a, b in (pair.tolist() for pair in drawn))

    return setting.rates("linkability", wins, guesses, attacks)


def _sides(call: AttackCall) -> tuple[Sequence[str], Sequence[str]]:
    """Return the quasi-identifiers on either side of a link, by default two halves."""
    quasi = call.setting.quasi
    half = (len(quasi) + 1) // 2
    sides = call.parts or (quasi[:half], quasi[half:])
    for name in chain(*sides):
        if name not in quasi:
            raise SchemaError(f"parts: {name!r} is no quasi-identifier; {those_are(quasi, name)}")
    return sides


LINKABILITY = AttackKind(
    "linkability",
    "two sides",
    lambda call: all(_sides(call)),
    lambda call: linkability(call.setting, _sides(call), call.attacks, call.neighbours),
    columns=lambda call: chain(*_sides(call)),
)
