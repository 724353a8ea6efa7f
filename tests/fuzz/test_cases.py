"""Every case that ever failed, and a few random cases, are tried again with every run of the suite."""

from __future__ import annotations

import json
import multiprocessing
import time
from collections import Counter
from pathlib import Path

import pytest

from crossed import quick
from database_tables import mysql_url
from fuzz.checks import QUICK, again, run
from fuzz.crowds import ABOUT, has_persons, rows_of_people
from fuzz.draw import CASELESS, SERVERS, SOURCES, SPELLED, STORED, TYPED_NULLS, Draw, Stored, spelling_of
from fuzz.run import Limits, main
from fuzz.sources import Services
from incrowd.measures.privacy import MODELS
from incrowd.search import ALGORITHMS

CASES = sorted((Path(__file__).parent / "cases").glob("*.json"))
HERE = [name for name in SOURCES if name not in SERVERS]


@pytest.fixture
def services(tmp_path, request):
    """The services for the case of a test."""
    result = Services(tmp_path)
    source = json.loads(request.getfixturevalue("path").read_text())["case"]["source"]
    if source == "postgresql":
        result.urls[source] = request.getfixturevalue("postgres")
    if source == "mysql":
        result.urls[source] = mysql_url()
    if source == "spark":
        result.spark = request.getfixturevalue("spark")
    return result


@pytest.mark.parametrize("path", CASES[::36], ids=lambda path: path.stem)
def test_what_failed_once_does_not_fail_again(path, services, monkeypatch):
    """Some cases, by failed check: few were scripts, and some need no second release."""
    failed = json.loads(path.read_text())
    if not failed["finding"].startswith("script"):
        monkeypatch.setattr(again, "scripted", lambda *given: ())
    result = run(failed["case"], services, thorough=not failed["finding"].startswith(QUICK))
    assert result.findings == []


@pytest.mark.slow
@pytest.mark.parametrize("path", CASES, ids=lambda path: path.stem)
def test_what_failed_once_passes_every_check(path, services):
    assert run(json.loads(path.read_text())["case"], services).findings == []


@pytest.mark.slow
def test_no_draw_is_wasted_on_a_null_value_that_is_always_refused():
    """``*`` means suppressed, and no null value may be ``*``."""
    draw = Draw(1, ["k-anonymity"], ["mondrian"], HERE, Counter())
    drawn = Counter(text for _ in range(1200) for text in draw.case()["null_values"])
    assert "*" not in drawn
    assert {text for texts in TYPED_NULLS.values() for text in texts} <= set(drawn)


def test_spelled_columns_are_drawn_for_every_place_and_most_can_be_read():
    draw = Draw(2, MODELS.names(), ALGORITHMS.names(), list(SOURCES), Counter())
    told, read = set(), Counter()
    for number in range(200):
        for column in draw.case(SOURCES[number % len(SOURCES)])["columns"]:
            spelling = spelling_of(column)
            if spelling is not None:
                told |= {(SOURCES[number % len(SOURCES)], column["type"])}
                read.update(spelling.plain(cell) is not None for cell in column["cells"] if cell is not None)
    assert {kind for _, kind in told} == set(SPELLED)
    assert {source for source, _ in told} == set(SOURCES)
    assert read[True] > 10 * read[False] > 0


def test_databases_that_ignore_case_get_no_names_that_differ_by_it_alone():
    differing = Counter()
    for source in ("polars", *CASELESS):
        draw = Draw(3, MODELS.names(), ALGORITHMS.names(), list(SOURCES), Counter())
        for _ in range(1500):
            names = draw.names(source)
            differing[source] += len({name.lower() for name in names}) < len(names)
    assert differing["polars"] > 0
    assert [differing[source] for source in CASELESS] == [0] * len(CASELESS)


@pytest.mark.slow
def test_types_of_databases_are_drawn_for_columns_and_people_that_they_can_hold():
    drawn, people = set(), set()
    for source in STORED:
        draw = Draw(6, MODELS.names(), ALGORITHMS.names(), list(SOURCES), Counter(), people=1.0)
        for case in (draw.case(source) for _ in range(150)):
            assert has_persons(case)
            for column in case["columns"]:
                if "stored" in column:
                    assert STORED[source][column["stored"]].holds(column)
                    (people if column["role"] == "person" else drawn).add((source, column["stored"]))
    every = {(source, name) for source, types in STORED.items() for name in types}
    assert drawn == every
    assert people >= {(source, name) for source, name in every if name in ("caseless", "nopad", "varchar")}


@pytest.mark.parametrize(
    ("sql", "cells"),
    [
        ("char(2)", ["abc"]),
        ("ENUM", ["a "]),
        ("ENUM", [""]),
        ("ENUM", [None]),
        ("text", ["a\0"]),
        ("latin", ["\u0151"]),
    ],
)
def test_a_type_holds_no_cell_that_it_would_change(sql, cells):
    kind = Stored(sql, longest=2, encoding="latin-1")
    assert kind.holds({"type": "text", "cells": ["a", None]})
    assert not kind.holds({"type": "text", "cells": cells})


@pytest.mark.slow
@pytest.mark.parametrize("seed", quick([4, 8, 12, 16], 4))
def test_random_cases_hold(seed, tmp_path):
    services = Services(tmp_path)
    met: Counter = Counter()
    draw = Draw(seed, MODELS.names(), ALGORITHMS.names(), HERE, met)
    released = 0
    for tried in range(20):
        if tried >= 4 and released:
            break
        outcome = run(draw.case(draw.rarest("source", HERE)), services)
        assert outcome.findings == []
        met.update(outcome.met)
        released += outcome.status == "released"
    assert released >= 1


def test_every_model_and_algorithm_is_drawn():
    draw = Draw(0, MODELS.names(), ALGORITHMS.names(), HERE, Counter())
    cases = [draw.case() for _ in range(300)]
    drawn = {model["model"] for case in cases for model in case["models"]}
    assert drawn == set(MODELS.names())
    assert {case["algorithm"]["name"] for case in cases} == set(ALGORITHMS.names())


@pytest.mark.slow
def test_people_are_drawn_for_every_place_with_several_rows_and_one_and_attackers_with_them():
    met = Counter({("person", source): 1 for source in SOURCES})
    draw = Draw(5, MODELS.names(), ALGORITHMS.names(), list(SOURCES), met)
    cases = [draw.case(SOURCES[number % len(SOURCES)]) for number in range(1100)]
    named = [case for case in cases if has_persons(case)]
    assert 0.25 < len(named) / len(cases) < 0.4
    assert {case["source"] for case in named} == set(SOURCES)
    most = Counter(max(rows_of_people(case).values()) for case in named)
    assert most[1] > 10
    assert set(range(1, 7)) <= set(most)
    columns = Counter(sum(column["role"] == "person" for column in case["columns"]) for case in named)
    assert columns.keys() == {1, 2}
    missing = [c for case in named for c in case["columns"] if c["role"] == "person" and None in c["cells"]]
    assert {column["type"] for column in missing} >= {"text", "int", "float"}
    assert any(
        null in column["cells"]
        for case in named
        for column in case["columns"]
        if column["role"] == "person"
        for null in case["null_values"]
    )
    attackers = [attacker for case in cases for attacker in case.get("attackers", [])]
    assert {len(case.get("attackers", [])) for case in cases} == {0, 1, 2}
    assert {model["model"] for attacker in attackers for model in attacker["models"]} == set(ABOUT)
    assert {len(attacker["knows"]) for attacker in attackers} >= {1, 2, 3}


def test_people_are_known_by_every_number_of_rows():
    draw = Draw(0, ["k-anonymity", "km-anonymity"], ["optimal"], HERE, Counter(), people=1.0)
    cases = [draw.case() for _ in range(150)]
    powers = {model["power"] for case in cases for model in case["models"] if "power" in model}
    assert powers == {0, 1, 2, 3}


def test_a_run_ends_after_its_cases_or_when_its_time_is_over():
    clock, left = multiprocessing.Value("d", time.time() + 60), multiprocessing.Value("q", 2)
    limits = Limits(clock, left, "spark")
    assert [limits.take_case() for _ in range(4)] == [True, True, False, False]
    left.value = -1
    assert [limits.take_case() for _ in range(4)] == [True] * 4
    clock.value = time.time() - 1
    assert not limits.take_case()


@pytest.mark.slow
def test_a_run_of_one_engine_draws_its_cases_alone(capsys):
    assert main(["--engine", "sqlite", "--cases", "8", "--processes", "1", "--seed", "1", "--no-save"]) == 0
    output = capsys.readouterr().out
    assert "fuzzing for 8 cases of sqlite in 1 processes; SEED=1" in output
    assert "\n8 cases in " in output
    [met] = [line for line in output.splitlines() if line.startswith("frames, files and engines: ")]
    assert met.removeprefix("frames, files and engines: ").split()[0] == "sqlite"
    assert "," not in met.partition(": ")[2]
