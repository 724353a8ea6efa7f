"""`incrowd course` lists the lessons, and copies them."""

from __future__ import annotations

import json

from incrowd.works.course.lessons import lessons


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
