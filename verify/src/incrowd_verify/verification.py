"""The job of a verification: its tables are loaded, every check is made, and the result is put together."""

from __future__ import annotations

import os
import re
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from os import PathLike
from pathlib import Path

from incrowd_verify.checks import Checks
from incrowd_verify.clause_checks import judge_clauses
from incrowd_verify.column_points import Texts
from incrowd_verify.comparison import check_against
from incrowd_verify.conformity import check_suppressed, differences, remark
from incrowd_verify.databases import OTHERS, is_address
from incrowd_verify.errors import ParameterError, TableError, setting
from incrowd_verify.figures import find_figures
from incrowd_verify.gate.points import answered
from incrowd_verify.persons import Persons, find_persons
from incrowd_verify.policy import Policy, read_policy
from incrowd_verify.profiles import Choice
from incrowd_verify.release_points import points_of_release
from incrowd_verify.result import ClauseResult, PeopleFound, Verification
from incrowd_verify.scratch import PrivateFolder
from incrowd_verify.source import CsvFormat, connect, reworded
from incrowd_verify.tables import Sources, Tables, load_tables, title_of


def verify(  # noqa: PLR0913
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
    names: Sequence[str] = (),
    escaped: bool = False,
    sheet: str | None = None,
    header_row: int | None = None,
    previous_release: str | PathLike[str] | None = None,
    published_as_one: bool = False,
    account: str | PathLike[str] | None = None,
    profile: str | None = None,
    suppressed_as: Sequence[str] = (),
) -> Verification:
    """Check a release against its policy, and its raw table or an earlier release where these are given.

    Parameters
    ----------
    path
        The release: a CSV (also gzipped) or Parquet file, a folder or pattern of such files, or the address
        of a database (``postgresql://``, ``sqlite:///``, ``duckdb:///``).
    policy_path
        The policy, a TOML file. Hierarchy files are looked for relative to it.
    table
        The table of a database.
    population
        The population: a table of people of whom the release may hold some. k-map, delta-presence and
        journalist risk need it.
    against
        The raw table, named as `path`: every cell must be true of its record, other columns must be as they
        were.
    against_table
        Its table, where it is a database.
    row_map
        Which record of the raw table each record of the release is: a file as `Release.write_row_map` writes
        it. Each record is then checked by itself; without it, the tables are compared as a whole. Where the
        policy says whose row it is, people are counted with it.
    delimiter
        One character between the fields of CSV files, or one and a blank; None to find out.
    encoding
        Of CSV files; None for UTF-8, or UTF-16 where the first bytes tell it.
    names
        The columns of a raw CSV file that has no header.
    escaped
        Whether the release is a CSV with ``'`` in front of texts that a spreadsheet would run as formulas.
    sheet
        The sheet that is read of Excel workbooks, where one has several.
    header_row
        The line of the raw CSV, or the row of the raw workbook, that names the columns, from 1; None finds it
        out.
    previous_release
        The file of an earlier release by the same policy. Each of the two is checked alone, and the limits on
        both as one table, too. Of the raw table of the earlier release nothing is checked.
    published_as_one
        Whether both are merged before anybody sees them. Limits are then checked only on both as one table.
    account
        The account that was saved beside the release, ``release.json``: release and policy must have the
        digests and the number of records that it says.
    profile
        A rule profile by its name, such as ``ema-0070``, whose clauses are judged, too. It takes the place of
        another one in the policy; of the same one the policy's inputs and attestations are kept.
    suppressed_as
        The texts of suppressed cells beside ``*``, in the quasi-identifiers of a release of another tool; the
        empty text is a missing cell.

    Returns
    -------
    Verification
        The figures, and whether each limit is met (with equality; sums within 1e-12). Where the policy says
        whose row it is, they are about people. Without the raw table or the order of its rows they are about
        records, and `holds` is None where people could change the verdict.

    Raises
    ------
    PolicyError
        The policy cannot be read, or asks for something that verify cannot check.
    SchemaError
        A quasi-identifier or a sensitive column is not in the release.
    HierarchyError
        A hierarchy is no tree, or lacks a value of its column.
    TableError
        A table cannot be read, or the release holds no records.
    ParameterError
        An unknown encoding, a delimiter that is no single character, a database without a table.

    Notes
    -----
    Definitions are those of `incrowd.privacy`. Suppressed records are in no class, but their sensitive values
    are part of the whole table's distribution. Unless the policy keeps them, they have to satisfy every limit
    as a class of their own. Raw records that are not in the release count as suppressed then. Missing is a
    value of its own. Numbers are compared by value; the values of a column with a hierarchy are its leaves.
    """
    if published_as_one and previous_release is None:
        raise ParameterError(
            f"{setting('published_as_one=True', '--published-as-one')} is about two releases; name the "
            f"earlier one ({setting('previous_release=', '--previous-release')})"
        )
    if header_row is not None and header_row < 1:
        raise ParameterError(f"header_row must be 1 or more, got {header_row}")
    if header_row is not None and names:
        raise ParameterError(
            f"{setting('names=', '--names')} are for a raw table without a header, and "
            f"{setting('header_row=', '--header-row')} says where it is; leave one out"
        )
    sources = Sources(
        _named(path),
        table,
        None if against is None else _named(against),
        against_table,
        None if population is None else _named(population, only_file=True),
        None if row_map is None else _named(row_map, only_file=True),
        CsvFormat(delimiter, encoding, sheet=sheet),
        names,
        escaped,
        header_row=header_row,
        suppressed_as=suppressed_as,
    )
    policy_file = Path(_named(policy_path, only_file=True))
    policy = _with_profile(read_policy(policy_file), profile, policy_file.parent)
    alone = replace(policy, demands=(), attackers=()) if published_as_one else policy
    # What leaves as one table has the points of one table.
    result = _verified(alone, sources, points=not published_as_one)
    if previous_release is not None:
        earlier = _named(previous_release, only_file=True)
        pair = replace(sources.alone(sources.released), released_table=table, beside=earlier)
        result = replace(
            result,
            earlier=_verified(alone, sources.alone(earlier), points=not published_as_one),
            together=_verified(policy, pair, points=published_as_one),
            published_as_one=published_as_one,
        )
    if account is None:
        return result
    described = Path(_named(account, only_file=True))
    problems, unchecked = differences(described, sources.released, Path(policy_path), result.records)
    return replace(result, problems=(*result.problems, *problems), unchecked=(*result.unchecked, *unchecked))


def _with_profile(policy: Policy, name: str | None, folder: Path) -> Policy:
    """Return a policy that chooses a profile by its name."""
    if name is None:
        return policy
    chosen = Choice.of({"name": name}, folder)
    same = policy.profile is not None and policy.profile.profile == chosen.profile
    return policy if same else replace(policy, profile=chosen)


def clauses_of(
    path: str | PathLike[str], policy_path: str | PathLike[str], chosen: Choice | None
) -> tuple[ClauseResult, ...]:
    """Judge the clauses of a profile on a release, and nothing else.

    - `path`, `policy_path`: as in `verify`.
    - `chosen`: the profile with its inputs, whose files may lie elsewhere than beside the policy.
    """
    policy = replace(read_policy(Path(policy_path)), profile=chosen, demands=(), attackers=())
    sources = Sources(_named(path), None, None, None, None, None, CsvFormat())
    with _opened(policy, sources) as (con, tables):
        find_figures(con, policy, tables, find_persons(con, tables, policy))
        return tuple(judge_clauses(con, policy, Texts(con, tables.released, policy.quasi)))


def _verified(policy: Policy, sources: Sources, *, points: bool) -> Verification:
    """Load the tables of a check, and check them."""
    with _opened(policy, sources) as (con, tables):
        return _checked(con, policy, tables, only_limits=sources.beside is not None, points=points)


@contextmanager
def _opened(policy: Policy, sources: Sources) -> Iterator[tuple[Checks, Tables]]:
    """Load the tables of a check."""
    with (
        PrivateFolder() as scratch,
        reworded(Path(title_of(sources.released))),
        connect(scratch, *sources.reached(), in_order=sources.raw is not None) as connection,
    ):
        con = Checks(connection)
        yield con, load_tables(con, policy, sources, scratch)


def _named(path: str | PathLike[str], *, only_file: bool = False) -> str:
    """Return a path or an address; a text that only looks like one is refused without naming it.

    An address may have a password.
    """
    named = os.fspath(path)
    if is_address(named) and not only_file:
        return named
    if re.match(r"(?i)\s*[a-z][a-z0-9+.:-]+:/|.*://|.*:/\S*@|.*\bpassword\s*=", named):
        if not OTHERS:
            raise TableError("an address names no file here; `incrowd verify` reads databases behind servers")
        raise TableError("an address is no file; a database is taken as the release or the raw table alone")
    return named


def _checked(con: Checks, policy: Policy, tables: Tables, *, only_limits: bool, points: bool) -> Verification:
    """Check the tables that were loaded."""
    persons = find_persons(con, tables, policy)
    counted, findings, measuring = find_figures(con, policy, tables, persons)
    records, suppressed, classes = counted
    unweighed = measuring.unweighed
    remarks = con.remarks
    if not only_limits:
        remark(con, policy, tables, persons, counted)
    if unweighed and tables.population is None and "k-map" in policy.models:
        remarks.unchecked.append(
            f"how many people the classes stand for by their sampling weights, an estimate: {unweighed}"
        )
    if persons is not None and persons.unknown:
        why = "nothing tells who is in both releases" if only_limits else persons.unknown
        remarks.unchecked.append(f"how many people the classes have: {why}")
    if not only_limits:
        check_against(con, tables, policy)
    texts = Texts(con, tables.released, policy.quasi)
    counted_points = points_of_release(con, policy, tables, texts) if points else ()
    clauses = () if only_limits else tuple(judge_clauses(con, policy, texts))
    smallest = int(con.row("SELECT coalesce(min(records), 0) FROM classes")[0])
    people = None if persons is None or persons.unknown else _found(con, persons, suppressed)
    # Last, as it changes the classes.
    exposed = check_suppressed(con, policy, tables, measuring, findings)
    return Verification(
        file=tables.released.title,
        records=records,
        suppressed=suppressed,
        max_suppression=policy.max_suppression,
        classes=classes,
        wildcards=policy.wildcards,
        findings=tuple(findings),
        problems=tuple(remarks.problems),
        unchecked=tuple(remarks.unchecked),
        notes=tuple(remarks.notes),
        points=answered((*counted_points, *(exposed if points else ())), policy.accepted),
        profile=None if policy.profile is None else policy.profile.profile.full_name,
        clauses=clauses,
        smallest=smallest,
        people=people,
    )


def _found(con: Checks, persons: Persons, suppressed: int) -> PeopleFound:
    """Say who was counted; where everybody has one record, so many people are suppressed as records."""
    if persons.several:
        suppressed = persons.people - int(con.row("SELECT count(DISTINCT person) FROM crowd")[0])
    (smallest,) = con.row("SELECT coalesce(min(size), 0) FROM classes")
    return PeopleFound(persons.people, persons.unnamed, suppressed, int(smallest))
