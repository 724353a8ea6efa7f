"""The second reading of linked tables joins the released files itself."""

from __future__ import annotations

import json

import polars as pl
import pytest

import incrowd as ic
from crossed import quick
from incrowd.core.errors import InfeasibleError, PolicyError, SchemaError
from incrowd.faces.cli import main
from incrowd_verify.linked import is_linked, verify_linked
from linked_readings import SHAPES, draw, fewest, saved

pytestmark = pytest.mark.gated


@pytest.mark.parametrize("seed", quick(range(2 * len(SHAPES)), *range(len(SHAPES))))
def test_views_are_those_of_the_definition(tmp_path, seed):
    tables, terms = draw(seed)
    result = verify_linked(saved(tmp_path / "out", tables, terms))
    assert result.smallest == fewest(tables, terms) == ic.assess_linked(tables, terms).smallest
    assert ("limit" in {point.name for point in result.verdict.points}) == (result.smallest < 2)


@pytest.mark.parametrize("seed", quick(range(3), 0))
def test_a_release_passes_and_a_changed_one_fails(tmp_path, seed):
    tables, terms = draw(seed, k=3, people=60, max_suppression=0.9)
    release = ic.anonymize_linked(tables, terms, unanswered="write")
    out = tmp_path / "out"
    release.save(out)
    for name, frame in tables.items():
        frame.write_csv(tmp_path / f"{name}.csv")
    result = verify_linked(out, against=tmp_path)
    assert (result.people, result.smallest) == (release.view.people, release.view.smallest)
    assert not result.verdict.broken
    people = pl.read_csv(out / "person.csv")
    # Somebody is suppressed in one table and stays in another.
    people[1:].write_csv(out / "person.csv")
    kinds = {point.name for point in verify_linked(out).verdict.broken}
    assert "conformity" in kinds or people["id"][0] not in {*pl.read_csv(out / "visit.csv")["of"]}
    lone = people.with_columns(
        sex=pl.when(pl.int_range(pl.len()) == 0).then(pl.lit("x")).otherwise(pl.col("sex"))
    )
    lone.write_csv(out / "person.csv")
    assert "limit" in {point.name for point in verify_linked(out).verdict.broken}


def test_diversity_is_read_a_second_time(tmp_path):
    people = pl.DataFrame({"id": list("abcd"), "sex": ["f"] * 4})
    visits = pl.DataFrame({"of": list("abcd"), "ward": ["A"] * 4, "code": list("uuvv")})
    for known in ("all", 1):
        linked = [ic.LinkedTable("person"), ic.LinkedTable("visit", join={"of": "person.id"}, known=known)]
        schema = ic.Schema(["person.sex", "visit.ward"], ["visit.code"], insensitive=["person.id"])
        for least, broken in ((2, False), (3, True)):
            models = [ic.KAnonymity(4), ic.LDiversity(least)]
            terms = ic.LinkedPolicy(linked, ic.Policy(schema, models))
            if broken:
                continue
            out = saved(tmp_path / f"{known}{least}", {"person": people, "visit": visits}, terms)
            assert not verify_linked(out).verdict.broken
            text = (out / "policy.toml").read_text().replace("l = 2", "l = 3")
            (out / "policy.toml").write_text(text)
            assert [point.columns for point in verify_linked(out).verdict.broken] == [("visit.code",)]


def test_what_cannot_be_read_is_refused(tmp_path):
    tables, terms = draw(0)
    out = saved(tmp_path / "out", tables, terms)
    assert is_linked(out)
    assert not is_linked(tmp_path)
    whole = (out / "policy.toml").read_text()
    (out / "policy.toml").write_text(
        whole.replace('visit.kind"]\nrole = "quasi"', 'visit.kind"]\nrole = "insensitive"')
    )
    texts = [point.text for point in verify_linked(out).verdict.broken]
    assert "The policy of table visit alone has other quasi columns." in texts
    (out / "policy.toml").write_text(whole)
    (out / "policies" / "visit" / "policy.toml").unlink()
    assert "not-checked" in {point.name for point in verify_linked(out).verdict.open}
    text = (out / "policy.toml").read_text()
    (out / "policy.toml").write_text(text.replace('name = "drug"', 'name = "drug"\nother = 1'))
    with pytest.raises(PolicyError, match="names tables by"):
        verify_linked(out)
    (out / "policy.toml").write_text(text.replace("visit.id", "nothing.id"))
    with pytest.raises(PolicyError, match="no tree"):
        verify_linked(out)
    (out / "policy.toml").write_text(text)
    tables["visit"].drop("of").write_csv(out / "visit.csv")
    with pytest.raises(SchemaError, match="no column 'of'"):
        verify_linked(out)


def test_the_commands_release_and_verify_a_folder(tmp_path, monkeypatch, capsys):
    tables, terms = draw(8, k=2, people=30, max_suppression=0.9)
    raw = tmp_path / "raw"
    raw.mkdir()
    for name, frame in tables.items():
        frame.write_csv(raw / f"{name}.csv")
    terms.write(tmp_path / "policy.toml")

    def call(*words):
        monkeypatch.setattr("sys.argv", ["incrowd", *map(str, words)])
        with pytest.raises(SystemExit) as ended:
            main()
        return ended.value.code or 0, capsys.readouterr()

    policy = ("--policy", tmp_path / "policy.toml")
    code, said = call("assess", raw, *policy)
    assert (code, "whoever joins the tables" in said.out) == (1, True)
    code, said = call("anonymize", raw, *policy, "-o", tmp_path / "out", "--unanswered", "write", "--json")
    assert code == 0, said.err
    assert json.loads(said.out)["smallest"] >= 2
    code, said = call("verify", tmp_path / "out", "--against", raw)
    assert "share a view" in said.out
    assert "BROKEN" not in said.out
    code, said = call("anonymize", raw, *policy, "-o", tmp_path / "new", "-k", "3")
    assert (code, "write it into the policy" in said.err) == (2, True)
    code, said = call("suggest", raw / "person.csv", *policy)
    assert (code, "about linked tables" in said.err) == (2, True)
    with pytest.raises(InfeasibleError):
        ic.anonymize_linked(*draw(0, k=7))
