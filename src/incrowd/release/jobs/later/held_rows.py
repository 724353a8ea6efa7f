"""Raw rows of a batch that wait for the next batch because of small classes."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from incrowd.core.errors import ParameterError, SchemaError, named, setting
from incrowd.core.lazy import NDArray, np, nw, pa, pd, pl
from incrowd.release.jobs.later.people_across_batches import concat_columns, kind_of_type

if TYPE_CHECKING:
    from incrowd.engines import Engine


def rows_in_memory(table: Any, setting_text: str) -> Engine:
    """Return the engine of a table in memory, and refuse other tables.

    Parameters
    ----------
    setting_text
        The setting that needs single rows, as it was given.

    Raises
    ------
    ParameterError
    """
    from incrowd.engines import engine_for
    from incrowd.engines.memory import MemoryEngine

    engine = engine_for(table)
    if not isinstance(engine, MemoryEngine):
        raise ParameterError(
            f"{setting_text} picks single rows, so all rows have to be in memory; give a frame "
            "or one file: collect a lazy frame, fetch the rows of a database or of Spark"
            + setting("", ", leave --stream out")
        )
    return engine


def rows_at(table: Any, places: NDArray[np.int64]) -> Any:
    """Return some rows of a table in memory, by places from 0."""
    frame = nw.from_native(table, eager_only=True)[places]
    return nw.maybe_reset_index(frame).to_native()


def with_held(table: Any, waiting: Any) -> tuple[Any, int]:
    """Append rows that an earlier batch held, and return the table and the number of such rows.

    Raises
    ------
    ParameterError
        When the rows are not in memory.
    SchemaError
        When the columns do not fit.
    """
    batch, rows = (rows_in_memory(each, setting("held=", "--held")) for each in (table, waiting))
    for one, other, subject in ((batch, rows, "held rows have"), (rows, batch, "batch has")):
        lacking = [name for name in one.columns if name not in other.columns]
        if lacking:
            raise SchemaError(f"the {subject} no column {named(lacking)}; both need the same columns")
    for name in batch.columns:
        kinds = [kind_of_type(each.type_of(name)) for each in (batch, rows)]
        if kinds[0] != kinds[1] and "nothing" not in kinds and len(waiting):
            raise SchemaError(
                f"column {name!r} has values of type {kinds[0]} in the batch and of type {kinds[1]} in the "
                "held rows; give it one type"
            )
    if not len(waiting):
        return table, 0
    batch_frame, held_frame = (nw.from_native(each, eager_only=True) for each in (table, waiting))
    if held_frame.implementation is not batch_frame.implementation:
        held_frame = nw.from_arrow(held_frame.to_arrow(), backend=batch_frame.implementation)
    return _below(batch_frame, held_frame, batch.columns), len(waiting)


def _below(top: Any, bottom: Any, columns: list[str]) -> Any:
    """Concatenate two frames of the same kind, with common column types."""
    one, other = top.to_native(), bottom.to_native()
    if top.implementation.is_pandas():
        return pd.concat([one, other[columns]], ignore_index=True)
    if top.implementation.is_pyarrow():
        return pa.concat_tables([one, other.select(columns)], promote_options="permissive")
    return pl.DataFrame({name: concat_columns(one[name], other[name]) for name in columns})
