"""The examples of the pages run as they stand, and give what their comments say."""

from __future__ import annotations

import ast
import gzip
import re
import tokenize
from pathlib import Path

import pytest

from incrowd.errors import IncrowdError

PAGES = Path(__file__).resolve().parents[2] / "docs" / "compat"
TABLE = "born;salary;disease\n197*;3;cancer\n197*;4;flu\n198*;5;flu\n198*;6;gastritis\n198*;8;cancer\n"
SALARIES = "born;salary\n197*;3k\n197*;4k\n198*;5k\n198*;6k\n198*;8k\n"
JOBS = {
    "Job": "Any\n\tProfessional\n\t\tEngineer\n\t\tLawyer\n\tArtist\n\t\tDancer\n\t\tWriter\n",
    "Sex": "Any\n\tMale\n\tFemale\n",
}

# What the pages read: a name there, and the file or folder among the real tables, or a text.
FILES = {
    "comp430": {"adult-hw1.csv": "adult-hw1/adult-hw1.csv", "DGHs": "adult-hw1/DGHs"},
    "notebook": {"adult.csv": "adult/adult.all.txt.gz"},
    "p29": {
        "df1-filter.csv": "diabetes/df1-filter_qi_sa.csv.gz",
        "diabetic_data.csv": "diabetes/diabetic_data.csv.gz",
    },
    "petworks": {"data": "petworks/patient"},
}
ADULT = (
    "age,workclass,fnlwgt,education,education-num,marital-status,occupation,relationship,race,sex,"
    "capital-gain,capital-loss,hours-per-week,native-country,income\n"
)


def examples(page: str) -> str:
    """Return the Python of a page, one block below the other."""
    text = (PAGES / f"{page}.md").read_text(encoding="utf-8")
    return "\n".join(re.findall(r"```py(?:thon)?\n(.*?)```", text, re.DOTALL))


def remarks(code: str) -> dict[int, str]:
    """Return the comments by their lines."""
    lines = iter(code.splitlines(keepends=True))
    found = tokenize.generate_tokens(lambda: next(lines, ""))
    return {token.start[0]: token.string[2:] for token in found if token.type == tokenize.COMMENT}


def test_every_page_is_run():
    # The page on NCP needs no file, so it is run with the other pages of the docs.
    assert {path.stem for path in PAGES.glob("*.md")} == {*FILES, "k-anonymization"}


@pytest.mark.parametrize("page", FILES)
def test_the_examples_of_a_page(page, shared_data, tmp_path, monkeypatch, capsys):
    for name, source in FILES[page].items():
        if source.endswith(".gz"):
            text = gzip.decompress((shared_data / source).read_bytes()).decode()
            adult = name == "adult.csv"
            (tmp_path / name).write_text(ADULT + text.replace(", ", ",") if adult else text)
        else:
            (tmp_path / name).symlink_to(shared_data / source)
    (tmp_path / "table.csv").write_text(TABLE)
    (tmp_path / "salaries.csv").write_text(SALARIES)
    (tmp_path / "JobDGHs").mkdir()
    for name, lines in JOBS.items():
        (tmp_path / "JobDGHs" / f"{name}.txt").write_text(lines)
    monkeypatch.chdir(tmp_path)
    code = examples(page)
    told, seen, scope = remarks(code), 0, {}
    for statement in ast.parse(code).body:
        if not isinstance(statement, ast.Expr):
            exec(compile(ast.Module([statement], []), page, "exec"), scope)
            continue
        failed = False
        try:
            value = eval(compile(ast.Expression(statement.value), page, "eval"), scope)
            found = capsys.readouterr().out.strip() or repr(value)
        except IncrowdError as error:
            found, failed = f"{type(error).__name__}: {error}", True
        # An error is shown on the line below.
        said = told.get(statement.end_lineno + failed, "")
        assert said or not failed, found
        if said:
            # A remark gives the value first; figures may be cut short, and words may follow a colon.
            wanted = said if said.startswith("{") or failed else said.partition(": ")[0]
            wanted, found = ("".join(text.replace("'", '"').split()) for text in (wanted, found))
            shown = found[: len(wanted) - 3] + "..." if wanted.endswith("...") else found
            assert shown == wanted
            seen += 1
    assert seen == {"comp430": 7, "notebook": 4, "p29": 3, "petworks": 4}[page]
