"""The people exposed by several releases, through intersection and difference of classes."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple, Self

from incrowd.core.io.columns import column_named, columns_named
from incrowd.core.lazy import pl

RECORDS = "records"
"""The column that counts records that are alike."""


class ReleasePeople(NamedTuple):
    """The people of a release, with the promised limits.

    Attributes
    ----------
    people
        Digests: ``person`` (null of a counterfeit record), ``class`` (null of a suppressed one), and a column
        for each sensitive attribute. ``records`` counts records that are alike; without it, each row is one.
    k
        How many people a group has at least.
    least
        How many distinct values a group has at least, by the column of digests.
    series
        Whether it is one of a series of m-invariant releases.
    linked
        Whether the rows of a person can be joined.
    sets
        Of linked tables of which few rows are known the column that says which rows a set has: a person has
        several sets, each in a class. Releases of the same columns have the same, and of a set that both
        show, both classes are known. What others rule out of the values of such classes is not deduced.
    """

    people: pl.DataFrame
    k: int
    least: Mapping[str, int]
    series: bool = False
    linked: bool = False
    sets: str | None = None

    @classmethod
    def of_entry(cls, entry: Mapping[str, Any], people: pl.DataFrame) -> Self:
        """Return the people of an entry of a ledger."""
        return cls(people, entry["k"], entry["l"], bool(entry["m"]), entry["linked"], entry["sets"])

    @property
    def classes(self) -> pl.DataFrame:
        """The distinct digests of people with a class."""
        return self.people.drop_nulls(["person", "class"]).drop(RECORDS, strict=False).unique()


def strictest(releases: Sequence[ReleasePeople]) -> tuple[int, dict[str, int]]:
    """Return the largest `ReleasePeople.k` of several releases, and the largest `least` of each column."""
    least: dict[str, int] = {}
    for each in releases:
        least |= {name: max(number, least.get(name, 1)) for name, number in each.least.items()}
    return max(each.k for each in releases), least


def exposed_by_intersection(releases: Sequence[ReleasePeople]) -> pl.Series:
    """Return people of the last release with too few people or values in the person's joint classes.

    A person is compared with those who are in the same releases, and there in the same classes. The limits
    are the strictest of these releases. A person of no other release is left out: the last release was judged
    alone.
    """
    *earlier, latest = (each.classes for each in releases)
    persons = latest["person"].unique()
    if not earlier:
        return persons.clear()
    flags = [persons.is_in(each["person"].implode()).alias(f"in {n}") for n, each in enumerate(earlier)]
    exposed_people = [persons.clear()]
    for pattern, group in persons.to_frame().with_columns(flags).group_by([flag.name for flag in flags]):
        if any(pattern):
            releases_with = [number for number, is_in in enumerate((*pattern, True)) if is_in]
            limits = strictest([releases[number] for number in releases_with])
            class_tables = [
                (*earlier, latest)[number].rename({"class": f"class {number}"}) for number in releases_with
            ]
            joint = persons.to_frame()
            for number, each in zip(releases_with, class_tables, strict=True):
                joint = _with_classes(joint, each, f"class {number}", releases[number].sets)
            # Somebody may have several sets in the same classes.
            joint = joint.select("person", pl.selectors.starts_with("class ")).unique()
            exposed = _in_small_groups(joint, class_tables, limits)
            exposed_people.append(exposed.filter(exposed.is_in(group["person"].implode())))
    return pl.concat(exposed_people).unique()


def _with_classes(joint: pl.DataFrame, classes: pl.DataFrame, name: str, sets: str | None) -> pl.DataFrame:
    """Add the classes of a release, each beside those of the same set of known rows.

    Who has no set in common is known by each set in each release: the keys of rows may have changed.
    """
    known = classes.select(columns_named(["person", *([sets] if sets else []), name])).unique()
    if sets is None or sets not in joint.columns:
        return joint.join(known, on="person")
    same = joint.join(known, on=["person", sets])
    others = joint.join(same, on="person", how="anti").join(known.drop(sets), on="person")
    return pl.concat([same, others.select(columns_named(same.columns))])


def exposed_by_difference(whole: ReleasePeople, parts: ReleasePeople) -> pl.Series:
    """Return the people left when classes of a release are taken from a class of another.

    Whoever knows a class of ten people, and in another release one of nine of them, knows all of the tenth.
    """
    whole_classes = whole.classes.select("person", "class").unique()
    part = parts.classes.select("person", pl.col("class").alias("part")).unique()
    both = whole_classes.join(part, on="person")
    inside = both.group_by("class", "part").agg(pl.len().alias("size"))
    inside = inside.join(part.group_by("part").agg(pl.len().alias("size")), on=["part", "size"])
    taken = both.join(inside, on=["class", "part"], how="semi")
    rest = whole_classes.join(inside, on="class", how="semi").join(taken, on=["person", "class"], how="anti")
    return _in_small_groups(rest, [whole.classes], strictest([whole, parts]))


def exposed_together(earlier: ReleasePeople, latest: ReleasePeople) -> pl.Series:
    """Return the people exposed by two releases together, by intersection or by difference."""
    exposed = [exposed_by_intersection([earlier, latest])]
    # Whoever knows few rows of a person does not know what other rows the person lacks.
    exposed += [
        exposed_by_difference(*both)
        for both in ((latest, earlier), (earlier, latest))
        if both[1].sets is None
    ]
    return pl.concat(exposed).unique()


def _in_small_groups(
    people: pl.DataFrame, releases: Sequence[pl.DataFrame], limits: tuple[int, Mapping[str, int]]
) -> pl.Series:
    """Return the people in groups of fewer than k people, or of too few values in a release."""
    (k, least), groups = limits, people.columns[1:]
    small = [people.group_by(groups).agg(pl.len().alias("size")).filter(pl.col("size") < k).drop("size")]
    for release in releases:
        on = [name for name in people.columns if name in release.columns]
        for column in least.keys() & set(release.columns):
            # Rows of linked tables have values of their own columns alone.
            told = release.select(columns_named([*on, column])).drop_nulls(column).unique()
            records = people.join(told, on=on)
            values = records.group_by(groups).agg(column_named(column).n_unique())
            small.append(values.filter(column_named(column) < least[column]).drop(column))
    return people.join(pl.concat(small).unique(), on=groups, how="semi")["person"].unique()
