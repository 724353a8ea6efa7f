"""Count tables are the same wherever the rows are: cells, unsafe cells, protected tables and files."""

from __future__ import annotations

import contextlib
from decimal import Decimal

import numpy as np
import polars as pl
import pytest

import incrowd as ic
from crossed import quick
from database_tables import STORES, as_held, holding
from incrowd.core.errors import TableError
from incrowd.core.io.streams import scan
from incrowd.core.table.schema import Attribute
from incrowd.engines import engine_for
from incrowd.release.tables.counting import count_cells
from incrowd.release.tables.primary import primary_cells

KEY = "5f0c8e7a1b9d3c62e4a87f15d02b6c93ab41e8d7f6209c5b3e1a7d84c09f62b5"
AREAS = ic.Hierarchy.from_nested(
    {"all": {"north": ["a", "b's"], "south": {"mid": ["c", "*"], 'e"; DROP': None}}}
)
STREAMS = ("lazy frame", "files")
ENGINES = ("relation", *STORES, *STREAMS, "spark")
LAYOUTS = {
    "people": {},
    "one dimension": {"columns": []},
    "level": {"rows": ["area:1"], "columns": ["age:1"]},
    "records": {"count": "records"},
    "three": {"rows": ["area", "age:1"], "columns": ["ill"], "threshold": 3},
    "sum": {"sum": "cost", "dominance": [3, 0.7]},
    "p percent": {"sum": "price", "p_percent": 20.0},
    "spelled": {"sum": "spelled", "dominance": [1, 0.5]},
    "decimal": {"sum": "exact", "dominance": [2, 0.9], "zeros": "hide"},
    "cell key": {"protect": "cell-key", "key": "env:TABLE_KEY"},
}


def visits(seed, rows=240, people=70):
    """Visits of people, most of whom have several, in unlike places; some are of nobody."""
    draw = np.random.default_rng(seed)
    who = draw.integers(0, people, rows)
    cost = draw.integers(0, 90, rows)
    price = cost / 10 + draw.integers(0, 3, rows)
    return pl.DataFrame(
        {
            "who": [None if number == 1 else "unknown" if number == 2 else f"p{number}'" for number in who],
            "area": draw.choice(["a", "b's", "c", "*", 'e"; DROP', None, "99"], rows, p=[.3, .2, .2, .1, .1, .05, .05]),
            "age": [None if number % 11 == 0 else int(20 + number % 40) for number in who],
            "ill": draw.choice(["flu", "gout", "none", ""], rows),
            "cost": [None if number == 7 else 999 if number == 8 else int(number) for number in cost],
            "price": price.tolist(),
            "spelled": [f"{1000 + number:,}".replace(",", ".") + ",50" if number else "unknown" for number in cost],
            "exact": pl.Series([Decimal(f"{number}.05") for number in cost], dtype=pl.Decimal(10, 2)),
        }
    )  # fmt: skip


def schema(**more):
    areas = Attribute("area", "quasi", hierarchy=AREAS, missing=("99",))
    spelled = Attribute("spelled", "insensitive", kind="number", decimal=",", thousands=".")
    cost = Attribute("cost", "insensitive", missing=("999",))
    ages = ic.Hierarchy.intervals(10, 20)
    return ic.Schema(
        quasi={"area": areas, "age": ages},
        sensitive=["ill"],
        insensitive={"cost": cost, "price": None, "spelled": spelled, "exact": None},
        null_values=["unknown", ""],
        **{"person": "who"} | more,
    )


@contextlib.contextmanager
def at(place, frame, request):
    """Give the rows to an engine, and the frame as held there."""
    if place == "spark":
        yield request.getfixturevalue("spark").createDataFrame(frame.to_arrow()), frame
        return
    if place == "lazy frame":
        yield frame.lazy(), frame
        return
    if place == "files":
        folder = request.getfixturevalue("tmp_path") / "people"
        folder.mkdir()
        for number in range(3):
            frame[number * 90 : number * 90 + 90].write_parquet(folder / f"{number}.parquet")
        yield scan(folder), frame
        return
    url = request.getfixturevalue("postgres") if place == "postgresql" else None
    frame = as_held(place, frame)
    with holding(place, frame, url) as table:
        yield table, frame


def same(there, here):
    """Two counts of the same table, to the last bit."""
    assert [axis.codes for axis in there.axes] == [axis.codes for axis in here.axes]
    for name in ("values", "people", "largest", "contributors"):
        assert np.array_equal(getattr(there, name), getattr(here, name)), name
    assert there.overlapping == here.overlapping
    assert (there.keys is None) == (here.keys is None)
    if here.keys is not None:
        assert there.keys.tolist() == here.keys.tolist()
    assert primary_cells(there).tolist() == primary_cells(here).tolist()
    assert by_person(there) == by_person(here)


def by_person(cells):
    """The parts of each person in each finest cell; which number a person has does not count."""
    if cells.parts is None:
        return None
    people, nobody = {}, []
    for cell, person, part in zip(*(each.tolist() for each in cells.parts), strict=True):
        (nobody if person < 0 else people.setdefault(person, [])).append((cell, part))
    return sorted(map(sorted, people.values())), sorted(nobody)


@pytest.mark.few(3)
@pytest.mark.parametrize("place", quick(ENGINES, "relation", "sqlite", "postgresql", "mysql", "duckdb"))
@pytest.mark.parametrize("kind", LAYOUTS)
def test_engines_count_the_same_cells(place, kind, request, monkeypatch):
    monkeypatch.setenv("TABLE_KEY", KEY)
    layout = ic.CountTable("t", **{"rows": ["area"], "columns": ["ill"]} | LAYOUTS[kind])
    frame = visits(len(kind))
    if kind == "cell key":
        frame = frame.filter(pl.col("who").is_not_null() & (pl.col("who") != "unknown"))
    with at(place, frame, request) as (table, held):
        here = count_cells(engine_for(held, starred=True), schema(), layout)
        same(count_cells(engine_for(table, starred=True), schema(), layout), here)


@pytest.mark.few(1)
@pytest.mark.parametrize("place", quick(ENGINES, "relation", "sqlite", "duckdb"))
@pytest.mark.parametrize("person", [(), ("who", "age"), ("cost",)])
def test_people_may_have_no_name_or_two_or_a_number(place, person, request):
    schema = ic.Schema(
        quasi={"area": Attribute("area", "quasi", hierarchy=AREAS, missing=("99",))},
        sensitive=["ill"],
        insensitive=["price"],
        person=person,
        unlisted="drop",
        null_values=["unknown", "", "999", "8"],
    )
    with at(place, visits(8), request) as (table, held):
        for more in ({}, {"sum": "price", "dominance": [4, 0.6]}):
            layout = ic.CountTable("t", rows=["area"], columns=["ill"], **more)
            here = count_cells(engine_for(held, starred=True), schema, layout)
            same(count_cells(engine_for(table, starred=True), schema, layout), here)


@pytest.mark.few(1)
@pytest.mark.parametrize("place", quick(ENGINES, "relation", "sqlite"))
def test_engines_write_the_same_files(place, tmp_path, request):
    layouts = [
        ic.CountTable("people", rows=["area"], columns=["ill"], threshold=4),
        ic.CountTable("ages", rows=["age:1"], columns=["ill"], threshold=4),
        ic.CountTable("money", rows=["area"], sum="price", dominance=[2, 0.5]),
        ic.CountTable("rounded", rows=["area"], count="records", protect="round", base=3),
    ]
    with at(place, visits(3), request) as (table, held):
        for folder, rows in (("there", table), ("here", held)):
            release = ic.tabulate(rows, ic.Policy(schema(), tables=layouts), unanswered="write")
            release.save(tmp_path / folder)
    names = sorted(path.name for path in (tmp_path / "here").iterdir())
    assert len(names) == 6
    for name in names:
        there, here = ((tmp_path / folder / name).read_text() for folder in ("there", "here"))
        assert [line for line in there.split("\n") if "made_at" not in line] == [
            line for line in here.split("\n") if "made_at" not in line
        ]


@pytest.mark.few(1)
@pytest.mark.parametrize("place", quick([*STORES, "relation"], "relation", "sqlite", "duckdb"))
def test_no_value_stands_in_sql_and_nothing_stays(place, request, monkeypatch):
    """Values go into tables that end with the session, and never into a statement."""
    from incrowd.engines.dialects import DuckDB, MySQL, PostgreSQL, SQLite
    from incrowd.engines.dialects.duckdb import RelationTable

    told = []

    def watch(owner, method):
        before = getattr(owner, method)

        def watched(self, *arguments):
            told.extend(each for each in arguments if isinstance(each, str))
            return before(self, *arguments)

        monkeypatch.setattr(owner, method, watched)

    marked = visits(5).with_columns(
        pl.col("who", "ill").name.keep().map_batches(lambda texts: "secret-" + texts, return_dtype=pl.String),
        # Numbers that no statement has of itself.
        cost=pl.col("cost") + 7_654_321_000,
    )
    schema = ic.Schema(quasi=["ill"], insensitive=["cost"], person="who", unlisted="drop")
    layouts = [ic.CountTable("t", rows=["ill"]), ic.CountTable("u", rows=["ill"], sum="cost")]
    with at(place, marked, request) as (table, _):
        for owner in (DuckDB, MySQL, PostgreSQL, SQLite, RelationTable):
            for method in ("execute", "fetch", "batches", "joined"):
                if method in vars(owner):
                    watch(owner, method)
        engine = engine_for(table, starred=True)
        for layout in layouts:
            count_cells(engine, schema, layout)
        texts = "\n".join(told)
        assert "SELECT" in texts
        assert "secret-" not in texts
        assert "7654321" not in texts
        if place != "relation":
            for name in ("incrowd units", "incrowd lookup 0", "incrowd lookup 1"):
                with pytest.raises(TableError, match=r"there is no such|nothing was kept"):
                    table.database.ask(
                        lambda d, name=name: d.fetch(f"SELECT * FROM {d.uploaded}{d.quote(name)}")
                    )
