"""Points of columns of sets: of released items, and of columns that tell raw cells."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from incrowd.core.hierarchy import Hierarchy
from incrowd.core.io.columns import column_named
from incrowd.core.lazy import pl
from incrowd.release.accounts.points import RowsThatLeave
from incrowd.release.jobs.make.sets.cells import separator_of
from incrowd_gate.rules.columns import Values
from incrowd_gate.rules.dependencies import plain_columns
from incrowd_gate.rules.sets import Sets, points_of_sets

if TYPE_CHECKING:
    from incrowd.core.table.schema import Schema
    from incrowd.engines import MemoryEngine
    from incrowd_gate.points import Point


def points_of_cells(engine: MemoryEngine, schema: Schema, released: pl.DataFrame) -> Iterator[Point]:
    """Return the points of all columns of sets.

    Parameters
    ----------
    engine
        The raw rows.
    released
        The table that leaves, with sets as texts.
    """
    rows = RowsThatLeave(engine, schema, released.height, engine, [each.name for each in schema.sets])
    assert rows.raw is not None
    plain = plain_columns(rows, rows.raw)
    for attribute in schema.sets:
        name, tree = attribute.name, attribute.hierarchy
        cells = released[name].cast(pl.String).alias("cell").value_counts()
        counts = cells["count"].cast(pl.Int64).to_numpy()
        raw = rows.raw.sample([name, *plain])
        yield from points_of_sets(
            Sets(
                name,
                Values(cells["cell"], counts, are_labels=True, between=separator_of(attribute)),
                released.height,
                (tree.labels, tree.parents.tolist()) if isinstance(tree, Hierarchy) else None,
                raw.with_columns(column_named(name).cast(pl.String)) if name in raw.columns else None,
            )
        )
