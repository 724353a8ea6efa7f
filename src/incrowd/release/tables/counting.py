"""Counts of the cells of a table: people, records, and the largest contributors of a sum."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass
from itertools import permutations
from math import prod
from typing import Any

from incrowd.core.errors import ParameterError, SchemaError, TableError, those_are
from incrowd.core.hierarchy.builders import Flat
from incrowd.core.lazy import NDArray, np, pl
from incrowd.core.table.schema import Attribute, Schema
from incrowd.core.treatments.keys import read_key
from incrowd.engines.cells import Amounts, CellQuestion, PersonParts, scaled, whole_units
from incrowd.release.tables.cell_key import record_keys
from incrowd.release.tables.cells import Axis, Nested, with_totals
from incrowd.release.tables.layout import CountTable

MOST_CELLS = 1_000_000
"""Cells of a table, totals included."""
_MANY_CODES = 100
"""A column of more codes than these, and of more than half of the records, has one for most people."""


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
    contributors
        int64[cells]: how many people have a part of a sum above 0; all of them where values are counts.
    parts
        The part of each person in each finest cell, in the unit of `values`; None where nobody is in several.
    """

    layout: CountTable
    axes: tuple[Axis, ...]
    values: NDArray[np.float64]
    people: NDArray[np.int64]
    largest: NDArray[np.float64]
    overlapping: tuple[str, ...]
    contributors: NDArray[np.int64]
    keys: NDArray[np.uint64] | None = None
    parts: PersonParts | None = None

    @property
    def unit(self) -> tuple[str, str | None]:
        """The quantity in the cells: records are people where nobody has two."""
        layout = self.layout
        if layout.sum is None and self.values[0] == self.people[0]:
            return "people", None
        return layout.unit

    @property
    def constant(self) -> bool:
        """Whether each person has the same part of a sum above 0."""
        top = self.largest[0, 0] if self.largest.size else 0.0
        return bool(self.layout.sum is not None and top and self.values[0] == top * self.people[0])

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
        When people or sums are asked for of rows that stream, a sum has negative numbers, or a value has the
        character NUL.
    ParameterError
        When cell keys are asked for, and no column names people, or a row names none; or when the table has
        too many cells, or a column a code for most people.
    """
    attributes = [counted_attribute(schema, layout, column) for column, _ in layout.dimensions]
    count = count_columns(engine, schema, attributes)
    table, axes, nodes, leaf = count.frequency, [], [], 0
    for (column, level), domain, codes in zip(layout.dimensions, table.domains, table.codes, strict=True):
        if any("\0" in value for value in domain.values if isinstance(value, str)):
            raise TableError(
                f"table {layout.name}: a value of {column!r} has the character NUL, which no code can have; "
                "write the values without it, or leave the column out"
            )
        axis, place = Axis(column, domain.tree).cut(level)
        axes.append(axis)
        used = len(np.unique(place[codes]))
        _refuse_list(layout, axis, level, used, int(table.weights.sum()))
        nodes.append(ancestors(axis)[:, place])
        leaf = leaf * axis.tree.n_leaves + place[codes]
    _check_size(layout, axes)
    shape = [axis.tree.n_leaves for axis in axes]
    records = np.bincount(leaf, table.weights, int(np.prod(shape))).reshape(shape)
    counts = with_totals(records, axes).ravel()
    if not schema.person and layout.keyed:
        raise ParameterError(
            f"table {layout.name}: a cell key is made of the keys of people, and no column names them: give "
            "one key_of = ['person']"
        )
    if not schema.person and layout.sum is None:
        no_parts, people = np.empty((len(counts), 0)), counts.astype(np.int64)
        return Cells(layout, tuple(axes), counts, people, no_parts, (), people)
    amounts, power = (None, 0) if layout.sum is None else _amounts(engine, schema, layout)
    marks = _marks(engine, schema, layout) if layout.keyed else None
    sizes, null_values = [axis.tree.n_nodes for axis in axes], schema.null_values
    cells = count.people_of_cells(
        CellQuestion(nodes, sizes, schema.person, null_values, amounts, layout.rank, marks, layout.has_parts)
    )
    overlapping: tuple[str, ...] = ()
    if layout.sum is not None:
        counts = scaled(cells.sums.astype(np.float64), -power)
    elif layout.count == "people":
        counts = cells.people.astype(np.float64)
        overlapping = tuple(overlapping_columns(axes, cells.people))
    largest = scaled(cells.largest.astype(np.float64), -power)
    keys = None if marks is None else cells.marks
    contributors = cells.people if layout.sum is None else cells.contributors
    parts = cells.parts and cells.parts._replace(part=scaled(cells.parts.part.astype(np.float64), -power))
    return Cells(layout, tuple(axes), counts, cells.people, largest, overlapping, contributors, keys, parts)


def _refuse_list(layout: CountTable, axis: Axis, level: int, codes: int, records: int) -> None:
    """Refuse a column that makes the table a list of people.

    - `codes`: how many of its finest codes somebody has.
    """
    if codes <= _MANY_CODES or 2 * codes <= records:
        return
    way = f"take coarser codes, as {f'{axis.column}:{level + 1}'!r}"
    if axis.tree.height == 1:
        way = f"give it a hierarchy, such as intervals, and take its coarser codes, as {f'{axis.column}:1'!r}"
    raise ParameterError(
        f"table {layout.name}: {axis.column!r} has {codes:,} codes in {records:,} rows, so most people have "
        f"a code of their own: {way}, or leave it out"
    )


def _check_size(layout: CountTable, axes: Sequence[Axis]) -> None:
    """Refuse a table of more cells than can be protected."""
    cells = prod(axis.tree.n_nodes for axis in axes)
    if cells > MOST_CELLS:
        sizes = " x ".join(f"{axis.tree.n_nodes:,} of {axis.column}" for axis in axes)
        raise ParameterError(
            f"table {layout.name}: it has {cells:,} cells, totals included ({sizes}), and at most "
            f"{MOST_CELLS:,} can be protected: leave a column out, or take coarser codes, as "
            f"'{max(axes, key=lambda axis: axis.tree.n_nodes).column}:1'"
        )


def nested_codes(engine: Any, schema: Schema, tables: Sequence[Cells]) -> list[Nested]:
    """Return the codes of a column of a table that are sums of codes of a column of another table.

    Example: each town is in one area. Then a table by town tells one by area, and a copy of a column tells
    the column.
    """
    counts: dict[tuple[str, str], Any] = {}
    nested: dict[Nested, None] = {}
    for one, other in permutations(tables, 2):
        columns = {axis.column for axis in one.axes}
        for above, axis in ((above, axis) for above in other.axes for axis in one.axes):
            pair = axis.column, above.column
            if above.column in columns or axis.column in {each.column for each in other.axes}:
                continue
            if pair not in counts:
                both = [counted_attribute(schema, one.layout, name) for name in pair]
                counts[pair] = count_columns(engine, schema, both).frequency
            table = counts[pair]
            places = [
                Axis(each.column, domain.tree).cut(domain.tree.height - each.tree.height)[1][codes]
                for each, domain, codes in zip((axis, above), table.domains, table.codes, strict=True)
            ]
            below, over = np.unique(np.stack(places), axis=1)
            if len(below) > len(np.unique(below)):
                continue
            for leaf in np.unique(over).tolist():
                parts = tuple(axis.codes[axis.tree.leaves[each]] for each in below[over == leaf])
                nested[Nested(above.column, above.codes[above.tree.leaves[leaf]], axis.column, parts)] = None
    return list(nested)


def content_of(engine: Any, layout: CountTable) -> str | None:
    """Return the SHA-256 of how many records have each combination of values in the columns of a table.

    It is the same for the same records in another order, or in a file of another kind: ``5`` of a CSV is
    ``5.0`` of a frame. Roles and hierarchies do not count. None where a column is not there.
    """
    names = sorted({column for column, _ in layout.dimensions} | {*filter(None, [layout.sum])})
    if not {*names} <= {*engine.columns}:
        return None
    attributes = [Attribute(name, "quasi", kind="category") for name in names]
    table = engine.count(Schema.of_attributes(attributes, unlisted="drop")).frequency
    # A column may have any name, and Polars takes some for patterns.
    texts = [
        pl.Series(map(_text_of_value, domain.values), dtype=pl.String).gather(codes)
        for domain, codes in zip(table.domains, table.codes, strict=True)
    ]
    places = [f"c{place}" for place in range(len(names))]
    rows = pl.DataFrame([*texts, pl.Series(table.weights)], schema=[*places, "records"])
    counts = rows.group_by(pl.exclude("records")).agg(pl.col("records").sum())
    content = counts.sort(pl.exclude("records"), nulls_last=True).write_json().encode()
    content += repr(names).encode()
    return hashlib.sha256(content).hexdigest()


def _text_of_value(value: Any) -> str | None:
    """Return the text of a value, the same for files of every kind."""
    if value is None:
        return None
    with suppress(ValueError, OverflowError):
        return f"{float(value):.17g}"
    return str(value)


def count_columns(engine: Any, schema: Schema, attributes: Sequence[Attribute]) -> Any:
    """Count some columns as quasi-identifiers."""
    return engine.count(Schema.of_attributes(attributes, null_values=schema.null_values, unlisted="drop"))


def overlapping_columns(axes: Sequence[Axis], people: NDArray[np.int64]) -> Iterator[str]:
    """Yield the columns of which a person has several codes: the finest codes have more people than all."""
    cells = people.reshape([axis.tree.n_nodes for axis in axes])
    for place, axis in enumerate(axes):
        # Code 0 of each other dimension is the total.
        along = np.moveaxis(cells, place, 0).reshape(axis.tree.n_nodes, -1)[:, 0]
        if along[axis.tree.leaves].sum() > along[0]:
            yield axis.column


def counted_attribute(schema: Schema, layout: CountTable, column: str) -> Attribute:
    """Return the counted form of a column: with a hierarchy, or with the total alone above the values."""
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
        known=attribute.known,
        hierarchy=attribute.hierarchy or Flat(),
        format=attribute.format,
        decimal=attribute.decimal,
        thousands=attribute.thousands,
        missing=attribute.missing,
    )


def _amounts(engine: Any, schema: Schema, layout: CountTable) -> tuple[Amounts, int]:
    """Return the summed number of each row, in whole units, 0 where missing, and the unit."""
    assert layout.sum is not None
    if layout.sum not in schema:
        names = [each.name for each in schema.attributes]
        raise SchemaError(
            f"table {layout.name}: there is no column {layout.sum!r}; {those_are(names, layout.sum)}"
        )
    given = schema[layout.sum]
    if given.format is not None or given.kind == "date":
        raise SchemaError(
            f"table {layout.name}: {layout.sum!r} has dates, which have no sum; sum a column of numbers"
        )
    count = count_columns(engine, schema, [summed_attribute(given)])
    table = count.frequency
    numbers = np.nan_to_num(table.domains[0].numbers)[table.codes[0]]
    if (numbers < 0).any():
        raise TableError(
            f"table {layout.name}: {layout.sum!r} has negative numbers, and the audit of a sum needs parts "
            "of at least 0: sum gains and losses as two columns"
        )
    units, power = whole_units(numbers, table.weights)
    return Amounts(count, units), power


def summed_attribute(given: Attribute) -> Attribute:
    """Return the summed form of a column: of numbers, in the notation of the attribute."""
    return Attribute(
        given.name,
        "quasi",
        kind="number",
        decimal=given.decimal,
        thousands=given.thousands,
        missing=given.missing,
    )


def _marks(engine: Any, schema: Schema, layout: CountTable) -> Amounts:
    """Return the key of each row's person: from the secret of the table, or from a column of record keys."""
    assert layout.key is not None
    where = f"table {layout.name}"
    persons = [Attribute(name, "quasi", kind="category") for name in schema.person]
    count = count_columns(engine, schema, persons)
    table = count.frequency
    texts = [
        pl.Series(domain.values, dtype=pl.String).gather(codes)
        for domain, codes in zip(table.domains, table.codes, strict=True)
    ]
    person = pl.select(pl.concat_str(texts, separator="\x1f")).to_series()
    if person.has_nulls():
        unnamed = int(table.weights[person.is_null().to_numpy()].sum())
        raise ParameterError(
            f"{where}: {unnamed:,} rows name no person, and a cell key needs each: leave these rows out, or "
            "protect = 'suppress'"
        )
    kind, _, column = layout.key.partition(":")
    if kind != "column":
        keys = record_keys(read_key(layout.key, where), person)
        return Amounts(count, keys.view(np.int64))
    if column not in schema:
        names = [each.name for each in schema.attributes]
        raise SchemaError(f"{where}: key: there is no column {column!r}; {those_are(names, column)}")
    own = count_columns(engine, schema, [Attribute(column, "quasi", kind="number")])
    numbers = own.frequency.domains[0].numbers[own.frequency.codes[0]]
    if not ((numbers >= 0) & (numbers == np.floor(numbers)) & (numbers < 2**53)).all():
        raise TableError(f"{where}: key: {column!r} must have a whole number of at least 0 in each row")
    with_key = count_columns(engine, schema, [*persons, Attribute(column, "quasi", kind="category")])
    several = with_key.frequency.keys - table.keys
    if several:
        raise TableError(
            f"{where}: key: people have several numbers in {column!r} ({several:,} too many), and the record "
            "key of a person is the same in all rows"
        )
    return Amounts(own, numbers.astype(np.int64))


def ancestors(axis: Axis) -> NDArray[np.int64]:
    """Return int64[depths, leaves]: the code above each leaf at each depth, -1 below the leaf."""
    tree = axis.tree
    found = np.full((tree.height + 1, tree.n_leaves), -1, np.int64)
    node = tree.leaves.astype(np.int64)
    for _ in range(tree.height + 1):
        live = np.flatnonzero(node >= 0)
        found[tree.depths[node[live]], live] = node[live]
        node = np.where(node < 0, -1, tree.parents[np.maximum(node, 0)])
    return found
