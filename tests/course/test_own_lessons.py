"""Lessons of a teacher: found beside the notebook, judged by own answers, copied with tables."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from incrowd.core.errors import ParameterError, TableError
from incrowd.course import NotYetError, check, table
from incrowd.course.lessons import lesson, own_lessons
from own_lesson import CLASS, notebook, own, write_lesson


@pytest.fixture
def mine(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    return write_lesson(tmp_path / "mine")


@pytest.fixture
def changed(tmp_path, monkeypatch):
    """Write a copy of the third lesson, changed, into the current folder."""
    monkeypatch.chdir(tmp_path)

    def write(*changes, more=()):
        text = lesson("by-hand").written()
        for old, new in changes:
            assert json.dumps(old)[1:-1] in text
            text = text.replace(json.dumps(old)[1:-1], json.dumps(new)[1:-1])
        document = json.loads(text)
        document["cells"][5:5] = json.loads(notebook(*more))["cells"]
        (tmp_path / "3-by-hand.ipynb").write_text(json.dumps(document))

    return write


def test_a_copy_that_was_changed_is_judged_by_its_own_answers(changed, capsys):
    changed(('ward = table("ward")', 'ward = table("ward")[:8]'))
    with pytest.raises(NotYetError):
        check("k-of-a-table", 3)
    [copy] = own_lessons(Path())
    check("k-of-a-table", copy.solved("k-of-a-table")[0]["k"])
    assert capsys.readouterr().out == "Right.\n"


def test_what_students_add_to_a_copy_changes_nothing(changed, capsys):
    changed(more=[("", "1 / 0"), ("", "ward = ward[:2]"), ("", "while"), ("discuss", "Mine.")])
    assert own_lessons(Path()) == []
    check("k-of-a-table", 3)
    assert capsys.readouterr().out == "Right.\n"


def test_a_cell_that_breaks_is_passed_over_unless_the_answer_needs_it(mine, monkeypatch, capsys):
    monkeypatch.chdir(mine)
    (mine / "9-our-class.ipynb").write_text(own(("", "1 / 0"), ("", "while")))
    check("our-k", 1)
    assert capsys.readouterr().out == "Right.\n"
    (mine / "our-class.csv").unlink()
    with pytest.raises(ParameterError) as refused:
        check("our-k", 1)
    assert "9-our-class.ipynb: the answer in cell 5 raises NameError" in str(refused.value)
    assert "before it, cell 1 raises ParameterError: the course has no table 'our-class'" in str(
        refused.value
    )


def test_a_lesson_without_an_answer_or_with_another_name_says_so(mine, monkeypatch):
    monkeypatch.chdir(mine)
    (mine / "9-our-class.ipynb").write_text(own().replace("k = ours", "l = ours"))
    with pytest.raises(ParameterError, match="the answer in cell 3 makes no 'k'"):
        check("our-k", 1)
    (mine / "9-our-class.ipynb").write_text(own().replace('"answer"', '"other"'))
    with pytest.raises(ParameterError, match="exercise 'our-k' has no answer, there or in"):
        check("our-k", 1)
    with pytest.raises(ParameterError, match="did you mean 'our-k'"):
        check("our-kk", 1)


def test_the_answer_of_a_later_save_counts(mine, monkeypatch, capsys):
    monkeypatch.chdir(mine)
    check("our-k", 1)
    (mine / "9-our-class.ipynb").write_text(own().replace(".min()", ".max()   "))
    check("our-k", 2)
    assert capsys.readouterr().out == "Right.\n" * 2


def test_tables_of_ones_own(mine, monkeypatch):
    monkeypatch.chdir(mine)
    rows = table("our-class")
    assert rows.age.sum() == 78
    assert rows.way.isna().sum() == 1
    (mine / "semicolons.csv").write_text("a;b\n1,5;x\n", encoding="utf-8-sig")
    assert list(table("semicolons")) == ["a", "b"]
    (mine / "blanks.csv").write_text("age, sex, zip\n1, F, 0801\n2, M, 0802\n")
    with pytest.raises(
        ParameterError, match=r"blanks.csv: the names begin with a blank, as ' sex'; take the blanks"
    ):
        table("blanks")
    (mine / "empty.csv").write_text("")
    with pytest.raises(TableError, match="empty"):
        table("empty")
    (mine / "town.csv").write_text(CLASS)
    assert len(table("town")) == 400
    for name in ("mine", "../mine/our-class", "our-clas"):
        with pytest.raises(ParameterError, match="the course has no table"):
            table(name)


# --- forms of answers -------------------------------------------------------------------------------------


def test_a_list_or_an_array_is_as_good_as_a_tuple(capsys):
    for answer in ((10, 4), [10, 4], np.array([10, 4]), pd.Series([10, 4])):
        check("coarsen", answer)
    assert capsys.readouterr().out == "Right.\n" * 4
    with pytest.raises(NotYetError, match="somebody is alone"):
        check("coarsen", [1, 4])


def test_a_series_is_as_good_as_a_dictionary(capsys):
    scope, _ = lesson("census").solved("suppressed-by-race")
    check("suppressed-by-race", pd.Series(scope["shares"]))
    assert capsys.readouterr().out == "Right.\n"


@pytest.mark.slow
@pytest.mark.parametrize("form", ["{}-{}", "{} - {}", "[{}-{}]", "[{} - {}]", "{}\u2013{}"])
def test_a_range_may_be_written_in_several_ways(form, capsys):
    scope, _ = lesson("mondrian").solved("released-table")

    def answer(parts):
        rows = scope["release_parts"](parts)
        for column in ("age", "pay"):
            rows[column] = [form.format(*text.split("-")) for text in rows[column]]
        return rows

    check("released-table", answer)
    assert capsys.readouterr().out == "Right.\n"


@pytest.mark.slow
def test_names_that_begin_with_a_blank_are_named():
    clinic = table("clinic")
    with pytest.raises(
        NotYetError, match="the names begin with a blank, as ' sex'; read the file with skipinitialspace"
    ):
        check("your-release", clinic.rename(columns={"sex": " sex"}))
