"""Cells that the policy names by code: hidden, never secondary, or waived."""

from __future__ import annotations

from incrowd.core.errors import ParameterError, those_are
from incrowd.core.lazy import NDArray, np
from incrowd.release.tables.counting import Cells


def named_cells(cells: Cells, setting: str) -> NDArray[np.int64]:
    """Return int64[named cells]: the numbers of the cells of a table that a setting names.

    - `setting`: hidden, never_secondary, or waived. A column that an entry leaves out is its total.

    Raises
    ------
    ParameterError
        A code is none of the table.
    """
    numbers = []
    for entry in getattr(cells.layout, setting):
        place = []
        for axis in cells.axes:
            code = entry.get(axis.column, axis.codes[0])
            if code not in axis.codes:
                raise ParameterError(
                    f"table {cells.layout.name}: {setting} names {axis.column} = {code!r}, which is no code "
                    f"of it; {those_are(axis.codes, code)}"
                )
            place.append(axis.codes.index(code))
        numbers.append(int(np.ravel_multi_index(place, cells.shape)))
    return np.array(numbers, np.int64)
