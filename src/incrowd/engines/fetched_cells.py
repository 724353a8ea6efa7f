"""The people of cells, counted by another system: tables to join rows with, queries, and the answer."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import Any, NamedTuple

from incrowd.core.errors import TableError, named
from incrowd.core.lazy import np, pl
from incrowd.engines.cells import Amounts, CellPeople, CellQuestion, PersonParts
from incrowd.engines.fetched import FetchedCount
from incrowd.engines.fold import CHANGED
from incrowd.engines.plan import CellsPlan


class Lookup(NamedTuple):
    """A table that rows are joined with: values of columns as fetched, and then whole numbers."""

    names: Sequence[str]
    table: pl.DataFrame

    @property
    def numbers(self) -> int:
        """How many numbers there are."""
        return self.table.width - len(self.names)

    @classmethod
    def of_amounts(cls, amounts: Amounts, *shifts: int) -> Lookup:
        """Return the number of each value, or with shifts the number's 32 bits from each shift on."""
        fetched = amounts.columns.values_by_key
        assert fetched is not None
        *values, keys = fetched.get_columns()
        numbers = amounts.of_key[keys.to_numpy()]
        parts = [numbers >> shift & 2**32 - 1 for shift in shifts] or [numbers]
        # By place: a column may be called as a number.
        columns = [each.alias(f"v{place}") for place, each in enumerate(values)]
        columns += [pl.Series(f"n{place}", each) for place, each in enumerate(parts)]
        return cls([domain.name for domain in amounts.columns.frequency.domains], pl.DataFrame(columns))


def lookups(count: FetchedCount, question: CellQuestion) -> list[Lookup]:
    """Return the codes of the values of each column, and then the amounts and the marks, if any."""
    *values, keys = count.values_by_key.get_columns()
    tables = []
    for name, own, nodes, codes in zip(
        count.keys.names, values, question.nodes, count.frequency.codes, strict=True
    ):
        above = nodes[:, codes[keys.to_numpy()]]
        codes_of = [pl.Series(f"n{depth}", each).replace(-1, None) for depth, each in enumerate(above)]
        table = pl.DataFrame([own.alias("v0"), *codes_of]).unique(maintain_order=True)
        tables.append(Lookup([name], table))
    if question.amounts is not None:
        tables.append(Lookup.of_amounts(question.amounts))
    if question.marks is not None:
        tables.append(Lookup.of_amounts(question.marks, 32, 0))
    return tables


def plan_of(
    question: CellQuestion,
    source: str,
    columns: Sequence[Sequence[str]],
    person: Sequence[str],
    **options: Any,
) -> CellsPlan:
    """Return the queries.

    Parameters
    ----------
    source
        SQL: the rows, joined with `lookups`.
    columns
        SQL of the numbers of each of these.
    person
        SQL of the columns that name a person, NULL where they are missing.
    """
    codes, further = columns[: len(question.sizes)], columns[len(question.sizes) :]
    amount, *marks = [number for each in further for number in each] or ["0"]
    if question.amounts is None and further:
        amount, marks = "0", [amount, *marks]
    return CellsPlan(source, codes, question.strides, person, amount, marks, question.largest, **options)


def people_of_answers(
    question: CellQuestion,
    frames: Iterable[pl.DataFrame],
    rows: int,
    fetch_parts: Callable[[], pl.DataFrame],
) -> CellPeople:
    """Read the people of cells.

    Parameters
    ----------
    frames
        The results of `CellsPlan.cells`.
    rows
        How many rows there are.
    fetch_parts
        Asks `CellsPlan.parts`.

    Raises
    ------
    TableError
        When there were others.
    """
    cells, total = CellPeople.none(question), 0
    for frame in frames:
        cell, people, records, high, low, sums, contributors, parts, shared = (
            each.cast(pl.Int64).to_numpy() for each in frame.get_columns()
        )
        cells.people[cell], cells.sums[cell], cells.contributors[cell] = people, sums, contributors
        cells.marks[cell] = (high.astype(np.uint64) << np.uint64(32)) + low.astype(np.uint64)
        total = max(total, int(records.max(initial=0)))
        cells.add_largest(cell, parts, shared)
    if total != rows:
        raise TableError(CHANGED)
    if not question.parts or not question.has_repeats(cells.people):
        return cells
    cell, person, part, shared = (each.cast(pl.Int64).to_numpy() for each in fetch_parts().get_columns())
    return cells._replace(parts=PersonParts(*(np.repeat(each, shared) for each in (cell, person, part))))


def refused_person(names: Sequence[str]) -> TableError:
    """Return the error that SQL cannot tell which people are missing."""
    return TableError(
        f"{named(names)}: SQL cannot tell which values mean missing here; turn the column into text first"
    )
