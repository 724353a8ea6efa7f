"""The people of cells, and each person's part of a sum, counted on the executors."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Any

from incrowd.core.lazy import st
from incrowd.engines.cells import CellPeople, CellQuestion
from incrowd.engines.fetched_cells import lookups, people_of_answers, plan_of, refused_person
from incrowd.engines.spark.fetching import as_arrow, ask, cache_rows, person_of, to_polars
from incrowd.engines.spark.packing import CELL

if TYPE_CHECKING:
    from incrowd.engines.fetched import FetchedCount

_AT_ONCE = 32
"""Queries that Spark plans as one."""


def people_of_cells(engine: Any, frame: Any, count: FetchedCount, question: CellQuestion) -> CellPeople:
    """Count on the executors (see `Engine.people_of_cells`).

    Parameters
    ----------
    engine
        The `SparkEngine` of the rows.
    frame
        The rows, with columns called c0, c1, ...
    """
    engine.check_types(question.person)
    columns = []
    for number, each in enumerate(lookups(count, question)):
        kinds = [st.LongType()] * each.numbers
        frame = engine.join(frame, each.names, each.table, f"m{number}", kinds)
        columns.append([CELL.format(f"m{number}_{place}") for place in range(each.numbers)])
    own = [f"w{place}" for place in range(len(question.person))]
    whose = [engine.column(column).alias(name) for column, name in zip(question.person, own, strict=True)]
    rows = frame.select(*(number for each in columns for number in each), *whose)
    empty = as_arrow(rows.select(*own))
    if empty is None:
        raise refused_person(question.person)
    person = [
        person_of(rows, name, kind, question.null_values)
        for name, kind in zip(own, empty.dtypes, strict=True)
    ]
    if None in person:
        raise refused_person(question.person)
    plan = plan_of(question, "{rows}", columns, list(map(str, person)))
    units = cache_rows(ask(plan.units(), rows=rows))
    try:
        queries = [plan.cells("{units}", depths) for depths in question.depths]
        frames = [
            to_polars(ask(" UNION ALL ".join(queries[first : first + _AT_ONCE]), units=units))
            for first in range(0, len(queries), _AT_ONCE)
        ]
        ask_parts = partial(ask, plan.parts("{units}"), units=units)
        return people_of_answers(question, frames, count.total, lambda: to_polars(ask_parts()))
    finally:
        units.unpersist()
