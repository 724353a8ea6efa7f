"""A sensitive column in SQL: its values as codes, and how often each class has them.

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

from incrowd_verify.cells import moment_of
from incrowd_verify.checks import Checks
from incrowd_verify.classes import as_written
from incrowd_verify.errors import PolicyError, SchemaError
from incrowd_verify.policy import Column
from incrowd_verify.recipes import exact_number
from incrowd_verify.source import group_of, literal
from incrowd_verify.tree_files import read_tree

# A number as people write it without a second thought; anything else makes a column of texts a category.
_PLAIN = r"-?(0|[1-9][0-9]*)(\.[0-9]+)?"
# A number when the policy says that the column holds numbers.
_NUMBER = r"[+-]?([0-9]+(\.[0-9]*)?|\.[0-9]+)([eE][+-]?[0-9]{1,6})?"
_DAY = r"[0-9]{4}-[0-9]{2}-[0-9]{2}"
_MOMENT = _DAY + r"([T ][0-9]{2}:[0-9]{2}(:[0-9]{2}(\.[0-9]+)?)?)?"


class Attribute:
    """A sensitive column.

    Codes are numbered from 0 in the order of the values: by value for numbers (equal ones are one value,
    however they are written) and dates, by text otherwise; a missing value comes last.

    Parameters
    ----------
    place
        Its place among the sensitive columns: the column is ``s{place}`` of the table `member`.
    by_person
        Whether people are counted in place of records.
    """

    def __init__(
        self, con: Checks, place: int, column: Column, declared: str, *, by_person: bool = False
    ) -> None:
        self.con = con
        self.by_person = by_person
        self.cell = f"s{place}"
        self.place = place
        self.column = column
        self._declared = declared
        self._stored = group_of(declared)
        self._kind = self._find_kind()
        self.has_leaves = column.hierarchy is not None  # its values are the leaves, told apart by text
        self._made: dict[bool, str] = {}
        self._mark = ""
        self._height: int | None = None  # of the hierarchy, once it was read
        self._parted: Attribute | None = None
        self.part_codes: dict[str | None, int] | None = None  # set where lists are counted by their parts

    def again(self, mark: str = "") -> Attribute:
        """Return the same column for other classes, of which no table was made yet.

        Parameters
        ----------
        mark
            What the names of their tables have besides, where these are not in a schema of their own.
        """
        other = copy(self)
        other._made, other._height, other._parted = {}, None, None
        other._mark = mark and f"_{mark}"
        return other

    def parted(self) -> Attribute:
        """Return the same column of lists, whose tables have parts in place of values (see `quantities`)."""
        if self._parted is None:
            self._parted = self.again()
            self._parted.part_codes = {}
        return self._parted

    def distance_named(self, name: str) -> str:
        """Say which distance is meant; 'auto': hierarchical with a hierarchy, ordered for numbers, dates.

        Raises
        ------
        PolicyError
            The distance does not suit the column.
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
        """Make the tables of this module, and return their ending.

        Parameters
        ----------
        as_text
            Whether values are told apart by their text; by default where they are leaves.
        """
        as_text = self.has_leaves if as_text is None else as_text
        if as_text in self._made:
            return self._made[as_text]
        ending = f"{self.cell}_{'text' if as_text else 'value'}{self._mark}"
        if self.part_codes is not None:
            ending = f"{self.cell}_part{self._mark}"
            self._code_parts(ending, self.part_codes)
            return self._count(ending, as_text=as_text)
        order = "value"
        numbers_as_text = self._kind == "number" and self._stored == "text" and not as_text
        if numbers_as_text:
            order = (
                "sign, sign * places, CASE WHEN sign > 0 THEN digits END, "
                "CASE WHEN sign < 0 THEN digits END DESC"
            )
        # All values of the table, whichever classes are looked at.
        distinct = f"SELECT DISTINCT {self.cell} AS value FROM main.member"
        if numbers_as_text:
            distinct = _spelled_out(distinct)
        self.con.execute(
            f"CREATE TABLE texts_{ending} AS SELECT value, "
            f"dense_rank() OVER (ORDER BY value IS NULL, {order}) - 1 AS v FROM ({distinct})"
        )
        return self._count(ending, as_text=as_text)

    def _code_parts(self, ending: str, codes: dict[str | None, int]) -> None:
        """Make the texts of a column of lists: a row for each part of each value."""
        distinct = f"(SELECT DISTINCT {self.cell} AS value FROM main.member)"
        text = as_written(self.con, "value", self._declared, distinct)
        rows = []
        for (cell,) in self.con.execute(f"SELECT {text} FROM {distinct}").fetchall():
            parts = sorted(self.column.parts_of(cell), key=str)
            rows += [(cell, codes.setdefault(part, len(codes))) for part in parts]
        self.con.fill(f"listed_{ending}", "written VARCHAR, v BIGINT", rows)
        self.con.execute(
            f"CREATE TABLE texts_{ending} AS SELECT value, v FROM {distinct} "
            f"JOIN listed_{ending} ON {text} IS NOT DISTINCT FROM written"
        )

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

        Raises
        ------
        PolicyError
            The column has no such value: a slip of the pen must not count as protection. A release that
            left all records with it out looks the same.
        """
        if self.part_codes is not None:
            self.coded()
            return str(self.part_codes.get(text, -1))
        tables = f"texts_{self.coded()}"
        rows = self.con.execute(
            f"SELECT CAST(value AS VARCHAR) FROM {tables} WHERE value IS NOT NULL"
        ).fetchall()
        found = self._spelled_in([spelling for (spelling,) in rows], text)
        if found is None and self.column.parts is not None and self.parted().code_of(text) != "-1":
            return "-1"
        if found is None:
            raise PolicyError(
                f"column {self.column.name!r} has no value that is written as the value to protect; whether "
                "it was left out, or is misspelled in the policy, no release tells"
            )
        code = f"(SELECT min(v) FROM {tables} WHERE CAST(value AS VARCHAR) = {literal(found)})"
        self.con.check(
            "the value to protect occurs", code, "reached IS NOT NULL", None, column=self.column.name
        )
        return code

    def _spelled_in(self, spellings: Sequence[str], text: str) -> str | None:
        """Return which of the spellings of a column is the value that a text means, or None if it is none."""
        if text in spellings:
            return text
        # What is stored as a number has one value however that is written: 99.0 is 99.
        by_number = self._stored in ("number", "float") or (self._kind == "number" and not self.has_leaves)
        number = exact_number(text) if by_number else None
        equal = (each for each in spellings if number is not None and exact_number(each) == number)
        found = next(equal, None)
        if found is None and self._stored == "date":
            # DuckDB writes a blank for the T, and midnight where all times are midnight.
            wanted = moment_of(text) or moment_of(f"{text} 00:00")
            found = next((each for each in spellings if wanted and moment_of(each) == wanted), None)
        return found

    def everybody(self) -> str:
        """Write the number of records, or of people; suppressed ones included."""
        amount = "count(DISTINCT person)" if self.by_person else "count(*)"
        return f"(SELECT {amount} FROM main.record)"

    def occurrences(self, *, as_text: bool | None = None) -> str:
        """Write the sum of the whole table for each value (see `coded`)."""
        return f"(SELECT sum(n) FROM whole_{self.coded(as_text=as_text)})"

    def climb(self) -> int:
        """Make `above_` (v, node, edge): the nodes from each value up to the root, and return the height.

        Raises
        ------
        HierarchyError
            The hierarchy is no tree, or lacks a value.
        """
        if self._height is not None:
            return self._height
        tables, hierarchy, name = self.coded(as_text=True), self.column.hierarchy, self.column.name
        assert hierarchy is not None  # the distance was checked before
        text = as_written(self.con, "texts.value", self._declared, f"texts_{tables} AS texts")
        rows = self.con.execute(
            f"SELECT {text} FROM texts_{tables} AS texts WHERE value IS NOT NULL ORDER BY v"
        ).fetchall()
        texts = [row[0] for row in rows]
        tree = read_tree(hierarchy, texts, name)
        heights = tree.heights()
        self._height = heights[0] or 1  # nothing but missing values: any height will do
        ways = [
            (each, node, heights[tree.parents[node]] - heights[node])
            for each in texts
            for node in tree.way_up(each)
        ]
        self._write_ways(f"ways_{tables}", ways)
        self.con.execute(
            f"CREATE TABLE above_{tables} AS SELECT v, ways.node, ways.edge FROM texts_{tables} AS texts "
            f"JOIN ways_{tables} AS ways ON {text} = ways.value "
            f"UNION ALL SELECT v, {len(tree.parents)}, {self._height} FROM texts_{tables} WHERE value IS NULL"
        )
        self._check_leaves(tables, len(texts))
        return self._height

    def _write_ways(self, table: str, ways: Sequence[tuple[str, int, int]]) -> None:
        con = self.con
        con.note(
            f"The hierarchy of {self.column.name}: the nodes above each value, and the length of each edge."
        )
        columns = "value VARCHAR, node BIGINT, edge HUGEINT"
        if not con.is_script:
            con.fill(table, columns, ways)
            return
        con.execute(f"CREATE TABLE {table}({columns})")
        if ways:
            rows = (f"({literal(text)}, {node}, {edge})" for text, node, edge in ways)
            con.execute(f"INSERT INTO {table} VALUES {', '.join(rows)}")

    def _check_leaves(self, tables: str, leaves: int) -> None:
        """Write checks that the values are those for which the hierarchy was written down."""
        name = self.column.name
        self.con.check(
            f"every value is in the hierarchy of {name}",
            f"SELECT count(*) FROM texts_{tables} WHERE v NOT IN (SELECT v FROM above_{tables})",
            column=name,
        )
        if isinstance(self.column.hierarchy, dict):
            self.con.check(
                f"the values are those that the hierarchy of {name} is made of",
                f"SELECT count(*) FROM texts_{tables} WHERE value IS NOT NULL",
                f"reached = {leaves}",
                leaves,
                column=name,
            )

    def check_kind(self) -> None:
        """Write a check that the values still are of the expected kind: numbers, days or texts."""
        if self._stored != "text" or self.has_leaves or self.column.kind == "category":
            return
        asked = self.column.kind
        fits = self._kind_tests(declared=asked != "auto")
        numbers, days = (
            f"(SELECT count(*) = count(*) FILTER ({fits[kind]}) AND count(*) > 0 FROM main.member "
            f"WHERE {self.cell} IS NOT NULL)"
            for kind in ("number", "date")
        )
        taken = {"number": numbers, "date": days if asked == "date" else f"({days} AND NOT {numbers})"}
        if asked != "auto":
            taken[asked] = f"({taken[asked]} OR (SELECT count({self.cell}) = 0 FROM main.member))"
        kind = taken.get(self._kind, f"NOT ({numbers} OR {days})")
        kinds = {"number": "numbers", "date": "dates"}.get(self._kind, "texts")
        self.con.check(
            f"the values are {kinds}", f"{kind}::INTEGER", "reached = 1", 1, column=self.column.name
        )

    def _kind_tests(self, *, declared: bool) -> dict[str, str]:
        """Write whether a cell's text is a number, and whether it is a date; declared ones are freer."""
        number, date, day = _PLAIN, _DAY, f"TRY_CAST({self.cell} AS DATE)"
        if declared:
            number, date, day = _NUMBER, _MOMENT, f"TRY_CAST(left({self.cell}, 10) AS DATE)"
        return {
            "number": f"regexp_full_match({self.cell}, {literal(number)})",
            "date": f"regexp_full_match({self.cell}, {literal(date)}) AND {day} IS NOT NULL",
        }

    def _find_kind(self) -> str:
        asked, name = self.column.kind, self.column.name
        if self.column.parts is not None:
            return "category"
        if self._stored != "text":
            stored = "date" if self._stored == "date" else "number"
            if asked not in ("auto", "category", stored):
                raise SchemaError(f"column {name!r} is stored as {stored}, but the policy says {asked}")
            return stored if asked == "auto" else asked
        if asked == "category":
            return asked
        tests = self._kind_tests(declared=asked != "auto").values()
        counted = ", ".join(f"count(*) FILTER (NOT ({test}))" for test in tests)
        no_numbers, no_dates, values = self.con.row(
            f"SELECT {counted}, count(*) FROM (SELECT DISTINCT {self.cell} FROM member "
            f"WHERE {self.cell} IS NOT NULL)"
        )
        if asked == "auto":
            found = "number" if not no_numbers else "date" if not no_dates else "category"
            return found if values else "category"  # of nothing but missing values
        misfits = no_numbers if asked == "number" else no_dates
        if misfits:
            raise SchemaError(
                f"column {name!r} is declared a {asked}, but {misfits} distinct value(s) are none; name "
                "those that mean missing in null_values"
            )
        return asked


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
    if attribute.part_codes is not None and not by_person:
        # A record counts for each of its parts, so counts do not add up to the records.
        columns.append("member.rowid AS record")
        own, size, total = "record, ", "size", "size"
        sizes = "SELECT part, count(DISTINCT record)::HUGEINT AS size FROM parts GROUP BY part"
        whole = f"counted JOIN ({sizes}) USING (part)"
    if by_person:
        own, amount, size = "person, ", "count(DISTINCT person)", "size"
        sizes = "SELECT part, count(DISTINCT person)::HUGEINT AS size FROM parts GROUP BY part"
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


def _spelled_out(distinct: str) -> str:
    """Take numbers written as text apart, so that they compare exactly whatever their length.

    A number is sign * 0.d1d2d3... * 10^places with d1 not 0 (zero has sign 0): it is ordered by sign, then by
    places, then by its digits as a text, all the other way round below zero. No digit is lost to a float.
    """
    parts = (
        "SELECT value, "
        r"regexp_extract(value, '^[+-]?([0-9]*)', 1) AS whole, "
        r"regexp_extract(value, '^[+-]?[0-9]*\.([0-9]+)', 1) AS part, "
        r"coalesce(TRY_CAST(ltrim(regexp_extract(value, '[eE](.*)$', 1), '+') AS BIGINT), 0) AS power, "
        f"starts_with(value, '-') AS is_negative FROM ({distinct})"
    )
    digits = f"SELECT *, ltrim(whole || part, '0') AS kept FROM ({parts})"
    return (
        "SELECT value, rtrim(kept, '0') AS digits, "
        "CASE WHEN kept = '' THEN 0 WHEN is_negative THEN -1 ELSE 1 END AS sign, "
        # power also shifts zero, whose sign of 0 wipes it out again
        f"length(kept) - length(part) + power AS places FROM ({digits})"
    )
