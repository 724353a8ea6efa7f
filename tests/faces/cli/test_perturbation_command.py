"""`incrowd perturbation`: figures of two files, and refusals."""

from __future__ import annotations

import json

import polars as pl
import pytest

import incrowd as ic

RAW = pl.DataFrame(
    {"age": [1] * 60, "pay": [float(n * n % 97) for n in range(60)], "bonus": [float(n) for n in range(60)]}
)


@pytest.fixture
def saved(tmp_path):
    """A raw file, and a release of the file with rows in another order."""
    RAW.write_csv(tmp_path / "raw.csv")
    schema = ic.Schema(
        ["age"], insensitive=["pay", "bonus"], treatments={"pay": "noise:0.2", "bonus": "rank-swap:0.1"}
    )
    release = ic.anonymize(pl.read_csv(tmp_path / "raw.csv"), schema, "k-anonymity:2")
    release.save(tmp_path / "out")
    return tmp_path, release


@pytest.mark.random_order
def test_a_release_is_compared_by_its_row_map_and_policy(run, saved):
    folder, release = saved
    expected = ic.perturbation(RAW, release, ["pay", "bonus"]).to_dict()
    files = [str(folder / "raw.csv"), str(folder / "out" / "release.csv")]
    policy = ["--policy", str(folder / "out" / "internal" / "policy.toml")]
    mapped = ["--row-map", str(folder / "out" / "internal" / "rows.parquet")]
    result = run("perturbation", *files, *policy, *mapped, "--json")
    assert result.status == 0, result.err
    assert json.loads(result.out) == json.loads(json.dumps(expected))
    assert json.loads(result.out)["columns"] == ["pay", "bonus"]
    # Without the map, rows are compared that have nothing to do with each other.
    result = run("perturbation", *files, "--columns", "pay", "--json")
    assert json.loads(result.out)["il1s"]["pay"] > 2 * expected["il1s"]["pay"]
    outcome = run("perturbation", *files, *mapped, "--columns", "pay,bonus", "--one-to-one")
    assert outcome.status == 0, outcome.err
    for words in ("60 records", "IL1s", "interval disclosure", "record linkage", "one to one"):
        assert words in outcome.out


def test_the_analyses_of_the_policy_are_compared(run, tmp_path):
    RAW.write_csv(tmp_path / "raw.csv")
    RAW.with_columns(pl.col("pay") + 20).write_csv(tmp_path / "release.csv")
    schema = ic.Schema(["age"], insensitive=["pay", "bonus"], treatments={"pay": "noise:0.2"})
    pay = ic.Analysis("pay", "pay ~ bonus")
    ic.Policy(schema, ("k-anonymity:2",), analyses=(pay,)).write(tmp_path / "policy.toml")
    call = ("perturbation", str(tmp_path / "raw.csv"), str(tmp_path / "release.csv"))
    result = run(*call, "--policy", str(tmp_path / "policy.toml"))
    assert result.status == 0, result.err
    words = " ".join(result.out.split())
    # The intercept moves, and the slope does not.
    assert "The analysis 'pay' keeps 100% of its intervals: bonus keeps its sign, 100%" in words
    document = json.loads(run(*call, "--policy", str(tmp_path / "policy.toml"), "--json").out)
    assert document["analyses"][0]["kept"] == pytest.approx(1)
    assert "estimates" not in document["analyses"][0]


def test_a_key_takes_the_place_of_the_row_map(run, tmp_path):
    RAW.write_csv(tmp_path / "raw.csv")
    RAW.reverse().with_columns(pay=pl.col("pay") + 1).write_csv(tmp_path / "out.csv")
    files = [str(tmp_path / "raw.csv"), str(tmp_path / "out.csv")]
    result = run("perturbation", *files, "--columns", "pay", "--by", "bonus", "--json")
    spread = RAW["pay"].std() * 2**0.5
    assert json.loads(result.out)["il1s"]["pay"] == pytest.approx(1 / spread)


def test_missing_texts_and_spellings_are_those_that_are_told(run, tmp_path):
    rows = pl.DataFrame({"pay": ["1.000,5", "2.000,5", "?", "4.000,5"]})
    rows.write_csv(tmp_path / "raw.csv")
    rows.write_csv(tmp_path / "out.csv")
    files = [str(tmp_path / "raw.csv"), str(tmp_path / "out.csv")]
    (tmp_path / "policy.toml").write_text(
        'version = 1\n[columns.pay]\nrole = "insensitive"\ndecimal = ","\nthousands = "."\n'
        'treat = { noise = 0.1 }\n[[models]]\nmodel = "k-anonymity"\nk = 2\n'
    )
    arguments = ["--policy", str(tmp_path / "policy.toml"), "--null-value", "?"]
    result = run("perturbation", *files, *arguments, "--json")
    assert result.status == 0, result.err
    assert json.loads(result.out)["records"] == 3
    assert "1.000,5" not in result.out


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ((), "give --columns, or a policy that treats numbers"),
        (("--columns", "wage"), "has no column 'wage'"),
        (("--columns", "name"), "name the texts that mean missing with --null-value"),
        (("--columns", "pay", "--row-map", "raw.csv"), "row map"),
    ],
)
def test_what_cannot_be_measured_exits_2(run, tmp_path, monkeypatch, options, said):
    monkeypatch.chdir(tmp_path)
    RAW.with_columns(name=pl.lit("Ada")).write_csv(tmp_path / "raw.csv")
    result = run("perturbation", "raw.csv", "raw.csv", *options)
    assert result.status == 2
    assert said in " ".join(result.err.split())
    assert "Ada" not in result.err


def test_other_rows_are_refused(run, tmp_path):
    RAW.write_csv(tmp_path / "raw.csv")
    RAW.head(5).write_csv(tmp_path / "out.csv")
    result = run("perturbation", str(tmp_path / "raw.csv"), str(tmp_path / "out.csv"), "--columns", "pay")
    assert result.status == 2
    assert "--row-map or --by says which is which" in " ".join(result.err.split())


@pytest.mark.random_order
def test_columns_with_pram_are_told_beside_the_numbers(run, tmp_path):
    raw = RAW.with_columns(job=pl.Series(["a", "b", "c"] * 20), site=pl.Series(["n", "s"] * 30))
    schema = ic.Schema(
        ["age"], insensitive=["pay", "bonus", "job", "site"],
        treatments={"pay": "noise:0.2", "job": "pram:0.6,within=site"},
    )  # fmt: skip
    raw.write_csv(tmp_path / "raw.csv")
    release = ic.anonymize(pl.read_csv(tmp_path / "raw.csv"), schema, "k-anonymity:2")
    release.save(tmp_path / "out")
    files = [str(tmp_path / "raw.csv"), str(tmp_path / "out" / "release.csv")]
    arguments = [
        "--policy", str(tmp_path / "out" / "internal" / "policy.toml"),
        "--row-map", str(tmp_path / "out" / "internal" / "rows.parquet"),
    ]  # fmt: skip
    result = run("perturbation", *files, *arguments, "--json")
    assert result.status == 0, result.err
    document = json.loads(result.out)
    assert document["columns"] == ["pay"]
    expected = [each.to_dict() for each in ic.transitions(raw, release)]
    assert document["categories"] == json.loads(json.dumps(expected))
    assert [each["group"] for each in document["categories"]] == ["n", "s"]
    alone = run("perturbation", *files, *arguments, "--columns", "job", "--json")
    assert json.loads(alone.out) == {
        "format": "incrowd perturbation", "version": 1, "columns": [], "categories": document["categories"],
    }  # fmt: skip
    outcome = run("perturbation", *files, *arguments)
    for words in ("IL1s", "PRAM: job, where site is n", "standard error", "stays by matrix"):
        assert words in " ".join(outcome.out.split())
    raw.with_columns(job=pl.lit("planted")).write_csv(tmp_path / "other.csv")
    wrong = run("perturbation", str(tmp_path / "raw.csv"), str(tmp_path / "other.csv"), *arguments)
    assert wrong.status == 2
    assert "30 records changed as its matrix excludes" in " ".join(wrong.err.split())
    assert "--policy, --row-map" in " ".join(wrong.err.split())
    assert "planted" not in wrong.err
