"""tune(): the best setting for an analysis, under every limit."""

from __future__ import annotations

import datetime as dt
from dataclasses import replace

import duckdb
import polars as pl
import pytest

import incrowd as ic
from incrowd.engines import engine_for
from incrowd.release.analyses.cells import RawSheet
from incrowd.release.jobs.compare import tune
from incrowd.release.jobs.compare.tune import _rounds
from incrowd.release.jobs.make.anonymize import anonymize
from incrowd.release.policy.arguments import as_algorithms

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
    assert (spec["encoding"]["x"]["field"], spec["encoding"]["y"]["field"]) == ("average_risk", "kept")
    page = tuned._repr_html_()
    assert "<svg" in page
    assert "random, at most 2.0% suppressed" in page


def test_the_chosen_release_is_not_made_once_more(people, policy, monkeypatch):
    made = []

    def counted(*arguments, **settings):
        made.append(anonymize(*arguments, **settings))
        return made[-1]

    monkeypatch.setattr(tune, "anonymize", counted)
    ages = ic.Analysis("ages", "age ~ marital_status", "means")
    both = replace(policy, analyses=(ages, MEAN))
    tuned = ic.tune(people.head(200), both, MEAN, algorithms=["mondrian"], most=3)
    assert len(made) == len(tuned.trials) == 3
    assert any(tuned.release.table is each.table for each in made)
    # The other analyses of the policy are told, too, and each trial has its figures.
    assert [each.analysis.name for each in tuned.release.analyses.results] == ["age", "ages"]
    assert tuned.release.policy == tuned.policy
    assert tuned.release.analyses.trials == tuned.trials
    document = tuned.release.document()
    assert [each["state"] for each in document["trials"]].count("chosen") == 1
    assert len(tuned.release.analyses.to_dict()["trials"]) == 3
    assert "trials" not in tuned.release.to_dict()


DATES = [dt.date(2020, 1, 1) + dt.timedelta(days=day) for day in range(0, 700, 7)]


def settings_of(schema, analysis, algorithms=("mondrian", "optimal"), **policy):
    table = pl.DataFrame(
        {
            "age": [20 + at % 60 for at in range(100)],
            "sex": ["f", "m"] * 50,
            "day": DATES,
            "pay": [1000 + 37 * at for at in range(100)],
        }
    )
    policy = ic.Policy(schema, ("k-anonymity:5",), **policy)
    domains = RawSheet.of_table(engine_for(table), schema, analysis.columns).domains
    return dict(tune._settings(policy, analysis, as_algorithms(list(algorithms)), domains))


def test_the_way_in_which_cells_are_written_is_a_setting():
    schema = ic.Schema(quasi=["age", "day", "sex"], unlisted="keep")
    analysis = ic.Analysis("a", "pay ~ age + day + C(sex)")
    settings = settings_of(schema, analysis)
    words = {each.partition(" suppressed")[2] for each in settings}
    columns = "age, day, sex"
    writing = ["age, day as the mean of each class", "age rounded", "day cut to months"]
    assert words == {
        f"{weight}{way}"
        for weight in ("", f", weight of {columns} times 3", f", weight of {columns} times 10")
        for way in ("", *(f", {each}" for each in writing))
    }
    # Without a hierarchy, no full-domain algorithm is tried.
    assert {each.algorithm.name for each in settings.values()} == {"mondrian"}
    [rounded] = [each for name, each in settings.items() if name.endswith("suppressed, age rounded")]
    assert rounded.schema["age"].treatment == ic.Round(2)


def test_no_setting_is_weaker_than_the_policy():
    """Levels, treatments and ends that the policy asks for stay, or tell less."""
    ages = ic.Hierarchy.intervals(5, 10, 20)
    schema = ic.Schema.of_attributes(
        [
            ic.Attribute("age", "quasi", hierarchy=ages, levels=(2, 3)),
            ic.Attribute("sex", "quasi", hierarchy=ic.Hierarchy.flat(), levels=(1, 1)),
            ic.Attribute("pay", "sensitive", treatment=ic.Round(500)),
        ]
    )
    analysis = ic.Analysis("a", "pay ~ age + C(sex)")
    settings = settings_of(schema, analysis, algorithm=ic.Optimal(), max_suppression=0.1)
    assert {each.algorithm.name for each in settings.values()} == {"optimal"}
    assert {each.schema["age"].levels for each in settings.values()} == {(2, 3), (2, 2)}
    assert {each.schema["sex"].levels for each in settings.values()} == {(1, 1)}
    treatments = {each.schema["pay"].treatment for each in settings.values()}
    ways = {ic.Round(500, how=how) for how in ("nearest", "random", "controlled")}
    # Twice the base tells less; half of it, or no rounding, would tell more.
    assert treatments == ways | {ic.Round(1000)}
    assert {each.max_suppression for each in settings.values()} == {0.1, 0.05, 0.0}

    plain = ic.Schema.of_attributes(
        [ic.Attribute("age", "quasi"), ic.Attribute("pay", "quasi", treatment=ic.Round(500))]
    )
    outward = settings_of(plain, analysis)
    assert {(each.schema["age"].ends, each.ends) for each in outward.values()} == {(None, "outward")}
    assert {each.schema["pay"].treatment for each in outward.values()} == {ic.Round(500)}
    exact = settings_of(plain, analysis, ends="exact")
    assert {each.schema["age"].ends for each in exact.values()} == {None, "outward"}


def test_a_sensitive_number_is_rounded_and_what_goes_along_with_it_is_not():
    analysis = ic.Analysis("a", "pay ~ age")

    def treatments(**pay):
        others = [ic.Attribute("age", "quasi"), ic.Attribute("sex", "insensitive")]
        schema = ic.Schema.of_attributes([*others, ic.Attribute("pay", **pay)])
        return [each.schema["pay"].treatment for each in settings_of(schema, analysis).values()]

    assert {*treatments(role="sensitive")} == {None, ic.Round(100)}
    # It is among the first: there are more settings than are tried.
    assert ic.Round(100) in treatments(role="sensitive")[:4]
    assert {*treatments(role="insensitive")} == {None}
    told = ic.Round(500, linked="sex")
    assert {*treatments(role="sensitive", treatment=told)} == {told}


def test_rounding_of_a_sensitive_number_lets_classes_be_smaller(tmp_path):
    """Amounts that are nearly all distinct are never close to those of the table; rounded ones are."""
    table = ic.samples.hospital(400).select("age", "cost")
    schema = ic.Schema(quasi=["age"], sensitive=["cost"])
    cost = ic.Analysis("cost", "cost ~ age")
    models = ("k-anonymity:5", ic.TCloseness(0.5, distance="equal"))
    policy = ic.Policy(schema, models, analyses=(cost,))
    tuned = ic.tune(table, policy, cost, algorithms=[], most=2)
    before, rounded = tuned.trials
    assert rounded.setting.endswith("cost rounded to 2000")
    assert (rounded.chosen, rounded.problem) == (True, None)
    assert before.kept < 0.5
    assert rounded.kept > 0.9
    tuned.release.save(tmp_path / "out")
    assert ic.verify(tmp_path / "out" / "release.csv", tmp_path / "out" / "policy.toml").ok


def test_a_median_may_become_a_mean_and_never_the_other_way():
    schema = ic.Schema.of_attributes(
        [
            ic.Attribute("age", "quasi"),
            ic.Attribute("pay", "sensitive", treatment=ic.Microaggregate(5, how="median")),
        ]
    )
    analysis = ic.Analysis("a", "pay ~ age")
    assert ic.Microaggregate(5) in {
        each.schema["pay"].treatment for each in settings_of(schema, analysis).values()
    }
    schema = ic.Schema(quasi=["age"], sensitive=["pay"], treatments={"pay": ic.Microaggregate(5)})
    assert {each.schema["pay"].treatment for each in settings_of(schema, analysis).values()} == {
        ic.Microaggregate(5)
    }


@pytest.mark.slow
def test_means_of_classes_hold_and_the_verifier_says_so(tmp_path):
    table = ic.samples.hospital(400).select("age", "length_of_stay")
    schema = ic.Schema(quasi=["age"], insensitive=["length_of_stay"])
    stay = ic.Analysis("stay", "length_of_stay ~ age")
    policy = ic.Policy(schema, ("k-anonymity:20",), analyses=(stay,))
    tuned = ic.tune(table, policy, stay, algorithms=[], most=4)
    means = [trial for trial in tuned.trials if "mean of each class" in trial.setting]
    assert means
    assert all(trial.problem is None for trial in means)
    tuned.release.save(tmp_path / "out")
    assert ic.verify(tmp_path / "out" / "release.csv", tmp_path / "out" / "policy.toml").ok


def test_what_suits_no_other_algorithm_is_no_error(people, policy):
    """A policy with weights ended the search at the first algorithm that knows none."""
    schema = policy.schema.with_attributes(
        replace(each, weight=2.0 if each.name == "sex" else 1.0) for each in policy.schema.attributes
    )
    heavy = replace(policy, schema=schema, algorithm=ic.Mondrian(), analyses=(MEAN,))
    tuned = ic.tune(people.head(200), heavy, MEAN, algorithms=["random"], most=2)
    assert tuned.release.verdict.holds
    with pytest.raises(ic.ParameterError, match="fetch the rows of a database or of Spark first"):
        ic.tune(duckdb.sql("select 30 as age, 'f' as sex"), heavy, MEAN)


def test_a_policy_that_was_tuned_before_counts_both_searches(people, tuned):
    again = ic.tune(people.head(200), tuned.policy, "analysis:age", algorithms=[], most=1)
    assert again.policy.analyses[0].tried == 7
    assert "among 7 by" in again.release.verdict.text


def test_a_sentence_says_what_was_kept_before_and_after(tuned):
    first, chosen = tuned.trials[0], next(trial for trial in tuned.trials if trial.chosen)
    assert tuned.sentence == tuned.to_dict()["sentence"]
    end = f", the chosen setting keeps {chosen.kept:.0%} of 'age': {chosen.setting}."
    assert tuned.sentence == f"The policy as it was keeps {first.kept:.0%}{end}"
    # A release that is refused is none to compare with, whatever it keeps.
    refused = replace(first, problem="OPEN", chosen=False)
    chosen = replace(chosen, chosen=True)
    other = replace(tuned, trials=(refused, chosen))
    assert other.sentence == f"The policy as it was gives no release that holds{end}"
