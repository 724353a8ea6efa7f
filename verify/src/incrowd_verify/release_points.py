"""Points of a release that need an answer although every limit holds, counted anew in SQL.

The released file shows most of them. Which columns tell a generalized one, and which cells cover every value
that occurs, only the raw table shows. The words are those of `incrowd_verify.gate`, and the counts are made
here.
"""

from __future__ import annotations

import datetime
import re
from collections.abc import Callable, Iterator, Sequence
from fractions import Fraction
from itertools import combinations
from math import ceil, floor
from pathlib import Path
from typing import NamedTuple

from incrowd_verify.cells import Bounds, CellReader, bounds_of
from incrowd_verify.checks import Checks
from incrowd_verify.classes import count_rows
from incrowd_verify.column_points import Texts, counts_of, derived_columns, outlying_value, repeated_ids
from incrowd_verify.gate import wording
from incrowd_verify.gate.columns import points_of_texts
from incrowd_verify.gate.points import Point, answered
from incrowd_verify.policy import SUPPRESSED, Column, Policy
from incrowd_verify.recipes import Tree
from incrowd_verify.source import Table, literal
from incrowd_verify.tables import GROUP, Tables
from incrowd_verify.tree_files import tree_in
from incrowd_verify.values import as_text, written

FULL_DOMAIN = ("bottom-up", "datafly", "flash", "incognito", "ola", "optimal", "samarati")
"""The algorithms that recode a column to one level."""
_A_FIFTH = 0.2
_HALF = 0.5
_PAIRED = 12
"""Columns with the most values that are looked at in pairs."""


class Subject(NamedTuple):
    """The texts, raw records and columns that the points are counted from.

    `raw`: the raw records in their own order; None where there are none, or others than were released.
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
        texts = of.texts.of(name)
        if texts is not None:
            yield from points_of_texts(
                name, texts.texts, texts.counts, records, quasi=name in quasi, compared=name in compared
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
    quasi = [as_text(released, column.name, policy.null_values) for column in policy.named("quasi")]
    kept = " OR ".join(f"{shown} IS DISTINCT FROM '{SUPPRESSED}'" for shown in quasi)
    for column in policy.named("sensitive"):
        if column.name in looked_at:
            continue
        if column.parts is not None:
            share = _sharing(con, policy, released, column, quasi, kept)
            yield wording.unprotected(column.name, share, lists=True)
            continue
        value = f"coalesce('v' || {as_text(released, column.name, policy.null_values)}, 'm')"
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
    cell = as_text(released, column.name, policy.null_values)
    classes = con.execute(
        f"SELECT list({cell}), count(*) FROM {released.name} WHERE {kept} GROUP BY {', '.join(quasi)}"
    ).fetchall()
    sharing = sum(
        size for cells, size in classes if frozenset.intersection(*map(column.parts_of, set(cells)))
    )
    return float(sharing) / float(sum(size for _, size in classes) or 1)


def _untrue_labels(of: Subject) -> Iterator[Point]:
    for column in of.policy.named("quasi"):
        if isinstance(column.hierarchy, Path) and (outside := count_outside(tree_in(column.hierarchy))):
            yield wording.untrue_label(column.name, outside)


def _beside_raw(of: Subject) -> Iterator[Point]:
    """Look at dangers that only the raw table shows, and at ids that repeat."""
    if of.raw is not None:
        yield from derived_columns(of.con, of.policy, of.released, of.raw)
        point = few_matches(of.con, of.policy, of.released, of.raw)
        yield from () if point is None else (point,)
    yield from repeated_ids(of.con, of.policy, of.tables, of.raw)


def _blanked(of: Subject) -> Iterator[Point]:
    con, policy, released, raw, missing = of.con, of.policy, of.released, of.raw, of.tables.missing
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
    """Return the cells that stand for every value that occurs, or None of a column of one value."""
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


_CHECKS = (_unique, _texts, _unprotected, _untrue_labels, _beside_raw, _blanked)
"""Every check of a release, one line each."""

_PLAIN = "-?(0|[1-9][0-9]*)([.][0-9]+)?"


def few_matches(con: Checks, policy: Policy, released: Table, raw: Table) -> Point | None:
    """Return the point of raw records that fit some released records, but fewer than k, or None without any.

    A released record fits values if each of its cells is the value, ``*`` or missing. Records that are ``*``
    throughout fit nobody.
    """
    quasi = policy.named("quasi")
    suppressing = policy.algorithm.get("name") == "cell-suppression"
    if policy.wildcards != "matches-any" or not suppressing:
        return None
    if any(column.style not in ("auto", "suppress") for column in quasi):
        return None
    least = max((int(each.limit) for each in policy.demands if each.model == "k-anonymity"), default=2)
    values = [_number_plainly(con, policy, raw, column) for column in quasi]
    names = [f"v{number}" for number in range(len(quasi))]
    for made, table in (("shown", released), ("whom", raw)):
        texts = ", ".join(
            f"{plain(written(con, table, column.name, policy.null_values))} AS {name}"
            for plain, column, name in zip(values, quasi, names, strict=True)
        )
        told = " OR ".join(f"{name} IS DISTINCT FROM '{SUPPRESSED}'" for name in names)
        con.execute(
            f"CREATE OR REPLACE TEMP TABLE {made} AS "
            f"SELECT row_number() OVER () AS id, *, {_hidden(names)} AS hidden "
            f"FROM (SELECT {texts}, count(*) AS n FROM {table.name} AS t GROUP BY ALL) WHERE {told}"
        )
    con.execute("CREATE OR REPLACE TEMP TABLE fit (id BIGINT, n BIGINT)")
    # Records that show the same columns are joined by these.
    for (hidden,) in con.execute("SELECT DISTINCT hidden FROM shown").fetchall():
        same = [f"shown.hidden = {int(hidden)}"]
        same += [f"whom.{name} = shown.{name}" for place, name in enumerate(names) if not hidden >> place & 1]
        con.execute(
            "INSERT INTO fit SELECT whom.id, sum(shown.n) "
            f"FROM whom JOIN shown ON {' AND '.join(same)} GROUP BY whom.id"
        )
    (few,) = con.row(
        "SELECT coalesce(sum(n) FILTER (fits < ?), 0) FROM whom "
        "JOIN (SELECT id, sum(n) AS fits FROM fit GROUP BY id) USING (id)",
        [least],
    )
    return wording.few_matches(int(few), float(few) / max(count_rows(con, raw), 1), least) if few else None


def _hidden(names: list[str]) -> str:
    """Write the set of the columns that a record does not show, as a whole number."""
    cells = (
        f"CASE WHEN {name} IS NULL OR {name} = '{SUPPRESSED}' THEN {1 << place} ELSE 0 END"
        for place, name in enumerate(names)
    )
    return f"({' + '.join(cells)})"


def _number_plainly(con: Checks, policy: Policy, raw: Table, column: Column) -> Callable[[str], str]:
    """Return a function that writes the SQL of a value; in a column of numbers 5 and 5.0 are one text."""
    text = written(con, raw, column.name, policy.null_values)
    is_number = column.hierarchy is None and column.kind in ("auto", "number")
    if is_number and raw.kind_of(column.name) == "text":
        (others,) = con.row(
            f"SELECT count(*) FROM {raw.name} AS t WHERE {text} <> '{SUPPRESSED}' "
            f"AND NOT regexp_full_match({text}, '{_PLAIN}')"
        )
        is_number = not others
    if not is_number:
        return lambda text: text
    trimmed = "regexp_replace(regexp_replace({0}, '([.][0-9]*?)0+$', '\\1'), '[.]$', '')"
    return lambda text: f"CASE {trimmed.format(text)} WHEN '-0' THEN '0' ELSE {trimmed.format(text)} END"


_DIGITS = re.compile(r"[+-]?[0-9]+([.][0-9]+)?")
_MOMENT = re.compile(r"[0-9]{4}-[0-9]{2}-[0-9]{2}(T[0-9]{2}:[0-9]{2}:[0-9]{2}([.][0-9]+)?)?")


def count_outside(tree: Tree) -> int:
    """Count the values and intervals outside the interval above them."""
    return len(_outside(tree, "number") or _outside(tree, "date"))


def _place(text: str, kind: str) -> Fraction | None:
    if kind == "number":
        return Fraction(text) if _DIGITS.fullmatch(text) else None
    try:
        day = datetime.date.fromisoformat(text[:10]) if _MOMENT.fullmatch(text) else None
    except ValueError:
        return None
    if day is None:
        return None
    hours, minutes, seconds = (*map(Fraction, text[11:].split(":")),) if text[11:] else (0, 0, 0)
    return Fraction(((day.toordinal() * 24 + hours) * 60 + minutes) * 60 + seconds)


def _outside(tree: Tree, kind: str) -> list[tuple[int, int]]:
    """Pair each node that lies outside with the nearest interval above it."""
    texts = [label or "" for label in tree.labels]
    leaves = set(range(len(texts))) - set(tree.parents)
    places = {node: found for node in leaves if (found := _place(texts[node], kind)) is not None}
    if not places:
        return []
    whole = kind == "number" and all(place.denominator == 1 for place in places.values())
    bounds = {
        node: _of_whole(span) if whole else span
        for node, text in enumerate(texts)
        if node not in places and any(map(str.isdigit, text)) and (span := bounds_of(text, kind))
    }
    pairs: list[tuple[int, int]] = []
    for node in range(len(texts)):
        above = tree.parents[node]
        while above >= 0 and above not in bounds:
            above = tree.parents[above]
        if above > 0 and node in leaves and node not in places and node not in bounds:
            return []
        if above >= 0 and (node in places or node in bounds):
            pairs.append((node, above))
    held = {
        (node, above)
        for node, above in pairs
        if (bounds[above].holds(places[node]) if node in places else _holds(bounds[above], bounds[node]))
    }
    bare = {node for node in bounds if not texts[node].startswith(("[", "(", "]"))}
    if not any(node in places and above in bare for node, above in held):
        pairs = [(node, above) for node, above in pairs if above not in bare]
    return [pair for pair in pairs if pair not in held]


def _of_whole(found: Bounds) -> Bounds:
    """Return a range of whole numbers with ends that belong to it."""
    low = found.low if found.low is None or found.has_low else Fraction(floor(found.low) + 1)
    high = found.high if found.high is None or found.has_high else Fraction(ceil(found.high) - 1)
    return found._replace(low=low, high=high, has_low=True, has_high=True)


def _holds(outer: Bounds, inner: Bounds) -> bool:
    """Say whether all of a range lies in another."""
    starts = outer.low is None or (
        inner.low is not None and (outer.low, not outer.has_low) <= (inner.low, not inner.has_low)
    )
    ends = outer.high is None or (
        inner.high is not None and (inner.high, inner.has_high) <= (outer.high, outer.has_high)
    )
    return starts and ends
