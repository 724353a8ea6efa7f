"""A sensitive column in SQL: codes of the values, and how often each class has each value.

Tables made here, with an ending for the column
------------------------------------------------
texts
    value, v: the distinct values and their codes, from 0 in the order of the values.
whole
    v, n: how often the whole table has each, suppressed records included.
counts
    part, home, size, total, v, n: how often each part of a class has each value. Usually a class is one part;
    where the other sensitive columns count as quasi-identifiers it is split by their values. The total is
    the sum of n. The size is the same, unless people are counted: somebody with two values adds to both.
held
    class, v, person: who has which value. Only where people are counted.
"""

from __future__ import annotations

from collections.abc import Sequence
from copy import copy

from incrowd_gate.errors import PolicyError
from incrowd_verify.checks import Checks
from incrowd_verify.policy import Column
from incrowd_verify.source import literal
from incrowd_verify.values import NUMBERS_BY_SIZE, Values, spelled_out


class Attribute(Values):
    """A sensitive column.

    Codes are numbered from 0 in the order of the values: by value for numbers (equal ones are one value,
    however they are written) and dates, by text otherwise; a missing value comes last.

    - `place`: its place among the sensitive columns: the column is ``s{place}`` of the table `member`.
    - `by_person`: whether people are counted in place of records.
    """

    def __init__(
        self, con: Checks, place: int, column: Column, declared: str, *, by_person: bool = False
    ) -> None:
        super().__init__(con, place, column, declared)
        self.by_person = by_person
        self._made: dict[bool, str] = {}
        self._mark = ""
        self._height: int | None = None  # of the hierarchy, once it was read
        self._parted: Attribute | None = None
        self.part_codes: dict[str | None, int] | None = None  # set where lists are counted by their parts

    def again(self, mark: str = "") -> Attribute:
        """Return the same column for other classes, of which no table was made yet.

        `mark`: what the names of their tables have besides, where these are not in a schema of their own.
        """
        other = copy(self)
        other._made, other._height, other._parted = {}, None, None
        other._mark = mark and f"_{mark}"
        return other

    def parted(self) -> Attribute:
        """Return the same column of lists, with tables of parts in place of values (see `quantities`)."""
        if self._parted is None:
            self._parted = self.again(self._mark.removeprefix("_"))
            self._parted.part_codes = {}
        return self._parted

    def distance_named(self, name: str) -> str:
        """Say which distance is meant; 'auto': hierarchical with a hierarchy, ordered for numbers, dates.

        Raises `PolicyError`: the distance does not suit the column.
        """
        ordered = self._kind in ("number", "date")
        if name == "auto":
            return "hierarchical" if self.has_leaves else "ordered" if ordered else "equal"
        if name == "hierarchical" and not self.has_leaves:
            raise PolicyError(f"column {self.column.name!r}: the hierarchical distance needs a hierarchy")
        if name == "ordered" and not ordered:
            raise PolicyError(f"column {self.column.name!r}: the ordered distance needs numbers or dates")
        return name

    def coded(self, *, as_text: bool | None = None) -> str:
        """Make the tables of this module, and return the ending of the tables' names.

        `as_text`: whether values are told apart by their text; by default where they are leaves.
        """
        as_text = self.has_leaves if as_text is None else as_text
        if as_text in self._made:
            return self._made[as_text]
        ending = f"{self.cell}_{'text' if as_text else 'value'}{self._mark}"
        if self.part_codes is not None:
            ending = f"{self.cell}_part{self._mark}"
            self.write_parts(ending, self.part_codes)
            return self._count(ending, as_text=as_text)
        # All values of the table, whichever classes are looked at.
        order, distinct = "value", f"SELECT DISTINCT {self.cell} AS value FROM main.member"
        if self._kind == "number" and self._stored == "text" and not as_text:
            order, distinct = NUMBERS_BY_SIZE, spelled_out(distinct)
        self.con.execute(
            f"CREATE TABLE texts_{ending} AS SELECT value, "
            f"dense_rank() OVER (ORDER BY value IS NULL, {order}) - 1 AS v FROM ({distinct})"
        )
        return self._count(ending, as_text=as_text)

    def _count(self, ending: str, *, as_text: bool) -> str:
        """Make the other tables of this module, given the texts, and return the ending."""
        same = f"member.{self.cell} IS NOT DISTINCT FROM texts.value"
        joined = f"member JOIN texts_{ending} AS texts ON {same}"
        amount, total = ("count(DISTINCT person)" if self.by_person else "count(*)"), "size"
        self.con.execute(
            f"CREATE TABLE whole_{ending} AS SELECT v, {amount}::HUGEINT AS n FROM main.{joined} GROUP BY v"
        )
        if self.by_person:
            self.con.execute(f"CREATE TABLE held_{ending} AS SELECT DISTINCT class, v, person FROM {joined}")
            joined, total = f"held_{ending}", "(sum(n) OVER (PARTITION BY class))::HUGEINT"
        self.con.execute(
            f"CREATE TABLE counts_{ending} AS SELECT class AS part, class AS home, size, {total} AS total, "
            f"v, n FROM (SELECT class, v, count(*)::HUGEINT AS n FROM {joined} WHERE class IS NOT NULL "
            "GROUP BY class, v) JOIN classes USING (class)"
        )
        self._made[as_text] = ending
        return ending

    def code_of(self, text: str) -> str:
        """Write the query of the code of a value; a script gets a check that the value occurs.

        Raises `PolicyError`: the column has no such value: a slip of the pen must not count as protection. A
        release that left all records with it out looks the same.
        """
        tables = f"texts_{self.coded()}"
        if self.part_codes is not None:
            return str(self.part_codes.get(text, -1))
        spelling = self.spelling_of(text, tables)
        if spelling is None and self.column.parts is not None and self.parted().code_of(text) != "-1":
            return "-1"
        if spelling is None:
            raise PolicyError(
                f"column {self.column.name!r} has no value that is written as the value to protect; whether "
                "it was left out, or is misspelled in the policy, no release tells"
            )
        code = f"(SELECT min(v) FROM {tables} WHERE CAST(value AS VARCHAR) = {literal(spelling)})"
        self.con.check(
            "the value to protect occurs", code, "reached IS NOT NULL", None, column=self.column.name
        )
        return code

    def climb(self) -> int:
        """Make `above_` (v, node, edge), the nodes from each value up to the root; return the height."""
        if self._height is None:
            self._height = self.write_ways(self.coded(as_text=True))
        return self._height

    def everybody(self) -> str:
        """Write the number of records, or of people, suppressed records included."""
        amount = "count(DISTINCT person)" if self.by_person else "count(*)"
        return f"(SELECT {amount} FROM main.record)"

    def occurrences(self, *, as_text: bool | None = None) -> str:
        """Write the sum of the whole table for each value (see `coded`)."""
        return f"(SELECT sum(n) FROM whole_{self.coded(as_text=as_text)})"


def split_by_others(
    attributes: Sequence[Attribute], attribute: Attribute, *, as_text: bool | None = None
) -> str:
    """Make the counts of a column in classes split by the values of the others; return the table's name."""
    ending = attribute.coded(as_text=as_text)
    name = f"joint_{ending}"
    con = attribute.con
    made = f"FROM duckdb_tables() WHERE table_name = '{name}' AND schema_name = current_schema()"
    if con.row(f"SELECT count(*) {made}")[0]:
        return name
    by_person = attribute.by_person
    joins, columns = [], ["member.class", *(["member.person"] if by_person else [])]
    for other in attributes:
        codes = other.coded() if other is not attribute else ending
        joins.append(
            f"JOIN texts_{codes} AS t{other.place} "
            f"ON member.{other.cell} IS NOT DISTINCT FROM t{other.place}.value"
        )
        columns.append(f"t{other.place}.v AS v{other.place}")
    others = ", ".join(f"v{other.place}" for other in attributes if other is not attribute)
    own, amount, whole = "", "count(*)", "counted"
    size = total = "(sum(n) OVER (PARTITION BY part))::HUGEINT"
    if by_person or attribute.part_codes is not None:
        # Somebody counts for each value, and a record for each of its parts: counts add up to no size.
        unit = "person" if by_person else "record"
        columns += [] if by_person else ["member.rowid AS record"]
        own, size = f"{unit}, ", "size"
        amount, total = ("count(DISTINCT person)", total) if by_person else (amount, size)
        sizes = f"SELECT part, count(DISTINCT {unit})::HUGEINT AS size FROM parts GROUP BY part"
        whole = f"counted JOIN ({sizes}) USING (part)"
    con.execute(
        f"CREATE TABLE {name} AS WITH coded AS (SELECT {', '.join(columns)} FROM member {' '.join(joins)} "
        "WHERE member.class IS NOT NULL), "
        f"parts AS (SELECT {own}class AS home, v{attribute.place} AS v, "
        f"dense_rank() OVER (ORDER BY class, {others}) AS part FROM coded), "
        f"counted AS (SELECT part, home, v, {amount}::HUGEINT AS n FROM parts GROUP BY part, home, v) "
        f"SELECT part, home, {size} AS size, {total} AS total, v, n FROM {whole}"
    )
    return name
