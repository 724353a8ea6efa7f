"""Groups of records with every value of a signature once, and the counterfeits that a release needs.

The four phases are those of Xiao and Tao (m-Invariance, SIGMOD 2007): division, balancing, assignment and
split. Values are numbers. A bucket has the records of one signature; its shortest lists are filled up with
counterfeits, so a bucket is as high as its longest list.
"""

from __future__ import annotations

import math
import os
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, fields
from pathlib import Path
from typing import Any, Self

from incrowd.core.io.targets import writing
from incrowd.core.lazy import NDArray, np, pl
from incrowd.release.jobs.make.anatomize import COUNT
from incrowd.release.jobs.make.release import Release

COUNTERFEIT = -1
Signature = tuple[int, ...]
Bucket = dict[int, list[int]]
"""The records of each value of a signature."""
_PART = 2
"""How many groups a part of new records has at least. More groups mean fewer signatures, so fewer
counterfeits in the next release, and wider cells in this one."""


def buckets_of(
    values: NDArray[np.int64],
    earlier: Mapping[int, Signature],
    places: NDArray[np.float64],
    distinct: int,
    m: int,
    random: np.random.Generator,
) -> list[Bucket]:
    """Assign every record to a bucket of at least m values.

    Parameters
    ----------
    values
        int64[records]: the value of each record, 0 <= value < known, of at least m known ones.
    earlier
        The signatures of records that were in an earlier release; each has the value of the record.
    places
        float64[records, quasi-identifiers], 0..1: where records lie.
    random
        Decides which of the new records with a value go where.
    """
    buckets: dict[Signature, Bucket] = {}
    pool: Bucket = {value: [] for value in range(distinct)}
    for record in random.permutation(len(values)).tolist():
        into = pool
        if record in earlier:
            into = buckets.setdefault(earlier[record], {value: [] for value in earlier[record]})
        into[int(values[record])].append(record)
    _balance(buckets, pool, places, m)
    new_records = np.array([record for records in pool.values() for record in records], np.int64)
    for part in _parts(new_records, values, places, m):
        near: Bucket = {}
        for record, value in zip(part.tolist(), values[part].tolist(), strict=True):
            near.setdefault(value, []).append(record)
        _fill(near, distinct, m)
        while any(near.values()):
            _take_layers(buckets, near, m)
    return [
        {value: [each for each in records if each != COUNTERFEIT] for value, records in bucket.items()}
        for bucket in buckets.values()
    ]


def _parts(
    records: NDArray[np.int64], values: NDArray[np.int64], places: NDArray[np.float64], m: int
) -> Iterator[NDArray[np.int64]]:
    """Divide records into parts of near records without additional counterfeits."""
    if len(records) >= 2 * _PART * m:
        lacking = _lacking(values[records], m)
        positions = places[records]
        for attribute in np.argsort(positions.min(axis=0) - positions.max(axis=0), kind="stable").tolist():
            place = positions[:, attribute]
            middle = np.median(place)
            for low in (place <= middle, place < middle):
                sides = records[low], records[~low]
                if min(map(len, sides)) < _PART * m:
                    continue
                if sum(_lacking(values[side], m) for side in sides) <= lacking:
                    for side in sides:
                        yield from _parts(side, values, places, m)
                    return
    if len(records):
        yield records


def _lacking(values: NDArray[np.int64], m: int) -> int:
    """Count the counterfeits needed so that no value is in more than 1/m of the records."""
    return max(m * int(np.bincount(values).max()) - len(values), 0)


def _balance(buckets: Mapping[Signature, Bucket], pool: Bucket, places: NDArray[np.float64], m: int) -> None:
    """Fill the shorter lists of buckets with new records while the rest can form groups.

    The record that is taken is the nearest to one of the longest list.
    """
    gaps: dict[int, list[tuple[list[int], int]]] = {}
    for bucket in buckets.values():
        longest = max(bucket.values(), key=len)
        for value, records in bucket.items():
            gaps.setdefault(value, []).extend((records, partner) for partner in longest[len(records) :])
    counts = {value: len(records) for value, records in pool.items()}
    remaining = sum(counts.values())
    while candidates := [value for value, lists in gaps.items() if lists and counts[value]]:
        value = max(candidates, key=counts.__getitem__)
        before = max(counts.values())
        counts[value] -= 1
        remaining -= 1
        after = max(counts.values())
        if m * after > remaining and after == before:
            # All other candidates are as rare or rarer, so none of them can be spared.
            return
        records, partner = gaps[value].pop()
        distance = np.abs(places[pool[value]] - places[partner]).sum(axis=1)
        records.append(pool[value].pop(int(distance.argmin())))


def _fill(pool: Bucket, distinct: int, m: int) -> None:
    """Add counterfeits of frequent values until no value is in more than 1/m of the pool."""
    longest = max(map(len, pool.values()))
    lacking = m * longest - sum(map(len, pool.values()))
    if lacking <= 0:
        return
    pool |= {value: [] for value in range(distinct) if value not in pool}
    for value in sorted(pool, key=lambda value: -len(pool[value])):
        added = max(min(lacking, longest - len(pool[value])), 0)
        pool[value] += [COUNTERFEIT] * added
        lacking -= added


def _take_layers(buckets: dict[Signature, Bucket], pool: Bucket, m: int) -> None:
    """Move as many records as possible of at least m frequent values into a bucket.

    No value is in more than 1/m of the pool, before and after. With m + slack values there is always a way.
    """
    order = sorted((value for value in pool if pool[value]), key=lambda value: (-len(pool[value]), value))
    counts = [*(len(pool[value]) for value in order), 0]
    remaining, largest = sum(counts), counts[0]
    slack = remaining - m * largest
    for width in range(m, len(order) + 1):
        height = min(counts[width - 1], (remaining - m * counts[width]) // width)
        if width > m:
            height = min(height, slack // (width - m))
        if height > 0:
            break
    signature = tuple(sorted(order[:width]))
    bucket = buckets.setdefault(signature, {value: [] for value in signature})
    for value in signature:
        bucket[value] += pool[value][-height:]
        del pool[value][-height:]


def groups_of(bucket: Bucket, places: NDArray[np.float64]) -> Iterator[list[tuple[int, int]]]:
    """Split a bucket into groups of near records: pairs of value and record, each value once.

    Parameters
    ----------
    places
        float64[records, quasi-identifiers], 0..1: where records lie.
    """
    height = max(map(len, bucket.values()))
    if height == 1:
        yield [(value, records[0] if records else COUNTERFEIT) for value, records in bucket.items()]
        return
    attributes = range(places.shape[1])
    halves = (_halves(bucket, places, attribute, height) for attribute in attributes)
    both = min(halves, key=lambda both: math.fsum(_width(half, places) for half in both))
    for half in both:
        yield from groups_of(half, places)


def _halves(
    bucket: Bucket, places: NDArray[np.float64], attribute: int, height: int
) -> tuple[Bucket, Bucket]:
    """Split a bucket near the median of an attribute, with counterfeits for missing records."""
    lower, place = height // 2, places[:, attribute]
    middle = float(np.median(place[[record for records in bucket.values() for record in records]]))
    low: Bucket = {}
    high: Bucket = {}
    for value, records in bucket.items():
        ordered = sorted(records, key=place.__getitem__)
        below = sum(1 for record in ordered if place[record] <= middle)
        cut = min(max(below, len(ordered) - (height - lower)), lower, len(ordered))
        low[value], high[value] = ordered[:cut], ordered[cut:]
    return low, high


def _width(bucket: Bucket, places: NDArray[np.float64]) -> float:
    """Return the width of a bucket's positions, times the number of records."""
    positions = places[[record for records in bucket.values() for record in records]]
    return len(positions) * float((positions.max(axis=0) - positions.min(axis=0)).sum())


COUNTS = "counterfeits.csv"


@dataclass(frozen=True, kw_only=True, repr=False)
class SeriesRelease(Release):
    """A release of `next_release`, m-invariant with the earlier releases of a ledger.

    The release has all records, also counterfeit records. Figures before and after count these, too.

    Attributes
    ----------
    counterfeits
        A Polars frame with ``group`` and ``count``: how many records of a class stand for nobody. Publish it,
        so that whoever counts records can take them off. Classes without counterfeits are not in it.
    m
        How many values each signature has at least.
    signatures
        The number of distinct signatures.
    changed
        The number of people who are not in the release, because their signature lacks the value they have.
    came
        The raw rows, counterfeit ones among them: do not hand them out.
    keys
        The columns of `came` that name a person.
    """

    counterfeits: pl.DataFrame
    m: int
    signatures: int
    changed: int
    came: pl.DataFrame = field(repr=False)
    keys: tuple[str, ...]

    @classmethod
    def of_release(cls, release: Release, **settings: Any) -> Self:
        """Return a release with the settings of a series."""
        return cls(**{each.name: getattr(release, each.name) for each in fields(Release)} | settings)

    @property
    def counterfeit_records(self) -> int:
        """The number of counterfeit records."""
        return int(self.counterfeits[COUNT].sum())

    def series(self) -> dict[str, int]:
        """Return the figures of the series."""
        return {
            "m": self.m,
            "signatures": self.signatures,
            "counterfeits": self.counterfeit_records,
            "changed": self.changed,
        }

    def to_dict(self) -> dict[str, Any]:
        """Return plain data for JSON: the data of `Release.to_dict`, and ``series``."""
        return super().to_dict() | {"series": self.series()}

    def sentences(self, *, conditions: bool = True) -> list[str]:
        """Describe the release as `Release.sentences` does, and the counterfeit records."""
        first, *others = super().sentences(conditions=conditions)
        series = (
            f"m-invariance holds: each of the {self.signatures:,} signatures has {self.m} values or more. "
            f"Of the records, {self.counterfeit_records:,} are counterfeit and stand for nobody"
            + (
                f"; {self.changed:,} people are left out, because their value changed."
                if self.changed
                else "."
            )
        )
        return [first, series, *others]

    def write_counterfeits(self, path: str | os.PathLike[str], *, force: bool = False) -> None:
        """Write `counterfeits` as a CSV.

        Raises
        ------
        TableError
            When the file exists (unless `force`) or cannot be written.
        """
        with writing(path, force=force, sources=self.sources) as place:
            self.counterfeits.write_csv(place)

    def _save_beside(self, folder: Path) -> None:
        self.write_counterfeits(folder / COUNTS)
