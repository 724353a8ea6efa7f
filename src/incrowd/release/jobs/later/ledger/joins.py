"""Columns that join two releases: whoever joins them by a pseudonym sees the classes of both.

For example, people are released by sex and visits by ward, and both have the pseudonym of the person. Each
class has four people. Only one woman was in ward B.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

from incrowd.core.io.columns import column_named, columns_named
from incrowd.core.lazy import pl
from incrowd.core.reading.keys import ANY_KEY, key_texts
from incrowd.release.jobs.later.apply import AppliedBatch
from incrowd.release.jobs.later.ledger.exposure import RECORDS, ReleasePeople
from incrowd.release.jobs.make.release import Release

_OF_KEYS = ("unique-column", "unique-together", "repeated-id")
"""Points of columns that single out rows or people."""
_LONG = 12
"""Characters from which texts are not alike by chance."""
_SHARED = 0.5
"""Share of the values of the smaller release that the other has, from which short texts are the same keys."""


class Keys(NamedTuple):
    """An entry, and digests of its rows: ``class``, sensitive attributes, keys that may join, ``records``."""

    entry: Mapping[str, Any]
    rows: pl.DataFrame

    def people(self, digest: str) -> ReleasePeople:
        """Return the people by a key, each in the joint class of the person's rows."""
        others = [name for name in self.entry["joins"] if name != digest]
        rows = self.rows.drop(others).rename({digest: "person"}).drop_nulls("person")
        rows = rows.group_by(pl.exclude(RECORDS)).agg(column_named(RECORDS).sum())
        if self.entry["sets"]:
            return ReleasePeople.of_entry(self.entry, rows)
        return ReleasePeople.of_entry(self.entry, in_joint_classes(rows))._replace(linked=True)


class KeyTexts(NamedTuple):
    """The texts of a column that may join, and whether none of them is short enough to be alike by chance."""

    texts: pl.DataFrame
    long: bool


class Join(NamedTuple):
    """Releases that join: columns of the latest and of earlier ones, people, and the smallest joint class."""

    column: str
    others: tuple[str, ...]
    earlier: Mapping[int, ReleasePeople]
    latest: ReleasePeople
    least: int


def key_columns(release: Release | AppliedBatch) -> list[str]:
    """Return the columns that may join a release to others: pseudonyms, and columns with points of keys."""
    pseudonyms = [
        each.name
        for each in release.policy.schema.attributes
        if each.leaves and (how := each.treatment) is not None and how.for_person and hasattr(how, "key")
    ]
    pointed = [name for point in release.points if point.name in _OF_KEYS for name in point.columns]
    others = {each.name for each in (*release.policy.schema.quasi, *release.policy.schema.sensitive)}
    return [name for name in dict.fromkeys((*pseudonyms, *pointed)) if name not in others]


def key_values(release: Release | AppliedBatch, released: pl.DataFrame) -> dict[str, KeyTexts]:
    """Return the texts of the columns that may join, by name, each beside the name that has to be the same.

    Short texts without a treatment are numbers of rows in many tables: they join columns of one name alone.
    """
    treated = {each.name for each in release.policy.schema.attributes if each.treatment is not None}
    values = {}
    for name in key_columns(release):
        if name not in released.columns:
            continue
        texts = key_texts(released.select(column_named(name)))
        is_long = min(texts.to_series().drop_nulls().str.len_chars(), default=0) >= _LONG
        if not is_long and name not in treated and name.lower() in ANY_KEY:
            continue
        said = "" if is_long or name in treated else name
        values[name] = KeyTexts(texts.select(pl.lit(said).alias("name"), pl.first().alias("text")), is_long)
    return values


def joins_of(now: Keys, before: Sequence[Keys]) -> list[Join]:
    """Return the columns that join earlier releases to the latest one, the smallest joint classes first."""
    joins = []
    for digest, key in now.entry["joins"].items():
        values = now.rows[digest].drop_nulls().unique()
        earlier, others = {}, []
        for each in before:
            shares = {other: _share(values, each.rows[other]) for other in each.entry["joins"]}
            for other, its in each.entry["joins"].items():
                if (key["column"], its["column"]) == (now.entry["matched_by"], each.entry["matched_by"]):
                    continue  # People are compared by it anyway.
                least = 0.0 if key["long"] else _SHARED
                if 0 < shares[other] >= least and not _is_another(key, its, each.entry["joins"], shares):
                    earlier[each.entry["number"]] = each.people(other)
                    others.append(its["column"])
        if earlier:
            latest = now.people(digest)
            smallest = min(_fewest(each, latest) for each in earlier.values())
            joins.append(Join(key["column"], tuple(dict.fromkeys(others)), earlier, latest, smallest))
    return sorted(joins, key=lambda join: join.least)


def _share(values: pl.Series, others: pl.Series) -> float:
    """Return the share of the values of the smaller column that the other column has."""
    theirs = others.drop_nulls().unique()
    smaller = min(len(values), len(theirs))
    return float(values.is_in(theirs.implode()).sum()) / smaller if smaller else 0.0


def _is_another(
    key: Mapping[str, Any],
    its: Mapping[str, Any],
    joins: Mapping[str, Mapping[str, Any]],
    shares: Mapping[str, float],
) -> bool:
    """Say whether a key of linked tables is another key than one whose namesake shares as many values.

    Numbers from 1 have the same pseudonyms in each column: person 5 and visit 5.
    """
    name = key["column"].rpartition(".")[2]
    if its["column"].rpartition(".")[2] == name:
        return False
    share = next(shares[digest] for digest, each in joins.items() if each is its)
    namesakes = [digest for digest, each in joins.items() if each["column"].rpartition(".")[2] == name]
    of_linked = "." in key["column"] or any("." in each["column"] for each in joins.values())
    return of_linked and any(shares[digest] >= share for digest in namesakes)


def _fewest(earlier: ReleasePeople, latest: ReleasePeople) -> int:
    shared = ["person", *([latest.sets] if latest.sets and latest.sets == earlier.sets else [])]
    first, second = (each.classes.select(columns_named([*shared, "class"])) for each in (earlier, latest))
    both = first.unique().join(second.rename({"class": "second"}).unique(), on=shared)
    return min(
        both.select("person", "class", "second").unique().group_by("class", "second").len()["len"], default=0
    )


def in_joint_classes(digests: pl.DataFrame) -> pl.DataFrame:
    """Put each person into the class of all who have the same classes."""
    classes = pl.col("class").drop_nulls().unique().sort().bin.encode("hex").str.join()
    joined = digests.group_by("person").agg(classes.cast(pl.Binary).alias("joined"))
    class_of_person = pl.when(pl.col("class").is_not_null()).then("joined").alias("class")
    return digests.join(joined, on="person").with_columns(class_of_person).drop("joined")
