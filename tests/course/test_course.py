"""The course: lessons run, answers pass, usual mistakes get a hint, and copies keep all promises."""

from __future__ import annotations

import ast
import base64
import contextlib
import functools
import hashlib
import hmac
import io
import itertools
import json
import os
import re
import secrets
import subprocess
import sys
import zlib
from pathlib import Path

import pytest

import course_readings as readings
import incrowd as ic
from crossed import quick
from incrowd.core.errors import MissingExtraError, ParameterError
from incrowd.course import NotYetError, bars, check, fallback, partitions, table
from incrowd.course.checking import _MISTAKE
from incrowd.course.lessons import Cell, lesson, lessons
from incrowd.release.report.charts import svg_for_pages

# Students get what users get.
pytestmark = pytest.mark.gated

ROOT = Path(__file__).parents[2]
DRIVER = ROOT / "tests" / "notebook_driver.py"
LESSONS = [each.name for each in lessons()]
EXERCISES = [name for each in lessons() for name in each.exercises]
CHARTS = {"identify": 1, "pseudonyms": 0, "by-hand": 2, "mondrian": 3, "release": 2}
CHARTS |= {"harm": 1, "census": 2, "attack": 1}

BOX = '<div class="alert alert-block alert-'

DRAWN = itertools.count()
KEPT: dict[tuple[str, str], str] = {}


def digest(card, key):
    return hmac.new(key.encode(), card.encode(), "sha256").hexdigest()[:12]


def crc(text):
    return zlib.crc32(text.encode())


def salted(text):
    return f"{hash(text):x}"


@functools.cache
def remembered(card, key):
    return secrets.token_hex(6)


WRONG = {
    "keyed-pseudonym": [
        (lambda card, key: hash((card, key)), "must return a text"),
        (lambda card, key: "", "must return a text"),
        (lambda card, key: str(hash((card, key, "salt"))), "salted anew in each run"),
        (lambda card, key: digest(str((card + key).__hash__()), key), "salted anew in each run"),
        (lambda card, key: digest(card, f"{key}{os.getpid()}"), "salted anew in each run"),
        (lambda card, key: salted(card + key), "salted anew in each run"),
        (lambda card, key: f"p{next(DRAWN)}", "another pseudonym each time"),
        (lambda card, key: secrets.token_hex(6), "another pseudonym each time"),
        (
            lambda card, key: KEPT.setdefault((card, key), secrets.token_hex(6)),
            "only this computer remembers",
        ),
        (remembered, "only this computer remembers"),
        (lambda card, key: digest(card, key)[:2], "two cards"),
        (lambda card, key: key, "two cards"),
        (lambda card, key: card + digest(card, key), "the card number can be read"),
        (lambda card, key: card[::-1] + key, "the card number can be read"),
        (lambda card, key: digest(card, key) + card[:2], "the card number can be read"),
        (lambda card, key: card[2] + digest(card, key), "the card number can be read"),
        (lambda card, key: (card + key).encode().hex(), "the card number can be read"),
        (lambda card, key: base64.b64encode((key + card).encode()).decode(), "the card number can be read"),
        (
            lambda card, key: "".join(chr(ord(a) ^ ord(b)) for a, b in zip(card, key * 2, strict=False)),
            "in other letters",
        ),
        (lambda card, key: digest(card, key) + key, "the key can be read"),
        (lambda card, key: key[::-1] + digest(card, key), "the key can be read"),
        (lambda card, key: digest(card, key) + key[2:5], "the key can be read"),
        (lambda card, key: digest(card, key) + key[-1], "the key can be read"),
        (lambda card, key: digest(card, ""), "another key gives the same"),
        (lambda card, key: digest(card, str(len(key))), "another key gives the same"),
        (lambda card, key: digest(card, key[:4]), "another key gives the same"),
        (lambda card, key: bin(int(card)) + digest(card, key), "made of the card alone"),
        (lambda card, key: digest(card, key) + oct(int(card)), "made of the card alone"),
        (lambda card, key: digest(card, "")[:4] + digest(card, key), "made of the card alone"),
        (lambda card, key: digest(card, key) + "xy"[int(card) % 2], "made of the card alone"),
        (lambda card, key: f"{crc(card) ^ crc(key)}", "equally far apart"),
        (lambda card, key: f"p-{crc(card) ^ crc(key):08x}", "equally far apart"),
        (lambda card, key: f"{crc(card + key):b}", "equally far apart"),
        (lambda card, key: f"{(crc(card) + crc(key)) % 2**32}", "equally far apart"),
        (lambda card, key: f"{crc(card) * crc(key):x}", "equally far apart"),
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
    [result] = [each for each in lessons() if exercise in each.exercises]
    return result


def solved(exercise: str):
    """Return an answer of the course, the names of the lesson, and the text of usual mistakes."""
    scope, mistakes = lesson_of(exercise).solved(exercise)
    return scope[lesson_of(exercise).exercises[exercise]], scope, mistakes


@pytest.fixture(scope="module", autouse=True)
def elsewhere(tmp_path_factory):
    with contextlib.chdir(tmp_path_factory.mktemp("course")):
        yield


def test_the_lessons_take_three_hours_and_each_has_its_page():
    assert sum(each.minutes for each in lessons()) == 180
    assert [int(each.number) for each in lessons()] == [*range(1, len(LESSONS) + 1)]
    pages = {page.stem for page in (ROOT / "docs" / "course").glob("*.md")} - {"index", "own"}
    assert pages == {each.file.removesuffix(".ipynb") for each in lessons()}
    index = (ROOT / "docs" / "course" / "index.md").read_text(encoding="utf-8")
    for each in lessons():
        entry = rf"\[{re.escape(each.title)}\]\({each.file.removesuffix('.ipynb')}\.md\):[^[]*?"
        assert re.search(rf"{entry}{each.minutes}\s+minutes,\s+{len(each.exercises)}\s+exercises\.", index)


@pytest.mark.parametrize("name", LESSONS)
def test_a_lesson_has_its_parts(name):
    """A note for the teacher, exercises with hint, answer and mistakes in this order, and something to discuss."""
    opened_lesson = lesson(name)
    roles = [cell.role for cell in opened_lesson.cells if cell.role]
    talks = ["discuss", "notes"]
    assert roles[:3] == ["teacher", *talks]
    assert roles[-2:] == talks
    rest = [role for role in roles[1:] if role not in talks]
    assert rest == ["exercise", "hint", "answer", "mistakes"] * len(opened_lesson.exercises)
    assert len(opened_lesson.exercises) >= 2
    text = "\n".join(cell.text for cell in opened_lesson.cells)
    texts = [cell.text for cell in opened_lesson.cells if cell.role == "discuss"]
    assert "**Before you begin.**" in texts[0]
    assert all("**Discuss.**" in each for each in texts[1:])
    assert text.count("**Discuss.**") == len(texts) - 1
    assert all(each.startswith(f"{BOX}warning") and each.endswith("</div>") for each in texts)
    for cell in opened_lesson.cells:
        # Three looks: a student sees from afar what to do.
        assert cell.text.count("**Exercise.**") == cell.text.count(f'{BOX}success">\n\n**Exercise.**')
        assert (cell.role == "discuss") == (f"{BOX}warning" in cell.text)
    assert text.count("**Exercise.**") == len(opened_lesson.exercises)
    assert f'{BOX}info">\n\n**Read.**' in text
    assert [role for before, role in itertools.pairwise(roles) if before == "discuss"] == ["notes"] * len(
        texts
    )
    assert "**You can now**" in text
    for part in ("**Aim.**", "**Time.**", "**Watch for.**", "**Shorter.**", "**Longer.**"):
        assert part in opened_lesson.cells[1].text
    for stored, cell in zip(opened_lesson.document["cells"], opened_lesson.cells, strict=True):
        assert stored.get("outputs", []) == []
        assert (cell.role in {"teacher", "hint", "answer", "mistakes"}) == ("<details>" in cell.text)
        for linked in re.findall(r"\]\(([^)]+)\)", cell.text):
            # A copy lies in a folder of its own, beside other lessons at most.
            assert linked in {each.file for each in lessons()}


@pytest.mark.slow
@pytest.mark.parametrize("name", LESSONS)
def test_a_lesson_runs_whatever_names_an_answer_uses(name):
    """Students solve exercises in many ways: only the name of the answer is there afterwards."""
    opened_lesson, scope, drawn = lesson(name), {}, 0
    answers = iter(opened_lesson.exercises.values())
    for cell in opened_lesson.cells:
        before = set(scope)
        tree = ast.parse(cell.code)
        last = tree.body.pop() if tree.body and isinstance(tree.body[-1], ast.Expr) else None
        own = dict(scope) if cell.role == "answer" else scope
        with contextlib.redirect_stdout(io.StringIO()):
            exec(compile(tree, opened_lesson.file, "exec"), own)
            output = last and eval(compile(ast.Expression(last.value), opened_lesson.file, "eval"), own)
        drawn += hasattr(output, "to_json") and not hasattr(output, "iloc")
        if cell.role == "answer":
            answer = next(answers)
            scope[answer] = own[answer]
            assert set(scope) - before <= {answer}
    assert drawn == CHARTS[name]


@pytest.mark.slow
@pytest.mark.parametrize("is_solved", [True, False])
@pytest.mark.parametrize("name", LESSONS)
def test_a_lesson_runs_in_a_kernel(name, is_solved):
    """The cells run in order, solved or blank, without a stop, and pictures need no network."""
    opened_lesson, cells = lesson(name), []
    for cell in opened_lesson.cells:
        if cell.role == "exercise" and not is_solved:
            cells.append(cell.text)
        elif cell.role == "answer" and not is_solved:
            continue
        elif cell.role == "exercise":
            waiting = re.search(r"^check\(.*$", cell.text, re.MULTILINE)[0]
        elif cell.role == "answer":
            cells.append(f"{cell.code}\n{waiting}")
        elif cell.code:
            cells.append(cell.code)
    process = subprocess.run(
        [sys.executable, DRIVER], input=json.dumps(cells), capture_output=True, text=True, check=True
    )
    shown = [each for outputs in json.loads(process.stdout) for each in outputs]
    assert [kind for kind, _ in shown if kind == "error"] == []
    pictures = [data for _, data in shown if "image/svg+xml" in data]
    assert len(pictures) == CHARTS[name]
    assert not any("cdn." in str(data) for data in pictures)


def wrong_answer(exercise):
    """Return a wrong answer to an exercise, and the hint."""
    if exercise in WRONG:
        wrong, word = WRONG[exercise][0]
        return (wrong() if exercise == "your-release" else wrong), word
    _, scope, text = solved(exercise)
    _, code, word = _MISTAKE.findall(text)[0]
    return eval(code, scope), word


@pytest.mark.few(1)
@pytest.mark.parametrize("way", ["blank", "wrong", "right"])
@pytest.mark.parametrize("name", LESSONS)
def test_a_copy_without_answers_runs_to_its_end_in_three_ways(name, way, monkeypatch):
    """Whether exercises are left blank, or answered wrongly or rightly: each check says so, and nothing breaks."""
    monkeypatch.setattr("incrowd.course.checking._is_notebook", lambda: True)
    opened_lesson, scope, said = lesson(name), {}, []
    for cell in map(Cell.of_notebook, json.loads(opened_lesson.written(answers=False))["cells"]):
        [exercise] = re.findall(r'^check\("(.+?)"', cell.text, re.MULTILINE) or [""]
        printed = io.StringIO()
        with contextlib.redirect_stdout(printed):
            if exercise and way != "blank":
                answer, word = wrong_answer(exercise) if way == "wrong" else (solved(exercise)[0], "")
                scope[opened_lesson.exercises[exercise]] = answer
                exec(cell.text.splitlines()[-1], scope)
            elif cell.is_code:
                exec(cell.text, scope)
        if exercise:
            said.append(printed.getvalue())
            assert way == "wrong" or said[-1].startswith(
                {"blank": "Not answered yet: ", "right": "Right."}[way]
            )
            assert way != "wrong" or (said[-1].startswith("Not yet: ") and word in said[-1])
        else:
            assert ("goes on with an answer of its own" in printed.getvalue()) == (
                way != "right" and "= fallback(" in cell.text
            )
    assert len(said) == len(opened_lesson.exercises)


@pytest.mark.slow
def test_a_fallback_is_the_answer_itself_where_it_is_right(capsys):
    right, _, _ = solved("two-releases")
    mine = [set(each) for each in right]
    assert fallback("two-releases", mine) is mine
    assert capsys.readouterr().out == ""
    assert fallback("two-releases", ...) == right
    assert "until two-releases is right" in capsys.readouterr().out.lower()
    with pytest.raises(ParameterError, match="did you mean 'two-releases'"):
        fallback("two-release", mine)


def test_answers_that_break_are_named():
    """A function that raises an error, or an answer that no condition can be computed of, is a wrong answer."""
    with pytest.raises(NotYetError, match='raises KeyError for town, "pay"'):
        check("cut", lambda part, column: part[column + "?"])
    with pytest.raises(NotYetError, match="raises TypeError"):
        check("keyed-pseudonym", lambda card: card)
    with pytest.raises(NotYetError, match=r"give \(years, digits\)"):
        check("coarsen", (..., table("ward").age))
    with pytest.raises(NotYetError, match="something else"):
        check("cut", lambda part, column: [part[column], part])


def test_a_function_that_changes_its_table_is_judged_by_what_it_returns(capsys):
    cut, scope, _ = solved("cut")

    def own(part, column):
        halves = cut(part, column)
        part.loc[part.index[0], column] = 0
        return halves

    check("cut", own)
    assert capsys.readouterr().out == "Right.\n"
    assert len(scope["town"]) == 400


def test_a_word_is_explained_before_code_uses_it():
    """Suppression stands in the code of several lessons as an option."""
    cells = [cell for each in lessons() for cell in each.cells if cell.role != "teacher"]
    first = next(cell for cell in cells if "suppress" in cell.text)
    assert not first.is_code
    assert "*suppression*: the record of an unusual person is left out" in first.text


def test_the_two_conditions_of_the_law_are_in_the_first_lesson():
    text = "\n".join(cell.text for cell in lesson("identify").cells)
    assert "1. The person has given permission." in text
    assert "2. The data are changed so that nobody can determine whose they are." in text
    assert "recital 26" in text


def test_each_model_of_the_third_lesson_has_its_attack():
    text = "\n".join(cell.text for cell in lesson("by-hand").cells)
    for attack in ("homogeneity", "skewness", "similarity"):
        assert f"*{attack} attack*" in text
    _, scope, _ = solved("similarity-attack")
    t = readings.distance(rows_of(scope["twenties"]), rows_of(scope["ward"]))
    assert scope["gain"] == pytest.approx(float(t))


def test_ranges_and_means_are_of_the_same_classes():
    _, scope, _ = solved("anatomy-count")
    assert set(scope["quasi"]) <= set(scope["rows"])
    assert set(scope["rows"]) - {"group"} == set(scope["quasi"])
    ranges, means = scope["ranges"], scope["means"]
    assert ranges.groupby([*scope["quasi"]]).ngroups == means.groupby([*scope["quasi"]]).ngroups


@pytest.mark.few(3)
@pytest.mark.parametrize("name", EXERCISES)
def test_an_exercise_fails_until_it_is_solved(name, capsys):
    answer, scope, _ = solved(name)
    [cell] = [each for each in lesson_of(name).cells if each.role == "exercise" and f'"{name}"' in each.text]
    with pytest.raises(NotYetError, match="not answered yet"):
        exec(cell.text, dict(scope))
    assert capsys.readouterr().out == ""
    check(name, answer)
    assert capsys.readouterr().out == "Right.\n"


@pytest.mark.parametrize("name", quick([name for name in EXERCISES if name not in WRONG], "income-gap"))
def test_three_usual_mistakes_get_their_word(name):
    _, scope, text = solved(name)
    mistakes = _MISTAKE.findall(text)
    assert len(mistakes) >= 3
    for unless, code, word in mistakes:
        assert not unless
        with pytest.raises(NotYetError) as refused:
            check(name, eval(code, scope))
        assert str(refused.value) == word


@pytest.mark.parametrize("name", quick(WRONG, "coarsen"))
def test_mistakes_where_several_answers_are_right_get_their_word(name):
    assert len(WRONG[name]) >= 3
    for wrong, word in WRONG[name]:
        with pytest.raises(NotYetError) as refused:
            check(name, wrong() if name == "your-release" else wrong)
        assert word in str(refused.value)


def test_every_condition_of_those_is_tried():
    for name, wrong in WRONG.items():
        [text] = [
            cell.text
            for each, cell in lesson_of(name)._named_cells()
            if (each, cell.role) == (name, "mistakes")
        ]
        conditions = [word for unless, _, word in _MISTAKE.findall(text) if unless]
        assert conditions
        assert all(any(word in each for _, word in wrong) for each in conditions)


@pytest.mark.slow
def test_several_answers_are_right(capsys):
    check("coarsen", (5, 3))
    check("coarsen", (10, 4))
    check("keyed-pseudonym", lambda card, key: "p-" + digest(card, key))
    check("keyed-pseudonym", lambda card, key: hashlib.sha256((key + card).encode()).hexdigest())
    check("keyed-pseudonym", lambda card, key: str(int(digest(card, key), 16)))
    check("keyed-pseudonym", lambda card, key: base64.b64encode(digest(card, key).encode()).decode())
    assert capsys.readouterr().out == "Right.\n" * 6


@pytest.mark.slow
def test_another_release_and_a_rounded_distance_are_right(capsys):
    release = ic.anonymize(
        table("clinic"),
        ic.Schema(quasi=["age", "sex", "zip", "language"], sensitive=["illness"]),
        [ic.KAnonymity(6), ic.LDiversity(3)],
    )
    check("your-release", release.table)
    check("t-of-a-class", 0.27)
    assert capsys.readouterr().out == "Right.\n" * 2


@pytest.mark.parametrize("name", readings.FIGURES)
def test_answers_are_what_a_second_reading_finds(name):
    answer, _, _ = solved(name)
    second = readings.FIGURES[name]()
    assert answer == (pytest.approx(float(second)) if isinstance(second, readings.Fraction) else second)


def rows_of(frame) -> list[dict]:
    return frame.to_dict("records")


@pytest.mark.slow
def test_answers_about_releases_are_what_a_second_reading_finds():
    answer, scope, _ = solved("people-asked")
    assert answer == readings.people_asked(rows_of(scope["rows"]))
    answer, scope, _ = solved("asthma-by-group")
    assert answer == pytest.approx(
        {group: float(share) for group, share in readings.asthma_by_group(rows_of(scope["values"])).items()}
    )
    answer, scope, _ = solved("anatomy-count")
    assert answer == pytest.approx(
        float(readings.anatomy_count(rows_of(scope["rows"]), rows_of(scope["values"])))
    )
    answer, scope, _ = solved("range-count")
    assert answer == pytest.approx(float(readings.range_count(rows_of(scope["ranges"]))))
    answer, scope, _ = solved("suppressed-by-race")
    assert answer == readings.suppressed_by_race(rows_of(scope["census"]), rows_of(scope["released"]))
    assert {race for race, share in answer.items() if share} == {"Amer-Indian-Eskimo", "Other"}
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


@pytest.mark.slow
def test_a_released_table_is_what_a_second_reading_finds():
    release, scope, _ = solved("released-table")
    parts = scope["rounds"][-1]
    second = readings.released_table([rows_of(part) for part in parts])
    assert sorted(map(str, rows_of(release(parts)))) == sorted(map(str, second))


def test_cuts_are_what_a_second_reading_finds():
    cut_values, scope, _ = solved("cut-values")
    for column in ("zip", "language", "sex"):
        first, other = cut_values(scope["town"], column)
        values = sorted({row[column] for row in readings.TOWN})
        assert set(first[column]) == set(values[: len(values) // 2])
        assert len(first) + len(other) == 400
    cut, scope, _ = solved("cut")
    town = scope["town"]
    for part in (town, town[:7], town[town.zip == "4202"], town[:1]):
        for column in ("age", "pay"):
            halves_of_rows = tuple(set(half.index) for half in cut(part, column))
            assert halves_of_rows == readings.halves(list(part[column].items()))


@pytest.mark.slow
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
        result = release.table.assign(name=scope["town"].name).groupby(["age", "pay"]).name.agg(frozenset)
        assert release.privacy.classes == len(scope["results"][name])
        assert set(result) == {frozenset(part.name) for part in scope["results"][name]}


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
    def broken_off(*_):
        raise KeyboardInterrupt

    lessons.cache_clear()
    monkeypatch.setattr("incrowd.course.pictures.require_extra", broken_off)
    with pytest.raises(KeyboardInterrupt):
        check("runners-found", {})
    monkeypatch.undo()
    with pytest.raises(NotYetError, match="somebody is found"):
        check("runners-found", {})


@pytest.mark.slow
def test_bars_have_upright_names_and_a_limit_that_is_said():
    before = {"the neighbour who knows": 1, "[27-29]": 4}
    drawn = svg_for_pages(bars({"before": before, "after": {"a": 3}}, "rows", percent=False, line=2))
    assert drawn.count("<svg") == 2
    assert not re.search(r"rotate\((-40|-90|320|270)[^)]*\)[^>]*>(\[27|the n)", drawn)
    assert drawn.count(">limit 2<") == 2
    # Both sides have one scale, in whole numbers.
    for side in drawn.split("<svg")[1:]:
        assert ">4<" in side
        assert ">0.5<" not in side


def test_a_course_without_pandas_says_how_to_get_it(monkeypatch):
    monkeypatch.setattr("incrowd.core.errors.find_spec", lambda _: None)
    with pytest.raises(MissingExtraError, match=r"needs pandas: pip install '\.\[course\]'"):
        table("town")


def test_the_tables_are_of_the_same_people():
    town, clinic, runners = table("town"), table("clinic"), table("runners")
    columns = ["age", "sex", "zip", "language", "illness"]
    assert sorted(map(tuple, town[columns].to_numpy())) == sorted(map(tuple, clinic.to_numpy()))
    assert not town[columns].equals(clinic)
    assert (len(town), len(runners), len(table("ward")), len(table("census"))) == (400, 15, 15, 48_842)
    assert town.name.is_unique
    assert town.card.is_unique
    assert set(runners.name) <= set(town.name)


def test_a_wrong_answer_is_one_line_in_a_notebook_and_the_next_runs(capsys):
    from IPython.core.interactiveshell import InteractiveShell

    shell = InteractiveShell.instance()
    try:
        shell.run_cell('from incrowd.course import check\ncheck("alone", 23)\nprint("next")')
    finally:
        InteractiveShell.clear_instance()
    assert capsys.readouterr().out == "Not yet: that is by age and sex alone; add the zip code\nnext\n"
