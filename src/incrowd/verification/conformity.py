"""Whether a release suits its policy apart from the models: its columns, its cells, its suppression."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from incrowd.errors import named
from incrowd.verification.against import compare
from incrowd.verification.cells import Shapes, listed
from incrowd.verification.ends import off_grid
from incrowd.verification.forms import raw_left, wrong_forms
from incrowd.verification.loading import Tables
from incrowd.verification.persons import Persons
from incrowd.verification.policy import UNRELEASED, Column, Policy
from incrowd.verification.source import Table
from incrowd.verification.sums import sums_moved

if TYPE_CHECKING:
    import duckdb

_TOLERANCE = 1e-12


@dataclass
class Remarks:
    """Remarks on a release beside its figures, in sentences."""

    problems: list[str] = field(default_factory=list)
    unchecked: list[str] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)

    def add(self, problems: Sequence[str], unchecked: Sequence[str]) -> None:
        """Say more."""
        self.problems += problems
        self.unchecked += unchecked


def remark(
    con: duckdb.DuckDBPyConnection,
    policy: Policy,
    tables: Tables,
    persons: Persons | None,
    counted: tuple[int, int, int],
) -> Remarks:
    """Say where the release does not suit the policy, and which points could not be checked.

    Parameters
    ----------
    persons
        Who was counted, if the policy names a person.
    counted
        How many records, suppressed records and classes there are.
    """
    remarks = Remarks()
    remarks.problems += _columns_too_many(policy, tables.released)
    remarks.problems += _too_much_suppressed(policy, *counted)
    if persons is not None and persons.several:
        remarks.problems += _joined(policy, tables.released)
    for column in policy.treated:
        remarks.add(*_odd_treated(con, column, policy, tables.released, tables.raw))
    _perturbed(policy, remarks)
    for number, column in enumerate(policy.named("quasi")):
        remarks.add(*_odd_cells(con, number, column, policy, has_raw=tables.raw is not None))
    return remarks


def remark_truth(con: duckdb.DuckDBPyConnection, policy: Policy, tables: Tables, remarks: Remarks) -> None:
    """Add the findings of the raw table, or that it is needed."""
    if tables.raw is None:
        remarks.unchecked.append(
            "whether the cells are true, and other columns as they were: that needs the raw table"
        )
        return
    compared = compare(con, tables.released, tables.raw, policy, placed=tables.placed)
    remarks.add(compared.problems, compared.unchecked)
    remarks.notes += compared.notes


def _columns_too_many(policy: Policy, released: Table) -> list[str]:
    """Say which columns were released that the policy does not release; names are compared literally."""
    roles = {column.name: column.role for column in policy.columns if column.treatment is None}
    treated = {column.name for column in policy.treated}
    problems = [
        f"the {roles[name]} column {name!r} is in the file"
        for name in released.names
        if roles.get(name) in UNRELEASED
    ]
    if policy.unlisted != "keep":
        more = [name for name in released.names if name not in roles and name not in treated]
        problems += [
            f"the column {name!r} is in the file, and the policy does not release it" for name in more
        ]
    return problems


def _joined(policy: Policy, released: Table) -> list[str]:
    """Say which columns join the records of people who have several, where the policy does not say so."""
    names = [column.name for column in policy.named("person") if column.name in released.names]
    if policy.linked or not names:
        return []
    return [
        f"column {named(names)} joins the records of a person, and the policy does not say linked = true: "
        "its limits are about single records"
    ]


def _too_much_suppressed(policy: Policy, records: int, suppressed: int, classes: int) -> list[str]:
    problems = []
    if suppressed / records > policy.max_suppression + _TOLERANCE:
        problems.append(
            f"{suppressed} of {records} records are suppressed, more than the share of "
            f"{policy.max_suppression}"
        )
    if classes == 0:
        problems.append("every record is suppressed, so there is no class and no model is reached")
    return problems


def _odd_treated(
    con: duckdb.DuckDBPyConnection, column: Column, policy: Policy, released: Table, raw: Table | None
) -> tuple[list[str], list[str]]:
    """Say which values a treated column cannot have, and which cannot be checked."""
    treatment = column.treatment
    assert treatment is not None
    if column.role == "quasi":
        # Its treated values were generalized.
        why = f"whether the cells of column {column.name!r} are true: its values were treated before"
        return [], [] if raw is None else [why]
    problems = wrong_forms(con, released, column.name, treatment, column.spelling, policy.null_values)
    if raw is not None:
        problems += raw_left(con, released, raw, column.name, treatment, policy.null_values)
    moved, unknown = sums_moved(con, column, policy, released, raw)
    return problems + moved, unknown


def _perturbed(policy: Policy, remarks: Remarks) -> None:
    """Say which values of perturbed sensitive columns the figures are about."""
    for column in policy.named("sensitive"):
        if column.name in policy.unjudged:
            remarks.unchecked.append(
                f"column {column.name!r} is perturbed, and its models are not checked on released values: by "
                "judge = 'original' the policy asks only for those before, which the file does not have"
            )
        elif column.treatment is not None and column.treatment.perturbs:
            remarks.notes.append(
                f"the figures of column {column.name!r} are about the values in the file; those before "
                "it was perturbed are not there"
            )


def _odd_cells(
    con: duckdb.DuckDBPyConnection, number: int, column: Column, policy: Policy, *, has_raw: bool
) -> tuple[list[str], list[str]]:
    """Say which cells a quasi-identifier cannot have under the policy, and which cannot be checked."""
    shapes = Shapes(column)
    problems, unchecked = [], []
    rows = con.execute(
        f"SELECT CAST(q{number} AS VARCHAR), sum(records) FROM classes GROUP BY q{number}"
    ).fetchall()
    limit = math.inf if policy.set_limit is None else policy.set_limit
    long = sum(int(size) for text, size in rows if listed(text) > limit)
    if long and column.style in ("auto", "set"):
        problems.append(f"the column {column.name!r}: {long} records have a list of more than {limit} values")
    odd = [int(size) for text, size in rows if not shapes.possible(text)]
    if odd:
        problems.append(
            f"the column {column.name!r}: {sum(odd)} records have a cell ({len(odd)} distinct) that is no "
            "node of its hierarchy and nothing else that it may have"
        )
    beside, why = off_grid(column, [text for text, _ in rows])
    if beside and why:
        unchecked.append(f"whether the ranges of column {column.name!r} end on its grid: {why}")
    elif beside:
        records = sum(int(size) for text, size in rows if text in beside)
        problems.append(
            f"the column {column.name!r}: {records} records have a range ({len(beside)} distinct) that does "
            "not end on its grid, and the policy rounds ends outward"
        )
    if shapes.unknown and not has_raw:
        unchecked.append(f"whether the cells of column {column.name!r} suit the policy: {shapes.unknown}")
    if column.levels is not None:
        fits = [(shapes.level_fits(text, *column.levels), int(size)) for text, size in rows]
        wrong = sum(size for fit, size in fits if fit is False)
        if policy.algorithm.get("recode_suppressed") or any(fit is None for fit, _ in fits):
            unchecked.append(
                f"whether the cells of column {column.name!r} are on the levels that it may have"
            )
        elif wrong:
            problems.append(
                f"the column {column.name!r}: {wrong} records are not on the levels that it may have"
            )
    return problems, unchecked
