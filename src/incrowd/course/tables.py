"""The tables of the course: a town of 400 people, and a ward of 15 patients. All of them are made up."""

from __future__ import annotations

from importlib.resources import files

from incrowd.errors import ParameterError, did_you_mean, require_extra
from incrowd.lazy import pd

COLUMNS = {
    "ward": ["age", "zip", "pay", "illness"],
    "town": ["name", "card", "age", "sex", "zip", "language", "pay", "illness"],
    "clinic": ["age", "sex", "zip", "language", "illness"],
    "runners": ["name", "age", "sex", "zip"],
}
"""The columns of each table; all but ``ward`` are parts of ``town.csv``."""


def table(name: str) -> pd.DataFrame:
    """Return a table of the course.

    Parameters
    ----------
    name
        ``ward``: 15 patients. ``town``: 400 people with their names. ``clinic``: the same people in another
        order, without names. ``runners``: the 15 of them whom the newspaper lists.

    Raises
    ------
    ParameterError
        For another name.
    MissingExtraError
        Without pandas.
    """
    if name not in COLUMNS:
        raise ParameterError(f"the course has no table {name!r}{did_you_mean(name, COLUMNS)}")
    require_extra(["pandas"], "course", "the course")
    path = files("incrowd.course") / "data" / ("ward.csv" if name == "ward" else "town.csv")
    with path.open(encoding="utf-8") as stream:
        rows = pd.read_csv(stream, dtype={"zip": str, "card": str})
    if name == "runners":
        rows = rows[rows["runner"] == 1]
    if name == "clinic":
        # In the order of the town, rows would tell their names.
        rows = rows.sample(frac=1, random_state=0)
    return rows[COLUMNS[name]].reset_index(drop=True)
