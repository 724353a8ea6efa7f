"""Writing the script: how the file is read, its columns, the figures, the cells, the verdict."""

from __future__ import annotations

import hashlib
import math
from collections.abc import Sequence
from dataclasses import replace
from os import PathLike, fspath
from pathlib import Path
from typing import Any

from incrowd.errors import ParameterError, TableError, alike_of, named, setting
from incrowd.verification.attribute import Attribute
from incrowd.verification.cells import Shapes, listed
from incrowd.verification.classes import count_records, count_rows, group, group_of, written
from incrowd.verification.double_header import refuse_double_header
from incrowd.verification.ends import off_grid
from incrowd.verification.forms import follower_sql, form_of
from incrowd.verification.loading import Sources
from incrowd.verification.models import SLACK, Measuring, needs_values
from incrowd.verification.persons import Persons, refuse_several_rows
from incrowd.verification.policy import UNRELEASED, Column, Policy, read_policy
from incrowd.verification.scratch import PrivateFolder
from incrowd.verification.script import Script
from incrowd.verification.script_cover import cover
from incrowd.verification.script_raw import check_against, check_same_rows, find_people, put_in_place
from incrowd.verification.script_tables import Reader, Wanted
from incrowd.verification.source import CsvFormat, Table, connect, literal, reworded
from incrowd.verification.spellings import (
    is_spelled,
    numbers_as_texts,
    point_cells,
    read_spelled,
    spelled,
    write_plainly,
)
from incrowd.verification.tables import title_of
from incrowd.verification.weights import find_weights


def checks_as_sql(  # noqa: PLR0913
    path: str | PathLike[str],
    policy_path: str | PathLike[str],
    *,
    table: str | None = None,
    population: str | PathLike[str] | None = None,
    against: str | PathLike[str] | None = None,
    against_table: str | None = None,
    row_map: str | PathLike[str] | None = None,
    delimiter: str | None = None,
    encoding: str | None = None,
) -> str:
    """Write the checks of a policy on a release as one script of SQL for DuckDB.

    Whoever has DuckDB can run it, with nothing else installed: ``duckdb < checks.sql``. It reads the release,
    computes every figure anew, and its last line is the verdict. It holds the limits, the names of columns
    and cells of the release. Only with a population or a raw table it holds values of these, too, and is as
    confidential.

    Parameters
    ----------
    path
        The release: CSV (in UTF-8, also gzipped, UTF-16 or Latin-1), Parquet or JSON lines; a file, a folder
        or a pattern. Or the address of a DuckDB database.
    policy_path, table, population, against, against_table, row_map, delimiter, encoding
        As in `verify`.

    Raises
    ------
    ParameterError
        What is given does not tell what the policy asks for, as whose the records are. Or DuckDB alone does
        not read a table, as one of SQLite or of Excel.
    PolicyError, SchemaError, HierarchyError, TableError
        As `verify` raises them.

    Examples
    --------
    >>> checks_as_sql("safe.csv", "policy.toml")  # doctest: +SKIP
    """
    raw, people, rows = (None if each is None else fspath(each) for each in (against, population, row_map))
    sources = Sources(
        fspath(path),
        table,
        raw,
        against_table,
        people,
        rows,
        names=(),
        escaped=False,
        csv_format=CsvFormat(delimiter, encoding),
    )
    policy_file = Path(policy_path)
    policy = read_policy(policy_file)
    with PrivateFolder() as scratch, reworded(Path(title_of(sources.released))):
        con = connect(scratch, in_order=True)
        try:
            script = Script(con)
            _write(script, Reader(script, sources.csv_format, scratch), sources, policy_file, policy)
        finally:
            con.close()
    return "\n".join(script.lines) + "\n"


def _write(script: Script, reader: Reader, sources: Sources, policy_file: Path, policy: Policy) -> None:
    """Write all of a script."""
    found = _load(script, reader, sources, policy_file, policy)
    released, raw = found["released"], found.get("raw")
    _check_columns(script, policy)
    for column in policy.named("quasi"):
        place = released.place(column.name)
        if column.has_commas and group_of(released.types[place]) == "text":
            script.note(f"The cells of {column.name} with decimal points.")
            point_cells(script, released.name, f"c{place}")  # type: ignore[arg-type]
    if raw is not None:
        for column in policy.named("quasi"):
            if column.name in raw.names:
                raw = _plainly(script, raw, f"c{raw.place(column.name)}", column, policy.null_values)
        if not check_same_rows(script, released, raw):
            _end(script)
            return
    placed = raw is not None and "row_map" in found
    if raw is not None and placed:
        raw = put_in_place(script, released, raw, found["row_map"])
    persons = find_people(script, released, raw, policy, placed=placed)
    _check_figures(script, policy, released, raw, found.get("population"), persons, placed=placed)
    for number, column in enumerate(policy.named("quasi")):
        _check_cells(script, number, column, policy)
    for column in policy.treated:
        if column.role != "quasi":
            _check_treated(script, column, policy, released)
    if raw is not None:
        check_against(script, released, raw, policy, placed=placed)
    _end(script)


def _load(
    script: Script, reader: Reader, sources: Sources, policy_file: Path, policy: Policy
) -> dict[str, Table]:
    """Write how the tables are read; return those that there are, by their names."""
    quasi = [column.name for column in policy.named("quasi")]
    whose = [column.name for column in policy.named("person")]
    wanted = [
        Wanted(
            "released", sources.released, sources.released_table, _looked_at(policy), sources.raw is not None
        )
    ]
    if sources.population is not None:
        wanted.append(Wanted("population", sources.population, None, [*quasi, *whose]))
    if sources.raw is not None:
        named_columns = [column.name for column in policy.columns]
        wanted.append(Wanted("raw", sources.raw, sources.raw_table, named_columns, True))
    if sources.row_map is not None:
        wanted.append(Wanted("row_map", sources.row_map, None, ["row"], True))
    _begin(script, Path(title_of(sources.released)), policy_file, confidential=len(wanted) > 1)
    places = {each.name: reader.place(each) for each in wanted}
    script.note("What is found: a row for each check.")
    script.execute(
        'CREATE TABLE checks(number INTEGER, "check" VARCHAR, "column" VARCHAR, reached DOUBLE, '
        "asked DOUBLE, holds BOOLEAN)"
    )
    script.note("The columns that the policy speaks of. One that is missing ends the script with an error.")
    found = {}
    for each in wanted:
        _refuse_lacking(each, places[each.name][1][0].names, quasi, policy)
        found[each.name] = reader.load(each, places[each.name])
    if "raw" in found and found["raw"].headed:
        refuse_double_header(script.con, found["raw"], given_names=False)
    if not count_rows(script.con, found["released"]):
        raise TableError(f"{found['released'].title}: the file holds no records")
    return found


def _refuse_lacking(wanted: Wanted, names: Sequence[str], quasi: Sequence[str], policy: Policy) -> None:
    needed = {"released": _needed(policy), "population": quasi}.get(wanted.name, ())
    lacking = [name for name in needed if name not in names]
    if lacking:
        raise ParameterError(
            f"{title_of(wanted.given)}: the policy's column(s) {named(lacking)} are not in the file"
            + alike_of(lacking, names)
        )


def _needed(policy: Policy) -> list[str]:
    """Name the columns that a release must have."""
    return [column.name for column in (*policy.named("quasi"), *policy.named("sensitive"))]


def _looked_at(policy: Policy) -> list[str]:
    """Name the columns of a release that are looked at, each once."""
    return list(dict.fromkeys([*_needed(policy), *(column.name for column in policy.treated)]))


def _begin(script: Script, release: Path, policy_file: Path, *, confidential: bool) -> None:
    digest = hashlib.sha256(policy_file.read_bytes()).hexdigest()
    holds = [
        "Every figure is computed anew from the file. The script holds limits, names of columns, and cells",
        "of the release: which of these suit the policy's hierarchies was decided when it was written.",
    ]
    if confidential:
        holds += ["", "CONFIDENTIAL: it also holds values of the raw table or of the population."]
    else:
        holds.append(
            "Whether the cells are true of the people needs the raw table, so that is not checked here."
        )
    script.note(
        f"Checks of the policy {policy_file.name} (SHA-256 {digest})",
        f"on the release {release.name}. Run it with DuckDB and nothing else: duckdb < checks.sql",
        "",
        *holds,
        "",
        "Where the tables are. Change the paths if they lie elsewhere.",
    )
    del script.lines[0]
    script.execute("SET preserve_insertion_order = true")


def _plainly(script: Script, table: Table, cell: str, column: Column, nulls: Sequence[str]) -> Table:
    """Write the values of a column plainly, if they are spelled; return the table as it is then."""
    place = int(cell[1:]) if cell.startswith("c") else table.place(column.name)
    stored = group_of(table.types[place])
    if column.spelling is None or not is_spelled(column.spelling, stored):
        return table
    where = table.name if cell.startswith("c") else "member"
    script.note(f"The values of {column.name} as a release writes them.")
    if stored != "text":
        numbers_as_texts(script, where, cell)  # type: ignore[arg-type]
    read_spelled(script, where, cell, column.name, column.spelling, nulls)  # type: ignore[arg-type]
    script.check(
        f"values that were not there when this was written: {column.name}",
        column.name,
        f"SELECT count(*) FROM {where} WHERE {spelled(cell, nulls)} "
        f"AND {cell} NOT IN (SELECT raw FROM respelled)",
    )
    write_plainly(script, where, cell, nulls)  # type: ignore[arg-type]
    types = list(table.types)
    types[place] = "VARCHAR"
    return replace(table, types=tuple(types))


def _check_columns(script: Script, policy: Policy) -> None:
    roles = {column.name: column.role for column in policy.columns if column.treatment is None}
    treated = [column.name for column in policy.treated]
    forbidden = [name for name, role in roles.items() if role in UNRELEASED]
    if policy.unlisted == "keep":
        wrong = f"name IN ({_texts(forbidden)})" if forbidden else "false"
    else:
        known = [name for name in (*roles, *treated) if name not in forbidden]
        wrong = f"name NOT IN ({_texts(known)})"
    script.note("No column that the policy does not release.")
    script.check("columns too many", None, f"SELECT count(*) FROM released_names WHERE {wrong}")


def _texts(texts: Sequence[str]) -> str:
    return ", ".join(map(literal, texts))


def _check_figures(
    script: Script,
    policy: Policy,
    table: Table,
    raw: Table | None,
    population: Table | None,
    persons: Persons | None,
    *,
    placed: bool,
) -> None:
    """Write the classes, the share of suppressed records, and every limit."""
    quasi = [column.name for column in policy.named("quasi")]
    sensitive = policy.named("sensitive") if any(map(needs_values, policy.models)) else ()
    script.note(
        "Records and their classes: q0, q1, ... are the quasi-identifiers " + named(quasi, 50),
        *([f"and s0, s1, ... the sensitive columns {named([each.name for each in sensitive], 50)}"]
          if sensitive else []),
    )  # fmt: skip
    values = [each.name for each in sensitive]
    con: Any = script
    by_person = persons is not None and persons.several
    group(con, table, quasi, values, policy.null_values, by_person=by_person)
    records, _, classes = count_records(con)
    if not records:
        raise TableError(f"{table.title}: the file holds no records")
    script.note("Suppressed records have * in every quasi-identifier and are in no class.")
    script.check(
        "share of suppressed records",
        None,
        "SELECT count(*) FILTER (suppressed)::DOUBLE / count(*) FROM record",
        f"reached <= {policy.max_suppression + SLACK!r}::DOUBLE",
        policy.max_suppression,
    )
    script.check("classes", None, "SELECT count(*) FROM classes", "reached > 0", 1)
    attributes = {}
    for place, column in enumerate(sensitive):
        plain = _plainly(script, table, f"s{place}", column, policy.null_values)
        stored = plain.types[plain.place(column.name)]
        attribute = Attribute(con, place, column, stored, by_person=by_person, script=script)
        attribute.check_kind(script)
        attributes[column.name] = attribute
    _count_population(script, policy, population)
    _refuse_unjudged(policy)
    unweighed = find_weights(con, table, raw, policy, persons, placed=placed)
    _refuse_unknown(policy, population, unweighed)
    Measuring(
        con,
        len(quasi),
        classes,
        attributes,
        population is not None,
        persons,
        unweighed,
        policy.wildcards,
        script=script,
    ).find_policy(policy)


def _refuse_unjudged(policy: Policy) -> None:
    """Refuse limits that are not about the values in the file."""
    theirs = (demand for attacker in policy.attackers for demand in attacker.demands)
    if any(demand.looks_at(policy.unjudged) for demand in (*policy.demands, *theirs)):
        raise ParameterError(
            f"a script reads the values of column {named(sorted(policy.unjudged))} in the file, and by "
            "judge = 'original' the policy asks only for those before; verify says so, too"
        )


def _count_population(script: Script, policy: Policy, population: Table | None) -> None:
    """Write down whom the classes cover, if there is a population, whose rows must be of different people."""
    if population is None:
        return
    con: Any = script
    whose = [column.name for column in policy.named("person")]
    if whose and all(name in population.names for name in whose):
        refuse_several_rows(con, population, policy)
        script.check(
            "rows of the population of somebody who has another", None,
            "SELECT count(*) - count(DISTINCT person) FROM whose")  # fmt: skip
    for column in policy.named("quasi"):
        cell = f"c{population.place(column.name)}"
        population = _plainly(script, population, cell, column, policy.null_values)
    cover(script, population, policy.named("quasi"), policy.null_values)


def _refuse_unknown(policy: Policy, population: Table | None, unweighed: str | None) -> None:
    """Refuse demands that need a population, if there is none, nor weights in its place.

    Raises
    ------
    ParameterError
        Which names what it is.
    """
    demands = [*policy.demands, *(demand for each in policy.attackers for demand in each.demands)]
    others = sorted({each.model for each in demands if each.needs_people})
    if population is not None or not others or (others == ["k-map"] and unweighed == ""):
        return
    why = f"name it with {setting('population=', '--population')}"
    raise ParameterError(
        f"no SQL script can check this release by itself: {', '.join(others)} compares the release with a "
        f"population; {unweighed or why}"
    )


def _check_cells(script: Script, number: int, column: Column, policy: Policy) -> None:
    """List the cells of a quasi-identifier that suit the policy, if it says which do."""
    shapes = Shapes(column)
    rows = script.execute(f"SELECT DISTINCT CAST(q{number} AS VARCHAR) FROM classes").fetchall()
    cells = [text for (text,) in rows]
    limit = math.inf if policy.set_limit is None or column.style not in ("auto", "set") else policy.set_limit
    on_level = dict.fromkeys(cells, True)
    if column.levels is not None and not policy.algorithm.get("recode_suppressed"):
        fits = {text: shapes.level_fits(text, *column.levels) for text in cells}
        if None not in fits.values():
            on_level = {text: bool(fit) for text, fit in fits.items()}
    beside, why = off_grid(column, cells)
    if beside and not why:
        on_level |= dict.fromkeys(beside, False)
    if shapes.unknown and all(on_level.values()):
        if limit < math.inf:
            _check_long(script, number, column.name, int(limit))
        return
    good = [text for text in cells if shapes.possible(text) and listed(text) <= limit and on_level[text]]
    _check_listed(
        script, f"cells that do not suit the policy: {column.name}", column.name, f"q{number}", "classes",
        "records", [(text, 1) for text in good],
    )  # fmt: skip


def _check_long(script: Script, number: int, name: str, limit: int) -> None:
    r"""Write a check that no cell lists too many values: ``{a, b}`` lists two, and ``\`` escapes a sign."""
    inner = f"regexp_replace(CAST(q{number} AS VARCHAR)[2:-2], '\\\\.', '', 'g')"
    is_set = (
        f"regexp_full_match(CAST(q{number} AS VARCHAR), '\\{{.*\\}}', 's') "
        f"AND NOT regexp_matches(replace({inner}, ', ', ''), '[,{{}}]')"
    )
    parts = f"(len({inner}) - len(replace({inner}, ', ', ''))) // 2 + 1"
    script.note(f"No cell of {name} lists more than {limit} values.")
    script.check(
        f"lists that are too long: {name}",
        name,
        f"SELECT coalesce(sum(records), 0) FROM classes WHERE {is_set} AND {parts} > {limit}",
    )


def _check_treated(script: Script, column: Column, policy: Policy, table: Table) -> None:
    """List the values of a treated column that its treatment gives, and from how many records on."""
    treatment = column.treatment
    assert treatment is not None
    if column.name not in table.names:
        script.never(f"the treated column {named([column.name])} was in the file")
        return
    follower = follower_sql(script, table, column.name, treatment, policy.null_values)  # type: ignore[arg-type]
    if follower is not None:
        script.check(f"values that go along with one of {treatment.first}", column.name, follower)
    form = form_of(treatment, column.spelling)
    if form is None:
        return
    nulls = () if treatment.name == "constant" else policy.null_values
    text = written(script, table, column.name, nulls)  # type: ignore[arg-type]
    rows = script.execute(f"SELECT {text}, count(*) FROM released AS t GROUP BY ALL").fetchall()
    good: list[tuple[str | None, int]] = [
        (value, 1 if form(value, 1) else int(treatment.first) if treatment.first is not True else 5)
        for value, records in rows
        if value is not None and form(value, records)
    ]
    if not (treatment.name == "constant" and treatment.first != ""):
        good.append((None, 1))
    counted = f"(SELECT {text} AS v, count(*) AS n FROM released AS t GROUP BY ALL)"
    _check_listed(
        script, f"values that the treatment {treatment.name} does not give: {column.name}", column.name, "v",
        counted, "n", good,
    )  # fmt: skip


def _check_listed(
    script: Script,
    what: str,
    column: str,
    cell: str,
    rows: str,
    amount: str,
    good: Sequence[tuple[str | None, int]],
) -> None:
    """Write a check that all cells are among those of a list; one may need some records to be there."""
    name = f"fitting_{script.checks + 1}"
    script.note(f"Cells of {column} that suit the policy, and how many records have each at least.")
    told = sorted(good, key=lambda each: (each[0] is None, each[0] or ""))
    script.fill(name, "cell VARCHAR, least BIGINT", told)
    script.check(
        what,
        column,
        f"SELECT coalesce(sum(mine.{amount}), 0) FROM {rows} AS mine WHERE NOT EXISTS (SELECT 1 FROM {name} "
        f"AS good WHERE good.cell IS NOT DISTINCT FROM CAST(mine.{cell} AS VARCHAR) "
        f"AND mine.{amount} >= good.least)",
    )


def _end(script: Script) -> None:
    script.note("Every check, and the verdict.")
    script.lines.append("SELECT * FROM checks ORDER BY number;")
    script.lines.append(
        f"SELECT CASE WHEN count(*) = {script.checks - script.apart} AND bool_and(holds) THEN "
        "'verified: the policy is satisfied' ELSE 'NOT verified' END AS verdict,\n"
        "count(*) AS checks, count(*) FILTER (NOT holds) AS failed\nFROM checks;"
    )
