"""The codebook of a release, from the report and the released cells."""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

from incrowd.core.io.seals import digest_of
from incrowd.core.lazy import nw, pl
from incrowd.core.reading.spellings import has_unclear_points
from incrowd.release.codebooks.base import Column, Description

_MOST_VALUES = 30
_ROLES = {"quasi": "quasi-identifier", "person": "pseudonym of a person"}


def description_of(
    document: Mapping[str, Any], texts: Any, file: str | os.PathLike[str] | None = None
) -> Description:
    """Describe a release by the release's report.

    A catalogue may show a codebook to more people than get the table. So values are listed of
    quasi-identifiers alone, where a value is that of a class, and labels of the raw file are left out.

    Parameters
    ----------
    document
        The report of a release that may be published.
    texts
        The released table.
    file
        The written table: its name and digest are told.
    """
    how = {each["name"]: each["how"] for each in document["attributes"]}
    treatments = {each["name"]: each["does"] for each in document.get("treatments", ())}
    frame: Any = nw.from_native(texts, pass_through=True)
    schema: Mapping[str, Any] = frame.schema if isinstance(frame, nw.DataFrame) else {}
    columns = []
    for entry in document["columns"]["released"]:
        name, role = entry["name"], entry["role"]
        words = [_ROLES.get(role, role), *(each[name] for each in (treatments, how) if name in each)]
        cells = frame[name].drop_nulls() if name in schema else None
        values = cells.unique().to_list() if role == "quasi" and cells is not None else []
        few = sorted(filter(None, map(str, values))) if len(values) <= _MOST_VALUES else []
        is_number = cells is not None and _is_of_numbers(cells.to_polars())
        columns.append(
            Column(name, is_number, "; ".join(words if words[1:] else [*words, "as it is"]), tuple(few))
        )
    description = Description(document["records"], document["verdict"]["text"], tuple(columns))
    if file is None:
        return description
    # Until all outputs have their names, the table is elsewhere.
    return replace(
        description, file=Path(file).name, digest=digest_of(Path(getattr(file, "temporary", file)))
    )


def _is_of_numbers(cells: pl.Series) -> bool:
    """Return whether all cells are numbers; codes such as 02139 are none."""
    if cells.dtype != pl.String:
        return cells.dtype.is_numeric()
    texts = cells.filter(cells != "").unique()
    is_code = texts.str.contains(r"^[-+]?0[0-9]").any()
    if is_code or has_unclear_points(texts):
        return False
    return len(texts) > 0 and texts.cast(pl.Float64, strict=False).null_count() == 0
