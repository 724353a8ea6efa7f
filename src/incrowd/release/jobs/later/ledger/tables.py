"""Count tables in a ledger, where data is recognized and people are compared."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import product
from math import prod
from typing import Any

from incrowd.core.errors import setting
from incrowd.core.hierarchy.tree import Hierarchy
from incrowd.core.io.columns import column_named, columns_named
from incrowd.core.lazy import NDArray, np, pl
from incrowd.core.reading.keys import key_texts
from incrowd.core.table.schema import Attribute, Schema, require_columns
from incrowd.engines import TooManyKeysError, engine_for
from incrowd.engines.cells import whole_units
from incrowd.engines.open import loaded
from incrowd.release.jobs.later.ledger.people import codes_digests, column_digest, matched_by, people_of_rows
from incrowd.release.jobs.later.ledger.refusal import entry_name, refuse
from incrowd.release.tables.cells import Axis
from incrowd.release.tables.counting import (
    content_of,
    count_columns,
    counted_attribute,
    summed_attribute,
)
from incrowd.release.tables.difference import (
    AMOUNT,
    RECORDS,
    WHO,
    Side,
    Units,
    count_disclosures_by_difference,
    sum_records,
)
from incrowd.release.tables.layout import CountTable

Document = Mapping[str, Any]
"""A count table as `TableRelease.documents` describes it."""
_AMOUNT = -1
"""The level of the digests of a number that is summed."""
_WAIT = "Wait until {}, or use protect = 'cell-key' for tables that are made again and again."


class Counted:
    """The data of count tables, with the rows counted for a ledger.

    Attributes
    ----------
    engine
        The engine of the data.
    """

    def __init__(self, table: Any, keyed: Callable[[str], str]) -> None:
        """Take a raw table, and a function that returns a keyed digest of a digest."""
        self.engine = engine_for(loaded(table), starred=True)
        self._keyed = keyed
        self._contents: dict[tuple[frozenset[str], str | None], str | None] = {}

    def content(self, document: Document) -> str | None:
        """Return the keyed digest of the columns that a table counts; None if the data lacks a column."""
        layout = CountTable.from_settings(document["layout"])
        columns = (frozenset(name for name, _ in layout.dimensions), layout.sum)
        if columns not in self._contents:
            content = content_of(self.engine, layout)
            self._contents[columns] = None if content is None else self._keyed(content)
        return self._contents[columns]

    def shown(
        self,
        key: bytes,
        entry: dict[str, Any],
        schema: Schema,
        documents: Sequence[Document],
        keys: Sequence[str],
    ) -> Shown:
        """Return tables with keyed digests of the people, and fill in the way of the match.

        Where there are too many to be fetched, there are none.
        """
        layouts = [CountTable.from_settings(each["layout"]) for each in documents]
        dimensions = list(dict.fromkeys(pair for layout in layouts for pair in layout.dimensions))
        sums = list(dict.fromkeys(layout.sum for layout in layouts if layout.sum is not None))
        named = list(keys) or list(schema.person)
        # A policy may have columns that this data lacks.
        quasi = [each.name for each in schema.quasi if each.name in self.engine.columns]
        names = named or quasi or [column for column, _ in dimensions]
        attributes = {column: counted_attribute(schema, layouts[0], column) for column, _ in dimensions}
        for name in sums:
            attributes.setdefault(name, summed_attribute(schema[name]))
        for name in names:
            attributes.setdefault(name, Attribute(name, "quasi", kind="category"))
        require_columns(names, self.engine.columns, f"{setting('a ledger', '--ledger')}: ")
        try:
            table = count_columns(self.engine, schema, [*attributes.values()]).frequency
        except TooManyKeysError:
            return Shown(entry, None, documents)
        entry["matched_by"] = matched_by(named, names)
        ranks = dict(zip(attributes, zip(table.domains, table.codes, strict=True), strict=True))
        columns = [people_of_rows(key, key_texts(_texts(ranks, names)), named=bool(named))]
        for column, level in dimensions:
            domain, codes = ranks[column]
            axis, place = Axis(column, domain.tree).cut(level)
            leaves = pl.Series([axis.codes[node] for node in axis.tree.leaves], dtype=pl.String)
            digests = codes_digests(key, column, leaves).gather(place[codes])
            columns.append(digests.alias(_dimension(key, column, level)))
        amounts = {}
        for name in sums:
            domain, codes = ranks[name]
            numbers = np.nan_to_num(domain.numbers)
            texts = pl.Series(map(repr, numbers.tolist()), dtype=pl.String)
            digests = codes_digests(key, name, texts)
            columns.append(digests.gather(codes).alias(_dimension(key, name, _AMOUNT)))
            units, power = whole_units(numbers, np.bincount(codes, table.weights, len(numbers)))
            frame = pl.DataFrame({AMOUNT: digests, "units": units}).unique(AMOUNT)
            amounts[name] = Units(frame, power)
        records = pl.Series(table.weights, dtype=pl.Int64).alias(RECORDS)
        frame = sum_records(pl.DataFrame([*columns, records]))
        return Shown(entry, frame.sort(columns_named(frame.columns)), documents, amounts)


def _texts(ranks: Mapping[str, Any], names: Sequence[str]) -> pl.DataFrame:
    """Return the texts of some columns, with places as names."""
    pairs = [ranks[name] for name in names]
    return pl.DataFrame(
        [
            pl.Series(str(place), domain.values, dtype=pl.String).gather(codes)
            for place, (domain, codes) in enumerate(pairs)
        ]
    )


def _dimension(key: bytes, column: str, level: int) -> str:
    """Return the name of the digests of a column, without some of the finest levels."""
    return column_digest(key, "codes", column, str(level))


@dataclass(frozen=True)
class Shown:
    """The count tables or the rows that an entry shows.

    Attributes
    ----------
    entry
        The entry.
    people
        Digests: ``person``, or ``row`` where no column names people; the finest code of each dimension, or
        the released cell of each column; ``records``. None where these are too many.
    documents
        The tables; none where rows are shown.
    amounts
        What the digests of each summed column are.
    """

    entry: Mapping[str, Any]
    people: pl.DataFrame | None
    documents: Sequence[Document] = ()
    amounts: Mapping[str, Units] = field(default_factory=dict)

    def is_whole(self, key: bytes) -> bool:
        """Say whether people have a code in each dimension of each table."""
        layouts = [CountTable.from_settings(each["layout"]) for each in self.documents]
        pairs = [pair for layout in layouts for pair in layout.dimensions]
        pairs += [(layout.sum, _AMOUNT) for layout in layouts if layout.sum is not None]
        return self.people is None or {_dimension(key, *pair) for pair in pairs} <= {*self.people.columns}

    def sides(self, key: bytes) -> list[Side]:
        """Return the tables that show true values, beside the hidden values."""
        return [
            self._side(key, each) for each in self.documents if self.people is not None and _is_exact(each)
        ]

    def _side(self, key: bytes, document: Document) -> Side:
        assert self.people is not None
        layout = CountTable.from_settings(document["layout"])
        axes = [
            Axis(column, Hierarchy(codes, under))
            for (column, _), codes, under in zip(
                layout.dimensions, document["codes"], document["under"], strict=True
            )
        ]
        named = "person" in self.people.columns
        lines = [self.people["person" if named else "row"].alias(WHO), self.people[RECORDS]]
        for place, (axis, (_, level)) in enumerate(zip(axes, layout.dimensions, strict=True)):
            digests = self.people[_dimension(key, axis.column, level)]
            lines.append(_leaves_of(key, axis, digests).alias(str(place)))
        if layout.sum is not None:
            lines.append(self.people[_dimension(key, layout.sum, _AMOUNT)].alias(AMOUNT))
        hidden = np.zeros(prod(axis.tree.n_nodes for axis in axes), np.bool_)
        hidden[document["hidden"]] = True
        units = None if layout.sum is None else self.amounts.get(layout.sum)
        return Side(layout, tuple(axes), hidden, pl.DataFrame(lines), named, units)


def _leaves_of(key: bytes, axis: Axis, digests: pl.Series) -> pl.Series:
    """Return the finest codes that digests are of, by number; null for another text."""
    codes = pl.Series([axis.codes[node] for node in axis.tree.leaves], dtype=pl.String)
    known = pl.DataFrame(
        [
            codes_digests(key, axis.column, codes).alias("digest"),
            pl.Series("leaf", axis.tree.leaves, dtype=pl.Int64),
        ]
    )
    lines = digests.alias("digest").to_frame()
    return lines.join(known, on="digest", how="left", maintain_order="left")["leaf"]


def refuse_beside(key: bytes, now: Shown, before: Sequence[Shown]) -> None:
    """Refuse tables beside earlier tables or rows, or rows beside earlier tables, that tell of few people."""
    for earlier in before:
        if now.documents and earlier.documents:
            _refuse_near(key, earlier, now)
        elif _are_comparable(earlier, now) and (now.documents or earlier.documents):
            rows, tables = (earlier, now) if now.documents else (now, earlier)
            for name, cells in _told_by_rows(key, rows, tables):
                there = f" of {entry_name(earlier.entry)}"
                refuse(
                    f"{cells:,} cell{'s' * (cells > 1)} that table {name}{there * (rows is now)} hides can "
                    f"be counted in the rows{there * (tables is now)}.",
                    "Release the rows or the tables, or make the tables of the released rows.",
                )


def _are_comparable(one: Shown, other: Shown) -> bool:
    """Say whether people of a table can be found in the other."""
    known = one.people is not None and other.people is not None
    return known and one.entry["matched_by"] == other.entry["matched_by"]


def _is_exact(document: Document) -> bool:
    """Say whether a table shows true values beside the hidden values."""
    return bool(document["layout"].get("protect", "suppress") == "suppress" and "under" in document)


def _refuse_near(key: bytes, earlier: Shown, now: Shown) -> None:
    """Refuse tables that tell of few people, beside earlier tables of other people.

    Whoever subtracts one table from the other has a table of those who came, less those who left::

        May  412 people, 37 with asthma
        June 413 people, 38 with asthma      the one who came has asthma

    Where people cannot be compared, or values are rounded, the numbers of people are.
    """
    compared = _are_comparable(earlier, now)
    for then, each in product(earlier.documents, now.documents):
        few = max(CountTable.from_settings(one["layout"]).threshold for one in (then, each))
        # Tables of the same data were protected together, and noise by cell keys covers a difference.
        covered = earlier.entry["input"] == now.entry["input"] or "cell-key" in (
            then["layout"].get("protect"),
            each["layout"].get("protect"),
        )
        covered |= compared and _is_exact(then) and _is_exact(each)
        if not covered and 0 < abs(then["people"] - each["people"]) < few:
            refuse(
                f"Table {each['layout']['name']} is about a group that differs from that of table "
                f"{then['layout']['name']} in {entry_name(earlier.entry)} by fewer than {few} people, so "
                "that the difference of both tables tells of them.",
                _WAIT.format("more people have come or gone"),
            )
    sides = (earlier.sides(key), now.sides(key)) if compared else ([], [])
    for summed in dict.fromkeys(side.layout.sum for side in sides[1]):
        old, new = ([each for each in own if each.layout.sum == summed] for own in sides)
        if told := count_disclosures_by_difference(old, new):
            few = max(each.layout.threshold for each in (*old, *new))
            refuse(
                f"Table {new[0].layout.name} is about other people than table {old[0].layout.name} in "
                f"{entry_name(earlier.entry)}. The difference of both tells {told:,} "
                f"cell{'s' * (told > 1)} of fewer than {few} of the people who came or left"
                f"{', or of a sum that few of them dominate' * (summed is not None)}.",
                "Make tables of the same people again. "
                + _WAIT.format(f"at least {few} more people are in each cell that both show"),
            )


def _told_by_rows(key: bytes, rows: Shown, tables: Shown) -> Iterator[tuple[str, int]]:
    """Yield each table with hidden cells that released rows tell, and the number of such cells.

    The rows of classes within the codes of a cell are in it, and those of classes that reach beyond may be.
    A cell is told if this leaves fewer values than the table does. Who is in one alone may be anywhere.
    """
    assert rows.people is not None
    assert tables.people is not None
    for side in tables.sides(key):
        frames = [
            each.rename({"person" if side.named else "row": WHO}) for each in (rows.people, tables.people)
        ]
        numbers = [each.group_by(WHO).agg(column_named(RECORDS).sum()) for each in frames]
        once = side.named and side.layout.count == "people"
        if side.layout.sum is not None or (once and (numbers[0][RECORDS] > 1).any()):
            continue
        if once:
            numbers[1] = numbers[1].with_columns(pl.lit(1, pl.Int64).alias(RECORDS))
        both = pl.concat([numbers[0], numbers[1].with_columns(-column_named(RECORDS))])
        apart = int(both.group_by(WHO).agg(column_named(RECORDS).sum())[RECORDS].abs().sum())
        if cells := _narrow_cells(key, side, frames[0], side.layout.open_width - apart):
            yield side.layout.name, cells


def _narrow_cells(key: bytes, side: Side, rows: pl.DataFrame, width: int) -> int:
    """Count the hidden cells for which released rows leave fewer values than a width."""
    columns = [column_digest(key, "released", axis.column) for axis in side.axes]
    there = [digest for digest in columns if digest in rows.columns]
    if width <= 0 or not there:
        return 0
    classes = rows.group_by(there).agg(column_named(RECORDS).sum())
    number = classes[RECORDS].to_numpy()
    cells = np.unravel_index(np.flatnonzero(side.hidden), [axis.tree.n_nodes for axis in side.axes])
    ways: list[tuple[NDArray[np.int64], NDArray[np.bool_], NDArray[np.bool_]]] = []
    asked = np.ones(len(cells[0]), np.bool_)
    for place, (axis, digest, codes) in enumerate(zip(side.axes, columns, cells, strict=True)):
        if digest in there:
            members = rows.select(WHO, digest).unique().join(side.lines.select(WHO, str(place)), on=WHO)
            ways.append((codes, *_inside(key, axis, classes[digest], members.drop(WHO).unique())))
        else:
            # The total asks nothing of a column that no row shows.
            asked &= codes == 0
    narrow = 0
    for cell in np.flatnonzero(asked).tolist():
        within = np.all([inside[:, codes[cell]] for codes, inside, _ in ways], axis=0)
        reach = np.all([reaching[:, codes[cell]] for codes, _, reaching in ways], axis=0)
        narrow += bool(number[reach & ~within].sum() < width)
    return narrow


def _inside(
    key: bytes, axis: Axis, texts: pl.Series, members: pl.DataFrame
) -> tuple[NDArray[np.bool_], NDArray[np.bool_]]:
    """bool[texts, codes], twice: whether a released text of a column is within a code, and may be inside.

    Parameters
    ----------
    texts
        Their digests.
    members
        Digests of texts beside the finest code of somebody who has one. They say what a text stands for that
        is no code of the table.
    """
    tree = axis.tree
    codes = codes_digests(key, axis.column, pl.Series(["*", *axis.codes[1:]], dtype=pl.String))
    node = dict(zip(codes.to_list(), range(tree.n_nodes), strict=True))
    seen: dict[bytes, list[int]] = {}
    for text, leaf in members.iter_rows():
        seen.setdefault(text, []).append(int(tree.lo[leaf]))
    distinct = dict(zip(texts.unique(maintain_order=True).to_list(), range(len(texts)), strict=False))
    leaves = np.zeros((len(distinct), tree.n_leaves), np.bool_)
    for text, place in distinct.items():
        own = slice(tree.lo[node[text]], tree.hi[node[text]]) if text in node else seen.get(text, slice(None))
        leaves[place, own] = True
    leaf, place = np.arange(tree.n_leaves), [distinct[text] for text in texts.to_list()]
    under = (leaf >= tree.lo[:, None]) & (leaf < tree.hi[:, None])
    return ~(leaves @ ~under.T)[place], (leaves @ under.T)[place]
