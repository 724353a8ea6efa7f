"""The tables of the course: a made-up town of 400 people, a made-up ward, and counts of a real census.

The counts are of the table Adult (Becker and Kohavi 1996, UCI Machine Learning Repository, CC BY 4.0). A
teacher's own tables are CSV files beside the notebook.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from importlib.resources import files
from pathlib import Path
from typing import Any

from incrowd.core.errors import ParameterError, did_you_mean, require_extra
from incrowd.core.lazy import pd

COLUMNS = {
    "ward": ["age", "zip", "pay", "illness"],
    "town": ["name", "card", "age", "sex", "zip", "language", "pay", "illness"],
    "clinic": ["age", "sex", "zip", "language", "illness"],
    "runners": ["name", "age", "sex", "zip"],
    "census": ["race", "sex", "income"],
    "countries": ["country", "people", "weight"],
}
"""The columns of each table; ``clinic`` and ``runners`` are parts of ``town.csv``."""

_NUMBER = re.compile(r"-?(0|[1-9]\d*)(\.\d+)?")


def table(name: str) -> pd.DataFrame:
    """Return a table of the course.

    Parameters
    ----------
    name
        ``ward``: 15 patients. ``town``: 400 people with their names. ``clinic``: the same people in another
        order, without names. ``runners``: the 15 of them whom the newspaper lists. ``census``: 48,842 real
        people of Adult, by three columns. ``countries``: how many of them were born in each country, and the
        sum of their weights. Any other name is of a teacher's own file ``<name>.csv`` in the current folder:
        a column has text where a value is no number, or begins with a 0.

    Raises
    ------
    ParameterError
        For another name, or where names of columns begin with a blank.
    TableError
        When the file cannot be read.
    MissingExtraError
        Without pandas.
    """
    own = Path(f"{name}.csv")
    if name not in COLUMNS and (own.name != str(own) or not own.is_file()):
        raise ParameterError(
            f"the course has no table {name!r}, and the current folder no file {str(own)!r}"
            f"{did_you_mean(name, COLUMNS)}"
        )
    require_extra(["pandas"], "course", "the course")
    if name not in COLUMNS:
        return _own_table(own)
    data = files("incrowd.course") / "data"
    path = data / ("town.csv" if name in ("clinic", "runners") else f"{name}.csv")
    with path.open(encoding="utf-8") as stream:
        rows = pd.read_csv(stream, dtype={"zip": str, "card": str})
    if name == "runners":
        rows = rows[rows["runner"] == 1]
    if name == "census":
        rows = rows.loc[rows.index.repeat(rows["people"])]
    if name in ("clinic", "census"):
        # In the order of the town, rows would tell their names.
        rows = rows.sample(frac=1, random_state=0)
    return rows[COLUMNS[name]].reset_index(drop=True)


def _own_table(path: Path) -> pd.DataFrame:
    """Read a CSV file, with columns of plain numbers as numbers."""
    from incrowd.core.io.files import read_table

    frame, _ = read_table(path)
    if word := blank_names(frame.columns):
        raise ParameterError(f"{path}: {word}; take the blanks after the delimiters out")
    rows = pd.DataFrame(frame.to_dict(as_series=False))
    for name in rows:
        if all(_NUMBER.fullmatch(value) for value in rows[name].dropna()):
            rows[name] = pd.to_numeric(rows[name])
    return rows


def blank_names(names: Iterable[Any]) -> str:
    """Describe columns whose names begin with a blank, which stood after a delimiter; empty for none."""
    for name in map(str, names):
        if name != name.lstrip():
            return f"the names begin with a blank, as {name!r}"
    return ""
