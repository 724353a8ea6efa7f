"""Tables larger than memory: lazy Polars frames and Parquet files, counted and recoded while they stream."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from incrowd.engines.memory import dictionary
from incrowd.errors import SchemaError, TableError

if TYPE_CHECKING:
    import numpy as np
    import polars as pl
    from numpy.typing import NDArray

    from incrowd.frequency import FrequencyTable, SensitiveCounts
    from incrowd.kernels.counting import Counts
    from incrowd.recoding import Recoding
    from incrowd.schema import Attribute, Schema

__all__ = ["ScanEngine"]

_ROWS, _FIRST = "\0rows", "\0first"
_LOOKED_UP = 1_000
"""Distinct values up to which places are looked up in every batch of rows; above, they are joined."""


class ScanEngine:
    """A lazy Polars frame; see `incrowd.engines.Engine`.

    Rows are never in memory together: keys are counted in one pass and each sensitive attribute in another,
    and what is kept is as long as there are distinct keys. Keys stand in the order of their first row, so
    that a search finds what it would find in memory. Records that look alike cannot be parted, since nobody
    knows which row is which.
    """

    @classmethod
    def takes(cls, table: Any) -> bool:
        """Say whether this is a lazy Polars frame."""
        import polars as pl

        return isinstance(table, pl.LazyFrame)

    def __init__(self, table: pl.LazyFrame) -> None:
        self._frame = table
        self._types = dict(table.collect_schema())
        self._values: dict[tuple[str, tuple[str, ...]], pl.Series] = {}
        # The distinct keys by the codes of their values, and which key of the frequency table each is.
        self._keys: tuple[pl.DataFrame, NDArray[np.integer]] | None = None

    @property
    def columns(self) -> list[str]:
        """Names of the columns, in order."""
        return list(self._types)

    def count(self, schema: Schema, *, joint: bool = False, target: str | None = None) -> FrequencyTable:
        """Count the rows; see `Engine.count`."""
        import numpy as np
        import polars as pl

        from incrowd.domain import Domain
        from incrowd.frequency import FrequencyTable, smallest_codes
        from incrowd.kernels.grouping import group_columns

        schema.check_columns(self.columns)
        if not schema.quasi:
            raise SchemaError("the schema names no quasi-identifier; name at least one")
        names = [attribute.name for attribute in schema.quasi]
        counted = [*names, *(attribute.name for attribute in schema.sensitive)]
        self._look(counted, schema.null_values)
        grouped = self._grouped(names, schema.null_values)
        if not len(grouped):
            raise TableError("the table has no rows")
        gone = self._suppressed(grouped, names, schema.null_values)
        written = grouped.filter(~pl.Series(gone))
        domains, codes = [], []
        for attribute in schema.quasi:
            met, place = np.unique(written[attribute.name].to_numpy(), return_inverse=True)
            values = self._distinct(attribute.name, schema.null_values).gather(met)
            found, places = dictionary(values, attribute.name, ())
            domain, ranks = Domain.build(attribute, found)
            domains.append(domain)
            codes.append(smallest_codes(ranks[places][place], max(domain.size, 1)))
        # A value may be written in several ways, as 1 and 1.0.
        ids, first = group_columns(codes, [domain.size for domain in domains], len(written))
        numbers = np.full(len(grouped), -1, np.int64)
        numbers[~gone] = ids
        key_of = grouped.select(names).with_columns(pl.Series(_FIRST, numbers))
        self._keys = written.select(names), ids
        keys = len(first)
        weights = np.bincount(ids, written[_ROWS].to_numpy(), keys).astype(np.int64)
        wanted = None if target is None else schema.target(target, self.columns)
        sensitive = tuple(
            self._counted(attribute, names, key_of, keys, schema) for attribute in schema.sensitive
        )
        return FrequencyTable(
            domains=tuple(domains),
            codes=tuple(column[first] for column in codes),
            weights=weights,
            sensitive=sensitive,
            suppressed=int(grouped[_ROWS].to_numpy()[gone].sum()),
            row_keys=None,
            joint=self._combined(schema, names, key_of, sensitive, keys) if joint and sensitive else None,
            target=None if wanted is None else self._counted(wanted, names, key_of, keys, schema),
        )

    def apply(self, schema: Schema, frequency: FrequencyTable, recoding: Recoding) -> pl.LazyFrame:
        """Recode the rows while they stream; see `Engine.apply`."""
        import polars as pl

        from incrowd.recoding import SUPPRESSED

        assert self._keys is not None
        written, ids = self._keys
        released = schema.released(self.columns)
        names = [attribute.name for attribute in schema.quasi]
        cells = {}
        for name, column in zip(names, recoding.cells, strict=True):
            positions, labels = column.released
            texts = pl.Series(f"\0cell {name}", labels, dtype=pl.String)
            cells[name] = texts.gather(positions[column.codes][ids])
        table = written.rename({name: f"\0key {name}" for name in names}).with_columns(
            *(series.alias(f"\0cell {name}") for name, series in cells.items()),
            pl.lit(value=True).alias(_FIRST),
        )
        made = self._coded(self._frame, names, schema.null_values, "\0key ", ordered=True).join(
            table.lazy(), on=[f"\0key {name}" for name in names], how="left", maintain_order="left"
        )
        # A row without a key was suppressed before.
        fill = {
            name: pl.when(pl.col(_FIRST)).then(pl.col(f"\0cell {name}")).otherwise(pl.lit(SUPPRESSED))
            for name in names
        }
        return made.select(
            fill[name].alias(name) if name in fill else self._plain(name).alias(name) for name in released
        )

    # --- counting -------------------------------------------------------------------------------------

    def _plain(self, name: str) -> pl.Expr:
        """Pass a column on; categories would take their dictionary along."""
        import polars as pl

        kind = self._types[name]
        if isinstance(kind, pl.Categorical | pl.Enum):
            return pl.col(name).cast(pl.String)
        return pl.col(name)

    def _cleaned(self, name: str, null_values: tuple[str, ...]) -> pl.Expr:
        """Make what is the same value the same for grouping."""
        import polars as pl

        kind = self._types[name]
        column = pl.col(name)
        if isinstance(kind, pl.Categorical | pl.Enum) or kind in (pl.Null, pl.Boolean):
            column, kind = column.cast(pl.String), pl.String()
        if kind == pl.String and null_values:
            column = pl.when(column.is_in(list(null_values))).then(None).otherwise(column)
        elif kind.is_float():
            column = pl.when(column == 0).then(pl.lit(0.0, dtype=kind)).otherwise(column.fill_nan(None))
        return column

    def _look(self, names: Sequence[str], null_values: tuple[str, ...]) -> None:
        """Find the distinct values of some columns in one pass over the rows."""
        import polars as pl

        wanted = [name for name in dict.fromkeys(names) if (name, null_values) not in self._values]
        frames = pl.collect_all(
            [self._frame.select(self._cleaned(name, null_values).alias(name).unique()) for name in wanted],
            engine="streaming",
        )
        for name, frame in zip(wanted, frames, strict=True):
            self._values[name, null_values] = frame[name].sort()

    def _distinct(self, name: str, null_values: tuple[str, ...]) -> pl.Series:
        """Return the distinct values of a column, missing among them."""
        self._look([name], null_values)
        return self._values[name, null_values]

    def _coded(
        self,
        frame: pl.LazyFrame,
        names: Sequence[str],
        null_values: tuple[str, ...],
        prefix: str = "",
        *,
        ordered: bool = False,
    ) -> pl.LazyFrame:
        """Add each column's places among its distinct values, which take less memory than the values."""
        import polars as pl

        for name in names:
            distinct = self._distinct(name, null_values)
            places = pl.Series(f"{prefix}{name}", range(len(distinct)), dtype=pl.UInt32)
            cleaned = self._cleaned(name, null_values)
            known = distinct.is_not_null()
            if len(distinct) <= _LOOKED_UP and known.any():
                code = cleaned.replace_strict(
                    distinct.filter(known), places.filter(known), default=None, return_dtype=pl.UInt32
                )
                missing = places.filter(~known)
                code = code.fill_null(missing[0]) if len(missing) else code
                frame = frame.with_columns(code.alias(f"{prefix}{name}"))
            else:
                table = pl.DataFrame([distinct.alias(_FIRST + name), places])
                frame = frame.with_columns(cleaned.alias(_FIRST + name))
                if not prefix:
                    frame = frame.drop(name)
                frame = frame.join(
                    table.lazy(),
                    on=_FIRST + name,
                    how="left",
                    nulls_equal=True,
                    maintain_order="left" if ordered else "none",
                ).drop(_FIRST + name)
        return frame

    def _grouped(self, names: Sequence[str], null_values: tuple[str, ...]) -> pl.DataFrame:
        """Count the combinations of some columns by their codes, in the order of their first row."""
        import polars as pl

        frame: pl.DataFrame = (
            self._coded(self._frame.select(names).with_row_index(_FIRST), names, null_values)
            .group_by(names)
            .agg(pl.len().alias(_ROWS), pl.col(_FIRST).min())
            .collect(engine="streaming")
        )
        return frame.sort(_FIRST)

    def _suppressed(
        self, grouped: pl.DataFrame, names: Sequence[str], null_values: tuple[str, ...]
    ) -> NDArray[np.bool_]:
        """Say which combinations are ``*`` in every quasi-identifier."""
        import numpy as np
        import polars as pl

        from incrowd.recoding import SUPPRESSED

        gone = np.ones(len(grouped), np.bool_)
        for name in names:
            distinct = self._distinct(name, null_values)
            if distinct.dtype != pl.String:
                return np.zeros(len(grouped), np.bool_)
            star = (distinct == SUPPRESSED).fill_null(value=False).to_numpy()
            gone &= star[grouped[name].to_numpy()]
        return gone

    def _keyed(
        self, columns: Sequence[str], names: Sequence[str], key_of: pl.DataFrame, null_values: tuple[str, ...]
    ) -> tuple[pl.DataFrame, NDArray[np.int64]]:
        """Count columns together with the quasi-identifiers, and number each row's key (-1: suppressed)."""
        own = [name for name in columns if name not in names]
        grouped = self._grouped([*names, *own], null_values)
        keys = grouped.select(names).join(
            key_of, on=names, how="left", nulls_equal=True, maintain_order="left"
        )
        return grouped, keys[_FIRST].to_numpy()

    def _counted(
        self, attribute: Attribute, names: Sequence[str], key_of: pl.DataFrame, keys: int, schema: Schema
    ) -> SensitiveCounts:
        import numpy as np

        from incrowd.domain import Domain
        from incrowd.frequency import SensitiveCounts

        grouped, key = self._keyed([attribute.name], names, key_of, schema.null_values)
        values = self._distinct(attribute.name, schema.null_values)
        found, places = dictionary(values, attribute.name, ())
        domain, ranks = Domain.build(attribute, found)
        codes = ranks[places][grouped[attribute.name].to_numpy()]
        rows = grouped[_ROWS].to_numpy().astype(np.int64)
        totals = np.bincount(codes, rows, domain.size).astype(np.int64)
        return SensitiveCounts(domain, _per_key(key, codes, rows, keys, domain.size), totals, None)

    def _combined(
        self,
        schema: Schema,
        names: Sequence[str],
        key_of: pl.DataFrame,
        sensitive: Sequence[SensitiveCounts],
        keys: int,
    ) -> Any:
        """Count the combinations of the sensitive attributes' values per key, numbered by their first row."""
        import numpy as np

        from incrowd.domain import Domain
        from incrowd.frequency import JointCounts
        from incrowd.kernels.grouping import group_columns

        columns = [counts.name for counts in sensitive]
        grouped, key = self._keyed(columns, names, key_of, schema.null_values)
        ranked = []
        for counts in sensitive:
            values = self._distinct(counts.name, schema.null_values)
            found, places = dictionary(values, counts.name, ())
            _, ranks = Domain.build(schema[counts.name], found)
            ranked.append(ranks[places][grouped[counts.name].to_numpy()])
        sizes = [counts.domain.size for counts in sensitive]
        combination, place = group_columns(ranked, sizes, len(grouped))
        rows = grouped[_ROWS].to_numpy().astype(np.int64)
        return JointCounts(
            tuple(ranks[place].astype(np.int32) for ranks in ranked),
            _per_key(key, combination, rows, keys, len(place)),
        )


def _per_key(
    key: NDArray[np.int64], codes: NDArray[np.integer], rows: NDArray[np.int64], keys: int, size: int
) -> Counts:
    """Lay counts out per key, values in order; those of no key are left out."""
    import numpy as np

    from incrowd.kernels.counting import Counts

    live = key >= 0
    key, codes, rows = key[live], codes[live].astype(np.int64), rows[live]
    order = np.argsort(key * size + codes, kind="stable")
    key, codes, rows = key[order], codes[order], rows[order]
    # Values written in several ways are one value.
    new = np.ones(len(key), np.bool_)
    new[1:] = (key[1:] != key[:-1]) | (codes[1:] != codes[:-1])
    start = np.flatnonzero(new)
    counts = np.add.reduceat(rows, start) if len(start) else rows
    indptr = np.concatenate(([0], np.cumsum(np.bincount(key[start], minlength=keys)))).astype(np.int64)
    return Counts(indptr, codes[start].astype(np.int32), counts.astype(np.int64))
