"""Groups of rows within which a treatment works."""

from __future__ import annotations

from typing import TYPE_CHECKING

from incrowd.lazy import NDArray, np, pl

if TYPE_CHECKING:
    from incrowd.treatments.base import Batch


def strata_of(batch: Batch, within: str | None, of: pl.Series | None) -> list[NDArray[np.int64]]:
    """Return the rows of each group; a missing group is a group.

    Parameters
    ----------
    of
        A column without whose value a row is in no group; None if all rows are.
    """
    known = pl.Series([True]).new_from_index(0, len(batch.values)) if of is None else ~of.is_null()
    if within is None:
        return [np.flatnonzero(known.to_numpy())]
    frame = pl.DataFrame({"group": batch.beside[within], "known": known}).with_row_index("row")
    grouped = frame.filter("known").group_by("group", maintain_order=True).agg("row")
    return [np.asarray(rows, np.int64) for rows in grouped["row"]]
