"""People are reduced inside the engine, and the answer equals that of people as sets."""

from __future__ import annotations

import contextlib
import datetime as dt

import numpy as np
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

import incrowd as ic
from crossed import crossed, quick
from database_tables import as_held, holding, statement
from incrowd.engines import EngineSettings, SparkEngine, engine_for
from incrowd.engines.fetched import FetchedRows
from incrowd.engines.spilling import SpilledRows
from people_readings import counted_people, crowd, told_of_people

NULLS = ["NA", "-9"]
PERSONS = [["clinic", "nr"], ["nr"], ["clinic"]]
SENSITIVE = [["ill", "cost"], ["ill"], []]


def schema_of(person, sensitive):
    return ic.Schema(
        quasi=["age", "town"], sensitive=sensitive, person=person, null_values=NULLS, unlisted="drop"
    )


def expected(table, person, sensitive, joint):
    told = told_of_people(table, person, sensitive)
    if not told["several"]:
        return {name: told[name] for name in ("people", "unnamed", "several")}
    return told if joint and sensitive else told | {"joint": {}}


def same_arrays(one, other):
    """Compare everything, including the order of lists."""
    for mine, theirs in [
        (one.weights, other.weights),
        (one.people.listed.indptr, other.people.listed.indptr),
        (one.people.listed.entry, other.people.listed.entry),
        (one.people.listed.person, other.people.listed.person),
        (one.people.listed.person_combinations, other.people.listed.person_combinations),
        *zip(one.people.listed.values, other.people.listed.values, strict=True),
        *((a.totals, b.totals) for a, b in zip(one.sensitive, other.sensitive, strict=True)),
        *((x, y) for a, b in zip(one.sensitive, other.sensitive, strict=True) for x, y in zip(a.keys, b.keys, strict=True)),
    ]:  # fmt: skip
        assert np.array_equal(mine, theirs)


@given(
    st.integers(0, 2**32 - 1), st.integers(1, 30), st.sampled_from(PERSONS), st.sampled_from(SENSITIVE), st.booleans()
)  # fmt: skip
def test_rows_in_memory(seed, people, person, sensitive, joint):
    table = crowd(seed, people)
    frequency = engine_for(table).count(schema_of(person, sensitive), joint=joint).frequency
    assert counted_people(frequency) == expected(table, person, sensitive, joint)


@pytest.mark.slow
@given(
    st.integers(0, 2**32 - 1), st.integers(1, 30), st.sampled_from(PERSONS), st.sampled_from(SENSITIVE), st.booleans(),
    st.sampled_from(["parquet", "csv", "folder"]),
)  # fmt: skip
def test_files(tmp_path_factory, seed, people, person, sensitive, joint, kind):
    table, folder = crowd(seed, people), tmp_path_factory.mktemp("people")
    if kind == "folder":
        for number, part in enumerate(table.iter_slices(len(table) // 2 + 1)):
            part.write_parquet(folder / f"{number}.parquet")
    else:
        getattr(table, f"write_{kind}")(folder / f"t.{kind}")
    files = ic.scan(folder if kind == "folder" else folder / f"t.{kind}", memory="64MiB")
    schema = schema_of(person, sensitive)
    frequency = engine_for(files).count(schema, joint=joint).frequency
    assert counted_people(frequency) == expected(table, person, sensitive, joint)
    if frequency.people.table is not None:
        same_arrays(
            frequency.people.table, engine_for(table).count(schema, joint=joint).frequency.people.table
        )


def test_people_with_one_kind_of_row_stay_on_disk(tmp_path, monkeypatch):
    """A hundred thousand people of a single row each bring no line each."""
    rows = 100_000
    table = pl.DataFrame(
        {"who": [*range(rows), 5, 5], "q": [*(n % 10 for n in range(rows)), 5, 6], "s": ["a"] * (rows + 2)}
    )
    table.write_parquet(tmp_path / "t.parquet")
    read = []
    whole = SpilledRows._coded_values

    def coded(self, *given):
        result = whole(self, *given)
        read.append(len(result))
        return result

    monkeypatch.setattr(SpilledRows, "_coded_values", coded)
    engine = engine_for(ic.scan(tmp_path / "t.parquet"))
    frequency = engine.count(ic.Schema(quasi=["q"], sensitive=["s"], person="who")).frequency
    assert frequency.people.number == rows
    assert (frequency.people.table.people.listed.people, len(frequency.people.table.people.listed.entry)) == (
        1,
        2,
    )
    assert max(read) == 10


def test_too_many_people_to_list_are_refused(tmp_path, monkeypatch):
    table = pl.DataFrame({"who": [1, 1, 2, 2, 3], "q": [1, 2, 1, 2, 1], "s": ["a"] * 5})
    table.write_parquet(tmp_path / "t.parquet")
    files = ic.scan(tmp_path / "t.parquet", memory="64MiB")
    schema = ic.Schema(quasi=["q"], sensitive=["s"], person="who")
    assert engine_for(files).count(schema).frequency.people.table.people.listed.people == 2
    monkeypatch.setattr("incrowd.engines.spilling._ENTRY_BYTES", 2**24)
    with pytest.raises(ic.TableError, match="4 distinct pairs of a person and a kind of row, which take"):
        engine_for(files).count(schema)


def test_files_that_lose_rows_meanwhile_are_refused(tmp_path, monkeypatch):
    table = pl.DataFrame({"who": [1, 1, 2], "q": [1, 2, 1]})
    path = tmp_path / "t.parquet"
    table.write_parquet(path)
    engine = engine_for(ic.scan(path))
    original = SpilledRows.people

    def meanwhile(self, *asked):
        table[:2].write_parquet(path)
        return original(self, *asked)

    monkeypatch.setattr(SpilledRows, "people", meanwhile)
    with pytest.raises(ic.TableError, match="changed while they were counted"):
        engine.count(ic.Schema(quasi=["q"], person="who"))


@pytest.mark.slow
@pytest.mark.parametrize("place", ["duckdb", "relation", "sqlite", "postgresql"])
@pytest.mark.parametrize("person", PERSONS, ids="-".join)
@pytest.mark.parametrize("sensitive", SENSITIVE, ids=len)
def test_databases(place, person, sensitive, request):
    url = request.getfixturevalue("postgres") if place == "postgresql" else None
    schema = schema_of(person, sensitive)
    for seed, people in [(1, 1), (2, 5), (3, 30), (4, 60)]:
        table = crowd(seed, people)
        with holding(place, table, url) as rows:
            engine = engine_for(rows)
            for joint in (False, True):
                frequency = engine.count(schema, joint=joint).frequency
                assert counted_people(frequency) == expected(table, person, sensitive, joint)
                if frequency.people.table is None:
                    continue
                # What is listed comes in the order that listing everybody gives.
                with everybody_listed():
                    whole = engine.count(schema, joint=joint).frequency
                same_arrays(frequency.people.table, whole.people.table)


@contextlib.contextmanager
def everybody_listed():
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(FetchedRows, "people", lambda *_: None)
        yield


@pytest.mark.few(1)
@pytest.mark.parametrize("place", ["duckdb", "relation", "sqlite", "postgresql"])
def test_databases_keep_people_with_one_kind_of_row(place, request):
    """Thousands of people of a single row each bring no line each, and nobody's name comes at all."""
    rows = 5_000
    table = pl.DataFrame(
        {"who": [*range(rows), 5, 5], "q": [*(n % 10 for n in range(rows)), 5, 6], "s": ["a"] * (rows + 2)}
    )
    url = request.getfixturevalue("postgres") if place == "postgresql" else None
    with holding(place, table, url) as held:
        engine = engine_for(held)
        fetch, lines = engine.rows.table.fetch, []

        def told(sql):
            frame = fetch(sql)
            lines.append(len(frame))
            return frame

        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(engine.rows.table, "fetch", told)
            frequency = engine.count(ic.Schema(quasi=["q"], sensitive=["s"], person="who")).frequency
    assert frequency.people.number == rows
    assert (frequency.people.table.people.listed.people, len(frequency.people.table.people.listed.entry)) == (
        1,
        2,
    )
    assert max(lines) == 10


DAYS = [dt.date(1900, 1, 1), dt.date(2001, 2, 3), dt.date(2001, 2, 3), None, dt.date(1999, 9, 9)]
NAMED = {
    "text": (["-9", "-9.0", "-9e0", "9", "it's", "a\\b", "a\\b"], ["-9", "it's"], pl.String),
    "whole": ([-9, 1, 1, 0, 2, None, -9], ["-9", "0.0"], pl.Int64),
    "number": ([-9.5, 0.0, -0.0, float("nan"), 1.5, 1.5, 0.1], ["-9.50", "0.1"], pl.Float64),
    "small number": ([0.1, 0.1, 0.2, 0.2, 1.5, 1.5, 0.5], ["0.1"], pl.Float32),
    "decimal": (["1.50", "1.50", "2.00", "0.10", "2.00", None, "7.00"], ["1.5", "7"], pl.Decimal(10, 2)),
    "truth": ([True, False, False, None, True, True, False], ["true"], pl.Boolean),
    "day": ([*DAYS, *DAYS[:2]], ["1900-01-01"], pl.Date),
    "moment": ([dt.datetime(1900, 1, 1), dt.datetime(2001, 1, 1, 5), None] * 2, ["1900-01-01"], pl.Datetime("us")),
}  # fmt: skip


@pytest.mark.few(7)
@pytest.mark.parametrize(("kind", "place"), crossed(NAMED, ["duckdb", "relation", "sqlite", "postgresql"]))
def test_what_means_nobody_is_read_by_databases_as_in_memory(place, kind, request):
    if place == "sqlite" and kind in ("day", "moment", "truth", "decimal", "small number"):
        pytest.skip("SQLite has no such values")
    values, nulls, dtype = NAMED[kind]
    texts = pl.Series(values)
    who = texts.cast(dtype) if kind == "decimal" else pl.Series(values, dtype=dtype)
    table = pl.DataFrame({"who": who, "q": [n % 3 for n in range(len(values))]})
    schema = ic.Schema(quasi=["q"], person="who", null_values=nulls)
    url = request.getfixturevalue("postgres") if place == "postgresql" else None
    with holding(place, as_held(place, table), url) as held:
        frequency = engine_for(held).count(schema).frequency
    same_people(frequency, engine_for(table).count(schema).frequency)


def same_people(found, expected):
    assert found.people.unnamed > 0
    assert found.people.number == expected.people.number
    assert found.people.unnamed == expected.people.unnamed
    assert (found.people.table is None) == (expected.people.table is None)
    assert (
        found.people.table is None
        or found.people.table.people.listed.people == expected.people.table.people.listed.people
    )


def test_infinite_days_are_refused_where_they_name_a_person(postgres):
    statement(
        postgres,
        'DROP TABLE IF EXISTS "born" CASCADE',
        'CREATE TABLE "born" (d date, q integer)',
        "INSERT INTO \"born\" VALUES ('2001-01-01', 1), ('infinity', 1)",
    )
    with (
        ic.Database(postgres) as database,
        pytest.raises(ic.SchemaError, match="column 'd' has infinite values"),
    ):
        engine_for(database.table("born")).count(ic.Schema(quasi=["q"], person="d"))


@pytest.mark.slow
@pytest.mark.parametrize("person", PERSONS, ids="-".join)
@pytest.mark.parametrize("sensitive", SENSITIVE, ids=len)
def test_spark(spark, person, sensitive):
    schema = schema_of(person, sensitive)
    table = crowd(4, 60)
    engine = engine_for(spark.createDataFrame(table.to_arrow()).repartition(3))
    # Values that come together are counted where there are several columns of them.
    for joint in (False, True) if len(sensitive) > 1 else (False,):
        frequency = engine.count(schema, joint=joint).frequency
        assert counted_people(frequency) == expected(table, person, sensitive, joint)


@pytest.mark.slow
def test_spark_lists_people_in_the_same_order_again(spark):
    table = crowd(2, 5)
    engine = engine_for(spark.createDataFrame(table.to_arrow()).repartition(3))
    one, other = (engine.count(schema_of(["nr"], ["ill", "cost"]), joint=True).frequency for _ in range(2))
    assert counted_people(one) == expected(table, ["nr"], ["ill", "cost"], True)
    same_arrays(one.people.table, other.people.table)


@pytest.mark.parametrize(
    "kind", quick([kind for kind in NAMED if kind != "moment"], "text", "decimal", "day")
)
def test_spark_reads_what_means_nobody_as_in_memory(spark, kind):
    values, nulls, dtype = NAMED[kind]
    texts = pl.Series(values)
    who = texts.cast(dtype) if kind == "decimal" else pl.Series(values, dtype=dtype)
    table = pl.DataFrame({"who": who, "q": [n % 3 for n in range(len(values))]})
    schema = ic.Schema(quasi=["q"], person="who", null_values=nulls)
    frequency = engine_for(spark.createDataFrame(table.to_arrow())).count(schema).frequency
    same_people(frequency, engine_for(table).count(schema).frequency)


def test_spark_keeps_people_with_one_kind_of_row(spark):
    """The driver takes as many combinations as there are lines to fetch, and there is none for each person."""
    rows = 1_000
    table = pl.DataFrame(
        {"who": [*range(rows), 5, 5], "q": [*(n % 10 for n in range(rows)), 5, 6], "s": ["a"] * (rows + 2)}
    )
    frame = spark.createDataFrame(table.to_arrow())
    frequency = (
        SparkEngine(frame, EngineSettings(driver_keys=10))
        .count(ic.Schema(quasi=["q"], sensitive=["s"], person="who"))
        .frequency
    )
    assert frequency.people.number == rows
    assert (frequency.people.table.people.listed.people, len(frequency.people.table.people.listed.entry)) == (
        1,
        2,
    )
    many = pl.concat([table, table.with_columns(q=pl.lit(0, pl.Int64))]).head(1_020)
    with pytest.raises(
        ic.TableError, match="33 distinct combinations of 'q', 's', 'who' are more than the 10"
    ):
        SparkEngine(spark.createDataFrame(many.to_arrow()), EngineSettings(driver_keys=10)).count(
            ic.Schema(quasi=["q"], sensitive=["s"], person="who")
        )
