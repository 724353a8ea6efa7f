"""The people of cells, and each person's part of a sum, counted in a database."""

from __future__ import annotations

from typing import TYPE_CHECKING

from incrowd.engines.cells import CellPeople, CellQuestion
from incrowd.engines.dialects.base import Upload
from incrowd.engines.fetched_cells import lookups, people_of_answers, plan_of, refused_person
from incrowd.engines.sql.recoded import TableRows, lookup

if TYPE_CHECKING:
    from incrowd.engines.fetched import FetchedCount

_LOOKUP = "incrowd lookup {}"


def people_of_cells(rows: TableRows, count: FetchedCount, question: CellQuestion) -> CellPeople:
    """Count in the database (see `Engine.people_of_cells`)."""
    rows.check_snapshot()
    table, dialect = rows.table, rows.table.dialect
    person = rows.persons(question.person, question.null_values)
    if person is None:
        raise refused_person(question.person)
    uploads: dict[str, Upload] = {}
    clauses, columns = list[str](), list[list[str]]()
    for number, each in enumerate(lookups(count, question)):
        title, alias = _LOOKUP.format(number), f"m{number}"
        cells = {f"c{place}": "bigint" for place in range(each.numbers)}
        uploads[title], clause = lookup(table, dialect, title, alias, each.table, each.names, cells)
        clauses.append(clause)
        columns.append([f"{alias}.{cell}" for cell in cells])
    source = f"{table.source} {' '.join(clauses)}"
    plan = plan_of(question, source, columns, person, integer=dialect.whole)
    with table.kept(uploads, plan.units()) as units:
        frames = [table.fetch(plan.cells(units, depths)) for depths in question.depths]
        return people_of_answers(question, frames, count.total, lambda: table.fetch(plan.parts(units)))
