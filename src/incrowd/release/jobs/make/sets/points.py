"""Points of a column of sets: of its released items, and of columns that tell its raw cells."""

from __future__ import annotations

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
    from incrowd.core.table.attribute import Attribute
    from incrowd.core.table.schema import Schema
    from incrowd.engines import MemoryEngine
    from incrowd_gate.points import Point


def points_of_column(
    engine: MemoryEngine, schema: Schema, attribute: Attribute, released: pl.Series
) -> list[Point]:
    """Return the points of a column of sets.

    Parameters
    ----------
    engine
        The raw rows.
    released
        The cells that leave, as texts.
    """
    name = attribute.name
    cells = released.cast(pl.String).alias("cell").value_counts()
    counts = cells["count"].cast(pl.Int64).to_numpy()
    rows = RowsThatLeave(engine, schema, len(released), engine, [name])
    assert rows.raw is not None
    raw = rows.raw.sample([name, *plain_columns(rows, rows.raw)])
    tree = attribute.hierarchy
    return [
        *points_of_sets(
            Sets(
                name,
                Values(cells["cell"], counts, are_labels=True, between=separator_of(attribute)),
                len(released),
                (tree.labels, tree.parents.tolist()) if isinstance(tree, Hierarchy) else None,
                raw.with_columns(column_named(name).cast(pl.String)) if name in raw.columns else None,
            )
        )
    ]
