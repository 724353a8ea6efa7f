"""Scripts of checks for DuckDB agree with verify on random releases, and a wrong script is noticed."""

from __future__ import annotations

from collections import Counter

import pytest

from crossed import quick
from examples import share
from fuzz.checks import run, scripted
from fuzz.draw import Draw
from fuzz.sources import Services
from fuzz.test_oracle import case
from incrowd.measures.privacy import MODELS
from incrowd.search import ALGORITHMS

SOURCES = ("polars", "csv", "parquet", "duckdb")


@pytest.mark.slow
@pytest.mark.parametrize("seed", quick([1, 2, 3], 1))
def test_scripts_of_random_releases_say_what_verify_says(seed, tmp_path):
    services, met = Services(tmp_path), Counter()
    draw = Draw(seed, MODELS.names(), ALGORITHMS.names(), SOURCES, met)
    while met["script", "written"] < share(12):
        outcome = run(draw.case(draw.rarest("source", SOURCES)), services)
        assert outcome.findings == []
        met.update(outcome.met)
    assert met["script", "a record less, found"] + met["script", "another cell, found"]


@pytest.mark.few(1)
@pytest.mark.parametrize(
    ("says", "found"),
    [
        (True, {"script of another cell", "script that reads another cell"}),
        (False, {"script"}),
    ],
)
def test_a_script_that_says_otherwise_is_found(tmp_path, monkeypatch, says, found):
    monkeypatch.setattr(scripted, "verdict", lambda script, path=None: says)
    outcome = run(case(), Services(tmp_path))
    assert outcome.status == "released"
    assert {finding.check for finding in outcome.findings} == found
