"""Keeping the first characters."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar

from incrowd.parameters import parameter
from incrowd.treatments.base import Batch, Treatment

if TYPE_CHECKING:
    import polars as pl

__all__ = ["KeepFirst"]


@dataclass(frozen=True)
class KeepFirst(Treatment):
    """Keep the first characters of a text, and mask the others.

    A text that is not longer than what is kept is masked whole.

    Parameters
    ----------
    characters
        How many characters are kept, >= 1.
    keep_length
        Whether there is a mark for every masked character. Else there are three.

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

    characters: int = parameter("how many characters are kept", kind=int, low=1)
    keep_length: bool = parameter("a mark for every masked character, else three", kind=bool, default=True)

    name: ClassVar[str] = "keep-first"
    summary: ClassVar[str] = "keeps the first characters and masks the others"
    paper: ClassVar[str] = "ENISA 2019"
    no_promise: ClassVar[str] = "What is kept may still be rare: masks promise nothing about that."
    for_quasi: ClassVar[bool] = True

    @property
    def promise(self) -> str:
        """Say how much is kept."""
        return f"keeps its first {self.characters} characters"

    def treat(self, batch: Batch) -> pl.Series:
        """Mask the rows."""
        import polars as pl

        text = pl.lit(batch.values)
        count = text.str.len_chars()
        stars = text.str.slice(self.characters).str.replace_all("(?s).", "*")
        rest = stars if self.keep_length else pl.lit("***")
        masked = text.str.replace_all("(?s).", "*") if self.keep_length else rest
        kept = text.str.slice(0, self.characters) + rest
        found = pl.when(text.is_null()).then(None).when(count > self.characters).then(kept).otherwise(masked)
        return pl.select(found).to_series()
