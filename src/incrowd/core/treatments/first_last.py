"""Texts of which the characters at an end are kept."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar, Literal

from incrowd.core.lazy import pl
from incrowd.core.parameters import parameter
from incrowd.core.treatments.base import LINKED, Batch, Treatment


@dataclass(frozen=True)
class _KeepsEnd(Treatment):
    """Base of treatments that keep some characters at an end and mask the others."""

    characters: int = parameter("how many characters are kept", kind=int, low=1)
    keep_length: bool = parameter("a mark for every masked character, else three", kind=bool, default=True)
    linked: str | None = LINKED.field(None)

    paper: ClassVar[str] = "ENISA 2019"
    no_promise: ClassVar[str] = "What is kept may still be rare: masks promise nothing about that."
    for_quasi: ClassVar[bool] = True
    end: ClassVar[Literal["first", "last"]]

    @property
    def promise(self) -> str:
        """Say how much is kept."""
        return f"keeps its {self.end} {self.characters} characters"

    def treat(self, batch: Batch) -> pl.Series:
        """Mask the rows."""
        text = pl.lit(batch.values)
        all_marks = text.str.replace_all("(?s).", "*")
        marks = all_marks.str.slice(self.characters) if self.keep_length else pl.lit("***")
        first, last = text.str.head(self.characters) + marks, marks + text.str.tail(self.characters)
        longer = pl.when(text.str.len_chars() > self.characters).then(first if self.end == "first" else last)
        masked = longer.otherwise(all_marks if self.keep_length else pl.lit("***"))
        return pl.select(pl.when(text.is_not_null()).then(masked)).to_series()


class KeepFirst(_KeepsEnd):
    """Keep the first characters of a text and mask the others.

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
    end: ClassVar[Literal["first", "last"]] = "first"


class KeepLast(_KeepsEnd):
    """Keep the last characters of a text and mask the others.

    A text that is not longer than what is kept is masked whole.

    Parameters
    ----------
    characters, keep_length, linked
        As in `KeepFirst`.

    Examples
    --------
    >>> import incrowd as ic
    >>> import polars as pl
    >>> ic.KeepLast(2).treat(ic.treatments.Batch(pl.Series(["0151 2345", "45"]))).to_list()
    ['*******45', '**']

    References
    ----------
    ENISA, Pseudonymisation techniques and best practices, 2019, section 5 (masking).
    """

    name: ClassVar[str] = "keep-last"
    summary: ClassVar[str] = "keeps the last characters and masks the others"
    end: ClassVar[Literal["first", "last"]] = "last"
