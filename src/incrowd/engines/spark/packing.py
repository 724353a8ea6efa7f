"""Cells of rows on Spark as numbers in words of 64 bits, whose texts are looked up when rows leave.

A row with eight texts takes several times the memory of one with a word, and as much longer to shuffle and
to sort.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, NamedTuple

from incrowd.lazy import pl, sf, st

WORD = "w{}"
"""Column of rows that has a word of their cells."""

_BITS = 63
"""Bits of a word that are used, so that none is negative."""


class _Place(NamedTuple):
    """Where a number stands: in which word, from which bit on, and in how many bits."""

    word: int
    shift: int
    bits: int


class Words:
    """Numbers below known sizes, side by side in as few words as hold them.

    Parameters
    ----------
    sizes
        What each number is below.
    """

    def __init__(self, sizes: Sequence[int]) -> None:
        self._places: list[_Place] = []
        word, used = 0, 0
        for size in sizes:
            bits = max(size - 1, 1).bit_length()
            if used + bits > _BITS:
                word, used = word + 1, 0
            self._places.append(_Place(word, used, bits))
            used += bits

    @property
    def count(self) -> int:
        """How many words there are."""
        return 1 + max((place.word for place in self._places), default=-1)

    def of(self, numbers: dict[int, pl.Expr]) -> dict[int, pl.Expr]:
        """Write some of the numbers, by their place in the list: the words that hold them, by theirs."""
        words: dict[int, pl.Expr] = {}
        for number, value in numbers.items():
            place = self._places[number]
            part = value.cast(pl.Int64) * (1 << place.shift)
            words[place.word] = words[place.word] + part if place.word in words else part
        return words

    def read(self, words: Sequence[Any], number: int) -> Any:
        """Read one of the numbers from words, which are columns of Spark."""
        place = self._places[number]
        shifted = sf.shiftright(words[place.word], place.shift)
        return shifted.bitwiseAND(sf.lit((1 << place.bits) - 1)).cast("int")


class CellTexts:
    """The texts of cells whose numbers stand in words.

    Parameters
    ----------
    texts
        Per column the texts.
    """

    def __init__(self, texts: Sequence[pl.Series]) -> None:
        self.words = Words([len(each) for each in texts])
        self._texts = list(texts)

    @property
    def stars(self) -> list[list[int]]:
        """Per column the numbers of ``*``, of which there is one at least."""
        from incrowd.recoding import SUPPRESSED

        return [(texts == SUPPRESSED).arg_true().to_list() for texts in self._texts]

    @property
    def leave(self) -> Any:
        """A column that says of rows that have the words whether a cell of theirs is not ``*``."""
        words, known = self._words_of_rows()
        starred = sf.lit(True)
        for number, stars in enumerate(self.stars):
            starred = starred & self.words.read(words, number).isin(stars)
        return known & ~starred

    def _words_of_rows(self) -> tuple[list[Any], Any]:
        """Return the words of rows, and a column that says whether a row has them."""
        words = [sf.col(WORD.format(word)) for word in range(self.words.count)]
        known = sf.lit(True)
        for word in words:
            known = known & word.isNotNull()
        return words, known

    def looked_up(self, session: Any) -> list[Any]:
        """Return a column for each cell of rows that have the words; one without is suppressed.

        The texts are asked of another table, as a plan would show what it is told. It is not joined: Spark
        removes a sort of rows that are joined.
        """
        from incrowd.recoding import SUPPRESSED

        names = [f"x{number}" for number in range(len(self._texts))]
        row = pl.DataFrame(
            [each.alias(name).implode() for name, each in zip(names, self._texts, strict=True)]
        )
        kind = st.ArrayType(st.StringType())
        fields = st.StructType([st.StructField(name, kind) for name in names])
        only = session.createDataFrame(row.to_arrow(), schema=fields)
        words, known = self._words_of_rows()
        cells = []
        for number, texts in enumerate(names):
            text = sf.get(only.select(texts).scalar(), self.words.read(words, number))
            cells.append(sf.when(known, text).otherwise(sf.lit(SUPPRESSED)))
        return cells


@dataclass(frozen=True, eq=False)
class Packed:
    """Released rows whose cells are in words.

    Attributes
    ----------
    rows
        A DataFrame of `others` as they leave (``o0``, ...), and of the words.
    texts
        The texts of the cells.
    quasi, others
        The quasi-identifiers, and the other columns that leave.
    released
        All columns that leave, in order.
    """

    rows: Any = field(repr=False)
    texts: CellTexts = field(repr=False)
    quasi: Sequence[str]
    others: Sequence[str]
    released: Sequence[str]

    @cached_property
    def table(self) -> Any:
        """The rows with the texts of their cells."""
        return self.unpacked(self.rows)

    def unpacked(self, rows: Any) -> Any:
        """Look up the texts of some of the rows, or of the rows in another order."""
        cells = self.texts.looked_up(rows.sparkSession)
        columns = dict(zip(self.quasi, cells, strict=True))
        columns |= {name: sf.col(f"o{j}") for j, name in enumerate(self.others)}
        places = (columns[name].alias(f"p{place}") for place, name in enumerate(self.released))
        return rows.select(*places).toDF(*self.released)


def column_groups(sizes: Sequence[int], most: int) -> list[list[int]]:
    """Divide columns into groups, each of at most so many combinations of values where that can be.

    Parameters
    ----------
    sizes
        How many values each column has.
    """
    groups: list[list[int]] = []
    product = 0
    for place, size in enumerate(sizes):
        if groups and product * size <= most:
            groups[-1].append(place)
            product *= size
        else:
            groups.append([place])
            product = size
    return groups
