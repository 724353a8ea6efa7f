"""Differences of a batch from the release before, counted once more from the two released tables."""

from __future__ import annotations

import polars as pl
import pytest

import incrowd as ic
from incrowd.release.jobs.later.batch_differences import Differences, account_of, differences
from incrowd.release.policy.policy import Policy

QUASI = ["age", "sex"]


@pytest.fixture(scope="module")
def policy():
    hierarchies = {
        "age": ic.Hierarchy.intervals(5, 10),
        "sex": ic.Hierarchy.from_paths([["F", "*"], ["M", "*"], ["X", "*"]]),
    }
    schema = ic.Schema(quasi=hierarchies, sensitive=["diagnosis"], unlisted="drop")
    return Policy(schema, (ic.KAnonymity(5), ic.LDiversity(2)), ic.Optimal(), max_suppression=0.05)


@pytest.fixture(scope="module")
def january(policy):
    return ic.anonymize(ic.samples.hospital(2_000, seed=1), policy)


def applied(january, table, **given):
    return ic.apply_recoding(january.recoding, table, january.policy, previous_release=january.texts, **given)


def compared(january, batch, account=None) -> Differences:
    return differences(account_of(january) if account is None else account, january.texts, batch)


def test_the_figures_are_those_of_the_two_tables(january):
    batch = applied(january, ic.samples.hospital(500, seed=2), hold=True)
    comparison = compared(january, batch)
    figures = {name: values for name, *values in comparison.figures}
    tables = [january.texts, batch.texts]
    assert figures["Rows"] == [f"{table.height:,}" for table in tables]
    groups = [table.filter(pl.col("age") != "*").group_by(QUASI).len()["len"] for table in tables]
    assert figures["Groups"] == [str(len(sizes)) for sizes in groups]
    assert figures["Smallest group"] == [str(sizes.min()) for sizes in groups]
    starred = [table.filter(pl.col("age") == "*").height for table in tables]
    assert figures["Suppressed or left out"] == list(map(str, starred))
    assert starred[0] > 0
    assert (
        comparison.sentences[0] == f"{batch.held} rows wait for the next batch: their groups are too small."
    )
    assert batch.held > 0


def test_cells_have_their_shares_of_both_tables_and_new_values_are_named(january):
    batch = applied(january, ic.samples.hospital(500, seed=2), hold=True)
    comparison = compared(january, batch)
    assert list(comparison.cells) == QUASI
    for name, cells in comparison.cells.items():
        for label, before, now in cells:
            shares = [(table[name] == label).mean() for table in (january.texts, batch.texts)]
            assert [before, now] == pytest.approx(shares)
    fresh = set(batch.texts["diagnosis"]) - set(january.texts["diagnosis"])
    assert len(fresh) > 5
    assert comparison.sentences[-1].startswith("New in diagnosis: ")
    assert comparison.sentences[-1].endswith(f", and {len(fresh) - 5} more.")
    assert set(comparison.sentences[-1].removeprefix("New in diagnosis: ").split(", ")[:5]) <= fresh


def test_the_loss_of_the_same_rows_by_the_same_recoding_is_the_same(january):
    batch = applied(january, ic.samples.hospital(2_000, seed=1))
    assert {name: values for name, *values in compared(january, batch).figures}["Loss"] == ["2.3%", "2.3%"]
    assert round(january.utility["loss"].value, 3) == 0.023


def test_a_value_that_the_recoding_does_not_know_is_counted(january):
    sex = pl.when(pl.int_range(pl.len()) < 9).then(pl.lit("Y")).otherwise("sex")
    batch = applied(january, ic.samples.hospital(500, seed=2).with_columns(sex=sex), hold=True)
    text = "Rows lost their cells, as they have values that the recoding does not know: 'sex' in 9 rows."
    assert text in compared(january, batch).sentences


def test_without_an_account_the_release_tells_its_rows_and_groups(january):
    batch = applied(january, ic.samples.hospital(500, seed=2), hold=True)
    told = {name: before for name, before, _ in compared(january, batch, {}).figures}
    known = {name: before for name, before, _ in compared(january, batch).figures}
    assert told == known | {"Suppressed or left out": "not known", "Loss": "not known"}


def test_without_the_release_no_cells_are_compared(january):
    batch = applied(january, ic.samples.hospital(500, seed=2), hold=True)
    result = differences({}, None, batch)
    assert {before for _, before, _ in result.figures} == {"not known"}
    assert result.cells == {}
