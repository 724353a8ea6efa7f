"""Count the cells of a table: its people, its records, and who has the largest parts of a sum."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import reduce
from itertools import product
from typing import Any

from incrowd.core.errors import ParameterError, SchemaError, TableError, those_are
from incrowd.core.hierarchy.builders import Flat
from incrowd.core.lazy import NDArray, np, pl
from incrowd.core.table.schema import Attribute, Schema
from incrowd.core.treatments.keys import read_key
from incrowd.release.tables.cell_key import cell_keys, record_keys
from incrowd.release.tables.cells import Axis, with_totals
from incrowd.release.tables.layout import CountTable


@dataclass(frozen=True)
class Cells:
    """The true values of a table.

    Attributes
    ----------
    layout
        What the policy asks for.
    axes
        The dimensions, rows first.
    values
        float64[cells]: what is published, unless it is protected: a count or a sum.
    people
        int64[cells]: how many people each is about.
    largest
        float64[cells, n]: the largest parts of each sum, in descending order, one a person; no column where
        values are counts.
    overlapping
        The columns of which a person has several codes.
    keys
        uint64[cells]: the cell keys, where they decide what becomes of a cell.
    """

    layout: CountTable
    axes: tuple[Axis, ...]
    values: NDArray[np.float64]
    people: NDArray[np.int64]
    largest: NDArray[np.float64]
    overlapping: tuple[str, ...]
    keys: NDArray[np.uint64] | None = None

    @property
    def shape(self) -> tuple[int, ...]:
        """How many codes each dimension has."""
        return tuple(axis.tree.n_nodes for axis in self.axes)


def count_cells(engine: Any, schema: Schema, layout: CountTable) -> Cells:
    """Count a table.

    Parameters
    ----------
    engine
        The engine of the data, see `incrowd.engines.engine_for`.
    schema
        The columns with hierarchies, and who is a person.
    layout
        What is counted.

    Raises
    ------
    SchemaError
        When a column of the table is none of the schema's, or names people.
    TableError
        When people or sums are asked for of rows that are not in memory, or a sum has negative numbers.
    ParameterError
        When cell keys are asked for, and no column names people, or a row names none.
    """
    attributes = [_counted(schema, layout, column) for column, _ in layout.dimensions]
    # A quasi-identifier that names a person beside its role is not counted twice.
    keys = [replace(schema[name], role="person", hierarchy=None) for name in schema.person]
    table = engine.count(Schema.of([*attributes, *keys], unlisted="drop")).frequency
    axes, leaf = [], np.zeros(table.keys, np.int64)
    for (column, level), domain, codes in zip(layout.dimensions, table.domains, table.codes, strict=True):
        axis, place = Axis(column, domain.tree).cut(level)
        axes.append(axis)
        leaf = leaf * axis.tree.n_leaves + place[codes]
    shape = [axis.tree.n_leaves for axis in axes]
    if table.people.columns or layout.sum is not None:
        rows = leaf[table.key_of_row("counting people, or a sum,")]
        unit = _units(table.people.of_row, len(rows))
        numbers = None if layout.sum is None else _numbers(engine, schema, layout)
        of_row = _record_keys(engine, schema, layout) if layout.keyed else None
        of_unit = None
        if of_row is not None:
            of_unit = np.zeros(unit.max(initial=-1) + 1, np.uint64)
            of_unit[unit] = of_row
        return _of_units(layout, tuple(axes), shape, rows, unit, numbers, of_unit)
    if layout.keyed:
        raise ParameterError(
            f"table {layout.name}: a cell key is made of the keys of people, and no column names them: give "
            "one key_of = ['person']"
        )
    counts = with_totals(np.bincount(leaf, table.weights, int(np.prod(shape))).reshape(shape), axes).ravel()
    no_parts = np.empty((len(counts), 0))
    return Cells(layout, tuple(axes), counts, counts.astype(np.int64), no_parts, ())


def _counted(schema: Schema, layout: CountTable, column: str) -> Attribute:
    """Return a column as it is counted: with its hierarchy, or with the total alone above its values."""
    if column not in schema:
        names = [each.name for each in schema.attributes]
        raise SchemaError(f"table {layout.name}: there is no column {column!r}; {those_are(names, column)}")
    attribute = schema[column]
    if attribute.role == "identifying" or column in schema.person:
        raise SchemaError(
            f"table {layout.name}: {column!r} names people or is left out (role = {attribute.role!r}), so no "
            "table shows its values; give it another role if others may see them"
        )
    return Attribute(
        column,
        "quasi",
        kind=attribute.kind,
        hierarchy=attribute.hierarchy or Flat(),
        format=attribute.format,
        decimal=attribute.decimal,
        thousands=attribute.thousands,
        missing=attribute.missing,
    )


def _units(person: NDArray[np.int32] | None, rows: int) -> NDArray[np.int64]:
    """Return who each row is of: a row without a person is one of its own."""
    if person is None:
        return np.arange(rows, dtype=np.int64)
    unit = person.astype(np.int64)
    unnamed = np.flatnonzero(unit < 0)
    unit[unnamed] = unit.max(initial=-1) + 1 + np.arange(len(unnamed))
    return unit


def _numbers(engine: Any, schema: Schema, layout: CountTable) -> NDArray[np.float64]:
    """Return float64[rows]: the number of each row that is summed, 0 where it is missing."""
    assert layout.sum is not None
    if layout.sum not in schema:
        names = [each.name for each in schema.attributes]
        raise SchemaError(
            f"table {layout.name}: there is no column {layout.sum!r}; {those_are(names, layout.sum)}"
        )
    given = schema[layout.sum]
    summed = Attribute(
        layout.sum,
        "quasi",
        kind="number",
        decimal=given.decimal,
        thousands=given.thousands,
        missing=given.missing,
    )
    table = engine.count(Schema.of([summed], unlisted="drop")).frequency
    numbers = np.nan_to_num(table.domains[0].numbers)[table.codes[0]]
    if (numbers < 0).any():
        raise TableError(
            f"table {layout.name}: {layout.sum!r} has negative numbers, and the audit of a sum needs parts "
            "of at least 0: sum gains and losses as two columns"
        )
    return np.asarray(numbers[table.key_of_row("a sum")], np.float64)


def _record_keys(engine: Any, schema: Schema, layout: CountTable) -> NDArray[np.uint64]:
    """Return the key of each row's person, from the secret of the table."""
    assert layout.key is not None
    texts = []
    for name in schema.person:
        table = engine.count(
            Schema.of([Attribute(name, "quasi", kind="category")], unlisted="drop")
        ).frequency
        values = pl.Series(table.domains[0].values, dtype=pl.String).gather(table.codes[0])
        texts.append(values.gather(table.key_of_row("a cell key")))
    person = pl.select(pl.concat_str(texts, separator="\x1f")).to_series()
    if person.has_nulls():
        raise ParameterError(
            f"table {layout.name}: {person.null_count():,} rows name no person, and a cell key needs each: "
            "leave these rows out, or protect = 'suppress'"
        )
    return record_keys(read_key(layout.key, f"table {layout.name}"), person)


def _of_units(
    layout: CountTable,
    axes: tuple[Axis, ...],
    shape: Sequence[int],
    leaf: NDArray[np.int64],
    unit: NDArray[np.int64],
    numbers: NDArray[np.float64] | None,
    key_of_unit: NDArray[np.uint64] | None,
) -> Cells:
    """Count rows of people: each person once in each cell, totals included."""
    codes = np.unravel_index(leaf, shape)
    size = int(np.prod([axis.tree.n_nodes for axis in axes]))
    people = np.zeros(size, np.int64)
    rank = 0 if numbers is None else max(2, layout.dominance[0] if layout.dominance else 2)
    largest = np.zeros((size, rank))
    keys = np.zeros(size, np.uint64)
    alone = bool(np.bincount(unit).max(initial=1) == 1)
    # A cell of the table lies at one depth of each dimension, so the depths are counted one after another.
    above = [_ancestors(axis)[:, code] for axis, code in zip(axes, codes, strict=True)]
    for chosen in product(*(range(len(each)) for each in above)):
        at = [each[depth] for each, depth in zip(above, chosen, strict=True)]
        inside = np.logical_and.reduce([nodes >= 0 for nodes in at])
        if not inside.any():
            continue
        cell = reduce(
            lambda cells, each: cells * each[0].tree.n_nodes + each[1][inside],
            zip(axes, at, strict=True),
            np.zeros(int(inside.sum()), np.int64),
        )
        cell_of_pair, who, parts = _each_once(
            cell, unit[inside], None if numbers is None else numbers[inside], alone=alone
        )
        people += np.bincount(cell_of_pair, minlength=size)
        if key_of_unit is not None:
            keys += cell_keys(key_of_unit[who], cell_of_pair, size)
        if parts is not None:
            order = np.lexsort((-parts, cell_of_pair))
            ordered = cell_of_pair[order]
            place = np.arange(len(order)) - np.searchsorted(ordered, ordered)
            top = place < rank
            largest[ordered[top], place[top]] = parts[order][top]
    finest = int(np.prod(shape))
    if numbers is not None or layout.count == "records":
        sums = np.bincount(leaf, numbers, finest).astype(np.float64).reshape(shape)
        return Cells(
            layout,
            axes,
            with_totals(sums, axes).ravel(),
            people,
            largest,
            (),
            keys if key_of_unit is not None else None,
        )
    overlapping = tuple(
        axis.column
        for axis, code in zip(axes, codes, strict=True)
        if not alone and len(np.unique(unit * len(axis.codes) + code)) > len(np.unique(unit))
    )
    return Cells(
        layout,
        axes,
        people.astype(np.float64),
        people,
        largest,
        overlapping,
        keys if key_of_unit is not None else None,
    )


def _each_once(
    cell: NDArray[np.int64],
    unit: NDArray[np.int64],
    numbers: NDArray[np.float64] | None,
    *,
    alone: bool,
) -> tuple[NDArray[np.int64], NDArray[np.int64], NDArray[np.float64] | None]:
    """Return each person once in each cell, with the sum of the person's numbers there."""
    if alone:
        return cell, unit, numbers
    size = int(unit.max(initial=0)) + 1
    if numbers is None:
        pair = np.unique(cell * size + unit)
        return pair // size, pair % size, None
    pair, place = np.unique(cell * size + unit, return_inverse=True)
    return pair // size, pair % size, np.bincount(place, numbers, len(pair)).astype(np.float64)


def _ancestors(axis: Axis) -> NDArray[np.int64]:
    """Return int64[depths, leaves]: the code above each leaf at each depth, -1 below the leaf."""
    tree = axis.tree
    found = np.full((tree.height + 1, tree.n_leaves), -1, np.int64)
    node = tree.leaves.astype(np.int64)
    for _ in range(tree.height + 1):
        live = np.flatnonzero(node >= 0)
        found[tree.depths[node[live]], live] = node[live]
        node = np.where(node < 0, -1, tree.parents[np.maximum(node, 0)])
    return found
