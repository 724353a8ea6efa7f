"""The rows of a release or of a batch, in the released form, and the columns that their order reveals."""

from __future__ import annotations

import os
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from incrowd.core.errors import ParameterError, named, setting
from incrowd.core.io.files import escaping
from incrowd.core.lazy import NDArray, np
from incrowd.core.progress import interrupting
from incrowd.engines import engine_for
from incrowd.release.jobs.make.suppressed_records import Suppression

if TYPE_CHECKING:
    from incrowd.core.io.files import CsvFormat
    from incrowd.core.io.shuffle import RandomOrder
    from incrowd.core.progress import Progress
    from incrowd.core.table.schema import Schema
    from incrowd.engines import Counted


@dataclass(frozen=True, kw_only=True)
class LeavingRows:
    """The rows that leave, with the suppressed records and the way back to the raw rows.

    Attributes
    ----------
    table
        The released table, of the kind that came in (a Polars frame for a path). Cells are texts. Means of
        numbers and dates have the type of the column that came in, if nothing is lost by it. None if no row
        leaves.
    suppression
        The suppressed records: how many there are, how many are left out, and the models that they do not
        satisfy as a class of their own.
    csv_format
        How the input was written, where it was a CSV.
    sources
        What was read, where that is known; no output takes its place.
    order
        Where each row went; None if the order was kept, or the rows never had one.
    places
        The places of the raw rows that leave, from 0, where some are left out and rows have an order. Do not
        hand them out.
    """

    table: Any
    suppression: Suppression = field(default=Suppression("keep"))
    csv_format: CsvFormat | None = None
    sources: tuple[Any, ...] = ()
    order: RandomOrder | None = None
    places: NDArray[np.int64] | None = field(default=None, compare=False)
    _texts: Any = None

    @property
    def left_out(self) -> int:
        """Suppressed records that are left out of the release."""
        return self.suppression.left_out

    @property
    def texts(self) -> Any:
        """The released table with every quasi-identifier as text, as files hold the table."""
        return self.table if self._texts is None else self._texts

    def _write_rows(
        self,
        path: str | os.PathLike[str],
        check: Callable[[Any], None],
        *,
        force: bool,
        escape_formulas: bool,
        progress: Progress | None = None,
    ) -> None:
        """Write the texts to a file that gets the final name after `check` accepts the written table."""
        csv_format = escaping(self.csv_format, escape_formulas)
        engine = engine_for(self.texts, progress=progress)
        with interrupting(progress, engine.interrupt):
            engine.write_checked(path, csv_format, check, force=force, sources=self.sources)


def telling_columns(counted: Counted, schema: Schema, *, force: bool) -> list[str]:
    """Return the columns that the order of the rows reveals, or refuse such an order.

    Raises
    ------
    ParameterError
        When the order tells a column, or the rows have no order.
    """
    columns = counted.columns_in_order(schema)
    if columns and not force:
        keep_order = setting("keep_order", "--keep-order or keep_order = true")
        raise ParameterError(
            f"the rows are in the order of {named(columns)}, so the rows around a row would tell more of it "
            f"than its cells do; leave {keep_order} out, or keep the order all the same with "
            + setting("force=True", "--force")
        )
    return columns
