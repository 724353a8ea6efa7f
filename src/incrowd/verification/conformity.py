"""Whether a release suits its policy apart from the models: its columns, its cells, its suppression."""

from __future__ import annotations

import math

from incrowd.errors import named
from incrowd.verification.cells import Shapes, listed
from incrowd.verification.checks import Checks, Script
from incrowd.verification.ends import off_grid
from incrowd.verification.forms import check_form, check_raw_left
from incrowd.verification.groups import check_groups
from incrowd.verification.loading import Tables
from incrowd.verification.persons import Persons
from incrowd.verification.policy import UNRELEASED, Column, Policy
from incrowd.verification.source import Table, literal
from incrowd.verification.sums import check_sums

_TOLERANCE = 1e-12


def remark(
    con: Checks, policy: Policy, tables: Tables, persons: Persons | None, counted: tuple[int, int, int]
) -> None:
    """Say where the release does not suit the policy, and which points could not be checked.

    Parameters
    ----------
    counted
        How many records, suppressed records and classes there are.
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
    if gone / everybody > policy.max_suppression + _TOLERANCE:
        left_out = f" ({missing} of them are not in the release)" if missing else ""
        problems.append(
            f"{gone} of {everybody} records are suppressed{left_out}, more than the share of "
            f"{policy.max_suppression}"
        )
    return problems


def _perturbed(policy: Policy, con: Checks) -> None:
    """Say which values of perturbed sensitive columns the figures are about."""
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
    limit = math.inf if policy.set_limit is None or column.style not in ("auto", "set") else policy.set_limit
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
