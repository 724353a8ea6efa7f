"""tune(): the best setting for an analysis, under every limit."""

from __future__ import annotations

import polars as pl
import pytest

import incrowd as ic
from incrowd.release.jobs.compare.tune import _rounds

MEAN = ic.Analysis("age", "age ~ sex", "means")


@pytest.fixture(scope="module")
def people():
    return ic.samples.hospital(500).filter(pl.col("sex") != "X").select("age", "sex", "marital_status")


@pytest.fixture(scope="module")
def policy():
    schema = ic.Schema(quasi=["age", "sex", "marital_status"])
    return ic.Policy(
        schema, ("k-anonymity:5",), ic.Random(), max_suppression=0.02, set_limit=1_000, analyses=(MEAN,),
        accepted=[ic.Accepted("blanked-column", name, "a test") for name in ("age", "sex", "marital_status")],
    )  # fmt: skip


@pytest.fixture(scope="module")
def tuned(people, policy):
    return ic.tune(people, policy, "analysis:age", algorithms=["mondrian"], most=6)


def test_it_keeps_no_less_than_the_policy_as_it_is(tuned):
    before, *_ = tuned.trials
    [chosen] = [trial for trial in tuned.trials if trial.chosen]
    assert before.setting.startswith("random")
    assert chosen.problem is None
    assert chosen.kept >= before.kept
    assert chosen.kept == max(trial.kept for trial in tuned.trials if trial.problem is None)
    assert tuned.table()["chosen"].sum() == 1


def test_the_release_holds_and_says_how_it_was_chosen(tuned):
    assert tuned.release.verdict.holds
    assert tuned.policy.analyses[0].tried == 6
    assert tuned.release.verdict.text.endswith(
        "The setting was chosen among 6 by how well each keeps the analysis 'age' of the raw table."
    )
    assert "tried = 6" in tuned.policy.to_toml()


def test_limits_stay(tuned, policy):
    assert tuned.policy.models == policy.models
    assert tuned.policy.max_suppression <= policy.max_suppression
    assert tuned.release.suppression.share(tuned.release.privacy.records) <= policy.max_suppression


@pytest.mark.gated
def test_a_setting_with_an_open_point_is_never_chosen(people, policy):
    from dataclasses import replace

    open_policy = replace(policy, models=("k-anonymity:400",), accepted=())
    with pytest.raises(ic.InfeasibleError, match="no setting gives a release that holds"):
        ic.tune(people, open_policy, MEAN, algorithms=["mondrian"], most=2)


def test_rounds_halve_down_to_all_records():
    assert _rounds(30_000, 30) == [(3333, False), (10000, False), (30000, True)]
    assert _rounds(800, 30) == [(800, True)]
    assert _rounds(30_000, 2) == [(30000, True)]


def test_the_chart_shows_risk_against_the_analysis(tuned):
    pytest.importorskip("altair")
    spec = tuned.plot().to_dict()
    assert (spec["encoding"]["x"]["field"], spec["encoding"]["y"]["field"]) == ("risk", "kept")
