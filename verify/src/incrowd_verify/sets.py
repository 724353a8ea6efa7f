"""Columns of sets, checked a second time: items of cells are unnested, and sets of them counted in SQL.

The other checks see one value in place of every set, which splits no class. Sets are counted within classes
of the other quasi-identifiers. Released and raw tables keep the order of their records.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from itertools import product
from pathlib import Path
from typing import TYPE_CHECKING

from incrowd_gate.errors import PolicyError, SchemaError
from incrowd_gate.points import Point, answered
from incrowd_gate.rules.columns import Values
from incrowd_gate.rules.dependencies import plain_columns
from incrowd_gate.rules.sets import Sets, points_of_sets
from incrowd_verify.checks import Checks
from incrowd_verify.limits import SLACK, Finding
from incrowd_verify.persons import Persons, find_persons
from incrowd_verify.policy import SUPPRESSED, Column, Policy
from incrowd_verify.release_points import ReleasedRows
from incrowd_verify.source import Table, literal
from incrowd_verify.tables import Tables
from incrowd_verify.tree_files import read_tree, tree_in
from incrowd_verify.values import cell

if TYPE_CHECKING:
    from incrowd_verify.recipes import Tree
    from incrowd_verify.result import Verification

ANY = "any"
"""What the other checks see of a set."""
_BLANKS = r"'^[\s\p{Z}]+|[\s\p{Z}]+$', '', 'g'"
"""What is left out at the ends of an item, of any alphabet."""
_SETS = 100_000_000
"""Sets of items that are looked at."""


def check_sets(
    con: Checks, policy: Policy, tables: Tables
) -> tuple[Policy, Tables, Finding, tuple[Point, ...]]:
    """Count the sets of a release, and hide them from all other checks.

    Returns
    -------
    policy, tables
        The policy and the tables with one value in place of each set.
    finding
        The limit on how many people share known items.
    points
        The points of the items, and of columns that tell raw sets.
    """
    sets, released = policy.sets, tables.released
    if policy.profile is not None or policy.context is not None:
        raise PolicyError(
            f"column {sets[0].name!r} holds sets, for which a profile or a context is not defined"
        )
    others = [each.name for each in policy.named("quasi") if each.kind != "set"]
    keys = ", ".join(cell(released, name, policy.null_values) for name in others)
    home = f"dense_rank() OVER (ORDER BY {keys})" if others else "0"
    _unnest(con, released, sets, "released_item", home)
    if tables.raw is not None:
        _unnest_raw(con, tables.raw, policy)
    trees = []
    for column in sets:
        _check_form(con, released, column)
        trees.append(_check_tree(con, column, tables.raw))
    if tables.raw is not None:
        _check_against(con, policy, tables, trees)
    persons = find_persons(con, tables, policy)
    finding = _finding(con, policy, others, _views(con, tables, sets, persons, home))
    if persons is not None and persons.unknown and finding.holds:
        finding = replace(finding, holds=None)
    rows = ReleasedRows(con, policy, tables)
    points = tuple(point for column in sets for point in _points(rows, column))
    every = (released, tables.raw, tables.raw_in_order)
    for table in {table.name: table for table in every if table is not None}.values():
        _hide(con, table, sets)
    columns = tuple(
        replace(each, kind="category", hierarchy={"flat": True}, parts=None, known=None)
        if each in sets
        else each
        for each in policy.columns
    )
    names = {column.name for column in sets}
    shown = [
        None if table is None else replace(table, types=tuple(
            "VARCHAR" if name in names else kind for name, kind in zip(table.names, table.types, strict=True)
        ))
        for table in (released, tables.raw)
    ]  # fmt: skip
    assert shown[0] is not None
    hidden = replace(tables, released=shown[0], raw=shown[1])
    return replace(policy, columns=columns), hidden, finding, points


def with_sets(
    result: Verification, policy: Policy, finding: Finding, points: Sequence[Point]
) -> Verification:
    """Add the limit on sets and the points to a result; alone, sets have the only limit."""
    alone = all(each.kind == "set" for each in policy.named("quasi"))
    cells = [f"cells of column {column.name!r}" for column in policy.sets]
    return replace(
        result,
        findings=(*(() if alone else result.findings), finding),
        points=answered((*result.points, *points), policy.accepted),
        unchecked=tuple(each for each in result.unchecked if not any(cell in each for cell in cells)),
    )


def _lists(table: Table, column: Column) -> tuple[str, str]:
    """Write the SQL of a cell as a list of texts, and of whether it is suppressed."""
    here, declared = f"c{table.place(column.name)}", table.type_of(column.name)
    if declared.endswith("]"):
        texts = f"CAST({here} AS VARCHAR[])"
        return texts, f"coalesce(len({here}) = 1 AND {texts}[1] = {literal(SUPPRESSED)}, false)"
    text = f"CAST({here} AS VARCHAR)"
    return (
        f"string_split({text}, {literal(column.parts or ';')})",
        f"coalesce({text} = {literal(SUPPRESSED)}, false)",
    )


def _unnest(con: Checks, table: Table, sets: Sequence[Column], name: str, home: str = "0") -> None:
    """Make a table of the items of each record that is not suppressed: place, class, set, item.

    Here ``set`` is the name of the column.
    """
    each = []
    for column in sets:
        texts, stars = _lists(table, column)
        each.append(
            f"SELECT rowid AS place, {home} AS class, {literal(column.name)} AS set, unnest(CASE WHEN "
            f"{stars} THEN []::VARCHAR[] ELSE {texts} END) AS item FROM {table.name}"
        )
    con.execute(
        f"CREATE TABLE {name} AS SELECT DISTINCT * FROM (SELECT place, class, set, regexp_replace(item, "
        f"{_BLANKS}) AS item FROM ({' UNION ALL '.join(each)})) WHERE item <> ''"
    )


def _unnest_raw(con: Checks, raw: Table, policy: Policy) -> None:
    """Make the table `raw_item` of the raw items, without those that mean missing."""
    for column in policy.sets:
        if not raw.has(column.name):
            raise SchemaError(f"{raw.title}: the policy's column {column.name!r} is not in the file")
    _unnest(con, raw, policy.sets, "raw_item")
    for column in policy.sets:
        if nulls := policy.null_values.of(column.name):
            con.execute(
                f"DELETE FROM raw_item WHERE set = {literal(column.name)} AND item IN "
                f"({', '.join(map(literal, nulls))})"
            )


def _items_of(con: Checks, column: Column, table: str) -> list[str]:
    """Return the distinct items of a column in a table of items."""
    query = f"SELECT DISTINCT item FROM {table} WHERE set = {literal(column.name)} ORDER BY 1"
    return [text for (text,) in con.execute(query).fetchall()]


def _check_form(con: Checks, released: Table, column: Column) -> None:
    """Report sets that are not in order, or have an item twice, a blank or a star."""
    texts, stars = _lists(released, column)
    rows = (
        f"(SELECT place, texts FROM (SELECT rowid AS place, {texts} AS texts, {stars} AS stars FROM "
        f"{released.name}) WHERE NOT stars AND texts IS NOT NULL AND texts <> [''])"
    )
    (wrong,) = con.row(
        f"SELECT count(DISTINCT place) FROM (SELECT place FROM {rows} WHERE texts <> "
        "list_sort(list_distinct(texts)) UNION ALL SELECT place FROM (SELECT place, unnest(texts) AS item "
        f"FROM {rows}) WHERE item IS NULL OR item = '' OR item = {literal(SUPPRESSED)} OR "
        f"item <> regexp_replace(item, {_BLANKS}))"
    )
    if wrong:
        con.remarks.problems.append(
            f"{wrong} records have sets of {column.name!r} out of order, or with an item twice"
        )


def _check_tree(con: Checks, column: Column, raw: Table | None) -> Tree | None:
    """Report items that the hierarchy lacks, or that stand for one another, and return the tree.

    The leaves of a recipe are the raw items. Without these, items that stand for others are known by stars.
    """
    name, items = column.name, _items_of(con, column, "released_item")
    values = _items_of(con, column, "raw_item") if raw is not None else []
    tree = None
    if column.hierarchy is not None and (values or not isinstance(column.hierarchy, dict)):
        tree = read_tree(column.hierarchy, values, name)
    if tree is not None:
        nodes = {text: set(tree.nodes.get(text, ())) for text in items}
        unknown = sum(not found or 0 in found for found in nodes.values())
        chosen = {node for found in nodes.values() for node in found}
        above = set()
        for found in nodes.values():
            at = tree.parents[min(found)] if found else -1
            while at > 0:
                above.add(at)
                at = tree.parents[at]
        nested = len(above & chosen)
    else:
        unknown = 0
        if column.hierarchy is not None or raw is None:
            con.remarks.unchecked.append(
                f"whether the items of {name} stand in its hierarchy: the policy does not list them"
            )
        prefixes = {text.rstrip(SUPPRESSED) for text in items if text.endswith(SUPPRESSED)}
        nested = sum(
            text[:length] in prefixes for text in items for length in range(len(text.rstrip(SUPPRESSED)))
        )
    if unknown:
        con.remarks.problems.append(f"{unknown} items of {name!r} are in no place of its hierarchy")
    if nested:
        con.remarks.problems.append(
            f"{nested} items of {name!r} stand for other items that are released, too"
        )
    return tree


def _check_against(con: Checks, policy: Policy, tables: Tables, trees: Sequence[Tree | None]) -> None:
    """Compare the released items of each record with the raw items that they stand for."""
    names = _names(policy.sets)
    if not tables.same_order(policy):
        con.remarks.unchecked.append(
            f"whether the sets of {names} are true of their records: nothing tells which is which"
        )
        return
    pairs = []
    for column, tree in zip(policy.sets, trees, strict=True):
        items = _items_of(con, column, "raw_item")
        if tree is None and not {*_items_of(con, column, "released_item")} <= {*items}:
            con.remarks.unchecked.append(
                f"whether the sets of {column.name} are true of their records: the policy has not the "
                "hierarchy of the items"
            )
            return
        for text in items:
            labels = {text} if tree is None else {text, *_labels_above(tree, text)}
            pairs += [(column.name, text, label) for label in sorted(labels)]
    con.fill("stands_for", "set VARCHAR, raw VARCHAR, item VARCHAR", pairs)
    con.execute(
        "CREATE TABLE true_item AS SELECT DISTINCT place, w.set, w.item AS raw, s.item FROM raw_item w "
        "JOIN stands_for s ON s.set = w.set AND s.raw = w.item"
    )
    wrong = con.execute(
        "SELECT set, count(DISTINCT place) FROM released_item r WHERE NOT EXISTS (SELECT 1 FROM true_item t "
        "WHERE t.place = r.place AND t.set = r.set AND t.item = r.item) GROUP BY set ORDER BY set"
    )
    con.remarks.problems.extend(
        f"{records} records have an item of {name!r} that stands for none of their raw items"
        for name, records in wrong.fetchall()
    )
    shown = " AND ".join(
        f"NOT (w.set = {literal(column.name)} AND w.place IN (SELECT rowid FROM {tables.released.name} "
        f"WHERE {_lists(tables.released, column)[1]}))"
        for column in policy.sets
    )
    lost, every = con.row(
        "SELECT count(*) FILTER (NOT kept), count(*) FROM (SELECT coalesce(bool_or(r.item IS NOT NULL), "
        "false) AS kept FROM raw_item w LEFT JOIN true_item t ON t.place = w.place AND t.set = w.set AND "
        "t.raw = w.item LEFT JOIN released_item r ON r.place = t.place AND r.set = t.set AND r.item = t.item "
        f"WHERE {shown} GROUP BY w.place, w.set, w.item)"
    )
    if every and lost / every > policy.max_suppression + SLACK:
        con.remarks.problems.append(
            f"{lost} of {every} items of {names} are left out, and max_suppression is "
            f"{policy.max_suppression:g}"
        )


def _labels_above(tree: Tree, text: str) -> Iterator[str]:
    """Yield the labels from an item up to below the root."""
    at = tree.leaves[text]
    while at > 0:
        if (label := tree.labels[at]) is not None:
            yield label
        at = tree.parents[at]


def _names(sets: Sequence[Column]) -> str:
    return " and ".join(column.name for column in sets)


def _views(
    con: Checks, tables: Tables, sets: Sequence[Column], persons: Persons | None, home: str
) -> list[str]:
    """Make tables of items that may be known together, and return their names: place, class, person, item.

    Of people with several records, these are the items of a record, and in each class of a person the items
    of all records.
    """
    several = persons is not None and persons.several and not persons.unknown
    person, join = ("w.person", " JOIN whose w USING (place)") if several else ("r.place", "")
    con.execute(
        f"CREATE TABLE basket AS SELECT r.place, class, {person} AS person, dense_rank() OVER (ORDER BY set, "
        f"item) AS item FROM released_item r{join}"
    )
    if not several:
        return ["basket"]
    stars = " AND ".join(_lists(tables.released, column)[1] for column in sets)
    con.execute(
        f"CREATE TABLE whole AS SELECT dense_rank() OVER (ORDER BY h.person, h.class) AS place, h.class, "
        "h.person, i.item FROM (SELECT DISTINCT w.person, p.class FROM (SELECT rowid AS place, "
        f"{home} AS class, {stars} AS starred FROM {tables.released.name}) p JOIN whose w USING (place) "
        "WHERE NOT p.starred) h JOIN (SELECT DISTINCT person, item FROM basket) i USING (person)"
    )
    return ["basket", "whole"]


def _finding(con: Checks, policy: Policy, others: Sequence[str], views: Sequence[str]) -> Finding:
    """Count the people of each class who have the same items, for sets of each size that is known."""
    names, known = _names(policy.sets), policy.sets[0].known or 0
    k = max(demand.limit for demand in policy.demands if demand.model == "k-anonymity")
    smallest = None
    people = "count(DISTINCT b0.person)" if views[1:] else "count(*)"
    for view, size in product(views, range(1, known + 1)):
        _refuse_many(con, view, names, size)
        joins = "".join(
            f" JOIN {view} b{n} ON b{n}.place = b0.place AND b{n}.item > b{n - 1}.item"
            for n in range(1, size)
        )
        keys = ", ".join(f"b{n}.item" for n in range(size))
        (least,) = con.row(
            f"SELECT min(people) FROM (SELECT {people} AS people FROM {view} b0{joins} "
            f"GROUP BY b0.class, {keys})"
        )
        if least is not None:
            smallest = least if smallest is None else min(smallest, least)
    number = "1 item" if known == 1 else f"at most {known} items"
    return Finding(
        "km-anonymity", names, k, smallest, smallest is None or smallest >= k, quantity="k",
        knows=(*others, f"{number} of {names}"), settings={"power": known},
    )  # fmt: skip


def _refuse_many(con: Checks, view: str, names: str, size: int) -> None:
    factors = " * ".join(f"greatest(n - {at}, 0) / {at + 1}" for at in range(size))
    (sets,) = con.row(
        f"SELECT coalesce(sum({factors}), 0) FROM (SELECT count(*)::DOUBLE AS n FROM {view} GROUP BY place)"
    )
    if sets > _SETS:
        raise PolicyError(
            f"column {names}: an attacker may know {sets:,.0f} sets of {size} items, and {_SETS:,} are "
            "looked at"
        )


def _points(rows: ReleasedRows, column: Column) -> Iterator[Point]:
    """Ask the rules about the released items, and about raw cells beside columns that leave as they are."""
    name, raw = column.name, None
    if rows.raw is not None:
        shown = rows.raw.sample_of([_as_text(rows.raw.table, column)]).to_series().alias(name)
        plain = plain_columns(rows, rows.raw)
        raw = rows.raw.sample(plain).with_columns(shown) if plain else None
    text, table = _as_text(rows.table, column), rows.table.name
    counted = rows.con.frame(f"SELECT {text} AS v, count(*) AS n FROM {table} AS t GROUP BY 1")
    cells = Values(counted["v"], counted["n"].to_numpy(), are_labels=True, between=column.parts or ";")
    tree = tree_in(column.hierarchy) if isinstance(column.hierarchy, Path) else None
    labels = None if tree is None else (tree.labels, tree.parents)
    yield from points_of_sets(Sets(name, cells, rows.records, labels, raw))


def _as_text(table: Table, column: Column) -> str:
    """Write the SQL of a set as one text."""
    here = f"t.c{table.place(column.name)}"
    is_list = table.type_of(column.name).endswith("]")
    return f"array_to_string({here}, ';')" if is_list else f"CAST({here} AS VARCHAR)"


def _hide(con: Checks, table: Table, sets: Sequence[Column]) -> None:
    """Write one value in place of each set of a table."""
    marks = ", ".join(
        f"CASE WHEN {_lists(table, column)[1]} THEN {literal(SUPPRESSED)} ELSE {literal(ANY)} END AS "
        f"c{table.place(column.name)}"
        for column in sets
    )
    con.execute(f"CREATE OR REPLACE TABLE {table.name} AS SELECT * REPLACE ({marks}) FROM {table.name}")
