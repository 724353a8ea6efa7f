"""Inference: guess a person's sensitive value from the nearest released record."""

from __future__ import annotations

from incrowd.attacks.base import Attack
from incrowd.attacks.kind import AttackKind
from incrowd.attacks.setting import Setting, nearest_records
from incrowd.core.lazy import NDArray, np


def inference(setting: Setting, secret: str, attacks: int) -> Attack:
    """Guess that each person has the sensitive value of the nearest released record.

    The nearest record is that by all quasi-identifiers. Numbers are right within 5 %.
    """
    column = setting.columns[secret]
    random = np.random.default_rng([setting.seed, 5])

    def right(rows: NDArray[np.int64], records: NDArray[np.int64]) -> int:
        if not column.numeric:
            return int(column.sets.is_just(column.codes[records], column.ranks[rows]).sum())
        # Halves, since the sum of two enormous numbers may overflow.
        middles, true = column.low[records] / 2 + column.high[records] / 2, column.values[rows]
        near = np.abs(middles / 2 - true / 2) <= 0.05 * np.maximum(np.abs(true), 1e-12) / 2
        return int((near | (np.isnan(middles) & np.isnan(true))).sum())

    def wins(rows: NDArray[np.int64]) -> int:
        return right(rows, nearest_records(setting, setting.quasi, rows, 1)[0][:, 0])

    def guesses() -> int:
        number = min(attacks, setting.people)
        people = random.choice(setting.people, number, replace=False)
        return right(people, random.integers(setting.records, size=number))

    return setting.rates("inference", wins, guesses, attacks)


INFERENCE = AttackKind(
    "inference",
    "a secret",
    lambda call: call.secret is not None,
    lambda call: inference(call.setting, call.inferred, call.attacks),
    columns=lambda call: call.with_secret,
)
