"""A release beside the raw table: is every cell true, and is everything else unchanged?

Record N of one is record N of the other if the policy keeps the order, or if a row map tells which raw record
each released one is. Otherwise, and in databases, the tables are compared as a whole:

- Columns that are released as they are must hold the same combinations of values equally often.
- Every class must find enough raw records that its cells cover and whose other columns are the same.
- Every raw record must find a class that covers it.
"""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from dataclasses import dataclass
from itertools import compress
from operator import eq
from typing import Self

from incrowd_gate.errors import TableError, alike_of, named, setting
from incrowd_verify.cells import CellReader
from incrowd_verify.checks import Checks
from incrowd_verify.classes import count_rows
from incrowd_verify.conformity import mean_slack
from incrowd_verify.forms import check_raw_left, check_sums
from incrowd_verify.policy import SUPPRESSED, Column, Policy
from incrowd_verify.population import Coverage, Covering, Covers
from incrowd_verify.source import Table, literal
from incrowd_verify.tables import Tables
from incrowd_verify.values import written

_FEW, _ONE_WAY, _GROUPED = 20, 0.9, 0.5
"""Records below which an order is chance; least share of steps that go one way; steps of grouped values, as a
share of those of a random order."""


@dataclass(frozen=True)
class Pair:
    """A quasi-identifier in both tables, as SQL of the cells: NULL where missing, else texts."""

    column: Column
    cell: str
    value: str
    stored: str


def check_against(con: Checks, tables: Tables, policy: Policy) -> None:
    """Check that every cell is true of the raw record, and that every other column is unchanged.

    - Raises `HierarchyError`: a raw value is no leaf of its column's hierarchy.
    - Raises `ParameterError`: there is too much to compare or to list in a script.
    """
    released, raw = tables.released, tables.raw
    if raw is None:
        con.remarks.unchecked.append(
            "whether the cells are true, and other columns as they were: that needs the raw table"
        )
        return
    remarks, quasi = con.remarks, policy.named("quasi")
    passed = passed_columns(raw.names, policy)
    remarks.problems += [
        f"the column {name!r} is not in the raw table" for name in released.names if not raw.has(name)
    ]
    remarks.problems += [
        f"the column {name!r} of the raw table is missing" for name in passed if not released.has(name)
    ]
    lacking = [column.name for column in quasi if column.name not in raw.names]
    if lacking:
        con.never(f"the raw table had the column(s) {named(lacking)}")
        near = alike_of(lacking, raw.names)
        remarks.problems.append(f"the raw table {raw.title} has no column {named(lacking)}{near}")
        return
    con.note("The columns of both tables.")
    con.check(
        "columns that the raw table lacks",
        "SELECT count(*) FROM released_names WHERE name NOT IN (SELECT name FROM raw_names)",
    )
    con.check(
        "columns of the raw table that are missing",
        f"SELECT count(*) FROM raw_names WHERE name IN ({', '.join(map(literal, passed)) or 'NULL'}) "
        "AND name NOT IN (SELECT name FROM released_names)",
    )
    if con.is_script:
        for column in policy.treated:
            if column.role != "quasi":
                check_sums(con, column, policy, tables)
                check_raw_left(con, column, policy, released, raw)
    if tables.missing:
        remarks.notes.append(
            f"{tables.missing} records of the raw table are not in the release; they count as suppressed"
        )
    sizes = [count_rows(con, table) for table in (released, raw)]
    if sizes[0] + tables.unplaced != sizes[1]:
        remarks.problems.append(f"the release has {sizes[0]} records and the raw table {sizes[1]}")
    elif all(column.treatment is not None for column in quasi):
        remarks.unchecked.append("whether the cells are true: every quasi-identifier was treated before")
    else:
        _compare(con, tables, policy, Comparison.of_tables(con, released, raw, policy, tables.unplaced))


def _compare(con: Checks, tables: Tables, policy: Policy, comparison: Comparison) -> None:
    """Compare the records of two tables in the common order, or as a whole."""
    assert tables.raw is not None
    if tables.same_order(policy):
        if not tables.placed:
            con.remarks.notes += comparison.ordered_columns()
        comparison.check_in_order()
    else:
        comparison.check_as_a_whole()
        con.remarks.notes.append(
            "the tables are compared as a whole: it is not noticed if records of one class have "
            "exchanged values; with the row map of files each record is compared by itself"
        )


def passed_columns(names: Sequence[str], policy: Policy) -> list[str]:
    """Return the columns of the raw table that a policy releases unchanged."""
    as_it_is = {
        column.name: column.role in ("sensitive", "insensitive") and column.treatment is None
        for column in policy.columns
    }
    return [name for name in names if as_it_is.get(name, policy.unlisted == "keep")]


@dataclass(frozen=True)
class Comparison:
    """A release beside the raw table, which has as many rows, or also rows that were left out.

    - `pairs`: the quasi-identifiers whose cells can be compared.
    - `passed`: the columns that are released as they are.
    - `missing`: how many raw records are not in the release.
    """

    con: Checks
    released: Table
    raw: Table
    pairs: Sequence[Pair]
    passed: Sequence[str]
    missing: int = 0

    @classmethod
    def of_tables(cls, con: Checks, released: Table, raw: Table, policy: Policy, missing: int = 0) -> Self:
        """Compare two tables, which have the policy's quasi-identifiers, by a policy."""
        passed = [name for name in passed_columns(raw.names, policy) if released.has(name)]
        pairs = []
        for column in policy.named("quasi"):
            if column.treatment is None:
                cell, value = (
                    written(con, table, column.name, policy.null_values, letter)
                    for table, letter in ((released, "r"), (raw, "w"))
                )
                pairs.append(Pair(column, cell, value, raw.kind_of(column.name)))
        return cls(con, released, raw, pairs, passed, missing)

    def _as_one_type(self, name: str, released: Table, raw: Table) -> tuple[str, str]:
        """Write a column of both tables so that equal values compare as equal."""
        places = released.place(name), raw.place(name)
        types = released.types[places[0]], raw.types[places[1]]
        mine, theirs = f"r.c{places[0]}", f"w.c{places[1]}"
        if types[0] == types[1] and not types[0].startswith("ENUM"):
            return mine, theirs
        # A file of texts beside one of types: the text is read as the type.
        if types[0] == "VARCHAR" and not types[1].startswith("ENUM"):
            return f"coalesce(TRY_CAST({mine} AS {types[1]})::VARCHAR, {mine})", f"{theirs}::VARCHAR"
        if types[1] == "VARCHAR" and not types[0].startswith("ENUM"):
            return f"{mine}::VARCHAR", f"coalesce(TRY_CAST({theirs} AS {types[0]})::VARCHAR, {theirs})"
        return f"{mine}::VARCHAR", f"{theirs}::VARCHAR"

    # --- the order ----------------------------------------------------------------------------------------

    def ordered_columns(self) -> list[str]:
        """Say which columns the order of the raw records tells, which the release keeps."""
        telling = [pair.column.name for pair in self.pairs if self._tells(pair)]
        if not telling:
            return []
        return [
            f"the records are in the order of {named(telling)}, so the records around one tell more of it "
            "than its cells do"
        ]

    def _tells(self, pair: Pair) -> bool:
        """Say whether most steps from record to record go the same way, or equal values stand together."""
        records, usual, changes, upward = self.con.row(
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
            """
        )
        if records < _FEW or usual < 1:
            return False
        one_way = changes > 1 and max(upward, changes - upward) >= _ONE_WAY * changes
        return bool(one_way or changes <= _GROUPED * usual)

    # --- record N beside record N -----------------------------------------------------------------------

    def check_in_order(self) -> None:
        """Compare each record with the raw record at the same place."""
        con = self.con
        con.note("Columns that are released as they are, record by record.")
        for name in self.passed:
            self._check_passed(name)
        con.note("Each cell beside its raw value.")
        con.check(
            "records that were suppressed before and are not now",
            self._set_beside(),
            problem=lambda wrong: (
                f"{wrong} records that are suppressed in the raw table are not in the release"
            ),
        )
        con.execute(f"DELETE FROM beside WHERE {self._hidden('w')}")
        for number, pair in enumerate(self.pairs):
            self._check_cells(number, pair)

    def _hidden(self, letter: str) -> str:
        """Write the condition that every quasi-identifier of a raw record is suppressed."""
        return " AND ".join(f"coalesce({letter}{n} = '{SUPPRESSED}', false)" for n in range(len(self.pairs)))

    def _check_passed(self, name: str) -> None:
        released, raw = self.con.narrow(self.released, name), self.con.narrow(self.raw, name)
        mine, theirs = self._as_one_type(name, released, raw)
        self.con.check(
            f"records that differ from the raw table: {name}",
            f"SELECT count(*) FROM {_beside(released, raw)} WHERE {mine} IS DISTINCT FROM {theirs}",
            column=name,
            problem=lambda wrong: f"the column {name!r} differs from the raw table in {wrong} records",
        )

    def _set_beside(self) -> str:
        """Make the table `beside` (q0, w0, ...); return SQL of how many suppressed raw records are shown."""
        columns = ", ".join(f"{pair.cell} AS q{n}, {pair.value} AS w{n}" for n, pair in enumerate(self.pairs))
        shown = " OR ".join(f"q{n} IS DISTINCT FROM '{SUPPRESSED}'" for n in range(len(self.pairs)))
        self.con.execute(f"CREATE TABLE beside AS SELECT {columns} FROM {_beside(self.released, self.raw)}")
        return f"SELECT count(*) FROM beside WHERE ({self._hidden('w')}) AND ({shown})"

    def _check_cells(self, number: int, pair: Pair) -> None:
        con, column = self.con, pair.column
        cells = con.execute(
            f"SELECT q{number}, w{number}, count(*) FROM beside GROUP BY q{number}, w{number}"
        ).fetchall()
        reader = CellReader(column, list({value for _, value, _ in cells}), stored=pair.stored)
        is_true = [reader.covers(text, value) for text, value, _ in cells]
        if con.is_script:
            self._list_true(number, column, [row[:2] for row in compress(cells, is_true)])
            return
        untrue = [(text, count) for (text, _, count), fits in zip(cells, is_true, strict=True) if not fits]
        if untrue and column.style == "mean":
            means = set(con.execute(self._true_means(number)).fetchall())
            untrue = [(text, count) for text, count in untrue if (text,) not in means]
        if untrue:
            way_out = setting("suppressed_as=['']", "--suppressed-as ''")
            empty = any(text is None for text, _ in untrue)
            con.remarks.problems.append(
                f"the column {column.name!r}: {sum(count for _, count in untrue)} records have a cell that "
                "is not true of their raw value"
                + (f"; some are empty: if that means suppressed, say {way_out}" if empty else "")
            )

    def _list_true(self, number: int, column: Column, pairs: Sequence[tuple[str | None, ...]]) -> None:
        """List in a script which raw values each cell is true of, and check by the list."""
        rows = sorted(pairs, key=lambda row: tuple((each is None, each or "") for each in row))
        self.con.note(f"Which raw values each cell of {column.name} is true of.")
        self.con.fill(f"true_{number}", "cell VARCHAR, value VARCHAR", rows)
        wrong = (
            f"NOT EXISTS (SELECT 1 FROM true_{number} AS told WHERE told.cell IS NOT DISTINCT FROM "
            f"beside.q{number} AND told.value IS NOT DISTINCT FROM beside.w{number})"
        )
        if column.style == "mean":
            wrong += (
                f" AND NOT EXISTS (SELECT 1 FROM ({self._true_means(number)}) AS mean "
                f"WHERE mean.cell IS NOT DISTINCT FROM beside.q{number})"
            )
        self.con.check(
            f"cells that are not true of their records: {column.name}",
            f"SELECT count(*) FROM beside WHERE {wrong}",
            column=column.name,
        )

    def _true_means(self, number: int) -> str:
        """Write the query of cells that are the mean or a most frequent value of every class with the cell.

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

    def check_as_a_whole(self) -> None:
        """Check how often everything occurs in both tables, and whether the cells can be true."""
        con = self.con
        means = [
            f"whether the means of column {pair.column.name!r} are true: the tables have no common order"
            for pair in self.pairs
            if pair.column.style == "mean"
        ]
        con.note(
            "Which raw record each record is, is not known. So the tables are compared as a whole.",
            *(f"Not checked: {what}." for what in means),
        )
        con.check(
            "records that differ from all raw ones in columns that are released as they are",
            self._combined(),
            problem=lambda extra: (
                f"the column(s) {named(self.passed)} differ from the raw table in {extra} records"
            ),
        )
        if con.is_script:
            self._list_suiting()
            return
        try:
            untrue, uncovered = self._matched()
        except TableError as error:
            con.remarks.unchecked.append(f"whether the cells are true of the raw table: {error}")
            return
        con.remarks.unchecked += means
        if untrue:
            con.remarks.problems.append(
                f"{untrue} records have cells that are true of too few records of the raw table"
            )
        if uncovered > self.missing:
            con.remarks.problems.append(
                f"{uncovered} records of the raw table are covered by no record of the release"
            )

    def _combined(self) -> str:
        """Make the table `passed` (p, p0, p1, ...) of combinations; return SQL of how many records differ."""
        rows = [f"SELECT {self._passed_of(raw)} FROM {self._rows_of(raw)}" for raw in (False, True)]
        passed = ", ".join(f"p{n}" for n in range(max(len(self.passed), 1)))
        self.con.execute(
            f"CREATE TABLE passed AS SELECT row_number() OVER () AS p, * FROM (SELECT DISTINCT {passed} FROM "
            f"({' UNION ALL '.join(rows)}))"
        )
        return f"SELECT count(*) FROM ({' EXCEPT ALL '.join(rows)})"

    def _bunches(self, *, raw: bool) -> str:
        """Write SQL of the released or raw records that are alike: q0, q1, ..., p, n (see `_combined`)."""
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
        """Write the unchanged columns of the release or of the raw table as p0, p1, ..."""
        texts = (self._as_one_type(name, self.released, self.raw)[raw] for name in self.passed)
        return ", ".join(f"{text} AS p{n}" for n, text in enumerate(texts)) or "1 AS p0"

    def _covers(self, number: int, values: Sequence[str | None]) -> Covers:
        """Return the reader of a column's cells over raw values; a mean says nothing of single values."""
        pair = self.pairs[number]
        if pair.column.style == "mean":
            return lambda cell, value: True
        return CellReader(pair.column, values, stored=pair.stored).covers

    def _matched(self) -> tuple[int, int]:
        """Return the records of classes that too few people fit, and the people whom no class covers."""
        classes, people = (self.con.execute(self._bunches(raw=raw)).fetchall() for raw in (False, True))
        keys = len(self.pairs)
        known = [row for row in people if set(row[:keys]) != {SUPPRESSED}]
        covers = [self._covers(number, list({row[number] for row in known})) for number in range(keys)]
        sizes: dict[Hashable, int] = {row[:-1]: int(row[-1]) for row in classes}
        coverage = Coverage(
            {row[:-1]: row[:-1] for row in classes},
            [(row[:-1], int(row[-1])) for row in people],
            [*covers, eq],
        )
        untrue = sum(size for name, size in sizes.items() if coverage.people(name) < size)
        return untrue, coverage.outside()

    def _list_suiting(self) -> None:
        """List in a script the raw values that each cell is true of, and check by the lists.

        Tables made here
        ----------------
        released_alike, raw_alike
            class or person, q0, q1, ..., p, n: how many records have the same cells, or values, and the same
            p.
        suiting_0, suiting_1, ...
            cell, value: which raw values each cell of a quasi-identifier is true of.
        suits
            class, person: whose cells are true of which raw values.
        """
        con = self.con
        con.note("The records that are alike, and the raw records that are.")
        for table, number, raw in (("released_alike", "class", False), ("raw_alike", "person", True)):
            con.execute(
                f"CREATE TABLE {table} AS SELECT row_number() OVER () AS {number}, * "
                f"FROM ({self._bunches(raw=raw)})"
            )
        covering = Covering(con, "released_alike", "raw_alike", "suits", "suiting", "c.p = e.p")
        covering.refuse_many(
            "SELECT sum(r.n * w.n) FROM (SELECT p, count(*) AS n FROM released_alike GROUP BY p) AS r "
            "JOIN (SELECT p, count(*) AS n FROM raw_alike GROUP BY p) AS w USING (p)",
            "the raw table's",
        )
        hidden = self._hidden("q")
        shares = {}
        for place, pair in enumerate(self.pairs):
            if pair.column.style != "mean":
                known = covering.texts(place, f"raw_alike WHERE NOT ({hidden})")
                con.note(f"Which raw values each cell of {pair.column.name} is true of; * is true of any.")
                covers, values = self._covers(place, known), covering.texts(place, "raw_alike")
                shares[place] = covering.tell(place, covers, values)
        con.note(
            "The raw records that suit the cells of each: the column that parts most is looked at first."
        )
        covering.meet(shares)
        fitting = (
            "SELECT class, sum(e.n) AS people FROM suits JOIN raw_alike AS e USING (person) GROUP BY class"
        )
        con.check(
            "records whose cells are true of too few raw records",
            f"SELECT coalesce(sum(n), 0) FROM released_alike LEFT JOIN ({fitting}) USING (class) "
            "WHERE coalesce(people, 0) < n",
        )
        con.check(
            "raw records of which the cells of no record are true",
            "SELECT coalesce(sum(n), 0) FROM raw_alike WHERE person NOT IN (SELECT person FROM suits)",
            f"reached <= {self.missing}",
        )


def _beside(released: Table, raw: Table) -> str:
    return f"{released.name} AS r JOIN {raw.name} AS w ON r.rowid = w.rowid"
