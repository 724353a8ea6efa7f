"""ensure_privacy(): the study's figures, and a plain reading of the loop."""

from __future__ import annotations

import json
from collections import Counter
from fractions import Fraction
from math import log2

import pandas as pd
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

import incrowd as ic
from people_readings import Reading, people_table

SCHEMA = ic.Schema(quasi=["p", "q"], sensitive={"s": "category", "u": "category"}, unlisted="drop")


@pytest.mark.slow
def test_the_diabetes_study(shared_data):
    """A round deletes 35 of 98 classes with 2,334 of 101,763 rows, from the counts per class and value."""
    counts = pd.read_csv(shared_data / "diabetes" / "df1_class_marginals.csv", keep_default_na=False)
    # Any table with these marginals will do, since the attributes are looked at one by one.
    pieces = []
    for _, block in counts.groupby(["race", "gender", "age"]):
        columns = {
            attribute: [
                value for value, n in zip(part["value"], part["count"], strict=True) for _ in range(n)
            ]
            for attribute, part in block.groupby("attribute")
        }
        pieces.append(pd.DataFrame(columns).assign(**block[["race", "gender", "age"]].iloc[0].to_dict()))
    df = pd.concat(pieces, ignore_index=True)
    assert len(df) == 101_763
    sensitive = [column for column in df if column not in ("race", "gender", "age")]
    schema = ic.Schema(quasi=["race", "gender", "age"], sensitive=dict.fromkeys(sensitive, "category"))
    left = ic.ensure_privacy(df, schema)
    assert [(each.classes, each.records) for each in left.rounds] == [(35, 2334)]
    assert (left.records, left.deleted, left.classes, left.clean) == (101_763, 2334, 63, True)
    assert len(left.table) == 99_429
    assert left.score.value == pytest.approx(0.8057811497937597, abs=1e-12)
    assert left.score.k_min == 13


@st.composite
def tables(draw):
    rows = draw(st.integers(1, 40))
    column = lambda values: draw(st.lists(st.sampled_from(values), min_size=rows, max_size=rows))  # noqa: E731
    return pl.DataFrame(
        {
            "id": range(rows),
            "p": column(["a", "b", None]),
            "q": column("xy"),
            "s": column("12"),
            "u": column("345"),
        }
    )


@pytest.mark.slow
@given(
    tables(), st.sampled_from([0.1, 0.3, 0.5, 1]), st.integers(0, 3), st.sampled_from([0, 0.5, 0.9]),
    st.sampled_from([None, 1, 2]),
)  # fmt: skip
def test_the_loop_read_once_more(table, t, k, l, max_rounds):  # noqa: E741
    rows, deleted, clean = table.rows(), [], False
    while True:
        classes: dict = {}
        for row in rows:
            classes.setdefault(row[1:3], []).append(row)
        bad = set()
        for key, members in classes.items():
            fails = len(members) <= k
            for j in (3, 4):
                own, whole = Counter(row[j] for row in members), Counter(row[j] for row in rows)
                shares = [n / len(members) for n in own.values()]
                entropy = -sum(p * log2(p) for p in shares) / log2(len(shares)) if len(shares) > 1 else 0
                far = 0.5 * sum(abs(own[value] / len(members) - whole[value] / len(rows)) for value in whole)
                fails |= entropy <= l + 1e-12 or far > t + 1e-12
            if fails:
                bad.add(key)
        clean = not bad
        if not bad or (max_rounds and len(deleted) == max_rounds):
            break
        deleted.append((len(bad), sum(len(classes[key]) for key in bad)))
        rows = [row for row in rows if row[1:3] not in bad]
        if not rows:
            break
    if not rows:
        with pytest.raises(ic.InfeasibleError, match="no class is left"):
            ic.ensure_privacy(table, SCHEMA, t=t, k=k, l=l, max_rounds=max_rounds)
        return
    left = ic.ensure_privacy(table, SCHEMA, t=t, k=k, l=l, max_rounds=max_rounds)
    assert [(each.classes, each.records) for each in left.rounds] == deleted
    assert left.table.rows() == [row[1:] for row in rows]
    assert left.clean == clean
    assert left.records - left.deleted == len(rows)
    document = json.loads(json.dumps(left.to_dict()))
    assert document["clean"] == clean


def test_rows_of_every_kind_of_frame_stay_in_order():
    table = pl.DataFrame(
        {"p": ["a", "z", "a", "a", "*"], "q": ["x"] * 4 + ["*"], "s": list("12211"), "u": list("34434")}
    )
    for frame in (table, table.to_pandas(), table.to_arrow()):
        left = ic.ensure_privacy(frame, SCHEMA)
        assert type(left.table) is type(frame)
        # Suppressed records are in no class, and stay.
        assert pl.DataFrame(left.table)["p"].to_list() == ["a", "a", "a", "*"]


def test_wrong_calls():
    table = pl.DataFrame({"p": ["a"], "q": ["x"], "s": ["1"], "u": ["3"]})
    for settings, words in (
        ({"t": 1.1}, "t must be a number between 0 and 1"),
        ({"k": -1}, "k must be a whole number of at least 0, got -1"),
        ({"l": float("nan")}, "l must be a number between 0 and 1"),
        ({"max_rounds": 0}, "max_rounds must be a whole number of at least 1"),
    ):
        with pytest.raises(ic.ParameterError, match=words):
            ic.ensure_privacy(table, SCHEMA, **settings)
    with pytest.raises(ic.SchemaError, match="name a quasi-identifier and a sensitive"):
        ic.ensure_privacy(table, ic.Schema(quasi=["p"], unlisted="drop"))
    with pytest.raises(ic.SchemaError, match="no role was given"):
        ic.ensure_privacy(table, ic.Schema(quasi=["p"], sensitive=["s"]))


def plain_loop(table: pl.DataFrame, k: int, t: float) -> tuple[list[tuple[int, int]], list[int]]:
    """Delete classes by people as sets: classes and rows of each round, and the rows that are left."""
    rows, rounds = list(range(len(table))), []
    while True:
        left = table[rows]
        cells = [left["age"].to_list(), left["town"].to_list()]
        people = [name if name is not None else ("row", row) for name, row in zip(left["person"], rows, strict=True)]  # fmt: skip
        reading = Reading(people, cells, {"ill": left["ill"].to_list()})
        everybody = sum(map(len, reading.totals["ill"].values()))
        bad = set()
        for cell, members in reading.classes.items():
            counts = reading.counts("ill", cell)
            far = sum(
                abs(Fraction(counts.get(value, 0), sum(counts.values())) - Fraction(len(held), everybody))
                for value, held in reading.totals["ill"].items()
            )
            if len(members) <= k or len(counts) == 1 or far / 2 > t + 1e-12:
                bad.add(cell)
        if not bad or len(bad) == len(reading.classes):
            return rounds, [] if bad else rows
        gone = [cell in bad for cell in zip(*cells, strict=True)]
        rounds.append((len(bad), sum(gone)))
        rows = [row for row, out in zip(rows, gone, strict=True) if not out]


@given(st.integers(0, 2**32 - 1), st.integers(1, 4), st.sampled_from([0.3, 0.4, 0.6]))
def test_classes_are_deleted_by_their_people(seed, k, t):
    table = people_table(seed).with_columns(age=pl.col("age") // 8)
    schema = ic.Schema(quasi=["age", "town"], sensitive=["ill"], person="person", insensitive=["cost"])
    rounds, rows = plain_loop(table, k, t)
    if not rows:
        with pytest.raises(ic.InfeasibleError, match="no class is left"):
            ic.ensure_privacy(table, schema, t=t, k=k)
        return
    left = ic.ensure_privacy(table, schema, t=t, k=k, keep_order=True, force=True)
    assert [(each.classes, each.records) for each in left.rounds] == rounds
    assert left.table["cost"].to_list() == table["cost"].gather(rows).to_list()
    assert "person" not in left.table.columns


def test_a_class_of_one_person_is_deleted():
    table = pl.DataFrame({"who": ["a", "a", "b", "c"], "q": [1, 1, 2, 2], "s": ["x", "y", "x", "y"]})
    by_rows = ic.Schema(quasi=["q"], sensitive=["s"], identifying=["who"])
    by_people = ic.Schema(quasi=["q"], sensitive=["s"], person="who")
    assert ic.ensure_privacy(table, by_rows).deleted == 0
    left = ic.ensure_privacy(table, by_people)
    assert (left.deleted, left.classes) == (2, 1)
    assert left.table["q"].to_list() == [2, 2]
