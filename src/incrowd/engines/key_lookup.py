"""The key of each row where rows stream, and the released texts of keys.

Values become places, places a word, and the word is looked up.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING

from incrowd.core.io.columns import column_named, columns_named, nameless
from incrowd.core.kernels.jit import so_few
from incrowd.core.lazy import NDArray, np, pl

if TYPE_CHECKING:
    from incrowd.core.recoding import Recoding
    from incrowd.core.table.schema import Schema

_WORD = "\0word {}"
_DENSE = 4
"""Numbers a value up to which there is a table of all numbers between the least and the largest."""
_SMALL = 1 << 16
"""Numbers for which there is such a table however few values there are."""


class RowKeys:
    """Lookup from the codes of a row to the number of the row's key.

    Parameters
    ----------
    keys
        The distinct keys: per column the place of the key's value.
    numbers
        int[keys]: the number of each.
    sizes
        Per column how many places there are.
    """

    def __init__(self, keys: pl.DataFrame, numbers: NDArray[np.integer], sizes: Sequence[int]) -> None:
        from incrowd.core.kernels.grouping.hashing import KnownWords

        self._sizes = tuple(sizes)
        words = keys.select(
            word.alias(_WORD.format(position))
            for position, word in enumerate(_words(columns_named(keys.columns), sizes))
        )
        alone = words.width == 1 and not so_few(len(words))
        self._lookup = KnownWords(words.to_series().to_numpy(), numbers.astype(np.int32)) if alone else None
        self._join_table = (
            None if alone else words.with_columns(pl.Series(numbers, dtype=pl.UInt32).alias(""))
        )

    def added(self, frame: pl.LazyFrame, columns: Sequence[str], name: str) -> pl.LazyFrame:
        """Add the number of each row's key (no key: missing), in the order of the rows.

        Parameters
        ----------
        columns
            The columns that hold the places.
        name
            What the new column is called.
        """
        words = _words(columns_named(columns), self._sizes)
        if self._lookup is not None:
            key = words[0].map_batches(self._look_up_batch, return_dtype=pl.UInt32(), is_elementwise=True)
            return frame.with_columns(key.alias(name))
        assert self._join_table is not None
        by = [_WORD.format(position) for position in range(len(words))]
        return (
            frame.with_columns(word.alias(title) for title, word in zip(by, words, strict=True))
            .join(self._join_table.rename({"": name}).lazy(), on=by, how="left", maintain_order="left")
            .drop(by)
        )

    def _look_up_batch(self, words: pl.Series) -> pl.Series:
        assert self._lookup is not None
        keys = self._lookup.find(words.fill_null(0).to_numpy())
        if words.null_count():
            keys[words.is_null().to_numpy()] = -1
        # What has no key is negative, and becomes missing.
        return pl.Series(keys).cast(pl.UInt32, strict=False)


def place_of(value: pl.Expr, distinct: pl.Series, kind: type[pl.DataType]) -> pl.Expr | None:
    """Return the position of a value among the distinct values (absent: missing).

    Parameters
    ----------
    value
        An expression of the values' type.
    distinct
        The values in order; the missing one, if it is there, comes first.
    kind
        The type of places.

    Returns
    -------
    None where a join is the way to find the places.
    """
    # Series look themselves up by their name, which may be a pattern of names.
    present = nameless(distinct).drop_nulls()
    if not len(present):
        return None
    first = len(distinct) - len(present)
    if distinct.dtype == pl.String:
        # The cast builds no table in each batch.
        position = value.cast(pl.Enum(present), strict=False).to_physical().cast(kind) + first
    elif distinct.dtype in (pl.Int8, pl.Int16, pl.Int32, pl.Int64, pl.UInt8, pl.UInt16, pl.UInt32, pl.Date):
        ranks = present.to_physical().cast(pl.Int64).to_numpy()
        low, between = int(ranks[0]), int(ranks[-1]) - int(ranks[0]) + 1
        if between > max(_DENSE * len(present), _SMALL):
            return None
        # The place of each number, -1 where it has none; the last entry is for all other numbers.
        table = np.full(between + 1, -1, np.int64)
        table[ranks - low] = np.arange(first, len(distinct))
        position = value.map_batches(
            partial(_look_up_table, low, table, kind),
            return_dtype=kind(),
            is_elementwise=True,
        )
    else:
        return None
    return pl.when(value.is_null()).then(pl.lit(0, dtype=kind)).otherwise(position) if first else position


def _look_up_table(
    low: int, table: NDArray[np.int64], kind: type[pl.DataType], values: pl.Series
) -> pl.Series:
    last = len(table) - 1
    # A missing value becomes a number without a place; one below the least 64-bit number would not fit.
    outside = low - 1 if low > -(2**63) else low + last
    # A name may look like a pattern.
    offset = nameless(values).to_physical().cast(pl.Int64).fill_null(outside).to_numpy() - low
    inside = (offset >= 0) & (offset < last)
    places = table[offset if inside.all() else np.where(inside, offset, last)]
    return pl.Series(places).cast(kind, strict=False)


def _words(places: Sequence[pl.Expr], sizes: Sequence[int]) -> list[pl.Expr]:
    """Pack codes below known sizes into as few 64-bit words as possible (any code missing: missing).

    Example: the codes 2 (of 3) and 1 (of 4) are the word 2 * 4 + 1 = 9. A column that would make the number
    of combinations larger than 2^64 begins another word.
    """
    words: list[pl.Expr] = []
    room = 0
    for position, size in zip(places, sizes, strict=True):
        if room < size:
            words.append(pl.lit(0, dtype=pl.UInt64))
            room = 2**64
        words[-1] = words[-1] * size + position.cast(pl.UInt64)
        room //= max(size, 1)
    return words


@dataclass(frozen=True, eq=False)
class KeyedCells:
    """The released texts of every key. A row without a key came in suppressed, and stays so.

    Attributes
    ----------
    columns
        Per quasi-identifier the number of each key's text, with one more entry for rows without a key, and
        the texts. A text that no key has is missing: it may be a value of suppressed rows, and columns of
        Polars hand on all texts that they were made of.
    leaves
        Whether the rows of each key leave, with one more entry for rows without a key; None where all do.
    """

    columns: Mapping[str, tuple[pl.Series, pl.Series]]
    leaves: pl.Series | None = None

    @classmethod
    def of_recoding(cls, schema: Schema, recoding: Recoding) -> KeyedCells:
        """Take the texts that a recoding gives the keys."""
        from incrowd.core.recoding import SUPPRESSED

        columns = {}
        for attribute, domain, cells in zip(schema.quasi, recoding.domains, recoding.cells, strict=True):
            positions, labels = cells.released
            number = np.append(positions[cells.codes], len(labels))
            # There are many more keys than texts.
            small = number.astype(np.min_scalar_type(len(labels)))
            used = np.bincount(number, minlength=len(labels) + 1).tolist()
            released_texts = domain.written([*labels, SUPPRESSED])
            texts = [text if occurs else None for text, occurs in zip(released_texts, used, strict=True)]
            columns[attribute.name] = pl.Series(small), pl.Series(texts, dtype=pl.String)
        leaves = pl.Series(np.append(~recoding.starred, False)) if recoding.left_out else None
        return cls(columns, leaves)

    def leaving(self, rows: pl.LazyFrame, key: str) -> pl.LazyFrame:
        """Drop the rows that a recoding leaves out, where `key` is the column of row keys."""
        return rows if self.leaves is None else rows.filter(_look_up(key, self.leaves))

    def of_rows(self, rows: pl.DataFrame, names: Sequence[str], key: str) -> pl.DataFrame:
        """Return some columns of rows with the released texts, where `key` holds the row keys."""
        return rows.select(
            (self.streamed(name, key) if name in self.columns else column_named(name)).alias(name)
            for name in names
        )

    def streamed(self, name: str, key: str) -> pl.Expr:
        """Return a lazy expression of the released texts of a column, where `key` holds the row keys."""
        return _look_up(key, *self.columns[name])

    def numbered(self, name: str, key: str) -> pl.Expr:
        """Return the number of each row's text in a column (see `streamed`)."""
        return _look_up(key, self.columns[name][0])


def _look_up(key: str, values: pl.Series, texts: pl.Series | None = None) -> pl.Expr:
    """Look up the value of each row's key (no key: the last), or the text with that number."""

    def look_up(keys: pl.Series) -> pl.Series:
        entries = values.gather(keys.fill_null(len(values) - 1))
        return entries if texts is None else texts.gather(entries.cast(pl.get_index_type()))

    kind = (values if texts is None else texts).dtype
    return column_named(key).map_batches(look_up, return_dtype=kind, is_elementwise=True)
