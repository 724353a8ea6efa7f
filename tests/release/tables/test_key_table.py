"""Tables of offices by count and cell key: the 10-5 rule, other tables, and a count's information."""

from __future__ import annotations

import re

import numpy as np
import polars as pl
import pytest

import incrowd as ic
from incrowd.core.errors import ParameterError
from incrowd.release.tables.cell_key import cell_keys
from incrowd.release.tables.key_table import KeyTable, threshold_rounding


@pytest.mark.parametrize(
    "table",
    [
        threshold_rounding(10, 5, 4),
        threshold_rounding(20, 7, 2),
        KeyTable(np.pad(np.random.default_rng(5).integers(-1, 4, (750, 5)), ((1, 0), (0, 0)))),
    ],
)
def test_bounds_are_what_trying_all_counts_tells(table):
    true_counts: dict[int, set[int]] = {}
    keys = np.arange(table.changes.shape[1], dtype=np.uint64)
    for count in range(1_300):
        for value in table.release(np.full(len(keys), count), keys).tolist():
            true_counts.setdefault(value, set()).add(count)
    released = np.array([value for value in true_counts if value < 1_280])
    low, high = table.bounds(released)
    assert low.tolist() == [min(true_counts[value]) for value in released]
    assert high.tolist() == [max(true_counts[value]) for value in released]


def test_a_count_that_cannot_be_released_is_refused():
    with pytest.raises(ParameterError, match="no count is released as 7"):
        threshold_rounding(10, 5).bounds(np.array([10, 7]))


@pytest.mark.parametrize(
    ("threshold", "base"), [(10, 5), (0, 3), (5, 10), (500, 250), (12, 7), (1, 1), (3, 4)]
)
def test_the_rule_is_a_threshold_and_the_nearest_multiple(threshold, base):
    counts = np.arange(3_000)
    released = threshold_rounding(threshold, base, 3).release(counts, counts.astype(np.uint64))
    kept = counts >= threshold
    assert (released[~kept] == 0).all()
    assert (released % base == 0).all()
    assert (2 * np.abs(released - counts)[kept] <= base).all()
    halves = kept & (2 * (counts % base) == base)
    assert (released[halves] > counts[halves]).all()


@pytest.mark.parametrize("settings", [(501, 5), (-1, 5), (10, 0), (10, 251), (10, 5, 0)])
def test_a_rule_that_no_table_holds_is_refused(settings):
    with pytest.raises(ParameterError, match="take a threshold of 0"):
        threshold_rounding(*settings)


def test_a_table_is_written_and_read():
    rng = np.random.default_rng(2)
    table = threshold_rounding(10, 5, 4)
    read = KeyTable.from_frame(table.to_frame().sample(fraction=1, shuffle=True, seed=1))
    assert (read.changes == table.changes).all()
    # A count without people, which no table has, stays without.
    assert read.release(np.zeros(4, np.int64), rng.integers(0, 9, 4).astype(np.uint64)).tolist() == [0] * 4
    with pytest.raises(ParameterError, match="repeat 250 rows, this one 249"):
        threshold_rounding(10, 3).to_frame()


@pytest.mark.parametrize(
    ("spoil", "message"),
    [
        (lambda frame: frame.drop("ckey"), "lacks ckey"),
        (lambda frame: frame[1:], "each pcv 1..750"),
        (lambda frame: frame.clear(), "each pcv 1..750"),
        (lambda frame: pl.concat([frame, frame[:1]]), "each pcv 1..750"),
        (lambda frame: frame.with_columns(pl.col("pcv") + 1), "each pcv 1..750"),
        (lambda frame: frame.with_columns(pvalue=-2), "below 0"),
    ],
)
def test_a_table_that_is_not_whole_is_refused(spoil, message):
    with pytest.raises(ParameterError, match=re.escape(message)):
        KeyTable.from_frame(spoil(threshold_rounding(10, 5, 3).to_frame()))


def test_counts_and_keys_as_offices_released_them():
    """Output of `cell-key-perturbation` 3.1.0: the 10-5 rule, with count, key, row and released count."""
    # fmt: off
    rows = [(2062, 225, 2060), (2119, 125, 2120), (879, 214, 880), (884, 179, 885), (27, 16, 25), (29, 62, 30)]
    # fmt: on
    counts, keys, released = np.array(rows).T
    assert threshold_rounding(10, 5).release(counts, keys.astype(np.uint64)).tolist() == released.tolist()
    # With a table that adds the number of its row, the package releases the sum of count and row.
    numbered = KeyTable(np.repeat(np.arange(751)[:, None], 256, axis=1))
    counts = np.append(counts, [750, 751, 1000, 1001, 1250])
    read = numbered.release(counts, np.arange(len(counts), dtype=np.uint64)) - counts
    assert read.tolist() == [562, 619, 629, 634, 27, 29, 750, 501, 750, 501, 750]


@pytest.mark.few(1)
@pytest.mark.parametrize("rule", ["10-5", "random"])
def test_released_counts_are_those_of_the_program_of_an_office(rule, tmp_path, monkeypatch):
    """The same records through `cell-key-perturbation`: same keys, rows and released counts."""
    pytest.importorskip("cell_key_perturbation")
    from cell_key_perturbation.create_perturbed_table import create_perturbed_table
    from cell_key_perturbation.utils.generate_test_ptable import generate_ptable_10_5_rule

    rng = np.random.default_rng(11)
    table = threshold_rounding(10, 5)
    frame = generate_ptable_10_5_rule()
    assert (KeyTable.from_frame(pl.from_pandas(frame)).changes == table.changes).all()
    if rule == "random":
        frame["pvalue"] = rng.integers(-1, 4, len(frame))
        table = KeyTable.from_frame(pl.from_pandas(frame))
    size = 20_000
    town = rng.choice(8, size, p=[0.5, 0.3, 0.12, 0.05, 0.025, 0.0035, 0.001, 0.0005])
    sex, keys = rng.integers(0, 2, size), rng.integers(0, 256, size)
    data = pl.DataFrame({"town": town, "sex": sex, "key": keys}).to_pandas()
    theirs = create_perturbed_table(
        data=data, ptable=frame, geog=["town"], tab_vars=["sex"], record_key="key", threshold=0
    ).sort_values(["town", "sex"])
    cells = town * 2 + sex
    counts = np.bincount(cells, minlength=16)
    assert theirs["pre_sdc_count"].tolist() == counts.tolist()
    assert counts.max() > 1_000
    assert counts.min() < 10
    ours = cell_keys(keys, cells, 16)
    assert theirs["ckey"].tolist() == (ours % 256).tolist()
    assert theirs["count"].tolist() == table.release(counts, ours).tolist()
    # So does a policy that names their key table and the column of their record keys.
    monkeypatch.chdir(tmp_path)
    table.to_frame().write_csv("ptable.csv")
    layout = ic.CountTable(
        "t", rows=["town"], columns=["sex"], protect="cell-key", key_table="file:ptable.csv", key="column:key"
    )
    schema = ic.Schema(
        quasi={"town": ic.Hierarchy.flat(), "sex": ic.Hierarchy.flat()}, insensitive=["key"], person="who"
    )
    people = pl.from_pandas(data).with_columns(who=pl.int_range(pl.len()))
    released = ic.tabulate(people, ic.Policy(schema, tables=[layout]), unanswered="write")["t"]
    finest = released.filter(pl.col("town") != "Total", pl.col("sex") != "Total")
    assert finest.sort(pl.col("town").cast(int), pl.col("sex").cast(int))["people"].to_list() == (
        theirs["count"].tolist()
    )


@pytest.mark.parametrize(
    ("keys", "key", "message"),
    [
        ([1, 2, 1], "column:rkey", "people have several numbers in 'rkey' \\(1 too many\\)"),
        ([1.5, 1.5, 1], "column:rkey", "'rkey' must have a whole number"),
        ([None, None, 1], "column:rkey", "'rkey' must have a whole number"),
        ([1, 1, 1], "column:rkeys", "there is no column 'rkeys'.*rkey"),
    ],
)
def test_wrong_record_keys_are_named(keys, key, message):
    rows = pl.DataFrame({"who": ["a", "a", "b"], "area": ["x", "y", "x"], "rkey": keys})
    schema = ic.Schema(quasi={"area": ic.Hierarchy.flat()}, insensitive=["rkey"], person="who")
    layout = ic.CountTable("t", rows=["area"], protect="cell-key", key=key)
    with pytest.raises(ic.IncrowdError, match=message):
        ic.tabulate(rows, ic.Policy(schema), [layout])
