"""Dead ends of new users: every such call has a result, or a message with the way out."""

from __future__ import annotations

import json

import polars as pl
import pytest

import incrowd as ic
from incrowd.faces.cli.commands import ELSEWHERE, NAMES

POLICY = """
version = 1
max_suppression = 0.1
unlisted = "drop"
columns = { PERSON = { role = "person" }, age = { role = "quasi" }, sex = { role = "quasi" }, ill = { role = \
"sensitive" } }
[[models]]
model = "k-anonymity"
k = 3
"""


@pytest.fixture
def people(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    rows = range(1200)
    pl.DataFrame(
        {
            "pid": [f"p{row // 2}" for row in rows],
            "row": [f"r{row}" for row in rows],
            "age": [20 + row // 2 % 40 for row in rows],
            "sex": ["FM"[row % 2] for row in rows],
            "ill": ["abc"[row % 3] for row in rows],
        }
    ).write_csv("raw.csv")
    (tmp_path / "policy.toml").write_text(POLICY.replace("PERSON", "pid"))
    (tmp_path / "single.toml").write_text(POLICY.replace("PERSON", "row"))
    return tmp_path


@pytest.mark.slow
def test_a_release_of_people_says_beforehand_how_it_can_be_verified(run, people):
    result = run("anonymize", "raw.csv", "--policy", "policy.toml", "-o", "out.csv")
    assert result.status == 0
    assert "people are counted (pid): internal/out.csv.rows.parquet says whose row each is" in result.err
    path = people / "internal" / "out.csv.rows.parquet"
    assert [oct(each.stat().st_mode)[-3:] for each in (path.parent, path)] == ["700", "600"]
    # It is found without being named, and an earlier one is not replaced unasked.
    verify = ("verify", "out.csv", "--policy", "policy.toml", "--against", "raw.csv")
    assert run(*verify).status == 0
    assert run("anonymize", "raw.csv", "--policy", "policy.toml", "-o", "out.csv").status == 2
    assert run("anonymize", "raw.csv", "--policy", "policy.toml", "-o", "out.csv", "--force").status == 0
    assert run(*verify).status == 0
    for more in (("--row-map", "rows.parquet"), ("--keep-order",)):
        result = run("anonymize", "raw.csv", "--policy", "policy.toml", "-o", f"o{len(more)}.csv", *more)
        assert "people are counted" not in result.err
    run("anonymize", "raw.csv", "--policy", "policy.toml", "-o", "o3.csv", "--dry-run")
    assert [each.name for each in path.parent.iterdir()] == [path.name]


@pytest.mark.slow
def test_verify_names_the_call_that_counts_people(run, people):
    run("anonymize", "raw.csv", "--policy", "policy.toml", "-o", "out.csv", "--row-map", "rows.parquet")
    for arguments, name in (((), "RAW"), (("--against", "raw.csv"), "raw.csv")):
        checked = run("verify", "out.csv", "--policy", "policy.toml", *arguments)
        assert checked.status == 2
        call = f"verify out.csv --policy policy.toml --against {name} --row-map ROWS"
        assert "people not counted; to count them: " in checked.out
        assert call in checked.out
        assert "`anonymize --row-map ROWS` writes the row map" in checked.out
        assert checked.out.rstrip().endswith("NOT verified")
        assert "not-checked: " in checked.out
    named = run(*call.replace("ROWS", "rows.parquet").split())
    assert named.status == 0
    assert "holds" in named.out


def test_a_profile_is_judged_that_the_policy_does_not_name(run, people):
    run("anonymize", "raw.csv", "--policy", "single.toml", "-o", "out.csv")
    call = ("verify", "out.csv", "--policy", "single.toml", "--against", "raw.csv")
    assert run(*call).status == 0
    judged = run(*call, "--profile", "ema-0070", "--json")
    document = json.loads(judged.out)
    assert judged.status == 1
    assert [each["id"] for each in document["clauses"]] == ["largest-risk", "report", "context"]
    result = ic.verify("out.csv", "single.toml", profile="ema-0070")
    assert result.profile == "ema-0070@2026-01"
    near = run(*call, "--profile", "ema-007")
    assert near.status == 2
    assert "did you mean 'ema-0070'?" in near.err
    assert run(*call, "--profile", "ema-0070", "--emit-sql", "checks.sql").status == 2


def test_the_answers_of_the_policy_to_the_same_profile_stay(people):
    text = (people / "single.toml").read_text() + (
        '[profile]\nname = "ema-0070"\n[[profile.attested]]\nclause = "report"\nby = "A. Person"\n'
        'on = 2026-01-31\nsays = "it goes with the data"\n'
    )
    (people / "attested.toml").write_text(text)
    ic.anonymize("raw.csv", ic.Policy.read("single.toml")).write("out.csv")
    states = {
        name: [
            each.state
            for each in ic.verify("out.csv", "attested.toml", profile=name).clauses
            if each.id == "report"
        ]
        for name in ("ema-0070", "wp216")
    }
    assert states["ema-0070"] == ["attested"]
    assert states["wp216"] != ["attested"]


@pytest.mark.slow
def test_compare_has_algorithms_by_default(run, people):
    compared = run("compare", "raw.csv", "--qi", "age,sex", "-k", "3", "--json")
    assert compared.status == 0, compared.err
    names = [each["algorithm"] for each in json.loads(compared.out)["runs"]]
    assert names == ["mondrian", "optimal(budget=30s)", "datafly", "random"]


@pytest.mark.parametrize("word", [*ELSEWHERE, "report", "model", "profile"])
def test_words_that_are_no_commands_name_the_way(run, word):
    refused = run(word)
    assert refused.status == 2
    assert f"There is no command '{word}'; " in refused.err


def test_the_ways_that_are_named_exist():
    words = {part.split("`")[0].split()[0] for way in ELSEWHERE.values() for part in way.split("`")[1::2]}
    assert words <= {*NAMES, "incrowd"}


CALLS = {
    "k": (lambda table: ic.anonymize(table, None, k=5), "write models=[ic.KAnonymity(5)]"),
    "l": (lambda table: ic.anonymize(table, None, l=2), "write models=[ic.LDiversity(2)]"),
    "t": (lambda table: ic.assess(table, None, t=0.2), "write models=[ic.TCloseness(0.2)]"),
    "qi": (
        lambda table: ic.anonymize(table, qi=["a"]),
        "write schema=ic.Schema(quasi=[...], sensitive=[...])",
    ),
    "quasi_identifiers": (lambda table: ic.Schema(quasi_identifiers=["a"]), "write quasi=[...]"),
    "a slip": (lambda table: ic.anonymize(table, None, modles=[]), "did you mean 'models'?"),
    "anything else": (lambda table: ic.anatomize(table, None, zebra=1), "anatomize() has no keyword 'zebra'"),
    "a value": (lambda table: ic.anonymize(table, None, k="Quetzal"), "write models=[ic.KAnonymity(...)]"),
}


@pytest.mark.parametrize("what", CALLS)
def test_a_keyword_that_is_none_names_the_right_one(what):
    call, words = CALLS[what]
    with pytest.raises(TypeError) as caught:
        call(pl.DataFrame({"a": [1]}))
    assert words in str(caught.value)
    assert "Quetzal" not in str(caught.value)
