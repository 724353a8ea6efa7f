"""Codes that differ only in typing, written the same way."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from incrowd.core.lazy import pl
from incrowd.core.treatments.base import Batch, Treatment


@dataclass(frozen=True)
class Fold(Treatment):
    """Write codes that differ only in case, blanks or the form of letters the same way.

    A text becomes small letters in the usual form of Unicode (NFKC), without blanks around it and with one
    blank between words. Else ``Flu``, ``flu`` and ``"flu "`` count as three values, so that a class seems to
    have several.

    Examples
    --------
    >>> import incrowd as ic
    >>> import polars as pl
    >>> ic.Fold().treat(ic.treatments.Batch(pl.Series(["Flu", " flu", "FLU\u00a0", "hay  fever"]))).to_list()
    ['flu', 'flu', 'flu', 'hay fever']

    References
    ----------
    Unicode Standard Annex 15, Unicode Normalization Forms.
    """

    name: ClassVar[str] = "fold"
    summary: ClassVar[str] = "writes codes that differ only in case, blanks or the form of letters one way"
    paper: ClassVar[str] = "Unicode Annex 15"
    no_promise: ClassVar[str] = "Values are released as they are, but for how they are typed."
    for_quasi: ClassVar[bool] = True

    @property
    def promise(self) -> str:
        """Say how the texts are written."""
        return "is written in small letters, with one blank between words"

    def treat(self, batch: Batch) -> pl.Series:
        """Fold the texts of the rows."""
        return fold_texts(batch.values)


def look_alikes(texts: pl.Series) -> int:
    """Count the distinct texts that differ from another text only in typing.

    Examples
    --------
    >>> look_alikes(pl.Series(["flu", "Flu", "flu ", "cold"]))
    3
    """
    alike = fold_texts(texts)
    return int((alike.is_duplicated() & (alike != "")).sum())


def fold_texts(texts: pl.Series) -> pl.Series:
    """Return texts in small letters and the form NFKC, with a blank between words and none around.

    Examples
    --------
    >>> fold_texts(pl.Series(["Ａ01", "a01 ", "A\u00a0 01"])).to_list()
    ['a01', 'a01', 'a 01']
    """
    plain = texts.str.normalize("NFKC").str.to_lowercase().str.normalize("NFKC")
    return plain.str.replace_all(r"[\s\u{200b}]+", " ").str.strip_chars(" ")
