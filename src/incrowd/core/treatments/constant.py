"""A constant in place of every value."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from incrowd.core.lazy import pl
from incrowd.core.parameters import parameter
from incrowd.core.treatments.base import NOTHING_LEFT, Batch, Treatment


@dataclass(frozen=True)
class Constant(Treatment):
    """Replace every value, even a missing value, by the same text.

    So the column is still there for a program that wants it, and tells nothing.

    Parameters
    ----------
    text
        What stands in every row.

    Examples
    --------
    >>> import incrowd as ic
    >>> import polars as pl
    >>> ic.Constant("n/a").treat(ic.treatments.Batch(pl.Series(["Fell at home", None]))).to_list()
    ['n/a', 'n/a']

    References
    ----------
    45 CFR 164.514(b)(2) (HIPAA Safe Harbor): identifiers in free text have to go, too.
    """

    text: str = parameter("what stands in every row", kind=str)

    name: ClassVar[str] = "constant"
    summary: ClassVar[str] = "replaces every value by one text, missing values too"
    paper: ClassVar[str] = "HIPAA Safe Harbor"
    unlinked: ClassVar[str] = NOTHING_LEFT

    @property
    def promise(self) -> str:
        """Describe the constant."""
        return "is the same text in every row"

    def treat(self, batch: Batch) -> pl.Series:
        """Replace the rows."""
        return pl.Series([self.text], dtype=pl.String).new_from_index(0, len(batch.values))
