"""The seam between tables and everything above them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Protocol

from incrowd.errors import TableError

if TYPE_CHECKING:
    from incrowd.frequency import FrequencyTable
    from incrowd.recoding import Recoding
    from incrowd.schema import Schema

__all__ = ["Engine", "engine_for"]


class Engine(Protocol):
    """A table, wherever its rows live."""

    @classmethod
    def takes(cls, table: Any) -> bool:
        """Say whether this engine works on such a table."""

    def __init__(self, table: Any) -> None: ...

    @property
    def columns(self) -> list[str]:
        """Names of the columns, in order."""

    def count(self, schema: Schema) -> FrequencyTable:
        """Count the rows.

        Raises
        ------
        TableError
            When the table has no rows.
        SchemaError, HierarchyError
            When schema and table do not fit.
        """

    def apply(self, schema: Schema, frequency: FrequencyTable, recoding: Recoding) -> Any:
        """Recode the rows: a table of the same kind, rows in the same order, with new contents only.

        Columns that may not leave are left out; the quasi-identifiers hold the released cells as text.
        """


def engine_for(table: Any) -> Engine:
    """Return the engine that works on a table.

    Raises
    ------
    TableError
        When none does.
    """
    from incrowd.engines import ENGINES

    for engine in ENGINES:
        if engine.takes(table):
            return engine(table)
    raise TableError(
        f"a {type(table).__module__}.{type(table).__name__} is no table that incrowd works on; "
        "give a pandas, Polars or PyArrow table, or the path of a CSV or Parquet file"
    )
