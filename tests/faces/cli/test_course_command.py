"""`incrowd course` lists the lessons, and copies lessons."""

from __future__ import annotations

import json
import subprocess
import sys

import pytest

from incrowd.course import check
from incrowd.course.lessons import HIDDEN, lessons
from own_lesson import notebook, write_lesson


def tags(path) -> list[str]:
    cells = json.loads(path.read_text(encoding="utf-8"))["cells"]
    return [tag for cell in cells for tag in cell["metadata"].get("tags", [])]


def test_lessons_are_listed(run):
    lines = run("course").out.splitlines()
    assert lines[2].split(None, 4) == ["3", "by-hand", "35", "min", "k, l and t by hand"]
    assert len(lines) == len(lessons()) + 2


def test_a_lesson_is_copied_by_its_name_or_number(run, tmp_path):
    folder = tmp_path / "new" / "folder"
    result = run("course", "by-hand", "-o", str(folder))
    assert result.status == 0
    assert result.out.startswith(f"written: {folder / '3-by-hand.ipynb'}\n")
    copy = (folder / "3-by-hand.ipynb").read_text(encoding="utf-8")
    assert json.loads(copy) == lessons()[2].document
    again = run("course", "3", "-o", str(folder))
    assert (again.status, "--force" in again.err) == (2, True)
    assert run("course", "3", "-o", str(folder), "--force", "--no-answers").status == 0
    assert set(tags(folder / "3-by-hand.ipynb")) == {"exercise", "hint", "discuss", "notes"}


def test_all_lessons_are_copied_or_none(run, tmp_path):
    (tmp_path / "8-attack.ipynb").write_text("mine")
    assert run("course", "all", "-o", str(tmp_path)).status == 2
    assert [path.name for path in tmp_path.iterdir()] == ["8-attack.ipynb"]
    (tmp_path / "8-attack.ipynb").unlink()
    assert run("course", "all", "-o", str(tmp_path)).status == 0
    assert sorted(path.name for path in tmp_path.iterdir()) == [each.file for each in lessons()]


def test_an_unknown_lesson_is_named_with_one_like_it(run):
    result = run("course", "mondrain")
    assert (result.status, result.err) == (
        2, "incrowd: the course has no lesson 'mondrain'; did you mean 'mondrian'?\n",
    )  # fmt: skip


# --- lessons of one's own ---------------------------------------------------------------------------------


@pytest.fixture
def mine(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    return write_lesson(tmp_path / "mine")


@pytest.mark.slow
def test_a_class_gets_lesson_and_table_without_the_answer(mine, run, tmp_path):
    listed = run("course", "--own", "mine").out.splitlines()
    assert listed[8] == "9  our-class          our-class"
    result = run("course", "our-class", "--own", "mine", "-o", "class", "--no-answers")
    assert result.status == 0
    files = {path.relative_to(tmp_path / "class").as_posix() for path in (tmp_path / "class").rglob("*.*")}
    assert files == {"9-our-class.ipynb", HIDDEN, f"{HIDDEN}/9-our-class.ipynb", "our-class.csv"}
    assert "groupby" not in (tmp_path / "class" / "9-our-class.ipynb").read_text()
    # A process of its own, outside of the package.
    code = """
from incrowd.course import check, table
print(list(table("our-class").zip), table("our-class").age.sum())
for answer in (..., 5, 2):
    try:
        check("our-k", answer)
    except AssertionError as error:
        print(error)
check("our-k", 1)
"""
    result = subprocess.run(
        [sys.executable, "-c", code], cwd=tmp_path / "class", capture_output=True, text=True, check=True
    )
    assert result.stdout.splitlines() == [
        "['0801', '0801', '0801', '0802', '0802'] 78",
        "not answered yet: put your answer in the place of the dots",
        "that is how many rows there are",
        "that is not it; the hint says how to begin",
        "Right.",
    ]


def test_all_lessons_go_together_and_the_own_folder_is_never_written(mine, run, tmp_path):
    before = {path: path.read_bytes() for path in mine.iterdir()}
    assert run("course", "all", "--own", "mine", "-o", "class").status == 0
    names = {path.name for path in (tmp_path / "class").iterdir()}
    assert {"1-identify.ipynb", "9-our-class.ipynb", "our-class.csv"} <= names
    assert HIDDEN not in names
    assert run("course", "our-class", "--own", "mine", "-o", "mine", "--force", "--no-answers").status == 2
    assert {path: path.read_bytes() for path in mine.iterdir()} == before
    (mine / "our-class.csv").unlink()
    result = run("course", "our-class", "--own", "mine", "-o", "class2")
    assert (result.status, "reads table 'our-class', and there is no" in result.err) == (2, True)
    assert not (tmp_path / "class2").exists()


@pytest.mark.parametrize(
    "text", ["", "{}", '{"cells": 3}', '{"cells": [{"source": []}]}', "[" * 99_999, "[1]"]
)
def test_what_is_no_notebook_is_refused_by_the_command_and_passed_over_by_the_check(mine, run, text, capsys):
    (mine / "broken.ipynb").write_text(text)
    result = run("course", "--own", "mine")
    assert (result.status, "the file is no notebook" in result.err) == (2, True)
    (mine.parent / "broken.ipynb").write_text(text)
    check("k-of-a-table", 3)
    assert capsys.readouterr().out.endswith("Right.\n")


def test_a_folder_without_exercises_says_so(tmp_path, run):
    (tmp_path / "other.ipynb").write_text(notebook(("", "print(1)")))
    result = run("course", "--own", str(tmp_path))
    assert (result.status, "no notebook there has an exercise of its own" in result.err) == (2, True)
