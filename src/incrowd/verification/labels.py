"""Files of Stata, SPSS and SAS as tables: a labelled value is its label, all else is itself."""

from __future__ import annotations

from collections.abc import Mapping
from itertools import accumulate
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import polars as pl

_CARD = 80


def labelled(cells: Mapping[str, list[Any]], said: Any) -> pl.DataFrame:
    """Make a table of values as pyreadstat reads them.

    A column in which some cell has a label, or a letter as missing code, is one of texts.

    Parameters
    ----------
    cells
        The values of each column.
    said
        What pyreadstat says of the file.
    """
    import polars as pl

    columns = []
    for name, values in cells.items():
        labels = _labels(said.variable_value_labels.get(name) or {})
        if said.readstat_variable_types[name] == "string":
            column = [labels.get(each, each) or None for each in values]
            columns.append(pl.Series(name, column, pl.String))
        elif any(isinstance(each, str) or (each is not None and each in labels) for each in values):
            column = [None if each is None else labels.get(each) or _text(each) for each in values]
            columns.append(pl.Series(name, column, pl.String))
        elif any(each is not None and not isinstance(each, int | float) for each in values):
            columns.append(pl.Series(name, values))
        else:
            columns.append(pl.Series(name, values, pl.Float64, strict=False))
    return pl.DataFrame(columns)


def _labels(given: Mapping[Any, str]) -> dict[Any, str]:
    """Return the label of each code, with the code behind it where it would be taken for another's."""
    stripped = {code: label.strip() for code, label in given.items()}
    found = {}
    for code, label in stripped.items():
        if not label:
            continue
        shared = sum(other == label for other in stripped.values()) > 1
        bare = code if isinstance(code, str) else _text(code)
        found[code] = f"{label} ({bare})" if shared or (_is_number(label) and label != bare) else label
        if isinstance(code, str) and not shared:
            found[code] = label
    return found


def _is_number(label: str) -> bool:
    try:
        return _text(float(label)) == label
    except ValueError:
        return False


def _text(value: Any) -> str:
    """Write a value without a label: 3 for 3.0, a letter behind a point, days as ISO has them."""
    if isinstance(value, str):
        return f".{value}"
    if isinstance(value, int | float):
        return repr(float(value)).removesuffix(".0")
    return str(value.isoformat())


def special_missing(path: Path, cells: Mapping[str, list[Any]]) -> None:
    """Put the letters of a SAS transport file in the place of its missing numbers."""
    data = path.read_bytes()
    start = data.index(b"HEADER RECORD*******NAM")
    fields = [data[start + _CARD + 140 * n : start + _CARD + 140 * (n + 1)] for n in range(len(cells))]
    # Fields follow each other, whatever places they say they have.
    ends = list(accumulate((int.from_bytes(field[4:6], "big") for field in fields), initial=0))
    width = ends[-1]
    first = data.index(b"HEADER RECORD*******OBS", start) + _CARD
    for field, place, values in zip(fields, ends[:-1], cells.values(), strict=True):
        if field[1] != 1:
            continue
        at = first + place
        for row, value in enumerate(values):
            if value is None:
                held = data[at + row * width : at + row * width + 1]
                if held.isalpha() or held == b"_":
                    values[row] = held.decode()
