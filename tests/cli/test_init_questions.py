"""`incrowd init --ask`: the questions of a draft are asked and answered on the terminal."""

from __future__ import annotations

import io
import tomllib

import numpy as np
import polars as pl
import pytest


@pytest.fixture
def survey(tmp_path, monkeypatch):
    rng = np.random.default_rng(3)
    rows = 400
    columns = {f"q{number}": rng.choice(["yes", "no"], rows) for number in range(9)}
    table = pl.DataFrame({"age": rng.integers(18, 80, rows), "sex": rng.choice(["m", "f"], rows), **columns})
    table = table.with_columns(size=rng.normal(170, 9, rows).round(1), visits=rng.integers(0, 200, rows))
    table.write_csv(tmp_path / "survey.csv")
    monkeypatch.chdir(tmp_path)
    return tmp_path


def asked(run, monkeypatch, answers: str):
    monkeypatch.setattr("sys.stdin", io.StringIO(answers))
    return run("init", "survey.csv", "-o", "policy.toml", "--ask")


def roles() -> dict[str, str]:
    with open("policy.toml", "rb") as file:
        return {name: column["role"] for name, column in tomllib.load(file)["columns"].items()}


def test_one_answer_is_for_all_columns_of_a_group(run, monkeypatch, survey):
    told = asked(run, monkeypatch, "s\nq\nl\n")
    assert told.status == 0, told.err
    found = roles()
    assert {found[f"q{number}"] for number in range(9)} == {"sensitive"}
    assert sorted([found["size"], found["visits"]]) == ["identifying", "quasi"]
    assert "1 of 3. 9 yes/no columns such as q0, q3, q6: what are they?" in told.err
    assert "it runs" in told.out, "a draft whose questions are answered is tried"
    assert "?" not in found.values()


def test_each_column_of_a_group_may_be_answered_and_some_later(run, monkeypatch, survey):
    each = "x\ne\n" + "i\n" * 4 + "p\nl\ns\n\n\n"
    told = asked(run, monkeypatch, each + "\n\n")
    assert told.status == 0, told.err
    found = roles()
    assert [found[f"q{number}"] for number in range(9)] == [
        *["insensitive"] * 4, "person", "identifying", "sensitive", "?1", "?1",
    ]  # fmt: skip
    assert "write one of q, s, i, l, e, the word for it, or Enter alone" in told.err
    assert "QUESTIONS (3)" in told.out


def test_both_options_are_refused(run, survey):
    assert run("init", "survey.csv", "--ask", "--no-questions").status == 2
