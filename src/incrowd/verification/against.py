"""A release beside its raw table: is every cell true, and is everything else as it was?

Record N of one is record N of the other if the policy keeps the order, or if a row map tells which raw record
each released one is. Otherwise, and in databases, the tables are compared as a whole:

- Columns that are released as they are must hold the same combinations of values equally often.
- Every class must find enough raw records that its cells cover and whose other columns are the same.
- Every raw record must find a class that covers it.
"""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, NamedTuple, Self

from incrowd.errors import TableError, alike_of, named
from incrowd.verification.cells import CellReader
from incrowd.verification.classes import count_rows, fetch_row, group_of, written
from incrowd.verification.ends import mean_slack
from incrowd.verification.people import Coverage, Covers
from incrowd.verification.policy import SUPPRESSED, Column, Policy
from incrowd.verification.source import Table

if TYPE_CHECKING:
    import duckdb

_FEW, _ONE_WAY, _GROUPED = 20, 0.9, 0.5
"""Records below which an order is chance; least share of steps that go one way; steps of grouped values, as a
share of those of a random order."""


@dataclass(frozen=True)
class Pair:
    """A quasi-identifier in both tables, as SQL of its cells: NULL where missing, else texts."""

    column: Column
    cell: str
    value: str
    stored: str


class Compared(NamedTuple):
    """The result of a comparison with the raw table, in words."""

    problems: list[str]
    unchecked: Sequence[str] = ()
    notes: Sequence[str] = ()


def compare(
    con: duckdb.DuckDBPyConnection, released: Table, raw: Table, policy: Policy, *, placed: bool = False
) -> Compared:
    """Compare two loaded tables.

    Parameters
    ----------
    placed
        Whether a row map told which raw record each released one is, so that record N is record N.

    Returns
    -------
    What was found, in words.

    Raises
    ------
    HierarchyError
        A raw value is no leaf of its column's hierarchy.
    """
    problems = [
        f"the column {name!r} is not in the raw table" for name in released.names if name not in raw.names
    ]
    passed = [name for name in raw.names if is_passed(name, policy)]
    problems += [
        f"the column {name!r} of the raw table is missing" for name in passed if name not in released.names
    ]
    lacking = [column.name for column in policy.named("quasi") if column.name not in raw.names]
    if lacking:
        near = alike_of(lacking, raw.names)
        return Compared([*problems, f"the raw table {raw.title} has no column {named(lacking)}{near}"])
    sizes = [count_rows(con, table) for table in (released, raw)]
    if sizes[0] != sizes[1]:
        return Compared([*problems, f"the release has {sizes[0]} records and the raw table {sizes[1]}"])
    if all(column.treatment is not None for column in policy.named("quasi")):
        return Compared(problems, ["whether the cells are true: every quasi-identifier was treated before"])
    comparison = Comparison.of(con, released, raw, policy)
    in_order = released.in_order and raw.in_order
    notes = comparison.ordered_columns() if in_order and policy.keep_order and not placed else []
    if in_order and (policy.keep_order or placed):
        found, unchecked = comparison.record_by_record()
    elif in_order and policy.keep_order is None:
        found, unchecked = comparison.either_way()
    else:
        found, unchecked = comparison.as_a_whole()
        notes.append(
            "the tables are compared as a whole: it is not noticed if records of one class have exchanged "
            "values; with the row map of files each record is compared by itself"
        )
    return Compared([*problems, *found], unchecked, notes)


def as_released(con: duckdb.DuckDBPyConnection, released: Table, raw: Table, row_map: Table) -> Table:
    """Put the raw records in the order of the released ones.

    Parameters
    ----------
    row_map
        Which raw record each released one is, by its number from 1.

    Raises
    ------
    TableError
        The row map does not name every record once.
    """
    records = count_rows(con, released)
    if not (released.in_order and raw.in_order):
        raise TableError("a row map is for files: records of a database have no numbers")
    if "row" not in row_map.names:
        raise TableError(f"{row_map.title}: has no column 'row'; take the row map of this release")
    row = f"TRY_CAST(m.c{row_map.place('row')} AS BIGINT)"
    told = fetch_row(
        con,
        f"SELECT count(*), count(DISTINCT {row}), coalesce(min({row}), 0), coalesce(max({row}), 0) "
        f"FROM {row_map.name} AS m",
    )
    if tuple(told) != (records, records, 1, records):
        raise TableError(
            f"{row_map.title}: does not name each of {records} records once; take the row map of this release"
        )
    con.execute(
        f"CREATE TABLE moved AS SELECT w.* FROM {row_map.name} AS m JOIN {raw.name} AS w "
        f"ON w.rowid = {row} - 1 ORDER BY m.rowid"
    )
    return replace(raw, name="moved")


def is_passed(name: str, policy: Policy) -> bool:
    """Say whether a policy releases a column of the raw table as it is."""
    columns = {column.name: column for column in policy.columns}
    if name in columns:
        return columns[name].role in ("sensitive", "insensitive") and columns[name].treatment is None
    return policy.unlisted == "keep"


def _pair(
    con: duckdb.DuckDBPyConnection, column: Column, released: Table, raw: Table, null_values: Sequence[str]
) -> Pair:
    texts = [
        written(con, table, column.name, null_values, letter)
        for table, letter in ((released, "r"), (raw, "w"))
    ]
    kind = group_of(raw.types[raw.place(column.name)])
    return Pair(column, texts[0], texts[1], kind)


@dataclass(frozen=True)
class Comparison:
    """A release beside its raw table, which has as many rows.

    Attributes
    ----------
    con
        Where both are loaded.
    pairs
        The quasi-identifiers whose cells can be compared.
    passed
        The columns that are released as they are.
    """

    con: duckdb.DuckDBPyConnection
    released: Table
    raw: Table
    pairs: Sequence[Pair]
    passed: Sequence[str]

    @classmethod
    def of(cls, con: duckdb.DuckDBPyConnection, released: Table, raw: Table, policy: Policy) -> Self:
        """Compare two tables, which have the policy's quasi-identifiers, by a policy."""
        plain = [column for column in policy.named("quasi") if column.treatment is None]
        passed = [name for name in raw.names if is_passed(name, policy) and name in released.names]
        pairs = [_pair(con, column, released, raw, policy.null_values) for column in plain]
        return cls(con, released, raw, pairs, passed)

    def _passed_as_one_type(self, name: str) -> tuple[str, str]:
        """Write a column of both tables so that equal values compare as equal."""
        places = self.released.place(name), self.raw.place(name)
        types = self.released.types[places[0]], self.raw.types[places[1]]
        mine, theirs = f"r.c{places[0]}", f"w.c{places[1]}"
        if types[0] == types[1] and not types[0].startswith("ENUM"):
            return mine, theirs
        # A file of texts beside one of types: the text is read as the type.
        if types[0] == "VARCHAR" and not types[1].startswith("ENUM"):
            return f"coalesce(TRY_CAST({mine} AS {types[1]})::VARCHAR, {mine})", f"{theirs}::VARCHAR"
        if types[1] == "VARCHAR" and not types[0].startswith("ENUM"):
            return f"{mine}::VARCHAR", f"coalesce(TRY_CAST({theirs} AS {types[0]})::VARCHAR, {theirs})"
        return f"{mine}::VARCHAR", f"{theirs}::VARCHAR"

    def either_way(self) -> tuple[list[str], list[str]]:
        """Compare each record with the one in its place, and the tables as a whole if that fails."""
        found, unchecked = self.record_by_record()
        if not found:
            return found, unchecked
        problems, unknown = self.as_a_whole()
        return (found, unchecked) if problems else (problems, unknown)

    # --- the order ----------------------------------------------------------------------------------------

    def ordered_columns(self) -> list[str]:
        """Say which columns the order of the raw records tells, which the release keeps."""
        told = [pair.column.name for pair in self.pairs if self._tells(pair)]
        if not told:
            return []
        return [
            f"the records are in the order of {named(told)}, so the records around one tell more of it than "
            "its cells do"
        ]

    def _tells(self, pair: Pair) -> bool:
        """Say whether most steps from record to record go one way, or equal values stand together."""
        records, usual, changes, upward = fetch_row(
            self.con,
            f"""
            WITH seen AS (SELECT w.rowid AS place, {pair.value} AS v FROM {self.raw.name} AS w),
            steps AS (
                SELECT v, lag(v) OVER (ORDER BY place) AS before FROM seen
                QUALIFY row_number() OVER (ORDER BY place) > 1
            )
            SELECT
                (SELECT count(*) FROM seen),
                (SELECT (sum(n) - 1) * (1 - sum(n * n) / (sum(n) * sum(n))) FROM
                    (SELECT count(*)::DOUBLE AS n FROM seen GROUP BY v)),
                count(*) FILTER (v IS DISTINCT FROM before),
                count(*) FILTER (CASE WHEN TRY_CAST(v AS DOUBLE) IS NULL OR TRY_CAST(before AS DOUBLE) IS NULL
                    THEN v > before ELSE TRY_CAST(v AS DOUBLE) > TRY_CAST(before AS DOUBLE) END)
            FROM steps
            """,
        )
        if records < _FEW or usual < 1:
            return False
        one_way = changes > 1 and max(upward, changes - upward) >= _ONE_WAY * changes
        return bool(one_way or changes <= _GROUPED * usual)

    # --- record N beside record N -----------------------------------------------------------------------

    def record_by_record(self) -> tuple[list[str], list[str]]:
        """Compare each record with the one in its place."""
        problems = []
        for name in self.passed:
            (wrong,) = fetch_row(self.con, self.differing(name))
            if wrong:
                problems.append(f"the column {name!r} differs from the raw table in {wrong} records")
        (wrong,) = fetch_row(self.con, self.set_beside())
        if wrong:
            problems.append(f"{wrong} records that are suppressed in the raw table are not in the release")
        self.forget_hidden()
        for number, pair in enumerate(self.pairs):
            wrong = self._untrue(number, pair)
            if wrong:
                problems.append(
                    f"the column {pair.column.name!r}: {wrong} records have a cell that is not true of "
                    "their raw value"
                )
        return problems, []

    @property
    def _both(self) -> str:
        return f"{self.released.name} AS r JOIN {self.raw.name} AS w ON r.rowid = w.rowid"

    def differing(self, name: str) -> str:
        """Write the question of how many records have another value in a column that is released as it is."""
        mine, theirs = self._passed_as_one_type(name)
        return f"SELECT count(*) FROM {self._both} WHERE {mine} IS DISTINCT FROM {theirs}"

    def set_beside(self) -> str:
        """Make the table `beside` (q0, w0, q1, w1, ...) of cells and raw values.

        Returns
        -------
        The question of how many records that are suppressed in the raw table are not in the release.
        """
        columns = ", ".join(f"{pair.cell} AS q{n}, {pair.value} AS w{n}" for n, pair in enumerate(self.pairs))
        shown = " OR ".join(f"q{n} IS DISTINCT FROM '{SUPPRESSED}'" for n in range(len(self.pairs)))
        self.con.execute(f"CREATE TABLE beside AS SELECT {columns} FROM {self._both}")
        return f"SELECT count(*) FROM beside WHERE ({self._hidden}) AND ({shown})"

    @property
    def _hidden(self) -> str:
        return " AND ".join(f"coalesce(w{n} = '{SUPPRESSED}', false)" for n in range(len(self.pairs)))

    def forget_hidden(self) -> None:
        """Drop records that are suppressed in the raw table: nobody is behind them, and no value."""
        self.con.execute(f"DELETE FROM beside WHERE {self._hidden}")

    def judged(self, number: int) -> list[tuple[str | None, str | None, int, bool]]:
        """List the cells of a column with their raw values, how many have both, and whether they are true."""
        pair = self.pairs[number]
        found = self.con.execute(
            f"SELECT q{number}, w{number}, count(*) FROM beside GROUP BY q{number}, w{number}"
        ).fetchall()
        reader = CellReader(pair.column, list({value for _, value, _ in found}), stored=pair.stored)
        return [(text, value, int(count), reader.covers(text, value)) for text, value, count in found]

    def _untrue(self, number: int, pair: Pair) -> int:
        untrue = [(text, count) for text, _, count, is_true in self.judged(number) if not is_true]
        if untrue and pair.column.style == "mean":
            means = set(self.con.execute(self.true_means(number)).fetchall())
            untrue = [(text, count) for text, count in untrue if (text,) not in means]
        return sum(count for _, count in untrue)

    def true_means(self, number: int) -> str:
        """Write the question for the cells that are the mean or a most frequent value of all their classes.

        A sum of doubles is rounded in proportion to the largest of them, which may cancel out.
        """
        keys = ", ".join(f"q{n}" for n in range(len(self.pairs)))
        q, w = f"q{number}", f"w{number}"
        rounding, days = mean_slack(self.pairs[number].column, "cell")
        slack = f"greatest(1e-6, 1e-6 * abs(mean), 1e-12 * extent, {rounding})"
        return f"""
            WITH counted AS (SELECT {keys}, {w} AS value, count(*) AS n FROM beside GROUP BY {keys}, {w}),
            summed AS (
                SELECT
                    {q} AS cell,
                    sum(TRY_CAST(value AS DOUBLE) * n) / sum(n) FILTER (TRY_CAST(value AS DOUBLE) IS NOT NULL)
                        AS mean,
                    max(abs(TRY_CAST(value AS DOUBLE))) AS extent,
                    sum(epoch(TRY_CAST(value AS TIMESTAMP)) / 86400 * n)
                        / sum(n) FILTER (TRY_CAST(value AS TIMESTAMP) IS NOT NULL) AS day,
                    coalesce(max(n) FILTER (value IS NOT DISTINCT FROM {q}), 0) = max(n) AS is_mode
                FROM counted GROUP BY {keys}
            )
            SELECT cell FROM summed GROUP BY cell HAVING bool_and(coalesce(
                is_mode
                OR abs(TRY_CAST(cell AS DOUBLE) - mean) <= {slack}
                OR abs((TRY_CAST(cell AS DATE) - DATE '1970-01-01') - day) <= {days}, false))
            """

    # --- without an order -------------------------------------------------------------------------------

    def as_a_whole(self) -> tuple[list[str], list[str]]:
        """Compare how often everything occurs, and whether the cells can be true."""
        problems = []
        (extra,) = fetch_row(self.con, self.combined())
        if extra:
            problems.append(
                f"the column(s) {named(self.passed)} differ from the raw table in {extra} records"
            )
        classes, people = (self.con.execute(self.bunches(raw=raw)).fetchall() for raw in (False, True))
        try:
            untrue, uncovered = self._matched(classes, people)
        except TableError as error:
            return problems, [f"whether the cells are true of the raw table: {error}"]
        if untrue:
            problems.append(f"{untrue} records have cells that are true of too few records of the raw table")
        if uncovered:
            problems.append(f"{uncovered} records of the raw table are covered by no record of the release")
        return problems, self.unordered_means()

    def unordered_means(self) -> list[str]:
        """Say which means cannot be checked without an order."""
        return [
            f"whether the means of column {pair.column.name!r} are true: the tables have no common order"
            for pair in self.pairs
            if pair.column.style == "mean"
        ]

    def combined(self) -> str:
        """Make the table `passed` (p, p0, p1, ...): the combinations of columns that are released as they
        are.

        Returns
        -------
        The question of how many records have another combination than the raw ones.
        """
        rows = [f"SELECT {self._passed_of(raw)} FROM {self._rows_of(raw)}" for raw in (False, True)]
        passed = ", ".join(f"p{n}" for n in range(max(len(self.passed), 1)))
        self.con.execute(
            f"CREATE TABLE passed AS SELECT row_number() OVER () AS p, * FROM (SELECT DISTINCT {passed} FROM "
            f"({' UNION ALL '.join(rows)}))"
        )
        return f"SELECT count(*) FROM ({' EXCEPT ALL '.join(rows)})"

    def bunches(self, *, raw: bool) -> str:
        """Write the question for the records that are alike: q0, q1, ..., p, n; see `combined`.

        Parameters
        ----------
        raw
            Whether the raw records are meant: then q0, q1, ... are values and no cells.
        """
        texts = ", ".join(f"{pair.value if raw else pair.cell} AS q{n}" for n, pair in enumerate(self.pairs))
        keys = ", ".join(f"rows.q{n}" for n in range(len(self.pairs)))
        same = " AND ".join(
            f"rows.p{n} IS NOT DISTINCT FROM passed.p{n}" for n in range(max(len(self.passed), 1))
        )
        return (
            f"SELECT {keys}, passed.p, count(*) AS n FROM (SELECT {texts}, {self._passed_of(raw)} "
            f"FROM {self._rows_of(raw)}) AS rows JOIN passed ON {same} GROUP BY {keys}, passed.p"
        )

    def _rows_of(self, raw: bool) -> str:
        return f"{self.raw.name} AS w" if raw else f"{self.released.name} AS r"

    def _passed_of(self, raw: bool) -> str:
        """Write the columns p0, p1, ... that are released as they are, of one of the tables."""
        texts = (self._passed_as_one_type(name)[raw] for name in self.passed)
        return ", ".join(f"{text} AS p{n}" for n, text in enumerate(texts)) or "1 AS p0"

    def covers(self, number: int, values: Sequence[str | None]) -> Covers:
        """Return how the cells of a column are read over raw values; a mean says nothing of single ones."""
        pair = self.pairs[number]
        if pair.column.style == "mean":
            return _anything
        return CellReader(pair.column, values, stored=pair.stored).covers

    def _matched(self, classes: list[tuple[Any, ...]], people: list[tuple[Any, ...]]) -> tuple[int, int]:
        """Return the records of classes that too few people fit, and the people whom no class covers."""
        keys = len(self.pairs)
        known = [row for row in people if set(row[:keys]) != {SUPPRESSED}]
        covers = [self.covers(number, list({row[number] for row in known})) for number in range(keys)]
        sizes: dict[Hashable, int] = {row[:-1]: int(row[-1]) for row in classes}
        coverage = Coverage(
            {row[:-1]: row[:-1] for row in classes},
            [(row[:-1], int(row[-1])) for row in people],
            [*covers, _same],
        )
        untrue = sum(size for name, size in sizes.items() if coverage.people(name) < size)
        return untrue, coverage.outside()


def _same(one: Any, other: Any, /) -> bool:
    return bool(one == other)


def _anything(one: Any, other: Any, /) -> bool:
    return True
