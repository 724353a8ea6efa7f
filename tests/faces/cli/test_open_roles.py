"""A column with an open role (`role = "?"`) stops every job with the policy."""

from __future__ import annotations

import pytest

import incrowd as ic

OPEN = """version = 1
[columns.age]
role = "quasi"
[columns.ward]
role = "?"
[columns.code]
role = "?"
[columns.disease]
role = "sensitive"
[[models]]
model = "k-anonymity"
k = 2
"""
TABLE = "age,ward,code,disease\n" + "".join(f"{30 + row % 2},w{row % 3},c{row},flu\n" for row in range(8))

CALLS = [
    ("assess", "people.csv"),
    ("anonymize", "people.csv", "-o", "out.csv"),
    ("anonymize", "people.csv", "--stream", "-o", "out.csv"),
    ("anatomize", "people.csv", "-o", "out", "-l", "2"),
    ("lattice", "people.csv"),
    ("compare", "people.csv", "--algorithms", "mondrian"),
    ("p29", "people.csv"),
    ("risk", "people.csv"),
    ("utility", "people.csv", "people.csv"),
    ("attack", "people.csv", "people.csv"),
    ("verify", "people.csv"),
    ("apply", "recoding", "people.csv", "-o", "out.csv"),
]


@pytest.fixture
def folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "people.csv").write_text(TABLE)
    (tmp_path / "policy.toml").write_text(OPEN)
    (tmp_path / "recoding").mkdir()
    return tmp_path


@pytest.mark.parametrize("call", CALLS, ids=" ".join)
def test_every_command_lists_the_questions_and_writes_nothing(run, folder, call):
    before = sorted(folder.rglob("*"))
    result = run(*call, "--policy", "policy.toml")
    assert result.status == 2, result.out
    assert "2 columns have no role yet (role = \"?\"): 'ward', 'code'" in result.err
    for role in ("quasi", "sensitive", "insensitive", "identifying"):
        assert role in result.err
    assert sorted(folder.rglob("*")) == before


def test_python_refuses_questions_like_the_command_line(folder):
    with pytest.raises(ic.PolicyError, match=r"policy\.toml: 2 columns have no role yet"):
        ic.Policy.read("policy.toml")
    with pytest.raises(ic.SchemaError, match=r"1 column has no role yet .*: 'ward'; .* identifying"):
        ic.Attribute("ward", "?")


def test_answered_questions_run(run, folder):
    (folder / "policy.toml").write_text(OPEN.replace('"?"', '"identifying"'))
    assert run("anonymize", "people.csv", "--policy", "policy.toml", "-o", "out.csv").status == 0


def test_a_hundred_questions_fit_a_screen(run, folder):
    many = OPEN + "".join(f'[columns.c{number}]\nrole = "?"\n' for number in range(100))
    (folder / "policy.toml").write_text(many)
    result = run("anonymize", "people.csv", "--policy", "policy.toml", "-o", "out.csv")
    assert "102 columns have no role yet" in result.err
    assert "and 82 more" in result.err
    assert result.err.rstrip().endswith("(of a survey), which are left out")
