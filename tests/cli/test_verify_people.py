"""`incrowd verify` where the policy says whose row it is: exit status, terminal and JSON."""

from __future__ import annotations

import json

import incrowd as ic
from people_readings import people_table

WHOLE = ["--against", "raw.csv", "--row-map", "out/internal/rows.parquet"]


def test_people_on_the_command_line(run, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    table = people_table(5, people=60)
    table.write_csv("raw.csv")
    schema = ic.Schema(quasi=["age", "town"], sensitive=["ill"], person="person", unlisted="drop")
    release = ic.anonymize("raw.csv", schema, "k-anonymity:3")
    release.save("out")
    figures = release.privacy.people

    def verify(*more):
        found = run("verify", "out/release.csv", "--policy", "out/policy.toml", *more)
        return found.status, " ".join(found.out.split())

    status, out = verify(*WHOLE)
    assert status == 0
    assert f"{len(table)} records of {figures.people} people in {release.privacy.classes} classes" in out
    assert f"The smallest class has {figures.smallest} people, the smallest by records" in out
    assert f"k-anonymity {figures.smallest} 3 people holds" in out
    assert out.endswith("verified: the policy is satisfied")
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
    for more in [], WHOLE[:2]:
        status, out = verify(*more)
        assert status == 2
        assert "records not checked" in out
        assert "the row map (--row-map)" in out
        assert out.endswith("NOT verified: nothing is wrong so far, but people could not be counted")
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
