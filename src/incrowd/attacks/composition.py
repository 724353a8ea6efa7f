"""Composition: the information in two releases of one table together.

Example: each of two releases has classes of at least k records. Put side by side they single people out.

References
----------
Ganta, Kasiviswanathan and Smith, Composition attacks and auxiliary information in data privacy, KDD 2008.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

from incrowd.attacks.base import Attack, wilson
from incrowd.attacks.kind import AttackCall, AttackKind
from incrowd.attacks.setting import Setting
from incrowd.core.errors import TableError
from incrowd.core.lazy import NDArray, np
from incrowd.core.progress import check


def composition_by_order(settings: Sequence[Setting], secret: str | None) -> Attack:
    """Join releases row by row, and count the records that are alone then.

    Parameters
    ----------
    settings
        One per release; row N of each is of one person.
    secret
        The sensitive attribute; None where there is none.

    Returns
    -------
    Success is a record whose cells in all releases together are unique. The baseline is the first release
    alone. A joint class has the records with the same cells in all releases. `Attack.figures` has counts of
    records:

    - ``unique``: records that are alone in their joint class;
    - ``smallest``: the size of the smallest joint class;
    - ``smallest_alone``: the size of the smallest class of any release;
    - ``below``: records in joint classes smaller than ``smallest_alone``;
    - ``pinned``: records whose joint class has one sensitive value.
    """
    from incrowd.core.kernels.grouping.grouping import group_codes

    rows = {setting.records for setting in settings}
    if len(rows) > 1:
        raise TableError(
            "composition by order: the releases have different numbers of rows, so they cannot be joined by "
            "their order; leave it out of kinds"
        )
    alone = [_classes([setting]) for setting in settings]
    joint = _classes(settings)
    sizes = np.bincount(joint)[joint]
    least = min(int(np.bincount(ids).min()) for ids in alone)
    unique = int((sizes == 1).sum())
    before = int((np.bincount(alone[0]) == 1).sum())
    records = settings[0].records
    pinned = 0
    if secret is not None:
        codes = settings[0].columns[secret].codes.astype(np.int64)
        _, first = group_codes([joint, codes], records)
        values = np.bincount(joint[first])
        pinned = int((values[joint] == 1).sum())
    figures: dict[str, float] = {
        "records": records,
        "unique": unique,
        "smallest": int(sizes.min()),
        "smallest_alone": least,
        "below": int((sizes < least).sum()),
        "pinned": pinned,
    }
    return Attack(
        "composition-by-order", records, wilson(unique, records), wilson(before, records), None, None, figures
    )


def _classes(settings: Sequence[Setting]) -> NDArray[np.int64]:
    """Return class numbers, equal for records with the same cells in all releases: int[records]."""
    from incrowd.core.kernels.grouping.grouping import group_codes

    codes = [setting.columns[name].codes.astype(np.int64) for setting in settings for name in setting.quasi]
    ids, _ = group_codes(codes, settings[0].records)
    return np.asarray(ids, np.int64)


def composition(settings: Sequence[Setting], secret: str, attacks: int) -> Attack:
    """Look people up in every release by the known attributes, and intersect the results.

    Parameters
    ----------
    settings
        One per release, in whatever order its rows are.
    secret
        The sensitive attribute, released as it is.
    attacks
        How many people are looked up.

    Returns
    -------
    Success is a person of whom one sensitive value is left. The baseline is the first release alone.
    `Attack.figures` has:

    - ``smallest``: the fewest records that may still be a person's;
    - ``smallest_alone``: the same in any release alone;
    - ``below``: people with fewer records left than ``smallest_alone``;
    - ``unique``: people with one record left;
    - ``pinned``: people with one sensitive value left;
    - ``not_found``: people who have no record in some release. They are left out.
    """
    people = settings[0].people
    tried = min(attacks, people)
    chosen = np.random.default_rng([settings[0].seed, 8]).choice(people, tried, replace=False)
    matches: list[int] = []
    single = alone = lost = 0
    least = people
    for person in chosen.tolist():
        check()
        candidates = [_candidates(setting, secret, person) for setting in settings]
        if not all(candidates):
            lost += 1
            continue
        # A record of one release can be a record of another only if both have one value.
        common = candidates[0]
        for other in candidates[1:]:
            common = common & other
        matches.append(sum(common.values()))
        least = min(least, *(sum(values.values()) for values in candidates))
        single += len(common) == 1
        alone += len(candidates[0]) == 1
    if lost == tried:
        return Attack.of_nothing(
            "composition", "no released cell covers the values of anybody; give releases of this table"
        )
    tried -= lost
    figures: dict[str, float] = {
        "records": tried,
        "unique": sum(number == 1 for number in matches),
        "smallest": min(matches),
        "smallest_alone": least,
        "below": sum(number < least for number in matches),
        "pinned": single,
        "not_found": lost,
    }
    return Attack("composition", tried, wilson(single, tried), wilson(alone, tried), None, None, figures)


def _candidates(setting: Setting, secret: str, person: int) -> Counter[str | None]:
    """Count the sensitive values of the records whose cells cover a person's values."""
    covered = np.ones(setting.records, np.bool_)
    for name in setting.quasi:
        covered &= setting.columns[name].covers(person)
    column = setting.columns[secret]
    values, counts = np.unique(column.codes[covered], return_counts=True)
    return Counter({column.labels[value]: int(count) for value, count in zip(values, counts, strict=True)})


def _may_join_by_order(call: AttackCall) -> bool:
    # Where rows were left out, only the other way is open, unless the caller names this one.
    by_name = "composition-by-order" in (call.kinds or ())
    sizes = {release.records for release in call.releases}
    return len(call.releases) > 1 and (by_name or len(sizes) == 1)


BY_ORDER = AttackKind(
    "composition-by-order",
    "also=",
    _may_join_by_order,
    lambda call: composition_by_order(call.releases, call.secret),
    columns=lambda call: (),
)

COMPOSITION = AttackKind(
    "composition",
    "also= and a secret",
    lambda call: len(call.releases) > 1 and call.secret is not None,
    lambda call: composition(call.releases, call.inferred, call.attacks),
    columns=lambda call: call.with_secret,
)
