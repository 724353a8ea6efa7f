"""The questions of engines to rows in SQL, written once for databases, files and Spark."""

from __future__ import annotations

import datetime as dt
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from decimal import Decimal
from typing import Any, Protocol

from incrowd.core.lazy import pl
from incrowd.core.reading.missing import null_values_of
from incrowd.engines.fold import PERSON, ROWS

ReducedPeople = tuple["pl.DataFrame", list["pl.DataFrame"], tuple[int, int, int]]
"""The people of a table as a query lists and counts the rows (see `PeoplePlan.reduced`)."""

_HALVES = ("high", "low")
_ALL, _UNNAMED, _HASH = "\0all rows", "\0unnamed", "\0hash"


def as_columns(expressions: Iterable[str]) -> str:
    """Write expressions as the columns c0, c1, ... of a query."""
    return ", ".join(f"{each} AS c{j}" for j, each in enumerate(expressions))


def group_and_count(columns: Sequence[str], source: str, further: Sequence[str] = ()) -> str:
    """Count the rows of each combination of some columns.

    Parameters
    ----------
    columns
        SQL of the columns; they come as ``c0``, ..., and then the number of rows.
    further
        SQL of aggregates that come behind it.
    """
    places = ", ".join(str(j + 1) for j in range(len(columns)))
    return f"SELECT {as_columns([*columns, 'COUNT(*)', *further])} FROM {source} GROUP BY {places}"


@dataclass(frozen=True)
class PeoplePlan:
    """Queries that list the people with unlike rows, and count all others.

    Attributes
    ----------
    source
        SQL: what stands behind FROM.
    keys, sensitive
        SQL of the quasi-identifiers and the sensitive attributes; they come as ``c0``, ... and ``s0``, ...
    person
        SQL of what names a person, NULL where it is missing.
    weight
        SQL: the rows that a line of the source stands for, where lines are grouped already.
    place
        SQL: the place of a row, where rows have an order.
    integer
        SQL: the type of the numbers of rows.
    hashed
        SQL: a whole number made of some columns, ``{}`` being a list of them. With it no sort needs all
        people at once.
    """

    source: str
    keys: Sequence[str]
    sensitive: Sequence[str]
    person: Sequence[str]
    weight: str = ""
    place: str = ""
    integer: str = "BIGINT"
    hashed: str = ""

    def kinds(self) -> str:
        """Write SQL that groups equal rows of a person and counts the kinds of rows per person (unnamed: 1).

        Example, with n rows and m kinds: `listed` lists Ann, who has two kinds, and `alike` counts Bob::

            p0   c0  s0             p0   c0  s0      n  m
            Ann  30  flu            Ann  30  flu     2  2
            Ann  30  flu     ->     Ann  30  asthma  1  2
            Ann  30  asthma         Bob  41  flu     1  1
            Bob  41  flu

        MariaDB loses columns where a condition on two names stands outside.
        """
        sources = {f"c{j}": key for j, key in enumerate(self.keys)}
        sources |= {f"s{j}": value for j, value in enumerate(self.sensitive)}
        sources |= dict(zip(self._names, self.person, strict=True))
        names, by = ", ".join(sources), ", ".join(self._names)
        if self.hashed:
            # Rows without a name would all be one partition.
            by += f", CASE WHEN {nobody(self._names)} THEN {self.hashed.format(names)} END"
        inputs = sources | {name: sql for name, sql in (("n", self.weight), ("place", self.place)) if sql}
        first = ", MIN(place) AS place" if self.place else ""
        # Names of our own may be those of columns, which GROUP BY would mean.
        rows = f"SELECT {', '.join(f'{sql} AS {name}' for name, sql in inputs.items())} FROM {self.source}"
        amount = "SUM(n)" if self.weight else "COUNT(*)"
        grouped = f"SELECT {names}, {amount} AS n{first} FROM ({rows}) AS r GROUP BY {names}"
        many = f"CASE WHEN {nobody(self._names)} THEN 1 ELSE COUNT(*) OVER (PARTITION BY {by}) END"
        return f"SELECT x.*, {many} AS m FROM ({grouped}) AS x"

    def alike(self, kinds: str, attributes: Sequence[int], *, totals: bool) -> str:
        """Count the people with a single kind of row, by quasi-identifiers and some sensitive attributes.

        Parameters
        ----------
        kinds
            What holds the result of `kinds`, as it stands behind FROM.
        totals
            Whether to say, too, how many of them are rows without a name, and all their rows.
        """
        is_nobody = nobody(self._names)
        amounts = [f"CASE WHEN {is_nobody} THEN n ELSE 1 END"]
        amounts += [f"CASE WHEN {is_nobody} THEN n ELSE 0 END", "n"] if totals else []
        columns = ", ".join([*self._keys, *(f"s{j}" for j in attributes)])
        return f"SELECT {columns}, {self._sums(*amounts)} FROM {kinds} WHERE m = 1 GROUP BY {columns}"

    def listed(self, kinds: str) -> str:
        """List the distinct rows of people with several kinds of rows, with a person number and a row count.

        The person is numbered by the first row, else in the order of the names, which may begin anew for
        each hash of a name. The hash then stands before the number.
        """
        order = ", ".join(f"CASE WHEN {name} IS NULL THEN 0 ELSE 1 END, {name}" for name in self._names)
        hashed = self.hashed.format(", ".join(self._names))
        person = f"DENSE_RANK() OVER (ORDER BY {order}) AS person"
        if self.place:
            # All rows of a person are listed, so the first of them is the person's first.
            person = f"MIN(place) OVER (PARTITION BY {', '.join(self._names)}) AS person"
        elif self.hashed:
            person = f"{hashed} AS h, DENSE_RANK() OVER (PARTITION BY {hashed} ORDER BY {order}) AS person"
        columns = ", ".join([*self._keys, *(f"s{j}" for j in range(len(self.sensitive)))])
        query = f"SELECT {columns}, {person}, n FROM {kinds} WHERE m > 1"
        return f"{query} ORDER BY place" if self.place else query

    def reduced(
        self,
        sensitive: Sequence[str],
        lists: Sequence[Sequence[str]],
        kinds: str,
        ask: Callable[[str, Sequence[str], Sequence[str]], pl.DataFrame],
    ) -> ReducedPeople:
        """Fetch the people with several kinds of rows, and the counts of all others.

        Parameters
        ----------
        sensitive
            The sensitive attributes.
        lists
            The sensitive attributes of each list of those whose rows are alike.
        kinds
            As in `alike`.
        ask
            Fetches a query, given the sensitive attributes and the whole numbers in it.

        Returns
        -------
        listed
            Keys, sensitive attributes and `PERSON`: all rows of everybody whose rows are not alike. The
            numbers are in the order of the first rows, or in one that follows from the names.
        alike
            Per list the keys, its sensitive attributes and `ROWS`: how many others there are, each row
            without a name among them.
        people, unnamed, rows
            All people, each row without a name being one; these rows; all rows.
        """
        counts: dict[tuple[str, ...], pl.DataFrame] = {}
        for attributes in map(tuple, lists):
            if attributes not in counts:
                query = self.alike(kinds, [sensitive.index(name) for name in attributes], totals=not counts)
                counts[attributes] = ask(query, attributes, [ROWS] if counts else [ROWS, _UNNAMED, _ALL])
        by_hash = [_HASH] if self.hashed and not self.place else []
        listed = ask(self.listed(kinds), sensitive, [*by_hash, PERSON, _ALL])
        rows = int(listed[_ALL].sum())
        if by_hash:
            order = listed.select(_HASH, PERSON).unique().sort(_HASH, PERSON).with_row_index("number")
            listed = listed.join(order, on=[_HASH, PERSON]).drop(_HASH, PERSON).rename({"number": PERSON})
        first = counts[tuple(lists[0])]
        unnamed, everybody, all_rows = (int(first[name].sum()) for name in (_UNNAMED, ROWS, _ALL))
        counts[tuple(lists[0])] = first.drop(_UNNAMED, _ALL)
        people = everybody + listed[PERSON].n_unique()
        return (
            listed.drop(_ALL),
            [counts[tuple(attributes)] for attributes in lists],
            (people, unnamed, all_rows + rows),
        )

    def counted(self, columns: Sequence[str]) -> str:
        """Count the people of each combination of some columns, a row without a name being a person.

        This and what follows reads columns of the source by their names alone.
        """
        by, people = ", ".join(columns), f"CASE WHEN {nobody(self.person)} THEN n ELSE 1 END"
        return f"SELECT {by}, {self._sums(people)} FROM ({self._pairs(columns)}) AS x GROUP BY {by}"

    def totals(self) -> str:
        """Count the people, the rows, and the rows without a name."""
        is_nobody = nobody(self.person)
        sums = self._sums(
            f"CASE WHEN {is_nobody} THEN n ELSE 1 END", "n", f"CASE WHEN {is_nobody} THEN n ELSE 0 END"
        )
        return f"SELECT {sums} FROM ({self._pairs([])}) AS x"

    def alone(self) -> str:
        """Count the people, and the people alone in some combination of the quasi-identifiers."""
        is_nobody, by, names = nobody(self.person), ", ".join(self.keys), ", ".join(self.person)
        amount = f"CASE WHEN {is_nobody} THEN n ELSE 1 END"
        sized = (
            f"SELECT x.*, SUM({amount}) OVER (PARTITION BY {by}) AS size FROM ({self._pairs(self.keys)}) AS x"
        )
        lone = "CASE WHEN size = 1 THEN 1 ELSE 0 END"
        each = f"SELECT {names}, SUM(n) AS n, SUM({lone}) AS lone FROM ({sized}) AS y GROUP BY {names}"
        sums = self._sums(amount, f"CASE WHEN {is_nobody} OR lone = 0 THEN lone ELSE 1 END")
        return f"SELECT {sums} FROM ({each}) AS z"

    def _pairs(self, columns: Sequence[str]) -> str:
        """Count the rows of each person and combination of some columns."""
        names, amount = (
            ", ".join([*columns, *self.person]),
            f"SUM({self.weight})" if self.weight else "COUNT(*)",
        )
        return f"SELECT {names}, {amount} AS n FROM {self.source} GROUP BY {names}"

    def _sums(self, *amounts: str) -> str:
        sums = (f"COALESCE(SUM({amount}), 0)" for amount in amounts)
        return ", ".join(f"CAST({total} AS {self.integer}) AS a{j}" for j, total in enumerate(sums))

    @property
    def _keys(self) -> list[str]:
        return [f"c{j}" for j in range(len(self.keys))]

    @property
    def _names(self) -> list[str]:
        return [f"p{j}" for j in range(len(self.person))]


@dataclass(frozen=True)
class CellsPlan:
    """Queries that count the people of the cells of a table, and find the largest parts of sums.

    Attributes
    ----------
    source
        SQL: what stands behind FROM.
    codes
        SQL per dimension of the code at each depth, from that of the total on: NULL below the last.
    strides
        The factor of the code of each dimension in the number of a cell.
    person
        SQL of what names a person, NULL where it is missing; none where each row is a person.
    amount
        SQL: the whole number that is summed.
    marks
        SQL of the upper and the lower half of a number of each person; none where none is summed.
    largest
        How many of the largest parts of a sum are found.
    integer
        SQL: the type of whole numbers.
    """

    source: str
    codes: Sequence[Sequence[str]]
    strides: Sequence[int]
    person: Sequence[str]
    amount: str = "0"
    marks: Sequence[str] = ()
    largest: int = 0
    integer: str = "BIGINT"

    def units(self) -> str:
        """Write SQL that groups the rows of each person by the finest cell.

        Rows without a name are grouped by what each has of the sum. Example, with costs: Ann and two rows
        of nobody, who are n = 2 people with 5 each::

            p0   cost             p0   lone  part  n  records
            Ann    10             Ann  NULL    40  1      2
            Ann    30      ->     NULL    5     5  2      2
            NULL    5
            NULL    5
        """
        codes = {f"d{j}_{i}": sql for j, each in enumerate(self.codes) for i, sql in enumerate(each)}
        inputs = codes | {f"p{j}": sql for j, sql in enumerate(self.person)}
        inputs |= {"part": self.amount, **dict(zip(_HALVES, self.marks, strict=False))}
        rows = f"SELECT {', '.join(f'{sql} AS {name}' for name, sql in inputs.items())} FROM {self.source}"
        # A name of our own may be that of a column, which another name there would mean.
        lone = f"CASE WHEN {self._nobody} THEN part END"
        lined = f"SELECT r.*, {lone} AS lone, 1 AS n, 1 AS records FROM ({rows}) AS r"
        return self._grouped(f"({lined}) AS l", list(codes))

    def cells(self, units: str, depths: Sequence[int]) -> str:
        """Count the people of the cells at some depth of each dimension.

        Parameters
        ----------
        units
            What holds the result of `units`, as it stands behind FROM.

        Returns
        -------
        SQL of lines with the cell, its people, rows, sums of the halves of marks, sum, and people with a
        part above 0; then one of the largest parts, and how many people have it.
        """
        chosen = [f"d{j}_{depth}" for j, depth in enumerate(depths)]
        number = " + ".join(f"{name} * {stride}" for name, stride in zip(chosen, self.strides, strict=True))
        there = " AND ".join(f"{name} IS NOT NULL" for name in chosen)
        lines = f"SELECT u.*, {number} AS cell FROM {units} AS u WHERE {there}"
        pairs = self._grouped(f"({lines}) AS c", ["cell"])
        halves = [f"n * {name}" for name in _HALVES] if self.marks else ["0", "0"]
        sums = ["n", "records", *halves, "n * part", "CASE WHEN part > 0 THEN n ELSE 0 END"]
        if not self.largest:
            totals = [f"SUM({each})" for each in sums]
            return f"SELECT {self._whole(['cell', *totals, '0', '0'])} FROM ({pairs}) AS x GROUP BY cell"
        each_sum = ", ".join(f"SUM({each}) OVER (PARTITION BY cell) AS t{j}" for j, each in enumerate(sums))
        place = "ROW_NUMBER() OVER (PARTITION BY cell ORDER BY part DESC) AS place"
        columns = ["cell", *(f"t{j}" for j in range(len(sums))), "part", "n"]
        placed = f"SELECT cell, {each_sum}, part, n, {place} FROM ({pairs}) AS x"
        return f"SELECT {self._whole(columns)} FROM ({placed}) AS y WHERE place <= {self.largest}"

    def parts(self, units: str) -> str:
        """Write SQL of lines with a finest cell, a person, the person's part, and how many people have it.

        People are numbers from 1 on, and -1 where no one is named.
        """
        finest = [
            f"COALESCE({', '.join(f'd{j}_{depth}' for depth in reversed(range(len(each))))})"
            for j, each in enumerate(self.codes)
        ]
        cell = " + ".join(f"{name} * {stride}" for name, stride in zip(finest, self.strides, strict=True))
        number = f"DENSE_RANK() OVER (ORDER BY {', '.join(self._names)})"
        columns = [cell, f"CASE WHEN {self._nobody} THEN -1 ELSE {number} END", "part", "n"]
        return f"SELECT {self._whole(columns)} FROM {units} AS u"

    def _grouped(self, source: str, columns: Sequence[str]) -> str:
        """Add up lines of a person, or of nobody, with the same values of some columns."""
        by = ", ".join([*columns, *self._names, "lone"])
        people = f"CASE WHEN {self._nobody} THEN SUM(n) ELSE 1 END"
        marks = "".join(f", MAX({name}) AS {name}" for name in _HALVES[: len(self.marks)])
        part = "COALESCE(lone, SUM(part)) AS part"
        return (
            f"SELECT {by}, {part}, {people} AS n, SUM(records) AS records{marks} FROM {source} GROUP BY {by}"
        )

    def _whole(self, names: Sequence[str]) -> str:
        return ", ".join(f"CAST({name} AS {self.integer}) AS a{j}" for j, name in enumerate(names))

    @property
    def _names(self) -> list[str]:
        return [f"p{j}" for j in range(len(self.person))]

    @property
    def _nobody(self) -> str:
        return nobody(self._names) if self.person else "1 = 1"


def nobody(names: Sequence[str]) -> str:
    """Return an SQL condition: a row names nobody."""
    return " AND ".join(f"{name} IS NULL" for name in names)


class _Writer(Protocol):
    """Writer of texts, and of conditions on texts, in the SQL of a system."""

    def text(self, text: str) -> str: ...
    def value(self, text: str, wire: str) -> str: ...
    def matches(self, key: str, pattern: str) -> str: ...


def named_person(
    writer: _Writer, key: str, wire: str, kind: pl.DataType, null_values: tuple[str, ...]
) -> str | None:
    """Write a person column in SQL with NULL for missing, or None where SQL cannot express that.

    Parameters
    ----------
    key, wire
        SQL of the column, in which equal values are equal, and of its type.
    kind
        The type that its values are fetched as.
    """
    nulls = null_values_of(null_values)
    if kind == pl.String:
        conditions = [f"{key} = {writer.text(text)}" for text in nulls.texts if "\0" not in text]
        if nulls.pattern is not None:
            conditions.append(writer.matches(key, nulls.pattern))
    else:
        texts = [_text_of_value(value) for value in nulls.of_type(kind)]
        as_texts = wire.upper().startswith(("TEXT", "VARCHAR")) and not kind.is_integer()
        if None in texts or (texts and as_texts):
            return None
        conditions = [f"{key} = {writer.value(str(text), wire)}" for text in texts]
    if not conditions or kind == pl.Null:
        return key
    return f"CASE WHEN {' OR '.join(conditions)} THEN NULL ELSE {key} END"


def _text_of_value(value: Any) -> str | None:
    """Write a value as a database literal, or None for points of time, which databases read differently."""
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, Decimal):
        return format(value, "f")
    if isinstance(value, dt.datetime):
        return None
    return value.isoformat() if isinstance(value, dt.date) else repr(value)
