"""Keeping the first characters."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from incrowd.lazy import pl
from incrowd.treatments._masking import KeepsPart


@dataclass(frozen=True)
class KeepFirst(KeepsPart):
    """Keep the first characters of a text, and mask the others.

    A text that is not longer than what is kept is masked whole.

    Parameters
    ----------
    characters
        How many characters are kept, >= 1.
    keep_length
        Whether there is a mark for every masked character. Else there are three.
    linked
        Columns that tell the same and go along; see "Columns that tell the same" on the page of treatments.

    Examples
    --------
    >>> import incrowd as ic
    >>> import polars as pl
    >>> ic.KeepFirst(2).treat(ic.treatments.Batch(pl.Series(["80331", "80"]))).to_list()
    ['80***', '**']

    References
    ----------
    ENISA, Pseudonymisation techniques and best practices, 2019, section 5 (masking).
    """

    name: ClassVar[str] = "keep-first"
    summary: ClassVar[str] = "keeps the first characters and masks the others"
    end: ClassVar[str] = "first"

    def masked(self, text: pl.Expr, marks: pl.Expr) -> pl.Expr:
        """Keep the first characters."""
        return text.str.head(self.characters) + marks
