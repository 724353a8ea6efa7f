"""Rows on Spark give the same keys, recodings and released rows as rows in memory."""

from __future__ import annotations

from itertools import zip_longest

import polars as pl
import pytest
from hypothesis import given, settings

import incrowd as ic
from engine_tables import VALUES, frames, in_order_of_codes, same
from incrowd.engines import MemoryEngine, SparkEngine, engine_for
from incrowd.engines import spark as module
from incrowd.samples import diagnosis_hierarchy, hospital

pytestmark = pytest.mark.filterwarnings("ignore:PySpark does not yet fully support pandas:FutureWarning")

NULL_VALUES = ("NA",)
# Spark has neither unsigned integers nor categories.
LIKE = {pl.UInt8: pl.Int16, pl.Categorical: pl.String}


def on_spark(session, frame: pl.DataFrame):
    """Give Spark the same rows, types and names, in several partitions."""
    from pyspark.sql import types as st

    frame = frame.with_columns(
        pl.col(name).cast(LIKE[kind]) for name, kind in frame.schema.items() if kind in LIKE
    )
    made = session.createDataFrame(
        frame.rename(dict(zip(frame.columns, map(str, range(frame.width)), strict=True))).to_arrow()
    )
    for number, kind in enumerate(frame.dtypes):
        # Without a time zone Arrow's points of time would be read as local ones.
        assert not (isinstance(kind, pl.Datetime) and kind.time_zone is None)
        assert not isinstance(made.schema[number].dataType, st.TimestampNTZType)
    return made.toDF(*frame.columns).repartition(3)


def fetched(frame) -> pl.DataFrame:
    return pl.DataFrame(pl.from_arrow(frame.toArrow()))


@pytest.fixture(scope="module")
def nasty() -> pl.DataFrame:
    """Every nasty value of every type, each some times, under names that are hard to tell apart."""
    rows = 72
    names = ["s", "S", "a.b", "`", "'x\"", "b c", "Ä", "日", "\u00e4"]
    columns = [
        pl.Series(
            name,
            [values[(row * step + row // 7) % len(values)] for row in range(rows)],
            dtype=kind,
            strict=False,
        )
        for step, (name, (kind, values)) in enumerate(zip(names, VALUES.items(), strict=True), 1)
    ]
    return pl.DataFrame(columns).with_columns(pl.Series("ID", range(rows)))


def test_only_spark_frames_are_taken(spark):
    assert isinstance(engine_for(spark.range(3)), SparkEngine)
    assert not SparkEngine.takes(pl.DataFrame({"a": [1]}))
    assert not SparkEngine.takes(None)


@pytest.mark.parametrize("null_values", [(), NULL_VALUES])
def test_every_nasty_value_is_counted_the_same(spark, nasty, null_values):
    """Every column is a quasi-identifier, and every one a sensitive attribute."""
    table = on_spark(spark, nasty)
    names = [name for name in nasty.columns if name != "ID"]
    for quasi, sensitive in ((names[:5], names[5:]), (names[5:], names[:5])):
        schema = ic.Schema(quasi=quasi, sensitive=sensitive, null_values=null_values, others="keep")
        expected = MemoryEngine(nasty).count(schema, joint=True, target="ID")
        found = SparkEngine(table).count(schema, joint=True, target="ID")
        assert not found.in_order
        same(in_order_of_codes(expected), in_order_of_codes(found))
        one, other = (in_order_of_codes(counted).target.keys for counted in (expected, found))
        for a, b in zip_longest(one, other):
            assert a.tolist() == b.tolist()


@given(frames())
@settings(max_examples=4)
def test_any_table_is_counted_the_same(spark, frame):
    schema = ic.Schema(quasi=["p", "Q 'x'"], sensitive=["s", "t"], others="keep")
    expected = MemoryEngine(frame).count(schema)
    same(in_order_of_codes(expected), in_order_of_codes(SparkEngine(on_spark(spark, frame)).count(schema)))


def rounded(figures):
    """Sums over classes may end otherwise in their last bit, because keys stand in another order."""
    if isinstance(figures, dict):
        return {name: rounded(figure) for name, figure in figures.items()}
    if isinstance(figures, list | tuple):
        return [rounded(figure) for figure in figures]
    return float(f"{figures:.12g}") if isinstance(figures, float) else figures


def released(release) -> pl.DataFrame:
    frame = release.table if isinstance(release.table, pl.DataFrame) else fetched(release.table)
    return frame.sort("ID")


@pytest.mark.parametrize("broadcast", [0, module.BROADCAST_KEYS])
@pytest.mark.parametrize(
    "algorithm",
    [ic.Mondrian(), ic.Optimal(), ic.Datafly(recode_suppressed=True)],
    ids=["mondrian", "optimal", "datafly"],
)
def test_releases_are_the_same(spark, nasty, algorithm, broadcast, monkeypatch):
    monkeypatch.setattr(module, "BROADCAST_KEYS", broadcast)
    kinds = [[0, 6, 5], [1, 2, 7], [3, 8, 4]][["mondrian", "optimal", "datafly"].index(algorithm.name)]
    quasi = [nasty.columns[j] for j in kinds]
    schema = ic.Schema(
        quasi=quasi,
        sensitive=[next(name for name in nasty.columns if name not in quasi)],
        null_values=NULL_VALUES,
        others="keep",
    )
    models = [ic.KAnonymity(2)]
    one = ic.anonymize(nasty, schema, models, algorithm, max_suppression=0.5)
    other = ic.anonymize(on_spark(spark, nasty), schema, models, algorithm, max_suppression=0.5)
    assert one.recoding.decisions() == other.recoding.decisions()
    assert other.table.columns == nasty.columns
    expected, found = released(one), released(other)
    for name in nasty.columns:
        if name in quasi or nasty.schema[name] not in LIKE:
            assert found[name].to_list() == expected[name].to_list() or nasty.schema[name].is_float(), name
    assert rounded(one.privacy.to_dict()) == rounded(other.privacy.to_dict())
    assert {name: lost.value for name, lost in one.utility.items()} == pytest.approx(
        {name: lost.value for name, lost in other.utility.items()}, rel=1e-12
    )


def patients(rows: int = 2000) -> pl.DataFrame:
    return (
        hospital(rows, 1)
        .select("age", "sex", "zip", "admission_date", "diagnosis")
        .with_row_index("ID")
        .cast({"ID": pl.Int64})
    )


def asked() -> ic.Schema:
    return ic.Schema(
        quasi={"age": ic.Hierarchy.intervals(10, 20, 40), "sex": None, "zip": ic.Hierarchy.prefix(), "admission_date": None},
        sensitive={"diagnosis": diagnosis_hierarchy()},
        insensitive=["ID"],
    )  # fmt: skip


@pytest.mark.parametrize("algorithm", [ic.Mondrian(), ic.Optimal()], ids=["mondrian", "optimal"])
def test_a_table_of_patients(spark, algorithm, tmp_path):
    table = patients()
    models = [ic.KAnonymity(5), ic.LDiversity(2), ic.TCloseness(0.7)]
    one = ic.anonymize(table, asked(), models, algorithm, max_suppression=0.1)
    other = ic.anonymize(on_spark(spark, table), asked(), models, algorithm, max_suppression=0.1)
    assert released(other).equals(released(one))
    assert rounded(one.privacy.to_dict()) == rounded(other.privacy.to_dict())
    assert other.privacy == ic.assess(other.table, asked(), models)
    other.save(tmp_path / "out")
    again = pl.read_parquet(tmp_path / "out" / "release.parquet" / "*.parquet").sort("ID")
    assert again.equals(released(one))
    other.report(tmp_path / "report.json")
