"""No message sends readers to a refused call: advice is followed as given."""

from __future__ import annotations

import polars as pl
import pytest

import incrowd as ic


@pytest.fixture
def people(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    pl.DataFrame({"age": ["1", "2", "?"] * 4, "pay": [str(n) for n in range(12)]}).write_csv("people.csv")
    return tmp_path


def policy(*models: ic.PrivacyModel, **more: object) -> None:
    ic.Policy(ic.Schema(quasi=["age"], **more), models or (ic.KAnonymity(2),)).write(
        "policy.toml", force=True
    )


BY_FILE = ("anonymize", "people.csv", "--policy", "policy.toml", "-o", "out.csv")
BY_OPTIONS = ("anonymize", "people.csv", "--qi", "age", "-k", "2", "-o", "out.csv")


def test_a_column_without_a_role_with_options(run, people):
    result = run(*BY_OPTIONS)
    assert "say --unlisted drop or --unlisted keep\n" in result.err
    assert run(*BY_OPTIONS, "--unlisted", "drop").status == 0


def test_a_column_without_a_role_with_a_policy_file(run, people):
    policy()
    result = run(*BY_FILE)
    assert result.err.endswith('say unlisted = "drop" or unlisted = "keep" in the policy file\n')
    refused = run(*BY_FILE, "--unlisted", "drop")
    words = '--unlisted: the policy file says what the columns are; write unlisted = "drop" or unlisted = "keep" there\n'
    assert refused.err.endswith(words)
    text = (people / "policy.toml").read_text()
    (people / "policy.toml").write_text(f'unlisted = "drop"\n{text}')
    assert run(*BY_FILE).status == 0


@pytest.mark.parametrize("command", [
    ("anonymize", "people.csv", "--policy", "policy.toml", "-o", "new.csv"),
    ("apply", "rec", "people.csv", "--policy", "policy.toml", "-o", "new.csv"),
])  # fmt: skip
def test_every_command_with_a_policy_file_is_sent_there(run, people, command):
    policy(unlisted="drop")
    assert run(*BY_FILE, "--recoding", "rec").status == 0
    policy()
    result = run(*command)
    assert (result.status, 'unlisted = "drop" or unlisted = "keep" in the policy file' in result.err) == (
        2,
        True,
    )


@pytest.mark.parametrize(
    ("option", "there"),
    [
        (("--qi", "age"), 'role = "quasi"'),
        (("--sensitive", "pay"), 'role = "sensitive"'),
        (("--insensitive", "pay"), 'role = "insensitive"'),
        (("--person", "pay"), 'role = "person"'),
        (("--weights", "pay"), 'role = "weight"'),
        (("--null-value", "?"), "null_values = [...]"),
        (("--linked",), "linked = true"),
        (("--treat", "pay=redact"), "treat = ..."),
        (("--hierarchy", "age=flat"), "hierarchy = ..."),
    ],
)
def test_an_option_beside_a_policy_file_is_told_what_to_write(run, people, option, there):
    policy(unlisted="drop")
    result = run(*BY_FILE, *option)
    assert result.status == 2
    assert result.err.endswith(
        f"{option[0]}: the policy file says what the columns are; write {there} there\n"
    )


def test_a_missing_value_is_named_where_it_is_taken(run, people):
    schema = ic.Schema(quasi={"age": "number"}, unlisted="drop")
    ic.Policy(schema, (ic.KAnonymity(2),)).write("policy.toml")
    result = run(*BY_FILE)
    assert "name those that mean missing with null_values in the policy file" in " ".join(result.err.split())
    assert "--null-value" not in result.err


def test_a_person_is_named_where_it_is_taken(run, people):
    policy(ic.KMAnonymity(2), unlisted="drop")
    assert 'name it (role = "person" in the policy file)' in run(*BY_FILE).err
    errors = run(*BY_OPTIONS, "--unlisted", "drop", "--model", "km-anonymity:2").err
    assert "name it (--person)" in errors
