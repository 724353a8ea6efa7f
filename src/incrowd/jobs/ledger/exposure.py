"""The people whom several releases expose: by intersection and by difference of their classes."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from incrowd.io.columns import column_named, columns_named
from incrowd.lazy import pl

Limits = tuple[int, Mapping[str, int]]
"""How many people a group must have, and how many distinct values per column of digests."""


def exposed_by_intersection(releases: Sequence[pl.DataFrame], limits: Limits) -> pl.Series:
    """Return the people of the last release who share all their classes with too few people or values.

    A person is compared with those who are in the same releases, and there in the same classes. A person of
    no other release is left out: the last release was judged alone.
    """
    *earlier, latest = releases
    seen = latest["person"].unique()
    flags = [seen.is_in(each["person"].implode()).alias(f"in {n}") for n, each in enumerate(earlier)]
    found = [seen.clear()]
    for pattern, who in seen.to_frame().with_columns(flags).group_by([flag.name for flag in flags]):
        if any(pattern):
            shown = [*(each for each, there in zip(earlier, pattern, strict=True) if there), latest]
            shown = [each.rename({"class": f"class {n}"}) for n, each in enumerate(shown)]
            joint = seen.to_frame()
            for number, each in enumerate(shown):
                joint = joint.join(each.select("person", f"class {number}").unique(), on="person")
            exposed = _in_small_groups(joint, shown, limits)
            found.append(exposed.filter(exposed.is_in(who["person"].implode())))
    return pl.concat(found).unique()


def exposed_by_difference(whole: pl.DataFrame, parts: pl.DataFrame, limits: Limits) -> pl.Series:
    """Return the people who are left when classes of a release are taken from a class that holds them.

    Whoever knows a class of ten people, and in another release one of nine of them, knows all of the tenth.
    """
    own = whole.select("person", "class").unique()
    part = parts.select("person", pl.col("class").alias("part")).unique()
    both = own.join(part, on="person")
    inside = both.group_by("class", "part").agg(pl.len().alias("size"))
    inside = inside.join(part.group_by("part").agg(pl.len().alias("size")), on=["part", "size"])
    taken = both.join(inside, on=["class", "part"], how="semi")
    rest = own.join(inside, on="class", how="semi").join(taken, on=["person", "class"], how="anti")
    return _in_small_groups(rest, [whole], limits)


def exposed_together(earlier: pl.DataFrame, latest: pl.DataFrame, limits: Limits) -> pl.Series:
    """Return the people whom two releases expose together, by intersection or by difference."""
    found = [exposed_by_intersection([earlier, latest], limits)]
    found += [exposed_by_difference(*both, limits) for both in ((latest, earlier), (earlier, latest))]
    return pl.concat(found).unique()


def _in_small_groups(people: pl.DataFrame, releases: Sequence[pl.DataFrame], limits: Limits) -> pl.Series:
    """Return the people in groups of fewer than k people, or of too few values in one of the releases."""
    (k, least), groups = limits, people.columns[1:]
    small = [people.group_by(groups).agg(pl.len().alias("size")).filter(pl.col("size") < k).drop("size")]
    for release in releases:
        on = [name for name in people.columns if name in release.columns]
        for column in least.keys() & set(release.columns):
            shown = people.join(release.select(columns_named([*on, column])).unique(), on=on)
            values = shown.group_by(groups).agg(column_named(column).n_unique())
            small.append(values.filter(column_named(column) < least[column]).drop(column))
    return people.join(pl.concat(small).unique(), on=groups, how="semi")["person"].unique()
