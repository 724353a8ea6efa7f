"""Each clause of a profile on a table that passes, and on a table that fails by a single cell."""

from __future__ import annotations

import json
import re
from pathlib import Path

import duckdb
import polars as pl
import pytest

from crossed import quick
from incrowd.release.verification import Verification, checks_as_sql, verify
from incrowd_gate.profiles import PROFILES, read_profile
from incrowd_verify.verification import ALL_HOLD

COLUMNS = {"age": "quasi", "sex": "quasi", "illness": "sensitive", "ward": "insensitive"}


@pytest.fixture
def table() -> pl.DataFrame:
    """A release of 48 records in four classes of 12, in which nothing is wrong."""
    ages = [text for text in ("[0-49]", "[50-89]") for _ in range(24)]
    return pl.DataFrame(
        {
            "age": ages,
            "sex": ["F", "M"] * 24,
            "illness": ["a", "a", "b", "b"] * 12,
            "ward": ["north", "south", "south", "north"] * 12,
        }
    )


class Judge:
    """Writes a release and a policy, and returns the clauses by id."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.found: Verification | None = None

    def __call__(self, table: pl.DataFrame, profile: str, more: str = "", **roles: str) -> dict[str, str]:
        columns = COLUMNS | roles
        text = "version = 1\nunlisted = 'keep'\n"
        text += "".join(
            f"[columns.'{name}']\nrole = '{role}'\n"
            for name, role in columns.items()
            if name in table.columns
        )
        text += "[[models]]\nmodel = 'k-anonymity'\nk = 2\n"
        text += f"[profile]\nname = '{profile}'\n{more}"
        table.write_csv(self.folder / "safe.csv")
        (self.folder / "policy.toml").write_text(text)
        self.found = verify(self.folder / "safe.csv", self.folder / "policy.toml")
        self.said = {each.id: each.detail for each in self.found.clauses}
        unread = {
            each.id
            for each in self.found.clauses
            if each.unanswered and each.detail.startswith("not checked: ")
        }
        states = {each.id: "unread" if each.id in unread else each.state for each in self.found.clauses}
        # A script does not look inside longer texts, so it may hold where somebody has to look at these.
        inside = any("that look like" in each.detail for each in self.found.clauses)
        holds = self.by_script()
        assert holds or {"not met", "unread"} & set(states.values())
        assert not holds or "not met" not in states.values() or inside
        return states

    def by_script(self) -> bool:
        """Run the script of the same checks with DuckDB alone, and return whether every check holds."""
        script = checks_as_sql(self.folder / "safe.csv", self.folder / "policy.toml")
        with duckdb.connect() as con:
            for statement in con.extract_statements(script):
                rows = con.execute(statement)
            return rows.fetchone()[0] == ALL_HOLD


@pytest.fixture
def judge(tmp_path) -> Judge:
    return Judge(tmp_path)


def unmet(states: dict[str, str]) -> set[str]:
    return {name for name, state in states.items() if state == "not met"}


def changed(table: pl.DataFrame, name: str, cell: str, places: int = 1) -> pl.DataFrame:
    """Return a table with another cell in the first rows of a column."""
    cells = table[name].to_list()
    return table.with_columns(pl.Series(name, [cell] * places + cells[places:], dtype=pl.String))


ATTESTED = "[[profile.attested]]\nclause = '{}'\nby = 'A. Officer'\non = 2026-01-31\nsays = 'Looked at.'\n"
KNOWLEDGE = ATTESTED.format("actual-knowledge")

NOTES = ["fine", "ok", "better than in spring", "none"] * 12
INSIDE = {
    "names": "seen by Dr Patel",
    "telephones": "call 0171 1234567 or +49 30 901820",
    "email": "ask jane@example.org",
    "urls": "as on https://example.org/a",
}


@pytest.mark.few(1)
@pytest.mark.parametrize("clause", INSIDE)
def test_what_stands_inside_a_note_is_found(judge, table, clause):
    noted = table.with_columns(pl.Series("note", [INSIDE[clause], *NOTES[1:]]))
    states = judge(noted, "hipaa-safe-harbor", KNOWLEDGE)
    assert states[clause] == "not met"
    assert "cells of note that look" in judge.said[clause]
    # No program finds all that such a column tells, so no other clause is met by it.
    others = {name for name, state in states.items() if state == "unread"}
    assert {"names", "addresses", "telephones", "fax", "email", "social-security"} - others <= {clause}
    assert not {"biometrics", "photographs", "dates", "ages"} & others
    assert {judge.said[name] for name in others} == {"not checked: note"}
    # Points have their clause and column as data, so that nobody reads a sentence for it.
    points = {each.subject: each for each in judge.found.verdict.points if "clause" in each.name}
    assert points.keys() == {clause, *others}
    assert {each.columns for each in points.values()} == {("note",)}


@pytest.mark.slow
def test_sentences_are_open_until_the_policy_says_that_they_hold_no_such_thing(judge, table):
    long = [f"Pain in the left knee since the fall of week {number % 24}" for number in range(48)]
    noted = table.with_columns(pl.Series("note", long))
    states = judge(noted, "hipaa-safe-harbor", KNOWLEDGE)
    unread = [name for name, state in states.items() if state == "unread"]
    assert {"names", "telephones", "records", "ip"} <= set(unread)
    assert {each.unanswered for each in judge.found.clauses if each.id in unread} == {True}
    assert judge.found.verdict.state == "open"
    cleared = "[profile.cleared]\n" + "".join(f"{name} = ['note']\n" for name in unread)
    states = judge(noted, "hipaa-safe-harbor", cleared + KNOWLEDGE)
    assert {states[name] for name in unread} == {"checked"}
    assert judge.said["names"] == "not of this kind by the policy: note"


# --- HIPAA safe harbor --------------------------------------------------------------------------------

IDENTIFIERS = {
    "names": ("Last Name", "Nachname", "nom", "apellido", "氏名", "Ada Lovelace"),
    "addresses": ("street", "Wohnort", "ville", "calle", "住所", None),
    "telephones": ("phone_number", "Telefon", "tel", "telefono", "電話番号", "(555) 123-4567"),
    "fax": ("fax", "Telefax", "telecopie", "faxNumber", "ファックス", None),
    "email": ("E-Mail", "email", "courriel", "correo", "メール", "a.b@example.org"),
    "social-security": ("SSN", "SVNR", "nir", "dni", "マイナンバー", "123-45-6789"),
    "records": ("patient_id", "Patientennummer", "ipp", "historia_clinica", "患者番号", None),
    "beneficiaries": ("memberId", "Versichertennummer", "numero_assure", "afiliado", "被保険者番号", None),
    "accounts": ("account", "Kontonummer", "compte", "cuenta", "口座番号", "DE89370400440532013000"),
    "licences": ("license number", "Führerschein", "permis", "licencia", "免許証番号", None),
    "vehicles": ("VIN", "Kennzeichen", "immatriculation", "matricula", "車両番号", "1HGCM82633A004352"),
    "devices": ("device_id", "Seriennummer", "numero_serie", "imei", "機器番号", "00:1A:2B:3C:4D:5E"),
    "urls": ("url", "Webseite", "site_web", "sitio_web", "ウェブサイト", "https://example.org/a"),
    "ip": ("ip_address", "IP-Adresse", "adresse_ip", "direccion_ip", "IPアドレス", "192.0.2.17"),
    "biometrics": ("fingerprint", "Fingerabdruck", "empreinte", "huella", "指紋", None),
    "photographs": ("photo", "Bild", "image", "imagen", "写真", "face.jpg"),
}


@pytest.mark.slow
def test_safe_harbor_holds_where_nothing_is_wrong_and_somebody_attests_the_rest(judge, table):
    states = judge(table, "hipaa-safe-harbor", KNOWLEDGE)
    assert unmet(states) == set()
    assert states["actual-knowledge"] == "attested"
    assert judge.said["actual-knowledge"] == "A. Officer, 2026-01-31: Looked at."
    assert judge.found.keeps_limits
    assert unmet(judge(table, "hipaa-safe-harbor")) == {"actual-knowledge"}
    assert not judge.found.keeps_limits


@pytest.mark.slow
@pytest.mark.parametrize("language", quick(range(5), 1))
def test_an_identifier_is_found_by_its_name_in_five_languages(judge, table, language):
    """All clauses have a column each in a common table, and each is broken by that column alone."""
    names = {clause: languages[language] for clause, languages in IDENTIFIERS.items()}
    named = table.with_columns(pl.lit("x").alias(name) for name in names.values())
    assert unmet(judge(named, "hipaa-safe-harbor", KNOWLEDGE)) == {*names}
    said = {clause: [f"cells of {name}, which is called so: 48"] for clause, name in names.items()}
    # An address on the Internet is called an address, too, where it is a word of its own.
    if language < 4:
        said["addresses"] += [f"cells of {names['ip']}, which is called so: 48"]
    assert {clause: judge.said[clause].split("; ") for clause in names} == said
    if language == 1:
        cleared = "[profile.cleared]\n" + "".join(
            f"{clause} = {[part.split()[2].strip(',') for part in parts]}\n" for clause, parts in said.items()
        )
        assert unmet(judge(named, "hipaa-safe-harbor", cleared + KNOWLEDGE)) == set()
        for clause, name in names.items():
            assert judge.said[clause].startswith(f"not of this kind by the policy: {name}"), clause


@pytest.mark.slow
def test_an_identifier_is_found_by_its_looks(judge, table):
    looks = {clause: languages[5] for clause, languages in IDENTIFIERS.items() if languages[5]}
    rows = table.with_columns(
        pl.lit(cell).alias(f"column_{place}") for place, cell in enumerate(looks.values())
    )
    assert unmet(judge(rows, "hipaa-safe-harbor", KNOWLEDGE)) == {*looks}
    for place, clause in enumerate(looks):
        broken = judge.said[clause].partition("; not checked: ")[0]
        assert set(re.findall(r"column_\d+", broken)) == {f"column_{place}"}, clause


@pytest.mark.slow
def test_one_cell_is_enough_where_a_text_can_be_nothing_else(judge, table):
    cells = {"place": "a.b@example.org", "note": "see https://example.org/a", "scan": "front.PNG"}
    few = table.with_columns(pl.lit("none").alias(name) for name in cells)
    assert unmet(judge(few, "hipaa-safe-harbor", KNOWLEDGE)) == set()
    for name, cell in cells.items():
        few = changed(few, name, cell)
    assert unmet(judge(few, "hipaa-safe-harbor", KNOWLEDGE)) == {"email", "urls", "photographs"}


@pytest.mark.slow
def test_a_date_finer_than_a_year_is_found(judge, table):
    cells = (
        "2024-03",
        "2024-03-09",
        "9.3.2024",
        "03/09/24",
        "Mar 9, 2024",
        "2024Q1",
        "2024-W09",
        "2024年3月9日",
    )
    kept = ("2024", "2020s", "[2020-2024]", "2020-01-01 - 2024-12-31", "*")
    years = table.with_columns(
        pl.lit("2024").alias(f"{kind}_{place}")
        for kind, texts in (("finer", cells), ("kept", kept))
        for place in range(len(texts))
    )
    for place, cell in enumerate(kept):
        years = changed(years, f"kept_{place}", cell)
    assert unmet(judge(years, "hipaa-safe-harbor", KNOWLEDGE)) == set()
    for place, cell in enumerate(cells):
        years = changed(years, f"finer_{place}", cell)
    assert unmet(judge(years, "hipaa-safe-harbor", KNOWLEDGE)) == {"dates"}
    assert re.findall(r"\w+_\d", judge.said["dates"]) == [f"finer_{place}" for place in range(len(cells))]


@pytest.mark.slow
def test_ages_of_90_and_more_are_one_group(judge, table):
    old = changed(table, "age", ">=90", 12)
    assert unmet(judge(old, "hipaa-safe-harbor", KNOWLEDGE)) == set()
    assert unmet(judge(changed(old, "age", "[90-94]", 6), "hipaa-safe-harbor", KNOWLEDGE)) == {"ages"}
    assert unmet(judge(changed(table, "age", "93", 12), "hipaa-safe-harbor", KNOWLEDGE)) == {"ages"}
    born = table.with_columns(pl.lit("[1900-1960]").alias("birth_year"))
    assert unmet(judge(born, "hipaa-safe-harbor", KNOWLEDGE)) == {"ages"}
    assert judge.said["ages"] == "cannot be checked: years of birth tell ages: give year in [profile.inputs]"
    year = f"[profile.inputs]\nyear = 2026\n{KNOWLEDGE}"
    assert unmet(judge(born, "hipaa-safe-harbor", year)) == set()
    assert unmet(judge(changed(born, "birth_year", "1936"), "hipaa-safe-harbor", year)) == {"ages"}
    assert unmet(judge(changed(born, "birth_year", "1937"), "hipaa-safe-harbor", year)) == set()


@pytest.mark.slow
def test_three_digits_of_a_zip_code_need_a_dated_table_of_people(judge, table, tmp_path):
    zips = table.with_columns(pl.lit("021**").alias("ZIP Code"))
    assert unmet(judge(zips, "hipaa-safe-harbor", KNOWLEDGE)) == {"places"}
    assert "give populous in [profile.inputs]" in judge.said["places"]
    more = f"[profile.inputs]\npopulous = 'zip3-2020.csv'\n{KNOWLEDGE}"
    assert unmet(judge(zips, "hipaa-safe-harbor", more)) == {"places"}
    assert "zip3-2020.csv is no file" in judge.said["places"]
    (tmp_path / "zip3-2020.csv").write_text("zip3,population\n021,many\n")
    assert unmet(judge(zips, "hipaa-safe-harbor", more)) == {"places"}
    assert "is no CSV with the columns zip3 and population" in judge.said["places"]
    (tmp_path / "zip3-2020.csv").write_text("zip3,population\n021,20001\n36,20000\n")
    assert unmet(judge(zips, "hipaa-safe-harbor", more)) == set()
    for cells, broken in ((("000", "02***", "*"), set()), (("036**", "999", "02139"), {"places"})):
        codes = zips
        for place, cell in enumerate(cells):
            codes = changed(codes.with_columns(pl.lit("021**").alias(f"zip_{place}")), f"zip_{place}", cell)
        assert unmet(judge(codes, "hipaa-safe-harbor", more)) == broken
    assert set(re.findall(r"zip_\d", judge.said["places"])) == {"zip_0", "zip_1", "zip_2"}
    named = zips.rename({"ZIP Code": "wohngebiet"})
    assert unmet(judge(changed(named, "wohngebiet", "02139"), "hipaa-safe-harbor", more)) == set()
    own = f"[profile.columns]\nplaces = ['wohngebiet']\n{more}"
    assert unmet(judge(changed(named, "wohngebiet", "02139"), "hipaa-safe-harbor", own)) == {"places"}


@pytest.mark.slow
def test_a_code_of_its_own_for_many_records_is_found(judge, table):
    codes = table.with_columns(pl.Series("code", [f"c{min(n, 9)}" for n in range(48)]))
    assert unmet(judge(codes, "hipaa-safe-harbor", KNOWLEDGE)) == set()
    codes = table.with_columns(pl.Series("code", [f"c{min(n, 10)}" for n in range(48)]))
    assert unmet(judge(codes, "hipaa-safe-harbor", KNOWLEDGE)) == {"other-codes"}


# --- the others ---------------------------------------------------------------------------------------


@pytest.mark.slow
def test_the_threshold_of_0_09_asks_for_12_records(judge, table):
    rest = ATTESTED.format("report") + ATTESTED.format("context")
    assert unmet(judge(table, "ema-0070", rest)) == set()
    assert judge.said["largest-risk"] == "the smallest class has 12, at least 12 needed"
    assert unmet(judge(table[1:], "ema-0070", rest)) == {"largest-risk"}


@pytest.mark.slow
def test_the_threshold_of_an_expert_is_an_input(judge, table):
    rest = ATTESTED.format("methods") + ATTESTED.format("expert")
    assert unmet(judge(table, "hipaa-expert", rest)) == {"threshold"}
    assert unmet(judge(table, "hipaa-expert", f"[profile.inputs]\nrisk = 0.0834\n{rest}")) == set()
    assert unmet(judge(table, "hipaa-expert", f"[profile.inputs]\nrisk = 0.0833\n{rest}")) == {"threshold"}


@pytest.mark.slow
def test_no_count_from_1_to_10_is_shown_or_derivable(judge, table):
    large = pl.concat([table] * 2)
    assert unmet(judge(large, "cms-cell-size")) == set()
    assert unmet(judge(changed(large, "ward", "west"), "cms-cell-size")) == {"values"}
    assert unmet(judge(changed(large, "illness", "b", 8), "cms-cell-size")) == {"derivable"}
    assert unmet(judge(table[:40], "cms-cell-size")) == {"classes", "derivable"}


@pytest.mark.slow
def test_the_rules_of_statistical_offices(judge, table):
    more = f"[profile.inputs]\nfraction = 0.1\n{ATTESTED.format('review')}"
    table = table.with_columns(pl.Series("income", [100, 200, 300, 300] * 12))
    assert unmet(judge(table, "statistical-office", more)) == set()
    assert unmet(judge(table, "statistical-office", more.replace("0.1", "0.11"))) == {"fraction"}
    top = table.with_columns(pl.Series("income", [100, 200, 300, 300] * 11 + [100, 200, 400, 400]))
    assert unmet(judge(top, "statistical-office", more)) == {"top-coding"}
    assert unmet(judge(changed(table, "age", "[0-9]", 4), "statistical-office", more)) == {"classes"}
    one = table.with_columns(illness=pl.when(pl.col("sex") == "F").then(pl.lit("a")).otherwise("illness"))
    assert unmet(judge(one, "statistical-office", more)) == {"sensitive-shares"}


@pytest.mark.slow
def test_attacks_are_read_with_their_intervals(judge, table, tmp_path):
    rest = ATTESTED.format("context")
    attacks = {"singling-out", "linkability", "inference"}
    assert unmet(judge(table, "wp216", rest)) == {"singling-out-attack", "linkability", "inference"}
    rate = {"value": 0.02, "low": 0.01, "high": 0.05}
    entries = [
        {"name": name, "attacks": 100, "main": rate, "risk": None}
        for name in ("singling-out-univariate", "singling-out-multivariate", "linkability", "inference")
    ]
    (tmp_path / "attacks.json").write_text(json.dumps({"attacks": entries}))
    more = f"[profile.inputs]\nattacks = 'attacks.json'\nrate = 0.05\n{rest}"
    assert unmet(judge(table, "wp216", more)) == set()
    assert judge.said["inference"] == "inference: 2.0% of 100 (1.0% to 5.0%), at most 5.0% allowed"
    assert unmet(judge(table, "wp216", more.replace("0.05", "0.049"))) == {
        *attacks,
        "singling-out-attack",
    } - {"singling-out"}
    alone = changed(table, "age", "99")
    assert "singling-out" in unmet(judge(alone, "wp216", more))


BROKEN = {
    "ehds-66": {"class-size": ("age", "99"), "direct-identifiers": ("surname", "x"), "codes": ("ward", None)},
    "ico-anonymisation": {"singling-out": ("age", "99"), "direct-identifiers": ("e_mail", "x")},
    "iso-27559": {"context": ("age", "99"), "direct-identifiers": ("ward", "jane@example.org")},
    "nist-800-188": {"standard": ("age", "99"), "direct-identifiers": ("SSN", "x")},
}
"""Of each profile the checks that a changed column breaks: all of its cells, or a code of its own in each."""


@pytest.mark.slow
@pytest.mark.parametrize("name", BROKEN)
def test_a_framework_is_met_by_checks_and_answers_and_by_nothing_less(judge, table, tmp_path, name):
    profile = read_profile(name)
    rate = {"value": 0.02, "low": 0.01, "high": 0.05}
    attacks = {attack for each in profile.clauses for attack in each.settings.get("attacks", ())}
    entries = [{"name": each, "attacks": 100, "main": rate, "risk": None} for each in attacks]
    (tmp_path / "attacks.json").write_text(json.dumps({"attacks": entries}))
    inputs = {"attacks": "'attacks.json'", "rate": "0.05", "risk": "0.5"}
    more = "[profile.inputs]\n" + "".join(f"{each} = {inputs[each]}\n" for each in profile.inputs)
    questions = [each.id for each in profile.clauses if each.question is not None]
    more += "".join(ATTESTED.format(each) for each in questions)
    context = (
        ""
        if name in ("ico-anonymisation", "nist-800-188")
        else "[context]\nrecipient = 'public'\nthreshold = 0.5\n"
    )
    assert unmet(judge(table, name, more + context)) == set()
    for clause, (column, cell) in BROKEN[name].items():
        if cell is None:
            worse = table.with_columns(pl.Series(column, [f"c{number}" for number in range(table.height)]))
        elif column == "age":
            worse = changed(table, column, cell)
        else:
            worse = table.with_columns(pl.lit(cell).alias(column))
        assert clause in unmet(judge(worse, name, more + context)), clause
    for clause in questions:
        lacking = more.replace(ATTESTED.format(clause), "")
        assert unmet(judge(table, name, lacking + context)) == {clause}
    checked_by = {each.check: each.id for each in profile.clauses}
    if "context" in checked_by:
        assert unmet(judge(table, name, more)) == {checked_by["context"]}
    if attacks:
        of_attacks = {each.id for each in profile.clauses if each.check == "attack"}
        assert (
            unmet(judge(table, name, more.replace("0.05", "0.049"))) - {checked_by.get("context")}
            == of_attacks
        )


@pytest.mark.few(1)
@pytest.mark.parametrize("name", PROFILES)
def test_a_profile_without_inputs_and_answers_is_never_met(judge, table, name):
    states = judge(table, name)
    ids = {each.id for each in read_profile(name).clauses if each.question is not None}
    assert ids <= unmet(states)
    assert judge.found.to_dict()["profile"] == read_profile(name).full_name
    assert len(judge.found.to_dict()["clauses"]) == len(states)
