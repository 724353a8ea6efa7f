"""The figures themselves, in SQL: classes, distinct values per class, and the three earth mover's distances.

With N records in all and s in a class, a share in the class minus a share in the table is
(n/s - N_v/N) = (n*N - N_v*s) / (N*s). So every distance is a sum of whole numbers (HUGEINT, 128 bits; DuckDB
raises on overflow) with one division at the end. Only values that occur in a class are looked at; what all
the other values add has a closed form, so nothing is ever as large as classes times values.

Tables made here
----------------
record
    q0, q1, ... (quasi-identifiers), s0, s1, ... (sensitive), suppressed. One row a record.
classes
    class, size, q0, q1, ...: the groups of the records that are not suppressed.
member
    class (NULL for a suppressed record), s0, s1, ... One row a record.
"""

from __future__ import annotations

import datetime
import re
from collections.abc import Mapping, Sequence
from decimal import Decimal
from pathlib import Path
from typing import TYPE_CHECKING, Any

from incrowd.errors import PolicyError, SchemaError
from incrowd.verification.policy import SUPPRESSED, Column
from incrowd.verification.source import Source, literal
from incrowd.verification.trees import read_tree

if TYPE_CHECKING:
    import duckdb

__all__ = ["Attribute", "count_records", "group", "smallest_class"]

_INTEGERS = ("TINYINT", "SMALLINT", "INTEGER", "BIGINT", "HUGEINT")
_EXACT = (*_INTEGERS, *(f"U{name}" for name in _INTEGERS))
_FLOATS = ("FLOAT", "DOUBLE")

# A number as people write it without a second thought; anything else makes a column of texts a category.
_PLAIN = r"-?(0|[1-9][0-9]*)(\.[0-9]+)?"
# A number when the policy says that the column holds numbers.
_NUMBER = r"[+-]?([0-9]+(\.[0-9]*)?|\.[0-9]+)([eE][+-]?[0-9]{1,6})?"
_DAY = r"[0-9]{4}-[0-9]{2}-[0-9]{2}"
# Null values that are numbers, days or points of time mean these however they are written.
_NULL_NUMBER = r"-?(0|[1-9][0-9]*)(\.[0-9]+)?([eE][+-]?[0-9]{1,4})?"
_NULL_MOMENT = _DAY + r"([T ][0-9]{2}:[0-9]{2}(:[0-9]{2}(\.[0-9]+)?)?)?"
_LONGEST = 400  # digits up to which a number is looked for without an exponent
_MOMENT = _DAY + r"([T ][0-9]{2}:[0-9]{2}(:[0-9]{2}(\.[0-9]+)?)?)?"


def _group_of(declared: str) -> str:
    """Say what a DuckDB type is to us: number, float, date or text (all the rest)."""
    if declared in _EXACT or declared.startswith("DECIMAL"):
        return "number"
    if declared in _FLOATS:
        return "float"
    return "date" if declared == "DATE" or declared.startswith("TIMESTAMP") else "text"


def _cell(place: int, declared: str, null_values: Sequence[str]) -> str:
    """Write the SQL of a column's cells, NULL where missing; texts as they are, numbers and dates typed."""
    name = f"c{place}"
    match _group_of(declared):
        case "number" | "date":
            cell = name
        case "float":  # not-a-number is missing; adding 0 makes -0.0 and 0.0 one value
            cell = f"CASE WHEN isnan({name}) THEN NULL ELSE {name} + 0 END"
        case _:
            cell = f"CAST({name} AS VARCHAR)"
    if not null_values:
        return cell
    # A time with a zone is what a clock in UTC shows, whatever the session's zone.
    read = f"timezone('UTC', {name})" if declared == "TIMESTAMP WITH TIME ZONE" else name
    return f"CASE WHEN {_means_missing(f'CAST({read} AS VARCHAR)', null_values)} THEN NULL ELSE {cell} END"


def _means_missing(text: str, null_values: Sequence[str]) -> str:
    """Write in SQL that a cell's text means missing: as it is, or as the same number or point of time."""
    ways = [f"{text} IN ({', '.join(map(literal, null_values))})"]
    patterns = [pattern for value in null_values for pattern in _other_ways(value)]
    ways += [f"regexp_full_match({text}, {literal(pattern)})" for pattern in patterns]
    return f"({' OR '.join(ways)})"


def _other_ways(value: str) -> list[str]:
    """Return patterns of the other ways to write a null value that is a number, a day or a point of time."""
    if re.fullmatch(_NULL_NUMBER, value):
        sign, digits, exponent = Decimal(value).normalize().as_tuple()
        assert isinstance(exponent, int)
        minus = "-" if sign else ""
        if digits == (0,):
            return [r"-?0(\.0+)?"]
        text = "".join(map(str, digits))
        power = len(text) - 1 + exponent
        shifted = rf"-0*{-power}" if power < 0 else rf"\+?0*{power}"
        fraction = rf"\.{text[1:]}0*" if text[1:] else r"(\.0+)?"
        found = [f"{minus}{text[0]}{fraction}[eE]{shifted}"]
        if abs(power) <= _LONGEST:
            whole = text[: power + 1].ljust(power + 1, "0") if power >= 0 else "0"
            rest = text[power + 1 :] if power >= 0 else "0" * (-power - 1) + text
            found.append(minus + whole + (rf"\.{rest}0*" if rest else r"(\.0+)?"))
        return found
    day = re.fullmatch(_NULL_MOMENT, value)
    if day is None:
        return []
    try:
        at = datetime.datetime.fromisoformat(value)
    except ValueError:
        return []
    zone = r"(Z|[+-][0-9]{2}(:?[0-9]{2})?)?"
    if at.time() == datetime.time():
        return [rf"{value[:10]}([T ]00:00(:00(\.0+)?)?{zone})?"]
    fraction = f"{at.microsecond:06}".rstrip("0")
    ending = rf"\.{fraction}0*" if fraction else r"(\.0+)?"
    return [f"{value[:10]}[T ]{at.time().isoformat('seconds')}{ending}{zone}"]


def group(
    con: duckdb.DuckDBPyConnection,
    source: Source,
    quasi: Sequence[str],
    sensitive: Sequence[str],
    null_values: Sequence[str],
) -> None:
    """Read the file into the tables of this module."""
    place_of = {name: place for place, name in enumerate(source.names)}

    def cells(names: Sequence[str], letter: str) -> list[str]:
        found = ((place_of[name], f"{letter}{number}") for number, name in enumerate(names))
        return [f"{_cell(at, source.types[at], null_values)} AS {alias}" for at, alias in found]

    stars = " AND ".join(
        f"coalesce(CAST(c{place_of[name]} AS VARCHAR) = {literal(SUPPRESSED)}, false)" for name in quasi
    )
    con.execute(
        f"CREATE TABLE record AS SELECT {', '.join(cells(quasi, 'q') + cells(sensitive, 's'))}, "
        f"{stars} AS suppressed FROM {source.relation}"
    )
    keys = [f"q{number}" for number in range(len(quasi))]
    con.execute(
        f"CREATE TABLE classes AS SELECT row_number() OVER () AS class, * FROM (SELECT {', '.join(keys)}, "
        f"count(*)::HUGEINT AS size FROM record WHERE NOT suppressed GROUP BY {', '.join(keys)})"
    )
    if sensitive:
        # A suppressed record finds no class: none has '*' in every key.
        same = " AND ".join(f"record.{key} IS NOT DISTINCT FROM classes.{key}" for key in keys)
        values = ", ".join(f"record.s{number}" for number in range(len(sensitive)))
        con.execute(
            f"CREATE TABLE member AS SELECT classes.class, {values} FROM record LEFT JOIN classes ON {same}"
        )


def count_records(con: duckdb.DuckDBPyConnection) -> tuple[int, int, int]:
    """Count records, suppressed records and classes."""
    records, suppressed = _row(con, "SELECT count(*), count(*) FILTER (suppressed) FROM record")
    (classes,) = _row(con, "SELECT count(*) FROM classes")
    return int(records), int(suppressed), int(classes)


def smallest_class(con: duckdb.DuckDBPyConnection) -> int | None:
    """Return k as reached; None if there is no class."""
    (size,) = _row(con, "SELECT min(size) FROM classes")
    return None if size is None else int(size)


def _row(con: duckdb.DuckDBPyConnection, sql: str) -> tuple[Any, ...]:
    row = con.execute(sql).fetchone()
    assert row is not None  # an aggregate always has one row
    return tuple(row)


class Attribute:
    """A sensitive column: its values as codes, its counts per class, and what it discloses.

    Codes are numbered from 0 in the order of the values: by value for numbers (equal ones are one value,
    however they are written) and dates, by text otherwise; a missing value comes last.

    Parameters
    ----------
    place
        Its place among the sensitive columns: the column is ``s{place}`` of the table `member`.
    declared
        DuckDB's type of the column.
    """

    def __init__(self, con: duckdb.DuckDBPyConnection, place: int, column: Column, declared: str) -> None:
        self._con = con
        self._cell = f"s{place}"
        self._column = column
        self._stored = _group_of(declared)
        self._kind = self._find_kind()
        self._has_leaves = column.hierarchy is not None  # its values are the leaves, told apart by text
        self._made: dict[bool, str] = {}
        self._height: int | None = None  # of the hierarchy, once it was read

    def distinct(self) -> int | None:
        """Return l as reached: the least number of distinct values in a class; None if there is no class."""
        tables = self._coded(as_text=self._has_leaves)
        (least,) = _row(
            self._con, f"SELECT min(n) FROM (SELECT count(*) AS n FROM counts_{tables} GROUP BY class)"
        )
        return None if least is None else int(least)

    def least_entropy(self) -> float | None:
        """Return the least exp of the Shannon entropy of a class; None if there is no class."""
        # With n of s records: exp(-sum n/s ln(n/s)) = s / exp(sum n ln n / s).
        tables = self._coded(as_text=self._has_leaves)
        (least,) = _row(
            self._con,
            f"""
            SELECT min(size::DOUBLE / exp(total / size::DOUBLE))
            FROM (
                SELECT size, sum(n::DOUBLE * ln(n::DOUBLE)) AS total
                FROM counts_{tables} GROUP BY class, size
            )
            """,
        )
        return None if least is None else float(least)

    def largest_share(self) -> float | None:
        """Return the largest share of one value in a class; None if there is no class."""
        tables = self._coded(as_text=self._has_leaves)
        (most,) = _row(self._con, f"SELECT max(n::DOUBLE / size::DOUBLE) FROM counts_{tables}")
        return None if most is None else float(most)

    def largest_gain(self) -> float | None:
        """Return the largest relative gain (p - q) / q of a value; None if there is no class."""
        tables, table_size = self._coded(as_text=self._has_leaves), self._table_size()
        (most,) = _row(
            self._con,
            f"""
            SELECT max(
                greatest(counts.n * {table_size} - whole.n * size, 0)::DOUBLE / (whole.n * size)::DOUBLE
            )
            FROM counts_{tables} AS counts JOIN whole_{tables} AS whole USING (v)
            """,
        )
        return None if most is None else float(most)

    def distance_named(self, name: str) -> str:
        """Say which distance is meant; 'auto': hierarchical with a hierarchy, ordered for numbers, dates.

        Raises
        ------
        PolicyError
            The distance does not suit the column.
        """
        ordered = self._kind in ("number", "date")
        if name == "auto":
            return "hierarchical" if self._has_leaves else "ordered" if ordered else "equal"
        if name == "hierarchical" and not self._has_leaves:
            raise PolicyError(f"column {self._column.name!r}: the hierarchical distance needs a hierarchy")
        if name == "ordered" and not ordered:
            raise PolicyError(f"column {self._column.name!r}: the ordered distance needs numbers or dates")
        return name

    def farthest(self, distance: str) -> float | None:
        """Return t as reached: the largest distance of a class to the table; None if there is no class."""
        measure = {"equal": self._equal, "ordered": self._ordered, "hierarchical": self._hierarchical}
        return measure[distance]()

    # --- values and counts ---

    def _find_kind(self) -> str:
        asked, name = self._column.kind, self._column.name
        if self._stored != "text":
            stored = "date" if self._stored == "date" else "number"
            if asked not in ("auto", "category", stored):
                raise SchemaError(f"column {name!r} is stored as {stored}, but the policy says {asked}")
            return stored if asked == "auto" else asked
        if asked == "category":
            return asked
        cell = self._cell
        plain, number, day, moment = (
            f"count(*) FILTER (NOT regexp_full_match({cell}, {literal(pattern)}){also})"
            for pattern, also in (
                (_PLAIN, ""),
                (_NUMBER, ""),
                (_DAY, f" OR TRY_CAST({cell} AS DATE) IS NULL"),
                (_MOMENT, f" OR TRY_CAST(left({cell}, 10) AS DATE) IS NULL"),
            )
        )
        wrong = _row(
            self._con,
            f"SELECT {plain}, {number}, {day}, {moment} FROM (SELECT DISTINCT {cell} FROM member "
            f"WHERE {cell} IS NOT NULL)",
        )
        if asked == "auto":
            return "number" if wrong[0] == 0 else "date" if wrong[2] == 0 else "category"
        misfits = wrong[1] if asked == "number" else wrong[3]
        if misfits:
            raise SchemaError(
                f"column {name!r} is declared a {asked}, but {misfits} distinct value(s) are none; name "
                "those that mean missing in null_values"
            )
        return asked

    def _coded(self, *, as_text: bool) -> str:
        """Make `texts_` (value, v), `whole_` (v, n), `counts_` (class, size, v, n); return their ending."""
        if as_text in self._made:
            return self._made[as_text]
        ending = f"{self._cell}_{'text' if as_text else 'value'}"
        value, order = "value", "value"
        numbers_as_text = self._kind == "number" and self._stored == "text" and not as_text
        if numbers_as_text:
            order = (
                "sign, sign * places, CASE WHEN sign > 0 THEN digits END, "
                "CASE WHEN sign < 0 THEN digits END DESC"
            )
        distinct = f"SELECT DISTINCT {self._cell} AS value FROM member"
        if numbers_as_text:
            distinct = _spelled_out(distinct)
        self._con.execute(
            f"CREATE TABLE texts_{ending} AS SELECT {value}, "
            f"dense_rank() OVER (ORDER BY value IS NULL, {order}) - 1 AS v FROM ({distinct})"
        )
        same = f"member.{self._cell} IS NOT DISTINCT FROM texts.value"
        joined = f"member JOIN texts_{ending} AS texts ON {same}"
        self._con.execute(
            f"CREATE TABLE whole_{ending} AS SELECT v, count(*)::HUGEINT AS n FROM {joined} GROUP BY v"
        )
        self._con.execute(
            f"CREATE TABLE counts_{ending} AS SELECT class, size, v, n FROM (SELECT class, v, "
            f"count(*)::HUGEINT AS n FROM {joined} WHERE class IS NOT NULL GROUP BY class, v) "
            f"JOIN classes USING (class)"
        )
        self._made[as_text] = ending
        return ending

    def _table_size(self) -> int:
        return int(_row(self._con, "SELECT count(*) FROM record")[0])

    # --- distances ---

    def _equal(self) -> float | None:
        """Half the sum of |n/s - N_v/N|; a value absent from the class adds N_v/N."""
        tables, table_size = self._coded(as_text=self._has_leaves), self._table_size()
        (reached,) = _row(
            self._con,
            f"""
            SELECT max(apart::DOUBLE / (2 * {table_size}::HUGEINT * size)::DOUBLE)
            FROM (
                SELECT
                    size,
                    sum(abs(counts.n * {table_size} - whole.n * size))
                        + size * ({table_size} - sum(whole.n)) AS apart
                FROM counts_{tables} AS counts JOIN whole_{tables} AS whole USING (v)
                GROUP BY class, size
            )
            """,
        )
        return None if reached is None else float(reached)

    def _ordered(self) -> float | None:
        """Sum over i of |C_i/s - W_i/N| over m - 1, with C and W the cumulative counts of class and table.

        From a value present in the class to the next one C stays the same while W rises. Up to the last value
        with W_i*s < C*N the class is ahead, from then on behind; an ASOF join finds that value, and prefix
        sums of W give both parts.
        """
        tables, table_size = self._coded(as_text=False), self._table_size()
        (values,) = _row(self._con, f"SELECT count(*) FROM whole_{tables}")
        if values == 1:
            return None if smallest_class(self._con) is None else 0.0
        (reached,) = _row(
            self._con,
            f"""
            WITH
            cumulative AS (SELECT v, sum(n) OVER (ORDER BY v) AS w FROM whole_{tables}),
            -- before and after: the sum of w over the values below v, and up to v
            prefix AS (
                SELECT v, w, sum(w) OVER (ORDER BY v) - w AS before, sum(w) OVER (ORDER BY v) AS after
                FROM cumulative
            ),
            total AS (SELECT max(after) AS w_sum FROM prefix),
            step AS (
                SELECT
                    class, size, v AS start,
                    sum(n) OVER by_value * {table_size} AS ahead,
                    lead(v) OVER by_value AS stop,
                    row_number() OVER by_value = 1 AS is_first
                FROM counts_{tables}
                WINDOW by_value AS (PARTITION BY class ORDER BY v)
            ),
            bounded AS (
                SELECT
                    class, size, start, ahead, is_first,
                    coalesce(stop, {values}) AS stop,
                    (ahead + size - 1) // size AS target,
                    opening.before AS at_start,
                    coalesce(closing.before, w_sum) AS at_stop
                FROM step
                JOIN prefix AS opening ON opening.v = step.start
                LEFT JOIN prefix AS closing ON closing.v = step.stop
                CROSS JOIN total
            ),
            crossed AS (
                SELECT bounded.*, coalesce(prefix.v + 1, 0) AS crossing, prefix.after AS at_crossing
                FROM bounded ASOF LEFT JOIN prefix ON bounded.target > prefix.w
            ),
            clipped AS (
                SELECT
                    class, size, start, stop, ahead, is_first, at_start, at_stop,
                    greatest(start, least(crossing, stop)) AS middle,
                    CASE WHEN crossing <= start THEN at_start WHEN crossing >= stop THEN at_stop
                         ELSE at_crossing END AS at_middle
                FROM crossed
            )
            SELECT max(apart::DOUBLE / ({values - 1}::HUGEINT * {table_size} * size)::DOUBLE)
            FROM (
                SELECT
                    size,
                    sum(
                        ahead * (middle - start) - size * (at_middle - at_start)
                        + size * (at_stop - at_middle) - ahead * (stop - middle)
                        + CASE WHEN is_first THEN size * at_start ELSE 0 END
                    ) AS apart
                FROM clipped
                GROUP BY class, size
            )
            """,
        )
        return None if reached is None else float(reached)

    def _hierarchical(self) -> float | None:
        """Sum over the nodes below the root of (h(parent) - h(node)) / 2H times |P(node) - Q(node)|.

        height(LCA)/H is the length of the way between two leaves when the edge above a node has the length
        (h(parent) - h(node)) / 2H, since a leaf has height 0; and on a tree the earth mover's distance is the
        sum over the edges of length times what must cross: the difference of the shares below the edge.
        A missing value is one more leaf right under the root.
        """
        tables = self._coded(as_text=True)
        table_size = self._table_size()
        if self._height is None:
            self._height = self._climb(tables)
        height = self._height
        (reached,) = _row(
            self._con,
            f"""
            WITH
            whole_node AS (
                SELECT node, edge, sum(n) AS n FROM whole_{tables} JOIN above_{tables} USING (v)
                GROUP BY node, edge
            ),
            class_node AS (
                SELECT class, size, node, sum(n) AS n FROM counts_{tables} JOIN above_{tables} USING (v)
                GROUP BY class, size, node
            ),
            total AS (SELECT sum(edge * n) AS edge_sum FROM whole_node)
            SELECT max(apart::DOUBLE / (2 * {height}::HUGEINT * {table_size} * size)::DOUBLE)
            FROM (
                SELECT
                    size,
                    sum(edge * abs(class_node.n * {table_size} - whole_node.n * size))
                        + size * (any_value(edge_sum) - sum(edge * whole_node.n)) AS apart
                FROM class_node JOIN whole_node USING (node) CROSS JOIN total
                GROUP BY class, size
            )
            """,
        )
        return None if reached is None else float(reached)

    def _climb(self, tables: str) -> int:
        """Make `above_` (v, node, edge): the nodes from each value up to the root; return the height."""
        hierarchy = self._column.hierarchy
        assert isinstance(hierarchy, (Path, Mapping))  # the distance was checked before
        rows = self._con.execute(
            f"SELECT CAST(value AS VARCHAR), v FROM texts_{tables} ORDER BY v"
        ).fetchall()
        codes: dict[str | None, int] = dict(rows)
        missing = codes.pop(None, None)
        texts = [text for text in codes if text is not None]
        tree = read_tree(hierarchy, texts, self._column.name)
        heights = tree.heights()
        above = [
            (codes[text], node, heights[tree.parents[node]] - heights[node])
            for text in texts
            for node in tree.way_up(text)
        ]
        height = heights[0] or 1  # nothing but missing values: any height will do
        if missing is not None:
            above.append((missing, len(tree.parents), height))
        columns = [list(column) for column in zip(*above, strict=True)]
        self._con.execute(
            f"CREATE TABLE above_{tables} AS SELECT unnest(?::BIGINT[]) AS v, unnest(?::BIGINT[]) AS node, "
            "unnest(?::HUGEINT[]) AS edge",
            columns,
        )
        return height


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
