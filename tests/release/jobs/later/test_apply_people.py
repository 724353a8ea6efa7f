"""A batch beside an earlier release: a person with rows in both counts once."""

from __future__ import annotations

from dataclasses import replace

import polars as pl
import pytest

import incrowd as ic
from people_readings import Reading, people_table

SCHEMA = ic.Schema(
    quasi={"age": ic.Hierarchy.intervals(2, 4, 8, 16), "town": None},
    sensitive=["ill", "cost"],
    insensitive=["row"],
    person="person",
)
MODELS = (ic.KAnonymity(4), ic.LDiversity(2, attribute="ill"), ic.LDiversity(1, joint=True, attribute="ill"))
POLICY = ic.Policy(SCHEMA, MODELS, ic.Optimal(), max_suppression=0.9)
FIRST = people_table(1, people=90).with_row_index("row").cast({"row": pl.Int64})
BATCH = people_table(2, people=70).with_row_index("row").cast({"row": pl.Int64})


@pytest.fixture
def release():
    return ic.anonymize(FIRST, POLICY)


def apply(release, batch, **more):
    settings = {
        "previous_release": release.table, "previous_table": FIRST, "previous_row_map": release.row_map(),
    } | more  # fmt: skip
    return ic.apply_recoding(release.recoding, batch, POLICY, **settings)


def both(release, applied, batch=BATCH) -> Reading:
    """Read both tables as sets, by the origins of rows."""
    old, new = pl.DataFrame(release.table), pl.DataFrame(applied.table)
    people = FIRST["person"].gather(old["row"]).to_list() + batch["person"].gather(new["row"]).to_list()
    cells = [old[name].to_list() + new[name].to_list() for name in ("age", "town")]
    return Reading(
        people, cells, {name: old[name].to_list() + new[name].to_list() for name in ("ill", "cost")}
    )


@pytest.mark.random_order
def test_people_are_counted_over_both(release, tmp_path):
    applied = apply(release, BATCH)
    reading, figures = both(release, applied), applied.together.people
    assert reading.k() == figures.smallest >= 4
    assert figures.people == len(reading.everybody) < len(FIRST) + len(BATCH)
    assert figures.unnamed == FIRST["person"].null_count() + BATCH["person"].null_count()
    assert applied.together.reached("l-diversity") == reading.distinct("ill")
    assert applied.too_small > 0
    alone = apply(release, BATCH, previous_release=None, previous_table=None, previous_row_map=None)
    assert applied.privacy.people == alone.privacy.people
    applied.write(tmp_path / "batch.csv")
    written = pl.read_csv(tmp_path / "batch.csv")
    assert "person" not in written.columns
    assert sorted(written["row"]) == BATCH["row"].to_list()


@pytest.mark.random_order
def test_files_of_both_give_the_same(release, tmp_path):
    FIRST.write_csv(tmp_path / "first.csv")
    BATCH.write_csv(tmp_path / "batch.csv")
    saved = ic.anonymize(tmp_path / "first.csv", POLICY)
    saved.save(tmp_path / "out")
    applied = ic.apply_recoding(
        saved.recoding,
        tmp_path / "batch.csv",
        POLICY,
        previous_release=tmp_path / "out" / "release.csv",
        previous_table=tmp_path / "first.csv",
        previous_row_map=tmp_path / "out" / "internal" / "rows.parquet",
    )
    expected = apply(release, BATCH)
    assert applied.privacy.people == expected.privacy.people
    assert applied.together.people == expected.together.people
    assert applied.suppressed == expected.suppressed


def test_somebody_who_comes_again_is_nobody_new(release):
    """The same rows of other people would fill classes, those of the same people do not."""
    again = FIRST.head(60)
    others = again.with_columns(pl.format("other {}", "person").alias("person"))
    loose = replace(POLICY, models=(ic.KAnonymity(4),))
    same = ic.apply_recoding(
        release.recoding, again, loose, previous_release=release.table, previous_table=FIRST,
        previous_row_map=release.row_map(),
    )  # fmt: skip
    new = ic.apply_recoding(
        release.recoding, others, loose, previous_release=release.table, previous_table=FIRST,
        previous_row_map=release.row_map(),
    )  # fmt: skip
    before = release.privacy.people
    named = again["person"].null_count()
    assert same.together.people.people == before.people + named
    assert new.together.people.people == before.people + others["person"].n_unique() - (named > 0) + named
    assert both(release, same, again).k() == same.together.people.smallest


def test_numbers_written_as_texts_name_the_same_people(release):
    """Programs write whole numbers with gaps as 1.0 or as 1."""
    numbers = FIRST.with_columns(person=pl.col("person").str.extract(r"(\d+)"))
    first = ic.anonymize(numbers, POLICY)
    settings = {
        "previous_release": first.table,
        "previous_table": numbers,
        "previous_row_map": first.row_map(),
    }
    same, written = (
        ic.apply_recoding(first.recoding, again, replace(POLICY, models=(ic.KAnonymity(4),)), **settings)
        for again in (numbers.head(60), numbers.head(60).with_columns(person=pl.col("person") + ".0"))
    )
    assert numbers["person"].n_unique() > 20
    assert written.together.people == same.together.people


@pytest.mark.random_order
def test_what_does_not_fit_the_release_is_refused(release):
    with pytest.raises(ic.ParameterError, match=r"its raw table \(previous_table=\) and its row map"):
        apply(release, BATCH, previous_row_map=None)
    with pytest.raises(ic.ParameterError, match=r"tell of an earlier release; name it \(previous_release=\)"):
        apply(release, BATCH, previous_release=None)
    with pytest.raises(ic.TableError, match="does not have the sensitive values of the earlier release"):
        apply(release, BATCH, previous_row_map=release.row_map().reverse())
    with pytest.raises(ic.TableError, match="the row map is none of 100 raw rows"):
        apply(release, BATCH, previous_table=FIRST.head(100))
    short = pl.DataFrame({"row": range(1, 101)})
    with pytest.raises(ic.TableError, match="rows, and the earlier release"):
        apply(release, BATCH, previous_table=FIRST.head(100), previous_row_map=short)
    with pytest.raises(
        ic.SchemaError, match="column 'person' is of type String in the batch and of type Int64"
    ):
        apply(release, BATCH, previous_table=FIRST.with_columns(person=pl.col("row")))
    with pytest.raises(ic.SchemaError, match="the earlier raw table has no column 'person'"):
        apply(release, BATCH, previous_table=FIRST.drop("person"))
    with pytest.raises(ic.ParameterError, match="the rows of the batch are not in memory"):
        apply(release, BATCH.lazy())


def test_a_batch_that_loses_a_row_is_not_written(release, tmp_path):
    applied = apply(release, BATCH)
    wrong = replace(applied, table=pl.DataFrame(applied.texts).head(-1), _texts=None)
    with pytest.raises(ic.TableError, match="does not hold the rows that were recoded"):
        wrong.write(tmp_path / "batch.csv")
    assert not (tmp_path / "batch.csv").exists()


def test_sensitive_values_that_were_treated_are_compared_as_treated():
    cost = ic.Attribute("cost", "sensitive", treatment=ic.Round(5))
    others = [each for each in SCHEMA.attributes if each.name != "cost"]
    policy = replace(POLICY, schema=ic.Schema.of_attributes([*others, cost]), models=(ic.KAnonymity(4),))
    release = ic.anonymize(FIRST, policy)
    assert set(pl.DataFrame(release.table)["cost"].cast(pl.Int64)) == {0, 5}
    applied = ic.apply_recoding(
        release.recoding, BATCH, policy, previous_release=release.table, previous_table=FIRST,
        previous_row_map=release.row_map(),
    )  # fmt: skip
    assert both(release, applied).k() == applied.together.people.smallest >= 4
