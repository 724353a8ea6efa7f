"""Profiles on the command line: the list, the draft, the summary of a release and the verification."""

from __future__ import annotations

import json

import pytest

from incrowd.samples import hospital
from incrowd_gate.profiles import PROFILES, read_profile


@pytest.fixture
def incrowd(run):
    def said(*words: object) -> tuple[int, str]:
        result = run(*map(str, words))
        return result.status, result.out + result.err

    return said


def test_the_profiles_are_listed_with_their_clauses(incrowd):
    _, listed = incrowd("list", "profiles", "--json")
    assert [each["name"] for each in json.loads(listed)] == [
        read_profile(name).full_name for name in PROFILES
    ]
    _, text = incrowd("list", "profiles")
    assert "clauses: largest-risk, report, context" in text


def test_a_draft_names_the_profile_and_a_release_is_verified_by_it(incrowd, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    hospital(300).select("age", "sex", "diagnosis").write_csv("people.csv")
    status, _ = incrowd(
        "init", "people.csv", "--profile", "hipaa-expert", "--no-questions", "-o", "policy.toml"
    )
    text = (tmp_path / "policy.toml").read_text()
    assert (status, '[profile]\nname = "hipaa-expert@2026-01"' in text) == (0, True)
    assert '# clause = "expert"' in text
    release = ("anonymize", "people.csv", "--policy", "policy.toml", "-o", "safe.csv")
    assert incrowd(*release)[0] == 1
    status, said = incrowd(*release, "--unanswered", "write")
    assert status == 0
    assert "hipaa-expert@2026-01: 3 clauses, 3 not met ('threshold', 'methods', 'expert')." in " ".join(
        said.split()
    )
    status, said = incrowd("verify", "safe.csv", "--policy", "policy.toml")
    assert status == 1
    assert "clauses: 0 checked, 0 attested, 3 not met. This is no legal opinion." in said
    (tmp_path / "policy.toml").write_text(
        text.replace("# [profile.inputs]\n", "[profile.inputs]\nrisk = 0.2\n")
        .replace("# [[profile", "[[profile").replace("# clause", "clause")
        .replace('# by = ""', 'by = "A. Expert"').replace("# on", "on").replace('# says = ""', 'says = "It is."')
    )  # fmt: skip
    status, said = incrowd("verify", "safe.csv", "--policy", "policy.toml")
    assert (status, "clauses: 1 checked, 2 attested, 0 not met." in said) == (0, True)


def test_a_profile_that_is_not_there_is_named_before_the_table_is_read(incrowd, tmp_path):
    (tmp_path / "people.csv").write_text("age\n1\n")
    status, said = incrowd("init", tmp_path / "people.csv", "--profile", "hipaa")
    assert (status, "there is no 'hipaa'" in said) == (2, True)


SQL = (
    "1) AS z); COPY (SELECT content FROM read_text('/etc/hostname')) TO 'STOLEN.csv'; SELECT count(*) FROM ("
)
WRONG = [
    f"risk = {value}"
    for value in ('"5 %"', "nan", "inf", "[0.05]", '"1/0"', "0", "1.5", "true", "{ a = 1 }", "2026-01-31")
]


@pytest.mark.few(19)
@pytest.mark.parametrize("said", [*WRONG, "rsik = 0.05"])
@pytest.mark.parametrize("command", ["anonymize", "verify"])
def test_a_wrong_input_is_refused_before_anything_is_made(command, said, incrowd, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    hospital(40).select("age", "sex").write_csv("people.csv")
    (tmp_path / "policy.toml").write_text(
        "version = 1\n[columns.age]\nrole = 'quasi'\n[columns.sex]\nrole = 'quasi'\n[[models]]\nmodel = 'k-anonymity'\nk = 2\n"
        f"[profile]\nname = 'hipaa-expert'\n[profile.inputs]\n{said}\n"
    )
    words = ("-o", "safe.csv", "--unanswered", "write") if command == "anonymize" else ()
    status, told = incrowd(command, "people.csv", "--policy", "policy.toml", *words)
    assert (status, "profile.inputs: " in told) == (2, True), told
    assert sorted(path.name for path in tmp_path.iterdir()) == ["people.csv", "policy.toml"]


@pytest.mark.few(6)
@pytest.mark.parametrize(("check", "setting"), [("counts", "least"), ("ends", "least"), ("oldest", "oldest"), ("risk", "risk"),
                                                ("shares", "share"), ("fraction", "largest"), ("absent", "share"), ("zip3", "least")])  # fmt: skip
@pytest.mark.parametrize("command", ["anonymize", "verify", "verify-profile", "emit"])
def test_a_profile_of_somebody_else_runs_nothing(command, check, setting, incrowd, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    hospital(40).select("age", "sex").write_csv("people.csv")
    (tmp_path / "own.toml").write_text(
        "name = 'own'\nversion = '1'\ntitle = 'Own'\nsource = 'Own'\n[[clauses]]\nid = 'a'\ntext = 'A.'\nsource = 'S'\n"
        f"check = '{check}'\n{setting} = {json.dumps(SQL)}\n"
    )
    policy = "version = 1\n[columns.age]\nrole = 'quasi'\n[columns.sex]\nrole = 'quasi'\n[[models]]\nmodel = 'k-anonymity'\nk = 2\n"
    (tmp_path / "policy.toml").write_text(
        policy + ("" if command == "verify-profile" else "[profile]\nname = 'own.toml'\n")
    )
    words = {"anonymize": ("-o", "safe.csv", "--unanswered", "write"), "verify-profile": ("--profile", "own.toml"), "emit": ("--emit-sql", "checks.sql")}  # fmt: skip
    name = "anonymize" if command == "anonymize" else "verify"
    status, told = incrowd(name, "people.csv", "--policy", "policy.toml", *words.get(command, ()))
    assert status == 2, told
    assert f"profile own.toml, clause 'a': {setting} must be a" in " ".join(told.split())
    assert sorted(path.name for path in tmp_path.iterdir()) == ["own.toml", "people.csv", "policy.toml"]
