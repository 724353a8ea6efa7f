"""The figures of a release: its classes, the share of suppressed records, and every limit of the policy."""

from __future__ import annotations

from incrowd.errors import ParameterError, TableError, named, setting
from incrowd.verification import script_cover
from incrowd.verification.attribute import Attribute
from incrowd.verification.checks import Checks
from incrowd.verification.classes import count_records, group
from incrowd.verification.loading import Tables, respell_values, write_plainly
from incrowd.verification.models import SLACK, Measuring, needs_values
from incrowd.verification.people import cover
from incrowd.verification.persons import Persons, refuse_several_rows
from incrowd.verification.policy import Policy
from incrowd.verification.result import Finding
from incrowd.verification.source import Table
from incrowd.verification.weights import find_weights


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
    count = script_cover.cover if con.is_script else cover
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
