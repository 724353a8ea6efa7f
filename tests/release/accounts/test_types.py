"""Means come back as numbers and dates in frames; files and measures see the same cells as ever."""

from __future__ import annotations

import datetime as dt
import math
from decimal import Decimal
from functools import partial

import narwhals as nw
import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

import incrowd as ic
from examples import examples
from incrowd.attacks import attack
from incrowd.release.jobs.measure.evaluate import evaluate
from incrowd.release.policy.policy import Policy

allowing = partial(ic.apply_recoding, max_suppression=1.0)

DAY = dt.date(2020, 3, 1)
AGES = [20, 21, 24, 30, 31, 31]
K = "k-anonymity:3"


def released(table, *columns: str, **more):
    schema = ic.Schema(quasi=list(columns) or ["age"], unlisted="keep")
    return ic.anonymize(table, schema, K, output="mean", keep_order=True, force=True, **more, ends="exact")


def listed(table, name: str) -> list:
    return nw.from_native(table, eager_only=True)[name].to_list()


def series_of_pandas(dtype) -> pd.DataFrame:
    return pd.DataFrame({"age": pd.array(AGES, dtype=dtype)})


MEANS = [65 / 3, 65 / 3, 65 / 3, 92 / 3, 92 / 3, 92 / 3]


@pytest.mark.parametrize(
    ("table", "dtype"),
    [
        (series_of_pandas("int64"), "float64"),
        (series_of_pandas("Int64"), "Float64"),
        (series_of_pandas("float32"), "float64"),
        (series_of_pandas("Float32"), "Float64"),
        (series_of_pandas(pd.ArrowDtype(pa.int32())), "double[pyarrow]"),
        (pl.DataFrame({"age": AGES}), "Float64"),
        (pl.DataFrame({"age": AGES}, schema={"age": pl.Float32}), "Float64"),
        (pl.LazyFrame({"age": AGES}), "Float64"),
        (pa.table({"age": AGES}), "double"),
    ],
    ids=str,
)
def test_means_of_numbers_are_numbers(table, dtype):
    release = released(table)
    frame = release.table.collect() if isinstance(release.table, pl.LazyFrame) else release.table
    column = frame["age"]
    assert str(column.type if isinstance(frame, pa.Table) else column.dtype) == dtype
    assert listed(frame, "age") == pytest.approx(MEANS, abs=1e-6)
    texts = release.texts.collect() if isinstance(release.texts, pl.LazyFrame) else release.texts
    assert set(listed(texts, "age")) == {"21.666667", "30.666667"}


ZONE = "Europe/Berlin"
DAYS = [DAY + dt.timedelta(days=each) for each in (0, 1, 2, 40, 41, 42)]
MIDNIGHTS = [dt.datetime(day.year, day.month, day.day) for day in DAYS]
OF_PANDAS = pd.Series(MIDNIGHTS)


@pytest.mark.parametrize(
    ("column", "like"),
    [
        (OF_PANDAS, None),
        (OF_PANDAS.astype("datetime64[s]"), None),
        (OF_PANDAS.dt.tz_localize(ZONE), ZONE),
        (OF_PANDAS.astype(pd.ArrowDtype(pa.timestamp("us"))), None),
        (pd.Series(DAYS, dtype=object), None),
        (pd.Series(DAYS, dtype=pd.ArrowDtype(pa.date32())), None),
        (pl.Series(DAYS), None),
        (pl.Series(MIDNIGHTS, dtype=pl.Datetime("ns")), None),
        (pl.Series(MIDNIGHTS).dt.replace_time_zone(ZONE), ZONE),
        (pa.array(MIDNIGHTS, pa.timestamp("s")), None),
        (pa.array(DAYS, pa.date64()), None),
    ],
    ids=lambda each: f"{type(each).__module__} {getattr(each, 'dtype', getattr(each, 'type', each))}",
)
def test_means_of_days_have_the_type_that_came_in(column, like):
    kind = {pd.Series: pd.DataFrame, pl.Series: pl.DataFrame}.get(type(column), pa.table)
    table = kind({"seen": column})
    frame = released(table, "seen").table
    before, after = (
        getattr(each["seen"], "dtype", getattr(each["seen"], "type", None)) for each in (table, frame)
    )
    assert after == before
    assert [str(day)[:10] for day in listed(frame, "seen")] == ["2020-03-02"] * 3 + ["2020-04-11"] * 3
    zones = {str(day.tzinfo) for day in listed(frame, "seen") if getattr(day, "tzinfo", None)}
    assert zones == ({like} if like else set())


def test_a_missing_mean_is_missing():
    for ages in (pd.array([20, 21, 22, None, None, None], dtype="Int64"), [20.0, 21, 22, None, None, None]):
        ages_of_means = released(pd.DataFrame({"age": ages})).table["age"]
        assert ages_of_means.isna().tolist() == [False] * 3 + [True] * 3
        assert ages_of_means[0] == 21
    assert released(pl.DataFrame({"age": [20, 21, 22, *[None] * 3]})).table["age"].to_list()[2:] == [
        21,
        *[None] * 3,
    ]


def test_a_mean_among_texts_that_it_cannot_be_told_from_stays_text():
    """A suppressed cell or another text has no place among numbers."""
    for table in (
        pl.DataFrame({"x": [dt.datetime(2020, 1, 1, 9)] * 3 + MIDNIGHTS[3:]}),
        pl.DataFrame({"x": [Decimal("1.10"), *[Decimal("2.20")] * 3, Decimal("1.10"), Decimal("1.10")]}),
        pl.DataFrame({"x": [2**53 + 1] * 3 + [2**53 + 3] * 3}),
        pl.DataFrame({"x": [1e-6, 2e-6, 3e-6]}),
        pl.DataFrame({"x": ["20", "21", "25"]}),
    ):
        release = released(table, "x")
        assert release.table is release.texts
        assert release.table["x"].dtype == pl.String
    assert released(pl.DataFrame({"age": [True, True, False]})).table["age"].dtype == pl.String


def test_a_column_with_suppressed_records_stays_text():
    """A missing value in place of `*` would be a separate class to a measurer of the release."""
    table = pl.DataFrame({"age": [20, 20, 30, 30], "weight": [70, 70, 80, 80]})
    policy = Policy(
        ic.Schema(quasi=["age", "weight"]),
        (ic.KAnonymity(2),),
        ic.MDAV(),
        1.0,
        "mean",
        ends="exact",
        suppressed="keep",
    )
    release = ic.anonymize(table, policy)
    assert release.table.dtypes == [pl.Float64, pl.Float64]
    again = pl.DataFrame({"age": [20, 30, 99], "weight": [70, 80, 72]})
    parts = [
        allowing(release.recoding, again, policy, previous_release=each, published_as_one=True)
        for each in (release.table, release.texts)
    ]
    for batch in parts:
        assert batch.table.dtypes == [pl.String, pl.String]
        assert batch.table.rows().count(("*", "*")) == batch.suppressed == 1


def test_a_batch_of_means_has_numbers_too(tmp_path):
    table = pl.DataFrame({"age": [20, 20, 20, 30, 30, 30]})
    policy = Policy(
        ic.Schema(quasi=["age"]), (ic.KAnonymity(3),), output="mean", keep_order=True, ends="exact"
    )
    release = ic.anonymize(table, policy, force=True)
    for kind, dtype in ((pl.DataFrame, "Float64"), (pd.DataFrame, "float64")):
        batch = ic.apply_recoding(
            release.recoding,
            kind({"age": [30, 20, 30]}),
            policy,
            previous_release=release.table,
            published_as_one=True,
            force=True,
        )
        assert str(batch.table["age"].dtype) == dtype
        assert listed(batch.table, "age") == [30, 20, 30]
        assert listed(batch.texts, "age") == ["30", "20", "30"]
        batch.write(tmp_path / f"{dtype}.csv")
        assert (tmp_path / f"{dtype}.csv").read_text() == "age\n30\n20\n30\n"


@pytest.mark.few(1)
@pytest.mark.parametrize("name", ["age", "^.*$", "*", "a.b", ""])
def test_files_have_the_texts(name, tmp_path):
    for table in (pl.DataFrame({name: AGES}), pl.LazyFrame({name: AGES}), pd.DataFrame({name: AGES})):
        release = released(table, name)
        release.write(tmp_path / "r.csv", force=True)
        lines = (tmp_path / "r.csv").read_text().splitlines()
        assert lines[1:] == ["21.666667"] * 3 + ["30.666667"] * 3
        release.write(tmp_path / "r.parquet", force=True)
        assert pl.read_parquet(tmp_path / "r.parquet").dtypes == [pl.String]
        frame = release.table.collect() if isinstance(table, pl.LazyFrame) else release.table
        assert listed(frame, name) == pytest.approx(MEANS, abs=1e-6)


def test_streamed_files_and_databases_keep_texts(tmp_path):
    import duckdb

    frame = pl.DataFrame({"age": AGES})
    frame.write_parquet(tmp_path / "raw.parquet")
    files = ic.scan(tmp_path / "raw.parquet")
    assert released(files).table.frame.collect()["age"].dtype == pl.String
    with duckdb.connect() as connection:
        relation = connection.from_arrow(frame.to_arrow())
        schema = ic.Schema(quasi=["age"])
        assert ic.anonymize(relation, schema, K, output="mean").table.pl()["age"].dtype == pl.String


def people(rows: int = 60) -> pl.DataFrame:
    random = np.random.default_rng(3)
    return pl.DataFrame(
        {
            "age": random.integers(20, 60, rows),
            "weight": random.normal(70, 10, rows).round(1),
            "seen": [DAY + dt.timedelta(days=int(each)) for each in random.integers(0, 400, rows)],
            "s": random.choice(["a", "b", "c"], rows),
        }
    )


@pytest.mark.slow
def test_every_measure_reads_numbers_as_it_reads_their_texts(tmp_path):
    table = people()
    schema = ic.Schema(quasi=["age", "weight", "seen"], sensitive=["s"])
    policy = Policy(schema, (ic.KAnonymity(4),), output="mean", ends="exact")
    release = ic.anonymize(table, policy)
    assert release.table.dtypes == [pl.Float64, pl.Float64, pl.Date, pl.String]
    for other in (release.table, release.table.to_pandas(), release.table.to_arrow()):
        assert ic.assess(other, schema, "k-anonymity:4").to_dict() == release.privacy.to_dict()
        mine, theirs = (
            evaluate(table, each, schema, row_map=release.row_map()) for each in (release.texts, other)
        )
        assert mine.to_dict() == theirs.to_dict()
        kinds = ["singling-out-multivariate", "linkability", "inference", "order"]
        documents = [
            [each.to_dict() for each in attack(table, tried, policy, kinds=kinds, attacks=20)]
            for tried in (release.texts, other)
        ]
        assert documents[0] == documents[1]
    few = table.select("age", "s")[:12]
    small = Policy(
        ic.Schema(quasi=["age"], sensitive=["s"]), (ic.KAnonymity(3),), output="mean", ends="exact"
    )
    result = ic.anonymize(few, small)
    outcome = [
        attack(few, tried, small, kinds=["minimality"], attacks=20)[0].to_dict()
        for tried in (result.table, result.texts)
    ]
    assert outcome[0] == outcome[1]
    release.save(tmp_path / "out")
    assert ic.verify(tmp_path / "out" / "release.csv", tmp_path / "out" / "policy.toml").ok


@pytest.mark.slow
@examples(60)
@given(
    st.lists(
        st.one_of(
            st.none(),
            st.integers(-(2**60), 2**60),
            st.floats(allow_nan=False, allow_infinity=False, width=32),
        ),
        min_size=3,
        max_size=12,
    ),
    st.sampled_from(["polars", "pandas", "arrow", "lazy"]),
)
def test_whatever_comes_back_reads_as_the_text_of_the_file(values, kind):
    frame = pl.DataFrame({"x": pl.Series(values, dtype=pl.Float64, strict=False)})
    table = {"pandas": frame.to_pandas(), "arrow": frame.to_arrow(), "lazy": frame.lazy()}.get(kind, frame)
    release = ic.anonymize(
        table,
        ic.Schema(quasi=["x"]),
        "k-anonymity:2",
        output="mean",
        keep_order=True,
        force=True,
        ends="exact",
    )
    if release.table is release.texts:
        return
    numbers, texts = (
        listed(each.collect() if kind == "lazy" else each, "x") for each in (release.table, release.texts)
    )
    for number, text in zip(numbers, texts, strict=True):
        gone = number is None or math.isnan(number)
        assert gone == (text is None or (kind == "pandas" and not isinstance(text, str)))
        assert gone or float(text) == number
