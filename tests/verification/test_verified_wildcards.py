"""Matches of `*` and missing cells: verify measures with separate code."""

from __future__ import annotations

import json
from itertools import combinations

import polars as pl
import pytest
from typer.testing import CliRunner

import incrowd as ic
from incrowd.core.errors import PolicyError
from incrowd.faces.cli import app
from incrowd.measures.privacy import MODELS
from incrowd.release.verification import verify
from policy_texts import K2, SIMPLE, policy_text
from wildcard_readings import made_up

QUASI = ["a", "b", "c"]


def models(wildcards: str, *, people: bool) -> list[ic.PrivacyModel]:
    """Return every model that knows the meaning, with limits that nearly every table meets."""
    result = [variant for entry in MODELS for variant in entry.variants()]
    result += [
        type(model).from_settings(model.settings() | {"joint": True})
        for model in result
        if "joint" in model.settings()
    ]
    result.append(ic.LKCPrivacy(2, 1, 1.0, value="flu", attribute="ill"))
    return [
        model
        for model in result
        if wildcards in model.wildcards
        and model.settings().get("absent") != "infinite"
        and model.settings().get("kind") not in ("enhanced", "grassberger", "grassberger-arx")
        and model.name not in ("profitability", "delta-presence")
        and (model.name != "km-anonymity" or (people and model.settings()["power"] == 1))
    ]


def saved(folder, table, asked, wildcards, *, people):
    """Release a table unchanged, save the release, and return the release with the arguments of verify."""
    raw = folder / "raw.csv"
    table.write_csv(raw)
    once = table.filter(pl.col("person").is_not_null()).unique("person") if people else table
    once.write_csv(folder / "population.csv")
    schema = ic.Schema(
        quasi=QUASI, sensitive={"ill": "category", "cost": "number"}, person="person" if people else ()
    )
    policy = ic.Policy(schema, asked, max_suppression=1.0, wildcards=wildcards)
    release = ic.anonymize(
        raw, policy, levels=dict.fromkeys(QUASI, 0), population=folder / "population.csv", unanswered="write"
    )
    release.save(folder / "out")
    return release, {
        "path": folder / "out/release.csv",
        "policy_path": folder / "out/internal/policy.toml",
        "population": folder / "population.csv",
        "against": raw,
        "row_map": folder / "out/internal/rows.parquet",
    }


@pytest.mark.slow
@pytest.mark.parametrize("people", [False, True], ids=["rows", "people"])
@pytest.mark.parametrize("wildcards", ["value", "matches-any", "conservative"])
@pytest.mark.parametrize("seed", range(4))
def test_figures_are_those_of_the_release(tmp_path, seed, wildcards, people):
    table = made_up(seed, people=people)
    attackers = [
        ic.Attacker(f"{one} and {two}", [one, two], [ic.KAnonymity(1), ic.LDiversity(1, attribute="ill")])
        for one, two in combinations(QUASI, 2)
    ]
    asked = [*models(wildcards, people=people), *attackers]
    release, settings = saved(tmp_path, table, asked, wildcards, people=people)
    verification = verify(**settings)
    measures = [measured for measured in release.privacy.privacy if measured.limit is not None]
    assert len(verification.findings) == len(measures) > 25
    for finding, measured in zip(verification.findings, measures, strict=True):
        assert (finding.model, finding.quantity) == (measured.model, measured.quantity)
        assert (finding.attribute, finding.attacker) == (measured.attribute, measured.attacker)
        assert finding.reached == pytest.approx(measured.value, rel=1e-12, abs=1e-12), finding
        assert finding.holds is measured.holds
    assert verification.wildcards == release.privacy.wildcards == wildcards


@pytest.mark.few(1)
@pytest.mark.parametrize("people", [False, True], ids=["rows", "people"])
def test_a_population_is_compared_with_whoever_counts_alone(tmp_path, people):
    table = made_up(1, people=people)
    models = [ic.KMap(1)] if people else [ic.KMap(1), ic.DeltaPresence(1.0, 0.0)]
    release, settings = saved(tmp_path, table, models, "conservative", people=people)
    findings = verify(**settings).findings
    assert [each.reached for each in findings] == [
        each.value for each in release.privacy.privacy if each.limit is not None
    ]
    assert findings[0].reached == 1


@pytest.mark.slow
def test_the_policy_says_it_and_the_outcome_depends_on_it(tmp_path):
    (tmp_path / "release.csv").write_text("zip,x\n1,a\n1,b\n*,c\n,d\n")
    verdicts = {}
    for wildcards in ("value", "matches-any", "conservative"):
        policy = tmp_path / "policy.toml"
        policy.write_text(policy_text(SIMPLE, [K2], f'wildcards = "{wildcards}"\nmax_suppression = 0.5'))
        result = CliRunner().invoke(
            app, ["verify", str(tmp_path / "release.csv"), "--policy", str(policy), "--json"]
        )
        said = json.loads(result.stdout)
        assert said["wildcards"] == wildcards
        verdicts[wildcards] = said["findings"][0]["reached"]
    # The suppressed row matches nobody; the missing zip matches both others.
    assert verdicts == {"value": 1, "matches-any": 3, "conservative": 1}


@pytest.mark.parametrize(
    ("wildcards", "model", "told"),
    [("any", K2, "wildcards"), ("conservative", 'model = "p29"\nscore = 0.1', "p29 is not defined"),
     ("matches-any", 'model = "profitability"\ndefinition = "table"', "profitability is not defined")],
)  # fmt: skip
def test_what_has_no_meaning_is_refused(tmp_path, wildcards, model, told):
    (tmp_path / "release.csv").write_text("zip,x\n1,a\n1,b\n")
    (tmp_path / "policy.toml").write_text(policy_text(SIMPLE, [model], f'wildcards = "{wildcards}"'))
    with pytest.raises(PolicyError, match=told):
        verify(tmp_path / "release.csv", tmp_path / "policy.toml")


@pytest.mark.slow
def test_a_column_of_stars_alone_is_passed_over(tmp_path):
    (tmp_path / "policy.toml").write_text(
        policy_text([*SIMPLE, '[columns.age]\nrole = "quasi"\n'], [K2], 'wildcards = "conservative"')
    )
    for second, reached in (("*", 2), ("30", 1)):
        table = pl.DataFrame({"zip": ["1", "1", "2", "2"], "x": list("abcd"), "age": ["*", "*", "*", second]})
        table = table if second == "*" else table.with_columns(age=pl.Series(["*", "*", "*", "30"]))
        table.write_csv(tmp_path / "release.csv")
        assert verify(tmp_path / "release.csv", tmp_path / "policy.toml").findings[0].reached == reached
