"""Dates truncated to the first day of a week, month, quarter or year."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from incrowd.core.lazy import pl
from incrowd.core.parameters import parameter
from incrowd.core.treatments.base import LINKED, Batch, Reads, Treatment

_EVERY = {"week": "1w", "month": "1mo", "quarter": "1q", "year": "1y"}


@dataclass(frozen=True)
class TruncateDates(Treatment):
    """Replace a date by the first day of the week (Monday), month, quarter or year.

    Parameters
    ----------
    to
        ``week``, ``month``, ``quarter`` or ``year``.
    linked
        Columns of dates that move by as many days.

    Examples
    --------
    >>> import incrowd as ic
    >>> import polars as pl
    >>> table = pl.DataFrame({"age": [1, 1], "seen": ["2020-03-05", "2020-03-31"]})
    >>> schema = ic.Schema(["age"], insensitive=["seen"], treatments={"seen": ic.TruncateDates("month")})
    >>> ic.anonymize(table, schema, "k-anonymity:2").table["seen"].to_list()
    ['2020-03-01', '2020-03-01']

    References
    ----------
    45 CFR 164.514(b)(2) (HIPAA Safe Harbor): of dates only the year may stay.
    """

    to: str = parameter("what dates are cut to", kind=str, choices=tuple(_EVERY), default="month")
    linked: str | None = LINKED.field(None)

    name: ClassVar[str] = "truncate-dates"
    summary: ClassVar[str] = "replaces dates by the first day of their week, month, quarter or year"
    paper: ClassVar[str] = "HIPAA Safe Harbor"
    reads: ClassVar[Reads] = "date"
    no_promise: ClassVar[str] = "HIPAA Safe Harbor lets only years stay."
    for_quasi: ClassVar[bool] = True
    moves_dates: ClassVar[bool] = True

    @property
    def promise(self) -> str:
        """Say which part of a date is kept."""
        return f"is the first day of its {self.to}"

    def treat(self, batch: Batch) -> pl.Series:
        """Cut the rows."""
        days = batch.values.cast(pl.Int32).cast(pl.Date)
        return days.dt.truncate(_EVERY[self.to]).cast(pl.Int32).cast(pl.Int64)

    def along(self, days: pl.Series, lead: Batch) -> pl.Series:
        """Move linked days as far as the lead's days were truncated."""
        return days + (self.treat(lead) - lead.values)
