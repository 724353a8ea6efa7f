"""Writing the script: how the file is read, its columns, the figures, the cells, the verdict."""

from __future__ import annotations

import gzip
import hashlib
import math
from collections.abc import Sequence
from os import PathLike, fspath
from pathlib import Path

from incrowd.errors import ParameterError, TableError, named
from incrowd.verification.cells import Shapes, listed
from incrowd.verification.classes import count_records, fetch_row, group, written
from incrowd.verification.databases import is_address
from incrowd.verification.forms import follower_sql, form_of
from incrowd.verification.models import SLACK, needs_values
from incrowd.verification.other_kinds import is_other_kind
from incrowd.verification.policy import UNRELEASED, Column, Policy, read_policy
from incrowd.verification.scratch import PrivateFolder
from incrowd.verification.script import (
    Script,
    ScriptedAttribute,
    ScriptedMeasuring,
    refuse_unwritten,
)
from incrowd.verification.source import (
    CsvFormat,
    Part,
    Table,
    connect,
    glob_free,
    literal,
    open_file,
    reworded,
)

__all__ = ["checks_as_sql"]

_MOST = 200_000
"""Cells that a script may list."""
_A_LINE = 8


def checks_as_sql(
    path: str | PathLike[str],
    policy_path: str | PathLike[str],
    *,
    delimiter: str | None = None,
    encoding: str | None = None,
) -> str:
    """Write the checks of a policy on a release as one script of SQL for DuckDB.

    Whoever has DuckDB can run it, with nothing else installed: ``duckdb < checks.sql``. It reads the release,
    computes every figure anew, and its last line is the verdict. It holds the limits, the names of columns
    and cells of the release, and no value that the release does not have.

    Parameters
    ----------
    path
        The release: a CSV (also gzipped, in UTF-8) or Parquet file.
    policy_path, delimiter, encoding
        As in `verify`.

    Raises
    ------
    ParameterError
        When the release alone does not tell what the policy asks for, as with people or a population.
    PolicyError, SchemaError, HierarchyError, TableError
        As `verify` raises them.

    Examples
    --------
    >>> checks_as_sql("safe.csv", "policy.toml")  # doctest: +SKIP
    """
    if is_address(fspath(path)):
        raise ParameterError("a script checks one CSV or Parquet file, and no table of a database")
    file, policy_file = Path(path), Path(policy_path)
    if not file.is_file():
        raise ParameterError(f"{file}: a script checks one CSV or Parquet file, and this is none")
    if is_other_kind(file):
        raise ParameterError(
            f"{file}: a script checks one CSV or Parquet file, and DuckDB does not read this kind by itself; "
            "write the release as .csv or .parquet, too"
        )
    policy = read_policy(policy_file)
    refuse_unwritten(policy)
    with PrivateFolder() as scratch, reworded(file):
        con = connect(scratch)
        try:
            script = Script(con)
            part = open_file(con, file, _needed(policy), CsvFormat(delimiter, encoding), scratch)
            _begin(script, file, policy_file)
            table = _load(script, file, part, policy)
            _check_columns(script, policy)
            _check_figures(script, policy, table)
            for number, column in enumerate(policy.named("quasi")):
                _check_cells(script, number, column, policy)
            for column in policy.treated:
                if column.role != "quasi":
                    _check_treated(script, column, policy, table)
            _end(script)
        finally:
            con.close()
    return "\n".join(script.lines) + "\n"


def _needed(policy: Policy) -> list[str]:
    """Name the columns that are looked at, each once."""
    columns = (*policy.named("quasi"), *policy.named("sensitive"), *policy.treated)
    return list(dict.fromkeys(column.name for column in columns))


def _begin(script: Script, file: Path, policy_file: Path) -> None:
    digest = hashlib.sha256(policy_file.read_bytes()).hexdigest()
    script.note(
        f"Checks of the policy {policy_file.name} (SHA-256 {digest})",
        f"on the release {file.name}. Run it with DuckDB and nothing else: duckdb < checks.sql",
        "",
        "Every figure is computed anew from the file. The script holds limits, names of columns, and cells",
        "of the release: which of these suit the policy's hierarchies was decided when it was written.",
        "Whether the cells are true of the people needs the raw table, so that is not checked here.",
        "",
        "The release. Change the path if the file lies elsewhere.",
    )
    del script.lines[0]
    script.execute(f"SET VARIABLE release = {literal(str(file))}")
    script.note("What is found: a row for each check.")
    script.execute(
        'CREATE TABLE checks(number INTEGER, "check" VARCHAR, "column" VARCHAR, reached DOUBLE, '
        "asked DOUBLE, holds BOOLEAN)"
    )


def _load(script: Script, file: Path, part: Part, policy: Policy) -> Table:
    """Write how the file is read, and refuse what DuckDB would read otherwise by itself."""
    if file.read_bytes()[:4] == b"PAR1":
        reader = "read_parquet(getvariable('release'), hive_partitioning = false)"
    elif part.trimmed or not part.relation.startswith(f"read_csv({glob_free(file)}, "):
        raise ParameterError(
            f"{file}: a script reads Parquet, or a CSV in UTF-8 with a delimiter of one character"
        )
    else:
        delimiter = part.relation.rpartition("delim = ")[2].partition(", quote = ")[0]
        zipped = "gzip" if _is_gzip(file) else "none"
        reader = (
            f"read_csv(getvariable('release'), header = true, all_varchar = true, delim = {delimiter}, "
            "quote = '\"', escape = '\"', comment = '', skip = 0, nullstr = '', "
            f"allow_quoted_nulls = {str(len(part.names) == 1).lower()}, null_padding = false, "
            f"ignore_errors = false, hive_partitioning = false, compression = '{zipped}')"
        )
    script.note("The columns that the policy speaks of. One that is missing ends the script with an error.")
    script.execute(f"CREATE TABLE named AS SELECT column_name AS name FROM (DESCRIBE SELECT * FROM {reader})")
    known = [name for (name,) in script.execute("SELECT name FROM named").fetchall()]
    lacking = [name for name in _needed(policy) if name not in part.names]
    if lacking:
        raise ParameterError(f"{file}: the policy's column(s) {named(lacking)} are not in the file")
    if known != list(part.names):
        raise ParameterError(
            f"{file}: DuckDB has other names for its columns; rename those that differ in case"
        )
    columns = ", ".join(
        f'"{name.replace(chr(34), chr(34) * 2)}" AS c{part.names.index(name)}' for name in _needed(policy)
    )
    script.execute(f"CREATE TABLE released AS SELECT {columns} FROM {reader}")
    (rows,) = fetch_row(script, f"SELECT count(*) FROM {part.relation}")  # type: ignore[arg-type]
    (mine,) = fetch_row(script, "SELECT count(*) FROM released")  # type: ignore[arg-type]
    if rows != mine:
        raise TableError(f"{file}: DuckDB reads other rows by itself; write it as Parquet")
    return Table("released", str(file), part.names, part.types, False)


def _is_gzip(file: Path) -> bool:
    try:
        with gzip.open(file) as opened:
            opened.read(1)
    except OSError:
        return False
    return True


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
    script.check("columns too many", None, f"SELECT count(*) FROM named WHERE {wrong}", "reached = 0", 0)


def _texts(texts: Sequence[str]) -> str:
    return ", ".join(map(literal, texts))


def _check_figures(script: Script, policy: Policy, table: Table) -> None:
    """Write the classes, the share of suppressed records, and every limit."""
    quasi = [column.name for column in policy.named("quasi")]
    sensitive = policy.named("sensitive") if any(map(needs_values, policy.models)) else ()
    script.note(
        "Records and their classes: q0, q1, ... are the quasi-identifiers " + named(quasi, 50),
        *([f"and s0, s1, ... the sensitive columns {named([each.name for each in sensitive], 50)}"]
          if sensitive else []),
    )  # fmt: skip
    group(script, table, quasi, [each.name for each in sensitive], policy.null_values)  # type: ignore[arg-type]
    records, _, classes = count_records(script)  # type: ignore[arg-type]
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
        stored = table.types[table.place(column.name)]
        attributes[column.name] = ScriptedAttribute(script, place, column, stored)  # type: ignore[arg-type]
        attributes[column.name].check_kind()
    measuring = ScriptedMeasuring(
        script,  # type: ignore[arg-type]
        len(quasi),
        classes,
        attributes,
        wildcards=policy.wildcards,
        script=script,
    )
    measuring.find_all(policy.demands)
    for attacker in policy.attackers:
        measuring.find_against(attacker, [quasi.index(name) for name in attacker.knows])


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
        "reached = 0",
        0,
    )


def _check_treated(script: Script, column: Column, policy: Policy, table: Table) -> None:
    """List the values of a treated column that its treatment gives, and from how many records on."""
    treatment = column.treatment
    assert treatment is not None
    follower = follower_sql(script, table, column.name, treatment, policy.null_values)  # type: ignore[arg-type]
    if follower is not None:
        script.check(
            f"values that go along with one of {treatment.first}", column.name, follower, "reached = 0", 0
        )
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
    if len(good) > _MOST:
        raise ParameterError(
            f"column {column!r}: {len(good):,} distinct cells are more than the {_MOST:,} that a script "
            "lists; use verify"
        )
    name = f"fitting_{script.checks + 1}"
    script.note(f"Cells of {column} that suit the policy, and how many records have each at least.")
    script.execute(f"CREATE TABLE {name}(cell VARCHAR, least BIGINT)")
    told = sorted(good, key=lambda each: (each[0] is None, each[0] or ""))
    for start in range(0, len(told), 1000):
        values = [
            f"({'NULL' if text is None else literal(text)}, {least})"
            for text, least in told[start : start + 1000]
        ]
        lines = [", ".join(values[at : at + _A_LINE]) for at in range(0, len(values), _A_LINE)]
        script.execute(f"INSERT INTO {name} VALUES\n" + ",\n".join(lines))
    script.check(
        what,
        column,
        f"SELECT coalesce(sum(mine.{amount}), 0) FROM {rows} AS mine WHERE NOT EXISTS (SELECT 1 FROM {name} "
        f"AS good WHERE good.cell IS NOT DISTINCT FROM CAST(mine.{cell} AS VARCHAR) "
        f"AND mine.{amount} >= good.least)",
        "reached = 0",
        0,
    )


def _end(script: Script) -> None:
    script.note("Every check, and the verdict.")
    script.lines.append("SELECT * FROM checks ORDER BY number;")
    script.lines.append(
        f"SELECT CASE WHEN count(*) = {script.checks} AND bool_and(holds) THEN "
        "'verified: the policy is satisfied' ELSE 'NOT verified' END AS verdict,\n"
        "count(*) AS checks, count(*) FILTER (NOT holds) AS failed\nFROM checks;"
    )
