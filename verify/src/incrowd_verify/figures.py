"""Figures of a release: its classes, the share of suppressed records, and every limit of the policy.

Suppressed records are judged last, as a class of their own, since that changes the tables of `classes`.
Unless the policy keeps them, they have to satisfy every limit. Kept records that fail a limit are a point of
the verdict.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from incrowd_verify.attribute import Attribute
from incrowd_verify.checks import Checks
from incrowd_verify.classes import count_records, count_rows, group
from incrowd_verify.errors import ParameterError, TableError, named, setting
from incrowd_verify.gate import wording
from incrowd_verify.gate.points import Point
from incrowd_verify.inputs import Tables, respell_values, write_plainly
from incrowd_verify.models import SLACK, Measuring, needs_values
from incrowd_verify.persons import Persons, refuse_several_rows
from incrowd_verify.policy import Policy
from incrowd_verify.population import cover, cover_by_script, find_weights
from incrowd_verify.result import Finding
from incrowd_verify.source import Table


def find_figures(
    con: Checks, policy: Policy, tables: Tables, persons: Persons | None
) -> tuple[tuple[int, int, int], list[Finding], Measuring]:
    """Group the records, and measure the figures that the policy limits.

    Returns
    -------
    counted
        How many records, suppressed records and classes there are.
    findings
    measuring
        What measured them.
    """
    released, quasi = tables.released, policy.named("quasi")
    # The score looks at all sensitive columns, a joint model at all the others, too.
    sensitive = policy.named("sensitive") if any(map(needs_values, policy.models)) else ()
    keys, values = ([column.name for column in each] for each in (quasi, sensitive))
    con.note(
        f"Records and their classes: q0, q1, ... are the quasi-identifiers {named(keys, 50)}",
        *([f"and s0, s1, ... the sensitive columns {named(values, 50)}"] if values else []),
    )
    by_person = persons is not None and persons.several
    group(con, released, keys, values, policy.null_values, by_person=by_person)
    records, _, classes = counted = count_records(con)
    if not records:
        raise TableError(f"{released.title}: the file holds no records")
    con.note("Suppressed records have * in every quasi-identifier and are in no class.")
    # A raw record that is not in the release is suppressed, too.
    missing = f" + {tables.missing}" if tables.missing else ""
    con.check(
        "share of suppressed records",
        f"SELECT (count(*) FILTER (suppressed){missing})::DOUBLE / (count(*){missing}) FROM record",
        f"reached <= {policy.max_suppression + SLACK!r}::DOUBLE",
        policy.max_suppression,
    )
    con.check("classes", "SELECT count(*) FROM classes", "reached > 0", 1)
    attributes = {}
    lists = [column.name for column in sensitive if column.parts is not None]
    if con.is_script and lists:
        raise ParameterError(
            f"no SQL script can judge column {named(lists)} by the parts of its cells; use verify"
        )
    for place, column in enumerate(sensitive):
        stored = released.type_of(column.name)
        stored = write_plainly(con, "member", f"s{place}", stored, column, policy.null_values)
        attributes[column.name] = Attribute(con, place, column, stored, by_person=by_person)
        attributes[column.name].check_kind()
    if tables.population is not None:
        _count_population(con, policy, tables.population)
    unweighed = find_weights(con, tables, policy, persons)
    if con.is_script:
        _refuse_unknown(policy, tables.population, unweighed)
    measuring = Measuring(
        con,
        len(quasi),
        classes,
        attributes,
        tables.population is not None,
        persons,
        unweighed,
        policy.wildcards,
        policy.unjudged,
    )
    return counted, measuring.find_policy(policy), measuring


def _count_population(con: Checks, policy: Policy, population: Table) -> None:
    """Count whom the classes cover in a population, whose rows must be of different people."""
    refuse_several_rows(con, population, policy)
    population = respell_values(con, population, policy)
    count = cover_by_script if con.is_script else cover
    count(con, population, policy.named("quasi"), policy.null_values)


def _refuse_unknown(policy: Policy, population: Table | None, unweighed: str | None) -> None:
    """Refuse limits of a script on values that are not in the file, or on people without a population."""
    demands = policy.all_demands
    if any(demand.looks_at(policy.unjudged) for demand in demands):
        raise ParameterError(
            f"a script reads the values of column {named(sorted(policy.unjudged))} in the file, and by "
            "judge = 'original' the policy asks only for those before; verify says so, too"
        )
    others = sorted({each.model for each in demands if each.needs_people})
    if population is not None or not others or (others == ["k-map"] and unweighed == ""):
        return
    why = f"name it with {setting('population=', '--population')}"
    raise ParameterError(
        f"no SQL script can check this release by itself: {', '.join(others)} compares the release with a "
        f"population; {unweighed or why}"
    )


_OWN = "(SELECT max(class) FROM classes)"


def check_suppressed(
    con: Checks, policy: Policy, tables: Tables, measuring: Measuring, findings: Sequence[Finding]
) -> tuple[Point, ...]:
    """Check that the suppressed records satisfy every limit as a class of their own, or are not there.

    Parameters
    ----------
    measuring, findings
        What measured the limits without these records, and what it found.

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
    _add_class(con, tables, measuring)
    alone = measuring.wildcards != "value"
    if alone:
        # A cell matches others, and this class is judged by itself.
        con.execute(f"DELETE FROM classes WHERE class < {_OWN}")
    with_them = replace(
        measuring,
        classes=1 if alone else measuring.classes + 1,
        attributes={name: each.again("suppressed") for name, each in measuring.attributes.items()},
        wildcards="value",
        against=", the suppressed records being a class",
    )
    failing: list[str] = []
    unknown: list[str] = []
    for before, after in zip(findings, with_them.find_policy(policy), strict=True):
        name = after.model if after.attacker is None else f"{after.model} against {after.attacker!r}"
        if after.holds is False and (alone or before.holds is not False):
            failing.append(name)
        elif after.holds is None and before.holds is not None:
            unknown.append(name)
    if kept:
        names = tuple(dict.fromkeys(failing))
        share = records / count_rows(con, tables.released)
        return (wording.suppressed_records(records, share, names),) if names else ()
    whose = f"{records} suppressed records" if records > 1 else "1 suppressed record"
    if failing:
        verb, own = ("do", "their") if records > 1 else ("does", "its")
        con.remarks.problems.append(
            f"{whose} {verb} not satisfy {' and '.join(dict.fromkeys(failing))} as a class of {own} own"
        )
    if unknown:
        con.remarks.unchecked.append(
            f"whether {whose} satisfy {' and '.join(dict.fromkeys(unknown))} as a class of their own: it is "
            "not known whose they are"
        )
    return ()


def _add_class(con: Checks, tables: Tables, measuring: Measuring) -> None:
    """Add the suppressed records to `classes`, `member`, `crowd`, `covered` and `standing`."""
    by_person = measuring.persons is not None and measuring.persons.several
    size = "count(DISTINCT person)" if by_person else "count(*)"
    # A text of more stars than a cell has letters is no other cell.
    cells = ", ".join(
        f"(SELECT repeat('*', coalesce(max(length(q{at})), 0)::BIGINT + 1) FROM classes)"
        for at in range(measuring.quasi)
    )
    names = ", ".join(f"q{at}" for at in range(measuring.quasi))
    con.execute(
        f"INSERT INTO classes (class, records, size, {names}) SELECT "
        f"(SELECT coalesce(max(class), 0) + 1 FROM classes), count(*)::HUGEINT, {size}::HUGEINT, {cells} "
        "FROM record WHERE suppressed"
    )
    if measuring.attributes or by_person:
        con.execute(f"UPDATE member SET class = {_OWN} WHERE class IS NULL")
    if by_person:
        con.execute(f"INSERT INTO crowd SELECT DISTINCT class, person FROM member WHERE class = {_OWN}")
    if tables.population is not None:
        people = count_rows(con, tables.population)
        con.execute(
            f"INSERT INTO covered SELECT class, size, {people}::HUGEINT FROM classes WHERE class = {_OWN}"
        )
        con.execute("UPDATE uncovered SET people = 0")
    if measuring.unweighed == "":
        con.execute(f"UPDATE standing SET class = {_OWN} WHERE class IS NULL")
