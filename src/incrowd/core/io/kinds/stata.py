"""Stata files."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any, ClassVar

from incrowd.core.io.kinds.base import Kept
from incrowd.core.io.kinds.labels import Limits, Written
from incrowd.core.io.kinds.stat_files import StatFile, arguments, labels_of
from incrowd.core.lazy import pl


class Stata(StatFile):
    """Stata files. A suppressed number is ``.z`` with the label ``*``."""

    name = "stata"
    title = "a Stata file"
    suffixes: ClassVar[tuple[str, ...]] = (".dta",)
    marks: ClassVar[tuple[bytes, ...]] = (b"<stata_dta>",)
    limits = Limits(labels=32_000, letters="zyxwvutsrqponmlkjihgfedcba")

    def parsed(self, path: Path) -> tuple[Mapping[str, list[Any]], Any]:
        """Read a file, with days and times recognized whatever the display format."""
        import pyreadstat

        _, metadata = pyreadstat.read_dta(path, metadataonly=True, output_format="dict")
        formats = {each for each in metadata.original_variable_types.values() if each}
        return pyreadstat.read_dta(
            path,
            user_missing=True,
            output_format="dict",
            extra_date_formats=[each for each in formats if each.startswith(("%td", "%d", "%-td", "%-d"))],
            extra_datetime_formats=[each for each in formats if each.startswith(("%tc", "%-tc"))],
        )

    def put(self, table: pl.DataFrame, place: Path, columns: Mapping[str, Written], kept: Kept) -> None:
        """Write a file."""
        import pyreadstat

        pyreadstat.write_dta(
            table,
            place,
            variable_value_labels=labels_of(columns),
            missing_user_values={
                name: sorted(each.letters) for name, each in columns.items() if each.letters
            },
            **arguments(columns, kept),
        )
