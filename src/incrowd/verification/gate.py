"""The points of a release that somebody has to answer for although every limit holds, counted anew.

The released file shows most of them. Which columns tell a generalized one, and which cells cover every value
that occurs, only the raw table shows. The words are those of `incrowd.gate`, the counts are made here.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import combinations
from pathlib import Path
from typing import NamedTuple

from incrowd.gate import wording
from incrowd.gate.columns import points_of_texts
from incrowd.gate.points import Point, answered
from incrowd.verification.cells import CellReader
from incrowd.verification.checks import Checks
from incrowd.verification.classes import cell, count_rows, written
from incrowd.verification.derived import derived_columns
from incrowd.verification.fits import few_matches
from incrowd.verification.groups import GROUP
from incrowd.verification.intervals import count_outside
from incrowd.verification.loading import Tables
from incrowd.verification.outlying import outlying_value
from incrowd.verification.policy import SUPPRESSED, Column, Nulls, Policy
from incrowd.verification.repeats import repeated_ids
from incrowd.verification.source import Table, literal
from incrowd.verification.texts import Texts, counts_of
from incrowd.verification.tree_files import tree_in

FULL_DOMAIN = ("bottom-up", "datafly", "flash", "incognito", "ola", "optimal", "samarati")
"""The algorithms that recode a column to one level."""
_A_FIFTH = 0.2
_HALF = 0.5
_PAIRED = 12
"""Columns with the most values that are looked at in pairs."""


class Subject(NamedTuple):
    """The texts, raw records and columns that the points are counted from.

    Attributes
    ----------
    texts
        The texts of the released columns.
    raw
        The raw records in their own order; None where there are none, or others than were released.
    """

    con: Checks
    policy: Policy
    tables: Tables
    texts: Texts
    raw: Table | None

    @property
    def released(self) -> Table:
        """The released records."""
        return self.tables.released


def points_of_release(con: Checks, policy: Policy, tables: Tables, texts: Texts) -> tuple[Point, ...]:
    """Return the points of the tables, in the order of their kinds, with the answers of the policy."""
    raw = tables.raw_in_order
    lacks = raw is not None and any(column.name not in raw.names for column in policy.named("quasi"))
    if raw is None or lacks or count_rows(con, tables.released) + tables.missing != count_rows(con, raw):
        raw = None
    subject = Subject(con, policy, tables, texts, raw)
    return answered([point for check in _CHECKS for point in check(subject)], policy.accepted)


def _unique(of: Subject) -> Iterator[Point]:
    """Look at every released column but quasi-identifiers, whatever its role.

    The number of a group of an m-invariant release tells no more than its cells.
    """
    con, released = of.con, of.released
    known = of.policy.quasi if of.policy.m is None else {*of.policy.quasi, GROUP}
    names = [name for name in released.names if name not in known]
    records = count_rows(con, released)
    counts = {name: of.texts.counts(name) for name in names}
    alone = {name: single / records for name, (single, _) in counts.items()}
    for name, share in alone.items():
        if share >= _A_FIFTH:
            yield wording.unique_column(name, share, numbers=of.texts.are_numbers(name))
    declared = {column.name: column for column in of.policy.columns}
    for name in names:
        point = outlying_value(con, released, name, declared.get(name), of.policy.null_values)
        if point is not None:
            yield point
    sizes = {name: counts[name][1] for name in names if alone[name] < _A_FIFTH}
    most = sorted(sizes, key=lambda name: -sizes[name])[:_PAIRED]
    pairs = {}
    for one, other in combinations([name for name in sizes if name in most], 2):
        if sizes[one] * sizes[other] >= _A_FIFTH * records:
            share = counts_of(con, released, one, other)[0] / records
            if share >= _A_FIFTH:
                pairs[one, other] = share
    yield from wording.unique_together(pairs)


def _texts(of: Subject) -> Iterator[Point]:
    """Look at the texts of every released column; of quasi-identifiers at those that are not generalized."""
    records = count_rows(of.con, of.released)
    compared = {column.name for column in of.policy.named("sensitive") if column.parts is None}
    quasi = [column.name for column in of.policy.named("quasi")]
    for name in [*(name for name in of.released.names if name not in quasi), *quasi]:
        found = of.texts.of(name)
        if found is not None:
            yield from points_of_texts(
                name, found.texts, found.counts, records, quasi=name in quasi, compared=name in compared
            )


def _unprotected(of: Subject) -> Iterator[Point]:
    con, policy, released = of.con, of.policy, of.released
    demands = policy.all_demands
    if not demands:
        # The limits are checked on another table, which this one is a part of.
        return
    looked_at = {demand.attribute for demand in demands}
    if any(demand.attribute is None and demand.model == "p29" for demand in demands):
        return
    quasi = [_cell(released, column.name, policy.null_values) for column in policy.named("quasi")]
    kept = " OR ".join(f"{shown} IS DISTINCT FROM '{SUPPRESSED}'" for shown in quasi)
    for column in policy.named("sensitive"):
        if column.name in looked_at:
            continue
        if column.parts is not None:
            share = _sharing(con, policy, released, column, quasi, kept)
            yield wording.unprotected(column.name, share, lists=True)
            continue
        value = f"coalesce('v' || {_cell(released, column.name, policy.null_values)}, 'm')"
        classes = (
            f"SELECT count(*) AS n, count(DISTINCT {value}) AS kinds FROM {released.name} WHERE {kept} "
            f"GROUP BY {', '.join(quasi)}"
        )
        all_records, alike = con.row(
            f"SELECT sum(n), coalesce(sum(n) FILTER (kinds = 1), 0) FROM ({classes})"
        )
        yield wording.unprotected(column.name, float(alike) / float(all_records or 1))


def _sharing(
    con: Checks, policy: Policy, released: Table, column: Column, quasi: Sequence[str], kept: str
) -> float:
    """Return the share of records in classes of which all records share a part of a list."""
    cell = _cell(released, column.name, policy.null_values)
    classes = con.execute(
        f"SELECT list({cell}), count(*) FROM {released.name} WHERE {kept} GROUP BY {', '.join(quasi)}"
    ).fetchall()
    sharing = sum(
        size for cells, size in classes if frozenset.intersection(*map(column.parts_of, set(cells)))
    )
    return float(sharing) / float(sum(size for _, size in classes) or 1)


def _derived(of: Subject) -> Iterator[Point]:
    if of.raw is not None:
        yield from derived_columns(of.con, of.policy, of.released, of.raw)


def _untrue_labels(of: Subject) -> Iterator[Point]:
    for column in of.policy.named("quasi"):
        if isinstance(column.hierarchy, Path) and (outside := count_outside(tree_in(column.hierarchy))):
            yield wording.untrue_label(column.name, outside)


def _few_matches(of: Subject) -> Iterator[Point]:
    if of.raw is not None and (point := few_matches(of.con, of.policy, of.released, of.raw)) is not None:
        yield point


def _repeated(of: Subject) -> Iterator[Point]:
    yield from repeated_ids(of.con, of.policy, of.tables, of.raw)


def _blanked(of: Subject) -> Iterator[Point]:
    yield from _losses(of.con, of.policy, of.released, of.raw, of.tables.missing)


def _losses(con: Checks, policy: Policy, released: Table, raw: Table | None, missing: int) -> Iterator[Point]:
    quasi = policy.named("quasi")
    shown = [written(con, released, column.name, policy.null_values) for column in quasi]
    blank: list[list[str] | None] = [[SUPPRESSED] for _ in quasi]
    if raw is not None:
        types = [raw.kind_of(column.name) for column in quasi]
        both = (_cells_of(con, table, policy) for table in (released, raw))
        blank = list(map(_for_all, quasi, *both, types))
    starred = [f"{text} IS NOT DISTINCT FROM '{SUPPRESSED}'" for text in shown]
    gone = " AND ".join(starred)
    counted = ", ".join(
        f"count(*) FILTER ({text} IN ({', '.join(map(literal, cells or ())) or 'NULL'}) AND NOT ({gone}))"
        for text, cells in zip(shown, blank, strict=True)
    )
    several = [star for cells, star in zip(blank, starred, strict=True) if cells is not None]
    nothing = f"bool_and({' AND '.join(several) or 'false'})"
    records, suppressed, tells_nothing, *of_column = con.row(
        f"SELECT count(*), count(*) FILTER ({gone}), {nothing}, {counted} FROM {released.name} AS t"
    )
    for column, number in zip(quasi, of_column, strict=True):
        if number > _HALF * (records - suppressed):
            yield wording.blanked(
                column.name,
                number / (records - suppressed),
                local=policy.algorithm.get("name") not in FULL_DOMAIN,
                has_level=bool((column.levels or (0,))[0]),
            )
    # What is not in the release was suppressed.
    gone, everybody = suppressed + missing, records + missing
    if gone > _A_FIFTH * everybody:
        yield wording.much_suppressed(gone / everybody)
    if suppressed == records or tells_nothing:
        yield wording.nothing_left()


def _cells_of(con: Checks, table: Table, policy: Policy) -> Iterator[list[str | None]]:
    """Return the different texts of each quasi-identifier in records that are not suppressed, in no order."""
    texts = [written(con, table, column.name, policy.null_values) for column in policy.named("quasi")]
    seen = " OR ".join(f"{text} IS DISTINCT FROM '{SUPPRESSED}'" for text in texts)
    for text in texts:
        rows = f"SELECT DISTINCT {text} AS v FROM {table.name} AS t WHERE {seen} ORDER BY hash(v)"
        yield [value for (value,) in con.execute(rows).fetchall()]


def _for_all(
    column: Column, cells: list[str | None], values: list[str | None], stored: str
) -> list[str] | None:
    """Return the cells that stand for every value that occurs; None of a column of one value."""
    if column.treatment is not None:
        # Its treated values were generalized, and those are not known.
        return [SUPPRESSED]
    if len(values) < 2:
        return None
    if column.style == "mean" and len(cells) == 1:
        # A mean says which values it is of by its class alone, and here that is all records.
        return [text for text in cells if text is not None]
    covers = CellReader(column, values, stored=stored).covers
    return [text for text in cells if text is not None and all(covers(text, value) for value in values)]


def _cell(released: Table, name: str, null_values: Nulls) -> str:
    return f"CAST({cell(released, name, null_values)} AS VARCHAR)"


_CHECKS = (_unique, _texts, _unprotected, _derived, _untrue_labels, _repeated, _few_matches, _blanked)
"""Every check of a release, one line each."""
