"""The cells of count tables, counted anew from the raw table by SQL, and compared with the published cells.

A cell that is published as it is must be the count, or the sum, of the raw table. A rounded cell is a
multiple of its base and less than a base away. A perturbed one is within the deviation. Nothing is said of
the values of suppressed cells. A cell that the rules of its table find unsafe must not be published as it is.

Tables made here
----------------
raw
    The raw table: c0, c1, ...
whose
    place, person: whose each row is (see `persons`).
listed
    place, person, v0, v1, ..., x0, ...: the texts of the columns that are counted, and the numbers that are
    summed.
codes_0_0, codes_0_1, ...
    value, code: each code of a dimension that a value belongs to, by its place in the manifest; 0 is the
    total.
parts
    k0, k1, ..., person, part: of the table at hand, how much each person has in each cell by its codes.
hidden
    cell, k0, k1, ...: of the table at hand, the cells that are not shown, numbered from 0.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import permutations
from math import ceil
from pathlib import Path
from typing import Any, NamedTuple

from incrowd_gate.errors import PolicyError, SchemaError, TableError, alike_of, named
from incrowd_gate.lazy import np
from incrowd_gate.points import Point
from incrowd_gate.scratch import PrivateFolder
from incrowd_verify.cells import CellReader
from incrowd_verify.checks import Checks
from incrowd_verify.count_tables.contributors import Contributors, Values, nobody
from incrowd_verify.count_tables.key_tables import KeyTable
from incrowd_verify.count_tables.published import Cell, PublishedTable
from incrowd_verify.count_tables.rules import Rules, TablePolicy, threshold_and_base
from incrowd_verify.persons import SHARED, number_people
from incrowd_verify.policy import NO_NULLS, Column
from incrowd_verify.recipes import Tree, exact_number
from incrowd_verify.source import CsvFormat, connect, reworded
from incrowd_verify.tables import Sources, Wanted, load, refuse_double_header, title_of, write_plainly
from incrowd_verify.tree_files import read_tree
from incrowd_verify.values import written

_FEW = 3
"""Cells that a sentence names."""
_EXACT = 1e-9
"""Share of a sum by which two orders of adding it up may differ."""
_MISSING = "<missing>"


@dataclass(frozen=True)
class RawTable:
    """The raw table of a check.

    - `path`: a file, a folder, a pattern, or the address of a database.
    - `table`: the table of the database.
    - `csv_format`: how CSV files are written.
    """

    path: str
    table: str | None = None
    csv_format: CsvFormat = field(default_factory=CsvFormat)


class Nested(NamedTuple):
    """A code that another column determines, as the sum of codes there: an area of towns.

    - `code`: the column that is determined, and its code.
    - `below`, `parts`: the other column, and its codes.
    """

    code: tuple[str, str]
    below: str
    parts: tuple[str, ...]


@dataclass(frozen=True)
class Recounted:
    """The cells of all tables by the raw table.

    - `compared`: how many cells were compared; None without a raw table.
    - `points`: the points of those that differ.
    - `hidden`: by quantity and cell, the people of each cell that a table suppresses.
    - `several`: whether somebody has several rows; where nobody has, records are people.
    - `nested`: codes of columns that other columns determine.
    """

    compared: int | None = None
    points: Sequence[Point] = ()
    hidden: Mapping[str, Mapping[Cell, Contributors]] = field(default_factory=dict)
    several: bool = False
    nested: Sequence[Nested] = ()


def recount(tables: Sequence[PublishedTable], raw: RawTable, policy: TablePolicy | None) -> Recounted:
    """Count every cell anew.

    Without a policy each row is a person, and a value belongs to the code that is called so or covers it.

    - Raises `SchemaError`: the raw table lacks a column, or its texts are not spelled as the policy says.
    - Raises `TableError`: it cannot be read.
    """
    sources = Sources(raw.path, raw.table, None, None, None, None, raw.csv_format)
    with (
        PrivateFolder() as scratch,
        reworded(Path(title_of(raw.path))),
        connect(scratch, *sources.reached(), in_order=True) as connection,
    ):
        count = _Recount.of_raw_table(Checks(connection), tables, raw, policy, scratch)
        compared, points = 0, list[Point]()
        hidden: dict[str, dict[Cell, Contributors]] = {}
        placed: dict[int, PublishedTable] = {}
        for number, table in enumerate(tables):
            cells, found, contributors = count.points_of(number, table, _shown_as_empty(tables, table))
            if not any(point.columns for point in found):
                placed[number] = table
            compared += cells
            points += found
            hidden.setdefault(table.quantity, {}).update(contributors)
        return Recounted(compared, points, hidden, count.several, [*count.nested(placed)])


@dataclass(frozen=True)
class _Recount:
    """The raw table in DuckDB, and how the columns are read."""

    con: Checks
    columns: dict[str, Column]
    places: dict[str, int]
    sums: dict[str, int]
    with_policy: bool
    several: bool
    asked: dict[str, Rules]
    waived: set[tuple[str, Cell]]

    @classmethod
    def of_raw_table(
        cls,
        con: Checks,
        tables: Sequence[PublishedTable],
        raw: RawTable,
        policy: TablePolicy | None,
        scratch: Path,
    ) -> _Recount:
        """Load the raw table, and list the person and the values of each row."""
        counted = list(dict.fromkeys(each["column"] for table in tables for each in table.dimensions))
        summed = list(dict.fromkeys(rule for table in tables if (rule := Rules.of_entry(table.entry)["sum"])))
        known = {} if policy is None else {column.name: column for column in policy.columns}
        asked = {} if policy is None else {each.name: each for each in policy.tables}
        person = [] if policy is None else [
            each.name for each in policy.columns if each.role == "person" or "person" in each.key_of
        ]  # fmt: skip
        nulls = NO_NULLS if policy is None else policy.null_values
        lacking = [name for name in (*counted, *summed) if policy is not None and name not in known]
        if lacking:
            raise PolicyError(f"the policy has no column {named(lacking)}, which the tables count")
        columns = {name: known.get(name, Column(name, "quasi")) for name in (*counted, *summed)}
        wanted = Wanted("raw", raw.path, raw.table, [*columns, *person], raw.csv_format, everything=True)
        table = load(con.con, wanted, scratch)
        lacking = [name for name in (*columns, *person) if not table.has(name)]
        if lacking:
            raise SchemaError(
                f"{table.title}: the column(s) {named(lacking)} of the tables are not in the file; check the "
                f"header's spelling and the delimiter{alike_of(lacking, table.names)}"
            )
        if table.headed:
            refuse_double_header(con.con, table, given_names=bool(raw.csv_format.names))
        types = list(table.types)
        for name, column in columns.items():
            place = table.place(name)
            types[place] = write_plainly(con, "raw", f"c{place}", types[place], column, nulls)
        table = replace(table, name="raw", types=tuple(types))
        if person:
            number_people(con, table, person, nulls)
        else:
            con.execute("CREATE TABLE whose AS SELECT rowid AS place, rowid AS person FROM raw")
        texts = [f"{written(con, table, name, nulls)} AS v{n}" for n, name in enumerate(counted)]
        for n, name in enumerate(summed):
            text = written(con, table, name, nulls)
            texts.append(f"coalesce(TRY_CAST({text} AS DOUBLE), 0) AS x{n}")
        con.execute(
            f"CREATE TABLE listed AS SELECT whose.place, whose.person, {', '.join(texts)} "
            "FROM raw AS t JOIN whose ON t.rowid = whose.place"
        )
        return cls(
            con,
            columns,
            {name: n for n, name in enumerate(counted)},
            {name: n for n, name in enumerate(summed)},
            policy is not None,
            con.row(SHARED)[0] > 0,
            asked,
            {
                (table.quantity, cell)
                for table in tables
                for cell in table.named(asked.get(table.name, Rules.of_entry(table.entry))["waived"])
            },
        )

    def points_of(
        self, number: int, table: PublishedTable, shown_as_empty: set[Cell]
    ) -> tuple[int, list[Point], dict[Cell, Contributors]]:
        """Compare a table, and return the number of cells, the points, and the makers of hidden cells.

        - `shown_as_empty`: empty cells that no table can hide.
        """
        rules = Rules.of_entry(table.entry)
        names = [each["column"] for each in table.dimensions]
        if names != [column for column, _ in rules.dimensions]:
            raise TableError(f"table {table.name}: its dimensions are not those of its rows and columns")
        for place, (column, level) in enumerate(rules.dimensions):
            lost = self._place_values(f"codes_{number}_{place}", table.dimensions[place], column, level)
            if lost:
                text = f"Table {table.name}: {lost:,} distinct value(s) of {column} have no code in it."
                return 0, [Point("conformity", (column,), None, text, self._way_out)], {}
        true = self._count(number, table, rules)
        nothing = nobody().values
        false: list[str] = []
        unsafe: list[str] = []
        asked = self.asked.get(table.name, rules)
        finest = [
            {code for place, code in enumerate(each["codes"]) if place not in each["under"]}
            for each in table.dimensions
        ]
        compared = 0
        for codes, value in table.cells.items():
            if value is None:
                continue
            compared += 1
            real = true.get(codes, nothing)
            labels = table.label(table.key(codes))
            is_finest = all(map(set.__contains__, finest, codes))
            if not _suits(value, real.value, rules, asked.key_table, finest=is_finest):
                false.append(labels)
            elif real.people == 0 and table.key(codes) in shown_as_empty:
                continue
            elif (
                rules["protect"] == "suppress"
                and real.is_unsafe(asked)
                and (table.quantity, table.key(codes)) not in self.waived
            ):
                unsafe.append(labels)
        what = f"the {'sum' if rules['sum'] else 'count'} of the raw table"
        what = what if rules["protect"] == "suppress" else f"as near to {what} as its rules say"
        points = []
        if false:
            text = f"Table {table.name}: {_cells(false)} not {what}: {some(false)}."
            points.append(Point("conformity", (), None, text, self._way_out))
        if unsafe:
            text = f"Table {table.name}: {_cells(unsafe)} unsafe by its rules and shown: {some(unsafe)}."
            points.append(Point("limit", (), None, text, "Make the tables anew."))
        return compared, points, self._hidden(table)

    def nested(self, tables: Mapping[int, PublishedTable]) -> Iterator[Nested]:
        """Yield the codes of each column that another determines, among the finest of each table.

        Each is in a table without the other: one that has both says itself what they have to do with each
        other.
        """
        together = [{each["column"] for each in table.dimensions} for table in tables.values()]
        sides: dict[tuple[str, tuple[str, ...]], tuple[str, dict[str, Any]]] = {}
        for number, table in tables.items():
            for place, each in enumerate(table.dimensions):
                sides.setdefault((each["column"], (*each["codes"],)), (f"codes_{number}_{place}", each))
        for (below, one), (above, other) in permutations(sides.values(), 2):
            names = one["column"], other["column"]
            if not all(
                any(a in each and b not in each for each in together) for a, b in (names, names[::-1])
            ):
                continue
            values = [f"v{self.places[name]}" for name in names]
            pairs = self.con.execute(
                f"""
                SELECT DISTINCT b.code, a.code FROM (SELECT DISTINCT {", ".join(values)} FROM listed)
                JOIN {below} AS b ON b.value IS NOT DISTINCT FROM {values[0]}
                JOIN {above} AS a ON a.value IS NOT DISTINCT FROM {values[1]}
                """
            ).fetchall()
            inner = {*one["under"]}, {*other["under"]}
            finest = sorted((b, a) for b, a in pairs if b not in inner[0] and a not in inner[1])
            if len({b for b, _ in finest}) < len(finest):
                continue
            for code in dict.fromkeys(a for _, a in finest):
                parts = tuple(one["codes"][b] for b, a in finest if a == code)
                yield Nested((names[1], other["codes"][code]), names[0], parts)

    @property
    def _way_out(self) -> str:
        if self.with_policy:
            return "Make the tables anew from this raw table."
        return (
            "Make the tables anew from this raw table; or name the policy, too, which says how values "
            "are read and whose each row is."
        )

    def _place_values(self, name: str, dimension: dict[str, Any], column: str, level: int) -> int:
        """Make the table of the codes of each value; return how many distinct values have none."""
        cell = f"v{self.places[column]}"
        values = [row[0] for row in self.con.execute(f"SELECT DISTINCT {cell} FROM listed").fetchall()]
        texts = [value for value in values if value is not None]
        codes, under = dimension["codes"], dimension["under"]
        ways = self._by_policy if self.with_policy else self._by_codes
        rows: list[tuple[str | None, int]] = []
        lost = 0
        for value, finest in ways(column, level, texts, codes, under, missing=len(texts) < len(values)):
            if finest is None:
                lost += 1
                continue
            rows.append((value, 0))
            code = finest
            while code:
                rows.append((value, code))
                code = under[code]
        self.con.fill(name, "value VARCHAR, code BIGINT", rows)
        return lost

    def _by_policy(
        self, column: str, level: int, texts: list[str], codes: list[str], under: list[int], *, missing: bool
    ) -> Iterator[tuple[str | None, int | None]]:
        """Yield each value with the finest code by the policy's hierarchy, None without such a code."""
        hierarchy = self.columns[column].hierarchy
        tree = read_tree({"flat": True} if hierarchy is None else hierarchy, texts, column)
        depth = _depths(tree)
        deepest = max(max(depth) - level, 1)
        published = {way: code for code in range(len(codes)) if (way := _way(codes, under, code))}
        number = self.columns[column].measure == "number"
        by_number = {(*way[:-1], exact_number(way[-1])): code for way, code in published.items() if number}
        # Of a node and one below it that have one name, the upper one is marked.
        marked = {
            above
            for node, above in enumerate(tree.parents)
            if above >= 0 and depth[node] <= deepest and tree.labels[node] == tree.labels[above]
        }
        for text in texts:
            nodes = [node for node in [*tree.way_up(text)][::-1] if depth[node] <= deepest]
            shown = [f"{tree.labels[node]}{' (all)' if node in marked else ''}" for node in nodes]
            code = published.get(tuple(shown))
            yield text, by_number.get((*shown[:-1], exact_number(shown[-1]))) if code is None else code
        if missing:
            yield None, _code_of_missing(codes, under)

    def _by_codes(
        self, column: str, level: int, texts: list[str], codes: list[str], under: list[int], *, missing: bool
    ) -> Iterator[tuple[str | None, int | None]]:
        """Yield each value with the finest code of that name, or else the only code that covers the value."""
        inner = set(under)
        finest = [code for code in range(1, len(codes)) if code not in inner]
        named_so = {codes[code]: code for code in finest}
        reader = CellReader(self.columns[column], texts)
        for text in texts:
            code = named_so.get(text)
            if code is None:
                covering = [each for each in finest if reader.covers(codes[each], text)]
                code = covering[0] if len(covering) == 1 else None
            yield text, code
        if missing:
            yield None, _code_of_missing(codes, under)

    def _count(self, number: int, table: PublishedTable, rules: Rules) -> dict[tuple[str, ...], Values]:
        """Count the cells of a table that have any row."""
        dimensions = table.dimensions
        joins = " ".join(
            f"JOIN codes_{number}_{n} AS d{n} ON d{n}.value IS NOT DISTINCT FROM "
            f"listed.v{self.places[each['column']]}"
            for n, each in enumerate(dimensions)
        )
        keys = ", ".join(f"d{n}.code AS k{n}" for n in range(len(dimensions)))
        names = ", ".join(f"k{n}" for n in range(len(dimensions)))
        part = "count(*)" if rules["sum"] is None else f"sum(x{self.sums[rules['sum']]})"
        rank = max(self.asked.get(table.name, rules).rank, rules.rank)
        self.con.execute(
            f"CREATE OR REPLACE TABLE parts AS SELECT {keys}, person, {part}::DOUBLE AS part "
            f"FROM listed {joins} GROUP BY ALL"
        )
        value = "count(*)" if rules["count"] == "people" and rules["sum"] is None else "sum(part)"
        rows = self.con.execute(
            f"""
            SELECT {names}, {value}, count(*), count(*) FILTER (part > 0),
                list_slice(list(part ORDER BY part DESC), 1, {rank})
            FROM parts GROUP BY {names}
            """
        ).fetchall()
        return {
            tuple(each["codes"][code] for each, code in zip(dimensions, row, strict=False)): Values(
                float(row[-4]), int(row[-3]), int(row[-2]), row[-1]
            )
            for row in rows
        }

    def _hidden(self, table: PublishedTable) -> dict[Cell, Contributors]:
        """Return the people of each cell that a table suppresses, from the table `parts`."""
        numbers = [{code: n for n, code in enumerate(each["codes"])} for each in table.dimensions]
        hidden = [codes for codes, value in table.cells.items() if value is None]
        places = [
            (cell, *(of[code] for of, code in zip(numbers, codes, strict=True)))
            for cell, codes in enumerate(hidden)
        ]
        names = [f"k{n}" for n in range(len(numbers))]
        columns = ", ".join(f"{name} BIGINT" for name in ("cell", *names))
        self.con.execute("DROP TABLE IF EXISTS hidden")
        self.con.fill("hidden", columns, places)
        found = self.con.execute(
            f"SELECT cell, person, part FROM parts JOIN hidden USING ({', '.join(names)}) ORDER BY cell"
        ).fetchnumpy()
        persons, parts = np.asarray(found["person"], np.int64), np.asarray(found["part"], np.float64)
        ends = np.searchsorted(found["cell"], np.arange(len(hidden) + 1))
        return {
            table.key(codes): Contributors(persons[start:end], parts[start:end])
            for codes, start, end in zip(hidden, ends, ends[1:], strict=False)
        }


def _shown_as_empty(tables: Sequence[PublishedTable], table: PublishedTable) -> set[Cell]:
    """Return the cells that are 0 in some table that shows empty cells, for counts as for sums."""
    return {
        cell
        for each in tables
        if each.entry["zeros"] == "show" and ("sum" in each.entry) == ("sum" in table.entry)
        for cell, ends in each.bounds.items()
        if ends == (0, 0)
    }


def _depths(tree: Tree) -> list[int]:
    """Return how many steps below the root each node is."""
    depths: list[int] = []
    for above in tree.parents:
        depths.append(depths[above] + 1 if above >= 0 else 0)
    return depths


def _way(codes: Sequence[str], under: Sequence[int], code: int) -> tuple[str, ...]:
    """Return the codes from the first below the total down to a code."""
    return (*_way(codes, under, under[code]), codes[code]) if code else ()


def _code_of_missing(codes: Sequence[str], under: Sequence[int]) -> int | None:
    """Return the code of missing values: the last of such a name below the total."""
    return max(
        (n for n, code in enumerate(codes) if not under[n] and re.fullmatch(f"{_MISSING}_*", code)),
        key=lambda n: len(codes[n]),
        default=None,
    )


def _suits(value: float, true: float, rules: Rules, key_table: KeyTable | None, *, finest: bool) -> bool:
    """Say whether a published value suits a true value by the rules of the table.

    - `key_table`: that of the policy, if it names one.
    - `finest`: whether the cell has no other below. Totals of rounded small counts are sums of what is shown.
    """
    far = abs(value - true)
    if rules["sum"] is not None:
        return far <= _EXACT * max(abs(true), 1.0)
    rule = threshold_and_base(rules["key_table"])
    match rules["protect"]:
        case "suppress":
            return value == true
        case "round" if rules["rounding"] == "small":
            small = 0 < true < rules["base"]
            return not finest or (value in (0, rules["base"]) if small else value == true)
        case "round" if rules["rounding"] == "midpoint":
            high = ceil(true / rules["base"]) * rules["base"]
            return value == (high - rules["base"] // 2 if true else 0)
        case "round":
            return bool(value % rules["base"] == 0 and far < rules["base"])
        case "cell-key" if rule is not None:
            threshold, base = rule
            return bool(value == (0 if true < threshold else (2 * true + base) // (2 * base) * base))
        case "cell-key" if key_table is not None:
            return key_table.suits(value, true)
        case _:
            return bool(far <= rules["deviation"])


def _cells(cells: Sequence[str]) -> str:
    return "1 cell is" if len(cells) == 1 else f"{len(cells):,} cells are"


def some(cells: Sequence[str]) -> str:
    """Name the first few of some cells, and say how many more there are."""
    more = f", and {len(cells) - _FEW:,} more" if len(cells) > _FEW else ""
    return "; ".join(cells[:_FEW]) + more
