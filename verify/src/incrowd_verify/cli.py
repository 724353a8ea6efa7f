"""The command ``incrowd-verify``, and the printing shared with ``incrowd verify``."""

from __future__ import annotations

import json
import math
import os
import sys
import traceback
from argparse import ArgumentParser, Namespace
from collections import Counter
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path
from shlex import quote
from typing import TYPE_CHECKING, Any

from rich.console import Console
from rich.table import Table
from rich.text import Text

from incrowd_gate.errors import (
    INSTALL,
    IncrowdError,
    ParameterError,
    TableError,
    on_the_command_line,
    options_taken,
    visible,
)
from incrowd_gate.verdict import Verdict
from incrowd_gate.wording import wildcard_sentence
from incrowd_verify import __version__

if TYPE_CHECKING:
    from incrowd_verify.count_tables import RawTable, TableVerification
    from incrowd_verify.linked import LinkedVerification
    from incrowd_verify.result import ClauseResult, Verification

_PROGRAM = "incrowd-verify"
_INSTALL = INSTALL.replace("'.[", "'./verify[")
_STYLES = {"holds": "bold green", "open": "bold yellow", "broken": "bold red"}
_PIPE_CLOSED = 141
_TABLES = ("table", "population", "against", "against_table", "row_map", "delimiter", "encoding")
"""Arguments of `verify` that `checks_as_sql` takes, too."""


class Screen(Console):
    """A console on which no text of a table steers the terminal."""

    def __init__(self, **settings: Any) -> None:
        # Piped output is for other programs: fold and cut nothing. Names of columns may look like markup.
        width = None if sys.stdout.isatty() else 1000
        super().__init__(highlight=False, markup=False, emoji=False, width=width, **settings)

    def on_broken_pipe(self) -> None:
        """Leave a closed pipe to the command line."""
        raise  # noqa: PLE0704 - the pipe's own error, which Rich handles when it calls this

    def render_str(self, text: str, **how: Any) -> Text:
        """Return a text to be shown."""
        return super().render_str(visible(text), **how)


def parser() -> ArgumentParser:
    """Return the options of the command, with the arguments of `verify` as values."""
    parser = ArgumentParser(
        prog=_PROGRAM,
        description="Check a release against its policy, by counting everything anew in SQL. Exit status 0: "
        "the verdict holds. 1: it is broken, or a point waits for an answer in the policy. 2: a limit cannot "
        "be checked, or the call is wrong.",
    )
    option = parser.add_argument
    option("path", metavar="RELEASE", help="a file, a folder or a pattern; sqlite:///path or duckdb:///path")
    option("--policy", type=Path, metavar="FILE", help="the policy that it has to satisfy")
    option("--account", dest="account", type=Path, metavar="FILE",
           help="the release.json that was saved with it: is this that release, and that policy? Without "
           "--policy the policy.toml beside it is taken")  # fmt: skip
    option("--against", metavar="RAW", help="the raw table: each cell must be true of its record")
    for name, metavar, text in (
        ("--row-map", "FILE", "which raw row each released row is"),
        ("--population", "FILE", "people of whom the table may hold some, for k-map"),
        ("--table", None, "the table of a database"),
        ("--against-table", "TABLE", "the table of the raw database"),
        ("--previous-release", "FILE", "an earlier release: checked alone, too, and both together"),
        ("--profile", "NAME", "also judge the clauses of these rules, as hipaa-safe-harbor"),
        ("--names", "A,B,...", "column names of a raw CSV without a header"),
        ("--delimiter", None, "delimiter of a CSV; found out by default"),
        ("--encoding", None, "encoding of a CSV; UTF-8 by default"),
        ("--sheet", None, "the sheet of an Excel workbook, where it has several"),
    ):
        option(name, metavar=metavar, help=text)
    option("--published-as-one", action="store_true", help="both are merged before anybody sees them")
    option("--suppressed-as", action="append", default=[], metavar="TEXT",
           help="what stands in suppressed cells beside *; again for more")  # fmt: skip
    option("--header-row", type=int, metavar="N", help="the line of the raw table that names its columns")
    option("--fill-merged", action="store_true",
           help="cells of a workbook that are merged down a column have the value of the first")  # fmt: skip
    option("--escape-formulas", dest="escaped", action="store_true",
           help="the CSV was written with this option")  # fmt: skip
    option("--emit-sql", type=Path, metavar="FILE",
           help="also write the checks as a script of SQL for DuckDB")  # fmt: skip
    option("--force", action="store_true", help="replace a script that exists")
    option("--json", action="store_true", help="print JSON instead of tables")
    option("--version", action="version", version=f"{_PROGRAM} {__version__}")
    return parser


def main() -> None:
    """Run the command, and exit with the status of the run."""
    given = parser().parse_args()
    try:
        with on_the_command_line(_INSTALL):
            options_taken(vars(given))
            status = _run(given)
            sys.stdout.flush()
    except BrokenPipeError:
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        status = _PIPE_CLOSED
    except IncrowdError as error:
        print(visible(f"{_PROGRAM}: {error}"), file=sys.stderr)
        status = error.exit_status
    except Exception as error:
        # A library's message may quote cells of the table, so say where it failed and not what it said.
        *_, last = traceback.extract_tb(error.__traceback__)
        place = f"{type(error).__name__} at {last.name}, line {last.lineno}"
        print(f"{_PROGRAM}: internal error ({place}); please report it", file=sys.stderr)
        status = 2
    raise SystemExit(status)


def _run(given: Namespace) -> int:
    from incrowd_verify.count_tables import is_tables, verify_tables
    from incrowd_verify.linked import is_linked, linked_checks_as_sql, verify_linked
    from incrowd_verify.verification import checks_as_sql, verify

    if given.emit_sql is not None and given.emit_sql.exists() and not given.force:
        raise TableError(f"{given.emit_sql} exists already; choose another name or say --force")
    if is_linked(given.path, given.policy, given.table):
        text = linked_checks_as_sql(given.path, given.policy) if given.emit_sql else ""
        tables_of = {name: getattr(given, name) for name in ("table", "against", "against_table")}
        linked = verify_linked(given.path, given.policy, **tables_of)
        _write_script(given, text)
        return show_linked(Screen(), linked, given.emit_sql, as_json=given.json)
    if is_tables(given.path):
        refuse_of_rows(**vars(given))
        tables = verify_tables(given.path, given.policy, raw=_raw_of(given))
        if given.json:
            print(json.dumps(tables.to_dict(), indent=1, ensure_ascii=False))
        else:
            show_tables(Screen(), tables)
        return 0 if tables.ok else 1
    if given.policy is None and given.account is None:
        raise ParameterError("name the policy (--policy), or the release.json that was saved (--account)")
    policy = given.policy or given.account.with_name("policy.toml")
    others = ("policy", "emit_sql", "force", "json")
    settings = {name: value for name, value in vars(given).items() if name not in others}
    # A script that cannot be written is refused before the release is looked at.
    text = ""
    if given.emit_sql is not None:
        refuse_with_script(**settings)
        text = checks_as_sql(given.path, policy, **{name: settings[name] for name in _TABLES})
    settings["names"] = [name.strip() for name in (given.names or "").split(",") if name.strip()]
    result = verify(policy_path=policy, **settings)
    _write_script(given, text)
    if given.json:
        print(json.dumps(result.to_dict(), indent=1, ensure_ascii=False))
    else:
        call = f"{_PROGRAM} {quote(given.path)} --policy {quote(str(policy))}"
        show(Screen(), result, f"{call} --against {quote(given.against or 'RAW')} --row-map ROWS")
        if text:
            print(f"written: {given.emit_sql}; run it with duckdb < {given.emit_sql}")
    return exit_status(result)


def _write_script(given: Namespace, text: str) -> None:
    if not text:
        return
    with suppress(FileNotFoundError):
        given.emit_sql.unlink()
    # A script that was made beside the raw table has values of it, and is for its owner alone.
    mode = 0o666 if given.against is None and given.population is None else 0o600
    place = os.open(given.emit_sql, os.O_WRONLY | os.O_CREAT | os.O_EXCL, mode)
    with open(place, "w", encoding="utf-8", newline="\n") as file:
        file.write(text)


def _raw_of(given: Namespace) -> RawTable | None:
    from incrowd_verify.count_tables import RawTable
    from incrowd_verify.source import CsvFormat

    if given.against is None:
        return None
    names = tuple(name.strip() for name in (given.names or "").split(",") if name.strip())
    how = CsvFormat(
        given.delimiter, given.encoding, names, sheet=given.sheet, header_row=given.header_row,
        fill_merged=given.fill_merged,
    )  # fmt: skip
    return RawTable(given.against, given.against_table, how)


_OF_ROWS = (
    "table", "population", "row_map", "suppressed_as", "escaped", "emit_sql", "previous_release",
    "published_as_one", "account", "profile",
)  # fmt: skip
"""Options that say something of rows."""


def refuse_of_rows(**given: Any) -> None:
    """Refuse options of rows where a folder of count tables is checked."""
    for name in _OF_ROWS:
        if given.get(name):
            option = "escape_formulas" if name == "escaped" else name
            raise ParameterError(
                f"--{option.replace('_', '-')} is for releases of rows; count tables are checked with "
                "--against and --policy alone"
            )


def refuse_with_script(
    previous_release: object, profile: object, names: object, header_row: object, escaped: object,
    suppressed_as: object, **_: object,
) -> None:  # fmt: skip
    """Refuse options that a script of SQL cannot check."""
    if previous_release is not None:
        raise ParameterError(
            "--emit-sql: the script checks one release; write one for each file, or leave "
            "--previous-release out"
        )
    if profile is not None:
        raise ParameterError(
            f'--emit-sql: the script judges the profile of the policy; write name = "{profile}" into the '
            "table [profile] of a copy of it, and leave --profile out"
        )
    if names is not None or header_row is not None or escaped or suppressed_as:
        raise ParameterError(
            "--emit-sql: the script does not go with --names, --header-row, --escape-formulas or "
            "--suppressed-as"
        )


def show_tables(out: Console, result: TableVerification) -> None:
    """Print how many cells of count tables were checked, and the verdict."""
    out.print(
        f"{result.cells:,} cells, {result.hidden:,} of them hidden: each was solved from all tables together"
    )
    if result.compared is None:
        out.print("not checked: whether the cells are true; that needs the raw table (--against)")
    else:
        out.print(f"{result.compared:,} published cells were counted anew from the raw table")
    show_verdict(out, result.verdict)


def show_linked(out: Console, result: LinkedVerification, script: Path | None, *, as_json: bool) -> int:
    """Print the counts of linked tables and the verdict, and return the exit status."""
    if as_json:
        print(json.dumps(result.to_dict(), indent=1, ensure_ascii=False))
    else:
        for line in result.lines():
            out.print(line)
        show_verdict(out, result.verdict)
        if script is not None:
            out.print(f"written: {script}; run it with duckdb < {script}", soft_wrap=True)
    return 0 if result.ok else 1


def exit_status(result: Verification) -> int:
    """Return 0 where the verdict holds, 2 where a limit could not be checked, and else 1."""
    return 0 if result.ok else 2 if result.is_unchecked else 1


def show(out: Console, result: Verification, with_people: str) -> None:
    """Print the figures of each table, and at last the verdict and whether the release is verified.

    `with_people`: the call that counts people, where they were not counted.
    """
    for each in (result, result.earlier, result.together):
        if each is not None:
            _show_table(out, each)
    if any(finding.holds is None for finding in result.findings):
        out.print(f"people not counted; to count them: {with_people}", soft_wrap=True)
        out.print("`anonymize --row-map ROWS` writes the row map with the release, and keeps it from others")
    show_verdict(out, result.verdict)
    one = ", if both are published as one table" if result.published_as_one else ""
    out.print(f"verified{one}" if result.ok else "NOT verified")


def show_verdict(out: Console, verdict: Verdict) -> None:
    """Print the verdict, then the broken, open and accepted points."""
    out.print(Text(verdict.text, _STYLES[verdict.state]))
    for line in verdict.lines():
        out.print(Text(f"  {line}"))


def _show_table(out: Console, result: Verification) -> None:
    people = result.people
    whose = "" if people is None else f" of {people.people:,} people"
    out.print(
        f"{result.file}: {result.records:,} records{whose} in {result.classes:,} classes, "
        f"{result.suppressed:,} suppressed",
    )
    out.print(wildcard_sentence(result.wildcards))
    if people is not None:
        unnamed = f" {people.unnamed:,} records do not say whose they are." if people.unnamed else ""
        out.print(
            f"The figures count people.{unnamed} The smallest class has {people.smallest:,} people, the "
            f"smallest by records {result.smallest:,} records. All records of {people.suppressed:,} people "
            "are suppressed."
        )
    if result.findings:
        _show_findings(out, result)
    if result.clauses:
        _show_clauses(out, result.profile, result.clauses)
    for note in result.notes:
        out.print(f"note: {note}")
    for what in result.unchecked:
        out.print(f"not checked: {what}")


def _show_findings(out: Console, result: Verification) -> None:
    by_people = result.people is not None or any(finding.holds is None for finding in result.findings)
    by_attacker = any(finding.attacker is not None for finding in result.findings)
    table = Table(box=None, pad_edge=False)
    against, counted = ["against"] if by_attacker else [], ["counted"] if by_people else []
    for name in ("model", "attribute", *against, "reached", "asked", *counted, ""):
        table.add_column(name)
    words: dict[bool | None, str | Text] = {
        True: "holds", False: Text("FAILS", "bold red"), None: "not checked",
    }  # fmt: skip
    for each in result.findings:
        # A limit is named where its model has several.
        limits = {other.quantity for other in result.findings if other.model == each.model}
        attacker = f"{each.attacker} (who knows {', '.join(each.knows)})" if each.attacker is not None else ""
        table.add_row(
            each.title + (f", {each.quantity}" if len(limits) > 1 else ""),
            each.attribute or "",
            *([attacker] if by_attacker else []),
            _text_of_figure(each.reached),
            _text_of_figure(each.asked),
            *([each.unit] if by_people else []),
            words[each.holds],
        )
    out.print(table)


def _show_clauses(out: Console, profile: str | None, clauses: Sequence[ClauseResult]) -> None:
    """Print the clauses of a profile: a line for each that was found something of, the others together."""
    table = Table(box=None, pad_edge=False)
    for name in (profile or "context", "", "found"):
        table.add_column(name, overflow="fold")
    for each in clauses:
        if each.detail:
            state = "no answer" if each.unanswered else each.state.replace("not met", "NOT MET")
            table.add_row(each.id, state, each.detail)
    out.print(table)
    met = [each.id for each in clauses if not each.detail]
    if met:
        out.print(f"checked, nothing found: {', '.join(met)}")
    counted = Counter(each.state for each in clauses)
    said = ", ".join(f"{counted[state]} {state}" for state in ("checked", "attested", "not met"))
    out.print(f"clauses: {said}. This is no legal opinion.")


def _text_of_figure(value: float | None) -> str:
    """Write a figure with at most six significant digits, and whole numbers whole."""
    if value is None or math.isnan(value):
        return "-" if value is None else "nothing"
    if math.isinf(value):
        return "infinity" if value > 0 else "-infinity"
    whole = abs(value) < 10**15 and (value == int(value) or abs(value) >= 10**5)
    return f"{value:,.0f}" if whole else f"{value:.6g}"
