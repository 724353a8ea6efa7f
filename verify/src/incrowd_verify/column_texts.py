"""The texts of released columns, fetched by SQL, and the signs of people in them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING, Any

from incrowd_verify.checks import Checks
from incrowd_verify.gate.columns import are_numbers, texts_of, ungeneralized
from incrowd_verify.source import Table
from incrowd_verify.values import cell

if TYPE_CHECKING:
    import numpy as np
    import polars as pl
    from numpy.typing import NDArray


@dataclass(frozen=True)
class TextColumn:
    """The distinct texts of one column.

    Attributes
    ----------
    texts
        The texts.
    counts
        int64[texts]: how many records have each.
    records
        All records of the table.
    """

    texts: pl.Series
    counts: NDArray[np.int64]
    records: int

    @cached_property
    def signs(self) -> Mapping[str, int]:
        """How many records have texts with each sign of people, by the sign's name; none with 0."""
        from incrowd_verify.texts import signs_in

        return {sign: int(self.counts[mask.to_numpy()].sum()) for sign, mask in signs_in(self.texts).items()}

    @cached_property
    def is_free(self) -> bool:
        """Whether the texts are sentences that people wrote."""
        from incrowd_verify.texts import is_free_text

        return is_free_text(self.texts, self.records)


def counts_of(con: Checks, released: Table, *names: str) -> tuple[int, int]:
    """Return how many combinations of values only one record has, and how many there are."""
    cells = ", ".join(f"CAST({cell(released, name)} AS VARCHAR)" for name in names)
    # A reader tells not-a-number from a missing value, though both count as missing for models.
    floats = [f"c{released.place(name)}" for name in names if released.kind_of(name) == "float"]
    cells += "".join(f", coalesce(isnan({each}), false)" for each in floats)
    groups = f"SELECT count(*) AS n FROM {released.name} GROUP BY {cells}"
    single, different = con.row(f"SELECT count(*) FILTER (n = 1), count(*) FROM ({groups})")
    return int(single), int(different)


@dataclass(frozen=True)
class Texts:
    """The texts of the columns of a release; each column is fetched once.

    Attributes
    ----------
    quasi
        The quasi-identifiers, of which generalized cells are left out.
    """

    con: Checks
    released: Table
    quasi: frozenset[str] = frozenset()
    _columns: dict[str, TextColumn | None] = field(default_factory=dict, repr=False)
    _counts: dict[str, tuple[int, int]] = field(default_factory=dict, repr=False)

    def of(self, name: str) -> TextColumn | None:
        """Return the texts of a column, or None where its values are no texts."""
        if name not in self._columns:
            self._columns[name] = self._fetched(name)
        return self._columns[name]

    def counts(self, name: str) -> tuple[int, int]:
        """Return how many values of a column only one record has, and how many different ones there are."""
        if name not in self._counts:
            self.of(name)
        if name not in self._counts:
            self._counts[name] = counts_of(self.con, self.con.narrow(self.released, name), name)
        return self._counts[name]

    def are_numbers(self, name: str) -> bool:
        """Say whether all known values of a column are numbers, or texts of plain numbers."""
        if self.released.kind_of(name) in ("number", "float"):
            return True
        declared = self.released.type_of(name)
        return declared == "VARCHAR" and are_numbers(self._values(name)[0])

    def _fetched(self, name: str) -> TextColumn | None:
        declared = self.released.type_of(name)
        if self.released.kind_of(name) in ("float", "date") or declared in ("BOOLEAN", "TIME"):
            return None
        if declared.startswith(("DECIMAL", "INTERVAL")):
            return None
        values, counts = self._values(name)
        found = texts_of(values, counts)
        if found is None:
            return None
        return TextColumn(*(ungeneralized(*found) if name in self.quasi else found), int(counts.sum()))

    def _values(self, name: str) -> tuple[pl.Series, NDArray[Any]]:
        import numpy as np
        import polars as pl

        table = self.con.narrow(self.released, name)
        shown = f"CAST({cell(table, name)} AS VARCHAR)"
        rows = self.con.execute(
            f"SELECT {shown} AS v, count(*) FROM {table.name} GROUP BY v ORDER BY v"
        ).fetchall()
        self._counts[name] = sum(records == 1 for _, records in rows), len(rows)
        values = pl.Series([value for value, _ in rows], dtype=pl.String)
        return values, np.array([records for _, records in rows], np.int64)
