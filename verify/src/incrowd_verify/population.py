"""People whom the cells of a class cover: in a population, in the raw table, or by sampling weights.

The distinct combinations of people's values are numbered. A set of combinations is a whole number with a bit
for each. A cell covers a set of combinations. A class covers those that all of its cells cover.

A release has no weights. So they are taken from the raw table: record N of it must be record N of the
release.

Tables made here
----------------
covered
    class, size, people: the records and the people of each class.
uncovered
    people: how many no class covers.
standing
    class, millionths: the sum of the weights of each class's records, in millionths of a person. That of the
    suppressed records has the class NULL.

Tables made in a script
-----------------------
everybody
    person, q0, q1, ..., n: the distinct combinations of people's values, and how many people have each.
covers_0, covers_1, ...
    cell, value: the values of the population of which each cell of a quasi-identifier is true.
near
    class, person: the classes that cover a combination.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

from incrowd_gate.errors import ParameterError, SchemaError, TableError, named, setting
from incrowd_verify.cells import CellReader
from incrowd_verify.checks import Checks
from incrowd_verify.classes import count_rows
from incrowd_verify.groups import alone
from incrowd_verify.limits import Demand
from incrowd_verify.persons import Persons, raw_wanted, refuse_several_rows
from incrowd_verify.policy import SUPPRESSED, Column, Nulls, Policy
from incrowd_verify.source import Table
from incrowd_verify.tables import Tables, respell_values, write_plainly
from incrowd_verify.values import cell, written

_MOST_BYTES = 10**12
"""What may be looked through: a minute or two."""


Covers = Callable[[Any, Any], bool]
"""Says whether a cell is true of a value."""


class Coverage:
    """Classes, and the people that the cells of each class cover.

    - `classes`: what names each class, and its cells.
    - `keys`: the distinct combinations of people's values, and how many people have each.
    - `covers`: for every column how its cells are read.
    - Raises `TableError`: there are too many of both.
    """

    def __init__(
        self,
        classes: dict[Hashable, Sequence[Any]],
        keys: Sequence[tuple[Sequence[Any], int]],
        covers: Sequence[Covers],
    ) -> None:
        if len(classes) * len(keys) // 8 * len(covers) > _MOST_BYTES:
            raise TableError(
                f"{len(classes):,} classes and {len(keys):,} combinations of values are too many to compare"
            )
        self._counts = [count for _, count in keys]
        everybody = (1 << len(keys)) - 1
        self.sets: dict[Hashable, int] = dict.fromkeys(classes, everybody)
        for column, reads in enumerate(covers):
            having: dict[Any, list[int]] = {}
            for number, (values, _) in enumerate(keys):
                having.setdefault(values[column], []).append(number)
            sets = {value: _as_set(numbers) for value, numbers in having.items()}
            known: dict[Any, int] = {}
            for name, cells in classes.items():
                text = cells[column]
                if text not in known:
                    known[text] = _union(numbers for value, numbers in sets.items() if reads(text, value))
                self.sets[name] &= known[text]

    @cached_property
    def _planes(self) -> list[int]:
        """For each binary digit of a count the set of keys with the digit."""
        return [
            _as_set(number for number, count in enumerate(self._counts) if count >> digit & 1)
            for digit in range(max(self._counts, default=0).bit_length())
        ]

    def _count(self, keys: int) -> int:
        return sum((keys & plane).bit_count() << digit for digit, plane in enumerate(self._planes))

    def people(self, name: Hashable) -> int:
        """Return how many people a class covers."""
        return self._count(self.sets[name])

    def outside(self) -> int:
        """Return how many people no class covers."""
        everybody = (1 << len(self._counts)) - 1
        return self._count(everybody & ~_union(self.sets.values()))


def _cover(con: Checks, table: Table, quasi: Sequence[Column], null_values: Nulls) -> None:
    """Count in a population whom the cells of each class cover: make the tables `covered` and `uncovered`."""
    names = [column.name for column in quasi]
    rows = con.execute(alike(con, table, names, null_values)).fetchall()
    # Who is `*` throughout is nobody in particular, and in no class.
    known = [row for row in rows if any(value != SUPPRESSED for value in row[:-1])]
    hidden = sum(int(row[-1]) for row in rows) - sum(int(row[-1]) for row in known)
    texts = ", ".join(f"CAST(q{number} AS VARCHAR)" for number in range(len(quasi)))
    cells = con.execute(f"SELECT class, {texts} FROM classes").fetchall()
    classes: dict[Hashable, Sequence[Any]] = {row[0]: row[1:] for row in cells}
    readers = [
        CellReader(
            column, list({row[number] for row in known}), stored=table.kind_of(column.name), of_people=True
        )
        for number, column in enumerate(quasi)
    ]
    coverage = Coverage(
        classes, [(row[:-1], int(row[-1])) for row in known], [reader.covers for reader in readers]
    )
    con.execute(
        "CREATE TABLE covered AS SELECT class, size, people FROM classes "
        "JOIN (SELECT unnest(?::BIGINT[]) AS class, unnest(?::HUGEINT[]) AS people) USING (class)",
        [list(classes), [coverage.people(name) for name in classes]],
    )
    con.execute("CREATE TABLE uncovered AS SELECT ?::HUGEINT AS people", [hidden + coverage.outside()])


def count_population(con: Checks, policy: Policy, population: Table) -> None:
    """Count the people that the classes cover in a population with rows of different people."""
    refuse_several_rows(con, population, policy)
    population = respell_values(con, population, policy)
    count = _cover_by_script if con.is_script else _cover
    count(con, population, policy.named("quasi"), policy.null_values)


def refuse_unknown(policy: Policy, population: Table | None, unweighed: str | None) -> None:
    """Refuse limits of a script on values that are not in the file, or on people without a population."""
    demands = policy.all_demands
    if any(demand.looks_at(policy.unjudged) for demand in demands):
        raise ParameterError(
            f"a script reads the values of column {named(sorted(policy.unjudged))} in the file, and by "
            "judge = 'original' the policy asks only for those before; verify says so, too"
        )
    others = sorted({each.model for each in demands if each.needs_people})
    if population is not None or not others or (others == ["k-map"] and unweighed == ""):
        return
    why = f"name it with {setting('population=', '--population')}"
    raise ParameterError(
        f"no SQL script can check this release by itself: {', '.join(others)} compares the release with a "
        f"population; {unweighed or why}"
    )


def alike(con: Checks, table: Table, quasi: Sequence[str], null_values: Nulls) -> str:
    """Write the question for the combinations of people's values q0, q1, ..., and how many, n, have each."""
    columns = ", ".join(f"{written(con, table, name, null_values)} AS q{at}" for at, name in enumerate(quasi))
    keys = ", ".join(f"q{at}" for at in range(len(quasi)))
    people = f"(SELECT {columns} FROM {table.name} AS t)"
    return f"SELECT {keys}, count(*)::HUGEINT AS n FROM {people} GROUP BY {keys}"


def sizes_and_people(quasi: int, wildcards: str) -> str:
    """Write the question for the records and the people of each class: size, people."""
    if wildcards != "conservative":
        return "SELECT size, people FROM main.covered"
    # Each record of such a class counts alone, and so does its person.
    one = f"(SELECT class FROM main.classes WHERE {alone(range(quasi))})"
    return (
        f"SELECT CASE WHEN class IN {one} THEN 1 ELSE size END AS size, "
        f"CASE WHEN class IN {one} THEN least(people, 1) ELSE people END AS people FROM main.covered"
    )


def figure_of_people(demand: Demand, quasi: int, wildcards: str, *, counted: bool) -> str:
    """Write the query of k-map or delta-presence: whom the classes cover, or by weights stand for.

    `counted`: whether a population was counted; else weights say for how many people records stand.
    """
    if not counted:
        return f"SELECT ({_stood_for(quasi, wildcards)})::DOUBLE / 1000000"
    covered = sizes_and_people(quasi, wildcards)
    if demand.model == "k-map":
        return f"SELECT min(people) FROM ({covered})"
    worst = "min" if demand.at_least else "max"
    share = (
        f"SELECT {worst}(CASE WHEN people = 0 THEN 'inf'::DOUBLE ELSE size::DOUBLE / people END) "
        f"FROM ({covered})"
    )
    if demand.quantity == "delta_max":
        return share
    return f"SELECT CASE WHEN (SELECT people FROM main.uncovered) > 0 THEN 0 ELSE ({share}) END"


def _as_set(keys: Iterable[int]) -> int:
    members = bytearray()
    for key in keys:
        if key >> 3 >= len(members):
            members.extend(bytes((key >> 3) + 1 - len(members)))
        members[key >> 3] |= 1 << (key & 7)
    return int.from_bytes(members, "little")


def _union(sets: Iterable[int]) -> int:
    together = 0
    for one in sets:
        together |= one
    return together


_MOST_PAIRS = 2_000_000_000
"""Classes times combinations that a script may look through."""


def _cover_by_script(script: Checks, population: Table, quasi: Sequence[Column], null_values: Nulls) -> None:
    """Write whom the classes cover in the population.

    - Raises `ParameterError`: there are too many classes and combinations.
    - Raises `HierarchyError`: a value of the population is no leaf of a hierarchy.
    """
    names = [column.name for column in quasi]
    numbers = range(len(quasi))
    together = alike(script, population, names, null_values)
    shown = " OR ".join(f"q{number} IS DISTINCT FROM '{SUPPRESSED}'" for number in numbers)
    script.note(
        "The population: the combinations of people's values. Who is * throughout is nobody in particular."
    )
    script.execute(
        f"CREATE TABLE everybody AS SELECT row_number() OVER () AS person, *, {shown} AS is_known "
        f"FROM ({together})"
    )
    covering = Covering(script, "classes", "everybody", "near", "covers", "e.is_known")
    covering.refuse_many(
        "SELECT (SELECT count(*) FROM classes) * (SELECT count(*) FROM everybody)", "the population's"
    )
    shares = {}
    for number, column in enumerate(quasi):
        values = covering.texts(number, "everybody WHERE is_known")
        stored = population.kind_of(column.name)
        script.note(f"Which values of the population each cell of {column.name} covers; * covers any.")
        reader = CellReader(column, values, stored=stored, of_people=True)
        shares[number] = covering.tell(number, reader.covers, values)
    script.note("Whom the cells of each class cover: the column that parts most is looked at first.")
    covering.meet(shares)
    script.execute(
        "CREATE TABLE covered AS SELECT class, size, coalesce(people, 0)::HUGEINT AS people FROM classes "
        "LEFT JOIN (SELECT class, sum(n) AS people FROM near JOIN everybody USING (person) GROUP BY class) "
        "USING (class)"
    )
    script.execute(
        "CREATE TABLE uncovered AS SELECT coalesce(sum(n), 0) AS people FROM everybody "
        "WHERE person NOT IN (SELECT person FROM near)"
    )


@dataclass(frozen=True)
class Covering:
    """Writes down whom classes cover.

    - `classes`: a table (class, q0, q1, ...) of cells.
    - `people`: a table (person, q0, q1, ...) of the combinations of people's values.
    - `near`: the table (class, person) that is made.
    - `cell_values`: how the tables (cell, value) begin that say which values each cell covers.
    - `among`: SQL of which pairs of a class `c` and a combination `e` are looked at.
    """

    script: Checks
    classes: str
    people: str
    near: str
    cell_values: str
    among: str

    def refuse_many(self, pairs: str, whose: str) -> None:
        """Refuse to look through too many pairs.

        `whose`: whose combinations of values these are, in words.
        """
        (found,) = self.script.row(pairs)
        if int(found or 0) > _MOST_PAIRS:
            raise ParameterError(
                f"{found:,} pairs of classes and of combinations of {whose} values are more than the "
                f"{_MOST_PAIRS:,} that a script looks through; use verify"
            )

    def texts(self, number: int, rows: str) -> list[str | None]:
        """List the values of a column in some rows, as texts."""
        values = self.script.execute(f"SELECT DISTINCT CAST(q{number} AS VARCHAR) FROM {rows} ORDER BY ALL")
        return [text for (text,) in values.fetchall()]

    def tell(self, number: int, covers: Covers, values: Sequence[str | None]) -> float:
        """List which values each cell of a column covers, and return the share of all pairs."""
        cells = self.texts(number, self.classes)
        pairs = [
            (cell, value) for cell in cells if cell != SUPPRESSED for value in values if covers(cell, value)
        ]
        name = f"{self.cell_values}_{number}"
        self.script.fill(name, "cell VARCHAR, value VARCHAR", pairs)
        self.script.execute(
            f"INSERT INTO {name} SELECT DISTINCT '{SUPPRESSED}', q{number} FROM {self.people}"
        )
        covered = len(pairs) + (len(values) if SUPPRESSED in cells else 0)
        return covered / max(1, len(cells) * len(values))

    def meet(self, shares: dict[int, float]) -> None:
        """Make the table of covered people, column by column, first the column with the smallest share."""
        pairs = f"{self.classes} AS c CROSS JOIN {self.people} AS e"
        made = f"CREATE OR REPLACE TABLE {self.near} AS SELECT c.class, e.person FROM"
        if not shares:
            self.script.execute(f"{made} {pairs} WHERE {self.among}")
        for number in sorted(shares, key=lambda each: shares[each]):
            self.script.execute(
                f"{made} {pairs} JOIN {self.cell_values}_{number} AS told "
                f"ON told.cell IS NOT DISTINCT FROM CAST(c.q{number} AS VARCHAR) "
                f"AND told.value IS NOT DISTINCT FROM e.q{number} WHERE {self.among}"
            )
            pairs = (
                f"{self.near} JOIN {self.classes} AS c USING (class) JOIN {self.people} AS e USING (person)"
            )


_MILLION = 1_000_000


def find_weights(con: Checks, tables: Tables, policy: Policy, persons: Persons | None) -> str | None:
    """Add up the weights of each class, and return why that cannot be done, in words, or nothing.

    Returns
    -------
    None where the policy names no weights.
    """
    weights = policy.named("weight")
    if not weights:
        return None
    column, (released, raw) = weights[0], (tables.released, tables.raw)
    if raw is None:
        return raw_wanted("the release has no sampling weights")
    if column.name not in raw.names:
        return f"the raw table {raw.title} has no column {column.name!r}"
    if persons is not None and (persons.several or persons.unknown):
        return "people may have several rows, whose weights do not add up"
    if count_rows(con, released) != count_rows(con, raw):
        return "the release and the raw table have not the same records"
    if not tables.same_order(policy):
        return raw_wanted("it is not known which raw record each record is")
    place, declared, nulls = f"c{raw.place(column.name)}", raw.type_of(column.name), policy.null_values
    try:
        write_plainly(con, raw.name, place, declared, column, nulls, in_script=False)
    except SchemaError as error:
        return f"{error}"
    weight = cell(raw, column.name, nulls, "w")
    number = f"TRY_CAST(CAST({weight} AS VARCHAR) AS DOUBLE)"
    fits = f"coalesce(isfinite({number}) AND {number} > 0 AND {number} <= 1e12, false)"
    (others,) = con.row(f"SELECT count(*) FROM {raw.name} AS w WHERE NOT {fits}")
    if others:
        return f"{others:,} rows of the raw table have no number above 0 in column {column.name!r}"
    _add_up(con, released, raw, [each.name for each in policy.named("quasi")], nulls, number)
    return ""


def _stood_for(quasi: int, wildcards: str) -> str:
    """Write the query of the fewest people whom a class stands for, in millionths.

    Where cells match any, the tables that `matching` makes have to be there.
    """
    own = "main.classes JOIN standing USING (class)"
    match wildcards:
        case "matches-any":
            return (
                "SELECT min(sums) FROM (SELECT sum(millionths) AS sums FROM pair JOIN part "
                "ON pair.other = part.class JOIN standing ON part.home = standing.class GROUP BY pair.class)"
            )
        case "conservative":
            # A record that counts alone stands for one person at most.
            smallest = (
                f"CASE WHEN {alone(range(quasi))} THEN least(millionths, {_MILLION}) ELSE millionths END"
            )
            return f"SELECT min({smallest}) FROM {own}"
    return f"SELECT min(millionths) FROM {own}"


def _add_up(
    con: Checks, released: Table, raw: Table, quasi: Sequence[str], null_values: Nulls, number: str
) -> None:
    """Make the table `standing`; sums of millionths are exact."""
    keys = ", ".join(
        f"{cell(released, name, null_values, 'r')} AS q{place}" for place, name in enumerate(quasi)
    )
    same = " AND ".join(f"e.q{place} IS NOT DISTINCT FROM classes.q{place}" for place in range(len(quasi)))
    con.execute(
        "CREATE TABLE standing AS SELECT class, sum(weight)::HUGEINT AS millionths FROM "
        f"(SELECT {keys}, greatest(round({number} * {_MILLION}), 1)::HUGEINT AS weight "
        f"FROM {released.name} AS r JOIN {raw.name} AS w ON r.rowid = w.rowid) AS e "
        f"LEFT JOIN classes ON {same} GROUP BY class"
    )
