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
    result = asked(run, monkeypatch, "s\nq\nl\n")
    assert result.status == 0, result.err
    outcome = roles()
    assert {outcome[f"q{number}"] for number in range(9)} == {"sensitive"}
    assert sorted([outcome["size"], outcome["visits"]]) == ["identifying", "quasi"]
    assert "1 of 3. 9 yes/no columns such as q0, q3, q6: what are they?" in result.err
    assert "HOLDS: " in result.out, "a draft whose questions are answered is tried"
    assert "?" not in outcome.values()


def test_each_column_of_a_group_may_be_answered_and_some_later(run, monkeypatch, survey):
    each = "x\ne\n" + "i\n" * 4 + "p\nl\ns\n\n\n"
    result = asked(run, monkeypatch, each + "\n\n")
    assert result.status == 0, result.err
    outcome = roles()
    assert [outcome[f"q{number}"] for number in range(9)] == [
        *["insensitive"] * 4, "person", "identifying", "sensitive", "?1", "?1",
    ]  # fmt: skip
    assert "write one of q, s, i, l, e, the word for it, or Enter alone" in result.err
    assert "QUESTIONS (3)" in result.out


def test_both_options_are_refused(run, survey):
    assert run("init", "survey.csv", "--ask", "--no-questions").status == 2


@pytest.fixture
def health(tmp_path, monkeypatch):
    rng = np.random.default_rng(5)
    rows = 400
    names = ("asthma", "diabetes", "smoker", "allergies", "has_cancer", "vaccinated")
    table = pl.DataFrame(
        {"age": rng.integers(18, 80, rows), "sex": rng.choice(["m", "f"], rows)}
        | {name: rng.choice(["ja", "nein"], rows) for name in names}
        | {"mark": rng.choice(["Zx-1", "Qy-2"], rows)}
    )
    table.write_csv(tmp_path / "survey.csv")
    monkeypatch.chdir(tmp_path)
    return tmp_path


def test_full_words_answer_as_letters_do(run, monkeypatch, survey):
    result = asked(run, monkeypatch, "sensitive\nQuasi\nleave out\n")
    assert result.status == 0, result.err
    outcome = roles()
    assert {outcome[f"q{number}"] for number in range(9)} == {"sensitive"}
    assert sorted([outcome["size"], outcome["visits"]]) == ["identifying", "quasi"]


def test_no_common_answer_releases_data_on_health_as_they_are(run, monkeypatch, health):
    result = asked(run, monkeypatch, "i\ninsensitive\neach\n" + "i\ns\n" * 3 + "l\n")
    assert result.status == 0, result.err
    assert "6 columns on health such as asthma, smoker, has_cancer, which the law protects: what" in " ".join(
        result.err.split()
    )
    assert result.err.count("released only where each column is answered") == 2
    outcome = roles()
    assert [outcome[name] for name in ("asthma", "diabetes", "smoker")] == [
        "insensitive",
        "sensitive",
        "insensitive",
    ]


def test_a_common_answer_may_protect_data_on_health(run, monkeypatch, health):
    asked(run, monkeypatch, "s\nl\n")
    assert roles()["has_cancer"] == "sensitive"
    with open("policy.toml", "rb") as file:
        assert {"model": "l-diversity", "l": 2} in tomllib.load(file)["models"]


def test_answers_and_questions_left_open_end_with_l_diversity(run, monkeypatch, survey):
    for answers in ("s\n\n\n", "\n\n\n"):
        asked(run, monkeypatch, answers)
        with open("policy.toml", "rb") as file:
            assert {"model": "l-diversity", "l": 2} in tomllib.load(file)["models"]
        (survey / "policy.toml").unlink()


def test_questions_show_shapes_and_no_values_and_fit_80_columns(run, monkeypatch, health):
    result = asked(run, monkeypatch, "\n" * 9)
    assert "aaaa, aa" in result.err or "aa, aaaa" in result.err
    assert "Aa-9" in result.err
    assert not [value for value in ("nein", "Zx", "Qy") if value in result.err]
    assert max(map(len, result.err.splitlines())) <= 80
    words = set(result.err.replace("-", " ").split())
    assert {"asthma:", "protects:", "frequent"} <= words, "no word is broken"


def test_what_nearly_every_row_has_for_its_own_is_not_released_by_an_answer(run, monkeypatch, tmp_path):
    rows = 60
    pl.DataFrame(
        {"age": [20 + n % 40 for n in range(rows)], "days": [f"{2000 + n}-01-02" if n % 2 else f"02/01/{2000 + n}" for n in range(rows)]}
    ).write_csv(tmp_path / "survey.csv")  # fmt: skip
    monkeypatch.chdir(tmp_path)
    result = asked(run, monkeypatch, "i\ns\nl\n")
    assert result.err.count("nearly every row has its own value there") == 2
    assert roles()["days"] == "identifying"


def test_labels_of_columns_are_read_as_names_and_shown(run, monkeypatch, tmp_path):
    import pyreadstat

    rng = np.random.default_rng(2)
    rows = 300
    labels = {
        "v1": "Respondent ID number", "v12": "Age of respondent", "v13": "Sex", "v15": "Household income, net",
        "v17": "Member of a trade union or of a similar organisation, now or before", "v18": "Satisfied with life",
    }  # fmt: skip
    table = pl.DataFrame(
        {
            "v1": np.arange(rows) + 5_000, "v12": rng.integers(18, 90, rows), "v13": rng.integers(1, 3, rows),
            "v15": rng.lognormal(10, 0.5, rows).round(2), "v17": rng.integers(0, 2, rows),
            "v18": rng.integers(1, 6, rows),
        }
    )  # fmt: skip
    pyreadstat.write_sav(table.to_pandas(), str(tmp_path / "survey.sav"), column_labels=[*labels.values()])
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr("sys.stdin", io.StringIO("\n\n"))
    result = run("init", "survey.sav", "-o", "policy.toml", "--ask")
    assert result.status == 0, result.err
    assert roles() == {
        "v1": "identifying", "v12": "quasi", "v13": "quasi", "v15": "sensitive", "v17": "?", "v18": "?",
    }  # fmt: skip
    text = (tmp_path / "policy.toml").read_text()
    assert "the label says 'age'" in text
    assert "Member of a trade union or of a similar organisation, now or before" in " ".join(
        result.err.split()
    )


@pytest.mark.slow
@pytest.mark.gated
def test_a_draft_ends_with_the_verdict_of_its_release(run, monkeypatch, tmp_path):
    """A steward reads before the first release what will be refused, and what was changed for it."""
    rng = np.random.default_rng(8)
    rows = 600
    table = pl.DataFrame(
        {
            # Those of one id are alike, so that classes have few people.
            "age": 20 + np.repeat(np.arange(rows // 2), 2) % 40,
            "sex": np.repeat(rng.choice(["m", "f"], rows // 2), 2),
            "score": rng.integers(0, 900, rows) / 10,
            "wage": rng.integers(100, 300, rows) / 10,
        }
    )
    ids = pl.Series([f"AB-{number:05}" for number in np.repeat(np.arange(rows // 2), 2).tolist()])
    others = pl.Series([f"CD-{number:05}" for number in np.repeat(np.arange(rows // 2), 2).tolist()])
    monkeypatch.chdir(tmp_path)
    for name, source in {"plain": table, "ids": table.with_columns(x6=ids, x7=others)}.items():
        source.write_csv(f"{name}.csv")
        result = run("init", f"{name}.csv", "-o", f"{name}.toml", "--no-questions")
        assert result.status == 0, result.err
        lines = result.out.splitlines()
        first = next(place for place, line in enumerate(lines) if line.startswith("tried: "))
        assert "suppressed" in lines[first]
        assert max(map(len, lines)) <= 78
        assert any(line.startswith("! changed so that it holds: ") for line in lines)
        outcome = run("anonymize", f"{name}.csv", "--policy", f"{name}.toml", "-o", f"{name}.safe.csv")
        assert lines[first + 1] == "HOLDS: the release satisfies its policy, and no point is open."
        assert outcome.status == 0, outcome.err
        assert ("whose row it is, left out (1): x6" in lines) == (name == "ids")
