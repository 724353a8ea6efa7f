"""The parts of a codebook, and the base class of kinds of codebooks."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import ClassVar, Literal

Proposal = Literal["identifying", "weight", "quasi", ""]


@dataclass(frozen=True)
class Field:
    """A column in the description of a codebook.

    Attributes
    ----------
    name
        The column.
    label
        The meaning of the column in words; else empty.
    proposal
        The role that the codebook speaks for; else empty. It is never one that releases more.
    evidence
        The words of the codebook behind the proposal, as ``identifier = y``.
    missing
        Texts that mean missing.
    """

    name: str
    label: str = ""
    proposal: Proposal = ""
    evidence: str = ""
    missing: tuple[str, ...] = ()


@dataclass(frozen=True)
class Codebook:
    """A codebook that was read.

    Attributes
    ----------
    file
        The name of the file.
    kind
        The name of the kind.
    fields
        The columns, by name.
    """

    file: str
    kind: str
    fields: Mapping[str, Field]

    def of(self, columns: Sequence[str]) -> dict[str, Field]:
        """Return the field of each column of a table that the codebook describes.

        A name in other case is the same, unless the table or the codebook has both.

        Examples
        --------
        >>> book = Codebook("study.csv", "REDCap", {"age": Field("age", "Age in years")})
        >>> book.of(["AGE", "zip"])["AGE"].label
        'Age in years'
        """
        folded: dict[str, list[str]] = {}
        for name in self.fields:
            folded.setdefault(name.casefold(), []).append(name)
        often = Counter(name.casefold() for name in columns)
        matches = {}
        for name in columns:
            same = folded.get(name.casefold(), [])
            if name in self.fields:
                matches[name] = self.fields[name]
            elif len(same) == 1 and often[name.casefold()] == 1:
                matches[name] = self.fields[same[0]]
        return matches


@dataclass(frozen=True)
class Column:
    """A released column.

    Attributes
    ----------
    name
        The column.
    is_number
        Whether all its cells are numbers.
    words
        The role, and how the values were recoded, in words.
    values
        The released values in order, where they are few; else empty.
    """

    name: str
    is_number: bool
    words: str
    values: tuple[str, ...] = ()


@dataclass(frozen=True)
class Description:
    """A release in the description of a codebook: released columns and figures, and nothing of the raw table.

    Attributes
    ----------
    records
        How many records it has.
    sentence
        The verdict in a sentence.
    columns
        The released columns.
    file
        The name of the released file; empty where there is none.
    digest
        The SHA-256 of the released file in hexadecimal digits; else empty.
    """

    records: int
    sentence: str
    columns: tuple[Column, ...]
    file: str = ""
    digest: str = ""


class Kind(ABC):
    """A kind of codebook."""

    name: ClassVar[str]
    """The name in words."""
    suffix: ClassVar[str]
    """The ending of its files."""

    @abstractmethod
    def recognizes(self, text: str) -> bool:
        """Say whether the content of a file is of this kind."""

    @abstractmethod
    def fields(self, text: str, file: str) -> Iterator[Field]:
        """Yield the columns that a codebook describes, or raise `TableError` naming the `file`."""

    @abstractmethod
    def text(self, description: Description) -> str:
        """Return the codebook of a release."""
