"""`incrowd verify`."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from shlex import quote
from typing import Annotated, Any

import typer

from incrowd.core.errors import ParameterError
from incrowd.faces.cli import completing, options, outputs
from incrowd.faces.cli.completing import program
from incrowd.faces.cli.linked import is_linked_release, refuse_given, verify_folder
from incrowd.faces.cli.logs import LOG
from incrowd.faces.cli.parsing import data_name, file_or_address, names_of
from incrowd_gate.profiles import PROFILES


@dataclass(frozen=True)
class SourceOptions:
    """The tables of a check: the release in a database, its population and its raw table."""

    table: options.Table = None
    population: options.People = None
    against: Annotated[
        Any,
        typer.Option(
            "--against",
            metavar="RAW",
            parser=file_or_address,
            help="The raw table: each cell must be true of its record, other columns unchanged.",
        ),
    ] = None
    against_table: Annotated[
        str | None, typer.Option("--against-table", metavar="TABLE", help="Its table, if it is a database.")
    ] = None
    row_map: options.RowMap = None

    def arguments(self) -> dict[str, Any]:
        """Return the arguments of `incrowd_verify.verification.verify`."""
        return vars(self) | {"against": None if self.against is None else data_name(self.against)}


@dataclass(frozen=True)
class ReadingOptions:
    """The format of the release and of its raw table."""

    suppressed_as: options.SuppressedAs = None
    names: Annotated[
        str | None,
        typer.Option("--names", metavar="A,B,...", help="Column names of a raw CSV that has no header line."),
    ] = None
    delimiter: options.Delimiter = None
    encoding: Annotated[
        str | None, typer.Option("--encoding", help="Encoding of a CSV; UTF-8 by default.")
    ] = None
    sheet: options.Sheet = None
    header_row: Annotated[
        int | None,
        typer.Option(
            "--header-row",
            metavar="N",
            min=1,
            help="The line or row of the raw table that names its columns; found out by default.",
        ),
    ] = None
    fill_merged: options.FillMerged = False
    escape_formulas: Annotated[
        bool, typer.Option("--escape-formulas", help="The CSV was written with --escape-formulas.")
    ] = False

    def arguments(self) -> dict[str, Any]:
        """Return the arguments of `incrowd_verify.verification.verify`."""
        others = {name: value for name, value in vars(self).items() if name != "escape_formulas"}
        return others | {
            "names": tuple(names_of(self.names)),
            "suppressed_as": self.suppressed_as or (),
            "escaped": self.escape_formulas,
        }


def verify(
    released: options.Released,
    sources: SourceOptions,
    reading: ReadingOptions,
    policy: Annotated[
        Path | None,
        typer.Option("--policy", help="The policy file that it has to satisfy; count tables need none."),
    ] = None,
    emit_sql: Annotated[
        Path | None,
        typer.Option(
            "--emit-sql",
            metavar="FILE",
            help="Also write the checks as one script of SQL for DuckDB, for an auditor without incrowd.",
        ),
    ] = None,
    previous_release: Annotated[
        Path | None,
        typer.Option(
            "--previous-release",
            metavar="RELEASE",
            help="An earlier release: it is checked alone, too, and the limits on both together.",
        ),
    ] = None,
    published_as_one: Annotated[
        bool,
        typer.Option(
            "--published-as-one",
            help="Check limits only on both together: they are merged before anybody sees them.",
        ),
    ] = False,
    account: Annotated[
        Path | None,
        typer.Option(
            "--account",
            metavar="FILE",
            help="The release.json that was saved with it: is this that release, and that policy?",
        ),
    ] = None,
    profile: Annotated[
        str | None,
        typer.Option(
            "--profile",
            metavar="NAME",
            help="Also judge the clauses of these rules; `list profiles` names them.",
            autocompletion=completing.names(PROFILES),
        ),
    ] = None,
    force: options.Force = False,
    json: options.Json = False,
) -> None:
    """Check a release by a second, independent implementation.

    It is checked against its policy. The second implementation counts by itself, in SQL. It says the verdict
    in the words in which every other command says it.

    Exit status 0: the verdict holds. 1: it is broken, or a point waits for an answer in the policy. 2: a
    limit cannot be checked, or the call is wrong. What was not looked at is listed. Where the policy says
    whose row it is, --against and --row-map are needed to count people.

    Of a folder of count tables it solves anew what anybody can compute of each hidden cell. With --against it
    also counts every published cell anew, and looks for unsafe ones. With --policy it compares the rules.
    """
    arguments = {
        **sources.arguments(),
        **reading.arguments(),
        "previous_release": previous_release,
        "published_as_one": published_as_one,
        "account": account,
        "profile": profile,
    }
    if is_linked_release(released, policy, sources.table):
        refuse_given(**arguments | dict.fromkeys(("table", "against", "against_table")))
        verify_folder(released, policy, sources, emit_sql, force=force, json=json)
        return
    from incrowd_verify.count_tables import is_tables

    if isinstance(released, Path) and is_tables(released):
        from incrowd_verify.cli import refuse_of_rows

        refuse_of_rows(**arguments, emit_sql=emit_sql)
        _verify_tables(released, policy, arguments, json=json)
        return
    if policy is None:
        raise ParameterError("name the policy that the release has to satisfy: --policy FILE")
    from incrowd.faces.cli.tables import console
    from incrowd.release.verification import checks_as_sql
    from incrowd.release.verification import verify as check
    from incrowd_verify.cli import exit_status, refuse_with_script, show

    script = None
    if emit_sql is not None:
        refuse_with_script(**arguments | {"names": reading.names})
        files = outputs.outputs_of(
            released, sources.population, sources.against, sources.row_map, policy=policy, force=force
        )
        # Beside the release alone it has none of another table's values.
        private = sources.against is not None or sources.population is not None
        script = outputs.add_output(files, emit_sql, private=private)
    # A script that cannot be written is refused before the release is looked at.
    text = ""
    if script is not None:
        how = {"delimiter": reading.delimiter, "encoding": reading.encoding}
        text = checks_as_sql(data_name(released), policy, **sources.arguments(), **how)
    result = check(data_name(released), policy, **arguments)
    if script is not None:
        from incrowd.core.io.targets import writing

        with script.outputs, writing(script) as path:
            path.write_text(text, encoding="utf-8", newline="\n")
    if json:
        outputs.print_json(result.to_dict())
    else:
        show(
            console(),
            result,
            "" if not result.is_unchecked else _people_call(released, policy, sources.against),
        )
        if emit_sql is not None:
            LOG.say(f"written: {emit_sql}; run it with duckdb < {emit_sql}")
    if status := exit_status(result):
        raise typer.Exit(status)


def _verify_tables(folder: Path, policy: Path | None, arguments: dict[str, Any], *, json: bool) -> None:
    from incrowd.faces.cli.tables import console
    from incrowd.release.verification import verify_tables
    from incrowd_verify.cli import show_tables
    from incrowd_verify.count_tables import RawTable
    from incrowd_verify.source import CsvFormat

    settings = ("delimiter", "encoding", "names", "sheet", "header_row", "fill_merged")
    csv_format = CsvFormat(**{name: arguments[name] for name in settings})
    against = arguments["against"]
    raw = None if against is None else RawTable(against, arguments["against_table"], csv_format)
    result = verify_tables(folder, policy, raw=raw)
    if json:
        outputs.print_json(result.to_dict())
    else:
        show_tables(console(), result)
    if not result.ok:
        raise typer.Exit(1)


def _people_call(released: Any, policy: Path, against: Any) -> str:
    """Return the command line that counts people, with raw table and row map."""
    raw = "RAW" if against is None else quote(str(against))
    return (
        f"{program()} verify {quote(str(released))} --policy {quote(str(policy))} --against {raw} "
        "--row-map ROWS"
    )
