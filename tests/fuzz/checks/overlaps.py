"""Releases of rows that come and go, together in a ledger: nobody's value follows from all releases."""

from __future__ import annotations

import json
import random
from collections import Counter, defaultdict
from collections.abc import Hashable, Iterator
from dataclasses import replace
from fractions import Fraction
from typing import Any

import polars as pl

import incrowd as ic
from fuzz.checks.made import Finding, Made, Outcome, rid_of, skeleton
from fuzz.draw import FRAMES
from fuzz.sources import Services, frame_of

_TIMES = 3
Shown = dict[Hashable, tuple[Hashable, Hashable]]
"""The class and the value of each person of a release."""


def overlaps(made: Made, services: Services, outcome: Outcome) -> Iterator[Finding]:
    """For releases in a ledger, bounds on the counts of each class leave everybody enough values."""
    case, policy = made.case, made.policy
    if (
        case["source"] not in FRAMES
        or not policy.schema.sensitive
        or policy.schema.treated
        or policy.schema.person
    ):
        return
    draw = random.Random(json.dumps(case, sort_keys=True) + "overlaps")
    rid, sensitive = rid_of(case), policy.schema.sensitive[0].name
    least = max(
        [0, *(-int(-each.l // 1) for each in policy.models
              if isinstance(each, ic.LDiversity) and each.attribute in (None, sensitive))]
    )  # fmt: skip
    policy = replace(policy, keep_order=True, max_suppression=1.0)
    ledger, frame, shown = ic.Ledger.init(services.fresh() / "ledger"), frame_of(case["columns"]), []
    for _ in range(_TIMES):
        # A few leave: where many do, people are too few to be released again.
        stay = draw.choice([0.7, 0.9, 0.97, 1.0])
        there = [row for row in range(frame.height) if draw.random() < stay] or [0]
        table = frame[there]
        try:
            release = ic.anonymize(table, policy, unanswered="write")
            ledger.add(release, table, keys=[rid], recipient="A", new_people=True)
        except ic.IncrowdError as error:
            outcome.skipped.append("overlaps: " + skeleton(str(error)))
            continue
        shown.append(_shown(table.get_column(rid).to_list(), release, policy, sensitive))
    if len(shown) > 1:
        outcome.met.append(("ledger", f"{len(shown)} releases"))
        if told := deduced(shown, least):
            yield Finding(
                "overlaps", f"{len(told)} of {len(set().union(*shown))} people in {len(shown)} releases"
            )


def _shown(people: list[Any], release: Any, policy: Any, sensitive: str) -> Shown:
    out = pl.from_dataframe(release.table)
    columns = [out.get_column(each.name).cast(pl.String).to_list() for each in policy.schema.quasi]
    values = map(_value, out.get_column(sensitive).cast(pl.String).to_list())
    return dict(zip(people, zip(zip(*columns, strict=True), values, strict=True), strict=True))


def _value(text: str | None) -> Hashable:
    """Read a number by value, and any other text unchanged."""
    try:
        return Fraction(str(text).strip())
    except (ValueError, ZeroDivisionError):
        return None if text is None else text.strip()


def deduced(releases: list[Shown], least: int) -> set[Hashable]:
    """Return people to whom bounds alone leave too few values, though the true set may be larger.

    Of the people who are in the same classes everywhere, so many at most and at least have a value. A class
    has each value so often, which bounds one such number by the others.
    """
    where: dict[Hashable, frozenset[Any]] = {
        who: frozenset((number, each[who][0]) for number, each in enumerate(releases) if who in each)
        for each in releases
        for who in each
    }
    sizes, classes = Counter(where.values()), defaultdict(Counter)
    for number, each in enumerate(releases):
        for cells, value in each.values():
            classes[number, cells][value] += 1
    inside: dict[Any, list[frozenset[Any]]] = defaultdict(list)
    for cell in sizes:
        for cls in cell:
            inside[cls].append(cell)
    every = {value for counts in classes.values() for value in counts}
    most = {(c, v): min(n, *(classes[cls][v] for cls in c)) for c, n in sizes.items() for v in every}
    fewest = dict.fromkeys(most, 0)
    sums = [([(cell, value) for value in every], n) for cell, n in sizes.items()]
    sums += [([(c, v) for c in inside[cls]], counts[v]) for cls, counts in classes.items() for v in every]
    changed = True
    while changed:
        changed = False
        for parts, total in sums:
            high, low = sum(most[part] for part in parts), sum(fewest[part] for part in parts)
            for part in parts:
                bounds = (
                    max(fewest[part], total - high + most[part]),
                    min(most[part], total - low + fewest[part]),
                )
                changed |= bounds != (fewest[part], most[part])
                if bounds != (fewest[part], most[part]):
                    low, high = low + bounds[0] - fewest[part], high + bounds[1] - most[part]
                    fewest[part], most[part] = bounds
    result = set()
    for who, cell in where.items():
        distinct = min(len(classes[cls]) for cls in cell)
        wanted = max(min(least, max(len(classes[cls]) for cls in cell)), min(2, distinct))
        if sum(most[cell, value] > 0 for value in every) < wanted:
            result.add(who)
    return result
