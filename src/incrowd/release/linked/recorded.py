"""Linked tables in a ledger: digests of people, of keys that may join, and of rows that may be known."""

from __future__ import annotations

import math
import secrets
from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Any

from incrowd.core.errors import ParameterError, setting
from incrowd.core.io.columns import column_named
from incrowd.core.lazy import NDArray, np, pl
from incrowd.core.reading.keys import key_texts
from incrowd.measures.privacy.l_diversity import LDiversity
from incrowd.release.jobs.later.ledger.joins import KeyTexts, in_joint_classes, key_values
from incrowd.release.jobs.later.ledger.people import column_digest, counted, macs, people_of_rows
from incrowd.release.jobs.later.ledger.rows import digest_of_rows
from incrowd.release.linked.judged import JoinedView, cell_numbers
from incrowd.release.linked.tables import LinkedRows
from incrowd.release.linked.views import Facts, Knowledge, mix
from incrowd.search.base import least_size

if TYPE_CHECKING:
    from incrowd.release.jobs.make.release import Release
    from incrowd.release.linked.policy import LinkedPolicy


def record_of(
    releases: Mapping[str, Release], view: JoinedView, raw: LinkedRows, key: bytes
) -> tuple[dict[str, Any], pl.DataFrame, pl.DataFrame | None]:
    """Return the figures of an entry, and digests of people and of keys, as `ledger.people.account_of`.

    What can be known of a person stands for the person's class: the view of all rows, or each set of few
    known rows. Rows of a table with keys of its own or sensitive columns have a class of the view beside
    which they stand and of what they look like there.

    Parameters
    ----------
    releases, view
        The release of each table, and what they tell together.
    raw
        The raw rows that leave.
    key
        The key of the digests.

    Raises
    ------
    ParameterError
        When there is only one table.
    """
    policy = view.policy
    if len(policy.order) == 1:
        raise ParameterError(
            f"{setting('a ledger', '--ledger')}: this policy has one table; release it as one, with a policy "
            "without [[linked]]"
        )
    rows = LinkedRows.of_tables({name: each.table for name, each in releases.items()}, policy)
    frames = {name: engine.frame.to_polars() for name, engine in rows.engines.items()}
    keys = {name: _own_keys(releases[name], policy[name].join, frame) for name, frame in frames.items()}
    knowledge = Knowledge.of_rows(policy, rows.rows, rows.people)
    sensitive = {name: [each.name for each in policy.policy_of(name).schema.sensitive] for name in frames}
    few = bool(knowledge.chosen)
    told = [
        name
        for name in policy.order[1:]
        if (keys[name] or sensitive[name]) and (not few or name in knowledge.chosen)
    ]
    sets, facts = knowledge.sets(cell_numbers(rows), told)
    root, everything = policy.person, np.arange(len(sets.owner))
    facts = {root: Facts(sets.number, sets.owner, sets.owner, everything), **facts}
    for name in policy.order[1:]:
        if few and keys[name] and name not in facts:
            # All rows of the table are known, each beside every set of few rows of others.
            facts[name] = _beside_sets(sets.number, sets.owner, rows.rows[name].person)
    people = pl.DataFrame([_raw_column(releases[root], raw, root, column) for column in policy.keys_of(root)])
    who = people_of_rows(key, key_texts(people), named=True)
    known = _known_sets(releases, raw, knowledge, key) if few else None
    upper = [*_join_digests(key, root, keys[root])]
    parts = []
    for name, fact in facts.items():
        columns = [_classes(key, name, fact.number), who.gather(fact.person).alias("person")]
        columns += [] if known is None else [known.gather(fact.among)]
        columns += (digests.gather(fact.person) for digests in upper)
        if name != root:
            columns += (digests.gather(fact.row) for digests in _join_digests(key, name, keys[name]))
        for column in sensitive[name]:
            values = macs(key, "value", key_texts(frames[name].select(column_named(column))))
            columns.append(values.gather(fact.row).alias(column_digest(key, column)))
        parts.append(pl.DataFrame(columns))
    digests = pl.concat(parts, how="diagonal")
    joins = {
        column_digest(key, "join", f"{name}.{column}"): {"column": f"{name}.{column}", "long": each.long}
        for name, of_table in keys.items()
        for column, each in of_table.items()
    }
    named = digests.drop(joins)
    account = {
        "command": "anonymize", "records": sum(view.records.values()), "people": rows.people,
        "l": _least(policy, key), "epsilon": 0.0, "m": None, "linked": not few,
        "sets": None if known is None else known.name,
        "k": max(2, least_size(policy.terms.models)), "epsilon_limit": None,
        "models": {f"{it.model} {it.attribute or ''}": [it.limit, it.value] for it in view.results},
        "matched_by": ", ".join(policy.keys_of(root)), "joins": joins,
        "columns": column_digest(key, *sorted(each.name for each in policy.terms.schema.attributes)),
        "input": digest_of_rows(people), "release": digest_of_rows(*frames.values()),
    }  # fmt: skip
    whole = named if few else in_joint_classes(named)
    return account, counted(whole), counted(digests.drop("person")) if joins else None


def _own_keys(release: Release, join: Mapping[str, str], frame: pl.DataFrame) -> dict[str, KeyTexts]:
    """Return the keys of a table that may join others, without those that are keys of the table above."""
    return {column: each for column, each in key_values(release, frame).items() if column not in join}


def _least(policy: LinkedPolicy, key: bytes) -> dict[str, int]:
    """Return how many values each sensitive column has to have, by the name of its digests."""
    least: dict[str, int] = {}
    for attribute in policy.terms.schema.sensitive:
        for model in policy.terms.models:
            if isinstance(model, LDiversity) and model.attribute in (None, attribute.name):
                name = column_digest(key, attribute.name.partition(".")[2])
                least[name] = max(least.get(name, 1), math.ceil(model.l))
    return least


def _raw_column(release: Release, raw: LinkedRows, table: str, column: str) -> pl.Series:
    """Return a raw column in the order of the released rows."""
    values, order = raw.series(table, column), release.order
    return values if order is None else values.gather(order.rows(len(values)))


def _known_sets(
    releases: Mapping[str, Release], raw: LinkedRows, knowledge: Knowledge, key: bytes
) -> pl.Series:
    """Return a digest of the raw values of each set of known rows."""
    policy = knowledge.policy
    total, names = np.zeros(len(knowledge.owner), np.uint64), []
    for level, (name, chosen) in enumerate(knowledge.chosen.items(), 1):
        quasi = sorted(each.name for each in policy.policy_of(name).schema.quasi)
        names += [f"{policy[name].known} {name}", *(f"{name}.{column}" for column in quasi)]
        # Keys tell rows of the same values apart, which have other rows below them.
        columns = dict.fromkeys([*quasi, *policy[name].join, *policy.keys_of(name)])
        texts = key_texts(
            pl.DataFrame([_raw_column(releases[name], raw, name, column) for column in columns])
        )
        digests = b"".join(macs(key, "row", texts))
        row = np.frombuffer(digests, np.uint64)[::2]
        of_set = np.where(chosen >= 0, mix(row[chosen], 0), np.uint64(0)).sum(axis=1, dtype=np.uint64)
        total += mix(of_set, level)
    return pl.Series(column_digest(key, "set", *names), total).cast(pl.String).cast(pl.Binary)


def _beside_sets(number: NDArray[np.int32], owner: NDArray[np.int64], person: NDArray[np.int64]) -> Facts:
    """Return each row of a table beside each set of known rows of the person."""
    # Sets stand in the order of people.
    first, last = (np.searchsorted(owner, person, side) for side in ("left", "right"))
    row = np.repeat(np.arange(len(person)), last - first)
    among = np.arange(len(row)) - np.repeat(np.cumsum(last - first) - (last - first), last - first)
    among += first[row]
    return Facts(number[among], person[row], row, among)


def _join_digests(key: bytes, table: str, texts: Mapping[str, KeyTexts]) -> Iterator[pl.Series]:
    """Yield the digests of the values of each key, under the name that the key has in an entry."""
    for column, each in texts.items():
        digests = pl.select(pl.when(each.texts["text"].is_not_null()).then(macs(key, "join", each.texts)))
        yield digests.to_series().alias(column_digest(key, "join", f"{table}.{column}"))


def _classes(key: bytes, table: str, number: NDArray[np.int32]) -> pl.Series:
    """Return a digest of each number, another one for each entry."""
    once, place = np.unique(number, return_inverse=True)
    mark = pl.lit(f"{table} {secrets.token_hex(8)}").alias("mark")
    texts = pl.Series("number", once).cast(pl.String).to_frame().select(mark, "number")
    return macs(key, "class", texts).gather(place.ravel()).alias("class")
