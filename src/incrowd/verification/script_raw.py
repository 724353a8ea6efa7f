"""The raw table of a script: whose the records are, and whether every cell is true of its record.

Record N of the release is made record N of the raw table by a row map, or the policy keeps the order. Else
the tables are compared as a whole. Where the policy says nothing of the order, either will do; see `against`.
"""

from __future__ import annotations

from incrowd.errors import ParameterError, named
from incrowd.verification.against import Comparison, as_released, is_passed
from incrowd.verification.classes import count_rows
from incrowd.verification.forms import raw_left_sql
from incrowd.verification.persons import Persons, find_persons
from incrowd.verification.policy import Policy
from incrowd.verification.script import Script
from incrowd.verification.script_cover import check_as_a_whole
from incrowd.verification.source import Table, literal
from incrowd.verification.sums import check_sums


def put_in_place(script: Script, released: Table, raw: Table, row_map: Table) -> Table:
    """Put the raw records in the order of the released ones.

    Raises
    ------
    TableError
        The row map is none of this release.
    """
    script.note("The raw records in the order of the release, by the row map.")
    moved = as_released(script, released, raw, row_map)  # type: ignore[arg-type]
    row = f"TRY_CAST(c{row_map.place('row')} AS BIGINT)"
    script.check(
        "records that the row map does not name once",
        None,
        f"SELECT count(*) - count(DISTINCT {row}) + count(*) FILTER (coalesce({row} NOT BETWEEN 1 AND "
        f"(SELECT count(*) FROM {released.name}), true)) FROM {row_map.name}",
    )
    return moved


def check_same_rows(script: Script, released: Table, raw: Table) -> bool:
    """Write a check that there are as many raw records as released ones; return whether there are.

    If not, nothing else of both is compared, and the script never says that the policy is satisfied.
    """
    script.check(
        "records more or less than in the raw table",
        None,
        f"SELECT (SELECT count(*) FROM {released.name}) - (SELECT count(*) FROM {raw.name})",
    )
    if count_rows(script.con, released) == count_rows(script.con, raw):
        return True
    script.never("the tables had as many records")
    return False


def find_people(
    script: Script, released: Table, raw: Table | None, policy: Policy, *, placed: bool
) -> Persons | None:
    """Write down whose record each record is; None where the policy names no column for it.

    Parameters
    ----------
    placed
        Whether a row map told the order.

    Raises
    ------
    ParameterError
        It is not known.
    """
    if not policy.named("person"):
        return None
    script.note("Whose each record is; a record that does not say so is a person of its own.")
    persons = find_persons(script, released, raw, policy, placed=placed)  # type: ignore[arg-type]
    assert persons is not None
    if persons.unknown:
        _refuse_open(policy, persons.unknown)
        script.note(
            f"Not counted: the people. {persons.unknown[:1].upper()}{persons.unknown[1:]}.",
            "What holds by records holds by people, too.",
        )
        return persons
    names = [column.name for column in policy.named("person")]
    if not policy.linked and all(name in released.names for name in names):
        script.check(
            f"records of a person that {named(names)} joins",
            None,
            "SELECT count(*) - count(DISTINCT person) FROM whose",
        )
    tells_itself = all(
        column.treatment is not None and column.name in released.names for column in policy.named("person")
    )
    ordered = raw is not None and released.in_order and raw.in_order and (placed or policy.keep_order)
    if not (tells_itself or ordered):
        # Whose each record is, is not known. It does not matter as long as nobody has two.
        script.check(
            "rows of the raw table of somebody who has another",
            None,
            "SELECT count(*) - count(DISTINCT person) FROM whose",
        )
        return persons
    return Persons(persons.people, persons.unnamed, several=True)


def _refuse_open(policy: Policy, unknown: str) -> None:
    """Refuse limits that may hold by records and not by people.

    Raises
    ------
    ParameterError
        Which says why people cannot be counted.
    """
    demands = (*policy.demands, *(demand for each in policy.attackers for demand in each.demands))
    if not all(demand.same_by_people(holds=True) for demand in demands):
        raise ParameterError(f"no SQL script can count the people of this release: {unknown}")


def check_against(script: Script, released: Table, raw: Table, policy: Policy, *, placed: bool) -> None:
    """Write checks that every cell is true of its record, and every other column as it was.

    Parameters
    ----------
    raw
        In the order of the release, if that is known. It has as many records.
    placed
        Whether a row map told the order.

    Raises
    ------
    ParameterError
        There is too much to compare or to list.
    """
    lacking = [column.name for column in policy.named("quasi") if column.name not in raw.names]
    if lacking:
        script.never(f"the raw table had the column(s) {named(lacking)}")
        return
    passed = ", ".join(literal(name) for name in raw.names if is_passed(name, policy)) or "NULL"
    script.note("The columns of both tables.")
    for what, query in (
        ("columns that the raw table lacks", "released_names WHERE name NOT IN (SELECT name FROM raw_names)"),
        (
            "columns of the raw table that are missing",
            f"raw_names WHERE name IN ({passed}) AND name NOT IN (SELECT name FROM released_names)",
        ),
    ):
        script.check(what, None, f"SELECT count(*) FROM {query}")
    for column in policy.treated:
        if column.role != "quasi":
            _check_treated(script, released, raw, column.name, policy)
    if all(column.treatment is not None for column in policy.named("quasi")):
        return
    comparison = Comparison.of(script, released, raw, policy)  # type: ignore[arg-type]
    in_order = released.in_order and raw.in_order
    if in_order and (placed or policy.keep_order):
        _check_in_order(script, comparison)
    elif in_order and policy.keep_order is None:
        _check_either_way(script, comparison)
    else:
        check_as_a_whole(script, comparison)


def _check_either_way(script: Script, comparison: Comparison) -> None:
    """Write checks of which those in the order of the raw table have to hold, or those without an order."""
    script.note("The records are those of the raw table in its order, or the tables agree as a whole.")
    with script.checks_apart("in_order"):
        _check_in_order(script, comparison)
    with script.checks_apart("as_a_whole"):
        check_as_a_whole(script, comparison)
    script.note("Either will do.")
    script.lines.append("SELECT * FROM in_order ORDER BY number;\nSELECT * FROM as_a_whole ORDER BY number;")
    failed = (f"(SELECT count(*) FILTER (NOT holds) FROM {table})" for table in ("in_order", "as_a_whole"))
    script.check(
        "checks that fail both in the order of the raw table and as a whole",
        None,
        f"SELECT least({', '.join(failed)})",
    )


def _check_in_order(script: Script, comparison: Comparison) -> None:
    """Write checks of each record beside the raw one in its place."""
    script.note("Columns that are released as they are, record by record.")
    for name in comparison.passed:
        script.check(f"records that differ from the raw table: {name}", name, comparison.differing(name))
    script.note("Each cell beside its raw value.")
    script.check("records that were suppressed before and are not now", None, comparison.set_beside())
    comparison.forget_hidden()
    for number in range(len(comparison.pairs)):
        _check_cells(script, comparison, number)


def _check_treated(script: Script, released: Table, raw: Table, name: str, policy: Policy) -> None:
    [column] = [each for each in policy.treated if each.name == name]
    treatment = column.treatment
    assert treatment is not None
    check_sums(script, column, policy, released, raw)
    left = raw_left_sql(script, released, raw, name, treatment, policy.null_values)  # type: ignore[arg-type]
    if left is not None:
        script.check(f"raw values that should be hidden: {name}", name, left)


def _check_cells(script: Script, comparison: Comparison, number: int) -> None:
    """List which raw values each cell is true of."""
    column, table = comparison.pairs[number].column, f"true_{number}"
    rows = sorted(
        {(text, value) for text, value, _, is_true in comparison.judged(number) if is_true},
        key=lambda row: tuple((each is None, each or "") for each in row),
    )
    script.note(f"Which raw values each cell of {column.name} is true of.")
    script.fill(table, "cell VARCHAR, value VARCHAR", rows)
    wrong = (
        f"NOT EXISTS (SELECT 1 FROM {table} AS told WHERE told.cell IS NOT DISTINCT FROM beside.q{number} "
        f"AND told.value IS NOT DISTINCT FROM beside.w{number})"
    )
    if column.style == "mean":
        wrong += (
            f" AND NOT EXISTS (SELECT 1 FROM ({comparison.true_means(number)}) AS mean "
            f"WHERE mean.cell IS NOT DISTINCT FROM beside.q{number})"
        )
    script.check(
        f"cells that are not true of their records: {column.name}",
        column.name,
        f"SELECT count(*) FROM beside WHERE {wrong}",
    )
