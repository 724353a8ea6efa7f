"""The points of a release: the rules of the verdict, asked of the written file in SQL.

`incrowd_gate.rules` says what a point is. What the rules ask is counted here, anew. The file shows
most of it. Which columns tell a generalized one, and which cells cover every value that occurs, only the raw
table shows.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from functools import partial
from pathlib import Path

from incrowd_gate import rules
from incrowd_gate.lazy import NDArray, np, pl
from incrowd_gate.points import Point
from incrowd_gate.rules.columns import Column as Released
from incrowd_gate.rules.columns import Losses, People, Values
from incrowd_verify.cells import CellReader
from incrowd_verify.checks import Checks
from incrowd_verify.classes import count_rows
from incrowd_verify.demands import class_size
from incrowd_verify.persons import raw_wanted
from incrowd_verify.policy import SUPPRESSED, Column, Policy
from incrowd_verify.recipes import exact_number
from incrowd_verify.source import INTEGERS, Table, literal
from incrowd_verify.spellings import missing_in
from incrowd_verify.tables import GROUP, Tables
from incrowd_verify.tree_files import tree_in
from incrowd_verify.values import PLAIN, as_text, cell, written

FULL_DOMAIN = ("bottom-up", "datafly", "flash", "incognito", "ola", "optimal", "samarati")
"""The algorithms that recode a column to one level."""
_ROWS = 20_000
"""Rows, spread evenly, of which columns are compared with each other."""
_READABLE = ("VARCHAR", "BOOLEAN", "ENUM", "DECIMAL", "FLOAT", "DOUBLE", "DATE", "TIMESTAMP", "NULL", '"NULL')
"""Types of values that are read beside whole numbers, or how they begin."""


def points_of_release(policy: Policy, rows: ReleasedRows) -> tuple[Point, ...]:
    """Return the points of a release in the order of kinds, with the answers of the policy."""
    return rules.points_of(rows, policy.accepted)


class _Rows:
    """The columns of a loaded table (see `incrowd_gate.rules.columns.Table`)."""

    def __init__(self, con: Checks, policy: Policy, table: Table, names: Sequence[str]) -> None:
        self.con, self.policy, self.table = con, policy, table
        declared = {column.name: column for column in policy.columns}
        self.columns = tuple(_column(name, declared.get(name), policy, table) for name in names)
        self.records = count_rows(con, table)
        self._values: dict[str, Values] = {}
        self._labels: dict[str, Values] = {}

    def values(self, name: str) -> Values:
        """Return the distinct values of a column."""
        if name not in self._values:
            part = self.con.narrow(self.table, name)
            rows = self.con.frame(
                f"SELECT {_typed(part, name)} AS v, count(*) AS n FROM {part.name} GROUP BY 1"
            )
            values = rows["v"] if _is_readable(part.type_of(name)) else rows["v"].cast(pl.Binary)
            self._values[name] = Values(values, rows["n"].to_numpy())
        return self._values[name]

    def combinations(self, names: Sequence[str]) -> tuple[pl.DataFrame, NDArray[np.int64]]:
        """Return the combinations of values of some columns, and how many records have each."""
        columns = ", ".join(f"{_typed(self.table, name)} AS v{n}" for n, name in enumerate(names))
        rows = self.con.frame(f"SELECT {columns}, count(*) AS n FROM {self.table.name} GROUP BY ALL")
        return rows.drop("n"), rows["n"].to_numpy()

    def lone_rows(self, names: Sequence[str]) -> int:
        """Count the records that are unique in some columns."""
        cells = ", ".join(_typed(self.table, name) for name in names)
        groups = f"SELECT count(*) AS n FROM {self.table.name} GROUP BY {cells}"
        return int(self.con.row(f"SELECT count(*) FILTER (n = 1) FROM ({groups})")[0])

    def sample(self, names: Sequence[str]) -> pl.DataFrame:
        """Return some columns of even rows."""
        rows = self.sample_of([_typed(self.table, name, "t") for name in names])
        rows.columns = list(names)
        return rows

    def sample_of(self, texts: Sequence[str]) -> pl.DataFrame:
        """Return some columns of even rows by their SQL over ``t``."""
        columns = ", ".join(f"{text} AS v{n}" for n, text in enumerate(texts))
        # Multiples of the golden ratio: even, and in no rhythm that rows may have.
        share = min(_ROWS / max(self.records, 1), 1.0)
        chosen = f"t.rowid * 2654435761 % 4294967296 < {int(share * 2**32)}"
        return self.con.frame(f"SELECT {columns} FROM {self.table.name} AS t WHERE {chosen} ORDER BY t.rowid")


def _column(name: str, declared: Column | None, policy: Policy, table: Table) -> Released:
    missing = partial(missing_in, null_values=policy.null_values.of(name))
    if declared is None:
        return Released(name, missing=missing)
    # Of a number that is stored as one, nothing is spelled.
    spelling = declared.spelling if table.kind_of(name) == "text" else None
    return Released(
        name,
        declared.role,
        "" if declared.treatment is None else declared.treatment.name,
        declared.parts is not None,
        missing,
        None if spelling is None else spelling.plain,
        declared in policy.person,
    )


def _is_readable(declared: str) -> bool:
    """Say whether a type of DuckDB has texts, numbers, dates or truth values."""
    return declared in INTEGERS or (declared.startswith(_READABLE) and "[" not in declared)


def _typed(table: Table, name: str, alias: str = "") -> str:
    """Write the SQL that fetches a column; a type that nobody reads comes as bytes."""
    declared, read = table.type_of(name), f"c{table.place(name)}"
    read = f"{alias}.{read}" if alias else read
    if table.kind_of(name) == "float":
        return f"({read} + 0)"  # -0.0 and 0.0 are one value
    if not _is_readable(declared):
        return f"encode(CAST({read} AS VARCHAR))"
    # Arrow has no such integers, and enumerations are categories there.
    return f"CAST({read} AS VARCHAR)" if declared.endswith("HUGEINT") or declared.startswith("ENUM") else read


class ReleasedRows(_Rows):
    """A release and the raw table, if given (see `incrowd_gate.rules.columns.Release`).

    The raw table is looked at in its own order, and only if it has the records that were released.
    """

    def __init__(self, con: Checks, policy: Policy, tables: Tables) -> None:
        released, raw = tables.released, tables.raw_in_order
        # The number of a group of an m-invariant release tells no more than its cells.
        names = [name for name in released.names if policy.m is None or name != GROUP]
        super().__init__(con, policy, released, names)
        lacks = raw is not None and any(column.name not in raw.names for column in policy.named("quasi"))
        if raw is None or lacks or self.records + tables.missing != count_rows(con, raw):
            raw = None
        self.tables = tables
        self.raw = None if raw is None else _Rows(con, policy, raw, raw.names)
        self.hidden = [column.name for column in policy.named("quasi")]
        self.is_local = policy.algorithm.get("name") not in FULL_DOMAIN

    def labels(self, name: str) -> Values:
        """Count the cells that records have, suppressed records aside."""
        if name in self._labels:
            return self._labels[name]
        policy, released = self.policy, self.table
        shown = written(self.con, released, name, policy.null_values)
        quasi = (as_text(released, each, policy.null_values) for each in self.hidden)
        kept = " OR ".join(f"{text} IS DISTINCT FROM '{SUPPRESSED}'" for text in quasi)
        rows = self.con.frame(
            f"SELECT {shown} AS v, count(*) AS n FROM {released.name} AS t WHERE {kept} GROUP BY 1"
        )
        self._labels[name] = Values(rows["v"].cast(pl.String), rows["n"].to_numpy(), are_labels=True)
        return self._labels[name]

    def texts(self, name: str) -> Values | None:
        """Return the texts of a column, or of a quasi-identifier's cells; None if the values are no texts."""
        values = self.labels(name) if name in self.hidden else self.values(name)
        return values.texts if values.is_readable else None

    def trees(self) -> Iterator[tuple[str, Sequence[str | None], Sequence[int]]]:
        """Return the hierarchies of files."""
        for column in self.policy.named("quasi"):
            if isinstance(column.hierarchy, Path):
                tree = tree_in(column.hierarchy)
                yield column.name, tree.labels, tree.parents

    def unprotected(self) -> Iterator[tuple[str, float]]:
        """Count the records in classes that share a sensitive value that no model protects."""
        con, policy, released = self.con, self.policy, self.table
        demands = policy.all_demands
        if not demands:
            # The limits are checked on another table, which this one is a part of.
            return
        looked_at = {demand.attribute for demand in demands}
        if any(demand.attribute is None and demand.model == "p29" for demand in demands):
            return
        quasi = [as_text(released, column.name, policy.null_values) for column in policy.named("quasi")]
        kept = " OR ".join(f"{shown} IS DISTINCT FROM '{SUPPRESSED}'" for shown in quasi)
        for column in policy.named("sensitive"):
            if column.name in looked_at:
                continue
            if column.parts is not None:
                yield column.name, _sharing(con, policy, released, column, quasi, kept)
                continue
            shown = written(con, released, column.name, policy.null_values)
            value = f"coalesce('v' || {_number_plainly(con, policy, released, column)(shown)}, 'm')"
            classes = (
                f"SELECT count(*) AS n, count(DISTINCT {value}) AS kinds FROM {released.name} AS t "
                f"WHERE {kept} GROUP BY {', '.join(quasi)}"
            )
            all_records, alike = con.row(
                f"SELECT sum(n), coalesce(sum(n) FILTER (kinds = 1), 0) FROM ({classes})"
            )
            yield column.name, float(alike) / float(all_records or 1)

    def has_level(self, name: str) -> bool:
        """Say whether the lowest level of a quasi-identifier is above 0."""
        column = next(each for each in self.policy.named("quasi") if each.name == name)
        return bool((column.levels or (0,))[0])

    def losses(self) -> Losses:
        """Count the cells that stand for every value, and the suppressed records."""
        con, policy, released, raw = self.con, self.policy, self.table, self.raw
        missing = self.tables.missing
        quasi = policy.named("quasi")
        shown = [written(con, released, column.name, policy.null_values) for column in quasi]
        blank: list[list[str | None] | None] = [[SUPPRESSED] for _ in quasi]
        if raw is not None:
            types = [raw.table.kind_of(column.name) for column in quasi]
            both = (_cells_of(con, table, policy) for table in (released, raw.table))
            blank = list(map(_for_all, quasi, *both, types))
        starred = [f"{text} IS NOT DISTINCT FROM '{SUPPRESSED}'" for text in shown]
        gone = " AND ".join(starred)
        counted = ", ".join(
            f"count(*) FILTER ({_among(text, cells or ())} AND NOT ({gone}))"
            for text, cells in zip(shown, blank, strict=True)
        )
        several = [star for cells, star in zip(blank, starred, strict=True) if cells is not None]
        nothing = f"bool_and({' AND '.join(several) or 'false'})"
        records, suppressed, tells_nothing, *of_column = con.row(
            f"SELECT count(*), count(*) FILTER ({gone}), {nothing}, {counted} FROM {released.name} AS t"
        )
        kept = max(records - suppressed, 1)
        shares = {column.name: number / kept for column, number in zip(quasi, of_column, strict=True)}
        few, least = (0, 2) if raw is None else few_matches(con, policy, released, raw.table)
        # What is not in the release was suppressed.
        return Losses(
            shares,
            (suppressed + missing) / max(records + missing, 1),
            bool(suppressed == records or tells_nothing),
            few=few,
            few_share=0.0 if raw is None else few / max(raw.records, 1),
            least=least,
        )

    def people(self, name: str) -> People | None:
        """Count the people of each class; a record without a value is of somebody else."""
        con, policy, released, tables = self.con, self.policy, self.table, self.tables
        leaves = any(
            column.name == name and not column.treatment and column.role != "quasi" for column in self.columns
        )
        table = released if leaves else tables.raw
        if table is None or not (leaves or tables.same_order(policy)):
            con.remarks.unchecked.append(
                f"how many people the classes have by {name}: "
                + raw_wanted("it is not known which raw record each record is")
            )
            return None
        quasi = [cell(released, column.name, policy.null_values, "r") for column in policy.named("quasi")]
        kept = " OR ".join(f"CAST({each} AS VARCHAR) IS DISTINCT FROM '{SUPPRESSED}'" for each in quasi)
        person = f"CAST({cell(table, name, policy.null_values, 'w')} AS VARCHAR)"
        person = f"coalesce('v' || {person}, 'm' || r.rowid)"
        sizes = (
            f"SELECT count(*) AS records, count(DISTINCT {person}) AS people FROM {released.name} AS r "
            f"JOIN {table.name} AS w ON r.rowid = w.rowid WHERE {kept} GROUP BY {', '.join(quasi)}"
        )
        least, classes, smallest = con.row(f"SELECT min(people), count(*), min(records) FROM ({sizes})")
        if not classes:
            return None
        # Without a limit on the class size, a class has as many people as the smallest has records.
        k = asked if (asked := class_size(policy.demands)) > 1 else int(smallest)
        (small,) = con.row(f"SELECT count(*) FROM ({sizes}) WHERE people < {k}")
        return People(k, int(small), int(classes), int(least))


def _sharing(
    con: Checks, policy: Policy, released: Table, column: Column, quasi: Sequence[str], kept: str
) -> float:
    """Return the share of records in classes of which all records share a part of a list."""
    cell = as_text(released, column.name, policy.null_values)
    classes = con.execute(
        f"SELECT list({cell}), count(*) FROM {released.name} WHERE {kept} GROUP BY {', '.join(quasi)}"
    ).fetchall()
    sharing = sum(
        size for cells, size in classes if frozenset.intersection(*map(column.parts_of, set(cells)))
    )
    return float(sharing) / float(sum(size for _, size in classes) or 1)


def _cells_of(con: Checks, table: Table, policy: Policy) -> Iterator[list[str | None]]:
    """Return the different texts of each quasi-identifier in records that are not suppressed, in no order."""
    texts = [written(con, table, column.name, policy.null_values) for column in policy.named("quasi")]
    seen = " OR ".join(f"{text} IS DISTINCT FROM '{SUPPRESSED}'" for text in texts)
    for text in texts:
        rows = f"SELECT DISTINCT {text} AS v FROM {table.name} AS t WHERE {seen} ORDER BY hash(v)"
        yield [value for (value,) in con.execute(rows).fetchall()]


def _among(text: str, cells: Sequence[str | None]) -> str:
    """Write the SQL of whether a text is among some cells, of which any may be missing."""
    known = [literal(cell) for cell in cells if cell is not None]
    among = f"coalesce({text} IN ({', '.join(known)}), false)" if known else "false"
    return f"({among} OR {text} IS NULL)" if None in cells else among


def _for_all(
    column: Column, cells: list[str | None], values: list[str | None], stored: str
) -> list[str | None] | None:
    """Return the cells that stand for every value that occurs, or None for a column of a single value."""
    if column.treatment is not None:
        # Its treated values were generalized, and those are not known.
        return [SUPPRESSED]
    is_number = column.hierarchy is None and column.kind in ("auto", "number")
    numbers = {exact_number(value or "") for value in values} if is_number else set()
    if len(values) < 2 or (len(numbers) == 1 and None not in numbers):
        # 5 and 5.0 are one number.
        return None
    if column.style == "mean" and len(cells) == 1:
        # A mean says which values it is of by its class alone, and here that is all records.
        return cells
    covers = CellReader(column, values, stored=stored).covers
    return [text for text in cells if text is not None and all(covers(text, value) for value in values)]


def few_matches(con: Checks, policy: Policy, released: Table, raw: Table) -> tuple[int, int]:
    """Count the raw records that fit some released records, but fewer than k; return also k.

    A released record fits values if each of its cells is the value, ``*`` or missing. Records that are ``*``
    throughout fit nobody.
    """
    quasi = policy.named("quasi")
    # Without a limit on the class size, no record may be alone.
    least = max(2, class_size(policy.demands))
    if policy.wildcards != "matches-any":
        return 0, least
    values = [_number_plainly(con, policy, raw, column) for column in quasi]
    names = [f"v{number}" for number in range(len(quasi))]
    for made, table in (("shown", released), ("whom", raw)):
        texts = ", ".join(
            f"{plain(written(con, table, column.name, policy.null_values))} AS {name}"
            for plain, column, name in zip(values, quasi, names, strict=True)
        )
        told = " OR ".join(f"{name} IS DISTINCT FROM '{SUPPRESSED}'" for name in names)
        con.execute(
            f"CREATE OR REPLACE TEMP TABLE {made} AS "
            f"SELECT row_number() OVER () AS id, *, {_hidden(names)} AS hidden "
            f"FROM (SELECT {texts}, count(*) AS n FROM {table.name} AS t GROUP BY ALL) WHERE {told}"
        )
    # Of a range or a set nobody says whom it fits.
    others = (
        f"count(*) FILTER ({name} <> '{SUPPRESSED}' AND {name} NOT IN "
        f"(SELECT {name} FROM whom WHERE {name} IS NOT NULL))"
        for name in names
    )
    if any(con.row(f"SELECT {', '.join(others)} FROM shown")):
        return 0, least
    con.execute("CREATE OR REPLACE TEMP TABLE fit (id BIGINT, n BIGINT)")
    # Records that show the same columns are joined by these.
    for (hidden,) in con.execute("SELECT DISTINCT hidden FROM shown").fetchall():
        same = [f"shown.hidden = {int(hidden)}"]
        same += [f"whom.{name} = shown.{name}" for place, name in enumerate(names) if not hidden >> place & 1]
        con.execute(
            "INSERT INTO fit SELECT whom.id, sum(shown.n) "
            f"FROM whom JOIN shown ON {' AND '.join(same)} GROUP BY whom.id"
        )
    (few,) = con.row(
        "SELECT coalesce(sum(n) FILTER (fits < ?), 0) FROM whom "
        "JOIN (SELECT id, sum(n) AS fits FROM fit GROUP BY id) USING (id)",
        [least],
    )
    return int(few), least


def _hidden(names: list[str]) -> str:
    """Write the set of the columns that a record does not show, as a whole number."""
    cells = (
        f"CASE WHEN {name} IS NULL OR {name} = '{SUPPRESSED}' THEN {1 << place} ELSE 0 END"
        for place, name in enumerate(names)
    )
    return f"({' + '.join(cells)})"


def _number_plainly(con: Checks, policy: Policy, table: Table, column: Column) -> Callable[[str], str]:
    """Return a function that writes the SQL of a value, where the numbers 5 and 5.0 are the same text.

    So are two spellings of one date or number, where the policy says how they are spelled.
    """
    text = written(con, table, column.name, policy.null_values)
    if column.spelling is not None and table.kind_of(column.name) == "text":
        texts = con.execute(f"SELECT DISTINCT {text} FROM {table.name} AS t WHERE {text} IS NOT NULL")
        plain = [(each, column.spelling.plain(each)) for (each,) in texts.fetchall()]
        spelled = f"spelled_{table.name}_{column.name.encode().hex()}"
        con.execute(f"DROP TABLE IF EXISTS {spelled}")
        con.fill(spelled, "raw VARCHAR, plain VARCHAR", [pair for pair in plain if pair[1] is not None])
        return lambda text: f"coalesce((SELECT plain FROM {spelled} WHERE raw = {text}), {text})"
    is_number = column.hierarchy is None and column.kind in ("auto", "number")
    if is_number and table.kind_of(column.name) == "text":
        (others,) = con.row(
            f"SELECT count(*) FROM {table.name} AS t WHERE {text} <> '{SUPPRESSED}' "
            f"AND NOT regexp_full_match({text}, '{PLAIN}')"
        )
        is_number = not others
    if not is_number:
        return lambda text: text
    trimmed = "regexp_replace(regexp_replace({0}, '([.][0-9]*?)0+$', '\\1'), '[.]$', '')"
    return lambda text: f"CASE {trimmed.format(text)} WHEN '-0' THEN '0' ELSE {trimmed.format(text)} END"
