"""The comparison of an analysis before and after a release, and where it is said."""

from __future__ import annotations

import json
from dataclasses import replace
from statistics import NormalDist

import polars as pl
import pytest

import incrowd as ic
from fuzz.sources import Services, placed
from incrowd.core.progress import Silent
from incrowd.release.analyses.fits import Estimate
from incrowd.release.analyses.measure import Kept, overlap
from incrowd.release.jobs.make.distributed import refuse_divided
from incrowd.release.policy.policy import Policy

COST = ic.Analysis("cost", "cost ~ age + C(sex)")


def interval(low, high):
    return Estimate((low + high) / 2, (high - low) / 4, low, high)


@pytest.mark.parametrize(
    ("before", "after", "expected"),
    [
        # The average of the two shares, by its definition in section 3 of Karr et al. 2006.
        ((0, 2), (1, 3), 0.5),
        ((0, 4), (1, 3), (0.5 + 1) / 2),
        ((0, 1), (0, 1), 1),
        ((0, 1), (2, 3), 0),
        ((0, 1), (1, 2), 0),
        ((2, 2), (2, 2), 1),
        ((2, 2), (2, 4), 0),
    ],
)
def test_the_overlap_of_intervals(before, after, expected):
    assert overlap(interval(*before), interval(*after)) == pytest.approx(expected)


@pytest.mark.parametrize(
    ("before", "after", "expected"),
    [
        # Ends and overlaps that the README of UrbanInstitute/syntheval prints for body_mass_g ~ bill_length_mm
        # + sex of the penguins: `util_ci_overlap`, commit e90781c. The ends have three digits.
        ((186, 1306), (200, 1237), 0.963),
        ((60.9, 87.1), (62.7, 87.2), 0.965),
        ((262, 548), (255, 527), 0.951),
    ],
)
def test_the_overlap_equals_figures_that_another_program_prints(before, after, expected):
    assert overlap(interval(*before), interval(*after)) == pytest.approx(expected, abs=0.002)


def shifted(difference):
    """Compare two estimates with one standard error, so many errors apart, as synthpop does."""
    z = NormalDist().inv_cdf(0.975)
    before, after = (Estimate(at, 1.0, at - z, at + z, tested=True) for at in (0.0, difference))
    return Kept.of_estimates(before, after)


def test_the_overlap_equals_that_of_synthpop(evidence):
    """Four coefficients of gist bffe351d590830500b444931f6ec5cb2, and three of iris in Nguyen's Data Analysis.

    The latter is lm.synds(Sepal.Length ~ Sepal.Width + Petal.Length) in the chapter on synthetic data.
    """
    published, differences = (
        "0.7998578, 0.7745433, 0.6994383, 0.6864850",
        (-0.7845429, 0.8837740, 1.1781803, -1.2289564),
    )
    overlaps = [shifted(each).overlap for each in differences]
    evidence("synthpop", "overlap of four intervals", published, overlaps)
    assert [shifted(each).difference for each in differences] == pytest.approx(
        [abs(each) for each in differences]
    )
    iris = {2.884829: 0.2640608, -2.933611: 0.2516161, -1.124602: 0.7131064}
    assert [shifted(each).overlap for each in iris] == pytest.approx([*iris.values()], abs=1e-6)


@pytest.fixture(scope="module")
def people():
    table = ic.samples.hospital(800).filter(pl.col("sex") != "X")
    return table.select("age", "sex", "zip", "length_of_stay", "cost")


@pytest.fixture(scope="module")
def policy():
    schema = ic.Schema(
        quasi={
            "age": ic.Hierarchy.intervals(5, 20, 40),
            "sex": ic.Hierarchy.flat(),
            "zip": ic.Hierarchy.prefix(),
        },
        unlisted="keep",
    )
    functions = ic.Analysis("mine", function=lambda rows: {"oldest": rows["age"].max()}, columns=["age"])
    survival = ic.Analysis("stay", "length_of_stay ~ sex", "kaplan-meier")
    return Policy(schema, ("k-anonymity:5",), analyses=(COST, survival, functions))


@pytest.fixture(scope="module")
def release(people, policy):
    return ic.anonymize(people, policy, unanswered="write")


def test_a_release_says_what_it_keeps(release):
    result = release.analyses["cost"]
    age = result.estimates["age"]
    assert age.before.value != age.after.value
    assert 0 < age.overlap <= 1
    assert age.difference == pytest.approx(abs(age.after.value - age.before.value) / age.before.error)
    assert result.terms["age"]["kept"] == age.overlap
    assert result.kept == pytest.approx((age.overlap + result.estimates["C(sex)[T.M]"].overlap) / 2)
    assert result.sentence in release.sentences()
    assert result.sentence.startswith("The analysis 'cost' keeps ")
    assert "pMSE" in release.sentences()[release.sentences().index(result.sentence) + 3]
    assert release.analyses["stay"].kept == 1 - sum(release.analyses["stay"].distances.values()) / 2
    assert "largest distance of a curve" in release.analyses["stay"].sentence
    assert "cost" in release.analyses._repr_html_()


def test_the_same_figures_by_evaluate_and_compare(release, people, policy):
    evaluation = ic.evaluate(
        people, release.table, policy.schema, row_map=release.row_map(), analyses=policy.analyses
    )
    assert evaluation.analyses.public() == release.analyses.public()
    assert evaluation.to_dict()["analyses"] == release.to_dict()["analyses"]
    [run] = ic.compare(people, policy, [policy.algorithm], k=5).runs
    assert run.utility["analysis:cost"] == pytest.approx(1 - release.analyses["cost"].kept)


def test_an_unchanged_table_keeps_everything(people, policy):
    evaluation = ic.evaluate(people, people, policy.schema, aligned=True, analyses=policy.analyses)
    assert [each.kept for each in evaluation.analyses.results] == [1, 1, 1]
    assert evaluation.analyses.propensity.pmse == pytest.approx(0, abs=1e-9)


def test_only_shares_leave_and_estimates_of_the_raw_table_stay_internal(release, policy, tmp_path):
    release.save(tmp_path / "out")
    account = (tmp_path / "out" / "release.json").read_text()
    raw = release.analyses["cost"].estimates["age"].before
    inside = json.loads((tmp_path / "out" / "internal" / "analyses.json").read_text())
    assert inside["analyses"][0]["estimates"][1]["before_value"] != 0
    for number in raw[:4]:
        assert repr(number) not in account
        assert f"{number:.4g}" not in account
        assert repr(number) in (tmp_path / "out" / "internal" / "analyses.json").read_text()
    [published] = [each for each in json.loads(account)["analyses"] if each["name"] == "cost"]
    assert published["kept"] == pytest.approx(release.analyses["cost"].kept, rel=0.05)
    # The sentences name no level of a category, and the policy beside the table no formula.
    assert "T.M" not in account
    assert "analyses" not in (tmp_path / "out" / "policy.toml").read_text()
    policy.write(tmp_path / "whole.toml")
    assert ic.verify(tmp_path / "out" / "release.csv", tmp_path / "whole.toml").ok


def test_a_column_that_is_dropped_loses_the_analysis(people):
    schema = ic.Schema(quasi=["age"], identifying=["cost"], unlisted="drop")
    release = ic.anonymize(people, Policy(schema, ("k-anonymity:5",), analyses=(COST,)), unanswered="write")
    result = release.analyses["cost"]
    assert (result.kept, result.after) == (0, None)
    assert "is lost: the release has no column 'cost', 'sex'" in result.sentence
    with pytest.raises(ic.SchemaError, match=r"there is no column 'costs'.*did you mean 'cost'"):
        ic.evaluate(people, people, schema, aligned=True, analyses=[ic.Analysis("a", "costs ~ age")])


def test_weights_that_do_not_leave_are_said(people):
    weighted = people.with_columns(w=pl.lit(2.0))
    schema = ic.Schema(quasi=["age"], weights="w", unlisted="keep")
    release = ic.anonymize(weighted, Policy(schema, ("k-anonymity:5",), analyses=(COST,)), unanswered="write")
    assert release.analyses["cost"].sentence.endswith(
        "The release has no weights: its figures are without them."
    )


def test_strata_and_clusters_that_do_not_leave_are_said(people):
    drawn = people.with_columns(home=pl.int_range(pl.len()) // 3, area=pl.col("zip").str.head(1))
    schema = ic.Schema(quasi=["age"], identifying=["home"], insensitive=["area"], unlisted="drop")
    cost = ic.Analysis("a", "age ~ 1", "means", strata="area", clusters="home")
    release = ic.anonymize(drawn, Policy(schema, ("k-anonymity:5",), analyses=(cost,)), unanswered="write")
    assert release.analyses["a"].sentence.endswith(
        "The release has no clusters: its figures are without them."
    )
    gone = Policy(schema, ("k-anonymity:5",), analyses=(replace(cost, clusters="homes"),))
    with pytest.raises(ic.SchemaError, match="there is no column 'homes'"):
        ic.anonymize(drawn, gone)


PLACES = ["polars-lazy", "folder-parquet", "duckdb", "sqlite"]


@pytest.fixture(scope="module")
def gaps(people):
    return people.head(200).with_columns(age=pl.when(pl.int_range(200) % 9 > 0).then("age"))


def same_as_in_memory(place, table, services):
    schema = ic.Schema(quasi=["age", "sex"], identifying=["zip"], unlisted="keep")
    policy = Policy(schema, ("k-anonymity:4",), analyses=(COST,))
    here = ic.anonymize(table, policy, unanswered="write").analyses
    with placed(place, table, services) as elsewhere:
        there = ic.anonymize(elsewhere.table, policy, unanswered="write").analyses
        assert there["cost"].before.records == here["cost"].before.records < 200
        assert there["cost"].after.records == here["cost"].after.records
        for name, each in here["cost"].estimates.items():
            for side in ("before", "after"):
                expected = tuple(getattr(each, side))[:4]
                assert tuple(getattr(there["cost"].estimates[name], side))[:4] == pytest.approx(expected)
        assert there.propensity.pmse == pytest.approx(here.propensity.pmse)


@pytest.mark.few(2)
@pytest.mark.parametrize("place", PLACES)
def test_rows_may_be_anywhere(place, gaps, tmp_path):
    """Analyses were refused after the whole search where rows were not in memory."""
    same_as_in_memory(place, gaps, Services(tmp_path))


def test_rows_may_be_on_spark(gaps, tmp_path, spark):
    same_as_in_memory("spark", gaps, Services(tmp_path, spark=spark))


class Stages(Silent):
    def __init__(self):
        self.names = []

    def stage(self, name):
        self.names.append(name)


@pytest.mark.parametrize(
    ("formula", "problem"),
    [
        ("costs ~ age", "there is no column 'costs'.*did you mean 'cost'"),
        ("zip ~ age", "the outcome has more than two values"),
        ("np.log(cost - cost) ~ age", "a term is infinite"),
    ],
)
def test_what_cannot_be_computed_is_refused_before_the_search(people, formula, problem):
    schema = ic.Schema(quasi=["age"], unlisted="keep")
    policy = Policy(schema, ("k-anonymity:5",), analyses=(ic.Analysis("a", formula),))
    stages = Stages()
    with pytest.raises(ic.InputError, match=problem):
        ic.anonymize(people, policy, progress=stages)
    assert stages.names == ["count"]


def test_more_rows_than_fit_are_refused_before_the_search(people, monkeypatch):
    monkeypatch.setattr("incrowd.release.analyses.cells.MOST_ROWS", len(people) - 1)
    policy = Policy(ic.Schema(quasi=["age"], unlisted="keep"), ("k-anonymity:5",), analyses=(COST,))
    stages = Stages()
    with pytest.raises(ic.TableError, match=r"rows of a table outside memory; leave .*, or give a frame"):
        ic.anonymize(people.lazy(), policy, progress=stages)
    assert stages.names == ["count"]
    assert ic.anonymize(people, policy, unanswered="write").analyses is not None


def test_blocks_refuse_analyses(policy):
    """They were left out without a word."""
    with pytest.raises(ic.ParameterError, match=r"blocks: analyses need the rows of all blocks; leave"):
        refuse_divided(policy)


def test_levels_are_explored_without_analyses(people, policy):
    lost = replace(policy, analyses=(ic.Analysis("a", "nothing ~ age"),))
    assert ic.explore(people, lost).front()
