"""Suppressed cells of other tools: empty, NA or another mark in place of a star."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

from incrowd.core.errors import ParameterError, setting
from incrowd.core.io.columns import nameless
from incrowd.core.lazy import nw, pl
from incrowd.core.recoding import SUPPRESSED
from incrowd.core.table.treated_columns import as_texts


def with_stars(table: Any, names: Iterable[str], marks: Sequence[str]) -> Any:
    """Write a star into the suppressed cells of a table.

    Parameters
    ----------
    table
        A pandas, Polars or PyArrow table.
    names
        The quasi-identifiers; those that the table has not got are passed over.
    marks
        The texts of suppressed cells; the empty text is a missing cell. Without any, the table is returned as
        it is.

    Raises
    ------
    ParameterError
        When the rows of the table stay where they are, as in a database.

    Examples
    --------
    >>> import polars as pl
    >>> with_stars(pl.DataFrame({"age": [20, None], "zip": ["NA", "1"]}), ["age", "zip"], ["", "NA"]).rows()
    [('20', '*'), ('*', '1')]
    """
    if not marks:
        return table
    try:
        frame = nw.from_native(table, eager_only=True).to_polars()
    except TypeError:
        raise ParameterError(
            f"{setting('suppressed_as', '--suppressed-as')} is for frames and files that are read whole; "
            f"write {SUPPRESSED!r} into the suppressed cells of this table, or read it whole"
        ) from None
    for name in names:
        if name in frame.columns:
            texts = as_texts(nameless(frame[name]), ())
            starred = texts.is_in(list(marks))
            if "" in marks:
                starred = starred.fill_null(value=True)
            if starred.any():
                cells = pl.select(pl.when(starred).then(pl.lit(SUPPRESSED)).otherwise(texts)).to_series()
                frame = frame.with_columns(cells.alias(name))
    return frame
