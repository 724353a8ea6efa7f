"""Linkability: two halves of the known attributes that lead to the same released record."""

from __future__ import annotations

from collections.abc import Sequence

from incrowd.attacks.base import Attack
from incrowd.attacks.kind import AttackKind
from incrowd.attacks.setting import Setting, nearest_records
from incrowd.core.lazy import NDArray, np


def linkability(
    setting: Setting, sides: tuple[Sequence[str], Sequence[str]], attacks: int, neighbours: int
) -> Attack:
    """Look each person up by either side, and count how often both sides find the same record."""
    count = min(neighbours, setting.records)
    random = np.random.default_rng([setting.seed, 4])

    def wins(rows: NDArray[np.int64]) -> int:
        first, second = (nearest_records(setting, names, rows, count)[0] for names in sides)
        return sum(bool(set(a) & set(b)) for a, b in zip(first.tolist(), second.tolist(), strict=True))

    def guesses() -> int:
        drawn = (random.choice(setting.records, (2, count)) for _ in range(min(attacks, setting.people)))
        return sum(bool(set(a) & set(b)) for a, b in (pair.tolist() for pair in drawn))

    return setting.rates("linkability", wins, guesses, attacks)


LINKABILITY = AttackKind(
    "linkability",
    "two sides",
    lambda call: all(call.sides),
    lambda call: linkability(call.setting, call.sides, call.attacks, call.neighbours),
    columns=lambda call: (*call.sides[0], *call.sides[1]),
)
