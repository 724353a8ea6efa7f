"""Columns without a role."""

from __future__ import annotations

import pytest

import incrowd as ic

TABLE = "age,zip,note,disease\n" + "30,1,a,flu\n31,1,b,cold\n" * 4
POLICY = """version = 1
unlisted = "drop"
[columns.age]
role = "quasi"
[columns.disease]
role = "sensitive"
[[models]]
model = "k-anonymity"
k = 2
"""


@pytest.fixture
def people(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    tmp_path.joinpath("people.csv").write_text(TABLE)
    return tmp_path


@pytest.mark.parametrize(("what", "columns"), [("drop", "age,disease"), ("keep", "age,zip,note,disease")])
def test_the_option_says_it(run, people, what, columns):
    arguments = ("--qi", "age", "--sensitive", "disease", "-k", "2", "--unlisted", what)
    assert run("anonymize", "people.csv", "-o", "out.csv", *arguments).status == 0
    assert people.joinpath("out.csv").read_text().splitlines()[0] == columns


def test_a_policy_file_says_it(people):
    policy = people / "policy.toml"
    policy.write_text(POLICY)
    read = ic.Policy.read(policy)
    assert read.schema.unlisted == "drop"
    ic.anonymize("people.csv", read).write("out.csv")
    assert ic.verify("out.csv", policy).ok
    read.write("again.toml")
    assert 'unlisted = "drop"' in people.joinpath("again.toml").read_text()


def test_a_column_without_a_role_is_refused_in_the_terms_of_the_caller(run, people):
    result = run(
        "anonymize", "people.csv", "-o", "out.csv", "--qi", "age", "--sensitive", "disease", "-k", "2"
    )
    assert result.status == 2
    assert "--unlisted" in result.err
    schema = ic.Schema(quasi=["age"], sensitive=["disease"])
    with pytest.raises(ic.SchemaError, match="unlisted='drop'"):
        ic.anonymize("people.csv", schema, [ic.KAnonymity(2)])
