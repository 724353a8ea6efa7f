"""Files of FHIR become flat tables, and are released as such."""

from __future__ import annotations

import json

import polars as pl
import pytest

import incrowd as ic
from fhir_texts import bundle, ndjson, resources
from incrowd.core.errors import TableError
from incrowd.faces.cli import main
from incrowd.release.health import standard_of
from incrowd.release.health.fhir import draft_fhir, read_fhir
from incrowd_verify.linked import verify_linked


def call(monkeypatch, *words):
    monkeypatch.setattr("sys.argv", ["incrowd", *map(str, words)])
    with pytest.raises(SystemExit) as ended:
        main()
    return ended.value.code or 0


@pytest.mark.parametrize("write", [ndjson, lambda folder, each: ndjson(folder, each, packed=True), bundle])
def test_lines_packed_lines_and_bundles_are_the_same_tables(tmp_path, write):
    made = resources(10)
    where = write(tmp_path / "in", made)
    assert standard_of(where) == "fhir"
    tables = read_fhir(where).tables
    assert [*tables] == ["Patient", "Encounter", "Condition", "MedicationRequest"]
    first = next(one for one in made if one["resourceType"] == "Patient")
    assert tables["Patient"].rows(named=True)[0] == {
        "id": "pat-0",
        "gender": first["gender"],
        "birth_year": first["birthDate"][:4],
        "postal_code": "10115",
    }
    visits = {one["id"]: one for one in made if one["resourceType"] == "Encounter"}
    for row in tables["Encounter"].iter_rows(named=True):
        one = visits[row["id"]]
        assert row["patient"] == one["subject"]["reference"].partition("/")[2]
        assert (row["class"], row["start"]) == (one["class"]["code"], one["period"]["start"][:10])
    assert {*tables["Condition"]["encounter"]} == {*visits}
    # "2023" is no day, and a request has no encounter.
    assert tables["MedicationRequest"].to_dicts()[0] == {"patient": "pat-0", "medication": "314076"}


def test_what_r5_calls_otherwise_is_read(tmp_path):
    made = [
        {"resourceType": "Patient", "id": "a", "gender": "male"},
        {
            "resourceType": "Encounter",
            "id": "e",
            "subject": {"reference": "Patient/a"},
            "class": [{"coding": [{"code": "AMB"}]}],
            "actualPeriod": {"start": "2024-02-03"},
        },
        {
            "resourceType": "MedicationRequest",
            "id": "m",
            "subject": {"reference": "Patient/a"},
            "medication": {"concept": {"coding": [{"code": "1"}]}},
        },
        # A reference to a group is none to the patient of that id.
        {
            "resourceType": "Encounter",
            "id": "f",
            "subject": {"reference": "Group/a"},
            "class": {"code": "IMP"},
        },
    ]
    tables = read_fhir(ndjson(tmp_path / "in", made)).tables
    assert tables["Encounter"].rows() == [("e", "a", "AMB", "2024-02-03"), ("f", None, "IMP", None)]
    assert tables["MedicationRequest"].rows() == [("a", "1")]


@pytest.mark.slow
@pytest.mark.gated
def test_the_commands_draft_release_and_verify_a_folder(tmp_path, monkeypatch, capsys):
    where = ndjson(tmp_path / "in", resources())
    policy = tmp_path / "policy.toml"
    assert call(monkeypatch, "init", where, "-o", policy) == 0
    said = capsys.readouterr().out
    for line in (
        "FHIR: Patient, Encounter, Condition, MedicationRequest; the release has a CSV file of each",
        "   Encounter (its patient is Patient.id)",
        "      Condition (its encounter is Encounter.id)",
        "   MedicationRequest (its patient is Patient.id)",
        "left out, as it is not mapped: Practitioner",
        "left out of Patient, as they are not mapped: name, telecom",
        "left out of MedicationRequest.authored, as they are no whole dates: 20",
    ):
        assert line in said
    monkeypatch.setenv("INCROWD_KEY", "0f1e2d3c4b5a69788796a5b4c3d2e1f0aabbccdd")
    policy.write_text(policy.read_text().replace("known = 2", "known = 1").replace("0.05", "0.5"))
    out = tmp_path / "out"
    assert call(monkeypatch, "anonymize", where, "--policy", policy, "-o", out, "--unanswered", "write") == 0
    released = "".join(path.read_text() for path in out.glob("*.csv"))
    assert not any(word in released for word in ("Secret", "pat-", "enc-", "5557788"))
    assert {*pl.read_csv(out / "Condition.csv").columns} == {"encounter", "code", "onset"}
    result = verify_linked(out, against=where)
    assert not result.verdict.broken
    # The people who left are counted in the files of FHIR, so fewer may leave.
    text = (out / "policy.toml").read_text().replace("max_suppression = 0.5", "max_suppression = 0.0")
    (out / "policy.toml").write_text(text)
    assert result.people < 40
    [point] = verify_linked(out, against=where).verdict.broken
    assert point.name == "limit"
    assert f"{1 - result.people / 40:.4g}" in point.text


def test_a_table_that_the_folder_lacks_is_named(tmp_path):
    where = ndjson(tmp_path / "in", resources(10))
    linked = [ic.LinkedTable("Patient"), ic.LinkedTable("Procedure", join={"patient": "Patient.id"})]
    schema = ic.Schema(["Patient.gender", "Procedure.code"], insensitive=["Patient.id"])
    with pytest.raises(TableError, match="there is no file 'Procedure'"):
        ic.assess_linked(where, ic.LinkedPolicy(linked, ic.Policy(schema, "k-anonymity:2")))


@pytest.mark.parametrize(
    ("line", "problem"),
    [
        ('{"resourceType": "Patient", "id": "Secretname"', "this is no JSON that can be read"),
        ('["Secretname"]', "resourceType is missing"),
        ('{"resourceType": "Patient", "gender": "Secretname"}', "this Patient has no id"),
        ('{"resourceType": "Patient", "id": "x", "gender": ["Secretname"]}', None),
        (
            '{"resourceType": "Patient", "id": "x", "gender": {"a": "Secretname"}}',
            "gender of this Patient is no text",
        ),
        ('{"resourceType": "Patient", "id": "pat-0", "gender": "Secretname"}', "an id that stands before"),
        ('{"resourceType": "Bundle", "entry": [{"request": "Secretname"}]}', "an entry without a resource"),
    ],
)
def test_an_error_names_file_and_line_and_no_value(tmp_path, line, problem):
    where = ndjson(tmp_path / "in", resources(3))
    path = where / "Patient.ndjson"
    path.write_text(path.read_text() + line + "\n")
    if problem is None:
        problem = "gender of this Patient is no text"
    with pytest.raises(TableError, match=problem) as error:
        read_fhir(where)
    assert "Patient.ndjson, line 4" in str(error.value)
    assert "Secretname" not in str(error.value)


def test_a_resource_that_stands_twice_counts_once(tmp_path):
    made = resources(3)
    where = ndjson(tmp_path / "in", made)
    one = read_fhir(where).tables
    (where / "again.ndjson").write_bytes((where / "Patient.ndjson").read_bytes())
    assert read_fhir(where).tables["Patient"].equals(one["Patient"])


def test_a_table_that_tells_nothing_is_left_out_and_said(tmp_path):
    made = resources(3) + [
        {"resourceType": "Condition", "id": f"bare-{n}", "subject": {"reference": "Patient/pat-0"}}
        for n in range(2)
    ]
    bare = [
        one for one in made if one["resourceType"] in ("Patient", "Encounter") or one["id"].startswith("bare")
    ]
    draft = draft_fhir(ndjson(tmp_path / "in", bare))
    assert "left out, as it names no patient or nothing more: Condition" in draft.notes
    assert [join.table for join in draft.joins] == ["Encounter"]


def test_a_folder_without_patients_is_refused(tmp_path, monkeypatch, capsys):
    where = ndjson(tmp_path / "in", [{"resourceType": "Practitioner", "id": "doc"}])
    with pytest.raises(TableError, match="no file has a Patient"):
        draft_fhir(where)
    assert call(monkeypatch, "init", where, "--fhir", "--omop") == 2
    assert "say one of them" in capsys.readouterr().err
    (tmp_path / "other").mkdir()
    (tmp_path / "other" / "a.json").write_text(json.dumps({"a": 1}))
    assert standard_of(tmp_path / "other") is None
