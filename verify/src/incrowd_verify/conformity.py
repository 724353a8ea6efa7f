"""Checks of a release against the policy and the account: columns, cells, suppression, digests."""

from __future__ import annotations

import calendar
import datetime
import hashlib
import json
import math
from collections.abc import Collection, Sequence
from fractions import Fraction
from pathlib import Path
from typing import Any

from incrowd_gate import wording
from incrowd_gate.errors import TableError, named, refuse_pipe, setting
from incrowd_gate.points import Point
from incrowd_verify.cells import Shapes, ends_of, is_value, listed
from incrowd_verify.checks import Checks, Script
from incrowd_verify.classes import count_rows
from incrowd_verify.databases import is_address
from incrowd_verify.figures import judge_suppressed
from incrowd_verify.forms import check_form, check_raw_left, check_sums
from incrowd_verify.limits import SLACK, Finding
from incrowd_verify.models import Measuring
from incrowd_verify.persons import Persons
from incrowd_verify.policy import UNRELEASED, USUAL, Column, Policy
from incrowd_verify.recipes import day_of
from incrowd_verify.source import Table, literal
from incrowd_verify.tables import GROUP, Tables
from incrowd_verify.values import written


def remark(
    con: Checks, policy: Policy, tables: Tables, persons: Persons | None, counted: tuple[int, int, int]
) -> None:
    """Say where the release does not suit the policy, and which points could not be checked.

    `counted`: how many records, suppressed records and classes there are.
    """
    remarks, released, raw = con.remarks, tables.released, tables.raw
    check_columns(con, policy, released)
    check_groups(con, policy, released)
    remarks.problems += _too_much_suppressed(policy, tables.missing, *counted[:2])
    joining = [column.name for column in policy.named("person") if column.name in released.names]
    if joining and not policy.linked and persons is not None and persons.several:
        remarks.problems.append(
            f"column {named(joining)} joins the records of a person, and the policy does not say "
            "linked = true: its limits are about single records"
        )
    for column in policy.treated:
        if column.role != "quasi":
            check_form(con, column, policy, released)
            check_sums(con, column, policy, tables)
            if raw is not None:
                check_raw_left(con, column, policy, released, raw)
        elif raw is not None:
            # Its treated values were generalized.
            remarks.unchecked.append(
                f"whether the cells of column {column.name!r} are true: its values were treated before"
            )
    _perturbed(policy, con)
    for number, column in enumerate(policy.named("quasi")):
        check_cells(con, number, column, policy, has_raw=raw is not None)


def check_columns(con: Checks, policy: Policy, released: Table) -> None:
    """Check that no column was released that the policy does not release; names are compared literally."""
    roles = {column.name: column.role for column in policy.columns if column.treatment is None}
    treated = [column.name for column in policy.treated]
    unreleased = [name for name, role in roles.items() if role in UNRELEASED]
    if policy.unlisted == "keep":
        wrong = f"name IN ({', '.join(map(literal, unreleased))})" if unreleased else "false"
    else:
        known = [name for name in (*roles, *treated) if name not in unreleased]
        wrong = f"name NOT IN ({', '.join(map(literal, known))})"
    con.note("No column that the policy does not release.")
    con.check("columns too many", f"SELECT count(*) FROM released_names WHERE {wrong}")
    con.remarks.problems += [
        f"the {roles[name]} column {name!r} is in the file" for name in released.names if name in unreleased
    ]
    if policy.unlisted != "keep":
        con.remarks.problems += [
            f"the column {name!r} is in the file, and the policy does not release it"
            for name in released.names
            if name not in roles and name not in treated
        ]


def _too_much_suppressed(policy: Policy, missing: int, records: int, suppressed: int) -> list[str]:
    problems = []
    gone, everybody = suppressed + missing, records + missing
    if gone / everybody > policy.max_suppression + SLACK:
        left_out = f" ({missing} of them are not in the release)" if missing else ""
        problems.append(
            f"{gone} of {everybody} records are suppressed{left_out}, more than the share of "
            f"{policy.max_suppression}"
        )
    return problems


def _perturbed(policy: Policy, con: Checks) -> None:
    for column in policy.named("sensitive"):
        if column.name in policy.unjudged:
            con.remarks.unchecked.append(
                f"column {column.name!r} is perturbed, and its models are not checked on released values: by "
                "judge = 'original' the policy asks only for those before, which the file does not have"
            )
        elif column.treatment is not None and column.treatment.perturbs:
            con.remarks.notes.append(
                f"the figures of column {column.name!r} are about the values in the file; those before "
                "it was perturbed are not there"
            )


def check_cells(con: Checks, number: int, column: Column, policy: Policy, *, has_raw: bool = False) -> None:
    """Check that the policy allows each cell of a quasi-identifier."""
    shapes, name = Shapes(column), column.name
    rows = con.execute(
        f"SELECT CAST(q{number} AS VARCHAR), sum(records) FROM classes GROUP BY q{number}"
    ).fetchall()
    sizes = {text: int(size) for text, size in rows}
    limit = policy.set_limit if column.style in ("auto", "set") else math.inf
    long = {text for text in sizes if listed(text) > limit}
    odd = {text for text in sizes if not shapes.possible(text)}
    beside, why = off_grid(column, sizes)
    fits = {} if column.levels is None else {text: shapes.level_fits(text, *column.levels) for text in sizes}
    levels_unknown = bool(policy.algorithm.get("recode_suppressed")) or None in fits.values()
    misplaced = set() if levels_unknown else {text for text, fit in fits.items() if not fit}
    if isinstance(con, Script):
        wrong = misplaced if why else misplaced | beside
        if not shapes.unknown or wrong:
            good = [(text, 1) for text in sizes.keys() - long - odd - wrong]
            what = f"cells that do not suit the policy: {name}"
            con.check_listed(what, name, f"q{number}", "classes", "records", good)
        elif limit < math.inf:
            _check_long(con, number, name, int(limit))
        return
    for cells, what in (
        (long, f"have a list of more than {limit} values"),
        (odd, f"have a cell ({len(odd)} distinct) that is no node of its hierarchy and nothing else that it "
         "may have"),
        (() if why else beside, f"have a range ({len(beside)} distinct) that does not end on its grid, and "
         "the policy rounds ends outward"),
        (misplaced, "are not on the levels that it may have"),
    ):  # fmt: skip
        if cells:
            records = sum(sizes[text] for text in cells)
            con.remarks.problems.append(f"the column {name!r}: {records} records {what}")
    unchecked = con.remarks.unchecked
    if beside and why:
        unchecked.append(f"whether the ranges of column {name!r} end on its grid: {why}")
    if shapes.unknown and not has_raw:
        unchecked.append(f"whether the cells of column {name!r} suit the policy: {shapes.unknown}")
    if column.levels is not None and levels_unknown:
        unchecked.append(f"whether the cells of column {name!r} are on the levels that it may have")


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
        f"SELECT coalesce(sum(records), 0) FROM classes WHERE {is_set} AND {parts} > {limit}",
        column=name,
    )


_YEARS = Fraction(1800), Fraction(2199)
_WIDE = 22
"""Ends that are so far apart are of values that are 20 or more apart: each was moved by less than one."""
_LONGEST = {"day": 1, "month": 17, "year": 185}
"""Days from a date to the nearest beginning of a part of the calendar, and one more."""


def off_grid(column: Column, cells: Collection[str | None]) -> tuple[set[str], str]:
    """Find the ranges of a column that end beside the column's grid.

    Returns
    -------
    ranges
        Those that do; none where the column's ends may be anywhere.
    why
        Why they may be texts of a category, and no ranges; empty where the cells or the policy tell.
    """
    labels = column.hierarchy is not None and not column.is_by_number
    if column.grid is None or labels or column.style not in ("auto", "range"):
        return set(), ""
    read = {cell: ends_of(cell, column.measure) for cell in cells if cell is not None}
    known = {cell: ends for cell, ends in read.items() if ends is not None}
    texts = [end for ends in known.values() for end in ends if end is not None]
    numbers = [Fraction(end) for end in texts if day_of(end) is None]
    years = bool(numbers) and all(
        number.denominator == 1 and _YEARS[0] <= number <= _YEARS[1] for number in numbers
    )
    # Beyond 100 two digits are multiples of five, and are moved by more than one.
    small = numbers if years else [number for number in numbers if abs(number) <= 100]
    wide = bool(small) and max(small) - min(small) >= _WIDE
    # If most ends have at most two digits, an end with more is not on the grid.
    longer = [number for number in texts if day_of(number) is None and _digits(number) > 2]
    plain = [cell for cell in cells if cell is not None and is_value(cell)]
    single = [Fraction(cell) for cell in plain if day_of(cell) is None]
    narrow = _narrow_step([*numbers, *single]) if 2 * len(longer) > len(numbers) else None
    wrong = {
        cell
        for cell, ends in known.items()
        if not all(
            end is None or _fits(end, column, last=bool(n), years=years, wide=wide, narrow=narrow)
            for n, end in enumerate(ends)
        )
    }
    typed = column.measure is not None or any(
        cell is not None and (is_value(cell) or None in known.get(cell, ())) for cell in cells
    )
    if wrong and not typed:
        return wrong, "the policy gives them no kind"
    alone = bool(longer) and len({*numbers, *single}) == 1
    return wrong, "the release shows one number of it alone" if wrong and alone else ""


def _narrow_step(numbers: Collection[Fraction]) -> Fraction | None:
    """Return the step of ends that all have the same leading digits, or None for others.

    The values may be spread a little less than the ends, and so have ends ten times as fine::

        values 1000050 to 1001040, ends 1000000 to 1001100: multiples of 10
    """
    spread = max(numbers) - min(numbers) if numbers else Fraction(0)
    if not spread:
        return None
    size, width = (math.floor(math.log10(each)) for each in (max(map(abs, numbers)), spread))
    return Fraction(10) ** (width - 2) if spread < 4 * Fraction(10) ** (size - 1) else None


def _fits(end: str, column: Column, *, last: bool, years: bool, wide: bool, narrow: Fraction | None) -> bool:
    grid = column.grid
    if day_of(end) is not None:
        return len(end) == 10 and _is_edge(
            datetime.date.fromisoformat(end), "month" if grid == USUAL else str(grid), last=last
        )
    number = Fraction(end)
    if isinstance(grid, Fraction):
        return (number / grid).denominator == 1
    fine = narrow is not None and not number % narrow
    return grid == USUAL and (years or _digits(end) <= 2 or fine) and not (wide and number % 5)


def _digits(end: str) -> int:
    """Count the significant digits of a number."""
    return len(end.lstrip("-").partition("e")[0].replace(".", "").strip("0"))


def _is_edge(day: datetime.date, unit: str, *, last: bool) -> bool:
    """Say whether a day is the first or the last of a month or year."""
    if unit == "day":
        return True
    months = (1, 12) if unit == "year" else (day.month, day.month)
    if last:
        return (day.month, day.day) == (months[1], calendar.monthrange(day.year, months[1])[1])
    return unit in ("month", "year") and (day.month, day.day) == (months[0], 1)


def mean_slack(column: Column, cell: str) -> tuple[str, int]:
    """Return how far rounding may have moved a mean from the cell, where `cell` is SQL of a text.

    Returns
    -------
    numbers
        SQL of how far a number may be.
    days
        How many days a date may be.
    """
    grid = column.grid
    if grid is None:
        return "0", 1
    days = _LONGEST["month" if grid == USUAL else grid] if isinstance(grid, str) else 1
    if isinstance(grid, Fraction):
        return f"{float(grid / 2) * (1 + 1e-9)!r}", days
    number, half = f"TRY_CAST({cell} AS DOUBLE)", 0.5 * (1 + 1e-9)
    digits = f"coalesce(pow(10, floor(log10(nullif(abs({number}), 0)) + 1e-12) - 1) * {half!r}, 0)"
    fives = f"CASE WHEN abs({number}) <= 100 AND {number} % 5 = 0 THEN {5 * half!r} ELSE 0 END"
    return f"greatest({digits}, {fives})", days


_LARGEST = 1 << 26
_PIECE = 1 << 20


def differences(
    account: Path, released: str, policy: Path, records: int, suppressed: int
) -> tuple[list[str], list[str]]:
    """Compare a release and a policy with the account (``release.json``) that was saved beside both.

    - `released`: the release: a file or a folder; of a database only the records are compared.
    - `records`, `suppressed`: how many records it has, and how many of them are suppressed.

    Returns
    -------
    Problems, and what could not be checked.
    """
    said = _read_account(account)
    problems = []
    digests = {entry.get("sha256") for entry in said["files"].values() if isinstance(entry, dict)}
    place = Path(released)
    unchecked = []
    if is_address(released) or not place.exists():
        unchecked.append("whether the release is the one of the account: it is no file with a digest")
    elif _digest(place) not in digests:
        problems.append(
            "the release is not the file of its account: their digests (SHA-256) differ, so it was changed "
            "or written anew"
        )
    if _digest(policy) not in digests:
        problems.append(
            "the policy is not the one of the account: their digests (SHA-256) differ, so it may ask for less"
        )
    if said["records"] != records:
        problems.append(
            f"the release has {records:,} records, and its account says {said['records']:,}: records were "
            "added, left out, or stand in it twice"
        )
    gone = suppressed + said["left_out"]
    if said["reasons"] is None:
        if gone:
            unchecked.append("why records are suppressed: the account does not count them by reason")
    elif said["reasons"] != gone:
        problems.append(
            f"{gone:,} records are suppressed or left out, and the account has reasons for "
            f"{said['reasons']:,}"
        )
    return problems, unchecked


def _read_account(account: Path) -> dict[str, Any]:
    refuse_pipe(account)
    try:
        with account.open("rb") as file:
            content = file.read(_LARGEST + 1)
        document = json.loads(content)
    except OSError as error:
        raise TableError(f"{account}: the account cannot be read ({error.strerror})") from None
    except (ValueError, RecursionError):
        document = None
    if not isinstance(document, dict) or document.get("format") != "incrowd release":
        raise TableError(f"{account}: is no account of a release; those are saved as release.json")
    files, after = document.get("files"), document.get("after")
    records = after.get("records") if isinstance(after, dict) else None
    if not isinstance(files, dict) or not isinstance(records, int):
        raise TableError(
            f"{account}: has no digests of files; Release.save and the studio write them into an account"
        )
    left_out, suppression = document.get("left_out", 0), document.get("suppression")
    reasons = suppression.get("reasons") if isinstance(suppression, dict) else None
    numbers = [left_out, *(reasons.values() if isinstance(reasons, dict) else ())]
    if not all(type(number) is int and number >= 0 for number in numbers):
        raise TableError(f"{account}: counts no suppressed records; save the release again")
    counted = sum(reasons.values()) if isinstance(reasons, dict) else None
    return {"files": files, "records": records, "left_out": left_out, "reasons": counted}


def _digest(path: Path) -> str:
    """Return the SHA-256 of a file, or for a folder of the lines that sha256sum prints for all files."""
    if path.is_dir():
        inside = sorted(each.relative_to(path).as_posix() for each in path.rglob("*") if each.is_file())
        kept = [name for name in inside if not name.rpartition("/")[2].startswith(("_incrowd-files-", "."))]
        text = "".join(f"{_digest(path / name)}  {name}\n" for name in kept)
        return hashlib.sha256(text.encode()).hexdigest()
    digest = hashlib.sha256()
    try:
        with path.open("rb") as file:
            while piece := file.read(_PIECE):
                digest.update(piece)
    except OSError as error:
        raise TableError(f"{path}: cannot be read ({error.strerror})") from None
    return digest.hexdigest()


def check_groups(con: Checks, policy: Policy, released: Table) -> None:
    """Check the groups of a release under a policy that asks for m-invariance (Xiao and Tao 2007).

    Each group has one class, m or more records and distinct sensitive values. Whether people have the same
    values around in every release only the ledger knows.
    """
    if policy.m is None:
        return
    con.remarks.unchecked.append(
        "whether people have the same sensitive values around as in earlier releases: the ledger knows "
        f"({setting('composition_of_ledger', 'incrowd attack --ledger')})"
    )
    names = [column.name for column in (*policy.named("quasi"), *policy.named("sensitive"))]
    if len(policy.named("sensitive")) != 1 or not {GROUP, *names} <= set(released.names):
        con.remarks.problems.append(f"no column {GROUP!r} says which {policy.m} values stand together")
        con.never("each group had every sensitive value once")
        return
    *cells, value = (f"coalesce({written(con, released, each, policy.null_values)}, '')" for each in names)
    group = written(con, released, GROUP, policy.null_values)
    groups = f"SELECT {group} AS g, {value} AS v, [{', '.join(cells)}] AS q FROM {released.name} AS t"
    con.check(
        "records that repeat a sensitive value of their group",
        f"SELECT count(*) - count(DISTINCT (g, v)) FROM ({groups})",
        problem=lambda count: f"{count:,} records repeat a sensitive value of their group",
    )
    con.check(
        f"groups of fewer than {policy.m} values",
        f"SELECT count(*) FROM (SELECT g FROM ({groups}) GROUP BY g HAVING count(*) < {policy.m})",
        problem=lambda count: f"{count:,} groups have fewer than {policy.m} sensitive values",
    )
    con.check(
        "groups of several classes",
        f"SELECT count(*) FROM (SELECT g FROM ({groups}) GROUP BY g HAVING count(DISTINCT q) > 1)",
        problem=lambda count: f"{count:,} groups have records of several classes",
    )


def check_suppressed(
    con: Checks, policy: Policy, tables: Tables, measuring: Measuring, findings: Sequence[Finding]
) -> tuple[Point, ...]:
    """Check that the suppressed records satisfy every limit as a separate class, or are absent.

    Unless the policy keeps them, they have to satisfy every limit. The parameters are those of
    `figures.judge_suppressed`.

    Returns
    -------
    The point of records that leave although they do not, where the policy keeps them.
    """
    kept = policy.suppressed == "keep"
    if kept and con.is_script:
        return ()
    (records,) = con.row("SELECT count(*) FROM record WHERE suppressed")
    dropped = policy.suppressed == "drop"
    if kept and not records:
        return ()
    if dropped or not records:
        con.note("No record is suppressed." if dropped else "No record was suppressed when this was written.")
        con.check(
            "suppressed records in the file",
            "SELECT count(*) FROM record WHERE suppressed",
            problem=lambda found: f"{found} suppressed records are in the file, and the policy drops them",
        )
        return ()
    con.note("The suppressed records as a class of their own.")
    failing, unknown = judge_suppressed(con, policy, tables, measuring, findings)
    if kept:
        share = records / count_rows(con, tables.released)
        return (wording.suppressed_records(records, share, tuple(failing)),) if failing else ()
    whose = f"{records} suppressed records" if records > 1 else "1 suppressed record"
    if failing:
        verb, own = ("do", "their") if records > 1 else ("does", "its")
        con.remarks.problems.append(
            f"{whose} {verb} not satisfy {' and '.join(failing)} as a class of {own} own"
        )
    if unknown:
        con.remarks.unchecked.append(
            f"whether {whose} satisfy {' and '.join(unknown)} as a class of their own: it is "
            "not known whose they are"
        )
    return ()
