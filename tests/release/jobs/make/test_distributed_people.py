"""A release that is made block by block holds for people as sets."""

from __future__ import annotations

from dataclasses import replace

import polars as pl
import pytest

import incrowd as ic
from incrowd.engines.spark import to_polars
from incrowd.release.accounts.statements import model_sentence
from incrowd.release.jobs.make.distributed import blocks as module
from incrowd.release.jobs.make.distributed import check
from people_readings import Reading, people_table

pytestmark = pytest.mark.filterwarnings("ignore:PySpark does not yet fully support pandas:FutureWarning")

TABLE = people_table(5, people=120).with_row_index("row").cast({"row": pl.Int64})
SCHEMA = ic.Schema(
    quasi={"age": None, "town": None},
    sensitive=["ill", "cost"],
    insensitive=["row"],
    person="person",
)
MODELS = [
    ic.KAnonymity(4),
    ic.LDiversity(2, attribute="ill"),
    ic.TCloseness(0.6, "equal", attribute="ill"),
    ic.AlphaKAnonymity(0.9, 2, attribute="cost"),
]


def on_spark(spark, frame):
    return spark.createDataFrame(frame.to_arrow()).repartition(3)


def reading(made: pl.DataFrame) -> Reading:
    """Read a release as sets, by the origins of rows."""
    made = made.sort("row")
    people = TABLE["person"].gather(made["row"]).to_list()
    cells = [made["age"].to_list(), made["town"].to_list()]
    return Reading(people, cells, {name: made[name].to_list() for name in ("ill", "cost")})


def holds(made: pl.DataFrame) -> bool:
    result = reading(made)
    return (
        result.k() >= 4
        and result.distinct("ill") >= 2
        and result.equal_distance("ill") <= 0.6 + 1e-9
        and result.alpha("cost") <= 0.9 + 1e-9
    )


@pytest.mark.slow
@pytest.mark.parametrize("blocks", [1, 5])
def test_spark_blocks_hold_for_people(spark, blocks):
    release = ic.anonymize(on_spark(spark, TABLE), SCHEMA, MODELS, blocks=blocks)
    frame = to_polars(release.table)
    assert "person" not in frame.columns
    assert frame.sort("row")["ill"].equals(TABLE["ill"])
    assert holds(frame)
    assert release.blocks == blocks
    result = reading(frame)
    people = release.privacy.people
    assert (people.smallest, people.people) == (result.k(), len(result.everybody))
    assert people.unnamed == TABLE["person"].null_count() > 0
    whole = ic.assess(frame.sort("row").with_columns(TABLE["person"]), SCHEMA, MODELS)
    assert people == whole.people
    assert [m.value for m in release.privacy.privacy] == pytest.approx([m.value for m in whole.privacy])
    if blocks == 1:
        one = ic.anonymize(TABLE, SCHEMA, MODELS)
        assert frame.sort("row").select("age", "town").equals(one.table.sort("row").select("age", "town"))
    release.unpersist()


@pytest.mark.slow
def test_spark_blocks_by_rows_would_not_hold(spark):
    """The same table without the role gives classes of fewer people."""
    plain = ic.Schema(
        quasi={"age": None, "town": None},
        sensitive=["ill", "cost"],
        insensitive=["row"],
        identifying=["person"],
    )
    release = ic.anonymize(on_spark(spark, TABLE), plain, MODELS, blocks=2)
    assert not holds(to_polars(release.table))
    release.unpersist()


@pytest.mark.slow
def test_spark_blocks_that_fail_by_people_are_joined(spark, monkeypatch):
    """A block of two people with many rows each holds by rows and has to be joined with another."""
    rows = [(f"p{n % 30}", n % 10, "xy"[n // 30]) for n in range(60)]
    rows += [(f"q{n % 2}", 90 + n % 3, "xy"[n // 2 % 2]) for n in range(60)]
    table = pl.DataFrame(rows, schema=["person", "age", "ill"], orient="row")
    schema = ic.Schema(quasi={"age": None}, sensitive=["ill"], person="person")
    listed = []
    whole = module.listed_people
    monkeypatch.setattr(module, "listed_people", lambda *given: listed.append(1) or whole(*given))
    # With ends that are open, the only class would be a *.
    release = ic.anonymize(on_spark(spark, table), schema, [ic.KAnonymity(3)], blocks=2, ends="exact")
    assert listed
    assert release.blocks == 1
    assert release.privacy.people.smallest >= 3
    release.unpersist()
    with pytest.raises(ic.TableError, match="64 pairs of a person and a block are more than the 20"):
        ic.anonymize(on_spark(spark, table), schema, [ic.KAnonymity(3)], blocks=2, driver_keys=20)


@pytest.mark.slow
def test_spark_blocks_checked_in_parts(spark, monkeypatch, tmp_path):
    release = ic.anonymize(on_spark(spark, TABLE), SCHEMA, MODELS, blocks=3)
    whole = release.privacy
    monkeypatch.setattr(check, "_CHECKED_TOGETHER", 20)
    result = check.check_in_parts(release.named, release.policy, release.scale, 200)
    assert result.people == whole.people
    measures = [measured for measured in whole.privacy if measured.limit is not None]
    assert [m.value for m in result.privacy] == pytest.approx([m.value for m in measures])
    assert [(m.holds, m.failing) for m in result.privacy] == [(m.holds, m.failing) for m in measures]
    # Statements speak of people, not of records, where the models held for people.
    assert [m.failing_people for m in result.privacy] == [0] * len(measures)
    assert model_sentence(result.privacy[0], ["x"]) == model_sentence(measures[0], ["x"])
    strict = replace(release.policy, models=(ic.KAnonymity(50),))
    assert (
        check.check_in_parts(release.named, strict, release.scale, 200).privacy[0].value
        == whole.people.smallest
    )
    release.write(tmp_path / "out")
    assert holds(pl.read_parquet(tmp_path / "out" / "*.parquet"))
    # What was written has to be those rows.
    other = release.table.limit(TABLE.height - 1)
    with pytest.raises(ic.TableError, match="does not hold the rows that were recoded"):
        check.refuse_other_rows(other, release.named, ["age", "town", "ill", "cost"])
    release.unpersist()


@pytest.mark.slow
def test_spark_blocks_know_who_is_suppressed_and_who_means_nobody(spark):
    table = TABLE.with_columns(
        pl.when(pl.col("row") % 7 == 0).then(pl.lit("*")).otherwise(pl.col(name).cast(pl.String)).alias(name)
        for name in ("age", "town")
    ).with_columns(pl.col("person").fill_null("NA"))
    schema = ic.Schema(
        quasi={"age": None, "town": None}, sensitive=["ill"], insensitive=["row", "cost"], person="person", null_values=["NA"]
    )  # fmt: skip
    models = [ic.KAnonymity(3), ic.TCloseness(0.6, "equal")]
    settings = {"blocks": 2, "max_suppression": 0.3, "suppressed": "keep"}
    release = ic.anonymize(on_spark(spark, table), schema, models, **settings)
    frame = to_polars(release.table).sort("row")
    whole = ic.assess(frame.with_columns(table["person"]), schema, models)
    assert release.privacy.people == whole.people
    assert whole.people.unnamed == (table["person"] == "NA").sum()
    assert whole.people.suppressed > 0
    assert [m.value for m in release.privacy.privacy] == pytest.approx([m.value for m in whole.privacy])
    release.unpersist()


def test_spark_blocks_refuse_what_needs_every_class(spark):
    with pytest.raises(ic.ParameterError, match="km-anonymity looks at what people have in several classes"):
        ic.anonymize(on_spark(spark, TABLE), SCHEMA, [ic.KMAnonymity(2, 2)], blocks=2)
