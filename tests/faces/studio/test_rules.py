"""A rule profile on the page: inputs and questions, and the clauses of the release."""

from __future__ import annotations

import tomllib

from incrowd.samples import hospital


def test_a_profile_is_chosen_answered_and_judged(visit, tmp_path, studio):
    hospital(400).select("age", "sex", "diagnosis").write_csv(tmp_path / "people.csv")
    visit.fill("[data-field=path]", str(tmp_path / "people.csv"))
    visit.mark("open")
    visit.reads("400 rows, 3 columns")
    visit.go("Limits")
    visit.click("[data-mark=rules] .q-item")
    visit.choose("[data-field=profile]", "HIPAA expert determination")
    visit.fill("[data-field=input-risk]", "0.2")
    visit.fill("[data-field=by-expert]", "A. Expert")
    visit.fill("[data-field=says-expert]", "It is very small.")
    visit.judged()
    visit.go("Verdict")
    result = visit.until(lambda: visit.wait("[data-mark=clauses]").text, "the clauses")
    assert "threshold" in result
    assert "A. Expert, 20" in result
    assert "nobody attests it: Where do the methods" in result
    assert visit.wait("[data-mark=verdict].warn").text.startswith("OPEN: ")
    assert not visit.all(".good")
    visit.go("Limits")
    assert visit.wait("[data-field=by-expert]").get_attribute("value") == "A. Expert"
    visit.go("Verdict")
    visit.wait("[data-mark=accept]")
    visit.mark("accept")
    visit.reads("Nothing can be taken yet: 1 point without an answer.")
    assert not visit.all("[data-mark=get-report]")
    visit.fill("[data-field=by-methods]", "B. Expert")
    visit.fill("[data-field=on-methods]", "2026-01-31")
    visit.fill("[data-field=says-methods]", "In the annex.")
    visit.mark("accept")
    visit.wait("[data-mark=verdict].good")
    visit.mark("to-hand-over")
    with visit.take("get-policy", "policy.toml").open("rb") as file:
        profile = tomllib.load(file)["profile"]
    assert (profile["name"], profile["inputs"]) == ("hipaa-expert@2026-01", {"risk": 0.2})
    assert [each["clause"] for each in profile["attested"]] == ["expert", "methods"]
    assert str(profile["attested"][1]["on"]) == "2026-01-31"
    assert studio.errors.read_text() == ""
