"""Rows of classes that fail wait for the next batch: none is lost, none leaves twice."""

from __future__ import annotations

import stat
from collections import Counter
from dataclasses import replace

import pandas as pd
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

import incrowd as ic
from batch_tables import JANUARY, POLICY, SCHEMA, holds
from examples import examples

LAST = 10**6


@pytest.fixture(scope="module")
def release():
    return ic.anonymize(JANUARY.with_columns(row=pl.lit(LAST)), POLICY)


def rows(*ages, start=0, ill="abcde"):
    return pl.DataFrame(
        {
            "age": ages,
            "ill": [ill[place % len(ill)] for place in range(len(ages))],
            "row": range(start, start + len(ages)),
        },
        schema={"age": pl.Int64, "ill": pl.String, "row": pl.Int64},
    )


def test_rows_wait_until_enough_came(release, tmp_path):
    first = rows(22, 22, 21, 21, 21, 21, 21, None)
    applied = ic.apply_recoding(release.recoding, first, POLICY, previous_release=release.table, hold=True)
    assert (applied.records, applied.outside, applied.too_small, applied.suppressed) == (8, 1, 0, 1)
    assert (applied.held, applied.held_before) == (2, 0)
    assert applied.waiting.equals(first.head(2))
    assert sorted(applied.table["row"]) == [2, 3, 4, 5, 6, 7]
    assert dict(applied.rows().rows()) == {1: "waiting", 2: "waiting", 8: "outside"}
    with pytest.raises(ic.ParameterError, match="2 rows wait, and would be lost"):
        applied.write(tmp_path / "one.csv")
    applied.write(tmp_path / "one.csv", hold=tmp_path / "private" / "one.parquet")
    path = tmp_path / "private" / "one.parquet"
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    assert pl.read_parquet(path).equals(first.head(2))
    document = applied.to_dict()
    assert (document["records"], document["held"], document["held_before"]) == (8, 2, 0)
    # The next batch brings three more.
    second = rows(22, 22, 22, 24, start=100, ill="cde")
    settings = {"previous_release": tmp_path / "one.csv", "held": path, "hold": True}
    again = ic.apply_recoding(release.recoding, second, POLICY, **settings)
    assert (again.records, again.held_before, again.held, again.suppressed) == (6, 2, 1, 0)
    assert sorted(again.table["row"]) == [0, 1, 100, 101, 102]
    assert dict(again.rows().rows()) == {4: "waiting"}
    with pytest.raises(ic.TableError, match="would replace an input file"):
        again.write(tmp_path / "two.csv", hold=path, force=True)
    assert not (tmp_path / "two.csv").exists()
    again.write(tmp_path / "two.csv", hold=tmp_path / "two.parquet")
    assert holds(pl.read_csv(tmp_path / "two.csv", schema_overrides={"age": pl.String}))
    assert pl.read_parquet(path).equals(first.head(2))
    with pytest.raises(ic.TableError, match=r"kept in Parquet.*name it \.parquet"):
        again.write(tmp_path / "three.csv", hold=tmp_path / "three-held.csv")
    assert not (tmp_path / "three.csv").exists()


def test_every_row_waits(release, tmp_path):
    applied = ic.apply_recoding(release.recoding, rows(22, None), POLICY, hold=True)
    assert applied.table is None
    assert applied.privacy is None
    assert "nothing is released" in repr(applied)
    # Nothing is released, so what no cell covers is not suppressed: it is not lost either.
    assert (applied.records, applied.held, applied.suppressed) == (2, 2, 0)
    assert set(applied.rows()["reason"]) == {"waiting"}
    assert applied.to_dict()["privacy"] is None
    with pytest.raises(ic.InfeasibleError, match="all 2 rows wait for the next batch"):
        applied.write(tmp_path / "out.csv", hold=tmp_path / "held.parquet")
    assert [path.name for path in tmp_path.iterdir()] == ["held.parquet"]
    held = pl.read_parquet(tmp_path / "held.parquet")
    assert held["row"].to_list() == [0, 1]
    # What no cell covers does not wait by itself: no later batch would help.
    with pytest.raises(ic.InfeasibleError, match=r"every row would be suppressed \(1 are covered"):
        ic.apply_recoding(release.recoding, rows(None), POLICY, hold=True)


def test_a_file_of_waiting_rows_is_there_even_if_none_waits(release, tmp_path):
    batch = rows(22, 22, 22, 22, 22)
    applied = ic.apply_recoding(release.recoding, batch, POLICY, hold=True)
    applied.write(tmp_path / "out.csv", hold=tmp_path / "held.parquet")
    assert pl.read_parquet(tmp_path / "held.parquet").schema == batch.schema
    again = ic.apply_recoding(release.recoding, batch, POLICY, held=tmp_path / "held.parquet")
    assert (again.records, again.held_before) == (5, 0)


def test_the_release_and_the_waiting_rows_come_together(release, tmp_path):
    applied = ic.apply_recoding(release.recoding, rows(22, 21, 21, 21, 21, 21), POLICY, hold=True)
    (tmp_path / "out.csv").touch()
    with pytest.raises(ic.TableError, match="exists already"):
        applied.write(tmp_path / "out.csv", hold=tmp_path / "held.parquet")
    assert not (tmp_path / "held.parquet").exists()
    judging = replace(applied._judging, policy=replace(POLICY, models=(ic.KAnonymity(6),)))
    strict = replace(applied, _judging=judging)
    with pytest.raises(ic.InfeasibleError):
        strict.write(tmp_path / "new.csv", hold=tmp_path / "held.parquet")
    assert [path.name for path in tmp_path.iterdir()] == ["out.csv"]


def test_an_order_that_is_kept(release):
    policy = replace(POLICY, keep_order=True)
    batch = rows(21, 22, 21, 23, 21, 21, 21, ill="abc")
    applied = ic.apply_recoding(release.recoding, batch, policy, hold=True)
    assert applied.table["row"].to_list() == [0, 2, 4, 5, 6]
    assert applied.waiting["row"].to_list() == [1, 3]
    # Held rows stand last, which would tell that they waited.
    later = rows(22, 23, 22, 22, 23, 22, start=50, ill="cde")
    with pytest.raises(ic.ParameterError, match="an order that is kept tells which they are"):
        ic.apply_recoding(release.recoding, later, policy, held=applied.waiting)
    result = ic.apply_recoding(release.recoding, later, policy, held=applied.waiting, force=True)
    assert result.table["row"].to_list() == [50, 51, 52, 53, 54, 55, 1, 3]
    assert result.table["age"].to_list() == ["22", "*", "22", "22", "*", "22", "22", "*"]
    assert dict(result.rows().rows()) == {2: "class", 5: "class", 8: "class"}


@pytest.mark.parametrize("kind", ["to_pandas", "to_arrow", "clone"])
def test_every_kind_of_frame_may_wait(release, tmp_path, kind):
    batch = getattr(rows(22, 21, 21, 21, 21, 21), kind)()
    applied = ic.apply_recoding(release.recoding, batch, POLICY, hold=True)
    assert type(applied.waiting) is type(applied.table) is type(batch)
    applied.write(tmp_path / "one.csv", hold=tmp_path / "one.parquet")
    more = getattr(rows(22, 22, 22, 22, start=10, ill="bcd"), kind)()
    for held in (applied.waiting, tmp_path / "one.parquet"):
        again = ic.apply_recoding(release.recoding, more, POLICY, held=held, hold=True)
        assert type(again.table) is type(batch)
        assert sorted(pl.DataFrame(again.table)["row"]) == [0, 10, 11, 12, 13]
        assert pl.DataFrame(again.table)["row"].dtype == pl.Int64


def test_types_that_fit_and_those_that_do_not(release):
    batch = rows(22, 22)
    arguments = (release.recoding, batch, POLICY)
    with pytest.raises(ic.SchemaError, match=r"the held rows have no column 'row'"):
        ic.apply_recoding(*arguments, held=batch.drop("row"))
    with pytest.raises(ic.SchemaError, match=r"the batch has no column 'more'"):
        ic.apply_recoding(*arguments, held=batch.with_columns(more=1))
    with pytest.raises(
        ic.SchemaError, match="column 'age' has values of type number in the batch and of type String"
    ):
        ic.apply_recoding(*arguments, held=batch.cast({"age": pl.String}))
    with pytest.raises(ic.ParameterError, match="rows have to be in memory; give a frame or one file"):
        ic.apply_recoding(*arguments, held=batch.lazy())
    with pytest.raises(ic.ParameterError, match="rows have to be in memory"):
        ic.apply_recoding(release.recoding, batch.lazy(), POLICY, hold=True)
    # Columns in another order, narrower numbers, categories of their own, nothing but missing values.
    other = rows(22, 22, 22, start=9).select(
        pl.col("row").cast(pl.Int16), pl.col("ill").cast(pl.Enum(["a", "b", "c"])), "age"
    )
    here = batch.with_columns(pl.col("ill").cast(pl.Categorical))
    result = ic.apply_recoding(release.recoding, here, POLICY, held=other)
    assert sorted(result.table["row"]) == [0, 1, 9, 10, 11]
    empty = pl.DataFrame({"age": [None], "ill": [None], "row": [None]})
    frame = pd.DataFrame({"age": [22.0] * 5, "ill": [*"abcde"], "row": [1] * 5})
    result = ic.apply_recoding(release.recoding, frame, POLICY, held=empty)
    assert (result.records, result.suppressed) == (6, 1)


def test_who_waits_lends_no_value_to_those_who_leave(release):
    """A random treatment of the released rows sees nothing of the rows that wait."""
    swapped = ic.Attribute("ill", "sensitive", treatment=ic.RankSwap(1.0))
    others = [each for each in SCHEMA.attributes if each.name != "ill"]
    policy = replace(
        POLICY,
        schema=ic.Schema.of_attributes([*others, swapped], unlisted="keep"),
        models=(ic.KAnonymity(5),),
    )
    result = ic.anonymize(JANUARY.with_columns(ill=pl.Series(range(50)), row=pl.lit(LAST)), policy)
    batch = rows(*[21] * 6, *[22] * 3).with_columns(ill=pl.Series([*range(6), 40, 41, 42]))
    applied = ic.apply_recoding(result.recoding, batch, policy, hold=True)
    assert applied.held == 3
    assert sorted(applied.table["ill"]) == list(range(6))


def test_people_who_wait():
    schema = ic.Schema(quasi=["age"], sensitive=["ill"], person="who", unlisted="keep")
    policy = ic.Policy(schema, (ic.KAnonymity(2),), ic.Optimal(), 1.0)
    first = pl.DataFrame({"age": [1, 1, 2, 2], "ill": [*"abab"], "who": [*"ABCD"], "row": [LAST] * 4})
    release = ic.anonymize(first, policy)
    batch = pl.DataFrame({"age": [1, 1, 2, 2], "ill": [*"abab"], "who": [*"EEFG"], "row": [0, 1, 2, 3]})
    applied = ic.apply_recoding(release.recoding, batch, policy, hold=True)
    assert applied.waiting["row"].to_list() == [0, 1]
    assert applied.privacy.people.smallest == 2
    later = pl.DataFrame({"age": [1], "ill": ["a"], "who": ["H"], "row": [4]})
    again = ic.apply_recoding(release.recoding, later, policy, held=applied.waiting, hold=True)
    assert (again.held, again.privacy.people.people) == (0, 2)


ROWS = st.lists(st.tuples(st.sampled_from([20, 21, 22, 99]), st.sampled_from("ab")), min_size=1, max_size=14)


@pytest.mark.slow
@examples(27)
@given(st.lists(ROWS, min_size=1, max_size=4), st.booleans())
def test_no_row_is_lost_and_none_leaves_twice(release, batches, beside):
    policy = replace(POLICY, models=(ic.KAnonymity(3), ic.LDiversity(2)))
    left, held, count, tables = Counter(), None, 0, []
    for each in batches:
        batch = pl.DataFrame(
            [(age, ill, count + place) for place, (age, ill) in enumerate(each)],
            schema=rows().schema,
            orient="row",
        )
        count += len(each)
        settings = {"previous_release": (tables or [release.table])[-1]} if beside else {}
        try:
            applied = ic.apply_recoding(release.recoding, batch, policy, held=held, hold=True, **settings)
        except ic.InfeasibleError as error:
            assert "every row would be suppressed" in str(error)  # noqa: PT017
            assert 99 in batch["age"]
            count -= len(each)
            continue
        waiting = applied.waiting["row"].to_list()
        assert applied.held == len(waiting)
        assert applied.records == len(each) + (0 if held is None else len(held))
        if applied.table is not None:
            tables.append(applied.table)
            left.update(applied.table["row"])
            assert holds(applied.table, k=3)
            if beside:
                assert holds(settings["previous_release"], applied.table, k=3)
            assert len(applied.table) == applied.records - applied.held
            assert applied.suppressed == (applied.table["age"] == "*").sum() == applied.outside
        held = applied.waiting
    waits = [] if held is None else held["row"].to_list()
    assert sorted([*left.elements(), *waits]) == sorted(set(range(count)) & {*left, *waits})
    assert len(left) + len(waits) == sum(left.values()) + len(waits) == count
