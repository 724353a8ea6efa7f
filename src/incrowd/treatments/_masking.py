"""The base class of treatments that keep a part of a text."""

from __future__ import annotations

from abc import abstractmethod
from dataclasses import dataclass
from typing import ClassVar

from incrowd.lazy import pl
from incrowd.parameters import parameter
from incrowd.treatments.base import LINKED, Batch, Treatment


@dataclass(frozen=True)
class KeepsPart(Treatment):
    """Base of treatments that keep some characters at one end, and mask the others."""

    characters: int = parameter("how many characters are kept", kind=int, low=1)
    keep_length: bool = parameter("a mark for every masked character, else three", kind=bool, default=True)
    linked: str | None = LINKED.field(None)

    paper: ClassVar[str] = "ENISA 2019"
    no_promise: ClassVar[str] = "What is kept may still be rare: masks promise nothing about that."
    for_quasi: ClassVar[bool] = True
    end: ClassVar[str]

    @property
    def promise(self) -> str:
        """Say how much is kept."""
        return f"keeps its {self.end} {self.characters} characters"

    @abstractmethod
    def masked(self, text: pl.Expr, marks: pl.Expr) -> pl.Expr:
        """Join the kept part of a text and the marks for the rest."""

    def treat(self, batch: Batch) -> pl.Series:
        """Mask the rows."""
        text = pl.lit(batch.values)
        all_marks = text.str.replace_all("(?s).", "*")
        marks = all_marks.str.slice(self.characters) if self.keep_length else pl.lit("***")
        found = (
            pl.when(text.is_null())
            .then(None)
            .when(text.str.len_chars() > self.characters)
            .then(self.masked(text, marks))
            .otherwise(all_marks if self.keep_length else pl.lit("***"))
        )
        return pl.select(found).to_series()
