"""`incrowd verify`."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from shlex import quote
from typing import TYPE_CHECKING, Annotated, Any

import typer

from incrowd.core.errors import ParameterError
from incrowd.core.table.settings import wildcard_sentence
from incrowd.faces.cli import completing, options, outputs
from incrowd.faces.cli.calling import program
from incrowd.faces.cli.logs import LOG
from incrowd.faces.cli.parsing import file_or_address, listed, named
from incrowd.release.profiles import PROFILES

if TYPE_CHECKING:
    from rich.console import Console

    from incrowd.core.io.targets import Target
    from incrowd.verification import ClauseResult, Finding, PeopleFound, Verification


def verify(
    released: options.Released,
    policy: Annotated[Path, typer.Option("--policy", help="The policy file that it has to satisfy.")],
    table: options.Table = None,
    population: options.People = None,
    against: Annotated[
        Any,
        typer.Option(
            "--against",
            metavar="RAW",
            parser=file_or_address,
            help="The raw table: each cell must be true of its record, other columns unchanged.",
        ),
    ] = None,
    against_table: Annotated[
        str | None, typer.Option("--against-table", metavar="TABLE", help="Its table, if it is a database.")
    ] = None,
    row_map: options.RowMap = None,
    suppressed_as: options.SuppressedAs = None,
    names: Annotated[
        str | None,
        typer.Option("--names", metavar="A,B,...", help="Column names of a raw CSV that has no header line."),
    ] = None,
    delimiter: options.Delimiter = None,
    encoding: Annotated[
        str | None, typer.Option("--encoding", help="Encoding of a CSV; UTF-8 by default.")
    ] = None,
    sheet: options.Sheet = None,
    header_row: Annotated[
        int | None,
        typer.Option(
            "--header-row",
            metavar="N",
            min=1,
            help="The line or row of the raw table that names its columns; found out by default.",
        ),
    ] = None,
    escape_formulas: Annotated[
        bool, typer.Option("--escape-formulas", help="The CSV was written with --escape-formulas.")
    ] = False,
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
    limit cannot be checked. What was not looked at is listed. Where the policy says whose row it is,
    --against and --row-map are needed to count people.
    """
    from incrowd.verification import checks_as_sql
    from incrowd.verification import verify as check

    script = None
    if emit_sql is not None:
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
        if names is not None or header_row is not None or escape_formulas or suppressed_as:
            raise ParameterError(
                "--emit-sql: the script does not go with --names, --header-row, --escape-formulas or "
                "--suppressed-as"
            )
        written = outputs.outputs_of(released, population, against, row_map, policy=policy, force=force)
        # Beside the release alone it has none of another table's values.
        script = outputs.added(written, emit_sql, private=against is not None or population is not None)
    tables: dict[str, Any] = {
        "table": table,
        "population": population,
        "against": None if against is None else named(against),
        "against_table": against_table,
        "row_map": row_map,
        "delimiter": delimiter,
        "encoding": encoding,
    }
    # A script that cannot be written is refused before the release is looked at.
    text = "" if script is None else checks_as_sql(named(released), policy, **tables)
    result = check(
        named(released),
        policy,
        **tables,
        names=listed(names),
        escaped=escape_formulas,
        sheet=sheet,
        header_row=header_row,
        previous_release=previous_release,
        published_as_one=published_as_one,
        account=account,
        profile=profile,
        suppressed_as=suppressed_as or (),
    )
    if script is not None:
        _write_script(script, text)
    if json:
        outputs.print_json(result.to_dict())
    else:
        _show(result, "" if not result.is_open else _with_people(released, policy, against))
        if emit_sql is not None:
            LOG.say(f"written: {emit_sql}; run it with duckdb < {emit_sql}")
    if not result.ok:
        raise typer.Exit(2 if result.is_open else 1)


def _write_script(script: Target, text: str) -> None:
    from incrowd.core.io.targets import writing

    with script.outputs, writing(script) as place:
        place.write_text(text, encoding="utf-8", newline="\n")


def _with_people(released: Any, policy: Path, against: Any) -> str:
    """Return the call that counts people, which needs the raw table and the row map."""
    raw = "RAW" if against is None else quote(str(against))
    return (
        f"{program()} verify {quote(str(released))} --policy {quote(str(policy))} --against {raw} "
        "--row-map ROWS"
    )


def _show(result: Verification, with_people: str) -> None:
    """Print the figures of each table, and at last the verdict and whether the release is verified.

    Parameters
    ----------
    with_people
        The call that counts people, where they were not counted.
    """
    from incrowd.faces.cli.summary import show_verdict
    from incrowd.faces.cli.tables import console

    out = console()
    for each in (result, result.earlier, result.together):
        if each is not None:
            _show_table(out, each)
    if any(finding.holds is None for finding in result.findings):
        out.print(f"people not counted; to count them: {with_people}", soft_wrap=True)
        out.print("`anonymize --row-map ROWS` writes the row map with the release, and keeps it from others")
    show_verdict(out, result.verdict)
    one = ", if both are published as one table" if result.published_as_one else ""
    out.print(f"verified{one}" if result.ok else "NOT verified")


def _show_table(out: Console, result: Verification) -> None:
    people = result.people
    whose = "" if people is None else f" of {people.people:,} people"
    out.print(
        f"{result.file}: {result.records:,} records{whose} in {result.classes:,} classes, "
        f"{result.suppressed:,} suppressed",
    )
    out.print(wildcard_sentence(result.wildcards))
    if people is not None:
        _show_people(out, result, people)
    if result.findings:
        _show_findings(out, result)
    if result.clauses:
        show_clauses(out, result.profile, result.clauses)
    for note in result.notes:
        out.print(f"note: {note}")
    for what in result.unchecked:
        out.print(f"not checked: {what}")


def _show_findings(out: Console, result: Verification) -> None:
    """Print a line for each limit: the value reached, and whether it holds."""
    from rich.table import Table

    from incrowd.faces.cli.tables import number, verdict

    by_people = result.people is not None or any(finding.holds is None for finding in result.findings)
    by_attacker = any(finding.attacker is not None for finding in result.findings)
    table = Table(box=None, pad_edge=False)
    against, counted = ["against"] if by_attacker else [], ["counted"] if by_people else []
    for name in ("model", "attribute", *against, "reached", "asked", *counted, ""):
        table.add_column(name)
    for finding in result.findings:
        table.add_row(
            finding.title + _part(finding, result),
            finding.attribute or "",
            *([_attacker(finding)] if by_attacker else []),
            number(finding.reached),
            number(finding.asked),
            *([finding.unit] if by_people else []),
            "not checked" if finding.holds is None else verdict(finding.holds),
        )
    out.print(table)


def show_clauses(out: Console, profile: str | None, clauses: Sequence[ClauseResult]) -> None:
    """Print the clauses of a profile: a line for each that was found something of, the others together."""
    from rich.table import Table

    table = Table(box=None, pad_edge=False)
    for name in (profile or "context", "", "found"):
        table.add_column(name, overflow="fold")
    for each in clauses:
        if each.detail:
            table.add_row(each.id, _state(each), each.detail)
    out.print(table)
    met = [each.id for each in clauses if not each.detail]
    if met:
        out.print(f"checked, nothing found: {', '.join(met)}")
    counted = Counter(each.state for each in clauses)
    said = ", ".join(f"{counted[state]} {state}" for state in ("checked", "attested", "not met"))
    out.print(f"clauses: {said}. This is no legal opinion.")


def _state(clause: ClauseResult) -> str:
    if clause.unanswered:
        return "no answer"
    return clause.state.upper() if clause.state == "not met" else clause.state


def _part(finding: Finding, result: Verification) -> str:
    """Name the limit where the model has several."""
    limits = {each.quantity for each in result.findings if each.model == finding.model}
    return f", {finding.quantity}" if len(limits) > 1 else ""


def _attacker(finding: Finding) -> str:
    if finding.attacker is None:
        return ""
    return f"{finding.attacker} (who knows {', '.join(finding.knows)})"


def _show_people(out: Console, result: Verification, people: PeopleFound) -> None:
    unnamed = f" {people.unnamed:,} records do not say whose they are." if people.unnamed else ""
    out.print(
        f"The figures count people.{unnamed} The smallest class has {people.smallest:,} people, the smallest "
        f"by records {result.smallest:,} records. All records of {people.suppressed:,} people are suppressed."
    )
