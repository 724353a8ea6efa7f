"""Words of columns' names in every language: each file is listed and complete, each word is recognized."""

from __future__ import annotations

from importlib.resources import files

import numpy as np
import polars as pl
import pytest

from incrowd.release.jobs.compare.draft import draft_policy
from incrowd_gate.words import LANGUAGES, languages
from incrowd_gate.words.meanings import find_word, special_category, subject_of, tokens

HEADINGS = {
    # surname, sex, age, diagnosis, postal code, income
    "Chinese, traditional": "姓名 性別 年齡 診斷 郵遞區號 年收入",
    "Chinese, simplified": "姓名 性别 年龄 诊断 邮政编码 工资",
    "Japanese": "氏名 性別 年齢 病名 郵便番号 年収",
    "Korean": "성명 성별 나이 진단명 우편번호 소득",
    "Arabic": "اللقب الجنس العمر التشخيص الرمز_البريدي الدخل",
    "Hebrew": "שם_משפחה מין גיל אבחנה מיקוד הכנסה",
    "Russian": "Фамилия Пол Возраст Диагноз Почтовый_индекс Доход",
    "Ukrainian": "Прізвище Стать Вік Діагноз Поштовий_індекс Дохід",
    "Polish": "nazwisko płeć wiek rozpoznanie kod_pocztowy dochód",
    "Czech": "příjmení pohlaví věk diagnóza PSČ příjem",
    "Dutch": "achternaam geslacht leeftijd diagnose postcode inkomen",
    "Portuguese": "sobrenome sexo idade diagnóstico CEP salário",
    "Italian": "cognome sesso età diagnosi codice_postale reddito",
    "French": "prénom sexe âge diagnostic code_postal salaire",
    "Turkish": "soyadı cinsiyet yaş tanı posta_kodu gelir",
    "Swedish": "efternamn kön ålder diagnos postnummer inkomst",
    "German": "Nachname Geschlecht Lebensalter Hauptdiagnose PLZ Jahreseinkommen",
    "English": "surname sex age diagnosis zip income",
    "Spanish": "apellidos sexo edad diagnóstico código_postal salario",
}


def test_every_file_of_the_folder_is_listed_and_has_every_list():
    stored = {item.name for item in files("incrowd_gate.words").iterdir() if item.name.endswith(".toml")}
    assert stored == {f"{code}.toml" for code in LANGUAGES}
    subjects = [(set(language.about), set(language.special)) for language in languages()]
    assert all(each == subjects[0] for each in subjects)
    for language in languages():
        empty = [name for name, words in language.lists.items() if not words]
        assert set(empty) <= {"weights", "sampling"}, language.name
        assert all(language.sexes), language.name


@pytest.mark.parametrize("language", HEADINGS)
def test_usual_headings_are_known_in_every_language(language):
    surname, sex, age, diagnosis, postal, income = HEADINGS[language].split()
    assert find_word("personal", surname)
    assert (subject_of(sex), subject_of(age), subject_of(postal)) == ("sex", "age", "place")
    assert find_word("postal", postal)
    assert find_word("sensitive", diagnosis)
    assert find_word("sensitive", income)


@pytest.mark.few(2)
@pytest.mark.parametrize("language", HEADINGS)
def test_no_draft_generalizes_or_releases_names_in_any_language(language):
    rng = np.random.default_rng(3)
    surname, sex, age, diagnosis, _, _ = HEADINGS[language].split()
    rows = 400
    table = pl.DataFrame(
        {
            surname: rng.choice(["Aa", "Bb", "Cc"], rows), sex: rng.choice(["x", "y"], rows),
            age: rng.integers(0, 90, rows), diagnosis: rng.choice(["k", "l"], rows),
        }
    )  # fmt: skip
    draft = draft_policy(table, "t", ask=False)
    assert draft.having("identifying") == [surname]
    assert draft.having("quasi") == [sex, age]
    assert draft.having("sensitive") == [diagnosis]


@pytest.mark.parametrize(
    ("name", "words"),
    {
        "患者ID番号": ["患者", "id", "番号"],
        "ДатаРождения": ["дата", "рождения"],
        "الاسم الكامل": ["اسم", "كامل"],
        "płećPacjenta": ["plec", "pacjenta"],
        "カナダ": ["カナダ"],
        "毒性": ["毒性"],
        "생년월일2": ["생년월일"],
        "Ёлка": ["елка"],
        "районГорода": ["район", "города"],
    }.items(),
)
def test_names_of_every_script_are_divided_into_words(name, words):
    assert tokens(name) == words


@pytest.mark.parametrize(
    ("name", "list_of"),
    [
        ("Hauptdiagnose", "sensitive"), ("Nebendiagnosen", "sensitive"), ("Jahreseinkommen", "sensitive"),
        ("Versicherungsnummer", "personal"), ("Fallnummer", "ids"), ("Untersuchungsbefund", "sensitive"),
    ],
)  # fmt: skip
def test_german_compounds_are_known_by_their_end(name, list_of):
    assert find_word(list_of, name)


@pytest.mark.parametrize(
    ("men", "women"),
    [("м", "ж"), ("мужской", "женский"), ("男", "女"), ("ч", "ж"), ("남", "여"), ("ذكر", "أنثى"), ("זכר", "נקבה"),
     ("k", "m"), ("v", "m"), ("männlich", "weiblich"), ("Homme", "Femme")],
)  # fmt: skip
def test_sexes_are_known_by_their_values(men, women):
    table = pl.DataFrame({"x7": [men, women] * 50, "y7": ["d", "g"] * 50})
    x7, y7 = draft_policy(table, "t").guesses
    assert (x7.role, "the values are sexes" in x7.reason, y7.role) == ("quasi", True, "?")


def test_letters_of_two_languages_are_no_sexes():
    """Turkish e and k, Dutch v, English f: of the grades a to k none says a sex."""
    table = pl.DataFrame({"grade": [*"abcdefk"] * 20})
    assert draft_policy(table, "t").guesses[0].role == "?"


@pytest.mark.parametrize(
    ("name", "category"),
    {
        "blood_pressure": "health", "Blutdruck": "health", "has_diabetes": "health", "喫煙": "health",
        "sexual_orientation": "sexual orientation", "Konfession": "religion", "S6_religion": "religion",
        "genotype": "genetic or biometric data", "trade_union": "union membership",
        "Gewerkschaftsmitglied": "union membership", "visa_status": "immigration or ethnic origin",
        "foreign_born": "immigration or ethnic origin", "arrests": "criminal records", "судимость": "criminal records",
        "支持政党": "political opinions",
    }.items(),
)  # fmt: skip
def test_special_categories_of_the_law_are_known(name, category):
    result = special_category(name)
    assert result is not None
    assert result[0] == category


def test_short_words_do_not_come_together_by_chance():
    assert special_category("T1B") is None
    assert special_category("tb_test") is not None
