"""Columns are treated the same wherever the rows are."""

from __future__ import annotations

import contextlib
import datetime as dt

import polars as pl
import pytest

import incrowd as ic
from database_tables import STORES, fetched, holding
from incrowd.treatments.keys import Secret
from treatment_tables import KEY, MARK, people

MODELS = ["k-anonymity:5", "l-diversity:2"]
PLACES = ["csv", "parquet", "lazy", "pandas", "arrow", "relation", *STORES, "spark"]
SHIFT = {"shift-dates": 45, "by": "person", "key": "env:CLINIC_KEY"}
DAY = dt.date(2020, 2, 28)


def table() -> pl.DataFrame:
    """The people, with visits: a day that is text, and one that is a date."""
    raw = people(200)
    return raw.with_columns(
        came=pl.Series([f"2020-03-{n % 28 + 1:02}" for n in range(200)]),
        went=pl.Series([DAY + dt.timedelta(days=n % 50) for n in range(200)]),
        number=pl.Series([n // 2 for n in range(200)]),
        bonus=pl.col("salary") // 8,
        ward=pl.format("ward {}", pl.col("phone").str.slice(-2)),
        mail=pl.when(pl.col("dx") == "flu").then(None).otherwise(pl.col("mail")),
    )


SCHEMA = ic.Schema(
    quasi={"age": ic.Hierarchy.intervals(10, 20, 40)},
    sensitive=["dx", "salary", "came"],
    insensitive=["phone", "mail", "note", "went", "number", "bonus", "ward"],
    person="pid",
    treatments={
        "pid": {"pseudonym": "hmac", "key": "env:CLINIC_KEY", "length": 14},
        "salary": {"round": 20_000, "top": 0.98, "linked": ["bonus"]},
        "phone": {"keep-last": 1, "linked": ["ward"]},
        "mail": "email-domain",
        "note": "constant:-",
        "came": SHIFT,
        "went": SHIFT,
        "number": {"pseudonym": "hmac", "key": "env:CLINIC_KEY", "form": "digits"},
    },
)


@pytest.fixture(autouse=True)
def _key(monkeypatch):
    monkeypatch.setenv("CLINIC_KEY", KEY)


@contextlib.contextmanager
def at(place, frame, tmp_path, request):
    if place == "spark":
        yield request.getfixturevalue("spark").createDataFrame(frame.to_arrow())
    elif place in (*STORES, "relation"):
        url = request.getfixturevalue("postgres") if place == "postgresql" else None
        with holding(
            place, frame.with_columns(pl.col("went").cast(pl.String)) if place == "sqlite" else frame, url
        ) as held:
            yield held
    elif place in ("csv", "parquet"):
        getattr(frame, f"write_{place}")(tmp_path / f"t.{place}")
        yield ic.scan(tmp_path / f"t.{place}")
    else:
        yield {"lazy": frame.lazy, "pandas": frame.to_pandas, "arrow": frame.to_arrow}[place]()


def rows(found) -> list:
    """All rows as texts, without an order."""
    frame = found if isinstance(found, pl.DataFrame) else pl.DataFrame(found)
    texts = [
        # Whole numbers are floats in pandas once one is missing.
        series.dt.to_string("%Y-%m-%d")
        if series.dtype.is_temporal()
        else series.cast(pl.String).str.strip_suffix(".0")
        for series in frame.get_columns()
    ]
    return sorted(pl.DataFrame(texts).rows(), key=str)


def released(release, place, tmp_path) -> pl.DataFrame:
    if place == "spark":
        return pl.DataFrame(release.table.toArrow())
    if place in (*STORES, "relation"):
        return fetched(release.table)
    release.write(tmp_path / "out.parquet")
    return pl.read_parquet(tmp_path / "out.parquet")


@pytest.mark.parametrize("place", PLACES)
@pytest.mark.parametrize("algorithm", ["mondrian", "optimal"])
def test_every_engine_gives_the_same_values(place, algorithm, tmp_path, request):
    frame = table()
    memory = ic.anonymize(frame, SCHEMA, MODELS, algorithm, max_suppression=0.2)
    tokens = {Secret(KEY.encode()).digest(pid.encode()).hex()[:14] for pid in frame["pid"]}
    assert set(memory.table["pid"]) == tokens
    with at(place, frame, tmp_path, request) as given:
        release = ic.anonymize(given, SCHEMA, MODELS, algorithm, max_suppression=0.2)
        found = released(release, place, tmp_path)
    assert rows(found) == rows(memory.table)
    assert release.recoding.treated == memory.recoding.treated
    assert release.privacy.people == memory.privacy.people
    text = found.with_columns(pl.all().cast(pl.String)).write_csv()
    assert MARK not in text
    assert "+49" not in text


@pytest.mark.parametrize("place", STORES)
def test_a_new_table_of_the_database_has_the_treated_columns(place, tmp_path, request):
    frame = table()
    memory = ic.anonymize(frame, SCHEMA, MODELS)
    with at(place, frame, tmp_path, request) as given:
        release = ic.anonymize(given, SCHEMA, MODELS)
        release.into("safe", force=True)
        made = given.database.table("safe")
        names = made.columns
        listed = ", ".join(f'CAST("{name}" AS VARCHAR(100))' for name in names)
        found = made.fetch(f"SELECT {listed} FROM {made.source}")
    found.columns = names
    assert rows(found) == rows(memory.table)


@pytest.mark.parametrize("place", ["relation", "duckdb", "spark"])
def test_the_next_batch_is_treated_alike_where_it_lies(place, tmp_path, request):
    frame = table()
    policy = ic.Policy(SCHEMA, ["k-anonymity:2"], max_suppression=1.0)
    recoding = ic.anonymize(frame, policy).recoding
    batch = frame[:60].with_columns(salary=pl.col("salary") * 3)
    memory = ic.apply_recoding(recoding, batch, policy)
    with at(place, batch, tmp_path, request) as given:
        applied = ic.apply_recoding(recoding, given, policy)
        found = released(applied, place, tmp_path)
    assert rows(found) == rows(memory.table)


@pytest.mark.parametrize("place", ["duckdb", "relation", "spark"])
def test_what_rows_elsewhere_cannot_have_is_refused(place, tmp_path, request):
    quasi = ic.Schema(["age"], unlisted="drop", treatments={"age": "round:10"})
    drawn = ic.Schema(["age"], ["salary"], unlisted="drop", treatments={"salary": "round:10,how=random"})
    with at(place, table(), tmp_path, request) as given:
        with pytest.raises(
            ic.TableError, match=r"'age': round: a quasi-identifier of .* cannot be treated yet"
        ):
            ic.anonymize(given, quasi, "k-anonymity:2")
        with pytest.raises(ic.TableError, match="'salary': round is random, and rows of"):
            ic.anonymize(given, drawn, "k-anonymity:2")


def test_blocks_on_spark_refuse_treatments(spark):
    frame = spark.createDataFrame(table().to_arrow())
    with pytest.raises(ic.ParameterError, match=r"cannot be treated block by block .'pid'"):
        ic.anonymize(frame, SCHEMA, "k-anonymity:2", blocks=2)
