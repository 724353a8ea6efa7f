"""SPSS files."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, ClassVar

from incrowd.core.io.kinds.base import Kept
from incrowd.core.io.kinds.labels import Code, Column, Limits, Written
from incrowd.core.io.kinds.stat_files import StatFile, arguments, labels_of
from incrowd.core.lazy import pl

_DISCRETE = 3


class Spss(StatFile):
    """SPSS files. A suppressed number is a missing code below all others with the label ``*``."""

    name = "spss"
    title = "an SPSS file"
    suffixes: ClassVar[tuple[str, ...]] = (".sav", ".zsav")
    marks: ClassVar[tuple[bytes, ...]] = (b"$FL2", b"$FL3")
    limits = Limits(labels=120, missing=_DISCRETE)

    def parsed(self, path: Path) -> tuple[Mapping[str, list[Any]], Any]:
        """Read a file."""
        import pyreadstat

        return pyreadstat.read_sav(path, user_missing=True, output_format="dict")

    def put(self, table: pl.DataFrame, place: Path, columns: Mapping[str, Written], kept: Kept) -> None:
        """Write a file."""
        import pyreadstat

        about: dict[str, Column] = kept.columns
        pyreadstat.write_sav(
            table,
            place,
            compress=place.suffix.lower() == ".zsav",
            variable_value_labels=labels_of(columns),
            missing_ranges={
                name: _ranges(each.missing, about[name]) for name, each in columns.items() if each.missing
            },
            variable_measure={name: about[name].measure or "unknown" for name in columns if name in about},
            **arguments(columns, kept),
        )


def _ranges(missing: Sequence[Code], column: Column) -> list[Any]:
    """Return the missing codes singly, or by range where there are many."""
    if len(missing) <= _DISCRETE:
        return [*missing]
    codes: Sequence[Any] = missing
    ranges: list[Any] = []
    for least, most in column.missing:
        within = [code for code in codes if type(code) is type(least) and least <= code <= most]
        if within:
            ranges.append({"lo": min(within), "hi": max(within)})
    return ranges
