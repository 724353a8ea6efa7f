"""Linked tables, checked a second time: released tables are joined in SQL, and views compared as texts.

The view of a person is written as a text: the cells of the row, then in parentheses the texts of the rows
below, in order. Two people share a view where the texts are equal. For an attacker who knows few rows of a
table, there is a view for each set of as many rows. Each has the rows above them, and no others.
In a database, the table `DOCUMENTS` has the files that a folder has beside the tables.
"""

from __future__ import annotations

import gzip
import json
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from incrowd_gate import wording
from incrowd_gate.errors import ParameterError, PolicyError, SchemaError, TableError, named, quoted
from incrowd_gate.points import Accepted, Point, answered, in_order
from incrowd_gate.scratch import PrivateFolder
from incrowd_gate.verdict import Verdict
from incrowd_verify.attribute import Attribute
from incrowd_verify.checks import Checks, Script
from incrowd_verify.databases import is_address, quoted_name
from incrowd_verify.demands import read_demands
from incrowd_verify.models import Measuring
from incrowd_verify.policy import Policy, read_policy, read_toml
from incrowd_verify.source import CsvFormat, Table, connect, reworded
from incrowd_verify.tables import Sources, Wanted, load, write_plainly
from incrowd_verify.values import as_text, cell

WHO = "whoever joins the tables"
_OF_KEYS = ("unique-column", "unique-together", "repeated-id")
_OF_ROWS = ("suppressed-records", "much-suppressed", "nothing-left")
"""Points of joining columns and of rows of ``*`` alone, which the views answer."""
_VIEWS = 50_000_000
"""Views that are looked at."""
_LINKED = {"name", "file", "table", "join", "known"}
DOCUMENTS = "incrowd_release"
"""The table of policies and account: ``path`` and ``content``."""


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
    alone: Policy | None = None
    loaded: Table | None = None

    @property
    def above(self) -> str | None:
        """The table that the rows belong to."""
        return next((table for table, _ in self.join.values()), None)


@dataclass(frozen=True)
class _Place:
    """A folder of released tables, or of a copy of `DOCUMENTS` beside a database and a schema in it."""

    folder: Path
    address: str | None = None
    schema: str = ""

    def of(self, table: _Linked) -> tuple[str, str | None]:
        """Return the file of a table, or the address and the name in the database."""
        if self.address is None:
            return str(self.folder / table.file), None
        return self.address, self.schema + quoted_name(table.name)

    def reached(self, raw: str | None) -> tuple[list[Path], list[Path]]:
        """Return the files and folders that are read, with those of the raw table."""
        return Sources(self.address or str(self.folder), None, raw, None, None, None, CsvFormat()).reached()


@contextmanager
def _opened(path: str, table: str) -> Iterator[_Place]:
    """Find the tables, and fetch the documents of a database into a private folder."""
    if not is_address(path):
        yield _Place(Path(path))
        return
    with PrivateFolder() as scratch:
        place = _Place(scratch / "release", path, table.removesuffix(DOCUMENTS))
        place.folder.mkdir()
        with connect(scratch, *place.reached(None)) as con:
            loaded = load(con, Wanted("documents", path, table, ["path", "content"], CsvFormat()), scratch)
            if not (loaded.has("path") and loaded.has("content")):
                raise SchemaError(f"{loaded.title}: the table {table} has no columns path and content")
            columns = f"c{loaded.place('path')}, c{loaded.place('content')}"
            for name, content in con.execute(f"SELECT {columns} FROM documents").fetchall():
                if {"", ".", ".."} & {*str(name).replace(":", "/../").replace("\\", "/").split("/")}:
                    raise TableError(f"{loaded.title}: {table} has a file outside of the release")
                (file := place.folder / name).parent.mkdir(parents=True, exist_ok=True)
                file.write_text(content or "", encoding="utf-8", newline="\n")
        yield place


def is_linked(path: str | Path, policy: Path | None = None, table: str | None = None) -> bool:
    """Say whether a folder or a database has linked tables, by the policy, that in the folder, or `table`."""
    in_database = is_address(str(path))
    if in_database and (table is not None or policy is None):
        return table is None or table.endswith(DOCUMENTS)
    policy = policy or Path(path) / "policy.toml"
    if not policy.is_file() or not (in_database or Path(path).is_dir()):
        return False
    try:
        return isinstance(read_toml(policy).get("linked"), list)
    except PolicyError:
        return False


def verify_linked(
    path: str | Path,
    policy: str | Path | None = None,
    *,
    table: str | None = None,
    against: str | Path | None = None,
    against_table: str | None = None,
) -> LinkedVerification:
    """Check released linked tables, each alone and all together.

    - `path`: the folder that they were saved in, or a database. Policies of single tables: in ``policies``.
    - `policy`: the policy of all tables; by default the ``policy.toml`` of the folder.
    - `table`: of a database the table `DOCUMENTS`, behind the schema that it is in.
    - `against`: the folder or database of the raw tables. It tells who left, and no cell is compared.
    - `against_table`: in that database the table of the people, where it has another name.
    - Raises `PolicyError`, `TableError`, `SchemaError`: the policy or a table cannot be read, or lacks parts.
    """
    points: list[Point] = []
    unchecked: list[str] = []
    with _opened(str(path), table or DOCUMENTS) as place:
        _, data, tables = _read(place.folder, policy)
        accepted = [
            Accepted(str(each.get("point")), each.get("column"), str(each.get("why", "")))
            for each in data.get("accepted", [])
        ]
        for each in tables.values():
            points += _alone(place, each, tables, data, unchecked)
        people, patients = next(iter(tables.values())), 0
        raw, of = None if against is None else str(Path(against) / people.file), None
        if raw is None:
            unchecked.append("how many people left all tables: that needs the raw tables, to compare with")
        elif is_address(str(against)):
            raw, of = str(against), against_table or quoted_name(people.name)
        elif not Path(raw).is_file():
            patients = _patients(Path(raw).parent)
        with (
            PrivateFolder() as scratch,
            reworded(place.folder),
            connect(scratch, *place.reached(None if patients else raw)) as con,
        ):
            checks = Checks(con)
            if raw is not None and not patients:
                load(con, Wanted("raw", raw, of, [], CsvFormat()), scratch)
            smallest, limits = _joined(checks, place, tables, data, scratch, unchecked)
            points += [*map(wording.conformity, checks.remarks.problems), *limits]
            if raw is not None:
                rows = patients or checks.row("SELECT count(*) FROM raw")[0]
                most = float(data.get("max_suppression", 0.0))
                if (share := 1 - people.records / max(rows, 1)) > most + 1e-12:
                    points.append(wording.limit("suppression", None, None, "max_suppression", share, most))
    verdict = Verdict(tuple(in_order(answered(points, accepted))))
    records = {name: table.records for name, table in tables.items()}
    return LinkedVerification(verdict, people.records, records, smallest, tuple(dict.fromkeys(unchecked)))


def linked_checks_as_sql(path: str | Path, policy: str | Path | None = None) -> str:
    """Write the checks of linked tables as a script of SQL for DuckDB, as `verification.checks_as_sql`.

    It checks what the tables tell together. Each table alone has a script of its own.

    - Raises `ParameterError`: a limit cannot be checked in SQL, or DuckDB alone does not read a table.
    - Raises `PolicyError`, `TableError`, `SchemaError`: as `verify_linked` does.
    """
    from incrowd_verify.verification import begin_script, end_script

    if is_address(str(path)):
        raise ParameterError("a script reads linked tables from a folder; release them there, too")
    folder = Path(path)
    file, data, tables = _read(folder, policy)
    unchecked: list[str] = []
    files = (folder / table.file for table in tables.values())
    with PrivateFolder() as scratch, reworded(folder), connect(scratch, files, in_order=True) as con:
        script = Script(con)
        begin_script(script, folder, file, confidential=False)
        _joined(script, _Place(folder), tables, data, scratch, unchecked)
        script.note("Not looked at: each table alone, and how many people left all tables.")
        end_script(script)
    if unchecked:
        raise ParameterError(f"no script can check {named(unchecked)}; ask for other limits, or use verify")
    return "\n".join(script.lines) + "\n"


def _joined(
    con: Checks,
    place: _Place,
    tables: Mapping[str, _Linked],
    data: Mapping[str, Any],
    scratch: Path,
    unchecked: list[str],
) -> tuple[int, list[Point]]:
    """Join the tables and judge the views, as `_judged`."""
    _load(con, place, tables, scratch)
    for table in tables.values():
        con.note(f"Rows of {table.name}: the row above, the person, and the cells that others may know.")
        _join(con, table, tables)
    con.note("The view of each person, or of each set of known rows, as a text.")
    _views(con, tables)
    return _judged(con, tables, data, unchecked)


def _patients(folder: Path) -> int:
    """Count the patients of FHIR in a folder: resources, one a line or a file, and those in bundles."""
    ids = set()
    for path in folder.iterdir() if folder.is_dir() else ():
        name = path.name.lower().removesuffix(".gz")
        if not name.endswith((".ndjson", ".jsonl", ".json")):
            continue
        content = gzip.decompress(path.read_bytes()) if path.suffix == ".gz" else path.read_bytes()
        lines = [content] if name.endswith(".json") else content.splitlines()
        try:
            found = [json.loads(line) for line in lines if line.strip()]
            for each in found:
                found += [entry["resource"] for entry in each.get("entry", [])]
                if each["resourceType"] == "Patient":
                    ids.add(each.get("id"))
        except (ValueError, KeyError, TypeError, AttributeError):
            raise TableError(f"{path}: this is no file of FHIR that can be read") from None
    return len(ids)


def _read(folder: Path, policy: str | Path | None) -> tuple[Path, dict[str, Any], dict[str, _Linked]]:
    """Read the policy of all tables, and that of each alone."""
    file = folder / "policy.toml" if policy is None else Path(policy)
    data = read_toml(file)
    tables = _tables(data, file)
    for table in tables.values():
        if (own := folder / "policies" / table.name / "policy.toml").is_file():
            table.alone = read_policy(own)
    return file, data, tables


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
    at: _Place, table: _Linked, tables: Mapping[str, _Linked], data: Mapping[str, Any], unchecked: list[str]
) -> Iterator[Point]:
    """Yield the points of a table alone, without those that the views answer."""
    from incrowd_verify.verification import verify

    policy = at.folder / "policies" / table.name / "policy.toml"
    if table.alone is None:
        unchecked.append(f"table {table.name} alone: there is no policies/{table.name}/policy.toml")
        yield wording.unanswered("conformity", None, f"table {table.name} has no policy of its own")
        return
    for role, asked in (("quasi", table.quasi), ("sensitive", table.sensitive)):
        if {column.name for column in table.alone.named(role)} != {*asked}:
            yield wording.conformity(f"the policy of table {table.name} alone has other {role} columns")
    given, name = at.of(table)
    result = verify(given, policy, table=name)
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


def _load(con: Checks, place: _Place, tables: Mapping[str, _Linked], scratch: Path) -> None:
    """Load the columns of each table that the views need, as ``fN``."""
    from incrowd_verify.verification import load_by_script, make_checks, reader_of

    asked = {}
    for table in tables.values():
        columns = [*dict.fromkeys((*table.join, *_keys(table, tables), *table.quasi, *table.sensitive))]
        asked[table.name] = Wanted(f"f{table.place}", *place.of(table), columns, CsvFormat(header_row=1))
    readers = {}
    if isinstance(con, Script):
        readers = {name: reader_of(con, wanted, scratch) for name, wanted in asked.items()}
        make_checks(con)
    for name, wanted in asked.items():
        if isinstance(con, Script):
            tables[name].loaded = load_by_script(con, wanted, *readers[name])
        else:
            tables[name].loaded = load(con.con, wanted, scratch)
        if lacking := [column for column in wanted.columns if not _of(tables[name]).has(column)]:
            raise SchemaError(f"{wanted.given}: the table has no column {named(lacking)}")


def _of(table: _Linked) -> Table:
    assert table.loaded is not None
    return table.loaded


def _join(con: Checks, table: _Linked, tables: Mapping[str, _Linked]) -> None:
    """Make ``rN`` (id, row above, person, cells), and check that all rows join."""
    keys, loaded, here = _keys(table, tables), _of(table), table.place
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
    con.check(
        f"rows of table {table.name} that belong to nobody",
        f"SELECT count(*) FROM r{here} WHERE person IS NULL",
        problem=lambda rows: f"{rows:,} rows of table {table.name} belong to nobody",
    )
    con.execute(f"DELETE FROM r{here} WHERE person IS NULL")
    (table.records,) = con.row(f"SELECT count(*) FROM r{here}")
    if keys:
        columns = ", ".join(f"CAST(c{loaded.place(key)} AS VARCHAR) AS u{n}" for n, key in enumerate(keys))
        con.execute(f"CREATE TABLE k{here} AS SELECT rowid AS own, {columns} FROM f{here}")
        groups = ", ".join(f"u{n}" for n in range(len(keys)))
        con.check(
            f"keys of table {table.name} that stand in several rows",
            f"SELECT count(*) FROM (SELECT {groups} FROM k{here} GROUP BY ALL HAVING count(*) > 1)",
            problem=lambda twice: f"{twice:,} keys of table {table.name} stand in several rows",
        )


def _text(table: Table, column: str) -> str:
    """Write the SQL of a cell with its length, so that cells side by side read in one way only."""
    text = as_text(table, column)
    return f"coalesce(length({text}) || ':' || {text}, '-') || ';'"


def _views(con: Checks, tables: Mapping[str, _Linked]) -> None:
    """Write the view of each person, or of each set of known rows, as a text."""
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


def _known_sets(con: Checks, place: int, known: int) -> None:
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


def _refuse_many(con: Checks, table: str, name: str) -> None:
    (views,) = con.row(f"SELECT count(*) FROM {table}")
    if views > _VIEWS:
        where = f" of table {quoted(name)}" if name else ""
        raise PolicyError(f"an attacker may know {views:,} sets of rows{where}, and {_VIEWS:,} are looked at")


def _judged(
    con: Checks, tables: Mapping[str, _Linked], data: Mapping[str, Any], unchecked: list[str]
) -> tuple[int, list[Point]]:
    """Return the fewest people who share a view, and the limits that fail or were not checked."""
    con.execute("CREATE TABLE w AS SELECT v.view, v.person, f.form FROM v JOIN form0 f USING (view)")
    fewest = "SELECT min(people) FROM (SELECT count(DISTINCT person) AS people FROM w GROUP BY form)"
    (smallest,) = con.row(fewest)
    points: list[Point] = []
    few = any(table.known is not None for table in tables.values() if table.above is not None)
    paths = {f"{each.name}.{column}": (each, column) for each in tables.values() for column in each.sensitive}
    measured: dict[str, Measuring] = {}
    for demand in read_demands(data.get("models"), [*paths]):
        path, title = demand.attribute, f"{demand.model} {demand.quantity} against {WHO}"
        if demand.model == "k-anonymity":
            con.note(f"{title}, at least {demand.limit:g}")
            reached, holds = con.judge(title, fewest, demand.is_met, demand.limit, None)
        else:
            table = paths[path][0] if path is not None else None
            # Few known rows overlap, and those of a table that is known as a whole stand beside few others.
            mixed = table is not None and few and table.above is not None and table.known is None
            overlapping = few and demand.model != "l-diversity"
            if path is None or table is None or table.alone is None or mixed or overlapping:
                unchecked.append(f"{demand.model} of {path} against {WHO}")
                points.append(
                    wording.not_checked(demand.model, path, WHO, demand.quantity, float(demand.limit))
                )
                continue
            if path not in measured:
                measured[path] = _facts(con, tables, path, paths[path], len(measured))
            finding = measured[path].find(demand)
            reached, holds = finding.reached, bool(finding.holds)
        if not holds:
            points.append(wording.limit(demand.model, path, WHO, demand.quantity, reached, demand.limit))
    return int(smallest or 0), points


def _facts(
    con: Checks, tables: Mapping[str, _Linked], path: str, whose: tuple[_Linked, str], number: int
) -> Measuring:
    """Make the classes of rows that look alike beside the same view, with the values of a column.

    They are the tables of `classes`, of which those of an earlier column go. People are counted.
    """
    table, name = whose
    here, loaded, alone = table.place, _of(table), table.alone
    assert alone is not None
    con.note(f"Rows that look alike beside the same view, with s{number}: the values of {path}.")
    joins, looks, row, at = "", ["w.form"], "q.id", table
    while at.above is not None:
        n = at.place
        joins += (
            f" JOIN form{n} f{n} ON f{n}.view = q.view AND f{n}.id = {row} JOIN r{n} r{n} ON r{n}.id = {row}"
        )
        looks.append(f"f{n}.form")
        row, at = f"r{n}.up", tables[at.above]
    con.execute(
        f"CREATE OR REPLACE TABLE member AS SELECT dense_rank() OVER (ORDER BY {', '.join(looks)}) AS class, "
        f"w.person, {cell(loaded, name, alone.null_values, 's')} AS s{number} FROM known{here} q "
        f"JOIN w ON w.view = q.view{joins} JOIN f{here} s ON s.rowid = q.id"
    )
    sizes = "count(*)::HUGEINT AS records, count(DISTINCT person)::HUGEINT AS size"
    con.execute(f"CREATE OR REPLACE TABLE classes AS SELECT class, {sizes} FROM member GROUP BY class")
    [column] = [each for each in alone.named("sensitive") if each.name == name]
    stored = write_plainly(
        con, "member", f"s{number}", loaded.type_of(name), column, alone.null_values, of_file=loaded.in_order
    )
    attribute = Attribute(con, number, column, stored, by_person=True)
    attribute.check_kind()
    (classes,) = con.row("SELECT count(*) FROM classes")
    return Measuring(con, 0, int(classes), {path: attribute})
