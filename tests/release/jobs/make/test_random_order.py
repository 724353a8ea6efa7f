"""Rows leave in a random order, on every engine, with a confidential map of the rows."""

from __future__ import annotations

import os
import stat
from itertools import chain

import duckdb
import narwhals as nw
import numpy as np
import pandas as pd
import polars as pl
import pytest

import incrowd as ic
from database_tables import PLACES, holding

pytestmark = [
    pytest.mark.random_order,
    pytest.mark.filterwarnings("ignore:PySpark does not yet fully support pandas:FutureWarning"),
]

SCHEMA = ic.Schema(quasi=["age"], sensitive=["s"], insensitive=["row"])
K = ic.KAnonymity(3)
ROWS = 60


def people(seed: int = 1) -> pl.DataFrame:
    ages = np.random.default_rng(seed).integers(20, 60, ROWS)
    return pl.DataFrame({"age": ages, "s": ["a", "b", "c"] * (ROWS // 3), "row": range(ROWS)})


def log() -> pl.DataFrame:
    """Rows in the order of a quasi-identifier."""
    return people().sort("age").with_columns(row=pl.int_range(pl.len()))


def in_files(folder, frame: pl.DataFrame):
    folder.mkdir()
    for part in range(4):
        frame[part * 15 : part * 15 + 15].write_parquet(folder / f"day-{part}.parquet")
    return folder


ORDERED = {
    "polars": lambda frame, _: frame,
    "pandas": lambda frame, _: frame.to_pandas().set_index(pd.Index([f"p{i}" for i in range(ROWS)])),
    "arrow": lambda frame, _: frame.to_arrow(),
    "lazy": lambda frame, _: frame.lazy(),
    "folder": lambda frame, folder: in_files(folder / "raw", frame),
}


def rows_of(table) -> list[int]:
    if isinstance(table, ic.Files):
        table = table.frame
    if isinstance(table, pl.LazyFrame):
        table = table.collect()
    return nw.from_native(table, eager_only=True)["row"].to_list()


@pytest.mark.few(2)
@pytest.mark.parametrize("kind", ORDERED)
def test_rows_leave_in_another_order_each_time_and_the_map_leads_back(kind, tmp_path):
    table = ORDERED[kind](people(), tmp_path)
    one, two = (ic.anonymize(table, SCHEMA, K, seed=0) for _ in range(2))
    orders = [rows_of(release.table) for release in (one, two)]
    assert all(sorted(order) == list(range(ROWS)) for order in orders)
    assert orders[0] != orders[1], "one order for two releases would let them be joined"
    assert all(order != sorted(order) for order in orders)
    assert [row - 1 for row in one.row_map()["row"]] == orders[0]
    result = ic.anonymize(table, SCHEMA, K, keep_order=True)
    assert rows_of(result.table) == list(range(ROWS))
    assert result.row_map()["row"].to_list() == list(range(1, ROWS + 1))
    if kind == "pandas":
        assert all(each.table.index.equals(pd.RangeIndex(ROWS)) for each in (one, result))


@pytest.mark.few(3)
@pytest.mark.parametrize("kind", ORDERED)
def test_an_order_that_tells_is_not_kept(kind, tmp_path):
    table = ORDERED[kind](log(), tmp_path)
    with pytest.raises(ic.ParameterError, match=r"in the order of 'age'.* leave keep_order out.*force=True"):
        ic.anonymize(table, SCHEMA, K, keep_order=True)
    forced = ic.anonymize(table, SCHEMA, K, keep_order=True, force=True)
    assert forced.telling == ("age",)
    assert sum("in the order of 'age'" in line for line in forced.sentences()) == 1
    release = ic.anonymize(table, SCHEMA, K)
    assert rows_of(release.table) != sorted(rows_of(release.table))
    assert not any("in the order of" in line for line in release.sentences())


@pytest.mark.slow
def test_files_hold_rows_of_all_files_and_as_many(tmp_path):
    release = ic.anonymize(ORDERED["folder"](log(), tmp_path), SCHEMA, K)
    release.write(tmp_path / "out")
    parts = [pl.read_parquet(path)["row"].to_list() for path in sorted((tmp_path / "out").glob("*.parquet"))]
    assert [len(part) for part in parts] == [15] * 4
    assert list(chain.from_iterable(parts)) == [row - 1 for row in release.row_map()["row"]]
    days = [{row // 15 for row in part} for part in parts]
    assert all(len(each) > 1 for each in days), "a file would tell the day"
    release.write(tmp_path / "one.parquet")
    assert pl.read_parquet(tmp_path / "one.parquet")["row"].to_list() == list(chain.from_iterable(parts))


def test_what_parts_the_files_is_told_by_a_kept_order_alone(tmp_path):
    for number, ward in enumerate(["x", "y"]):
        place = tmp_path / "raw" / f"ward={ward}"
        place.mkdir(parents=True)
        people().drop("row").with_columns(row=pl.int_range(pl.len()) + ROWS * number).write_parquet(
            place / "0.parquet"
        )
    schema = ic.Schema(quasi=["age"], sensitive=["s"], insensitive=["row"], identifying=["ward"])
    with pytest.raises(ic.ParameterError, match="in the order of 'ward'"):
        ic.anonymize(tmp_path / "raw", schema, K, keep_order=True)
    release = ic.anonymize(tmp_path / "raw", schema, K)
    assert {row < ROWS for row in rows_of(release.table)[:ROWS]} == {True, False}


@pytest.mark.few(1)
@pytest.mark.parametrize("place", PLACES)
def test_rows_of_databases_leave_in_another_order(place, request, tmp_path):
    url = request.getfixturevalue("postgres") if place == "postgresql" else None
    with holding(place, log(), url) as table:
        release = ic.anonymize(table, SCHEMA, K)
        release.write(tmp_path / "out.parquet")
        written = pl.read_parquet(tmp_path / "out.parquet")["row"].to_list()
        assert sorted(written) == list(range(ROWS))
        assert written != sorted(written)
        with pytest.raises(ic.TableError, match="never had an order"):
            release.row_map()
        if place == "relation":
            values = [row for (row,) in release.table.project("row").fetchall()]
        else:
            values = release.table.fetch()["row"].to_list()
    assert sorted(values) == list(range(ROWS))
    assert values != sorted(values)


def test_a_new_table_lies_in_another_order(tmp_path):
    file = tmp_path / "p.db"
    with duckdb.connect(file) as con:
        con.register("frame", log().to_arrow())
        con.execute("CREATE TABLE people AS SELECT * FROM frame")
    with ic.Database(f"duckdb:///{file}") as database:
        ic.anonymize(database.table("people"), SCHEMA, K).into("safe")
    with duckdb.connect(file) as con:
        lying = [row for (row,) in con.execute('SELECT "row" FROM safe').fetchall()]
    assert sorted(lying) == list(range(ROWS))
    assert lying != sorted(lying)


def test_the_map_is_private_and_stays_out_of_what_is_published(tmp_path):
    release = ic.anonymize(people(), SCHEMA, K)
    release.save(tmp_path / "out")
    file = tmp_path / "out" / "internal" / "rows.parquet"
    assert stat.S_IMODE(os.stat(file).st_mode) == 0o600
    assert pl.read_parquet(file).equals(release.row_map())
    assert "rows.parquet" in (tmp_path / "out" / "internal" / "DO-NOT-PUBLISH.txt").read_text()
    ic.anonymize(people(), SCHEMA, K, keep_order=True).save(tmp_path / "kept")
    assert not (tmp_path / "kept" / "internal" / "rows.parquet").exists()
    release.write_row_map(tmp_path / "map.parquet")
    assert stat.S_IMODE(os.stat(tmp_path / "map.parquet").st_mode) == 0o600
    with pytest.raises(ic.TableError, match="exists"):
        release.write_row_map(tmp_path / "map.parquet")


def test_measures_of_rows_side_by_side_take_the_map(tmp_path):
    raw = people()
    release = ic.anonymize(raw, SCHEMA, K)
    release.write_row_map(tmp_path / "map.parquet")
    release.row_map().write_csv(tmp_path / "map.csv")
    for row_map in (release.row_map(), tmp_path / "map.parquet", str(tmp_path / "map.csv")):
        evaluation = ic.evaluate(raw, release.table, SCHEMA, row_map=row_map)
        assert evaluation.utility["loss"].value == pytest.approx(release.utility["loss"].value, abs=1e-12)
        assert sum(evaluation.summarized.values()) == 0
    with pytest.raises(ic.TableError, match=r"in another order, .* or the row map \(row_map=\)"):
        ic.evaluate(raw, release.table, SCHEMA)
    [linked] = ic.attack(raw, release.table, SCHEMA, kinds=["linkage"], row_map=release.row_map())
    [lost] = ic.attack(raw, release.table, SCHEMA, kinds=["linkage"], aligned=True)
    assert linked.main.value > lost.main.value
    for wrong in (release.row_map()[1:], release.row_map() + 1, release.row_map().rename({"row": "n"})):
        with pytest.raises(ic.TableError, match="row map"):
            ic.evaluate(raw, release.table, SCHEMA, row_map=wrong)
    with pytest.raises(ic.ParameterError, match="row_map must be a path or a frame"):
        ic.evaluate(raw, release.table, SCHEMA, row_map=7)


@pytest.mark.slow
def test_verify_takes_the_map(tmp_path):
    raw = people()
    raw.write_csv(tmp_path / "raw.csv")
    release = ic.anonymize(raw, SCHEMA, K, output="mean")
    release.save(tmp_path / "out")
    out, rows = tmp_path / "out", tmp_path / "out" / "internal" / "rows.parquet"
    whole = ic.verify(out / "release.csv", out / "policy.toml", against=tmp_path / "raw.csv")
    assert whole.ok
    assert any("no common order" in what for what in whole.unchecked)
    checked = ic.verify(out / "release.csv", out / "policy.toml", against=tmp_path / "raw.csv", row_map=rows)
    assert checked.ok, checked.problems
    assert checked.unchecked == ()
    release.row_map().reverse().write_parquet(tmp_path / "other.parquet")
    other = ic.verify(
        out / "release.csv",
        out / "policy.toml",
        against=tmp_path / "raw.csv",
        row_map=tmp_path / "other.parquet",
    )
    assert not other.ok
    release.row_map()[1:].write_parquet(tmp_path / "short.parquet")
    with pytest.raises(ic.TableError, match="does not name each of 60 records once"):
        ic.verify(
            out / "release.csv",
            out / "policy.toml",
            against=tmp_path / "raw.csv",
            row_map=tmp_path / "short.parquet",
        )
    with pytest.raises(ic.ParameterError, match=r"row_map.* is for the raw table"):
        ic.verify(out / "release.csv", out / "policy.toml", row_map=rows)


@pytest.mark.few(1)
@pytest.mark.parametrize("by", ["age", "s", "row"])
def test_verify_tells_of_an_order_that_was_kept(tmp_path, by):
    raw = people().with_columns(age=pl.col("age") * 7).sort(by)
    raw.write_csv(tmp_path / "raw.csv")
    for keep_order in (True, False):
        release = ic.anonymize(raw, SCHEMA, K, keep_order=keep_order, force=True)
        release.save(tmp_path / f"{by}-{keep_order}")
        out = tmp_path / f"{by}-{keep_order}"
        verification = ic.verify(out / "release.csv", out / "policy.toml", against=tmp_path / "raw.csv")
        assert verification.ok, verification.problems
        assert any("in the order of 'age'" in note for note in verification.notes) is (
            keep_order and by == "age"
        )
        assert release.telling == (("age",) if keep_order and by == "age" else ())


def test_a_batch_and_what_is_left_of_a_table_and_an_anatomy_leave_so_too():
    raw = log()
    # Exact ends do not overlap, so that every row of the batch has the cell that it had.
    release = ic.anonymize(raw, SCHEMA, K, ends="exact")
    policy = ic.Policy(SCHEMA, (K,), max_suppression=1.0, ends="exact")
    batch = ic.apply_recoding(release.recoding, raw, policy)
    assert rows_of(batch.table) != sorted(rows_of(batch.table))
    keeping = ic.Policy(SCHEMA, (K,), max_suppression=1.0, keep_order=True, ends="exact")
    with pytest.raises(ic.ParameterError, match="in the order of 'age'"):
        ic.apply_recoding(release.recoding, raw, keeping)
    result = ic.apply_recoding(release.recoding, raw, keeping, force=True)
    assert rows_of(result.table) == list(range(ROWS))
    left, in_order = (
        rows_of(ic.ensure_privacy(release.table, SCHEMA, t=1.0, k=0, keep_order=keep).table)
        for keep in (False, True)
    )
    assert left != in_order
    assert sorted(left) == sorted(in_order)
    assert in_order == [row for row in rows_of(release.table) if row in left]
    with pytest.raises(ic.ParameterError, match="in the order of 'age'"):
        ic.ensure_privacy(raw, SCHEMA, t=1.0, k=0, keep_order=True)
    by_value = raw.sort("s").with_columns(row=pl.int_range(pl.len()))
    anatomy = ic.anatomize(by_value, SCHEMA, [ic.LDiversity(2)])
    assert rows_of(anatomy.quasi_table) != sorted(rows_of(anatomy.quasi_table))


@pytest.mark.slow
def test_rows_on_spark_leave_in_another_order(spark, tmp_path):
    table = spark.createDataFrame(log().rows(named=True))
    for blocks in (None, 2):
        release = ic.anonymize(table, SCHEMA, K, blocks=blocks)
        rows = [row["row"] for row in release.table.collect()]
        assert sorted(rows) == list(range(ROWS))
        assert rows != sorted(rows)
        assert [row["row"] for row in release.table.collect()] == rows
