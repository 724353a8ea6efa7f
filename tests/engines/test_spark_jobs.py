"""Spark is asked few questions, of as many tasks as the rows need, whatever the session is set to."""

from __future__ import annotations

import polars as pl
import pytest

import incrowd as ic
from incrowd.samples import hospital
from spark_jobs import STOCK, jobs_of, stock

pytestmark = pytest.mark.filterwarnings("ignore:PySpark does not yet fully support pandas:FutureWarning")

NUMBERS = ("age", "zip_number", "length_of_stay", "cost")


@pytest.fixture(scope="module")
def numbers() -> pl.DataFrame:
    rows = hospital(5000).with_columns(zip_number=pl.col("zip").cast(pl.Int64))
    return rows.select(*NUMBERS, "admission_date", "diagnosis", "sex")


@pytest.fixture
def own(spark):
    return stock(spark)


@pytest.mark.slow
def test_numbers_of_a_small_table_take_few_jobs_and_tasks(own, numbers, tmp_path):
    numbers.write_parquet(tmp_path / "rows.parquet")
    table = own.read.parquet(str(tmp_path / "rows.parquet"))
    schema = ic.Schema(quasi=[*NUMBERS, "admission_date"], unlisted="drop")
    with jobs_of(own) as jobs:
        release = ic.anonymize(table, schema, [ic.KAnonymity(5)])
    assert jobs.jobs <= 8
    assert jobs.tasks <= 30
    with jobs_of(own) as jobs:
        release.write(str(tmp_path / "made"))
    assert jobs.jobs <= 8
    assert jobs.tasks <= 30


@pytest.mark.slow
def test_sensitive_attributes_of_a_small_table_are_asked_at_once(own, numbers):
    table = own.createDataFrame(numbers.to_arrow()).repartition(3)
    schema = ic.Schema(
        quasi=["age", "admission_date"], sensitive=["diagnosis", "sex", "cost"], unlisted="drop"
    )
    with jobs_of(own) as jobs:
        assessment = ic.assess(table, schema)
    # Two for each of three columns that leave are asked for its points.
    assert jobs.jobs <= 18
    assert jobs.tasks <= 30
    assert assessment.to_dict() == ic.assess(numbers, schema).to_dict()


@pytest.mark.slow
def test_a_small_table_in_blocks_takes_few_tasks(own, numbers):
    table = own.createDataFrame(numbers.to_arrow()).repartition(3)
    schema = ic.Schema(quasi=[*NUMBERS, "admission_date"], unlisted="drop")
    with jobs_of(own) as jobs:
        release = ic.anonymize(table, schema, [ic.KAnonymity(5)], blocks=2)
    release.unpersist()
    assert jobs.jobs <= 25
    assert jobs.tasks <= 100


@pytest.mark.slow
def test_a_session_keeps_its_settings(own, numbers):
    table = own.createDataFrame(numbers.head(100).to_arrow())
    before = dict(own.conf.getAll)
    ic.assess(table, ic.Schema(quasi=["age"], sensitive=["diagnosis", "sex"], unlisted="drop"))
    assert dict(own.conf.getAll) == before
    assert {name: own.conf.get(name) for name in STOCK} == STOCK
