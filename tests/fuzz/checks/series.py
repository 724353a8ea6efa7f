"""Three releases of people who come and go: m-invariant, and nobody is lost."""

from __future__ import annotations

import json
import random
import unicodedata
from collections import Counter, defaultdict
from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import polars as pl

import incrowd as ic
from fuzz.checks.errors import leaks
from fuzz.checks.made import Finding, Made, Outcome, rid_of, skeleton
from fuzz.draw import FRAMES, Case
from fuzz.oracle.values import number_in
from fuzz.sources import Services, frame_of
from incrowd.attacks.ledger import composition_of_ledger
from incrowd.core.table.schema import Schema
from incrowd.release.policy.policy import Policy

_TIMES = 3
Records = list[tuple[str | None, int, str | None]]
"""The person, None of a counterfeit record, the group and the value of each record."""


def series(made: Made, services: Services, outcome: Outcome) -> Iterator[Finding]:
    """Every person keeps a signature of m or more values, each once in the group."""
    case = made.case
    attributes = made.policy.schema
    if case["source"] not in FRAMES or len(attributes.sensitive) != 1 or attributes.treated:
        return
    draw = random.Random(json.dumps(case, sort_keys=True))
    m, rid = draw.randint(2, 3), rid_of(case)
    policy = series_policy(made.policy, m)
    ledger = ic.Ledger.init(services.fresh() / "ledger")
    frame = frame_of(case["columns"])
    signature: dict[str, set[str | None]] = {}
    releases: list[Any] = []
    crowds: list[set[str]] = []
    for _ in range(_TIMES):
        there = [row for row in range(frame.height) if draw.random() < 0.7] or [0]
        table = frame[draw.sample(there, len(there))]
        earlier = [each.table for each in releases]
        try:
            release = ic.next_release(
                table, policy, ledger, keys=[rid], earlier=earlier, max_counterfeits=1, unanswered="write"
            )
        except ic.IncrowdError as error:
            outcome.skipped.append("series: " + skeleton(str(error)))
            yield from leaks(case, made.place, str(error))
            return
        yield from _one(case, table, release, m, signature)
        crowd = set(table.get_column(rid).to_list())
        # Of a small table hardly anybody may have been in one of the others: whoever makes the release says so.
        are_new = any(4 * len(crowd & each) < min(len(crowd), len(each)) for each in crowds)
        try:
            ledger.add(release, table, recipient="A", keys=[rid], new_people=are_new)
        except ic.IncrowdError as error:
            yield Finding("series refused", str(error)[:300])
            return
        crowds.append(crowd)
        releases.append(release)
        if release.counterfeit_records:
            outcome.met.append(("series", "counterfeits"))
    outcome.met.append(("series", "three releases"))
    if exposed := composition_of_ledger(ledger).figures["exposed"]:
        yield Finding("series ledger", f"{exposed} people are exposed")


def series_policy(policy: Policy, m: int) -> Policy:
    """Return the policy of a series for the columns of another policy."""
    attributes = policy.schema
    # Levels and weights mean nothing to groups that are known.
    quasi = [replace(each, levels=None, weight=1.0) for each in attributes.quasi]
    columns = [*quasi, *attributes.sensitive]
    return replace(
        policy, schema=Schema.of_attributes(columns, null_values=attributes.null_values, unlisted="drop"),
        models=(ic.KAnonymity(2),), algorithm=ic.Mondrian(), max_suppression=1.0, keep_order=False, ledger_m=m,
    )  # fmt: skip


def _one(
    case: Case, table: pl.DataFrame, release: Any, m: int, signature: dict[str, set[str | None]]
) -> Iterator[Finding]:
    """Hold a release against the table and the signatures so far, which get those of new people."""
    rid, [sensitive] = rid_of(case), [x["name"] for x in case["columns"] if x["role"] == "sensitive"]
    records = records_of(release, rid, sensitive)
    raw = dict(zip(table.get_column(rid).to_list(), _texts(table.get_column(sensitive)), strict=True))
    if rid in release.table.columns or Counter(who for who, *_ in records if who) != Counter(list(raw)):
        yield Finding("series rows", f"{len(records)} records of {len(raw)} people")
        return
    groups: dict[int, list[str | None]] = defaultdict(list)
    for who, group, value in records:
        groups[group].append(value)
        if who is not None and raw[who] != value and not _are_one_number(raw[who], value):
            yield Finding("series value", f"{value!r} for {raw[who]!r}")
    for values in groups.values():
        if len(values) < m or len(set(values)) < len(values):
            yield Finding("series group", f"{len(set(values))} values of {len(values)} records; m is {m}")
    for who, group, _ in records:
        around = set(groups[group])
        if who is not None and signature.setdefault(who, around) != around:
            yield Finding("series signature", f"{around} after {signature[who]}")
    fakes = Counter(group for who, group, _ in records if who is None)
    if dict(release.counterfeits.iter_rows()) != fakes:
        yield Finding("series counterfeits", f"{release.counterfeits.rows()} and not {dict(fakes)}")
    out = pl.from_dataframe(release.table)
    texts = [map(repr, out.get_column(name).to_list()) for name in out.columns if name != sensitive]
    cells = set(zip(*texts, strict=True))
    if len(cells) != len(groups):
        yield Finding("series cells", f"{len(cells)} different ones in {len(groups)} groups")


def records_of(release: Any, person: str, sensitive: str) -> Records:
    """Return the person of each released record, by the row map and the raw records."""
    people = release.came.get_column(person).to_list()
    out = pl.from_dataframe(release.table)
    rows = release.row_map()["row"].to_list()
    who = [people[row - 1] for row in rows]
    return list(zip(who, out.get_column("group").to_list(), _texts(out.get_column(sensitive)), strict=True))


def _are_one_number(one: str | None, other: str | None) -> bool:
    """Say whether two texts are the same number, as the values of a signature leave in one spelling."""
    return None not in (one, other) and number_in(str(one)) == number_in(str(other)) is not None


def _texts(column: pl.Series) -> list[str | None]:
    """Return values as texts without blanks around, in a normal form of letters, with -0 as 0."""
    if column.dtype.is_float():
        column = column.alias("")
        column = column.fill_nan(None).set(column == 0, 0.0)
    texts = column.cast(pl.String).to_list()
    return [None if text is None else unicodedata.normalize("NFC", text.strip()) for text in texts]
