"""`incrowd verify` with a policy that names the person column: exit status, terminal and JSON."""

from __future__ import annotations

import json

import pytest

import incrowd as ic
from incrowd_gate.points import Accepted
from people_readings import people_table


def answered(release):
    """Accept each open point of a release."""
    points = release.verdict.open
    return release.accepting([Accepted(each.name, next(iter(each.columns), None), "seen") for each in points])


WHOLE = ["--against", "raw.csv", "--row-map", "out/internal/rows.parquet"]


@pytest.mark.slow
def test_people_on_the_command_line(run, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    table = people_table(5, people=60)
    table.write_csv("raw.csv")
    schema = ic.Schema(quasi=["age", "town"], sensitive=["ill"], person="person", unlisted="drop")
    release = answered(ic.anonymize("raw.csv", schema, "k-anonymity:3", unanswered="write"))
    release.save("out")
    figures = release.privacy.people

    def verify(*more):
        result = run("verify", "out/release.csv", "--policy", "out/policy.toml", *more)
        return result.status, " ".join(result.out.split())

    status, out = verify(*WHOLE)
    assert status == 0
    assert f"{len(table)} records of {figures.people} people in {release.privacy.classes} classes" in out
    assert f"The smallest class has {figures.smallest} people, the smallest by records" in out
    assert f"k-anonymity {figures.smallest} 3 people holds" in out
    assert "HOLDS: the release satisfies its policy, and each point has an answer" in out
    assert out.endswith(" verified")
    assert "NOT verified" not in out
    document = json.loads(verify(*WHOLE, "--json")[1])
    assert document["people"] == {
        "people": figures.people,
        "unnamed": table["person"].null_count(),
        "suppressed": figures.suppressed,
        "smallest": figures.smallest,
    }
    assert (document["records"], document["smallest"]) == (len(table), release.privacy.smallest)
    assert (document["findings"][0]["unit"], document["findings"][0]["holds"]) == ("people", True)
    # Nothing is known of people: that is no verdict, and no success.
    assert verify(*WHOLE[:2])[0] == 0, "the row map in the folder is found"
    (tmp_path / "out/internal/rows.parquet").rename(tmp_path / "rows.parquet")
    for more in [], WHOLE[:2]:
        status, out = verify(*more)
        assert status == 2
        assert "records not checked" in out
        assert "the row map (--row-map)" in out
        assert "OPEN: 1 point waits for an answer (not-checked)." in out
        assert out.endswith("NOT verified")
    finding = json.loads(verify("--json")[1])["findings"][0]
    assert (finding["unit"], finding["holds"], finding["reached"]) == (
        "records",
        None,
        release.privacy.smallest,
    )
    # Too few records are too few people.
    policy = tmp_path / "out/policy.toml"
    policy.write_text(policy.read_text().replace("k = 3", "k = 300"))
    status, out = verify()
    assert status == 1
    assert out.endswith("NOT verified")


@pytest.mark.slow
def test_the_settings_of_a_model_are_shown(run, tmp_path, monkeypatch):
    """Two km-anonymities, or diversities of two kinds, would look the same by name alone."""
    monkeypatch.chdir(tmp_path)
    people_table(5, people=60).write_csv("raw.csv")
    schema = ic.Schema(
        quasi={"age": ic.Hierarchy.intervals(8, 32), "town": None}, sensitive=["ill"], person="person",
        unlisted="drop",
    )  # fmt: skip
    models = [
        "km-anonymity:k=2,power=2",
        "km-anonymity:k=2,power=0",
        "l-diversity:l=1,kind=entropy",
        "l-diversity:1",
        "t-closeness:0.9",
        "alpha-k-anonymity:alpha=0.95,k=2",
    ]
    release = ic.anonymize("raw.csv", schema, models, "optimal", max_suppression=0.5, unanswered="write")
    answered(release).save("out")
    arguments = ("verify", "out/release.csv", "--policy", "out/policy.toml", *WHOLE)
    result = run(*arguments)
    assert result.status == 0
    lines = [" ".join(line.split()) for line in result.out.splitlines()]
    for start in (
        "km-anonymity (power=2) ",
        "km-anonymity (power=0) ",
        "l-diversity (entropy) ill ",
        "l-diversity (distinct) ill ",
        "t-closeness (equal) ill ",
        "alpha-k-anonymity, alpha ill ",
        "alpha-k-anonymity, k ",
    ):
        assert sum(line.startswith(start) for line in lines) == 1, start
    findings = json.loads(run(*arguments, "--json").out)["findings"]
    assert [each["settings"] for each in findings] == [
        {"power": 2}, {"power": 0}, {"kind": "entropy"}, {"kind": "distinct"}, {"distance": "equal"}, {}, {},
    ]  # fmt: skip
