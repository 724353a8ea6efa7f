"""Groups of rows within which a treatment works."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import numpy as np
    import polars as pl
    from numpy.typing import NDArray

    from incrowd.treatments.base import Batch

__all__ = ["each_stratum", "strata_of"]


def strata_of(batch: Batch, within: str | None) -> list[NDArray[np.int64]]:
    """Return the rows of each group that have a value; a missing group is a group."""
    import numpy as np
    import polars as pl

    known = ~batch.values.is_null()
    if within is None:
        return [np.flatnonzero(known.to_numpy())]
    frame = pl.DataFrame({"group": batch.beside[within], "known": known}).with_row_index("row")
    grouped = frame.filter("known").group_by("group", maintain_order=True).agg("row")
    return [np.asarray(rows, np.int64) for rows in grouped["row"]]


def each_stratum(
    batch: Batch,
    within: str | None,
    work: Callable[[NDArray[np.float64], NDArray[np.uint64]], NDArray[np.float64]],
) -> pl.Series:
    """Let something work on the numbers of each group, with a random number for each; missing ones stay."""
    import numpy as np
    import polars as pl

    draws = np.zeros(len(batch.values), np.uint64) if batch.draws is None else batch.draws
    numbers = batch.values.fill_null(0.0).to_numpy().copy()
    for rows in strata_of(batch, within):
        if len(rows):
            numbers[rows] = work(numbers[rows], draws[rows])
    return pl.select(pl.when(~pl.lit(batch.values.is_null())).then(pl.lit(pl.Series(numbers)))).to_series()
