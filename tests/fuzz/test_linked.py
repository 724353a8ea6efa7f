"""The fuzzer of linked tables finds nothing, and finds each of several breaks."""

from __future__ import annotations

from unittest import mock

import numpy as np
import pytest

from fuzz.linked import check
from incrowd.core.errors import IncrowdError

VIEWS = "incrowd.release.linked.views"


def _records(self, present):
    """Count sets in place of people."""
    counts = np.bincount(self.number[present[self.owner]], minlength=self.many)
    fewest = np.where(present, len(present), 0)
    np.minimum.at(fewest, self.owner, np.where(present[self.owner], counts[self.number], fewest[self.owner]))
    return fewest


def _without_cells(wrapped):
    return lambda values, level: wrapped(values * np.uint64(0), level)


def _fewer(wrapped):
    return lambda person, people, known, name: wrapped(person, people, max(known - 1, 1), name)


BREAKS = {
    "sets are counted in place of people": (f"{VIEWS}.Sets.fewest", lambda wrapped: _records),
    "rows below one row and below two look the same": (f"{VIEWS}._merged", lambda wrapped: lambda nodes: nodes),
    "cells of rows below are forgotten": (f"{VIEWS}.mix", _without_cells),
    "an attacker knows a row less": (f"{VIEWS}._subsets", _fewer),
    "who cannot be hidden stays": (
        "incrowd.release.linked.tables.LinkedRows.only", lambda wrapped: lambda self, present: self,
    ),
    "the verifier forgets cells": ("incrowd_verify.linked._text", lambda wrapped: lambda table, column: "''"),
    "the verifier knows a row less": (
        "incrowd_verify.linked._known_sets",
        lambda wrapped: lambda con, place, known: wrapped(con, place, max(known - 1, 1)),
    ),
}  # fmt: skip


@pytest.mark.slow
@pytest.mark.gated
@pytest.mark.parametrize("seed", range(3))
def test_nothing_is_found(seed):
    assert check(seed) == []


@pytest.mark.slow
@pytest.mark.gated
@pytest.mark.parametrize("name", BREAKS)
def test_a_break_is_found(name):
    place, change = BREAKS[name]
    target, _, attribute = place.rpartition(".")
    with mock.patch(place, change(_found(target, attribute))):
        assert any(_wrong(seed) for seed in range(60))


def _found(target, attribute):
    import pydoc

    return getattr(pydoc.locate(target), attribute)


def _wrong(seed):
    try:
        return check(seed)
    except (IncrowdError, IndexError) as error:
        return [str(error)]
