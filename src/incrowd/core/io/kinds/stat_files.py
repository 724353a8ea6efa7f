"""Base of the kinds for Stata, SPSS and SAS, which pyreadstat reads and writes."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any, ClassVar

from incrowd.core.errors import TableError
from incrowd.core.io.kinds.base import Kept, Kind, Place, simple_cells
from incrowd.core.io.kinds.labels import Code, Column, Limits, Written, shown, written
from incrowd.core.lazy import pl


class StatFile(Kind):
    """A file of a statistics package, where columns may have labels (see `incrowd.core.io.kinds.labels`)."""

    extra = "stats"
    libraries: ClassVar[tuple[str, ...]] = ("pyreadstat",)
    limits: ClassVar[Limits]

    @abstractmethod
    def parsed(self, path: Path) -> tuple[Mapping[str, list[Any]], Any]:
        """Read values, codes and missing codes unchanged, with the metadata of pyreadstat."""

    @abstractmethod
    def put(self, table: pl.DataFrame, place: Path, columns: Mapping[str, Written], kept: Kept) -> None:
        """Write values and codes, with the columns' metadata of the source file."""

    def read(self, path: Path, place: Place) -> tuple[pl.DataFrame, Kept]:
        """Read a file (see `Kind.read`)."""
        import pyreadstat

        try:
            cells, metadata = self.parsed(path)
        except (pyreadstat.ReadstatError, pyreadstat.PyreadstatError, ArithmeticError, ValueError):
            raise TableError(f"{path}: not readable as {self.title}") from None
        about = {name: _about(name, values, metadata) for name, values in cells.items()}
        table = pl.DataFrame({name: shown(values, about[name]) for name, values in cells.items()})
        return table, Kept(self.name, dict(about))

    def prepared(self, table: pl.DataFrame, target: Path, kept: Kept | None) -> pl.DataFrame:
        """Return the table with missing cells for empty texts, which such files do not have."""
        from polars import selectors

        return simple_cells(table, target, self.title, "us").with_columns(
            selectors.boolean().cast(pl.Int8), selectors.string().replace("", None)
        )

    def write(self, table: pl.DataFrame, place: Path, kept: Kept | None) -> None:
        """Write a file with labels only for values that occur (see `Kind.write`)."""
        import pyreadstat

        kept = kept or Kept(self.name)
        columns = {name: written(table[name], kept.columns.get(name), self.limits) for name in table.columns}
        values = pl.DataFrame([column.values.alias(name) for name, column in columns.items()])
        try:
            self.put(values, place, columns, kept)
        except (pyreadstat.ReadstatError, pyreadstat.PyreadstatError) as error:
            # Of other errors pyreadstat may show values.
            why = f"{str(error)[:200]}; rename the column, or" if " name " in str(error) else "please"
            raise TableError(
                f"{place.name}: {self.title} cannot hold this table: {why} write .parquet"
            ) from None


def labels_of(columns: Mapping[str, Written]) -> dict[str, Any]:
    """Return the labels of the columns that have some, by code."""
    return {
        name: {_as_typed(code, column): label for code, label in column.labels.items()}
        for name, column in columns.items()
        if column.labels
    }


def _as_typed(code: Code, column: Written) -> Code:
    """Return a code in the type of the column's values."""
    return int(code) if isinstance(code, float) and column.values.dtype.is_integer() else code


def arguments(columns: Mapping[str, Written], kept: Kept) -> dict[str, Any]:
    """Return common arguments of pyreadstat's writers: column labels, and formats if the kind stays."""
    about: dict[str, Column] = kept.columns
    return {
        "column_labels": {name: label for name in columns if name in about and (label := about[name].label)},
        "variable_format": {
            name: shown_as
            for name, column in columns.items()
            if name in about
            and column.kind == about[name].kind != "text"
            and (shown_as := about[name].format)
        },
    }


def _about(name: str, values: list[Any], metadata: Any) -> Column:
    """Gather a file's labels and formats of a column."""
    import datetime

    text = metadata.readstat_variable_types[name] == "string"
    first = next((value for value in values if value is not None and not isinstance(value, str)), None)
    kind = "text" if text else "number"
    if isinstance(first, datetime.date):
        kind = "time" if isinstance(first, datetime.datetime) else "date"
    elif isinstance(first, datetime.time):
        kind = "time"
    value_labels = metadata.variable_value_labels.get(name) or {}
    labels = {
        code if isinstance(code, str) else float(code): str(label) for code, label in value_labels.items()
    }
    ranges = (getattr(metadata, "missing_ranges", None) or {}).get(name) or ()
    missing = tuple((each["lo"], each["hi"]) for each in ranges)
    column = Column(
        kind,  # type: ignore[arg-type]
        metadata.column_names_to_labels.get(name) or None,
        metadata.original_variable_types.get(name) or None,
        metadata.variable_measure.get(name),
        labels,
        missing,
        frozenset() if text else frozenset(value for value in values if isinstance(value, str)),
    )
    occurring = {value for value in values if value is not None}
    codes = frozenset(filter(column.is_missing, occurring))
    rest = occurring - codes if labels else ()
    return replace(column, codes=codes, categories=bool(rest) and all(value in labels for value in rest))
