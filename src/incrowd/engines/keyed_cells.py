"""The released texts of rows whose keys are known."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING

from incrowd.io.columns import column_named
from incrowd.lazy import np, pl

if TYPE_CHECKING:
    from incrowd.recoding import Recoding
    from incrowd.table.schema import Schema


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
    def of(cls, schema: Schema, recoding: Recoding) -> KeyedCells:
        """Take the texts that a recoding gives the keys."""
        from incrowd.recoding import SUPPRESSED

        columns = {}
        for attribute, domain, cells in zip(schema.quasi, recoding.domains, recoding.cells, strict=True):
            positions, labels = cells.released
            number = np.append(positions[cells.codes], len(labels))
            # There are many more keys than texts.
            small = number.astype(np.min_scalar_type(len(labels)))
            used = np.bincount(number, minlength=len(labels) + 1).tolist()
            shown = domain.written([*labels, SUPPRESSED])
            texts = [text if occurs else None for text, occurs in zip(shown, used, strict=True)]
            columns[attribute.name] = pl.Series(small), pl.Series(texts, dtype=pl.String)
        leaves = pl.Series(np.append(~recoding.starred, False)) if recoding.left_out else None
        return cls(columns, leaves)

    def leaving(self, rows: pl.LazyFrame, key: str) -> pl.LazyFrame:
        """Leave out the rows that do not leave; `key` is the column of their keys."""
        if self.leaves is None:
            return rows
        leave = column_named(key).map_batches(self._leave, return_dtype=pl.Boolean(), is_elementwise=True)
        return rows.filter(leave)

    def _leave(self, keys: pl.Series) -> pl.Series:
        assert self.leaves is not None
        return self.leaves.gather(keys.fill_null(len(self.leaves) - 1))

    def of_rows(self, rows: pl.DataFrame, names: Sequence[str], key: str) -> pl.DataFrame:
        """Return some columns of rows, with the texts of those that have such; `key` has the rows' keys."""
        return rows.select(
            (self._looked_up(name, key) if name in self.columns else column_named(name)).alias(name)
            for name in names
        )

    def _looked_up(self, name: str, key: str) -> pl.Expr:
        numbers, texts = self.columns[name]
        keys = column_named(key).fill_null(len(numbers) - 1)
        return pl.lit(texts).gather(pl.lit(numbers).gather(keys).cast(pl.get_index_type()))

    def streamed(self, name: str, key: str) -> pl.Expr:
        """Return the texts of a column where rows stream; `key` is the column of their keys."""
        return column_named(key).map_batches(
            partial(self._of_batch, name), return_dtype=pl.String(), is_elementwise=True
        )

    def numbered(self, name: str, key: str) -> pl.Expr:
        """Return the number of each row's text in a column; see `streamed`."""
        kind = self.columns[name][0].dtype
        return column_named(key).map_batches(
            partial(self._numbers_of, name), return_dtype=kind, is_elementwise=True
        )

    def _numbers_of(self, name: str, keys: pl.Series) -> pl.Series:
        numbers, _ = self.columns[name]
        return numbers.gather(keys.fill_null(len(numbers) - 1))

    def _of_batch(self, name: str, keys: pl.Series) -> pl.Series:
        return self.columns[name][1].gather(self._numbers_of(name, keys).cast(pl.get_index_type()))
