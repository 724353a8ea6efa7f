"""Numbers near the largest double: no warning (pytest makes errors of them), no loss that is none."""

from __future__ import annotations

import math

import polars as pl
import pytest

import incrowd as ic
from incrowd.algorithms import ALGORITHMS

TABLE = pl.DataFrame({"x": [1e300, 1e308, -1e308, 5.0] * 3, "y": [1, 2, 3, 4] * 3, "s": list("abcdef") * 2})
SCHEMA = ic.Schema(quasi=["x", "y"], sensitive=["s"])


def losses(found) -> list[float]:
    parts = found if isinstance(found, list) else list(found.values()) if isinstance(found, dict) else [found]
    if parts == [found]:
        return [found] if isinstance(found, float) else []
    return [loss for part in parts for loss in losses(part)]


@pytest.mark.parametrize("k", [2, 5])
@pytest.mark.parametrize("name", ["mondrian", "mdav", "k-member", "clustering", "oka", "random"])
def test_what_is_lost_of_enormous_numbers_is_a_number(name, k):
    release = ic.anonymize(TABLE, SCHEMA, [ic.KAnonymity(k)], ALGORITHMS.get(name)())
    found = losses(release.to_dict())
    assert len(found) > 10
    assert all(map(math.isfinite, found))
    ic.evaluate(TABLE, release.table, SCHEMA)
