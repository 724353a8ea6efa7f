"""Membership: whether a person is in the release at all."""

from __future__ import annotations

from incrowd.attacks.base import Attack, Rate, risk_of, wilson
from incrowd.attacks.kind import AttackKind
from incrowd.attacks.setting import Setting, nearest_records
from incrowd.core.lazy import np


def membership(setting: Setting, attacks: int) -> Attack:
    """Guess that the half of people nearest to a released record are in the release.

    As many people of the release are taken as of the control.
    """
    random = np.random.default_rng([setting.seed, 6])
    half = min(attacks // 2, setting.people, setting.rows - setting.people)
    members = random.choice(setting.people, half, replace=False)
    others = setting.people + random.choice(setting.rows - setting.people, half, replace=False)
    rows = np.concatenate((members, others))
    gaps = nearest_records(setting, setting.quasi, rows, 1)[1][:, 0]
    order = np.lexsort((random.random(len(rows)), gaps))
    right = 2 * int((order[:half] < half).sum())
    main = wilson(right, len(rows))
    chance = Rate(0.5, 0.5, 0.5)
    return Attack("membership", len(rows), main, chance, chance, risk_of(main, chance))


MEMBERSHIP = AttackKind(
    "membership",
    "control=",
    lambda call: call.control is not None,
    lambda call: membership(call.setting, call.attacks),
)
