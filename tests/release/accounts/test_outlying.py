"""A number or date far from all others of a column: the release and the verifier agree."""

from __future__ import annotations

import datetime as dt
import json
import sqlite3
from collections.abc import Sequence
from contextlib import closing
from typing import Any

import numpy as np
import polars as pl
import pytest

import incrowd as ic
from incrowd_gate.points import Point

pytestmark = pytest.mark.gated

ROWS = 400
RNG = np.random.default_rng(3)
AGES = RNG.integers(20, 60, ROWS)
SALARIES = (RNG.integers(20, 91, ROWS) * 1000).tolist()
FAR = 2_000_000
DAYS = [dt.date(1970, 1, 1) + dt.timedelta(int(day)) for day in RNG.integers(0, 10_000, ROWS)]
OLD = dt.date(1901, 1, 1)
FORMATS = ("csv", "parquet")


def with_last(values: Sequence[Any], *last: Any) -> list[Any]:
    return [*values[: ROWS - len(last)], *last]


def released(column: Sequence[Any], role: str = "insensitive", **settings: Any) -> ic.Release:
    table = pl.DataFrame({"age": AGES[: len(column)], "x": pl.Series("x", column, strict=False)})
    schema = ic.Schema(quasi=["age"], **({} if role == "kept" else {role: ["x"]}), **settings)
    return ic.anonymize(table, schema, "k-anonymity:5", unanswered="write")


def of_kind(points: Sequence[Point]) -> list[Point]:
    return [point for point in points if point.name == "outlying-value"]


def verified(release: ic.Release, folder: Any, suffix: str = "csv") -> list[Point]:
    release.policy.write(folder / "policy.toml", force=True)
    release.write(folder / f"release.{suffix}", force=True)
    return of_kind(ic.verify(folder / f"release.{suffix}", folder / "policy.toml").verdict.points)


HOURS = [dt.datetime(1970, 1, 1) + dt.timedelta(hours=int(each)) for each in RNG.integers(0, 90_000, ROWS)]
COLUMNS = {
    "whole": (with_last(SALARIES, FAR), "largest number"),
    "small": (with_last(SALARIES, -FAR), "smallest number"),
    "texts": ([str(each) for each in with_last(SALARIES, FAR)], "largest number"),
    "decimals": ([f"{each}.50" for each in with_last(SALARIES, FAR)], "largest number"),
    "missing": (with_last([float(each) for each in SALARIES], None, float("nan"), 2e6), "largest number"),
    "infinite": (with_last([f"{each}.5" for each in SALARIES], "inf", "2e6"), "largest number"),
    "one number in two ways": (with_last(list(map(str, SALARIES)), "90000.0", str(FAR)), "largest number"),
    "days": (with_last(DAYS, OLD), "earliest date"),
    "days as texts": ([str(each) for each in with_last(DAYS, OLD)], "earliest date"),
    "times": (with_last(HOURS, dt.datetime(1901, 1, 1, 4)), "earliest date"),
    "times as texts": ([f"{each:%Y-%m-%d %H:%M}" for each in with_last(HOURS, dt.datetime(2099, 1, 1))], "latest date"),
    "years": (with_last([1970 + day % 31 for day in range(ROWS)], 1901), "smallest number"),
}  # fmt: skip
WITHIN = {
    "near": with_last(SALARIES, 160_000),
    "of two records": with_last(SALARIES, FAR, FAR),
    "two ways to write it": with_last(list(map(str, SALARIES)), "2000000", "2000000.0"),
    "two far ones": with_last(SALARIES, FAR, FAR - 100_000),
    "codes": with_last([1 + row % 3 for row in range(ROWS)], 99),
    "a scale": with_last([row % 11 for row in range(ROWS)], 77),
    "children": with_last([row % 4 for row in range(ROWS)], 9),
    "few records": [*range(19), FAR],
    "postal codes": [f"0{each}" for each in with_last(SALARIES, FAR)],
    "words": with_last(list(map(str, SALARIES)), "a word", str(FAR)),
    "nothing": [None] * ROWS,
    "truth": [row % 2 == 0 for row in range(ROWS)],
}


@pytest.mark.few(1)
@pytest.mark.parametrize("suffix", FORMATS)
@pytest.mark.parametrize("name", COLUMNS)
def test_a_value_far_from_all_others_is_a_point(tmp_path, name, suffix):
    column, which = COLUMNS[name]
    release = released(column)
    (point,) = of_kind(release.verdict.points)
    assert (point.columns, point.share, point.state) == (("x",), 1 / ROWS, "open")
    assert point.text.startswith(f"The {which} of x belongs to one record, and is farther from the next than")
    assert [each.sentence() for each in verified(release, tmp_path, suffix)] == [point.sentence()]


@pytest.mark.few(1)
@pytest.mark.parametrize("suffix", FORMATS)
@pytest.mark.parametrize("name", WITHIN)
def test_a_value_that_others_reach_and_a_code_are_none(tmp_path, name, suffix):
    release = released(WITHIN[name])
    assert of_kind(release.verdict.points) == verified(release, tmp_path, suffix) == []


def test_twenty_others_and_fifteen_values_are_enough_and_fewer_are_not(tmp_path):
    for records, values, number in ((20, 15, 1), (19, 15, 0), (20, 14, 0)):
        column = [10 + row % values for row in range(records)]
        release = released([*column, FAR])
        assert len(of_kind(release.verdict.points)) == number
        assert verified(release, tmp_path) == of_kind(release.verdict.points)


def test_the_gap_has_to_be_larger_than_the_range_of_the_others(tmp_path):
    column = [row % 30 for row in range(ROWS)]
    for far, number in ((58, 0), (59, 1)):
        release = released(with_last(column, far))
        assert len(of_kind(release.verdict.points)) == number
        assert verified(release, tmp_path) == of_kind(release.verdict.points)


@pytest.mark.parametrize("role", ["sensitive", "insensitive", "kept"])
def test_every_column_that_leaves_is_looked_at(role):
    settings = {"unlisted": "keep"} if role == "kept" else {}
    assert of_kind(released(with_last(SALARIES, FAR), role, **settings).verdict.points)


def test_a_quasi_identifier_and_a_column_that_stays_are_not():
    for role in ("quasi", "identifying"):
        columns = {"quasi": ["age", "x"]} if role == "quasi" else {"quasi": ["age"], "identifying": ["x"]}
        table = pl.DataFrame({"age": AGES, "x": with_last(SALARIES, FAR)})
        release = ic.anonymize(table, ic.Schema(**columns), "k-anonymity:5", unanswered="write")
        assert not of_kind(release.verdict.points)


def test_a_null_value_is_no_number(tmp_path):
    column = with_last(SALARIES, FAR)
    release = released(column, null_values=[str(FAR)])
    assert of_kind(release.verdict.points) == verified(release, tmp_path) == []
    table = pl.DataFrame({"age": AGES, "x": column})
    coded = ic.Schema.of_attributes(
        [ic.Attribute("age", "quasi"), ic.Attribute("x", "insensitive", missing=(str(FAR),))]
    )
    release = ic.anonymize(table, coded, "k-anonymity:5", unanswered="write")
    assert of_kind(release.verdict.points) == verified(release, tmp_path) == []


def test_declared_spellings_are_read(tmp_path):
    euros = [f"{each // 1000}.{each % 1000:03},50" for each in SALARIES]
    days = [f"{each:%d.%m.%Y}" for each in DAYS]
    table = pl.DataFrame(
        {"age": AGES, "x": with_last(euros, "2.000.000,00"), "born": with_last(days, "01.01.1901")}
    )
    schema = ic.Schema.of_attributes(
        [
            ic.Attribute("age", "quasi"),
            ic.Attribute("x", "sensitive", decimal=",", thousands="."),
            ic.Attribute("born", "insensitive", format="%d.%m.%Y"),
        ]
    )
    release = ic.anonymize(table, schema, "k-anonymity:5", unanswered="write")
    points = of_kind(release.verdict.points)
    assert [(each.columns, each.text.split(" of ")[0]) for each in points] == [
        (("x",), "The largest number"),
        (("born",), "The earliest date"),
    ]
    assert verified(release, tmp_path) == points


@pytest.mark.few(2)
@pytest.mark.parametrize("rows", [21, 27, 28, 30, 60, 69, 70, 139, 140, 399, 700, 1000])
@pytest.mark.parametrize("far", [FAR, -FAR])
def test_the_way_out_removes_the_point(rows, far):
    """The limit is the mean of ten records near the limit, without the far record."""
    column = [1000 * (20 + row * 7 % 71) for row in range(rows - 1)]
    table = pl.DataFrame({"age": [row % 4 for row in range(rows)], "x": [*column, far]})
    schema = ic.Schema(quasi=["age"], insensitive=["x"])
    (point,) = of_kind(ic.anonymize(table, schema, "k-anonymity:5", unanswered="write").verdict.points)
    word, quantile = point.limit
    assert f"treatments={{'x': '{word}:{quantile:g}'}}" in point.way_out
    treated = ic.Schema(quasi=["age"], insensitive=["x"], treatments={"x": f"{word}:{quantile:g}"})
    assert not of_kind(ic.anonymize(table, treated, "k-anonymity:5", unanswered="write").verdict.points)


def test_rounding_does_not_hide_it_and_is_kept_by_the_way_out(tmp_path):
    """After a rounding few values are left, and none is a code."""
    rounded = {"x": "round:30000"}
    release = released(with_last(SALARIES, FAR), treatments=rounded)
    (point,) = of_kind(release.verdict.points)
    assert "(add top = 0.95 to its rounding)" in point.way_out
    assert verified(release, tmp_path) == [point]
    both = {"x": "round:30000,top=0.95"}
    assert not of_kind(released(with_last(SALARIES, FAR), treatments=both).verdict.points)
    two = released(with_last([row % 20 for row in range(ROWS)], 31), treatments={"x": "round:30"})
    assert of_kind(two.verdict.points) == verified(two, tmp_path) == []


def test_no_sentence_and_no_document_has_the_value(tmp_path):
    release = released(with_last(SALARIES, 7_654_321))
    said = json.dumps(release.verdict.to_dict()) + "".join(release.verdict.lines())
    assert of_kind(release.verdict.points)
    assert not {"7654321", "7,654,321", "90000", "20000"} & {*said.replace(",", "").split()}
    assert "7654" not in said.replace(",", "")


def test_a_date_has_no_limit_and_another_way_out():
    (point,) = of_kind(released(with_last(DAYS, OLD)).verdict.points)
    assert point.limit is None
    assert point.way_out == (
        "Make it a quasi-identifier, or leave it out. If it stands for a missing value, say so with "
        "null_values, or in the policy with missing of the column."
    )


def test_rows_of_a_database_and_of_files_have_the_same_point(tmp_path):
    table = pl.DataFrame({"age": AGES, "x": with_last(SALARIES, FAR)})
    schema = ic.Schema(quasi=["age"], insensitive=["x"])
    expected = of_kind(ic.anonymize(table, schema, "k-anonymity:5", unanswered="write").verdict.points)
    lazy = ic.anonymize(table.lazy(), schema, "k-anonymity:5", unanswered="write")
    assert of_kind(lazy.verdict.points) == expected
    with closing(sqlite3.connect(tmp_path / "t.db")) as connection, connection:
        connection.execute("create table people (age, x)")
        connection.executemany("insert into people values (?, ?)", table.rows())
    with ic.Database(f"sqlite:///{tmp_path / 't.db'}") as database:
        release = ic.anonymize(database.table("people"), schema, "k-anonymity:5", unanswered="write")
        assert of_kind(release.verdict.points) == expected
    assert of_kind(ic.assess(table, schema, "k-anonymity:5").verdict.points) == expected
