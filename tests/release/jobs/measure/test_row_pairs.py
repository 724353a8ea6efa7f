"""Rows of a release beside those of the raw table: shuffled, fewer, and named by a key."""

from __future__ import annotations

from functools import cache

import polars as pl
import pytest
from hypothesis import given, reject
from hypothesis import strategies as st

import incrowd as ic
from incrowd.attacks import attack
from incrowd.release.jobs.compare.transitions import transitions

AGES = [18, 20, 25, 30, 31, 33, 40, 45, 60, 63, 70, 70]
RAW = pl.DataFrame({"id": range(1, 13), "age": AGES, "sex": ["f", "m"] * 6, "ill": ["x", "y", "y"] * 4})
CELLS = [*["[18-30]"] * 4, *["[31-45]"] * 4, *["[46-70]"] * 4]
RELEASE = RAW.with_columns(age=pl.Series(CELLS))
SCHEMA = ic.Schema({"age": "number"}, sensitive=["ill"])
BOTH = ic.Schema({"age": "number", "sex": "category"}, sensitive=["ill"])
LOSS = (12 + 14 + 24) / 52 / 3
"""A range is as wide as it is written."""
OVERLAPPING = RELEASE.with_columns(age=pl.Series([*["[18-40]"] * 4, *["[25-60]"] * 4, *["[46-70]"] * 4]))


def figures(release: pl.DataFrame, schema: ic.Schema = BOTH, **settings) -> dict:
    return {
        name: pytest.approx(lost.value, abs=1e-12)
        for name, lost in ic.evaluate(RAW, release, schema, **settings).utility.items()
    }


@cache
def figures_in_order() -> tuple[dict, dict]:
    return figures(RELEASE, SCHEMA), figures(OVERLAPPING, aligned=True)


def shuffled(frame: pl.DataFrame, seed: int = 1) -> pl.DataFrame:
    return frame.sample(fraction=1, shuffle=True, seed=seed)


def test_rows_in_order_need_no_key():
    evaluation = ic.evaluate(RAW, RELEASE, SCHEMA)
    assert (evaluation.paired_by, evaluation.missing, evaluation.suppressed) == ("order", 0, 0)
    assert evaluation.utility["loss"].value == pytest.approx(LOSS)
    assert evaluation.utility["ncp-mean-mode"].value == pytest.approx((12 + 14 + 10) / 52 / 3)


@given(st.integers(0, 1000))
def test_shuffled_rows_have_the_figures_of_those_in_order(seed):
    release = shuffled(RELEASE, seed)
    in_order, of_overlapping = figures_in_order()
    for settings in ({"by": "id"}, {}):
        assert figures(release, SCHEMA, **settings) == in_order
    assert figures(shuffled(OVERLAPPING, seed), by="id") == of_overlapping


def test_no_row_is_taken_for_another_where_cells_do_not_tell():
    """A row of 40 is in two classes, so nobody can tell the two apart."""
    with pytest.raises(ic.TableError) as caught:
        ic.evaluate(RAW, shuffled(OVERLAPPING), ic.Schema({"age": "number"}))
    text = str(caught.value)
    assert "column 'age': " in text
    assert "of 12 records have a cell that is not true of the row in their place" in text
    assert "Nothing is measured; name a column of keys that both tables have (by=)" in text
    assert "(aligned=True)" in text


def test_sensitive_values_tell_of_another_order_where_cells_are_wide():
    wide = RELEASE.with_columns(age=pl.Series(["[18-63]", *["[18-70]"] * 11]))
    swapped = wide.with_columns(pl.col("ill").gather([1, 0, *range(2, 12)]))
    with pytest.raises(ic.TableError, match="column 'ill': 2 of 12 records have a cell that is not true"):
        ic.evaluate(RAW, swapped, SCHEMA)
    # Values that are others, or treated, tell nothing of an order.
    other = swapped.with_columns(pl.col("ill").replace("x", "z"))
    assert ic.evaluate(RAW, other, SCHEMA).paired_by == "order"
    treated = ic.Schema({"age": "number"}, sensitive=["ill"], treatments={"ill": "pram:0.9"})
    assert ic.evaluate(RAW, swapped, treated).paired_by == "order"
    assert ic.evaluate(RAW, swapped, SCHEMA, aligned=True).paired_by == "order"


def test_a_suppressed_record_loses_a_constant_column_too_however_it_is_written():
    raw = pl.DataFrame({"age": [1, 2], "sex": ["f", "f"]})
    schema = ic.Schema({"age": "number", "sex": "category"})
    for blank in ("*", None):
        release = pl.DataFrame({"age": ["1", blank], "sex": ["f", "*"]})
        assert ic.evaluate(raw, release, schema).utility["loss"].value == 0.5


def test_means_are_measured_if_the_caller_knows_the_order():
    means = RELEASE.with_columns(
        age=pl.col("age").replace({"[18-30]": "23", "[31-45]": "37", "[46-70]": "66"})
    )
    with pytest.raises(ic.TableError, match="cells are means or have noise"):
        ic.evaluate(RAW, means, SCHEMA)
    evaluation = ic.evaluate(RAW, means, SCHEMA, aligned=True)
    assert evaluation.summarized == {"age": 12}
    assert figures(shuffled(means), by="id") == figures(means, aligned=True)


@pytest.mark.parametrize("texts", [["group 1", "group 2"], [None, "group 1"]])
def test_cells_that_may_be_anything_tell_no_order(texts):
    blind = RAW.with_columns(age=pl.Series(texts * 6))
    with pytest.raises(ic.TableError, match="every cell may be any value"):
        ic.evaluate(RAW, blind, SCHEMA)
    assert ic.evaluate(RAW, blind, SCHEMA, by="id").unread
    assert ic.evaluate(RAW, blind, BOTH).paired_by == "order"


@pytest.mark.parametrize("order", [list, lambda rows: rows[::-1]])
def test_records_that_are_missing_count_as_suppressed(order):
    order_of_rows = order([row for row in range(12) if row not in (5, 9)])
    starred = RELEASE.with_columns(
        pl.when(pl.col("id").is_in([6, 10])).then(pl.lit("*")).otherwise("age").alias("age")
    )
    evaluation = ic.evaluate(RAW, RELEASE[order_of_rows], SCHEMA, by="id")
    assert (evaluation.records, evaluation.suppressed, evaluation.missing, evaluation.paired_by) == (
        12,
        2,
        2,
        "key",
    )
    assert figures(RELEASE[order_of_rows], SCHEMA, by="id") == figures(starred, SCHEMA)
    assert evaluation.to_dict()["missing"] == 2
    with pytest.raises(ic.TableError, match=r"10 rows and the raw one 12 \(missing: 2\), and the"):
        ic.evaluate(RAW, RELEASE[order_of_rows], SCHEMA)


def test_a_class_that_is_missing_as_a_whole_is_found_by_the_cells():
    """A suppressed record is missing, too, if no other cells cover the record."""
    release = shuffled(RELEASE.filter(pl.col("age") != "[31-45]"))
    evaluation = ic.evaluate(RAW, release, SCHEMA)
    assert (evaluation.suppressed, evaluation.missing, evaluation.paired_by) == (4, 4, "cells")
    assert figures(release, SCHEMA) == figures(release, SCHEMA, by="id")
    for blank in ("*", None):
        starred = shuffled(RELEASE.with_columns(pl.col("age").replace("[31-45]", blank)))
        evaluation = ic.evaluate(RAW, starred, SCHEMA)
        assert (evaluation.suppressed, evaluation.missing, evaluation.paired_by) == (4, 0, "cells")
        assert figures(starred, SCHEMA) == figures(starred, SCHEMA, by="id")


@pytest.mark.slow
@given(st.data())
def test_what_the_cells_tell_is_what_the_keys_tell(data):
    """Where rows are paired at all, class by class."""
    rows = data.draw(st.lists(st.integers(0, 6), min_size=2, max_size=9))
    raw = pl.DataFrame({"id": range(len(rows)), "n": rows, "s": [f"{row % 2}" for row in range(len(rows))]})
    cells = []
    for value in rows:
        low, high = data.draw(st.tuples(st.integers(0, value), st.integers(value, 6)))
        cells.append(data.draw(st.sampled_from([f"[{low}-{high}]", f"{value}", "*"])))
    release = raw.with_columns(n=pl.Series(cells))[data.draw(st.permutations(range(len(rows))))]
    release = release.head(data.draw(st.integers(1, len(rows))))
    schema = ic.Schema({"n": "number"}, sensitive=["s"])
    known = ic.evaluate(raw, release, schema, by="id")
    try:
        evaluation = ic.evaluate(raw, release, schema)
    except ic.TableError:
        reject()
    assert (evaluation.suppressed, evaluation.missing, evaluation.classes) == (
        known.suppressed,
        known.missing,
        known.classes,
    )
    if evaluation.paired_by == "cells":
        for name, lost in known.utility.items():
            assert evaluation.utility[name].value == pytest.approx(lost.value), name


@pytest.mark.parametrize(
    ("raw", "released"),
    [
        ([1, 2, 3, 40], [1.0, 2.0, 3.0, 40.0]),
        ([1, 2, 3, 40], ["1", "2.0", "3e0", " 40"]),
        (["1", "2", "3", "40"], [1.0, 2.0, 3.0, 40.0]),
        (["1.0", "2", "3", "A4"], ["1.0", "2", "3", "A4"]),
        (["007", "7", "x", "é"], ["007", "7", "x ", "e\u0301"]),
    ],
)
def test_keys_are_compared_by_value(raw, released):
    table = RAW[[0, 4, 8, 9]].with_columns(id=pl.Series(raw))
    release = RELEASE[[0, 4, 8, 9]].with_columns(id=pl.Series(released))
    loss = ic.evaluate(table, release, SCHEMA).utility["loss"].value
    assert ic.evaluate(table, release.reverse(), SCHEMA, by="id").utility["loss"].value == loss
    # A text that is a number only beside others is compared as it stands.
    assert ic.evaluate(table, release.reverse().head(3), SCHEMA, by="id").missing == 1


WRONG = {
    "missing": (
        RELEASE.with_columns(id=pl.Series([None, "", *range(3, 13)], strict=False)),
        "no key in 2 rows",
    ),
    "twice": (
        RELEASE.with_columns(pl.col("id").replace(3, 4)),
        "1 rows of the release have a key that an earlier",
    ),
    "unknown": (
        RELEASE.with_columns(pl.col("id").replace({1: 7001, 2: 7002})),
        "2 keys of the release are not in the raw table",
    ),
}


@pytest.mark.parametrize("name", WRONG)
def test_keys_that_tell_no_rows_apart_are_refused_without_their_values(name):
    release, message = WRONG[name]
    for call in (
        lambda: ic.evaluate(RAW, release, SCHEMA, by="id"),
        lambda: attack(RAW, release, SCHEMA, by="id"),
        lambda: ic.perturbation(RAW, release.with_columns(age=1), ["age"], by="id"),
    ):
        with pytest.raises(ic.TableError, match=message) as caught:
            call()
        assert "column 'id' (by='id')" in str(caught.value)
        assert "700" not in str(caught.value)


def test_keys_that_the_raw_table_repeats_are_refused():
    with pytest.raises(ic.TableError, match="10 rows of the raw table have a key"):
        ic.evaluate(RAW, RELEASE, SCHEMA, by="sex")
    with pytest.raises(ic.ParameterError, match=r"by='id' or the row map \(row_map=\), not both"):
        ic.evaluate(RAW, RELEASE, SCHEMA, by="id", row_map=pl.DataFrame({"row": range(1, 13)}))


def test_a_key_that_is_in_one_table_only_is_refused_with_the_reason():
    named = ic.Schema({"age": "number"}, sensitive=["ill"], identifying=["id"])
    with pytest.raises(ic.SchemaError, match="'id' is identifying, so the release has not got it"):
        ic.evaluate(RAW, RELEASE.drop("id"), named, by="id")
    with pytest.raises(ic.SchemaError, match=r"in the released table .*'id'"):
        ic.evaluate(RAW, RELEASE.drop("id"), SCHEMA, by="id")
    with pytest.raises(ic.SchemaError, match=r"in the raw table .*'nr'"):
        ic.evaluate(RAW, RELEASE, SCHEMA, by="nr")


def test_a_lazy_frame_is_refused_with_the_way_out():
    with pytest.raises(ic.TableError, match="collect a lazy frame"):
        ic.evaluate(RAW.lazy(), RELEASE, SCHEMA, by="id")


# --- attacks and perturbation -------------------------------------------------------------------------


def tries(release: pl.DataFrame, **settings) -> dict[str, ic.attacks.Attack]:
    return {each.name: each for each in attack(RAW, release, BOTH, attacks=12, **settings)}


def test_attacks_that_pair_rows_make_no_guess_where_it_is_not_sure():
    assert tries(RELEASE)["order"].attacks == 12
    unsure = tries(shuffled(RELEASE))
    assert unsure["order"].attacks == 0
    assert "so it is not known which row is which; name a column of keys" in unsure["order"].remarks[0]
    assert "linkage" not in unsure


def test_a_key_tells_attacks_which_row_is_which():
    ordered = shuffled(RELEASE)
    known = tries(ordered, by="id")
    mapped = tries(ordered, row_map=ordered.select(row="id"))
    assert {name: each.to_dict() for name, each in known.items()} == {
        name: each.to_dict() for name, each in mapped.items()
    }
    assert known["linkage"].attacks == known["order"].attacks == 12
    assert tries(ordered.head(10), by="id")["linkage"].attacks == 10


def test_a_key_tells_perturbation_and_transitions_which_row_is_which():
    noisy = RAW.with_columns(pl.col("age") + pl.col("id") % 3)
    result, whole = (
        ic.perturbation(RAW, release, ["age"], **settings)
        for release, settings in ((shuffled(noisy), {"by": "id"}), (noisy, {}))
    )
    assert (result.linked, result.interval_disclosure) == (whole.linked, whole.interval_disclosure)
    assert result.il1s == {"age": pytest.approx(whole.il1s["age"])}
    assert ic.perturbation(RAW, shuffled(noisy).head(9), ["age"], by="id").records == 9
    schema = ic.Schema([], insensitive=["sex"], treatments={"sex": "pram:0.9,matrix=uniform"})
    [mine], [theirs] = (
        transitions(RAW, release, schema=schema, **settings)
        for release, settings in ((shuffled(RAW), {"by": "id"}), (RAW, {}))
    )
    assert mine.to_dict() == theirs.to_dict()
