"""Lazy frames that end when the job is cancelled, which Polars itself does not support."""

from __future__ import annotations

from incrowd.core.lazy import pl
from incrowd.core.progress import Cancelled, current


def passing(frame: pl.LazyFrame) -> pl.LazyFrame:
    """Return the same rows, ended by `Cancelled` when the job of this thread is cancelled.

    For a plan that is run at once: it knows the job. All columns of the frame are read, so choose them first.
    """
    job = current()
    if job is None:
        return frame

    def look(part: pl.DataFrame) -> pl.DataFrame:
        if job.cancelled:
            raise Cancelled
        return part

    return frame.map_batches(look, streamable=True, validate_output_schema=False)
