"""Linked tables, checked a second time: released files are joined in SQL, and views compared as texts.

The view of a person is written as a text: the cells of the row, then in parentheses the texts of the rows
below, in order. Two people share a view where the texts are equal. For an attacker who knows few rows of a
table, there is a view for each set of as many rows. Each has the rows above them, and no others.
"""

from __future__ import annotations

import gzip
import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from incrowd_gate import wording
from incrowd_gate.errors import PolicyError, SchemaError, TableError, named, quoted
from incrowd_gate.lazy import duckdb
from incrowd_gate.points import Accepted, Point, answered, in_order
from incrowd_gate.scratch import PrivateFolder
from incrowd_gate.verdict import Verdict
from incrowd_verify.policy import read_toml
from incrowd_verify.source import CsvFormat, Table, connect, reworded
from incrowd_verify.tables import Wanted, load
from incrowd_verify.values import as_text

WHO = "whoever joins the tables"
_OF_KEYS = ("unique-column", "unique-together", "repeated-id")
_OF_ROWS = ("suppressed-records", "much-suppressed", "nothing-left")
"""Points of joining columns and of rows of ``*`` alone, which the views answer."""
_VIEWS = 50_000_000
"""Views that are looked at."""
_LINKED = {"name", "file", "join", "known"}


@dataclass(frozen=True)
class LinkedVerification:
    """The check of linked tables.

    - `verdict`: whether every limit holds of each table and of all together.
    - `people`, `records`: people, and rows by table.
    - `smallest`: fewest people who share what can be known of somebody.
    - `unchecked`: what could not be checked with what was given, in words.
    """

    verdict: Verdict
    people: int
    records: Mapping[str, int]
    smallest: int
    unchecked: tuple[str, ...] = ()

    @property
    def ok(self) -> bool:
        """Whether the verdict holds."""
        return self.verdict.holds

    def to_dict(self) -> dict[str, Any]:
        """Return plain data for JSON."""
        return {
            "format": "incrowd verification of linked tables",
            "version": 1,
            "verdict": self.verdict.to_dict(),
            "people": self.people,
            "records": dict(self.records),
            "smallest": self.smallest,
            "unchecked": list(self.unchecked),
        }

    def lines(self) -> Iterator[str]:
        """Yield sentences on the counts, and on each question that was not checked."""
        rows = ", ".join(f"{name} {count:,}" for name, count in self.records.items())
        yield f"{self.people:,} people in linked tables ({rows}); at least {self.smallest:,} share a view"
        yield from (f"not checked: {each}" for each in self.unchecked)


@dataclass
class _Linked:
    """A table of the policy: its place in SQL, the columns, and how many rows are known."""

    name: str
    place: int
    file: str
    join: dict[str, tuple[str, str]]
    known: int | None
    quasi: list[str] = field(default_factory=list)
    sensitive: list[str] = field(default_factory=list)
    records: int = 0

    @property
    def above(self) -> str | None:
        """The table that the rows belong to."""
        return next((table for table, _ in self.join.values()), None)


def is_linked(path: str | Path, policy: Path | None = None) -> bool:
    """Say whether a path is a folder of linked tables, by the policy or the ``policy.toml`` in it."""
    policy = policy or Path(path) / "policy.toml"
    if "://" in str(path) or not Path(path).is_dir() or not policy.is_file():
        return False
    try:
        return isinstance(read_toml(policy).get("linked"), list)
    except PolicyError:
        return False


def verify_linked(
    path: str | Path, policy: str | Path | None = None, *, against: str | Path | None = None
) -> LinkedVerification:
    """Check released linked tables, each alone and all together.

    - `path`: the folder that they were saved in. The policy of each table alone is read from ``policies``.
    - `policy`: the policy of all tables; by default the ``policy.toml`` of the folder.
    - `against`: the folder of the raw tables. People who left are counted with it, and no cell is compared.
    - Raises `PolicyError`: the policy cannot be read, or names no linked tables.
    - Raises `TableError`, `SchemaError`: a file cannot be read, or lacks a column.
    """
    folder = Path(path)
    file = folder / "policy.toml" if policy is None else Path(policy)
    data = read_toml(file)
    tables = _tables(data, file)
    points: list[Point] = []
    unchecked: list[str] = []
    accepted = [
        Accepted(str(each.get("point")), each.get("column"), str(each.get("why", "")))
        for each in data.get("accepted", [])
    ]
    for table in tables.values():
        points += _alone(folder, table, tables, data, unchecked)
    files = [folder / table.file for table in tables.values()]
    raw = None if against is None else Path(against) / next(iter(tables.values())).file
    patients = None if raw is None or raw.is_file() else _patients(raw.parent)
    with (
        PrivateFolder() as scratch,
        reworded(folder),
        connect(scratch, [*files, *([raw] if raw and not patients else [])]) as con,
    ):
        for table in tables.values():
            points += _loaded(con, folder / table.file, table, tables, scratch)
        people = _views(con, tables)
        smallest, limits = _judged(con, tables, data, unchecked)
        points += limits
        if raw is None:
            unchecked.append("how many people left all tables: that needs the raw tables, to compare with")
        else:
            if not (rows := patients or 0):
                load(con, Wanted("raw", str(raw), None, [], CsvFormat()), scratch)
                rows = _number(con, "SELECT count(*) FROM raw")
            most = float(data.get("max_suppression", 0.0))
            if (share := 1 - people / max(rows, 1)) > most + 1e-12:
                points.append(wording.limit("suppression", None, None, "max_suppression", share, most))
    verdict = Verdict(tuple(in_order(answered(points, accepted))))
    records = {name: table.records for name, table in tables.items()}
    return LinkedVerification(verdict, people, records, smallest, tuple(dict.fromkeys(unchecked)))


def _patients(folder: Path) -> int:
    """Count the patients of FHIR in a folder: resources, one a line or a file, and those in bundles."""
    ids = set()
    for path in folder.iterdir() if folder.is_dir() else ():
        name = path.name.lower().removesuffix(".gz")
        if not name.endswith((".ndjson", ".jsonl", ".json")):
            continue
        content = gzip.decompress(path.read_bytes()) if path.suffix == ".gz" else path.read_bytes()
        try:
            found = (
                [json.loads(content)]
                if name.endswith(".json")
                else list(map(json.loads, content.splitlines()))
            )
            for each in found:
                found += [entry["resource"] for entry in each.get("entry", [])]
                if each["resourceType"] == "Patient":
                    ids.add(each.get("id"))
        except (ValueError, KeyError, TypeError, AttributeError):
            raise TableError(f"{path}: this is no file of FHIR that can be read") from None
    return len(ids)


def _tables(data: Mapping[str, Any], file: Path) -> dict[str, _Linked]:
    """Read the tables, each behind the table that it joins."""
    given = data.get("linked")
    if (
        not isinstance(given, list)
        or not given
        or any(
            not isinstance(each, dict) or {*each} - _LINKED or not isinstance(each.get("name"), str)
            for each in given
        )
    ):
        raise PolicyError(f"{file}: [[linked]] names tables by {', '.join(sorted(_LINKED))}")
    tables = []
    for each in given:
        join = {}
        for column, target in each.get("join", {}).items():
            above, _, key = str(target).partition(".")
            join[str(column)] = (above, key)
        known = each.get("known", "all")
        if known != "all" and (type(known) is not int or known < 1):
            raise PolicyError(f'{file}: known of {quoted(each["name"])} must be a whole number or "all"')
        path = Path(str(each.get("file", f"{each['name']}.csv")))
        if path.is_absolute() or ".." in path.parts:
            raise PolicyError(f"{file}: the file of {quoted(each['name'])} is not in the folder")
        tables.append(_Linked(each["name"], 0, str(path), join, None if known == "all" else known))
    order = [table for table in tables if table.above is None]
    for table in order:
        order += [other for other in tables if other.above == table.name]
    names = {table.name for table in tables}
    if len(names) < len(tables) or len(order) < len(tables) or sum(not each.join for each in tables) != 1:
        raise PolicyError(f"{file}: the tables of [[linked]] are no tree below one table of people")
    for place, table in enumerate(order):
        table.place = place
    result = {table.name: table for table in order}
    for column_path, column in data.get("columns", {}).items():
        name, _, own = column_path.partition(".")
        if name not in result:
            raise PolicyError(f"{file}: column {quoted(column_path)} is in no table of [[linked]]")
        if column.get("role") in ("quasi", "sensitive"):
            getattr(result[name], column["role"]).append(own)
    return result


def _alone(
    folder: Path,
    table: _Linked,
    tables: Mapping[str, _Linked],
    data: Mapping[str, Any],
    unchecked: list[str],
) -> Iterator[Point]:
    """Yield the points of a table alone, without those that the views answer."""
    from incrowd_verify.verification import verify

    policy = folder / "policies" / table.name / "policy.toml"
    if not policy.is_file():
        unchecked.append(f"table {table.name} alone: there is no policies/{table.name}/policy.toml")
        yield wording.unanswered("conformity", None, f"table {table.name} has no policy of its own")
        return
    columns = read_toml(policy).get("columns", {})
    for role, asked in (("quasi", table.quasi), ("sensitive", table.sensitive)):
        if {name for name, column in columns.items() if column.get("role") == role} != {*asked}:
            yield wording.conformity(f"the policy of table {table.name} alone has other {role} columns")
    result = verify(folder / table.file, policy)
    unchecked += (f"{table.name}: {each}" for each in result.unchecked)
    keys = {*table.join, *_keys(table, tables)}
    models = (model for model in data.get("models", []) if model.get("model") != "k-anonymity")
    protected = {model.get("attribute") for model in models}
    for point in result.verdict.points:
        about = tuple(f"{table.name}.{column}" for column in point.columns)
        answered_by_views = (
            point.name in _OF_ROWS
            or (point.name in _OF_KEYS and keys & {*point.columns})
            or (point.name == "unprotected-sensitive" and protected & {None, *about})
        )
        if not answered_by_views:
            yield replace(point, columns=about, text=f"{table.name}: {point.text}", why=None)


def _keys(table: _Linked, tables: Mapping[str, _Linked]) -> list[str]:
    """Return the columns of a table by which others join it."""
    return sorted({key for each in tables.values() for name, key in each.join.values() if name == table.name})


def _loaded(
    con: duckdb.DuckDBPyConnection,
    file: Path,
    table: _Linked,
    tables: Mapping[str, _Linked],
    scratch: Path,
) -> Iterator[Point]:
    """Load a table as ``rN`` (id, row above, person, cells), and yield points of rows that do not join."""
    keys = _keys(table, tables)
    wanted = [*dict.fromkeys((*table.join, *keys, *table.quasi, *table.sensitive))]
    here = table.place
    loaded = load(con, Wanted(f"f{here}", str(file), None, wanted, CsvFormat(header_row=1)), scratch)
    if lacking := [column for column in wanted if not loaded.has(column)]:
        raise SchemaError(f"{file}: the table has no column {named(lacking)}")
    cells = " || ".join(_text(loaded, column) for column in table.quasi) or "''"
    if table.above is None:
        upper, on = "(SELECT rowid AS id, rowid AS person FROM f0)", "a.rowid = b.id"
    else:
        other = tables[table.above]
        places = {key: n for n, key in enumerate(_keys(other, tables))}
        upper = f"(SELECT k.*, r.id, r.person FROM k{other.place} k JOIN r{other.place} r ON k.own = r.id)"
        on = " AND ".join(
            f"CAST(a.c{loaded.place(column)} AS VARCHAR) = b.u{places[key]}"
            for column, (_, key) in table.join.items()
        )
    con.execute(
        f"CREATE TABLE r{here} AS SELECT a.rowid AS id, b.id AS up, b.person AS person, {cells} AS cells "
        f"FROM f{here} a LEFT JOIN {upper} b ON {on}"
    )
    nobody = _number(con, f"SELECT count(*) FROM r{here} WHERE person IS NULL")
    con.execute(f"DELETE FROM r{here} WHERE person IS NULL")
    table.records = _number(con, f"SELECT count(*) FROM r{here}")
    if nobody:
        yield wording.conformity(f"{nobody:,} rows of table {table.name} belong to nobody")
    if keys:
        columns = ", ".join(f"CAST(c{loaded.place(key)} AS VARCHAR) AS u{n}" for n, key in enumerate(keys))
        con.execute(f"CREATE TABLE k{here} AS SELECT rowid AS own, {columns} FROM f{here}")
        groups = ", ".join(f"u{n}" for n in range(len(keys)))
        twice = _number(
            con, f"SELECT count(*) FROM (SELECT {groups} FROM k{here} GROUP BY ALL HAVING count(*) > 1)"
        )
        if twice:
            yield wording.conformity(f"{twice:,} keys of table {table.name} stand in several rows")
    for n, column in enumerate(table.sensitive):
        con.execute(
            f"CREATE TABLE s{here}_{n} AS SELECT rowid AS id, {_text(loaded, column)} AS value FROM f{here}"
        )


def _text(table: Table, column: str) -> str:
    """Write the SQL of a cell with its length, so that cells side by side read in one way only."""
    text = as_text(table, column)
    return f"coalesce(length({text}) || ':' || {text}, '-') || ';'"


def _number(con: duckdb.DuckDBPyConnection, statement: str) -> int:
    (number,) = con.execute(statement).fetchone() or (0,)
    return int(number or 0)


def _views(con: duckdb.DuckDBPyConnection, tables: Mapping[str, _Linked]) -> int:
    """Write the view of each person, or of each set of known rows, as a text; return the number of people."""
    con.execute("CREATE TABLE v0 AS SELECT person FROM r0")
    step = 0
    for table in tables.values():
        if table.above is not None and table.known is not None:
            _known_sets(con, table.place, table.known)
            con.execute(
                f"CREATE TABLE v{step + 1} AS SELECT v.*, s.ids AS ids{table.place} FROM v{step} v "
                f"LEFT JOIN sets{table.place} s USING (person)"
            )
            step += 1
            _refuse_many(con, f"v{step}", table.name)
    con.execute(f"CREATE TABLE v AS SELECT *, row_number() OVER () AS view FROM v{step}")
    for table in reversed([*tables.values()]):
        here = table.place
        if table.above is None:
            known = "SELECT view, person AS id FROM v"
        elif table.known is None:
            known = f"SELECT v.view, r.id FROM v JOIN r{here} r USING (person)"
        else:
            known = f"SELECT view, unnest(ids{here}) AS id FROM v WHERE ids{here} IS NOT NULL"
        con.execute(f"CREATE TABLE known{here} AS {known}")
        below = [each.place for each in tables.values() if each.above == table.name]
        nodes = " UNION ".join(
            [
                f"SELECT * FROM known{here}",
                *(f"SELECT n.view, r.up AS id FROM form{n} n JOIN r{n} r USING (id)" for n in below),
            ]
        )
        texts = " UNION ALL ".join(
            [
                "SELECT NULL::BIGINT AS view, NULL::BIGINT AS id, NULL::VARCHAR AS below WHERE false",
                *(
                    f"SELECT f.view, r.up AS id, '{n}:' || f.form AS below "
                    f"FROM form{n} f JOIN r{n} r USING (id)"
                    for n in below
                ),
            ]
        )
        con.execute(
            f"CREATE TABLE form{here} AS SELECT n.view, n.id, any_value(r.cells) || '(' || "
            "coalesce(string_agg(b.below, ',' ORDER BY b.below), '') || ')' AS form "
            f"FROM ({nodes}) n JOIN r{here} r USING (id) LEFT JOIN ({texts}) b USING (view, id) "
            "GROUP BY n.view, n.id"
        )
    return _number(con, "SELECT count(*) FROM r0")


def _known_sets(con: duckdb.DuckDBPyConnection, place: int, known: int) -> None:
    """List the sets of as many rows of each person, or all rows of who has fewer."""
    con.execute(
        f"CREATE TABLE n{place} AS SELECT person, id, row_number() OVER (PARTITION BY person ORDER BY id) "
        f"AS n, count(*) OVER (PARTITION BY person) AS many FROM r{place}"
    )
    con.execute(f"CREATE TABLE sets{place} AS SELECT person, n AS last, many, [id] AS ids FROM n{place}")
    for size in range(2, known + 1):
        con.execute(
            f"CREATE OR REPLACE TABLE sets{place} AS SELECT s.person, b.n AS last, s.many, "
            f"list_append(s.ids, b.id) AS ids FROM sets{place} s JOIN n{place} b "
            f"ON s.person = b.person AND b.n > s.last UNION ALL "
            f"SELECT person, last, many, ids FROM sets{place} WHERE many < {size}"
        )
        _refuse_many(con, f"sets{place}", "")


def _refuse_many(con: duckdb.DuckDBPyConnection, table: str, name: str) -> None:
    if (views := _number(con, f"SELECT count(*) FROM {table}")) > _VIEWS:
        where = f" of table {quoted(name)}" if name else ""
        raise PolicyError(f"an attacker may know {views:,} sets of rows{where}, and {_VIEWS:,} are looked at")


def _judged(
    con: duckdb.DuckDBPyConnection,
    tables: Mapping[str, _Linked],
    data: Mapping[str, Any],
    unchecked: list[str],
) -> tuple[int, list[Point]]:
    """Return the fewest people who share a view, and the limits that fail or were not checked."""
    con.execute("CREATE TABLE w AS SELECT v.view, v.person, f.form FROM v JOIN form0 f USING (view)")
    smallest = _number(
        con, "SELECT min(people) FROM (SELECT count(DISTINCT person) AS people FROM w GROUP BY form)"
    )
    points: list[Point] = []
    few = any(table.known is not None for table in tables.values() if table.above is not None)
    for model in data.get("models", []):
        name, attribute = model.get("model"), model.get("attribute")
        if name == "k-anonymity":
            if smallest < model["k"]:
                points.append(wording.limit(name, None, WHO, "k", smallest, model["k"]))
            continue
        limit = "l" if name == "l-diversity" else "t" if name == "t-closeness" else "limit"
        asked = float(model.get(limit, 0))
        for table in tables.values():
            for n, column in enumerate(table.sensitive):
                path = f"{table.name}.{column}"
                if attribute not in (None, path):
                    continue
                mixed = few and table.above is not None and table.known is None
                if name != "l-diversity" or model.get("kind", "distinct") != "distinct" or mixed:
                    unchecked.append(f"{name} of {path} against {WHO}")
                    points.append(wording.not_checked(str(name), path, WHO, limit, asked))
                elif (reached := _diversity(con, table, tables, n)) < asked:
                    points.append(wording.limit(name, path, WHO, "l", reached, asked))
    return smallest, points


def _diversity(
    con: duckdb.DuckDBPyConnection, table: _Linked, tables: Mapping[str, _Linked], column: int
) -> int:
    """Return the fewest values that rows have which look alike beside the same view."""
    here = table.place
    joins, looks = f"JOIN s{here}_{column} s ON s.id = q.id", ["w.form"]
    row, at = "q.id", table
    while at.above is not None:
        n = at.place
        joins += (
            f" JOIN form{n} f{n} ON f{n}.view = q.view AND f{n}.id = {row} JOIN r{n} r{n} ON r{n}.id = {row}"
        )
        looks.append(f"f{n}.form")
        row, at = f"r{n}.up", tables[at.above]
    return _number(
        con,
        f"SELECT min(many) FROM (SELECT count(DISTINCT s.value) AS many FROM known{here} q "
        f"JOIN w ON w.view = q.view {joins} GROUP BY {', '.join(looks)})",
    )
