"""The values of columns: how a cell is read and written, and the kinds of a sensitive column."""

from __future__ import annotations

from incrowd_gate.errors import SchemaError
from incrowd_verify.cells import moment_of
from incrowd_verify.checks import Checks
from incrowd_verify.policy import NO_NULLS, Column, Nulls
from incrowd_verify.recipes import DAY, exact_number
from incrowd_verify.source import Table, group_of, literal
from incrowd_verify.spellings import MOMENT, means_missing
from incrowd_verify.tree_files import read_tree

# A number as people write it without a second thought; anything else makes a column of texts a category.
PLAIN = r"-?(0|[1-9][0-9]*)(\.[0-9]+)?"

# A number when the policy says that the column holds numbers.
_NUMBER = r"[+-]?([0-9]+(\.[0-9]*)?|\.[0-9]+)([eE][+-]?[0-9]{1,6})?"


def cell(table: Table, name: str, null_values: Nulls = NO_NULLS, alias: str = "") -> str:
    """Write the SQL of a column's cells, NULL where missing, with texts unchanged, numbers and dates typed.

    `alias`: what the table is called where there are several.
    """
    declared = table.type_of(name)
    read = f"{alias}.c{table.place(name)}" if alias else f"c{table.place(name)}"
    match group_of(declared):
        case "number" | "date":
            value = read
        case "float":  # not-a-number is missing; adding 0 makes -0.0 and 0.0 one value
            value = f"CASE WHEN isnan({read}) THEN NULL ELSE {read} + 0 END"
        case _:
            value = f"CAST({read} AS VARCHAR)"
    nulls = null_values.of(name)
    if not nulls:
        return value
    # A time with a zone is what a clock there shows, whatever the session's zone.
    zone = table.zone_of(name)
    shown = read if zone is None else f"timezone({literal(zone)}, {read})"
    return f"CASE WHEN {means_missing(f'CAST({shown} AS VARCHAR)', nulls)} THEN NULL ELSE {value} END"


def as_text(table: Table, name: str, null_values: Nulls = NO_NULLS) -> str:
    """Write the SQL of a column's cells as DuckDB's own texts, NULL where missing."""
    return f"CAST({cell(table, name, null_values)} AS VARCHAR)"


def written(con: Checks, table: Table, name: str, null_values: Nulls = NO_NULLS, alias: str = "t") -> str:
    """Write the SQL of a column's cells as the texts of a release, NULL where missing.

    `alias`: what the table is called where the SQL will stand.
    """
    declared = table.type_of(name)
    value = cell(table, name, null_values, alias)
    if (zone := table.zone_of(name)) is not None:
        value = f"timezone({literal(zone)}, {value})"
    return as_written(con, value, declared, f"{table.name} AS {alias}")


def as_written(con: Checks, value: str, declared: str, rows: str) -> str:
    """Write the SQL of the text that a release has for a value.

    `value`, `rows`: SQL of the value, and of the rows that have such.
    """
    text = f"CAST({value} AS VARCHAR)"
    if group_of(declared) == "float":  # 1.0 is written 1, and 1e-07 is written 1e-7
        return f"regexp_replace(regexp_replace({text}, '\\.0$', ''), 'e-0+', 'e-')"
    if not declared.startswith("TIMESTAMP"):
        return text
    (timed,) = con.row(f"SELECT count(*) FROM {rows} WHERE {value} <> date_trunc('day', {value})")
    return f"replace({text}, ' ', 'T')" if timed else f"CAST(CAST({value} AS DATE) AS VARCHAR)"


class Values:
    """The values of a sensitive column.

    `place`: its place among the sensitive columns: the column is ``s{place}`` of the table `member`.
    """

    def __init__(self, con: Checks, place: int, column: Column, declared: str) -> None:
        self.con = con
        self.cell = f"s{place}"
        self.place = place
        self.column = column
        self._declared = declared
        self._stored = group_of(declared)
        self._kind = self._find_kind()
        self.has_leaves = column.hierarchy is not None  # its values are the leaves, told apart by text

    def spelling_of(self, text: str, tables: str) -> str | None:
        """Return the value in a table that a text means, or None if the table has no such value."""
        rows = self.con.execute(
            f"SELECT CAST(value AS VARCHAR) FROM {tables} WHERE value IS NOT NULL"
        ).fetchall()
        spellings = [spelling for (spelling,) in rows]
        if text in spellings:
            return text
        # What is stored as a number has one value however that is written: 99.0 is 99.
        by_number = self._stored in ("number", "float") or (self._kind == "number" and not self.has_leaves)
        number = exact_number(text) if by_number else None
        equal = (each for each in spellings if number is not None and exact_number(each) == number)
        equal_value = next(equal, None)
        if equal_value is None and self._stored == "date":
            # DuckDB writes a blank for the T, and midnight where all times are midnight.
            wanted = moment_of(text) or moment_of(f"{text} 00:00")
            equal_value = next((each for each in spellings if wanted and moment_of(each) == wanted), None)
        return equal_value

    def write_parts(self, ending: str, codes: dict[str | None, int]) -> None:
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

    def write_ways(self, tables: str) -> int:
        """Make `above_` (v, node, edge): the nodes from each value up to the root; return the root's height.

        Raises `HierarchyError`: the hierarchy is no tree, or lacks a value.
        """
        con, hierarchy, name = self.con, self.column.hierarchy, self.column.name
        assert hierarchy is not None  # the distance was checked before
        text = as_written(con, "texts.value", self._declared, f"texts_{tables} AS texts")
        rows = con.execute(
            f"SELECT {text} FROM texts_{tables} AS texts WHERE value IS NOT NULL ORDER BY v"
        ).fetchall()
        texts = [row[0] for row in rows]
        tree = read_tree(hierarchy, texts, name)
        heights = tree.heights()
        height = heights[0] or 1  # nothing but missing values: any height will do
        ways = [
            (each, node, heights[tree.parents[node]] - heights[node])
            for each in texts
            for node in tree.way_up(each)
        ]
        con.note(f"The hierarchy of {name}: the nodes above each value, and the length of each edge.")
        columns = "value VARCHAR, node BIGINT, edge HUGEINT"
        if not con.is_script:
            con.fill(f"ways_{tables}", columns, ways)
        else:
            con.execute(f"CREATE TABLE ways_{tables}({columns})")
        if con.is_script and ways:
            listed = (f"({literal(text)}, {node}, {edge})" for text, node, edge in ways)
            con.execute(f"INSERT INTO ways_{tables} VALUES {', '.join(listed)}")
        con.execute(
            f"CREATE TABLE above_{tables} AS SELECT v, ways.node, ways.edge FROM texts_{tables} AS texts "
            f"JOIN ways_{tables} AS ways ON {text} = ways.value "
            f"UNION ALL SELECT v, {len(tree.parents)}, {height} FROM texts_{tables} WHERE value IS NULL"
        )
        con.check(
            f"every value is in the hierarchy of {name}",
            f"SELECT count(*) FROM texts_{tables} WHERE v NOT IN (SELECT v FROM above_{tables})",
            column=name,
        )
        if isinstance(hierarchy, dict):
            con.check(
                f"the values are those that the hierarchy of {name} is made of",
                f"SELECT count(*) FROM texts_{tables} WHERE value IS NOT NULL",
                f"reached = {len(texts)}",
                len(texts),
                column=name,
            )
        return height

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
        """Write whether a cell's text is a number, and whether a date, in freer forms where declared."""
        number, date, day = PLAIN, DAY, f"TRY_CAST({self.cell} AS DATE)"
        if declared:
            number, date, day = _NUMBER, MOMENT, f"TRY_CAST(left({self.cell}, 10) AS DATE)"
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
            kind = "number" if not no_numbers else "date" if not no_dates else "category"
            return kind if values else "category"  # of nothing but missing values
        misfits = no_numbers if asked == "number" else no_dates
        if misfits:
            raise SchemaError(
                f"column {name!r} is declared a {asked}, but {misfits} distinct value(s) are none; name "
                "those that mean missing in null_values"
            )
        return asked


NUMBERS_BY_SIZE = (
    "sign, sign * places, CASE WHEN sign > 0 THEN digits END, CASE WHEN sign < 0 THEN digits END DESC"
)
"""SQL of the order of numbers that `spelled_out` took apart."""


def spelled_out(distinct: str) -> str:
    """Take numbers written as text apart, for an exact comparison at any length.

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
