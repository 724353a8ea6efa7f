"""Rows on Spark give the same keys, recodings and released rows as rows in memory."""

from __future__ import annotations

import datetime as dt
from dataclasses import replace
from itertools import pairwise, zip_longest
from pathlib import Path

import numpy as np
import polars as pl
import pytest
from hypothesis import given

import incrowd as ic
from crossed import crossed, quick
from engine_tables import VALUES, frames, in_order_of_codes, is_in_order_of_codes, same
from examples import examples
from incrowd.engines import MemoryEngine, SparkEngine, engine_for
from incrowd.engines import open as opening
from incrowd.engines import spark as module
from incrowd.engines.spark import packing
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
    source = session.createDataFrame(
        frame.rename(dict(zip(frame.columns, map(str, range(frame.width)), strict=True))).to_arrow()
    )
    for number, kind in enumerate(frame.dtypes):
        # Without a time zone Arrow's points of time would be read as local ones.
        assert not (isinstance(kind, pl.Datetime) and kind.time_zone is None)
        assert not isinstance(source.schema[number].dataType, st.TimestampNTZType)
    return source.toDF(*frame.columns).repartition(3)


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


@pytest.mark.parametrize("null_values", quick([(), NULL_VALUES], NULL_VALUES))
def test_every_nasty_value_is_counted_the_same(spark, nasty, null_values):
    """Every column is a quasi-identifier and a sensitive attribute."""
    table = on_spark(spark, nasty)
    names = [name for name in nasty.columns if name != "ID"]
    for quasi, sensitive in ((names[:5], names[5:]), (names[5:], names[:5])):
        schema = ic.Schema(quasi=quasi, sensitive=sensitive, null_values=null_values, unlisted="keep")
        expected = MemoryEngine(nasty).count(schema, joint=True, target="ID").frequency
        frequency = SparkEngine(table).count(schema, joint=True, target="ID").frequency
        assert not frequency.in_order
        assert is_in_order_of_codes(frequency)
        same(in_order_of_codes(expected), in_order_of_codes(frequency))
        one, other = (in_order_of_codes(counted).target.keys for counted in (expected, frequency))
        for a, b in zip_longest(one, other):
            assert a.tolist() == b.tolist()


@given(frames())
@examples(2)
def test_any_table_is_counted_the_same(spark, frame):
    schema = ic.Schema(quasi=["p", "Q 'x'"], sensitive=["s", "t"], unlisted="keep")
    expected = MemoryEngine(frame).count(schema).frequency
    same(
        in_order_of_codes(expected),
        in_order_of_codes(SparkEngine(on_spark(spark, frame)).count(schema).frequency),
    )


def rounded(figures):
    """Sums over classes may differ in the last bit, because keys stand in another order."""
    if isinstance(figures, dict):
        return {name: rounded(figure) for name, figure in figures.items()}
    if isinstance(figures, list | tuple):
        return [rounded(figure) for figure in figures]
    return float(f"{figures:.12g}") if isinstance(figures, float) else figures


def released(release) -> pl.DataFrame:
    frame = release.table if isinstance(release.table, pl.DataFrame) else fetched(release.table)
    return frame.sort("ID")


@pytest.mark.parametrize(
    ("algorithm", "broadcast"),
    crossed(
        [ic.Mondrian(), ic.Optimal(), ic.Datafly(recode_suppressed=True)], [0, 50, packing.BROADCAST_KEYS]
    ),
    ids=lambda each: getattr(each, "name", each),
)
def test_releases_are_the_same(spark, nasty, algorithm, broadcast, monkeypatch):
    monkeypatch.setattr(packing, "BROADCAST_KEYS", broadcast)
    kinds = [[0, 6, 5], [1, 2, 7], [3, 8, 4]][["mondrian", "optimal", "datafly"].index(algorithm.name)]
    quasi = [nasty.columns[j] for j in kinds]
    schema = ic.Schema(
        quasi=quasi,
        sensitive=[next(name for name in nasty.columns if name not in quasi)],
        null_values=NULL_VALUES,
        unlisted="keep",
    )
    models = [ic.KAnonymity(2)]
    one = ic.anonymize(nasty, schema, models, algorithm, max_suppression=0.5)
    other = ic.anonymize(on_spark(spark, nasty), schema, models, algorithm, max_suppression=0.5)
    assert one.recoding.decisions() == other.recoding.decisions()
    assert other.table.columns == nasty.columns
    expected, result = released(one), released(other)
    for name in nasty.columns:
        if name in quasi or nasty.schema[name] not in LIKE:
            assert result[name].to_list() == expected[name].to_list() or nasty.schema[name].is_float(), name
    assert rounded(one.privacy.to_dict()) == rounded(other.privacy.to_dict())
    assert {name: lost.value for name, lost in one.utility.items()} == pytest.approx(
        {name: lost.value for name, lost in other.utility.items()}, rel=1e-12
    )


def test_rows_come_in_a_random_order(spark):
    frame = spark.range(0, 2000, numPartitions=4)
    shuffled = module.in_random_order(frame)
    ids = [row.id for row in shuffled.collect()]
    assert shuffled.columns == ["id"]
    assert sorted(ids) == list(range(2000))
    assert [row.id for row in shuffled.collect()] == ids
    assert [row.id for row in module.in_random_order(frame).collect()] != ids
    # A quarter of the rows that stand side by side came from the same part: 500, give or take five
    # standard deviations.
    beside = sum(one // 500 == other // 500 for one, other in pairwise(ids))
    assert abs(beside - 500) < 5 * (2000 * 1 / 4 * 3 / 4) ** 0.5
    # Half of the rows stand before one with a larger number.
    rising = sum(one < other for one, other in pairwise(ids))
    assert abs(rising - 1000) < 5 * (2000 / 12) ** 0.5


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


@pytest.mark.slow
@pytest.mark.parametrize("algorithm", [ic.Mondrian(), ic.Optimal()], ids=["mondrian", "optimal"])
def test_a_table_of_patients(spark, algorithm, tmp_path):
    table = patients()
    models = [ic.KAnonymity(5), ic.LDiversity(2), ic.TCloseness(0.7)]
    one = ic.anonymize(table, asked(), models, algorithm, max_suppression=0.1)
    other = ic.anonymize(on_spark(spark, table), asked(), models, algorithm, max_suppression=0.1)
    assert released(other).equals(released(one))
    assert rounded(one.privacy.to_dict()) == rounded(other.privacy.to_dict())
    # The points of a release are those of its verdict.
    assert other.privacy == replace(ic.assess(other.table, asked(), models), points=())
    other.save(tmp_path / "out")
    again = pl.read_parquet(tmp_path / "out" / "release.parquet" / "*.parquet").sort("ID")
    assert again.equals(released(one))
    other.report(tmp_path / "report.json")


def test_types_that_cannot_be_counted(spark):
    time = ", time'12:00:00' t" if spark.version >= "4.1" else ""
    table = spark.sql(
        f"select array(1) l, binary('x') b, interval 1 day d, struct(1 as x) s{time}, map('a', 1) m, "
        "interval 1 month y"
    )
    # Lists and objects are taken apart in memory alone.
    memory = pl.DataFrame(pl.from_arrow(table.drop("l", "s", "m", "y").toArrow()))
    for name in memory.columns:
        with pytest.raises(ic.SchemaError) as expected:
            ic.assess(memory, ic.Schema(quasi=[name]))
        with pytest.raises(ic.SchemaError) as error:
            ic.assess(table, ic.Schema(quasi=[name]))
        assert str(error.value) == str(expected.value)
    messages = ("lists of type", "lists of objects", "neither text", "neither text")
    for name, message in zip(("l", "s", "m", "y"), messages, strict=True):
        with pytest.raises(ic.SchemaError, match=message):
            ic.assess(table, ic.Schema(quasi=[name]))
    with pytest.raises(ic.SchemaError, match="no column 'nothing'"):
        ic.assess(table, ic.Schema(quasi=["nothing"]))
    with pytest.raises(ic.SchemaError, match="names no quasi-identifier"):
        engine_for(table).count(ic.Schema(sensitive=["b"]))
    with pytest.raises(ic.TableError, match="no rows"):
        ic.assess(spark.range(0), ic.Schema(quasi=["id"]))
    with pytest.raises(ic.SchemaError, match=r"several columns named 'id'"):
        ic.assess(spark.range(2).join(spark.range(2)), ic.Schema(quasi=["id"]))
    with pytest.raises(ic.TableError, match="never ends"):
        ic.assess(spark.readStream.format("rate").load(), ic.Schema(quasi=["value"]))


@pytest.mark.slow
def test_points_of_time_do_not_depend_on_the_session(spark):
    """An hour that the session's zone has twice, an hour of no zone, and an hour before time zones."""
    from pyspark.sql import types as st

    times = [
        dt.datetime(2000, 10, 29, 5, 30), dt.datetime(2000, 10, 29, 6, 30), dt.datetime(2000, 4, 2, 2, 30),
        dt.datetime(2000, 4, 2, 3, 30), dt.datetime(1700, 1, 1, 1, 2, 3, 456789), None,
    ] * 3  # fmt: skip
    naive = pl.Series("naive", times, dtype=pl.Datetime("us"))
    frame = pl.DataFrame([naive, naive.dt.replace_time_zone("UTC").alias("utc")]).with_columns(
        ID=pl.Series(range(18))
    )
    fields = [("naive", st.TimestampNTZType()), ("utc", st.TimestampType()), ("ID", st.LongType())]
    kinds = st.StructType([st.StructField(*field) for field in fields])
    table = spark.createDataFrame(frame.to_arrow(), schema=kinds)
    assert table.schema == kinds
    schema = ic.Schema(quasi=["naive"], sensitive=["utc"], unlisted="keep")
    same(
        in_order_of_codes(MemoryEngine(frame).count(schema).frequency),
        in_order_of_codes(SparkEngine(table).count(schema).frequency),
    )
    both = ic.Schema(quasi=["utc", "naive"], unlisted="keep")
    for wanted, blocks in ((both, None), (both, 1), (schema, 1)):
        expected = ic.anonymize(frame, wanted, [ic.KAnonymity(2)])
        release = ic.anonymize(table, wanted, [ic.KAnonymity(2)], blocks=blocks)
        assert released(release).equals(released(expected))
    assert expected.privacy.classes == 6


def test_texts_that_a_collation_holds_for_equal(spark):
    table = spark.sql(
        "select c collate UTF8_LCASE q, id from values ('a', 1L), ('A', 2L), ('a', 3L), ('A', 4L) t(c, id)"
    )
    assessed = ic.assess(table, ic.Schema(quasi=["q"], unlisted="keep"))
    assert (assessed.classes, assessed.smallest) == (2, 2)
    release = ic.anonymize(table, ic.Schema(quasi=["q"], insensitive=["id"]), [ic.KAnonymity(2)])
    assert fetched(release.table).sort("id")["q"].to_list() == ["a", "A", "a", "A"]


@pytest.mark.slow
def test_what_was_said_about_the_columns_stays_behind(spark):
    from pyspark.sql import functions as sf

    inner = "struct<x: int comment 'SECRET', y: array<struct<z: string comment 'SECRET'>>>"
    table = spark.range(4).select(
        (sf.col("id") % 2).cast("string").alias("q", metadata={"comment": "SECRET"}),
        sf.lit("v").alias("s", metadata={"note": ["SECRET"]}),
        sf.from_json(sf.lit('{"x": 1, "y": [{"z": "w"}]}'), inner).alias("n"),
    )
    assert "SECRET" in table.schema.json()
    schema = ic.Schema(quasi=["q"], sensitive=["s"], insensitive=["n"])
    for release in (
        ic.anonymize(table, schema, [ic.KAnonymity(2)]),
        ic.anonymize(table, schema, [ic.KAnonymity(2)], ic.Optimal()),
        ic.anonymize(table, schema, [ic.KAnonymity(2)], blocks=1),
    ):
        assert "SECRET" not in release.table.schema.json()
        assert release.table.columns == ["q", "s", "n"]
        assert release.table.first()["n"].y[0].z == "w"


@pytest.mark.parametrize("levels", [None, {"q": 0, "r": 1}])
def test_rows_that_come_later_are_suppressed(spark, levels):
    """A release is made on demand, and rows that nobody has judged do not leave."""
    rows = pl.DataFrame({"q": ["a", "a", "b", "b"], "r": ["x", "y", "x", "y"], "ID": [1, 2, 3, 4]})
    more = pl.DataFrame({"q": ["a", "c", "b"], "r": ["x", "x", None], "ID": [5, 6, 7]})
    schema = ic.Schema(quasi=["q", "r"], insensitive=["ID"])
    engine = SparkEngine(on_spark(spark, rows))
    counted = engine.count(schema)
    frequency = counted.frequency
    if levels:
        recoding = ic.FullDomain.build(frequency, levels)
    else:
        # By q, of which each key knows its rank.
        recoding = ic.Local.build(frequency, frequency.codes[0].astype(np.int32), 2, ["auto", "auto"], "x")
    engine._frame = on_spark(spark, pl.concat([rows, more]))
    frame = fetched(counted.apply(schema, recoding).table).sort("ID")
    # A full-domain recoding knows each value; a local one the combination, and that one was there.
    assert frame["q"].to_list()[:5] == ["a", "a", "b", "b", "a"]
    assert frame.select("q", "r").rows()[5:] == [("*", "*"), ("*", "*")]


HIGH = ic.Hierarchy.from_nested({"*": {"99": ["a", "b"], "low": ["c", "d"]}})


@pytest.mark.slow
@pytest.mark.parametrize(
    ("attribute", "null", "blocks"),
    [
        (ic.Attribute("age", "quasi", output="mean"), "99.0", 2),
        (ic.Attribute("age", "quasi"), "[98-100]", 1),
        (ic.Attribute("letter", "quasi", hierarchy=HIGH), "99", 2),
        (ic.Attribute("letter", "quasi", output="set"), "{a, b}", None),
    ],
    ids=["mean", "range", "label", "set"],
)
def test_cells_that_would_read_as_missing_are_refused(spark, attribute, null, blocks):
    """A single class of two has such a cell, or a single block of two, found by an executor."""
    frame = pl.DataFrame({"age": [98, 100, 10, 12] * 5, "letter": list("abcd") * 5})
    others = [ic.Attribute(name, "insensitive") for name in frame.columns if name != attribute.name]
    table, models = on_spark(spark, frame), [ic.KAnonymity(10)]
    settings = {"blocks": blocks, "ends": "exact"}
    release = ic.anonymize(
        table, ic.Schema.of_attributes([attribute, *others], null_values=["?"]), models, **settings
    )
    assert fetched(release.table)[attribute.name].n_unique() == 2
    with pytest.raises(ic.SchemaError, match="a released cell would read as missing") as error:
        ic.anonymize(
            table, ic.Schema.of_attributes([attribute, *others], null_values=[null]), models, **settings
        )
    # What Spark says besides, with the executor's trace, is left out.
    assert len(str(error.value)) < 250


def test_failures_name_no_values_and_leave_nothing(spark, tmp_path):
    flag = str(tmp_path / "fails")

    def fragile(batches):
        for batch in batches:
            if Path(flag).exists():
                raise ValueError("SECRET value 4711")
            yield batch

    table = spark.range(60, numPartitions=1).selectExpr("cast(id % 3 as string) q", "id ID")
    broken = table.mapInArrow(fragile, table.schema)
    schema = ic.Schema(quasi=["q"], insensitive=["ID"])
    release = ic.anonymize(broken, schema, [ic.KAnonymity(20)])
    target = tmp_path / "out"
    release.write(target)
    Path(flag).touch()
    before = sorted(path.name for path in target.iterdir())
    for work in (
        lambda: release.write(target, force=True),
        lambda: release.write(tmp_path / "new"),
        lambda: ic.assess(broken, schema),
        lambda: ic.anonymize(broken, schema, [ic.KAnonymity(20)], blocks=2),
    ):
        with pytest.raises(ic.TableError, match="Spark could not finish") as caught:
            work()
        assert "SECRET" not in str(caught.value)
        assert "4711" not in str(caught.value)
        assert caught.value.__cause__ is None
        assert caught.value.__suppress_context__
    assert sorted(path.name for path in target.iterdir()) == before
    assert sorted(path.name for path in tmp_path.iterdir()) == ["fails", "out"]


def test_targets_that_are_refused(spark, tmp_path):
    frame = pl.DataFrame({"q": ["a"] * 4, "Q": ["b"] * 4})
    release = ic.anonymize(
        on_spark(spark, frame), ic.Schema(quasi=["q"], insensitive=["Q"]), [ic.KAnonymity(2)]
    )
    with pytest.raises(ic.TableError, match="differ by case alone"):
        release.write(tmp_path / "out")
    source = tmp_path / "in"
    spark.range(8).selectExpr("cast(id % 2 as string) q").write.parquet(str(source))
    release = ic.anonymize(spark.read.parquet(str(source)), ic.Schema(quasi=["q"]), [ic.KAnonymity(2)])
    divided = ic.anonymize(
        spark.read.parquet(str(source)), ic.Schema(quasi=["q"]), [ic.KAnonymity(2)], blocks=1
    )
    for made in (release, divided):
        for target in (source, tmp_path):
            with pytest.raises(ic.TableError, match="would replace the input"):
                made.write(target, force=True)
    divided.unpersist()
    with pytest.raises(ic.TableError, match="would replace the input"):
        release.write(source)
    assert len(pl.read_parquet(source / "*.parquet")) == 8
    with pytest.raises(ic.ParameterError, match="rows of a table on Spark have no order"):
        ic.anonymize(spark.range(4), ic.Schema(quasi=["id"]), [ic.KAnonymity(2)], keep_order=True)
    with pytest.raises(ic.TableError, match="cannot be parted"):
        ic.anonymize(spark.range(4), ic.Schema(quasi=["id"]), [ic.KAnonymity(2)], ic.Clustering())


def test_keys_are_counted_before_they_are_fetched(spark, monkeypatch):
    def never(frame):
        raise AssertionError("something was fetched")

    monkeypatch.setattr(module, "fetch_compact", never)
    table = spark.range(100).selectExpr("id q", "id % 7 s")
    schema = ic.Schema(quasi=["q"], sensitive=["s"])
    with pytest.raises(ic.ParameterError, match="driver_keys must be a whole number of at least 1"):
        ic.assess(table, schema, driver_keys=0)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(opening, "DRIVER_KEYS", 99)
        small = pl.DataFrame({"q": [1, 1], "s": [1, 2]})
        with pytest.raises(ic.TableError, match="population: 100 distinct"):
            ic.assess(small, schema, [ic.KMap(1)], population=table)
    for work in (
        lambda: ic.assess(table, schema, driver_keys=99),
        lambda: ic.anonymize(table, schema, [ic.KAnonymity(2)], ic.Datafly(), driver_keys=99),
        lambda: ic.anonymize(table, schema, [ic.KAnonymity(2)], ic.Mondrian(mode="relaxed"), driver_keys=99),
    ):
        with pytest.raises(ic.TableError, match="100 distinct combinations of 'q' are more than the 99"):
            work()
