"""A release of a series, and the number of counterfeit records in each class."""

from __future__ import annotations

import os
from dataclasses import dataclass, field, fields
from pathlib import Path
from typing import Any, Self

from incrowd.core.io.targets import writing
from incrowd.core.lazy import pl
from incrowd.release.jobs.anatomize import COUNT
from incrowd.release.jobs.release import Release

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
    def of(cls, release: Release, **settings: Any) -> Self:
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
