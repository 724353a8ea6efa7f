"""Signatures of people in a series of releases: the sensitive values that their class has."""

from __future__ import annotations

from collections.abc import Sequence

from incrowd.core.io.columns import column_named
from incrowd.core.lazy import pl

PERSON, CLASS = "person", "class"


def signatures_of(people: pl.DataFrame) -> pl.DataFrame:
    """Return the signature of each person of a release: ``person``, ``signature``, ``even``.

    Parameters
    ----------
    people
        A row for each record, counterfeit ones without a person: ``person``, ``class``, and one column of
        sensitive values.

    Returns
    -------
    A Polars frame with a row for each record of a person. ``signature`` has the distinct values of the class,
    in order. ``even`` is true if the class has each of them once.
    """
    [value] = (name for name in people.columns if name not in (PERSON, CLASS))
    counted = people.group_by(CLASS, column_named(value)).agg(pl.len().alias("records"))
    classes = counted.group_by(CLASS).agg(
        column_named(value).sort().alias("signature"), (pl.col("records").max() == 1).alias("even")
    )
    return people.drop_nulls(PERSON).join(classes, on=CLASS).select(PERSON, "signature", "even")


def without_m_invariance(releases: Sequence[pl.DataFrame], m: int) -> pl.Series:
    """Return the people of the last release whose signature is too small, uneven, or another than before.

    A release in which nobody has a signature like that, beside releases of the same kind, is m-invariant
    (Xiao and Tao, m-Invariance, SIGMOD 2007).
    """
    *earlier, latest = (signatures_of(each) for each in releases)
    wrong = latest.filter((pl.col("signature").list.len() < m) | ~pl.col("even"))
    found = [wrong[PERSON]]
    for each in earlier:
        both = latest.join(each, on=PERSON, suffix=" before")
        found.append(both.filter(pl.col("signature") != pl.col("signature before"))[PERSON])
    return pl.concat(found).unique()
