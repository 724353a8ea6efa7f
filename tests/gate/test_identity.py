"""Ids of people and columns with such names: a single rule for release and verifier, in all languages."""

from __future__ import annotations

import random
from typing import Any

import numpy as np
import polars as pl
import pytest

import incrowd as ic
from incrowd_gate.rules.identity import personal_word
from incrowd_gate.words import languages
from incrowd_gate.words.meanings import find_word

pytestmark = pytest.mark.gated

PEOPLE, ROWS = 100, 400
RNG = np.random.default_rng(3)
LIKE = {
    "emp_no": lambda p: f"{40_000 + 37 * p}",
    "bib_num": lambda p: f"{100 + p}",
    "trabajador": lambda p: f"T{p:04}",
    "患者番号": lambda p: f"{p:05}",
    "пациент": lambda p: f"{1000 + p}",
    "código_paciente": lambda p: f"C-{p:04}",
    "Kundennummer": lambda p: f"{70_000 + p}",
    "numéro d'assuré": lambda p: f"{p:06}",
    "學生編號": lambda p: f"S{p:04}",
    "رقم_المريض": lambda p: f"{5000 + p}",
    "hash": lambda p: f"{p * 2654435761 % 2**32:08x}",
    "subjid": str,
}
"""Keys of people with four rows each."""
HARMLESS = {
    "visit_time": lambda p: f"{7 + p % 12:02}:{5 * (p % 12):02}",
    "yob2": lambda p: f"{50 + p % 50}",
    "model_year": lambda p: str(1980 + p % 40),
    "pressure": lambda p: f"{100 + p % 60}/{60 + p % 40}",
    "icd_code": lambda p: f"{'ABCDE'[p % 5]}{p % 20:02}.{p % 9}",
    "product_id": lambda p: f"P{p:04}",
    "cls_students": lambda p: str(20 + p % 30),
    "price": lambda p: f"{p * 1.37:.2f}",
    "day": lambda p: f"2024-{1 + p % 12:02}-{1 + p % 28:02}",
}


def table_of(name: str, value: Any, rows: int = ROWS) -> pl.DataFrame:
    people = [row % PEOPLE for row in range(rows)]
    # What never changes of a person would tell a key; a harmless column is of no person.
    sexes = RNG.choice(["m", "f"], rows) if name in HARMLESS else ["mf"[p % 2] for p in people]
    return pl.DataFrame(
        {
            name: [value(p) for p in people],
            "age": [20 + p % 40 for p in people],
            "sex": sexes,
            "ill": RNG.choice(list("abcd"), rows),
        }
    )


def both(tmp_path: Any, table: pl.DataFrame, policy: ic.Policy) -> tuple[ic.Verdict, ic.Verdict]:
    """Return the verdicts of the release and of the verifier."""
    release = ic.anonymize(table, policy, unanswered="write")
    release.save(tmp_path / "out", force=True)
    table.write_csv(tmp_path / "raw.csv")
    verified = ic.verify(
        next((tmp_path / "out").glob("release.csv")),
        tmp_path / "out" / "policy.toml",
        against=tmp_path / "raw.csv",
        row_map=tmp_path / "out" / "internal" / "rows.parquet",
    )
    return release.verdict, verified.verdict


def policy_with(role: str, name: str) -> ic.Policy:
    beside = {role: [name]} if role != "sensitive" else {}
    sensitive = ["ill", name] if role == "sensitive" else ["ill"]
    schema = ic.Schema(
        quasi={"age": ic.Hierarchy.intervals(10, 20), "sex": None}, sensitive=sensitive, **beside
    )
    return ic.Policy(schema, [ic.KAnonymity(5), ic.LDiversity(2)])


@pytest.mark.few(1)
@pytest.mark.parametrize("name", LIKE)
def test_a_key_of_people_is_asked_about_by_both(name, tmp_path):
    result, verified = both(tmp_path, table_of(name, LIKE[name]), policy_with("identifying", name))
    assert ("repeated-id", (name,)) in {(point.name, point.columns) for point in result.points}
    assert verified == result


@pytest.mark.few(1)
@pytest.mark.parametrize("name", HARMLESS)
def test_what_is_no_key_is_asked_about_by_neither(name, tmp_path):
    result, verified = both(tmp_path, table_of(name, HARMLESS[name]), policy_with("identifying", name))
    assert [point.name for point in result.points] == []
    assert verified == result


@pytest.mark.few(2)
@pytest.mark.parametrize("seed", range(12))
def test_names_of_all_languages_are_read_alike(seed, tmp_path):
    """Words of every list, alone and joined, and random words: release and verifier agree."""
    draw = random.Random(seed)
    lists = ("people", "ids", "things", "personal", "names", "neutral", "sensitive")
    words = [word.strip("*") for each in languages() for kind in lists for word in each.lists[kind]]
    random_word = "".join(draw.choices("abcdefghijklmnopqrstuvwxyzäéжя漢", k=draw.randrange(3, 9)))
    names = {draw.choice(["_", " ", ""]).join(draw.choices([*words, random_word], k=draw.randrange(1, 4)))
             for _ in range(5)}  # fmt: skip
    table = table_of("age2", str)
    for name in names:
        values = draw.choice([*LIKE.values(), *HARMLESS.values()])
        table = table.with_columns(pl.Series(name, [values(row % PEOPLE) for row in range(ROWS)]))
    others = [name for name in table.columns if name not in ("age", "sex", "ill")]
    role = {name: draw.choice(["identifying", "insensitive", "sensitive"]) for name in others}
    schema = ic.Schema(
        quasi={"age": ic.Hierarchy.intervals(10, 20), "sex": None},
        sensitive=["ill", *(name for name in others if role[name] == "sensitive")],
        insensitive=[name for name in others if role[name] == "insensitive"],
        identifying=[name for name in others if role[name] == "identifying"],
    )
    result, verified = both(tmp_path, table, ic.Policy(schema, [ic.KAnonymity(5)]))
    assert [point.sentence() for point in verified.points] == [point.sentence() for point in result.points]


# --- columns that are called as what names a person ---------------------------------------------------

CALLED = {
    "name": ["Ann Ash", "Bob Bell", "Cid Cole"],
    "surname": ["Ash", "Bell", "Cole"],
    "이름": ["민수", "영희", "철수"],
    "Vorname": ["Anna", "Ben", "Carla"],
    "имя": ["Анна", "Борис", "Вера"],
    "nombre_paciente": ["Ana", "Luis", "Eva"],
    "IMSI": [f"26207{p:010}" for p in range(100)],
    "imei": [f"49015420323{p:04}" for p in range(100)],
    "passport_no": [f"X{p:07}" for p in range(100)],
    "cookie": [f"{p * 7919:032x}" for p in range(100)],
    "medallion": [f"{p % 10}{'ABCDEFGHIJ'[p // 10]}{p % 90 + 10}" for p in range(100)],
    "hack_license": [f"{400_000 + p}" for p in range(100)],
    "meter id": [f"M-{p:06}" for p in range(100)],
    "x1": [f"@user_{p}" for p in range(100)],
    "x2": [f"52.{5000 + p}, 13.{4000 + p}" for p in range(100)],
}
HARMLESSLY_CALLED = {
    "drug_name": ["aspirin", "ibuprofen", "codein"],
    "email_opt_in": ["yes", "no", "yes"],
    "phone_calls": [str(p % 12) for p in range(100)],
    "license": ["A", "B", "C1"],
    "street_count": [str(p % 60) for p in range(100)],
    "mobile": ["true", "false", "true"],
    "url_category": ["news", "sports", "games"],
    "country_name": ["Chad", "Cuba", "Peru"],
    "passport": ["yes", "no", "no"],
}


def release_with(name: str, values: list[str], role: str | None) -> ic.Release:
    table = table_of(name, lambda p: values[p % len(values)])
    beside = {} if role is None or role == "sensitive" else {role: [name]}
    sensitive = ["ill", name] if role == "sensitive" else ["ill"]
    schema = ic.Schema(
        quasi={"age": ic.Hierarchy.intervals(10, 20), "sex": None},
        sensitive=sensitive,
        unlisted="keep" if role is None else None,
        **beside,
    )
    return ic.anonymize(table, ic.Policy(schema, [ic.KAnonymity(5)]), unanswered="write")


@pytest.mark.few(3)
@pytest.mark.parametrize("role", ["insensitive", "sensitive", None])
@pytest.mark.parametrize("name", CALLED)
def test_what_names_a_person_is_a_point_whatever_its_role(name, role):
    points = {(point.name, point.columns) for point in release_with(name, CALLED[name], role).points}
    assert ("named-identifier", (name,)) in points


@pytest.mark.few(3)
@pytest.mark.parametrize("name", HARMLESSLY_CALLED)
def test_what_only_sounds_so_is_none(name):
    points = release_with(name, HARMLESSLY_CALLED[name], "insensitive").points
    assert "named-identifier" not in {point.name for point in points}


def test_a_treated_column_is_none():
    table = table_of("surname", lambda p: ["Ash", "Bell", "Cole"][p % 3])
    schema = ic.Schema(
        quasi=["sex"], sensitive=["ill"], insensitive=["surname"], unlisted="drop",
        treatments={"surname": "random-numbers"},
    )  # fmt: skip
    release = ic.anonymize(table, ic.Policy(schema, [ic.KAnonymity(5)]), unanswered="write")
    assert "named-identifier" not in {point.name for point in release.points}


def test_a_house_is_told_by_its_coordinates():
    """A latitude with three decimals or more tells a house, and a latitude with a single decimal a region."""
    for decimals, told in ((5, True), (1, False)):
        values = [round(52.3 + p * 0.00731, decimals) for p in range(PEOPLE)]
        table = table_of("lat", lambda p, values=values: values[p])
        schema = ic.Schema(quasi=["sex"], sensitive=["ill"], insensitive=["lat"], unlisted="drop")
        release = ic.anonymize(table, ic.Policy(schema, [ic.KAnonymity(5)]), unanswered="write")
        assert ("named-identifier" in {point.name for point in release.points}) == told


def test_a_language_has_a_word_for_names():
    for language in languages():
        word = language.lists["personal"][0].strip("*")
        assert find_word("personal", word)
        assert personal_word(word)
