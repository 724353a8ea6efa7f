"""Under a hierarchy 1 and 1.0 are two leaves but a single number, which counts once per person."""

from __future__ import annotations

import numpy as np
import polars as pl
import pytest

import incrowd as ic
from people_readings import Reading

SPELLINGS = ["1", "1.0", "2", "2.00", "3"]
TREE = ic.Hierarchy.from_nested({"*": {"low": ["1", "1.0", "2"], "high": ["2.00", "3"]}})


def people(seed, rows=60):
    draw = np.random.default_rng(seed)
    return pl.DataFrame(
        {
            "who": [None if draw.random() < 0.05 else f"p{draw.integers(0, rows // 3)}" for _ in range(rows)],
            "q": draw.choice(["x", "y", "z", "*"], rows),
            "r": draw.choice(["u", "*"], rows, p=[0.9, 0.1]),
            "v": draw.choice(SPELLINGS, rows),
            "s": draw.choice(["a", "b"], rows),
        }
    )


def expected(table):
    """The distance by people as sets of numbers."""
    live = ~((table["q"] == "*") & (table["r"] == "*"))
    reading = Reading(
        table["who"].to_list(),
        [table["q"].to_list(), table["r"].to_list()],
        {"v": [float(value) for value in table["v"]]},
    )
    reading.classes.pop(("*", "*"), None)
    assert live.any()
    return reading.ordered_distance("v")


def test_ann_counts_once():
    table = pl.DataFrame(
        {"who": ["Ann", "Ann", "Bob", "Cid", "Dan", "Dan"], "q": list("xxxyyy"), "r": ["u"] * 6,
         "v": ["1", "1.0", "2", "1", "2", "3"]}
    )  # fmt: skip
    schema = ic.Schema(quasi=["q", "r"], sensitive={"v": TREE}, person="who")
    for rows in (table, table.lazy()):
        value = ic.assess(rows, schema, ic.TCloseness(0.5, "ordered")).privacy[0].value
        assert value == pytest.approx(0.15)
    numbers = table.with_columns(pl.col("v").cast(pl.Float64))
    plain = ic.Schema(quasi=["q", "r"], sensitive=["v"], person="who")
    assert ic.assess(numbers, plain, ic.TCloseness(0.5, "ordered")).privacy[0].value == pytest.approx(0.15)


@pytest.mark.few(3)
@pytest.mark.parametrize("seed", range(12))
@pytest.mark.parametrize("form", ["frame", "lazy", "file"])
def test_the_distance_is_that_of_people_as_sets(seed, form, tmp_path):
    """Suppressed rows are in the table's distribution, so a person may have another spelling there."""
    table = people(seed)
    if form == "file":
        table.write_parquet(tmp_path / "t.parquet")
    rows = {"frame": table, "lazy": table.lazy(), "file": tmp_path / "t.parquet"}[form]
    rows = ic.scan(rows) if form == "file" else rows
    schema = ic.Schema(quasi=["q", "r"], sensitive={"v": TREE}, person="who", unlisted="drop")
    value = ic.assess(rows, schema, ic.TCloseness(0.5, "ordered")).privacy[0].value
    assert value == pytest.approx(expected(table), abs=1e-12)


@pytest.mark.parametrize("seed", range(4))
def test_a_release_is_judged_by_it(seed):
    """The recoded classes, and those of joint models, count numbers as the raw table does."""
    table = people(seed, 90).with_columns(q=pl.lit("x"), r=pl.Series([str(n % 9) for n in range(90)]))
    schema = ic.Schema(
        quasi={"q": None, "r": ic.Hierarchy.intervals(3)},
        sensitive={"v": TREE},
        person="who",
        unlisted="drop",
    )
    models = [ic.TCloseness(0.9, "ordered", attribute="v"), ic.KAnonymity(2)]
    for algorithm in ("optimal", "mondrian"):
        release = ic.anonymize(table, schema, models, algorithm, keep_order=True, force=True)
        left = table.with_columns(release.table["q"], release.table["r"])
        assert release.privacy.reached("t-closeness", "v") == pytest.approx(expected(left), abs=1e-12)


def test_joint_models_count_numbers_once_too():
    table = people(3, 120).with_columns(q=pl.lit("x"), r=pl.lit("u"))
    schema = ic.Schema(quasi=["q", "r"], sensitive={"v": TREE, "s": None}, person="who", unlisted="drop")
    model = ic.TCloseness(1.0, "ordered", attribute="v", joint=True)
    value = ic.assess(table, schema, model).privacy[0].value
    worst = 0.0
    whole = Reading(table["who"].to_list(), [table["q"].to_list()], {"v": [float(v) for v in table["v"]]})
    for context in ("a", "b"):
        part = table.filter(pl.col("s") == context)
        reading = Reading(part["who"].to_list(), [part["q"].to_list()], {"v": [float(v) for v in part["v"]]})
        reading.totals, reading.everybody = whole.totals, whole.everybody
        worst = max(worst, reading.ordered_distance("v"))
    assert value == pytest.approx(worst, abs=1e-12)
