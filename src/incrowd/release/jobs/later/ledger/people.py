"""Keyed digests of the people, classes and sensitive values of a release."""

from __future__ import annotations

import hmac
import json
import math
from collections.abc import Mapping, Sequence
from typing import Any

from incrowd.core.errors import ParameterError, SchemaError, named, setting
from incrowd.core.io.columns import column_named, columns_named, nameless
from incrowd.core.lazy import np, pl
from incrowd.core.reading.keys import key_texts, plain_texts
from incrowd.core.recoding import SUPPRESSED
from incrowd.measures.privacy import LDiversity
from incrowd.release.jobs.later.apply import AppliedBatch
from incrowd.release.jobs.later.ledger.exposure import RECORDS
from incrowd.release.jobs.later.ledger.joins import KeyTexts, in_joint_classes, key_values
from incrowd.release.jobs.later.ledger.rows import Rows, rows_of
from incrowd.release.jobs.later.series_groups import SeriesRelease
from incrowd.release.jobs.make.anatomize import GROUP
from incrowd.release.jobs.make.release import Release
from incrowd.release.tables.difference import sum_records
from incrowd.search.base import least_size


def account_of(
    key: bytes, release: Release | AppliedBatch, raw: Any, keys: Sequence[str]
) -> tuple[dict[str, Any], pl.DataFrame, pl.DataFrame | None, pl.DataFrame | None]:
    """Return the figures and limits of a release for an entry, and digests of records, cells and keys.

    The digests are ``person`` and ``class``, and a column for each sensitive attribute, sorted, so that
    nothing of the order of the rows is left. A suppressed record is in no class: the others cannot be told
    from it. ``records`` counts records that are alike. In a series each record has a row.

    The digests of cells, for tables beside the rows, are ``person`` or ``row`` (see `people_of_rows`), and a
    column for each quasi-identifier and sensitive attribute. Those of keys are `joins.Keys.rows`. A series
    has neither.
    """
    policy, privacy = release.policy, release.privacy
    series = release if isinstance(release, SeriesRelease) else None
    if privacy is None:
        raise ParameterError("every row of this batch waits, so there is no release to record")
    person_columns = list(policy.schema.person)
    key_columns = list(keys) or (person_columns if series is None else list(series.keys))
    quasi = [each.name for each in policy.schema.quasi]
    rows = rows_of(release, raw, list(dict.fromkeys(key_columns or quasi)))
    persons = key_texts(rows.raw.select(columns_named(key_columns or quasi)))
    who = people_of_rows(key, persons, named=bool(key_columns))
    texts = {} if series is not None else key_values(release, rows.released)
    people, joined = _people_of(key, release, rows, key_columns, persons, who, texts)
    judged = [each for each in privacy.privacy if each.limit is not None]
    least: dict[str, int] = {}
    for model in policy.models:
        if isinstance(model, LDiversity):
            for each in policy.schema.sensitive:
                if model.attribute in (None, each.name):
                    column = column_digest(key, each.name)
                    least[column] = max(least.get(column, 1), math.ceil(model.l))
    return {
        "command": "next" if series else "apply" if isinstance(release, AppliedBatch) else "anonymize",
        "records": privacy.records, "people": people["person"].drop_nulls().n_unique(), "l": least,
        "epsilon": 0.0, "m": series and series.m, "linked": bool(policy.schema.linked),
        # Without a limit on the class size, k is 2: no person may be alone.
        "k": max(2, least_size(policy.models)),
        "models": {f"{each.model} {each.attribute or ''}": [each.limit, each.value] for each in judged},
        "epsilon_limit": policy.ledger_epsilon, "matched_by": matched_by(key_columns, quasi),
        "joins": {
            column_digest(key, "join", name): {"column": name, "long": each.long}
            for name, each in texts.items()
        },
        **rows.sums,
    }, people, None if series else _codes_of(key, release, rows, who), joined  # fmt: skip


def _codes_of(key: bytes, release: Release | AppliedBatch, rows: Rows, who: pl.Series) -> pl.DataFrame:
    """Return the digests of people, and for each row the digests of released cells and sensitive values."""
    schema, released = release.policy.schema, rows.released
    columns = [who]
    for name in dict.fromkeys(each.name for each in (*schema.quasi, *schema.sensitive)):
        if name in released.columns:
            cells = nameless(plain_texts(released.select(column_named(name))).to_series())
            texts = cells.fill_null("<missing>")
            columns.append(codes_digests(key, name, texts).alias(column_digest(key, "released", name)))
    records = pl.Series([1] * len(released), dtype=pl.Int64) if rows.times is None else rows.times
    frame = sum_records(pl.DataFrame([*columns, records.cast(pl.Int64).alias(RECORDS)]))
    return frame.sort(columns_named(frame.columns))


def _people_of(
    key: bytes,
    release: Release | AppliedBatch,
    rows: Rows,
    key_columns: Sequence[str],
    persons: pl.DataFrame,
    who: pl.Series,
    texts: Mapping[str, KeyTexts],
) -> tuple[pl.DataFrame, pl.DataFrame | None]:
    option = setting("a ledger", "--ledger")
    series = isinstance(release, SeriesRelease)
    quasi = [each.name for each in release.policy.schema.quasi]
    raw_rows, released_rows = rows.raw, rows.released
    if not series and (missing := [name for name in key_columns if persons[name].null_count()]):
        raise SchemaError(f"{option}: column {named(missing)} does not say of every row whose it is")
    cells = plain_texts(released_rows.select(columns_named([GROUP] if series else quasi)))
    digests = macs(key, "class", cells).to_frame("class")
    for each in release.policy.schema.sensitive:
        if each.name in released_rows.columns:
            values = macs(
                key,
                "value",
                key_texts((raw_rows if series else released_rows).select(column_named(each.name))),
            )
            digests = digests.with_columns(values.alias(column_digest(key, each.name)))
    joins = [
        pl.when(each.texts["text"].is_not_null())
        .then(macs(key, "join", each.texts))
        .alias(column_digest(key, "join", name))
        for name, each in texts.items()
    ]
    keys = pl.select(joins) if joins else None
    if rows.times is not None:
        # One digest serves all rows that are alike.
        place = np.repeat(np.arange(len(digests)), rows.times.to_numpy())
        persons, cells, digests, who = persons[place], cells[place], digests[place], who[place]
        keys = None if keys is None else keys[place]
    if not key_columns:
        who = macs(key, "person", _name_people(persons, digests))
    digests = digests.with_columns(who.alias("person"))
    if series:
        # Each record keeps its row. A counterfeit record has no person.
        return digests.sort(columns_named(digests.columns)), None
    starred = cells.select(pl.all_horizontal(pl.all().eq_missing(SUPPRESSED))).to_series()
    digests = digests.with_columns(pl.when(~starred).then("class").alias("class"))
    joined = None if keys is None else counted(pl.concat([digests.drop("person"), keys], how="horizontal"))
    if release.policy.schema.linked:
        # Rows can be joined.
        digests = in_joint_classes(digests)
    return counted(digests), joined


def counted(digests: pl.DataFrame) -> pl.DataFrame:
    """Return each row of digests once, with the number of records, in an order of its own."""
    return digests.group_by(pl.all()).agg(pl.len().alias(RECORDS)).sort(columns_named(digests.columns))


def people_of_rows(key: bytes, texts: pl.DataFrame, *, named: bool) -> pl.Series:
    """Return a keyed digest of the person of each row of `key_texts`, null without a person.

    Without columns that name people it says what the row has, so that alike rows have one digest, and is
    called ``row`` in place of ``person``.
    """
    digests = macs(key, "person" if named else "row", texts)
    if not named:
        return digests.alias("row")
    nobody = texts.select(pl.all_horizontal(pl.all().is_null())).to_series()
    return digests.to_frame("person").select(pl.when(~nobody).then("person").alias("person")).to_series()


def codes_digests(key: bytes, column: str, texts: pl.Series) -> pl.Series:
    """Return a keyed digest of each code of a column."""
    distinct = texts.alias("text").to_frame().unique()
    digests = macs(key, "code", distinct.select(pl.lit(column).alias("column"), "text"))
    rows = (
        texts.alias("text")
        .to_frame()
        .join(
            distinct.with_columns(digests.alias("digest")),
            on="text",
            how="left",
            nulls_equal=True,
            maintain_order="left",
        )
    )
    return rows["digest"]


def matched_by(named: Sequence[str], names: Sequence[str]) -> str:
    """Return the words for the match of people, by columns that name people, or else by columns of rows."""
    return ", ".join(named) or f"rows of {[*names]}"


def column_digest(key: bytes, *names: str) -> str:
    """Return the name of the digest column of a sensitive attribute or of several names."""
    return _mac(key, "column", *names).hex()


def key_digest(key: bytes) -> str:
    """Return a digest that identifies a key without revealing the key."""
    return _mac(key, "key").hex()


def _mac(key: bytes, *texts: object) -> bytes:
    return hmac.digest(key, json.dumps(texts).encode(), "sha256")[:16]


def macs(key: bytes, domain: str, frame: pl.DataFrame) -> pl.Series:
    """Return a keyed digest of each row of texts, separately for each `domain`."""
    cache: dict[tuple[Any, ...], bytes] = {}
    rows = (cache.get(row) or cache.setdefault(row, _mac(key, domain, *row)) for row in frame.iter_rows())
    return pl.Series(list(rows), dtype=pl.Binary)


def _name_people(quasi: pl.DataFrame, digests: pl.DataFrame) -> pl.DataFrame:
    """Name people by quasi-identifiers, and by a number if several people share the same values."""
    rows = quasi.select(pl.struct(pl.all()).struct.json_encode().alias("row"))
    order = pl.concat([rows, digests], how="horizontal").with_row_index("place")
    order = order.sort("row", *digests.columns[1:], "class")
    return order.with_columns(pl.int_range(pl.len()).over("row")).sort("place").select("row", "literal")
