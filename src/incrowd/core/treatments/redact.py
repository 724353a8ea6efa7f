"""Redaction."""

from __future__ import annotations

from typing import ClassVar

from incrowd.core.lazy import pl
from incrowd.core.treatments.base import NOTHING_LEFT, Batch, Treatment

REDACTED = "[redacted]"


class Redact(Treatment):
    """Replace every value by ``[redacted]``, leaving missing values missing.

    So it stays visible who had a value. This is what can be done with free text: names and places that it
    mentions cannot all be found in it.

    Examples
    --------
    >>> import incrowd as ic
    >>> import polars as pl
    >>> ic.Redact().treat(ic.treatments.Batch(pl.Series(["Fell at home", None]))).to_list()
    ['[redacted]', None]

    References
    ----------
    45 CFR 164.514(b)(2) (HIPAA Safe Harbor): identifiers in free text have to go, too.
    """

    name: ClassVar[str] = "redact"
    summary: ClassVar[str] = "replaces every value by [redacted]; missing values stay missing"
    paper: ClassVar[str] = "HIPAA Safe Harbor"
    unlinked: ClassVar[str] = NOTHING_LEFT
    no_promise: ClassVar[str] = "It still tells who had a value."

    @property
    def promise(self) -> str:
        """Say that the mark of redaction replaces every value."""
        return f"is replaced by {REDACTED}"

    def treat(self, batch: Batch) -> pl.Series:
        """Replace the rows."""
        return pl.select(
            pl.when(pl.lit(batch.values).is_null()).then(None).otherwise(pl.lit(REDACTED))
        ).to_series()
