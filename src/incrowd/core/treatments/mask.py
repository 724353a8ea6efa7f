"""Masking the matches of a pattern."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from incrowd.core.errors import ParameterError
from incrowd.core.lazy import pl
from incrowd.core.parameters import parameter
from incrowd.core.treatments.base import LINKED, Batch, Treatment


@dataclass(frozen=True)
class Mask(Treatment):
    """Mask the matches of a pattern in a text.

    Everything that the pattern finds becomes one mark. A text in which it finds nothing is masked whole, so
    that a value of another form does not leave as it is.

    Parameters
    ----------
    pattern
        A regular expression without lookaround and references back, as Rust and RE2 read it.
    mark
        What stands for it; the text of each find becomes one mark.
    linked
        Columns that tell the same and go along; see "Columns that tell the same" on the page of treatments.

    Examples
    --------
    >>> import incrowd as ic
    >>> import polars as pl
    >>> ic.Mask("[0-9]").treat(ic.treatments.Batch(pl.Series(["AB-12", "unknown"]))).to_list()
    ['AB-**', '*']

    References
    ----------
    ENISA, Pseudonymisation techniques and best practices, 2019, section 5 (masking).
    """

    pattern: str = parameter("a regular expression: what it finds is masked", kind=str)
    mark: str = parameter("what stands for each find", kind=str, default="*")
    linked: str | None = LINKED.field(None)

    name: ClassVar[str] = "mask"
    summary: ClassVar[str] = "masks what a pattern finds, and texts in which it finds nothing whole"
    paper: ClassVar[str] = "ENISA 2019"
    no_promise: ClassVar[str] = "What is kept may still be rare: masks promise nothing about that."
    for_quasi: ClassVar[bool] = True

    def __post_init__(self) -> None:
        super().__post_init__()
        try:
            blank = bool(pl.Series([""]).str.contains(self.pattern).item())
            again = bool(pl.Series([self.mark]).str.contains(self.pattern).item())
        except pl.exceptions.ComputeError:
            raise ParameterError(f"{self.name}: pattern is no regular expression that can be read") from None
        if blank:
            raise ParameterError(f"{self.name}: pattern finds the empty text, so it would mask nothing")
        if again:
            raise ParameterError(f"{self.name}: pattern finds the mark itself; take another mark")

    @property
    def promise(self) -> str:
        """Say which matches are masked."""
        return f"has everything masked that the pattern {self.pattern} finds"

    def treat(self, batch: Batch) -> pl.Series:
        """Mask the rows."""
        text = pl.lit(batch.values)
        replaced = text.str.replace_all(self.pattern, self.mark.replace("$", "$$"))
        masked = pl.when(text.str.contains(self.pattern)).then(replaced).otherwise(pl.lit(self.mark))
        return pl.select(pl.when(text.is_not_null()).then(masked)).to_series()
