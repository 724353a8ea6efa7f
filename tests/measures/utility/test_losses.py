"""Metrics are measured at the first reading, each once."""

from __future__ import annotations

import copy
import pickle

import numpy as np
import polars as pl
from hypothesis import given
from hypothesis import strategies as st

import incrowd as ic
from incrowd.measures.utility import METRICS, Loss
from incrowd.measures.utility.base import sum_of_squares

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
