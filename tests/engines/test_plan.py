"""Queries about people give the same as people as sets, in every engine."""

from __future__ import annotations

import sqlite3
from collections import Counter

import duckdb
import pytest
from hypothesis import given
from hypothesis import strategies as st

from incrowd.engines.plan import PeoplePlan

NAMES = st.sampled_from([None, "x", "yy"])
ROWS = st.lists(st.tuples(st.sampled_from("012"), st.sampled_from("ab"), NAMES, NAMES), max_size=12)


def asked(place, rows, query):
    """Run a query over a table of a key, a value and two columns that name a person."""
    connection = duckdb.connect() if place == "duckdb" else sqlite3.connect(":memory:")
    with connection:
        connection.execute("CREATE TABLE t (k text, s text, a text, b text)")
        if rows:
            connection.executemany("INSERT INTO t VALUES (?, ?, ?, ?)", rows)
        result = connection.execute(query).fetchall()
    connection.close()
    return result


def person(row):
    """Return the person of a row, and None for nobody."""
    return row[2:] if any(part is not None for part in row[2:]) else None


def people(rows):
    """Return the people of rows, with a new person for each row without a name."""
    return {person(row) or ("nobody", place) for place, row in enumerate(rows)}


PLAN = PeoplePlan("t", ["k"], ["s"], ["a", "b"])


@pytest.mark.few(1)
@pytest.mark.parametrize("place", ["duckdb", "sqlite"])
@given(rows=ROWS)
def test_people_of_the_table_and_of_each_value(place, rows):
    unnamed = sum(person(row) is None for row in rows)
    assert asked(place, rows, PLAN.totals()) == [(len(people(rows)), len(rows), unnamed)]
    counted = dict(asked(place, rows, PLAN.counted(["s"])))
    expected = {s: len(people([row for row in rows if row[1] == s])) for s in {row[1] for row in rows}}
    assert counted == expected


@pytest.mark.parametrize("place", ["duckdb", "sqlite"])
@given(rows=ROWS)
def test_people_who_are_alone_with_a_key(place, rows):
    places = {key: [n for n, row in enumerate(rows) if row[0] == key] for key in {row[0] for row in rows}}
    everybody = [person(row) or ("nobody", n) for n, row in enumerate(rows)]
    classes = [{everybody[n] for n in people} for people in places.values()]
    alone = set().union(*(found for found in classes if len(found) == 1))
    assert asked(place, rows, PLAN.alone()) == [(len(set(everybody)), len(alone))]


@pytest.mark.few(1)
@pytest.mark.parametrize("place", ["duckdb", "sqlite"])
@pytest.mark.parametrize(
    "plan",
    [
        PLAN,
        PeoplePlan("t", ["k"], ["s"], ["a", "b"], place="rowid"),
        PeoplePlan("(SELECT *, 1 AS w FROM t) AS u", ["k"], ["s"], ["a", "b"], weight="w"),
        PeoplePlan("t", ["k"], ["s"], ["a", "b"], hashed="length(coalesce({}))"),
    ],
    ids=["plain", "in order", "grouped", "hashed"],
)
@given(rows=ROWS)
def test_who_has_unlike_rows_is_listed_and_the_others_are_counted(place, plan, rows):
    kinds = f"({plan.kinds()}) AS y"
    of = {who: {row[:2] for row in rows if person(row) == who} for who in {person(row) for row in rows}}
    unlike = {who for who, found in of.items() if who is not None and len(found) > 1}
    lines = asked(place, rows, plan.listed(kinds))
    listed = Counter((line[:2], line[-1]) for line in lines)
    counts = Counter((person(row), row[:2]) for row in rows if person(row) in unlike)
    assert listed == Counter((row, many) for (_, row), many in counts.items())
    # A number, with its hash where there is one, stands for one person.
    numbers = {}
    for line in lines:
        numbers.setdefault(line[2:-1], set()).add(line[:2])
    assert sorted(map(sorted, numbers.values())) == sorted(sorted(of[who]) for who in unlike)
    alike = {line[:2]: line[2:] for line in asked(place, rows, plan.alike(kinds, [0], totals=True))}
    others = [(person(row) or ("nobody", n), row) for n, row in enumerate(rows) if person(row) not in unlike]
    expected = {}
    for key in {row[:2] for _, row in others}:
        here = [who for who, row in others if row[:2] == key]
        expected[key] = (len(set(here)), sum("nobody" in who for who in here), len(here))
    assert alike == expected
