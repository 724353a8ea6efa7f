"""Households and sampling weights of a batch, alone and beside an earlier release."""

from __future__ import annotations

import polars as pl
import pytest

import incrowd as ic
from survey_readings import class_weights, household_figures, survey_table

QUASI = {"age": ic.Hierarchy.intervals(2, 4, 8, 16), "town": None}
HOMES = ic.Schema(quasi=QUASI, sensitive=["ill"], insensitive=["row"], household="home", unlisted="drop")
WEIGHED = ic.Schema(quasi=QUASI, sensitive=["ill"], insensitive=["row"], weights="w", unlisted="drop")


def numbered(seed, rows):
    return survey_table(seed, rows).with_row_index("row").cast({"row": pl.Int64})


FIRST, BATCH = numbered(1, 150), numbered(2, 90)


def policy_of(schema):
    return ic.Policy(schema, (ic.KAnonymity(3),), ic.Optimal(), max_suppression=0.9)


def cells_of(*tables):
    """The class of each row, None for a suppressed row, and the number in the raw table."""
    result = []
    for table in tables:
        for row, *cells in pl.DataFrame(table).select("row", "age", "town").rows():
            result.append((row, None if set(cells) == {"*"} else tuple(cells)))
    return result


def homes_of(applied, released=None):
    now = cells_of(applied.table)
    homes = [BATCH["home"][row] for row, _ in now]
    cells = [cell for _, cell in now]
    if released is not None:
        before = cells_of(released)
        homes += [FIRST["home"][row] for row, _ in before]
        cells += [cell for _, cell in before]
    return cells, homes


@pytest.fixture
def households():
    return ic.anonymize(FIRST, policy_of(HOMES))


@pytest.mark.few(1)
@pytest.mark.random_order
@pytest.mark.parametrize("kind", ["frame", "lazy", "file"])
def test_households_of_a_batch_are_measured(households, kind, tmp_path):
    table = {"frame": BATCH, "lazy": BATCH.lazy(), "file": tmp_path / "batch.parquet"}[kind]
    BATCH.write_parquet(tmp_path / "batch.parquet")
    applied = ic.apply_recoding(households.recoding, table, households.policy)
    rows = applied.table.collect() if kind == "lazy" else applied.table
    cells = cells_of(rows)
    homes = [BATCH["home"][row] for row, _ in cells]
    expected = household_figures([cell for _, cell in cells], homes)
    assert applied.privacy.risk["household"] == pytest.approx(expected, rel=1e-9)
    assert applied.to_dict()["privacy"]["risk"]["household"] == applied.privacy.risk["household"]
    assert "a household is found with a probability" in " ".join(applied.sentences())
    applied.write(tmp_path / "out.csv")


@pytest.mark.random_order
def test_a_household_in_both_tables_is_one(households):
    earlier = {"previous_table": FIRST, "previous_row_map": households.row_map()}
    arguments = (households.recoding, BATCH, households.policy)
    applied = ic.apply_recoding(*arguments, previous_release=households.table, **earlier)
    expected = household_figures(*homes_of(applied, households.table))
    assert applied.together.risk["household"] == pytest.approx(expected, rel=1e-9)
    alone = household_figures(*homes_of(applied))
    assert applied.privacy.risk["household"] == pytest.approx(alone, rel=1e-9)
    assert expected["max"] != alone["max"] or expected["mean"] != alone["mean"]
    assert [text[:9] for text in applied.sentences() if "household is found" in text] == [
        "Whoever f",
        "With the ",
    ]
    # Nobody knows of the earlier rows without their raw table. That is said, not passed over.
    applied = ic.apply_recoding(*arguments, previous_release=households.table)
    assert "household" not in applied.together.risk
    words = "Nothing is measured by column 'home': an earlier release does not say what its rows have there."
    assert words in " ".join(applied.sentences())
    assert any(words in note for note in applied.to_dict()["together"]["notes"])
    with pytest.raises(ic.ParameterError, match="column 'home' has the role household, and the earlier"):
        ic.apply_recoding(*arguments, previous_release=households.table, previous_table=FIRST)


@pytest.mark.random_order
def test_weights_of_both_tables_add_up():
    release = ic.anonymize(FIRST, policy_of(WEIGHED))
    arguments = (release.recoding, BATCH, release.policy)
    applied = ic.apply_recoding(
        *arguments, previous_release=release.table, previous_table=FIRST, previous_row_map=release.row_map()
    )
    now, before = cells_of(applied.table), cells_of(release.table)
    weights = [BATCH["w"][row] for row, _ in now] + [FIRST["w"][row] for row, _ in before]
    people = class_weights([cell for _, cell in now + before], weights)
    people.pop(None, None)
    assert applied.together.reached("k-map") == float(min(people.values()))
    assert applied.together.estimates.column == "w"
    alone = ic.apply_recoding(*arguments)
    now = cells_of(alone.table)
    people = class_weights([cell for _, cell in now], [BATCH["w"][row] for row, _ in now])
    people.pop(None, None)
    assert alone.privacy.reached("k-map") == float(min(people.values()))
    with pytest.raises(ic.SchemaError, match="have no number above 0"):
        ic.apply_recoding(release.recoding, BATCH.with_columns(w=0 * pl.col("w")), release.policy)
