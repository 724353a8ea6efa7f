"""Cells of rows on Spark as numbers packed in 64-bit words, with texts looked up on release.

A row with eight texts takes several times the memory of one with a word, and as much longer to shuffle and
to sort.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from functools import cached_property, reduce
from operator import add, and_
from typing import Any, NamedTuple

from incrowd.core.io.columns import column_named
from incrowd.core.lazy import pl, sf, st
from incrowd.engines.fetched import plain

WORD = "w{}"
"""Column of a word of packed cells."""

_BITS = 63
"""Bits of a word that are used, so that none is negative."""

_VALUE = "v{}"
_NUMBER = "n{}"
_COMBINED = 20_000
"""Largest number of value combinations of several columns in a single join."""


class _Place(NamedTuple):
    """Where a number stands: in which word, from which bit on, and in how many bits."""

    word: int
    shift: int
    bits: int


class Words:
    """Numbers below known sizes, packed side by side in as few words as possible.

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
        return 1 + max((position.word for position in self._places), default=-1)

    def of(self, numbers: dict[int, pl.Expr]) -> dict[int, pl.Expr]:
        """Pack some of the numbers, given by position, into words, returned by position."""
        words: dict[int, pl.Expr] = {}
        for number, value in numbers.items():
            position = self._places[number]
            part = value.cast(pl.Int64) * (1 << position.shift)
            words[position.word] = words[position.word] + part if position.word in words else part
        return words

    def read(self, words: Sequence[Any], number: int) -> Any:
        """Read a number from words, which are columns of Spark."""
        position = self._places[number]
        shifted = sf.shiftright(words[position.word], position.shift)
        return shifted.bitwiseAND(sf.lit((1 << position.bits) - 1)).cast("int")


class CellTexts:
    """Texts of cells, looked up by numbers packed in words.

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
        """Per column the numbers of ``*``, at least one per column."""
        from incrowd.core.recoding import SUPPRESSED

        return [(texts == SUPPRESSED).arg_true().to_list() for texts in self._texts]

    @property
    def leave(self) -> Any:
        """A column that says of rows that have the words whether a cell of theirs is not ``*``."""
        words, has_words = self._words_of_rows()
        starred = sf.lit(True)
        for number, stars in enumerate(self.stars):
            starred = starred & self.words.read(words, number).isin(stars)
        return has_words & ~starred

    def _words_of_rows(self) -> tuple[list[Any], Any]:
        """Return the word columns of rows, and a column that says whether a row has all words."""
        words = [sf.col(WORD.format(word)) for word in range(self.words.count)]
        has_words = sf.lit(True)
        for word in words:
            has_words = has_words & word.isNotNull()
        return words, has_words

    def looked_up(self, session: Any) -> list[Any]:
        """Return a text column for each cell (rows without words: suppressed).

        The texts are asked of another table, as a plan would show what it is told. It is not joined: Spark
        removes a sort of rows that are joined.
        """
        from incrowd.core.recoding import SUPPRESSED

        names = [f"x{number}" for number in range(len(self._texts))]
        row = pl.DataFrame(
            [each.alias(name).implode() for name, each in zip(names, self._texts, strict=True)]
        )
        kind = st.ArrayType(st.StringType())
        fields = st.StructType([st.StructField(name, kind) for name in names])
        only = session.createDataFrame(row.to_arrow(), schema=fields)
        words, has_words = self._words_of_rows()
        cells = []
        for number, texts in enumerate(names):
            text = sf.get(only.select(texts).scalar(), self.words.read(words, number))
            cells.append(sf.when(has_words, text).otherwise(sf.lit(SUPPRESSED)))
        return cells


@dataclass(frozen=True, eq=False)
class Packed:
    """Released rows with the cells packed in words.

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
        """The rows with the cells as texts."""
        return self.unpacked(self.rows)

    def unpacked(self, rows: Any) -> Any:
        """Look up the texts of some of the rows, or of the rows in another order."""
        cells = self.texts.looked_up(rows.sparkSession)
        columns = dict(zip(self.quasi, cells, strict=True))
        columns |= {name: sf.col(f"o{j}") for j, name in enumerate(self.others)}
        places = (columns[name].alias(f"p{position}") for position, name in enumerate(self.released))
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
    for position, size in enumerate(sizes):
        if groups and product * size <= most:
            groups[-1].append(position)
            product *= size
        else:
            groups.append([position])
            product = size
    return groups


@dataclass(frozen=True, eq=False)
class CellWords:
    """Lookup from a row to the packed cells of the row.

    Attributes
    ----------
    names
        The columns that say which combination a row has.
    join
        Joins rows with a table by some columns; see `incrowd.engines.spark.packing.joined`.
    values
        The known combinations, each once: the value of each of the columns (``v0``, ...).
    numbers
        The number of the text of each cell (``n0``, ...), combination by combination.
    texts
        The texts.
    """

    names: Sequence[str]
    join: Callable[..., Any]
    values: pl.DataFrame
    numbers: pl.DataFrame
    texts: CellTexts

    @classmethod
    def of_keys(
        cls, names: Sequence[str], join: Callable[..., Any], keys: pl.DataFrame, texts: Sequence[pl.Series]
    ) -> CellWords:
        """Build the lookup from a frame of combinations and cell numbers."""
        values, numbers = keys[:, : len(names)], keys[:, len(names) :]
        values.columns = [_VALUE.format(position) for position in range(values.width)]
        numbers.columns = [_NUMBER.format(position) for position in range(numbers.width)]
        return cls(names, join, values, numbers, CellTexts(texts))

    def by_key(self, frame: Any) -> tuple[Any, list[Any]]:
        """Join every row with the words of the row's key, and return the rows and the word columns."""
        words = self.texts.words
        table = _words(words, self.numbers, "c{}")
        if len(self.values) <= BROADCAST_KEYS or max(self._sizes) > BROADCAST_KEYS:
            frame = self.join(frame, self.names, self.values.hstack(table), "", [st.LongType()] * words.count)
        else:
            frame, of_rows = self._with_words(frame, "k", self._key_words, self._value_numbers)
            keys = _words(self._key_words, self._ranks, "k{}")
            frame = _join_by_words(frame, of_rows, keys.hstack(table), [st.LongType()] * words.count)
        return frame, [sf.col(CELL.format(position)) for position in range(words.count)]

    def by_value(self, frame: Any) -> tuple[Any, list[Any]]:
        """Join rows with the words of cells looked up value by value, except for deviating combinations.

        That they are is all that is known of them, so their rows have no words.
        """
        of_value = [self._cells_of_values(position) for position in range(self.numbers.width)]
        frame, words = self._with_words(frame, "v", self.texts.words, of_value)
        apart = self._deviating(of_value)
        if len(apart):
            frame, of_rows = self._with_words(frame, "k", self._key_words, self._value_numbers)
            frame = _join_by_words(frame, of_rows, apart, [])
            regular = sf.col(KNOWN.format("")).isNull()
            words = [sf.when(regular, word) for word in words]
        return frame, words

    # --- words of rows --------------------------------------------------------------------------------

    def _with_words(
        self, frame: Any, mark: str, words: Words, of_value: Sequence[pl.DataFrame]
    ) -> tuple[Any, list[Any]]:
        """Join rows with the words of the columns' values (unknown value: no word).

        Parameters
        ----------
        of_value
            Per column its values and the number of each.
        """
        parts: dict[int, Any] = {}
        for group, places in enumerate(column_groups(self._sizes, _COMBINED)):
            table = of_value[places[0]]
            for position in places[1:]:
                table = table.join(of_value[position], how="cross")
            columns = words.of({position: column_named(_NUMBER.format(position)) for position in places})
            values = [_VALUE.format(position) for position in places]
            table = table.select(*values, *(part.alias(f"w{word}") for word, part in columns.items()))
            label = f"{mark}{group}"
            frame = self.join(
                frame, [self.names[j] for j in places], table, label, [st.LongType()] * len(columns)
            )
            for position, word in enumerate(columns):
                part = sf.col(CELL.format(f"{label}_{position}"))
                parts[word] = parts[word].bitwiseOR(part) if word in parts else part
        return frame, [parts[word] for word in range(words.count)]

    # --- keys -----------------------------------------------------------------------------------------

    @cached_property
    def _value_numbers(self) -> list[pl.DataFrame]:
        """Per column a frame of the distinct values and a number for each."""
        return [
            column.unique().to_frame().with_columns(pl.int_range(pl.len()).alias(_NUMBER.format(position)))
            for position, column in enumerate(self.values)
        ]

    @property
    def _sizes(self) -> list[int]:
        return [len(ranked) for ranked in self._value_numbers]

    @cached_property
    def _key_words(self) -> Words:
        return Words(self._sizes)

    @cached_property
    def _ranks(self) -> pl.DataFrame:
        """The combinations, values being numbered."""
        return self._looked_up(self._value_numbers)

    def _looked_up(self, of_value: Sequence[pl.DataFrame]) -> pl.DataFrame:
        """Look up the numbers of the values of each combination."""
        numbers = []
        for position, table in enumerate(of_value):
            value, number = _VALUE.format(position), _NUMBER.format(position)
            looked_up = self.values.select(value).join(
                table, on=value, how="left", nulls_equal=True, maintain_order="left"
            )
            numbers.append(looked_up[number])
        return pl.DataFrame(numbers)

    # --- by value -------------------------------------------------------------------------------------

    @cached_property
    def _suppressed(self) -> pl.Expr:
        """Whether all cells of a combination are ``*``."""
        return pl.all_horizontal(
            column_named(_NUMBER.format(position)).is_in(stars)
            for position, stars in enumerate(self.texts.stars)
        )

    def _cells_of_values(self, place: int) -> pl.DataFrame:
        """Return the cell number of each value, ``*`` where only suppressed combinations have the value."""
        value, number = _VALUE.format(place), _NUMBER.format(place)
        both = self.values.select(value).hstack(self.numbers)
        cells = both.filter(~self._suppressed).select(value, number).unique()
        rest = self._value_numbers[place].select(value).join(cells, on=value, how="anti", nulls_equal=True)
        # A row with such a value is suppressed by its combination.
        star = pl.lit(self.texts.stars[place][-1], dtype=cells.schema[number])
        return pl.concat([cells, rest.with_columns(star.alias(number))])

    def _deviating(self, of_value: Sequence[pl.DataFrame]) -> pl.DataFrame:
        """Return the words of the combinations with cells that do not follow from single values."""
        from_values = self._looked_up(of_value)
        deviates = [from_values[name] != self.numbers[name] for name in from_values.columns]
        rows = pl.DataFrame(deviates).select(pl.any_horizontal(pl.all())).to_series()
        return _words(self._key_words, self._ranks.filter(rows), "k{}")


def _words(words: Words, numbers: pl.DataFrame, form: str) -> pl.DataFrame:
    """Pack the numbers of each row (``n0``, ...) into words, with columns named by `form`."""
    columns = words.of({position: column_named(name) for position, name in enumerate(numbers.columns)})
    return numbers.select(columns[word].alias(form.format(word)) for word in range(words.count))


def _join_by_words(frame: Any, words: Sequence[Any], table: pl.DataFrame, cells: Sequence[Any]) -> Any:
    """Join rows with a table by words (a row without a word: no match)."""
    columns = [(word, st.LongType()) for word in words]
    return joined(frame, columns, table, "", cells, with_missing=False)


BROADCAST_KEYS = 200_000
"""Rows up to which a table of the driver is broadcast rather than shuffled."""

_TASK_ROWS = 500_000
"""Rows of a large table of numbers per task."""

KNOWN = "k{}"
"""Column that says whether a row was found."""

CELL = "r{}"
"""Column of a found cell."""


def joined(
    frame: Any,
    columns: Sequence[tuple[Any, Any]],
    table: pl.DataFrame,
    mark: str,
    cells: Sequence[Any],
    *,
    with_missing: bool = True,
) -> Any:
    """Join rows with a table by some columns.

    The table has the columns' values and then cells, by place, whatever it calls them. What is found
    stands in ``r0``, ... (with a mark ``r{mark}_0``, ...), and that it was in ``k{mark}``.

    Parameters
    ----------
    columns
        The columns and their types.
    cells
        Types of the cells.
    with_missing
        Whether missing values are equal; else a row that has one is not found.
    """
    keys = [f"j{mark}_{j}" for j in range(len(columns))]
    prefix = f"{mark}_" if mark else ""
    fields = st.StructType(
        [
            *(st.StructField(key, kind) for key, (_, kind) in zip(keys, columns, strict=True)),
            *(st.StructField(CELL.format(f"{prefix}{j}"), kind) for j, kind in enumerate(cells)),
            st.StructField(KNOWN.format(mark), st.BooleanType()),
        ]
    )
    local = plain(table).with_columns(pl.lit(value=True).alias("\0known"))
    local.columns = fields.names
    session = frame.sparkSession
    if len(local) <= BROADCAST_KEYS:
        right = sf.broadcast(session.createDataFrame(local.to_arrow(), schema=fields))
    else:
        right = _spread(session, local.to_arrow(), fields)
        if len(local) <= BROADCAST_KEYS * int(session.conf.get("spark.sql.shuffle.partitions")):
            # A part of it fits into memory, and nothing needs to be sorted.
            right = right.hint("shuffle_hash")
    pairs = [(column, sf.col(key)) for key, (column, _) in zip(keys, columns, strict=True)]
    if with_missing:
        on = _equal(pairs, [kind for _, kind in columns])
    else:
        on = reduce(and_, (column == key for column, key in pairs))
    return frame.join(right, on, "left").drop(*keys)


def _spread(session: Any, table: Any, fields: Any) -> Any:
    """Create a DataFrame from a large Arrow table, with rows read by tasks.

    By itself Spark turns a table of some size into objects of the driver, and starts a task for every ten
    thousand rows of a larger one.
    """
    plain = all(isinstance(field.dataType, st.LongType | st.BooleanType) for field in fields)
    if not plain or getattr(session, "_jvm", None) is None:
        return session.createDataFrame(table, schema=fields)
    # The settings of the user's session are the user's; what is made here does not depend on them.
    fresh = session.newSession()
    fresh.conf.set("spark.sql.execution.arrow.localRelationThreshold", "0")
    fresh.conf.set("spark.sql.execution.arrow.maxRecordsPerBatch", str(_TASK_ROWS))
    return fresh.createDataFrame(table, schema=fields)


def _equal(pairs: Sequence[tuple[Any, Any]], kinds: Sequence[Any]) -> Any:
    """Say where columns of two tables are equal, missing values being equal.

    Rows of several columns are sorted by a hash of them, which is far less to compare. The columns
    themselves are compared then, in a way that Spark does not sort by.
    """
    same = [one.eqNullSafe(other) for one, other in pairs]
    if len(pairs) == 1 or any(isinstance(kind, st.FloatType | st.DoubleType) for kind in kinds):
        # Numbers that are equal may have different hashes.
        return reduce(and_, same)
    left, right = (sf.xxhash64(*columns) for columns in zip(*pairs, strict=True))
    equal = reduce(add, (each.cast("int") for each in same))
    return (left == right) & (equal == len(pairs))
