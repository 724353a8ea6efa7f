"""Points of columns whose cells hold sets: the released items, and columns that tell raw sets."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from incrowd_gate import wording
from incrowd_gate.lazy import pl
from incrowd_gate.points import Point
from incrowd_gate.rules.columns import Values
from incrowd_gate.rules.dependencies import derived_columns
from incrowd_gate.rules.identity import name_of_people
from incrowd_gate.rules.labels import outside_intervals
from incrowd_gate.rules.texts import points_of_column

_VALUES = 2
"""Different values that a column has to have, at least, to tell something."""


@dataclass(frozen=True)
class Sets:
    """A released column of sets.

    - `cells`: its distinct released cells, and what stands between two items.
    - `records`: all released records.
    - `tree`: the labels of its hierarchy, and the parent of each node; None where none is written down.
    - `raw`: some raw rows: the cells as texts, and the columns that are released as they are; None where
      nobody gave a raw table.
    """

    name: str
    cells: Values
    records: int
    tree: tuple[Sequence[str | None], Sequence[int]] | None = None
    raw: pl.DataFrame | None = None


def points_of_sets(sets: Sets) -> Iterator[Point]:
    """Look at the items as at the cells of a quasi-identifier, and at columns that leave as they are."""
    if (texts := sets.cells.texts) is not None:
        yield from points_of_column(sets.name, texts, sets.records)
        if (reason := name_of_people(sets.name, texts.distinct)) is not None:
            yield wording.named_identifier(sets.name, reason)
    if sets.tree is not None and (outside := outside_intervals(*sets.tree)):
        yield wording.untrue_label(sets.name, len(outside))
    if sets.raw is None:
        return
    cells = sets.raw[sets.name]
    plain = [name for name in sets.raw.columns if name != sets.name]
    among = [name for name in plain if has_items(sets.raw[name], cells, sets.cells.between or ";")]
    for name in among:
        yield wording.derived(name, sets.name, follows=True)
    yield from derived_columns(sets.raw, [sets.name], [name for name in plain if name not in among])


def has_items(column: pl.Series, cells: pl.Series, parts: str) -> bool:
    """Say whether a column has items of the same row in every row, as the main diagnosis of a patient.

    - `cells`: texts of items.
    - `parts`: the text between two items.

    Examples
    --------
    >>> cells = pl.Series(["E11;I10;J45", "I10; J45", None])
    >>> [has_items(pl.Series(texts), cells, ";") for texts in (["J45;E11", "J45", "E11"], ["I10", "E11", ""])]
    [True, False]
    """
    if column.dtype not in (pl.String, pl.Categorical, pl.Enum) and not column.dtype.is_integer():
        return False
    rows = pl.DataFrame({"some": column.cast(pl.String), "every": cells}).drop_nulls()
    if rows["some"].n_unique() < _VALUES:
        return False
    some, every = (
        each.str.split(parts).list.eval(pl.element().str.strip_chars()) for each in rows.get_columns()
    )
    return bool((some.list.set_difference(every).list.len() == 0).all())
