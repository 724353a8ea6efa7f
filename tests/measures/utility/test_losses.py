"""Metrics are measured at the first reading, each once."""

from __future__ import annotations

import copy
import math
import pickle

import numpy as np
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

import incrowd as ic
from incrowd.core.recoding import FullDomain
from incrowd.engines import engine_for
from incrowd.measures.utility import METRICS, Loss, PooledEntropy, PooledEntropyARX
from incrowd.measures.utility.discernibility import sum_of_squares
from test_published import read

TABLE = pl.DataFrame({"age": [21, 22, 23, 40, 41, 42], "ill": ["flu", "cold", "flu", "flu", "cold", "cold"]})
SCHEMA = ic.Schema(quasi=["age"], sensitive=["ill"])


def test_a_metric_is_measured_when_it_is_read_and_once(monkeypatch):
    measured = []
    whole = Loss.measure
    monkeypatch.setattr(Loss, "measure", lambda self, *given: measured.append(1) or whole(self, *given))
    release = ic.anonymize(TABLE, SCHEMA, [ic.KAnonymity(3)], algorithm=ic.Mondrian(choose="range"))
    assert "loss" in release.utility
    assert len(release.utility) == len(list(release.utility)) > 10
    assert measured == []
    assert release.utility["loss"].value == release.utility["loss"].value == 3 / 21
    assert measured == [1]
    assert release.to_dict()["utility"][0]["metric"] == "loss"
    assert measured == [1]


def test_copies_hold_losses_and_no_table():
    """The keys and the recoding are the table in short, so no file has the two."""
    release = ic.anonymize(TABLE, SCHEMA, [ic.KAnonymity(3)], algorithm=ic.Mondrian())
    source = vars(release.utility)["_source"]
    assert source[0] is release.frequency
    for each in (pickle.loads(pickle.dumps(release.utility)), copy.deepcopy(release.utility)):
        assert vars(each)["_source"] is None
        assert each == release.utility
        assert list(each) == list(release.utility)


def test_only_metrics_that_apply_are_there():
    release = ic.anonymize(TABLE, ic.Schema(quasi=["age"], identifying=["ill"]), [ic.KAnonymity(3)])
    assert "information-gain" not in release.utility
    assert release.utility.get("information-gain") is None
    assert [*release.utility] == [m.name for m in METRICS if m().applies(release.frequency)]


@given(st.lists(st.integers(0, 2**33), max_size=5))
def test_squares_are_summed_exactly(sizes):
    assert sum_of_squares(np.array(sizes, np.int64)) == sum(size**2 for size in sizes)


ARX_COLUMNS = {
    "sex": 1, "age": 0, "race": 1, "marital-status": 1, "education": 2, "native-country": 2, "workclass": 2,
    "salary-class": 1,
}  # fmt: skip
"""The quasi-identifiers of ARX's tests on Adult, and the levels that entropy 5-diversity gets there."""


def test_pooled_entropy_of_arx(shared_data, evidence):
    """A suppressed record is charged otherwise by each: 228878.2039109517 stands in the tests of ARX."""
    folder = shared_data / "arx-adult"
    trees = {name: ic.Hierarchy.read(folder / f"adult_hierarchy_{name}.csv") for name in ARX_COLUMNS}
    table = read(folder / "adult.csv", separator=";")
    frequency = engine_for(table).count(ic.Schema(trees, sensitive=["occupation"])).frequency
    levels = list(ARX_COLUMNS.values())
    classes = FullDomain.build(frequency, levels).classes(frequency)
    fails = np.zeros(frequency.keys, np.bool_)
    fails[classes.members] = np.repeat(~ic.LDiversity(5, "entropy").holds(classes), np.diff(classes.indptr))
    recoding = FullDomain.build(frequency, levels, fails)
    assert int(frequency.weights[fails].sum()) == 753
    result = PooledEntropyARX().measure(frequency, recoding).value
    text = "bits lost by entropy 5-diversity of the occupation, 4 % suppressed at most"
    evidence("arx", text, "228878.203910952", [result])
    assert round(PooledEntropy().measure(frequency, recoding).value, 2) == 231813.93


def test_pooled_entropy_of_arx_by_hand():
    """Of ten records, two each of five values, a and c are suppressed: each costs a bit beside its cell."""
    tree = ic.Hierarchy.from_nested({"*": {"A": ["a", "b"], "B": ["c", "d", "e"]}})
    frame = pl.DataFrame({"q": list("aabbccddee")})
    frequency = engine_for(frame).count(ic.Schema({"q": tree})).frequency
    recoding = FullDomain.build(frequency, [1], np.array([True, False, True, False, False]))
    assert PooledEntropyARX().measure(frequency, recoding).value == pytest.approx(
        4 * 1 + 6 * math.log2(3) + 4 * 1, rel=1e-12
    )
    assert PooledEntropy().measure(frequency, recoding).value == pytest.approx(
        2 * 1 + 4 * math.log2(3) + 4 * math.log2(5), rel=1e-12
    )
