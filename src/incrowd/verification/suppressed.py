"""Suppressed records as a class of their own: whoever fits no other class is one of them.

Unless the policy keeps suppressed records, they have to satisfy every limit. If it keeps them and they fail a
limit, they are a point of the verdict. This is the last check of a release: it adds them to the tables of
`classes` as a class whose cells no other class has.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from incrowd.gate import wording
from incrowd.gate.points import Point
from incrowd.verification.checks import Checks
from incrowd.verification.classes import count_rows
from incrowd.verification.loading import Tables
from incrowd.verification.models import Measuring
from incrowd.verification.policy import Policy
from incrowd.verification.result import Finding

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
