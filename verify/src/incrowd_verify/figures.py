"""Figures of a release: the classes, the share of suppressed records, and every limit of the policy.

Suppressed records are judged last, as a class of their own, since that changes the tables of `classes`.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from incrowd_gate.errors import TableError, named
from incrowd_verify.attribute import Attribute
from incrowd_verify.checks import Checks
from incrowd_verify.classes import count_records, count_rows, group
from incrowd_verify.demands import MODELS
from incrowd_verify.limits import SLACK, Finding
from incrowd_verify.lists import refuse_in_script
from incrowd_verify.models import Measuring
from incrowd_verify.persons import Persons
from incrowd_verify.policy import Policy
from incrowd_verify.population import count_population, find_weights, refuse_unknown
from incrowd_verify.tables import Tables, write_plainly


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
    looks = any(model == "p29" or "attribute" in MODELS[model][0] for model in policy.models)
    sensitive = policy.named("sensitive") if looks else ()
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
    if con.is_script:
        refuse_in_script(sensitive)
    for place, column in enumerate(sensitive):
        stored = released.type_of(column.name)
        stored = write_plainly(
            con, "member", f"s{place}", stored, column, policy.null_values, of_file=released.in_order
        )
        attributes[column.name] = Attribute(con, place, column, stored, by_person=by_person)
        attributes[column.name].check_kind()
    if tables.population is not None:
        count_population(con, policy, tables.population)
    unweighed = find_weights(con, tables, policy, persons)
    if con.is_script:
        refuse_unknown(policy, tables.population, unweighed)
    measuring = Measuring(
        con, len(quasi), classes, attributes, tables.population is not None, persons, unweighed,
        policy.wildcards, policy.unjudged,
    )  # fmt: skip
    return counted, measuring.find_policy(policy), measuring


_OWN = "(SELECT max(class) FROM classes)"


def judge_suppressed(
    con: Checks, policy: Policy, tables: Tables, measuring: Measuring, findings: Sequence[Finding]
) -> tuple[list[str], list[str]]:
    """Judge the suppressed records as a separate class, which is added to all tables of classes.

    `measuring`, `findings`: what measured the limits without these records, and what it found.

    Returns
    -------
    The models that fail with this class and did not before, and those of which nobody knows.
    """
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
    return list(dict.fromkeys(failing)), list(dict.fromkeys(unknown))
