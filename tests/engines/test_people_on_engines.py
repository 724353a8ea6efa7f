"""People are counted the same wherever the rows are, and the release is the same."""

from __future__ import annotations

import contextlib

import polars as pl
import pytest

import incrowd as ic
from crossed import quick
from database_tables import STORES, holding
from people_readings import Reading, people_table

TABLE = people_table(11, people=150)
SCHEMA = ic.Schema(
    quasi={"age": ic.Hierarchy.intervals(2, 4, 8, 16), "town": None},
    sensitive=["ill", "cost"],
    person="person",
    unlisted="drop",
)
MODELS = [ic.KAnonymity(5), ic.TCloseness(0.6, "equal", attribute="ill"), ic.LDiversity(1, joint=True, attribute="ill")]  # fmt: skip
PLACES = ["csv", "parquet", "folder", "lazy", "pandas", "arrow", "relation", *STORES]


@contextlib.contextmanager
def at(place, tmp_path, request):
    """Give the rows to an engine."""
    if place in STORES:
        url = request.getfixturevalue("postgres") if place == "postgresql" else None
        with holding(place, TABLE, url) as table:
            yield table
        return
    if place in ("csv", "parquet"):
        getattr(TABLE, f"write_{place}")(tmp_path / f"t.{place}")
        yield ic.scan(tmp_path / f"t.{place}")
    elif place == "folder":
        (tmp_path / "parts").mkdir()
        for number in range(3):
            TABLE[number * 200 : (number + 1) * 200 if number < 2 else None].write_parquet(tmp_path / "parts" / f"{number}.parquet")  # fmt: skip
        yield ic.scan(tmp_path / "parts")
    elif place == "relation":
        import duckdb

        yield duckdb.from_arrow(TABLE.to_arrow())
    else:
        yield {"lazy": TABLE.lazy, "pandas": TABLE.to_pandas, "arrow": TABLE.to_arrow}[place]()


def same(one: ic.Assessment, other: ic.Assessment) -> None:
    assert one.people == other.people
    assert [m.model for m in one.privacy] == [m.model for m in other.privacy]
    assert [m.value for m in one.privacy] == pytest.approx([m.value for m in other.privacy], abs=1e-12)
    assert [m.failing_people for m in one.privacy] == [m.failing_people for m in other.privacy]
    assert one.risk["prosecutor"] == pytest.approx(other.risk["prosecutor"], abs=1e-12)


@pytest.mark.few(1)
@pytest.mark.parametrize("place", quick(PLACES, "folder", "lazy", "pandas", *STORES))
@pytest.mark.parametrize("algorithm", quick(["mondrian", "optimal"], "optimal"))
def test_engines_count_the_same_people(place, algorithm, tmp_path, request):
    expected = ic.assess(TABLE, SCHEMA, MODELS)
    in_memory = ic.anonymize(TABLE, SCHEMA, MODELS, algorithm, max_suppression=0.1)
    with at(place, tmp_path, request) as table:
        same(ic.assess(table, SCHEMA, MODELS), expected)
        release = ic.anonymize(table, SCHEMA, MODELS, algorithm, max_suppression=0.1)
        same(release.privacy, in_memory.privacy)
        release.write(tmp_path / "out.parquet")
    written = pl.read_parquet(tmp_path / "out.parquet")
    assert "person" not in written.columns
    cells = ["age", "town", "ill", "cost"]
    plain = pl.DataFrame(in_memory.table).select(pl.col(cells).cast(pl.String))
    assert written.select(pl.col(cells).cast(pl.String)).sort(cells).equals(plain.sort(cells))


@pytest.mark.slow
@pytest.mark.parametrize("place", quick(PLACES, "parquet", "lazy", "sqlite"))
def test_engines_suppress_the_same_people(place, tmp_path, request):
    """Exposed people go with all equal rows, so classes lose some rows."""
    levels = {"age": 4, "town": 0}
    settings = {
        "models": [ic.KMAnonymity(4)],
        "algorithm": "optimal",
        "max_suppression": 0.4,
        "levels": levels,
    }
    in_memory = ic.anonymize(TABLE, SCHEMA, **settings)
    recoding = in_memory.recoding
    bare = ic.anonymize(TABLE, SCHEMA, "k-anonymity:1", levels=levels)
    cells = list(zip(*(each.codes.tolist() for each in bare.recoding.cells), strict=True))
    gone = {cell for cell, star in zip(cells, recoding.suppressed, strict=True) if star}
    assert gone & {cell for cell, star in zip(cells, recoding.suppressed, strict=True) if not star}
    with at(place, tmp_path, request) as table:
        release = ic.anonymize(table, SCHEMA, **settings)
        same(release.privacy, in_memory.privacy)
        release.write(tmp_path / "out.parquet")
    written = pl.read_parquet(tmp_path / "out.parquet")
    columns = ["age", "town", "ill", "cost"]
    plain = pl.DataFrame(in_memory.table).select(pl.col(columns).cast(pl.String))
    assert written.select(pl.col(columns).cast(pl.String)).sort(columns).equals(plain.sort(columns))


def test_the_release_of_every_engine_holds_for_people_as_sets():
    release = ic.anonymize(TABLE, SCHEMA, MODELS, "optimal", max_suppression=0.1, keep_order=True, force=True)
    reading = Reading(
        TABLE["person"].to_list(),
        [release.table[name].to_list() for name in ("age", "town")],
        {"ill": TABLE["ill"].to_list()},
    )
    assert reading.k() >= 5
    assert reading.equal_distance("ill") <= 0.6 + 1e-12
    assert reading.k() == release.privacy.people.smallest


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore:PySpark does not yet fully support pandas:FutureWarning")
def test_spark_counts_the_same_people(spark, tmp_path):
    rows = spark.createDataFrame(TABLE.to_arrow()).repartition(3)
    same(ic.assess(rows, SCHEMA, MODELS), ic.assess(TABLE, SCHEMA, MODELS))
    release = ic.anonymize(rows, SCHEMA, MODELS, "optimal", max_suppression=0.1)
    in_memory = ic.anonymize(TABLE, SCHEMA, MODELS, "optimal", max_suppression=0.1)
    same(release.privacy, in_memory.privacy)
    release.write(tmp_path / "out")


@pytest.mark.parametrize("place", ["parquet", "lazy"])
def test_numbers_that_name_people_are_compared_by_value(place, tmp_path):
    """1.0 and 1 name the same person, NaN names nobody, and a null value neither."""
    table = pl.DataFrame(
        {"id": [1.0, 1.0, 2.0, float("nan"), float("nan"), None, -9.0, -9.0], "age": [30, 31] * 4}
    )
    schema = ic.Schema(quasi=["age"], person="id", null_values=["-9"])
    if place == "parquet":
        table.write_parquet(tmp_path / "t.parquet")
    rows = ic.scan(tmp_path / "t.parquet") if place == "parquet" else table.lazy()
    for each in (table, rows):
        people = ic.assess(each, schema).people
        assert (people.people, people.unnamed) == (7, 5)


def test_two_columns_name_a_person_together():
    table = pl.DataFrame(
        {"clinic": ["a", "a", "b", None, None, None], "nr": [1, 1, 1, 1, 1, None], "age": [30, 31] * 3}
    )
    people = ic.assess(table, ic.Schema(quasi=["age"], person=["clinic", "nr"])).people
    # (a, 1), (b, 1), (missing, 1), and one row that says nothing at all.
    assert (people.people, people.unnamed, people.columns) == (4, 1, ("clinic", "nr"))
    lazy = ic.assess(table.lazy(), ic.Schema(quasi=["age"], person=["clinic", "nr"])).people
    assert lazy == people


@pytest.mark.few(1)
@pytest.mark.parametrize("place", STORES)
@pytest.mark.parametrize("other", [[1, 1, 1, 2, -1, -1], [1.5, 1.5, 1.5, 2.0, -1.0, -1.0], [*"xxxy", "-1", "-1"]])  # fmt: skip
def test_two_columns_with_null_values_name_a_person_together_in_databases(place, other, request):
    table = pl.DataFrame({"a": ["m", "m", "-1", "-1", "-1", "-1"], "n": other, "age": [30, 31] * 3, "s": list("uvuvuv")})  # fmt: skip
    schema = ic.Schema(quasi=["age"], sensitive=["s"], person=["n", "a"], null_values=["-1"])
    url = request.getfixturevalue("postgres") if place == "postgresql" else None
    expected = ic.assess(table, schema).people
    assert (expected.people, expected.unnamed) == (5, 2)
    with holding(place, table, url) as held:
        assert ic.assess(held, schema).people == expected
