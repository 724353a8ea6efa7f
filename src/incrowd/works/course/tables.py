"""The tables of the course: a made-up town of 400 people, a made-up ward, and counts of a real census.

The counts are of the table Adult (Becker and Kohavi 1996, UCI Machine Learning Repository, CC BY 4.0).
"""

from __future__ import annotations

from importlib.resources import files

from incrowd.core.errors import ParameterError, did_you_mean, require_extra
from incrowd.core.lazy import pd

COLUMNS = {
    "ward": ["age", "zip", "pay", "illness"],
    "town": ["name", "card", "age", "sex", "zip", "language", "pay", "illness"],
    "clinic": ["age", "sex", "zip", "language", "illness"],
    "runners": ["name", "age", "sex", "zip"],
    "census": ["race", "sex", "income"],
}
"""The columns of each table; all but ``ward`` and ``census`` are parts of ``town.csv``."""


def table(name: str) -> pd.DataFrame:
    """Return a table of the course.

    Parameters
    ----------
    name
        ``ward``: 15 patients. ``town``: 400 people with their names. ``clinic``: the same people in another
        order, without names. ``runners``: the 15 of them whom the newspaper lists. ``census``: 48,842 real
        people of Adult, by three columns.

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
    data = files("incrowd.works.course") / "data"
    path = data / (f"{name}.csv" if name in ("ward", "census") else "town.csv")
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
