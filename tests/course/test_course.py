"""The course: its lessons run, answers pass, usual mistakes get their word, and copies are what they say."""

from __future__ import annotations

import ast
import contextlib
import io
import itertools
import json
import re
import subprocess
import sys
from pathlib import Path

import pytest

import course_readings as readings
import incrowd as ic
from incrowd.course import NotYetError, check, partitions, table
from incrowd.course.checking import _MISTAKE
from incrowd.course.lessons import lesson, lessons
from incrowd.errors import MissingExtraError, ParameterError

# Students get what users get.
pytestmark = pytest.mark.gated

ROOT = Path(__file__).parents[2]
DRIVER = ROOT / "tests" / "notebook_driver.py"
LESSONS = [each.name for each in lessons()]
EXERCISES = [name for each in lessons() for name in each.exercises]
CHARTS = {"identify": 1, "pseudonyms": 0, "by-hand": 2, "mondrian": 3, "release": 2, "harm": 1, "attack": 1}

DRAWN = itertools.count()
WRONG = {
    "keyed-pseudonym": [
        (lambda card, key: f"{card}-{hash(key)}", "can be read"),
        (lambda card, key: str(hash(card)), "another key gives the same"),
        (lambda card, key: f"p{next(DRAWN)}", "another pseudonym each time"),
        (lambda card, key: f"{hash((card, key)) % 50}", "two cards"),
        (lambda card, key: hash((card, key)), "must return a text"),
    ],
    "coarsen": [
        ((1, 4), "somebody is alone"),
        ((40, 4), "also with finer ages"),
        ((5, 2), "also with one more digit"),
        ((3, 4), "give (years, digits)"),
    ],
    "your-release": [
        (lambda: table("town"), "leave out names"),
        (lambda: table("clinic")[["age", "illness"]], "must have age, sex"),
        (lambda: table("clinic"), "k is below 5"),
        (lambda: table("clinic").assign(age="*", sex="*", zip="*", language="*"), "nothing can be learnt"),
        (
            lambda: (
                table("clinic")
                .assign(age=range(400), sex="*")
                .assign(age=lambda t: t.age % 25, zip="*", illness="flu", language="*")
            ),
            "l is below 3",
        ),
        (lambda: table("clinic")[:300], "360 rows or more"),
    ],
}
"""Wrong answers to exercises that have several right ones, each with a part of its word."""


def lesson_of(exercise: str):
    [found] = [each for each in lessons() if exercise in each.exercises]
    return found


def solved(exercise: str):
    """Return an answer of the course, the names of its lesson, and the text of its usual mistakes."""
    scope, mistakes = lesson_of(exercise).solved(exercise)
    return scope[lesson_of(exercise).exercises[exercise]], scope, mistakes


@pytest.fixture(scope="module", autouse=True)
def elsewhere(tmp_path_factory):
    with contextlib.chdir(tmp_path_factory.mktemp("course")):
        yield


def test_the_lessons_take_two_hours_and_each_has_its_page():
    assert sum(each.minutes for each in lessons()) == 120
    assert [int(each.number) for each in lessons()] == [*range(1, len(LESSONS) + 1)]
    pages = {page.stem for page in (ROOT / "docs" / "course").glob("*.md")} - {"index"}
    assert pages == {each.file.removesuffix(".ipynb") for each in lessons()}
    index = (ROOT / "docs" / "course" / "index.md").read_text(encoding="utf-8")
    for each in lessons():
        row = f"| [{each.title}]({each.file.removesuffix('.ipynb')}.md) |"
        assert row in index
        assert re.search(rf"{re.escape(row)}.*\| {len(each.exercises)} \| {each.minutes} \|", index)


@pytest.mark.parametrize("name", LESSONS)
def test_a_lesson_has_its_parts(name):
    """A note for the teacher, exercises with hint, answer and mistakes in this order, and something to discuss."""
    found = lesson(name)
    roles = [cell.role for cell in found.cells if cell.role]
    assert roles == ["teacher", *["exercise", "hint", "answer", "mistakes"] * len(found.exercises)]
    assert len(found.exercises) >= 2
    text = "\n".join(cell.text for cell in found.cells)
    assert "> **Discuss.**" in text
    assert "**You can now**" in text
    for part in ("**Aim.**", "**Time.**", "**Watch for.**", "**Shorter.**", "**Longer.**"):
        assert part in found.cells[1].text
    for stored, cell in zip(found.document["cells"], found.cells, strict=True):
        assert stored.get("outputs", []) == []
        assert (cell.role in {"teacher", "hint", "answer", "mistakes"}) == ("<details>" in cell.text)
        for linked in re.findall(r"\]\(([^)]+)\)", cell.text):
            # A copy lies in a folder of its own, beside other lessons at most.
            assert linked in {each.file for each in lessons()}


@pytest.mark.parametrize("name", LESSONS)
def test_a_lesson_runs_whatever_names_an_answer_uses(name):
    """Students solve exercises in their own way: only the name of the answer is there afterwards."""
    found, scope, drawn = lesson(name), {}, 0
    answers = iter(found.exercises.values())
    for cell in found.cells:
        before = set(scope)
        tree = ast.parse(cell.code)
        last = tree.body.pop() if tree.body and isinstance(tree.body[-1], ast.Expr) else None
        own = dict(scope) if cell.role == "answer" else scope
        with contextlib.redirect_stdout(io.StringIO()):
            exec(compile(tree, found.file, "exec"), own)
            shown = last and eval(compile(ast.Expression(last.value), found.file, "eval"), own)
        drawn += hasattr(shown, "to_json") and not hasattr(shown, "iloc")
        if cell.role == "answer":
            answer = next(answers)
            scope[answer] = own[answer]
            assert set(scope) - before <= {answer}
    assert drawn == CHARTS[name]


@pytest.mark.slow
@pytest.mark.parametrize("name", LESSONS)
def test_a_lesson_runs_in_a_kernel(name):
    """Solved, in the order of its cells: every check says Right, and pictures are there without a network."""
    found, cells = lesson(name), []
    for cell in found.cells:
        if cell.role == "exercise":
            waiting = re.search(r"^check\(.*$", cell.text, re.MULTILINE)[0]
        elif cell.role == "answer":
            cells.append(f"{cell.code}\n{waiting}")
        elif cell.code:
            cells.append(cell.code)
    done = subprocess.run(
        [sys.executable, DRIVER], input=json.dumps(cells), capture_output=True, text=True, check=True
    )
    shown = [each for outputs in json.loads(done.stdout) for each in outputs]
    assert [kind for kind, _ in shown if kind == "error"] == []
    pictures = [data for _, data in shown if "image/svg+xml" in data]
    assert len(pictures) == CHARTS[name]
    assert not any("cdn." in str(data) for data in pictures)


@pytest.mark.parametrize("name", EXERCISES)
def test_an_exercise_fails_until_it_is_solved(name, capsys):
    answer, scope, _ = solved(name)
    [cell] = [each for each in lesson_of(name).cells if each.role == "exercise" and f'"{name}"' in each.text]
    with pytest.raises(NotYetError, match=r"in the place of the dots|returns nothing|must return a text"):
        exec(cell.text, dict(scope))
    assert capsys.readouterr().out == ""
    check(name, answer)
    assert capsys.readouterr().out == "Right.\n"


@pytest.mark.parametrize("name", [name for name in EXERCISES if name not in WRONG])
def test_three_usual_mistakes_get_their_word(name):
    _, scope, text = solved(name)
    mistakes = _MISTAKE.findall(text)
    assert len(mistakes) >= 3
    for unless, code, word in mistakes:
        assert not unless
        with pytest.raises(NotYetError) as refused:
            check(name, eval(code, scope))
        assert str(refused.value) == word


@pytest.mark.parametrize("name", WRONG)
def test_mistakes_where_several_answers_are_right_get_their_word(name):
    assert len(WRONG[name]) >= 3
    for wrong, word in WRONG[name]:
        with pytest.raises(NotYetError) as refused:
            check(name, wrong() if name == "your-release" else wrong)
        assert word in str(refused.value)


def test_every_condition_of_those_is_tried():
    for name, wrong in WRONG.items():
        conditions = [word for unless, _, word in _MISTAKE.findall(solved(name)[2]) if unless]
        assert len({word for each in conditions for _, word in wrong if word in each}) == len(conditions)


def test_several_answers_are_right(capsys):
    check("coarsen", (5, 3))
    check("coarsen", (10, 4))
    check("keyed-pseudonym", lambda card, key: str(hash((card, key, "salt"))))
    release = ic.anonymize(
        table("clinic"),
        ic.Schema(quasi=["age", "sex", "zip", "language"], sensitive=["illness"]),
        [ic.KAnonymity(6), ic.LDiversity(3)],
    )
    check("your-release", release.table)
    check("t-of-a-class", 0.27)
    assert capsys.readouterr().out == "Right.\n" * 5


@pytest.mark.parametrize("name", readings.FIGURES)
def test_answers_are_what_a_second_reading_finds(name):
    answer, _, _ = solved(name)
    second = readings.FIGURES[name]()
    assert answer == (pytest.approx(float(second)) if isinstance(second, readings.Fraction) else second)


def rows_of(frame) -> list[dict]:
    return frame.to_dict("records")


def test_answers_about_releases_are_what_a_second_reading_finds():
    answer, scope, _ = solved("anatomy-count")
    assert answer == pytest.approx(
        float(readings.anatomy_count(rows_of(scope["rows"]), rows_of(scope["values"])))
    )
    answer, scope, _ = solved("suppressed-share")
    assert answer == readings.suppressed_share(rows_of(scope["clinic"]), rows_of(scope["released"])) == 1
    answer, scope, _ = solved("group-gain")
    assert answer == pytest.approx(float(readings.group_gain(rows_of(scope["released"]))))
    answer, scope, _ = solved("two-releases")
    first, second = (
        [dict(each) for each in {tuple(row.items()) for row in rows_of(scope[name])}]
        for name in ("first", "second")
    )
    people = rows_of(scope["town"])[:60]
    assert answer[:60] == [
        readings.possible(each, first) & readings.possible(each, second) for each in people
    ]


def test_cuts_are_what_a_second_reading_finds():
    cut, scope, _ = solved("cut")
    town = scope["town"]
    for part in (town, town[:7], town[town.zip == "4202"], town[:1]):
        for column in ("age", "pay"):
            found = tuple(set(half.index) for half in cut(part, column))
            assert found == readings.halves(list(part[column].items()))


def test_the_parts_are_those_of_mondrian():
    """As the lesson says: with the rule "below the median" incrowd makes the same parts."""
    scope = {}
    with contextlib.redirect_stdout(io.StringIO()):
        for cell in lesson("mondrian").cells:
            exec(cell.code, scope)
    models = {"k = 5": [], "k = 5, l = 4": [ic.LDiversity(4)], "k = 5, t = 0.3": [ic.TCloseness(0.3)]}
    for name, more in models.items():
        release = ic.anonymize(
            scope["town"],
            scope["schema"],
            [ic.KAnonymity(5), *more],
            ic.Mondrian(median="below"),
            keep_order=True,
            accepted=[scope["why"]],
        )
        made = release.table.assign(name=scope["town"].name).groupby(["age", "pay"]).name.agg(frozenset)
        assert release.privacy.classes == len(scope["results"][name])
        assert set(made) == {frozenset(part.name) for part in scope["results"][name]}


def test_the_picture_has_a_point_for_each_row_and_a_rectangle_for_each_part():
    town = table("town")
    picture = json.loads(partitions([[town], [town[:150], town[150:]]], "age", "pay").to_json())
    counts = [[len(layer["data"]["values"]) for layer in each["layer"]] for each in picture["concat"]]
    assert counts == [[1, 400], [2, 400]]


def test_answers_of_another_kind_are_named():
    for answer, word in (
        ("201", "the answer is a number, not a text"),
        ({"a": 1}, "a number, not a dictionary"),
        (table("ward"), "a number, not a table"),
        (50.25, "the hint says how to begin"),
    ):
        with pytest.raises(NotYetError, match=word):
            check("alone", answer)
    with pytest.raises(NotYetError, match="a function, not a number"):
        check("cut", 3)
    with pytest.raises(NotYetError, match='returns something else for town, "pay"'):
        check("cut", lambda part, column: (part, part))


def test_unknown_names_are_refused():
    with pytest.raises(ParameterError, match="did you mean 'k-of-a-table'"):
        check("k-of-the-table", 3)
    with pytest.raises(ParameterError, match="did you mean 'clinic'"):
        table("clinics")
    with pytest.raises(ParameterError, match="there are identify, pseudonyms"):
        lesson("9")


def test_a_run_that_is_broken_off_begins_anew(monkeypatch):
    lessons.cache_clear()
    monkeypatch.setattr("incrowd.course.pictures.require_extra", lambda *_: 1 / 0)
    with pytest.raises(ZeroDivisionError):
        check("runners-found", {})
    monkeypatch.undo()
    with pytest.raises(NotYetError, match="somebody is found"):
        check("runners-found", {})


def test_a_course_without_pandas_says_how_to_get_it(monkeypatch):
    monkeypatch.setattr("incrowd.errors.find_spec", lambda _: None)
    with pytest.raises(MissingExtraError, match=r"needs pandas: pip install '\.\[course\]'"):
        table("town")


def test_the_tables_are_of_the_same_people():
    town, clinic, runners = table("town"), table("clinic"), table("runners")
    columns = ["age", "sex", "zip", "language", "illness"]
    assert sorted(map(tuple, town[columns].to_numpy())) == sorted(map(tuple, clinic.to_numpy()))
    assert not town[columns].equals(clinic)
    assert (len(town), len(runners), len(table("ward"))) == (400, 15, 15)
    assert town.name.is_unique
    assert town.card.is_unique
    assert set(runners.name) <= set(town.name)


def test_a_wrong_answer_is_one_line_in_a_notebook(capsys):
    from IPython.core.interactiveshell import InteractiveShell

    shell = InteractiveShell.instance()
    try:
        shell.run_cell('from incrowd.course import check\ncheck("alone", 23)')
    finally:
        InteractiveShell.clear_instance()
    assert capsys.readouterr().out == "Not yet: that is by age and sex alone; add the zip code\n"
