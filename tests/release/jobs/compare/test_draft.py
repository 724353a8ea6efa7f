"""Drafts of policies: facts from names and values of columns, and open questions."""

from __future__ import annotations

import math
import tomllib
from fractions import Fraction
from pathlib import Path

import numpy as np
import polars as pl
import pytest

import incrowd as ic
from incrowd.core.io.files import read_table
from incrowd.release.jobs.compare.draft import Draft, draft_policy

ROWS = 2_000
RNG = np.random.default_rng(5)
IDS = np.repeat(np.arange(ROWS // 2), 2)


def drafted(**columns: object) -> dict[str, dict[str, object]]:
    """Return the columns' tables of a draft."""
    return dict(tomllib.loads(draft_of(**columns).text)["columns"])


def draft_of(**columns: object) -> Draft:
    return draft_policy(pl.DataFrame(columns), "people.csv")


def roles(**columns: object) -> dict[str, object]:
    """Return the roles; a question about several columns is a question about each."""
    return {name: str(entry["role"]).rstrip("0123456789") for name, entry in drafted(**columns).items()}


def texts(form: str, numbers: object) -> list[str]:
    return [form.format(number) for number in np.asarray(numbers).tolist()]


def some(*values: object) -> list[object]:
    return [values[place] for place in RNG.integers(0, len(values), ROWS)]


@pytest.mark.few(2)
@pytest.mark.parametrize(
    ("name", "values"),
    {
        "USUBJID": texts("GT{:04}", IDS),
        "patient_nbr": texts("{}", IDS * 37 + 9),
        "Kundennummer": texts("K{:05}", IDS),
        "subject_id": texts("{}", IDS + 1),
        "patient": texts("P{}", IDS // 40),
        "x7": texts("AB-{:06}", IDS * 13 + 5),
    }.items(),
)
def test_an_id_that_repeats_says_whose_row_it_is(name, values):
    draft = draft_of(**{name: values, "age": RNG.integers(0, 90, ROWS)})
    assert draft.having("person") == [name]
    assert draft.repeated == []
    assert "people are counted, not rows" in draft.text
    assert f"# k counts people: each {name!r} once" in draft.text


def test_of_several_ids_that_repeat_the_one_of_people_says_whose_row_it_is():
    twice, codes = texts("{}", IDS * 37 + 9), texts("AB-{:06}", IDS * 13 + 5)
    draft = draft_of(patient_nbr=twice, x7=codes)
    assert (draft.having("person"), draft.repeated) == (["patient_nbr"], ["x7"])
    # With one value each per other they are one person, and else nobody can tell.
    same, others = IDS * 11 + 5, RNG.permutation(IDS) * 11 + 5
    assert draft_of(x6=texts("CD-{:06}", same), x7=codes).having("person") == ["x6"]
    draft = draft_of(x6=texts("CD-{:06}", others), x7=codes)
    assert draft.having("?") == draft.repeated == ["x6", "x7"]
    assert "whose row it is (person), or of something else" in draft.text
    assert draft_of(patient_nbr=twice, customer_id=texts("{}", same)).having("person") == ["patient_nbr"]
    draft = draft_of(patient_nbr=twice, customer_id=texts("{}", others))
    assert draft.having("?") == ["patient_nbr", "customer_id"]


@pytest.mark.parametrize(
    ("name", "values"),
    {
        "Nachname": some("Huber", "Maier", "Koch"),
        "fake_first_name": some("Ann", "Bob", "Cy"),
        "correo": texts("p{}@example.org", IDS),
        "encounter_id": texts("{}", np.arange(ROWS) * 7 + 3),
        "q": texts("GT{:04}", np.arange(ROWS)),
        "v1": texts("{}", np.arange(1, ROWS + 1)),
        "k1": texts("p{}@example.org", IDS // 40),
        "k2": texts("+43 (1) 555 {:04}", IDS // 40),
        "k3": texts("10.0.3.{}", IDS % 200),
        "k4": texts("123-45-{:04}", IDS // 40),
        "k5": texts("AT61 1904 3002 3457 {:04}", IDS // 40),
    }.items(),
)
def test_identifiers_by_name_or_by_values(name, values):
    draft = draft_of(**{name: values})
    assert draft.having("identifying") == [name]
    assert draft.repeated == []


def test_what_neither_name_nor_values_tell_is_a_question():
    asked = roles(
        admission_type_id=some("1", "2", "6"),
        clinic_name=some("ward a", "ward b"),
        amount=RNG.normal(100, 20, ROWS),
        metformin=some("No", "Up", "Steady"),
        study=["GT01"] * ROWS,
        job_req_any=some(0, 1),
        hours=RNG.integers(1, 99, ROWS),
        total_personal_gain=RNG.integers(1, 9_000, ROWS),
        subject=texts("History of {}", IDS),
        reviews=texts("many rare words {}", RNG.integers(0, 1_500, ROWS)),
    )
    assert set(asked.values()) == {"?"}


def test_what_others_know_is_recognized_in_several_languages_and_by_values():
    known = roles(
        Geburtsdatum=["1980-01-02", "1981-03-04"] * (ROWS // 2),
        sexo=some("a", "b"),
        codice=some("m", "f"),
        c3=some("single", "married", "divorced"),
        c4=some("Germany", "France", "Italy"),
        ville=some("Lyon", "Lille"),
        profissao=some("medico", "juiz"),
        Staatsangehörigkeit=some("AT", "DE"),
        edad=RNG.integers(0, 90, ROWS),
        titolo_istruzione=some("laurea", "diploma"),
        race_general=some("A", "B"),
    )
    assert set(known.values()) == {"quasi"}, known


def test_free_text_is_dropped_with_the_reason():
    notes = texts("the patient of room {} said that it hurts at night", np.arange(ROWS))
    draft = draft_of(remarks=notes)
    assert draft.having("identifying") == ["remarks"]
    assert "free text, which may name people" in draft.text


def test_every_quasi_identifier_of_numbers_dates_or_codes_gets_a_recipe():
    result = drafted(
        age=RNG.integers(0, 95, ROWS),
        lat=RNG.normal(45, 0.1, ROWS),
        birth_date=texts("19{:02}-01-02", RNG.integers(30, 99, ROWS)),
        zip=texts("{:05}", RNG.integers(0, 400, ROWS)),
        children=RNG.integers(0, 3, ROWS),
        sex=some("m", "f"),
    )
    assert {name: entry.get("hierarchy") for name, entry in result.items()} == {
        "age": {"intervals": [5, 10, 20, 40]},
        "lat": {"intervals": [0.02, 0.04, 0.08, 0.16]},
        "birth_date": {"dates": ["month", "quarter", "year", "decade"]},
        "zip": {"prefix": True},
        "children": {"flat": True},
        "sex": None,
    }


def test_well_known_fillers_are_taken_for_missing_and_numbers_are_only_told():
    ages = [*range(20, 80)] * 33 + [999] * 20
    draft = draft_of(
        age=ages, weight=(["?"] * 1_900 + texts("{}", range(100)))[:ROWS], country=some("NA", "DE", "FR")
    )
    assert tomllib.loads(draft.text)["null_values"] == ["?"]
    assert "[columns.weight]" in draft.text
    assert "# \"?\" fills 95% of 'weight' and probably means missing; so it is named here." in draft.text
    assert (
        '# "999" fills 1% of \'age\' and probably means missing; if it does, write missing = ["999"] below.'
        in draft.text
    )
    assert "NA" not in {text for _, text, _ in draft.fillers}, "a code of a country among others"


def test_a_draft_without_questions_runs_and_one_with_questions_is_refused(tmp_path):
    table = pl.DataFrame(
        {"age": RNG.integers(0, 90, ROWS), "sex": some("m", "f"), "diagnosis": some("a", "b", "c")}
    )
    (tmp_path / "policy.toml").write_text(draft_policy(table, "people.csv").text)
    release = ic.anonymize(table, ic.Policy.read(tmp_path / "policy.toml"))
    assert release.privacy.holds
    asked = draft_policy(table.with_columns(ward=pl.Series(some("x", "y"))), "people.csv")
    (tmp_path / "policy.toml").write_text(asked.text)
    with pytest.raises(ic.PolicyError, match=r"1 column has no role yet .*'ward'"):
        ic.Policy.read(tmp_path / "policy.toml")


def test_a_draft_never_shows_a_value():
    table = pl.DataFrame(
        {
            "name": texts("Zebedee{}", np.arange(ROWS)),
            "ward": some("Xanadu", "Yonder"),
            "income": RNG.integers(70_001, 70_009, ROWS),
            "sex": some("male", "female"),
            "note": texts("secret words of person {} in this very room", np.arange(ROWS)),
        }
    )
    text = draft_policy(table, "people.csv").text
    for value in ("Zebedee", "Xanadu", "Yonder", "7000", "secret words"):
        assert value not in text


def test_a_flag_that_is_set_to_its_own_name_is_no_missing_header():
    assert roles(MDC=some("MDC", "other"), race=some("A", "B"))["race"] == "quasi"


def draft_of_file(folder, **columns):
    pl.DataFrame(columns).write_csv(folder / "people.csv")
    return draft_policy(read_table(folder / "people.csv")[0], "people.csv")


@pytest.mark.parametrize(
    "columns",
    [
        {"Alice": some("Bob", "Carol"), "flu": some("flu", "cold")},
        {"K17": texts("K{}", np.arange(ROWS) % 89 + 10), "Main Street 5": some("Elm Road 7", "Oak Way 2"), "x": some("y", "z")},
        {"34": texts("{}", np.arange(ROWS) % 40 + 20), "F": some("F", "M"), "Quetzal": some("a", "b")},
    ],
)  # fmt: skip
def test_a_row_in_the_place_of_names_is_refused_where_most_look_like_values(tmp_path, columns):
    with pytest.raises(ic.TableError, match="the first line looks like a row") as caught:
        draft_of_file(tmp_path, **columns)
    assert not any(name in str(caught.value) for name in ("Alice", "K17", "Main", "Quetzal"))


def test_a_column_named_as_one_of_its_values_is_none(tmp_path):
    columns = {
        "x1": texts("{}", np.arange(ROWS) % 40 + 20),
        "x2": some("a", "b"),
        "dead": some("dead", "alive"),
    }
    assert len(draft_of_file(tmp_path, **columns).guesses) == 3


def test_names_that_no_line_told_are_names():
    """Names of a Parquet file or a frame are names, even if all are numbers."""
    assert len(draft_of(**{"2019": some("1", "2"), "2020": some("2020", "2")}).guesses) == 2


def test_spellings_are_written_and_what_the_texts_do_not_tell_is_asked():
    day = RNG.integers(1, 12, ROWS)
    draft = draft_of(
        admitted=texts("{:02}.03.2020", day + 10),
        seen=texts("{:02}/04/2020", day),
        seen_at=texts("2020-03-05 00:{:02}:00", day),
        born=texts("197005{:02}", day),
        income=texts("1.{:03},50", RNG.integers(100, 999, ROWS)),
        zip=texts("0{:04}", RNG.integers(1, 400, ROWS)),
        age=[*texts("{}", RNG.integers(20, 60, ROWS - 1)), "NA"],
    )
    columns = tomllib.loads(draft.text)["columns"]
    assert {name: entry.get("format") for name, entry in columns.items()} == {
        "admitted": "%d.%m.%Y",
        "seen": "?",
        "seen_at": "%Y-%m-%d %H:%M:%S",
        "born": "%Y%m%d",
        "income": None,
        "zip": None,
        "age": None,
    }
    assert (columns["income"]["decimal"], columns["income"]["thousands"]) == (",", ".")
    assert 'format = "%d/%m/%Y" or format = "%m/%d/%Y"' in draft.text
    assert draft.unread == ["seen"]
    assert tomllib.loads(draft.text)["null_values"] == ["NA"], "a filler among numbers, however few have it"
    assert columns["age"]["hierarchy"] == {"intervals": [2, 4, 8, 16]}
    assert {columns[name]["role"] for name in ("admitted", "seen", "seen_at", "born")} == {"quasi"}


YES = {
    "plain": ["yes", "no"],
    "numbers": ["1", "0"],
    "typed": [1, 0],
    "german": ["Ja", "Nein"],
    "truth": [True, False],
}
SEVERAL = {
    "languages": ["yes", "no", "1", "0"],
    "cases": ["Yes", "yes", "no"],
    "short": ["y", "n", "no"],
    "pairs": ["yes", "0"],
}


def test_yes_and_no_are_recognized_and_several_spellings_of_them_are_named():
    draft = draft_of(**{name: some(*values) for name, values in (YES | SEVERAL).items()})
    assert draft.answered_variously == list(SEVERAL)
    assert draft.having("?") == [*YES, *SEVERAL]
    reasons = {guess.name: guess.reason for guess in draft.guesses}
    assert [name for name, reason in reasons.items() if reason.startswith("yes or no")] == list(YES)
    assert draft.text.count("# Yes and no have several spellings here") == len(SEVERAL)
    other = draft_of(a=some("yes", "no", "perhaps"), b=some("yes", None), c=some(1, 2), d=some(0, 1, 2))
    assert (other.answered_variously, "yes or no" in other.text) == ([], False)


def test_each_reason_tells_how_much_a_value_tells_on_average():
    wards = ["north"] * 4 + ["south"] * 2 + ["east", "west", None]
    frame = pl.DataFrame({"ward": wards, "sex": ["f", "m", "f"] * 3, "same": ["x"] * 9})
    reasons = {guess.name: guess.reason for guess in draft_policy(frame, "wards.csv").guesses}
    # Half of the eight wards that are known tell 1 bit each, a quarter 2, and two eighths 3.
    assert reasons["ward"].endswith("4 distinct values in 9 rows, entropy 1.8 bits")
    shares = [Fraction(6, 9), Fraction(3, 9)]
    bits = -math.fsum(float(share) * math.log2(share) for share in shares)
    assert reasons["sex"].endswith(f"2 distinct values in 9 rows, entropy {bits:.1f} bits")
    assert "bits" not in reasons["same"]


def test_a_second_row_of_names_is_refused():
    names = {"age": ["years", "30", "41", None], "town": ["code", "a", "b", "c"]}
    with pytest.raises(ic.TableError, match=r"people\.csv: the second line looks like a second row of names"):
        draft_of(**names)
    for age, town in ((["years", "30", "41", "x"], "code"), (["?", "30", "41", None], "code"),
                      (["30", "41", "50", None], "code"), (["years", "30", "41", None], None)):  # fmt: skip
        assert draft_of(age=age, town=[town, "a", "b", "c"]).rows == 4


def test_a_draft_with_spellings_runs_once_it_is_answered(tmp_path):
    table = pl.DataFrame(
        {"admitted": texts("{:02}.03.2020", RNG.integers(1, 28, ROWS)), "sex": some("m", "f")}
    )
    (tmp_path / "policy.toml").write_text(draft_policy(table, "people.csv").text)
    table.write_csv(tmp_path / "people.csv")
    release = ic.anonymize(tmp_path / "people.csv", ic.Policy.read(tmp_path / "policy.toml"))
    assert release.frequency.domains[0].kind == "date"


def test_what_nearly_every_row_has_is_no_sensitive_attribute():
    assert roles(test_id=["covid"] * (ROWS - 5) + ["other"] * 5, result=some("a", "b")) == {
        "test_id": "?",
        "result": "sensitive",
    }


def test_ids_of_a_small_table():
    small = roles(id=["a1", "a2", "a3", "a4"], age=[1, 2, 3, 4], applicants=[10, 21, 34, 9])
    assert (small["id"], small["applicants"]) == ("identifying", "?")


def test_an_id_that_tells_birth_or_sex_in_all_its_rows_is_a_person():
    """The `idcode` of a panel: no name says so, but no id has two birth years."""
    born = RNG.integers(40, 60, ROWS)[IDS]
    sex = np.array(["m", "f"])[RNG.integers(0, 2, ROWS)][IDS]
    panel = {"idcode": IDS + 17, "year": [68, 73] * (ROWS // 2), "birth_yr": born, "sex": sex}
    draft = draft_of(**panel)
    assert draft.having("person") == ["idcode"]
    assert "each value has one 'birth_yr', 'sex'" in draft.text
    # Baseline interviews alone tell the sex; a missing value is no other one.
    later = [value if row % 2 == 0 else None for row, value in enumerate(sex)]
    assert draft_of(**panel | {"birth_yr": [None] * ROWS, "sex": later}).having("person") == []
    often = np.repeat(np.arange(ROWS // 4), 4)
    sexes = np.array(["m", "f"])[RNG.integers(0, 2, ROWS)][often].tolist()
    gaps = [value if row % 4 < 2 else None for row, value in enumerate(sexes)]
    assert draft_of(wave=often + 3, sex=gaps).having("person") == ["wave"]
    assert draft_of(idcode=IDS + 17, sex=some("m", "f")).having("person") == [], "one id, two sexes"


def test_of_a_stay_and_its_patient_the_patient_is_the_person():
    patients, stays = np.repeat(np.arange(ROWS // 4), 4), np.repeat(np.arange(ROWS // 2), 2)
    sex = np.array(["m", "f"])[RNG.integers(0, 2, ROWS)][patients]
    assert draft_of(pcode=patients + 90, fall=stays + 5, sex=sex).having("person") == ["pcode"]


def test_what_no_two_people_share_is_no_id_where_another_column_is_called_one():
    """As the days of an observation beside `id`: both tell the sex, and `id` tells the days."""
    patients = np.repeat(np.arange(ROWS // 4), 4)
    sex = np.array(["m", "f"])[RNG.integers(0, 2, ROWS)][patients]
    days = RNG.integers(0, 900, ROWS)[patients]
    days[days == days[0]] = days[4]
    sex[np.isin(days, days[sex == "m"])] = "m"
    assert draft_of(id=patients + 90, futime=days, sex=sex).having("person") == ["id"]


def panel(**columns: object) -> dict[str, object]:
    """Return 250 people in eight years, of whom no birth, sex or origin is known."""
    of = np.repeat(np.arange(ROWS // 8), 8)
    return {"nr": of * 7 + 13, "year": np.tile(np.arange(1980, 1988), ROWS // 8), **columns}


def test_an_id_that_has_one_row_in_each_period_is_a_person():
    draft = draft_of(**panel(age=RNG.integers(20, 60, ROWS)))
    assert draft.having("person") == ["nr"]
    assert "no value has one 'year' twice" in draft.text
    waves = panel(age=RNG.integers(20, 60, ROWS))
    days = [f"{year}-05-01" for year in waves["year"].tolist()]
    assert draft_of(**waves | {"year": days}).having("person") == ["nr"]


def test_a_number_that_repeats_within_a_period_is_no_person():
    """Hours of work, counts and incomes come twice in a year by chance."""
    counts = panel(hours=RNG.integers(500, 900, ROWS), age=RNG.integers(20, 60, ROWS))
    del counts["nr"]
    draft = draft_of(**counts)
    assert (draft.having("person"), draft.repeated) == ([], [])
    few = {"v": np.arange(60) // 2 + 400, "wave": np.arange(60) % 2 + 1, "age": np.arange(60) // 3 + 20}
    assert draft_of(**few).having("person") == [], "30 pairs tell nothing: chance makes them as often"


def test_amounts_that_repeat_are_a_question_and_no_person():
    """As the salaries of a pay scale: whole numbers of five digits, each of few teachers."""
    draft = draft_of(base=RNG.integers(40_000, 40_700, ROWS), degree=some("BA", "MA"))
    assert (draft.having("person"), draft.repeated, draft.having("?")) == ([], [], ["base"])


@pytest.mark.parametrize("name", ["cls_students", "patients", "n_customers", "users"])
def test_numbers_of_people_are_counts_and_no_ids(name):
    table = pl.DataFrame(
        {name: RNG.integers(6, 580, ROWS), "age": RNG.integers(20, 60, ROWS), "sex": some("m", "f")}
    )
    draft = draft_policy(table, "people.csv", ask=False)
    assert (draft.having("person"), draft.repeated) == ([], [])
    assert draft.trial.verdict.state == "holds"
    assert roles(**{name.removesuffix("s"): texts("K{}", IDS + 100)})[name.removesuffix("s")] == "person"


@pytest.mark.parametrize("name", ["job_ad_id", "order_id", "product_id", "Bestellung_id"])
def test_an_id_of_a_thing_or_a_place_is_no_person(name):
    draft = draft_of(**{name: texts("{}", IDS * 37 + 1_000), "sex": some("m", "f")})
    assert (draft.having("identifying"), draft.having("person"), draft.repeated) == ([name], [], [])
    assert "an id of something else than people" in draft.text


def test_names_of_births_and_places_are_known():
    result = drafted(
        birth_yr=RNG.integers(40, 60, ROWS),
        hometown=some("Ulm", "Bonn", "Köln"),
        birthplace=RNG.integers(1, 50, ROWS),
        agea=RNG.integers(15, 90, ROWS),
        zip=texts("{}", RNG.integers(10_115, 14_199, ROWS)),
        rare_town=texts("town {}", RNG.integers(0, 900, ROWS)),
    )
    assert {entry["role"] for entry in result.values()} == {"quasi"}, result
    assert result["zip"]["hierarchy"] == {"prefix": True}, "masks, though no code has a leading zero"
    assert result["rare_town"]["hierarchy"] == {"flat": True}


def many(*, flags: int = 30, counts: int = 4) -> dict[str, object]:
    """Return columns of a survey that nobody can judge from outside."""
    return {f"q{number}": some("yes", "no") for number in range(flags)} | {
        f"n{number}": RNG.integers(0, 400, ROWS) for number in range(counts)
    }


def test_columns_that_look_alike_are_asked_about_together():
    draft = draft_of(age=RNG.integers(0, 90, ROWS), **many(), lone=RNG.normal(size=ROWS).round(1))
    together, counts, lone = draft.questions
    assert together.text == "30 yes/no columns such as q0, q10, q20: what are they?"
    assert (together.mark, len(together.names), counts.mark, lone.names) == ("?1", 30, "?2", ("lone",))
    assert draft.text.count('role = "?1"') == 30
    assert "# QUESTION ?1: 30 yes/no columns such as q0, q10, q20: what are they?" in draft.text
    few = draft_of(age=RNG.integers(0, 90, ROWS), **many(flags=4, counts=1))
    assert [question.mark for question in few.questions] == ["?"] * 5, "five questions are few enough"


def test_a_policy_with_open_groups_is_refused_and_runs_when_each_mark_has_a_role(tmp_path):
    table = pl.DataFrame({"age": RNG.integers(0, 90, ROWS), "sex": some("m", "f"), **many(flags=8)})
    text = draft_policy(table, "people.csv").text
    path = tmp_path / "policy.toml"
    path.write_text(text)
    with pytest.raises(ic.PolicyError, match=r"12 columns have no role yet"):
        ic.Policy.read(path)
    table.write_csv(tmp_path / "people.csv")
    from incrowd.release.verification import verify

    with pytest.raises(Exception, match="12 columns have no role yet"):
        verify(tmp_path / "people.csv", path)
    answered = text.replace('"?1"', '"insensitive"').replace('"?2"', '"identifying"')
    path.write_text(answered)
    with pytest.raises(ic.SchemaError, match="names none; name one, or leave the model out"):
        ic.anonymize(table, ic.Policy.read(path))
    path.write_text(answered.replace('"insensitive"', '"sensitive"'))
    assert ic.anonymize(table, ic.Policy.read(path)).privacy.holds


def test_a_draft_is_tried_and_mended_until_it_runs(tmp_path):
    """Rare towns would be lists that name people, and few records of many ages end in a class of stars."""
    rows = 160
    rng = np.random.default_rng(4)
    cities = np.array([f"city {number}" for number in range(30)])
    table = pl.DataFrame(
        {
            "age": rng.integers(0, 90, rows),
            "dob": [f"19{year}-0{month}-1{day}" for year, month, day in rng.integers(1, 9, (rows, 3))],
            "city": cities[rng.integers(0, 30, rows)],
            "sex": ["m", "f"] * (rows // 2),
        }
    )
    draft = draft_policy(table, "people.csv", ask=False)
    assert draft.trial is not None
    assert draft.trial.problem == ""
    (tmp_path / "policy.toml").write_text(draft.text)
    release = ic.anonymize(table, ic.Policy.read(tmp_path / "policy.toml"))
    assert release.privacy.suppressed_share == draft.trial.suppressed
    assert release.utility["loss"].value == draft.trial.loss


def test_a_longer_list_is_allowed_where_it_is_short_and_a_column_that_has_none_is_flat():
    from incrowd.release.jobs.compare.draft_trial import _Draft

    guess = draft_of(city=texts("city {}", RNG.integers(0, 60, ROWS))).guesses[0]
    mended = _Draft((guess,)).without_list("city", 9)
    assert (mended.set_limit, mended.guesses[0].hierarchy) == (9, None)
    assert mended.settings() == {"set_limit": 9}
    for longest in (0, 9, 21):
        assert mended.without_list("city", longest).guesses[0].hierarchy == {"flat": True}


def test_a_draft_that_cannot_run_says_so():
    draft = draft_policy(pl.DataFrame({"age": [20, 30, 40], "sex": ["m", "f", "m"]}), "few.csv", ask=False)
    assert draft.trial is not None
    assert "3" in draft.trial.problem
    assert draft.trial.loss is None


def test_an_unknown_column_is_never_generalized_by_itself():
    """Nobody is asked, and no name is known: first names and illnesses must not leave as quasi-identifiers."""
    table = pl.DataFrame(
        {"xa": some("Ivan", "Anna", "Petr"), "xb": some("flu", "cold"), **many(flags=2, counts=2)}
    )
    draft = draft_policy(table, "t.csv", ask=False)
    assert draft.having("quasi") == []
    assert draft.having("?") == table.columns, "a policy needs a quasi-identifier, so the questions stay"
    assert (draft.kept_open, draft.trial) == (True, None)
    known = draft_policy(table.with_columns(age=pl.Series(RNG.integers(0, 90, ROWS))), "t.csv", ask=False)
    assert (known.having("quasi"), known.having("?"), known.kept_open) == (["age"], [], False)
    assert set(known.having("identifying")) == set(table.columns)


# --- the verdict of the release that a draft makes --------------------------------------------------


def tried_draft(**columns: object) -> tuple[Draft, ic.Release]:
    """Return a draft without questions, and the release of the draft."""
    table = pl.DataFrame({"age": RNG.integers(20, 60, ROWS), "sex": some("m", "f")} | columns)
    draft = draft_policy(table, "people.csv", ask=False)
    policy = ic.Policy.from_dict(tomllib.loads(draft.text), Path(), "the draft")
    return draft, ic.anonymize(table, policy, unanswered="write")


def test_a_draft_is_tried_to_the_verdict_of_its_release():
    draft, release = tried_draft(illness=some("flu", "cold", "cough"))
    assert draft.trial is not None
    assert draft.trial.verdict == release.verdict
    assert (draft.trial.verdict.state, draft.trial.remedies) == ("holds", ())


def test_numbers_that_single_out_records_together_are_rounded():
    """Neither of the two is a point alone."""
    draft, release = tried_draft(
        score=RNG.integers(0, 900, ROWS) / 10, wage=RNG.integers(100, 400, ROWS) / 10
    )
    first = tomllib.loads(draft_of(age=[1, 2], score=[1.5, 2.5]).text)
    assert first["columns"]["score"]["role"] == "sensitive"
    (remedy,) = draft.trial.remedies
    columns = tomllib.loads(draft.text)["columns"]
    name, _, base = remedy.partition(" is rounded to ")
    assert columns[name]["treat"]["round"] == float(base)
    assert release.verdict.state == "holds"
    assert {columns[name]["role"] for name in ("score", "wage")} == {"sensitive"}
    steps = release.table[name].cast(pl.Float64) / float(base)
    assert (steps - steps.round()).abs().max() < 1e-9


def test_the_number_far_from_all_others_is_cut_off():
    """Hours of work that many records share, and those of a single record."""
    hours = [*(20 + RNG.integers(0, 30, ROWS - 1)), 400]
    draft, release = tried_draft(income=hours)
    assert draft.trial.remedies == ("income is cut off: top = 0.99",)
    assert tomllib.loads(draft.text)["columns"]["income"]["treat"] == {"top": 0.99}
    assert (release.verdict.state, "400" in draft.text) == ("holds", False)


def test_texts_that_single_out_records_are_left_out():
    """Codes of illnesses that are unique for half of the records."""
    codes = texts("code {}", RNG.integers(0, 1_500, ROWS))
    draft, release = tried_draft(diagnosis=codes, outcome=some("well", "ill"))
    assert draft.having("identifying") == ["diagnosis"]
    assert draft.trial.remedies == ("diagnosis is left out: many records have a value of their own in it",)
    assert release.verdict.state == "holds"


@pytest.mark.few(1)
@pytest.mark.parametrize(
    ("rare", "why"),
    {
        "ask Mrs Schroeder": "its texts name or reach people",
        "reach her under +43 1 5550123": "its texts name or reach people",
    }.items(),
)
def test_a_sensitive_column_with_texts_about_people_is_left_out(rare, why):
    values = [*some("flu", "cold", "cough")[: ROWS - 3], *[rare] * 3]
    draft, release = tried_draft(diagnosis=values, outcome=some("well", "ill"))
    assert draft.having("identifying") == ["diagnosis"]
    assert (release.verdict.state, rare in draft.text) == ("holds", False)
    assert draft.trial.remedies == (f"diagnosis is left out: {why}",)


def test_of_two_columns_that_single_out_together_the_numbers_are_rounded():
    """The diagnosis stays even if the other column has more values, as the purpose of the release."""
    rng = np.random.default_rng(3)
    columns = drafted(
        age=rng.integers(20, 60, 3_000),
        diagnosis=[f"E{number:03}" for number in rng.integers(0, 200, 3_000)],
        cost=rng.integers(0, 100, 3_000) * 100,
    )
    assert columns["diagnosis"]["role"] == "sensitive"
    assert columns["cost"]["treat"]["round"] > 100


def test_the_parts_of_lists_are_declared():
    lists = some("F32;E11", "E11", "I10;F32", "I10;E11;F32", "F32", "E11;I10")
    draft, release = tried_draft(diagnosis=lists)
    assert tomllib.loads(draft.text)["columns"]["diagnosis"]["parts"] == ";"
    assert draft.trial.remedies == ("the parts of diagnosis are judged, parted by ';'",)
    assert release.verdict.state == "holds"
    assert "each list counts as one value" not in draft.text


def test_lists_whose_parts_nothing_protects_are_left_out():
    """Every list has a common part, so no class has two kinds of lists."""
    lists = some("F32;E11", "E11;I10", "I10;E11;F32", "E11;M54")
    draft, release = tried_draft(diagnosis=lists, outcome=some("well", "ill"))
    assert draft.trial.remedies == ("diagnosis is left out: what protects its values leaves too little",)
    assert (draft.trial.problem, release.verdict.state) == ("", "holds")


def test_the_id_by_which_most_columns_are_constant_is_the_person():
    # Of x7 some values have two people, of different age and town.
    people = np.repeat(np.arange(ROWS // 4), 4)
    ids = {"x6": texts("CD-{:06}", people * 11 + 5), "x7": texts("AB-{:06}", people % 487 * 13 + 5)}
    towns = texts("town {}", people % 97)
    sex = np.where(people % 2, "m", "f")
    draft, release = tried_draft(**ids, age=20 + people % 40, sex=sex, town=towns)
    assert (draft.having("person"), draft.trial.verdict.state) == (["x6"], "holds")
    assert "each value has one 'sex'" in draft.text
    assert "4 rows a person" in draft.text
    assert draft.trial.verdict == release.verdict


def test_who_is_a_person_and_what_is_lost_stay_points():
    # Rows of a person are alike, so that classes have few people. Nobody knows of whom the rows are: both
    # sexes are beside one id.
    people = np.repeat(np.arange(ROWS // 4), 4)
    ids = {"x6": texts("CD-{:06}", people * 11 + 5), "x7": texts("AB-{:06}", people % 487 * 13 + 5)}
    towns = texts("town {}", people % 97)
    draft, release = tried_draft(**ids, age=20 + people % 40, town=towns)
    assert [point.name for point in draft.trial.verdict.open] == ["repeated-id"]
    assert (draft.trial.verdict.state, draft.trial.remedies) == ("open", ())
    assert draft.trial.verdict == release.verdict


@pytest.mark.few(2)
@pytest.mark.parametrize(
    "name", ["household_id", "hhid", "id_menage", "id_hogar", "Haushaltsnummer", "世帯番号", "v1"]
)
def test_a_household_is_recognized_by_name_or_by_people_of_one_place(name):
    homes = np.repeat(np.arange(300), RNG.integers(1, 7, 300))
    ages = RNG.integers(0, 90, len(homes))
    table = pl.DataFrame(
        {name: texts("H{:04}", homes * 7 + 1000), "age": ages, "region": texts("r{}", homes % 4)}
    )
    draft = draft_policy(table, "people.csv", ask=False)
    assert draft.having("household") == [name]
    policy = ic.Policy.from_dict(tomllib.loads(draft.text), Path(), "the draft")
    # Nobody says whose row it is, so a class has people of five homes.
    release = ic.anonymize(table, policy, unanswered="write")
    assert draft.trial.verdict.state == release.verdict.state == "holds"
    cells = release.table.with_columns(table[name][release.row_map()["row"].to_numpy() - 1])
    assert cells.group_by("age", "region").agg(pl.col(name).n_unique())[name].min() >= 5


@pytest.mark.parametrize("name", ["household_size", "household", "hh_income"])
def test_a_size_of_a_household_is_none(name):
    sizes = RNG.integers(1, 7, ROWS) * (9 if name == "hh_income" else 1)
    assert "household" not in {guess.role for guess in draft_of(**{name: sizes}).guesses}


def test_a_doctor_of_a_table_with_a_row_for_each_person_is_no_person():
    doctors = RNG.integers(0, 40, ROWS)
    for name in ("provider_id", "x_id"):
        draft = draft_of(
            person_id=np.arange(ROWS),
            **{name: doctors},
            sex=some("m", "f"),
            birth=RNG.integers(1940, 2000, ROWS),
        )
        assert draft.having("person") == []
        assert set(draft.having("identifying")) >= {"person_id", name}


@pytest.mark.parametrize(("name", "of"), {
    "email": "u{}@example.org", "iban": "AT61190430023457{:04}", "employee": "{:05}",
    "full_name": "Ann{} Lee",
}.items())  # fmt: skip
def test_a_name_or_an_address_that_repeats_with_one_birth_year_is_the_person(name, of):
    people = np.repeat(np.arange(100), ROWS // 100)
    signs = (
        [chr(97 + p // 26) + chr(97 + p % 26) for p in range(100)] if name == "full_name" else range(100, 200)
    )
    values = [of.format(signs[p]) for p in people]
    born, sex = RNG.integers(1950, 2000, 100)[people], RNG.choice(["m", "f"], 100)[people]
    draft = draft_of(**{name: values}, birth_year=born, sex=sex)
    assert draft.having("person") == [name]
    assert "20 rows a person" in draft.text


def test_namesakes_are_no_person():
    names = [f"{first} Lee" for first in RNG.choice([f"Ann{chr(97 + n)}" for n in range(26)], ROWS)]
    draft = draft_of(name=names, birth_year=RNG.integers(1950, 2000, ROWS), sex=some("m", "f"))
    assert draft.having("person") == []


def test_an_answered_column_that_tells_a_generalized_one_is_left_out():
    born = RNG.integers(1940, 2000, ROWS)
    table = pl.DataFrame(
        {"birth_year": born, "sex": some("m", "f"), "cohort": texts("c{}", born // 2), "q1": some("a", "b")}
    )
    answers = {"cohort": "insensitive", "q1": "insensitive"}
    draft = draft_policy(table, "people.csv", answered=lambda _: answers)
    assert draft.trial.remedies == (
        "cohort is left out: it tells more of birth_year than the released cells do",
    )
    assert (draft.trial.verdict.state, draft.having("insensitive")) == ("holds", ["q1"])
    assert ("birth_year", "cohort") not in draft.telling


def test_the_last_quasi_identifier_is_not_left_out():
    towns = [*some("Ulm", "Bonn")[: ROWS - 400], *["c/o Mrs Schroeder"] * 400]
    table = pl.DataFrame({"town": towns, "illness": some("flu", "cold")})
    draft = draft_policy(table, "people.csv", ask=False)
    assert draft.having("quasi") == ["town"]
    assert [point.name for point in draft.trial.verdict.open] == ["personal-text"]
    other = draft_policy(table.with_columns(sex=pl.Series(some("m", "f"))), "people.csv", ask=False)
    assert (other.having("quasi"), other.trial.verdict.state) == (["sex"], "holds")


@pytest.mark.parametrize("ask", [True, False])
@pytest.mark.parametrize("as_list", [True, False])
@pytest.mark.parametrize("codes", [8, 90])
def test_codes_have_the_settings_of_sets_with_and_without_questions(tmp_path, ask, as_list, codes):
    rng = np.random.default_rng(0)
    every = [f"{letter}{number}" for letter in "EIJ" for number in range(10, 40)][:: 90 // codes]
    cells = [rng.choice(every, rng.integers(1, 5), replace=False).tolist() for _ in range(300)]
    table = pl.DataFrame({"sex": some("f", "m")[:300], "diagnoses": cells})
    table = table if as_list else table.with_columns(pl.col("diagnoses").list.join(";"))
    table.write_parquet(tmp_path / "raw.parquet")
    text = draft_policy(read_table(tmp_path / "raw.parquet")[0], "raw.parquet", ask=ask).text
    section = text.partition("[columns.diagnoses]\n")[2].partition("\n\n")[0]
    assert ask or section.startswith('role = "identifying"')
    assert section.splitlines()[-5:] == [
        "# To generalize single items, where others may know two of a list (role = quasi), add:",
        '# kind = "set"',
        '# parts = ";"',
        "# known = 2",
        "# hierarchy = { prefix = true }  # for codes such as those of ICD and ATC",
    ]


def test_lists_of_names_have_no_settings_of_sets():
    names = ["Ann Lee", "Bob Ray", "Cem Oz", "Dee Fox", "Eva Kant", "Fay Moon"]
    cells = [f"{names[n % 6]};{names[(n * n + 1) % 6]}" for n in range(300)]
    text = draft_policy(pl.DataFrame({"names": cells, "sex": some("f", "m")[:300]}), "people.csv").text
    assert 'role = "identifying"' in text
    assert "kind" not in text


def test_a_column_of_codes_is_asked_about_with_the_settings_of_sets(tmp_path):
    rng = np.random.default_rng(0)
    codes = [f"{letter}{number}" for letter in "EIJ" for number in range(10, 40)]
    cells = [";".join(rng.choice(codes, rng.integers(2, 6), replace=False)) for _ in range(300)]
    table = pl.DataFrame({"diagnoses": cells})
    text = draft_policy(table, "people.csv").text
    assert '[columns.diagnoses]\nrole = "?"' in text
    settings = ['kind = "set"', 'parts = ";"', "known = 2", "hierarchy = { prefix = true }"]
    for setting in settings:
        assert f"# {setting}" in text
        text = text.replace(f"# {setting}", setting)
    (tmp_path / "policy.toml").write_text(text.replace('role = "?"', 'role = "quasi"'))
    policy = ic.Policy.read(tmp_path / "policy.toml")
    [column] = policy.schema.sets
    assert (column.parts, column.known) == (";", 2)
    alone = ic.Policy(policy.schema, "k-anonymity:5", max_suppression=0.5)
    assert ic.anonymize(table, alone).privacy.holds
