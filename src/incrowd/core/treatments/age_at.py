"""The age at an event in place of a date of birth."""

from __future__ import annotations

import datetime as dt
import re
from dataclasses import dataclass
from typing import ClassVar

from incrowd.core.errors import ParameterError
from incrowd.core.lazy import pl
from incrowd.core.parameters import parameter
from incrowd.core.treatments.base import LINKED, Batch, Reads, Treatment

_DAY = re.compile(r"[0-9]{4}-[0-9]{2}-[0-9]{2}")


@dataclass(frozen=True)
class AgeAt(Treatment):
    """Replace a date of birth by the age in whole years at an event.

    Whoever is older than a limit is one year older than it: with the usual limit of 89, an age of 90 means 90
    or more. An event before the birth gives a missing age. Born on 29 February, people are a year older on
    1 March of other years.

    Parameters
    ----------
    event
        The column with the date of the event, or a day such as ``2024-12-31``.
    over
        The oldest age that is told.
    linked
        Columns that tell the same and go along; see "Columns that tell the same" on the page of treatments.

    Examples
    --------
    >>> import incrowd as ic
    >>> import polars as pl
    >>> table = pl.DataFrame({"sex": ["f", "f"], "born": ["1950-06-01", "1901-01-01"]})
    >>> schema = ic.Schema(["sex"], insensitive=["born"], treatments={"born": ic.AgeAt("2020-05-31")})
    >>> sorted(ic.anonymize(table, schema, "k-anonymity:2").table["born"])
    ['69', '90']

    References
    ----------
    45 CFR 164.514(b)(2)(i)(C) (HIPAA Safe Harbor): ages over 89 are one group.
    """

    event: str = parameter("column of the event's date, or a day", kind=str)
    over: int = parameter("oldest age that is told", kind=int, low=0, high=150, default=89)
    linked: str | None = LINKED.field(None)

    name: ClassVar[str] = "age-at"
    summary: ClassVar[str] = "replaces dates of birth by the age at an event, with the oldest as one group"
    paper: ClassVar[str] = "HIPAA Safe Harbor"
    reads: ClassVar[Reads] = "date"
    gives: ClassVar[Reads] = "number"
    no_promise: ClassVar[str] = (
        "With the exact date of the event beside it, the age tells the year of birth but for one."
    )
    for_quasi: ClassVar[bool] = True

    def __post_init__(self) -> None:
        super().__post_init__()
        if self._is_day:
            try:
                dt.date.fromisoformat(self.event)
            except ValueError:
                raise ParameterError(f"{self.name}: event {self.event} is no day of the calendar") from None

    @property
    def _is_day(self) -> bool:
        return _DAY.fullmatch(self.event) is not None

    @property
    def promise(self) -> str:
        """Describe how the age is counted, and which ages form a group."""
        return f"is the age at {self.event}, where {self.over + 1} means {self.over + 1} or more"

    @property
    def columns(self) -> tuple[str, ...]:
        """The event."""
        return () if self._is_day else (self.event,)

    def reads_of(self, column: str) -> Reads:
        """Read the event as a date."""
        return "date"

    def type_of(self, came: pl.DataType) -> pl.DataType:
        """Return whole numbers."""
        return pl.Int64()

    def treat(self, batch: Batch) -> pl.Series:
        """Count the years of the rows."""
        born = pl.lit(batch.values.cast(pl.Int32).cast(pl.Date))
        if self._is_day:
            event = pl.lit(dt.date.fromisoformat(self.event))
        else:
            event = pl.lit(batch.beside[self.event].cast(pl.Int32).cast(pl.Date))
        # Months and days are compared as one number: 31 May as 531.
        later = event.dt.month().cast(pl.Int32) * 100 + event.dt.day() < (
            born.dt.month().cast(pl.Int32) * 100 + born.dt.day()
        )
        years = event.dt.year() - born.dt.year() - later.cast(pl.Int32)
        age = pl.when(years >= 0).then(pl.min_horizontal(years, pl.lit(self.over + 1)))
        ages = pl.select(pl.when(born.is_not_null() & event.is_not_null()).then(age)).to_series()
        return ages.cast(pl.Int64)
