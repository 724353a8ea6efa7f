"""The gate before release: what is found, how a policy answers, and that the verifier finds the same."""

from __future__ import annotations

import json
import sqlite3
from collections import Counter
from contextlib import closing
from itertools import combinations

import numpy as np
import polars as pl
import pytest

import incrowd as ic
from incrowd.accounts.findings import unprotected
from incrowd.verification import verify

ROWS = 600
RNG = np.random.default_rng(7)
DAYS = np.datetime64("1950-01-01") + RNG.integers(0, 20_000, ROWS)
TABLE = pl.DataFrame(
    {
        "age": RNG.integers(20, 60, ROWS),
        "zip": [f"{number:05}" for number in RNG.choice(np.arange(100, 140), ROWS)],
        "seqn": np.arange(ROWS),
        "sqft": RNG.integers(0, 80, ROWS),
        "price": RNG.integers(0, 70, ROWS),
        "color": RNG.choice(["red", "blue"], ROWS),
        "income": RNG.choice(["low", "low", "low", "high"], ROWS),
        "ill": RNG.choice(list("abcdef"), ROWS),
    }
)
QUASI = {"age": ic.Hierarchy.intervals(10, 20), "zip": ic.Hierarchy.prefix()}
PLAIN = ("seqn", "sqft", "price", "color")
K = "k-anonymity:5"


def schema(*plain: str, sensitive: tuple[str, ...] = (), **more: object) -> ic.Schema:
    return ic.Schema(quasi=QUASI, sensitive=sensitive, insensitive=plain, unlisted="drop", **more)


def found(release: ic.Release) -> dict[tuple[str, ...], ic.Finding]:
    return {(each.name, *each.columns): each for each in release.findings}


def lone(table: pl.DataFrame, *columns: str) -> float:
    """Count by a dictionary which rows have values of their own."""
    counts = Counter(table.select(columns).rows())
    return sum(number == 1 for number in counts.values()) / table.height


def test_unique_columns_and_pairs_are_found():
    release = ic.anonymize(TABLE, schema(*PLAIN), K)
    pairs = [
        pair
        for pair in combinations(PLAIN, 2)
        if lone(TABLE, *pair) >= 0.2 and all(lone(TABLE, name) < 0.2 for name in pair)
    ]
    assert ("sqft", "price") in pairs
    expected = {("unique-column", "seqn"): 1.0}
    expected |= {("unique-together", *pair): lone(TABLE, *pair) for pair in pairs}
    assert {name: each.share for name, each in found(release).items()} == expected
    assert "100.0% of the records have a value in it that no other record has" in release.findings[0].text
    assert not ic.anonymize(TABLE, schema("color"), K).findings


def test_unlisted_columns_that_are_kept_are_looked_at():
    kept = ic.Schema(quasi=QUASI, unlisted="keep")
    names = {name[1] for name in found(ic.anonymize(TABLE, kept, K))}
    assert {"seqn", "sqft"} <= names


def test_a_treated_column_is_no_finding():
    treated = schema("seqn", treatments={"seqn": "round:100"})
    assert not ic.anonymize(TABLE, treated, K).findings


def test_large_tables_are_counted_in_full():
    """The first rows look unique, and all rows do not: every value occurs once more behind them."""
    half = np.arange(60_000)
    table = pl.DataFrame({"age": np.tile(half % 50, 2), "code": np.tile(half, 2), "own": np.arange(120_000)})
    made = ic.anonymize(table, ic.Schema(quasi=["age"], insensitive=["code", "own"]), K)
    assert list(found(made)) == [("unique-column", "own")]
    lazy = ic.anonymize(table.lazy(), ic.Schema(quasi=["age"], insensitive=["code", "own"]), K)
    assert list(found(lazy)) == [("unique-column", "own")]


def test_rows_of_a_database_are_counted_there(tmp_path):
    with closing(sqlite3.connect(tmp_path / "t.db")) as connection, connection:
        connection.execute("create table people (age, seqn, color)")
        rows = TABLE.select("age", "seqn", "color").rows()
        connection.executemany("insert into people values (?, ?, ?)", rows)
    with ic.Database(f"sqlite:///{tmp_path / 't.db'}") as database:
        people = ic.Schema(quasi=["age"], insensitive=["seqn", "color"])
        release = ic.anonymize(database.table("people"), people, K)
        assert list(found(release)) == [("unique-column", "seqn")]


def test_a_sensitive_column_without_a_model_is_found():
    asked = schema(sensitive=("ill", "income"))
    release = ic.anonymize(TABLE, asked, [K, ic.LDiversity(2, attribute="ill")])
    (finding,) = release.findings
    assert (finding.name, finding.columns) == ("unprotected-sensitive", ("income",))
    classes = release.table.group_by("age", "zip").agg(pl.len().alias("n"), pl.col("income").n_unique())
    alike = classes.filter(pl.col("income") == 1)["n"].sum()
    assert finding.share == alike / ROWS
    assert not ic.anonymize(
        TABLE, asked, [K, ic.LDiversity(2)], max_suppression=0.5, suppressed="keep"
    ).findings
    score = ic.anonymize(TABLE, asked, [K, ic.P29(0.1)], max_suppression=0.9, suppressed="keep")
    assert "unprotected-sensitive" not in {finding.name for finding in score.findings}
    neighbour = ic.Attacker("neighbour", ["age"], [ic.LDiversity(2)])
    assert not ic.anonymize(TABLE, asked, [K, neighbour]).findings


@pytest.mark.parametrize(
    ("models", "left"),
    [
        ([], ["ill", "income"]),
        ([ic.KAnonymity(5), ic.AverageRisk(0.2)], ["ill", "income"]),
        ([ic.KAnonymity(5), ic.TCloseness(0.3)], []),
        ([ic.P29(0.1)], []),
        ([ic.AlphaKAnonymity(0.5, 2, attribute="income")], ["ill"]),
        ([ic.LDiversity(2, attribute="ill"), ic.LDiversity(2, attribute="income")], []),
        ([ic.Attacker("neighbour", ["age"], [ic.KAnonymity(5)])], ["ill", "income"]),
        (
            [ic.Attacker("neighbour", ["age"], [ic.KAnonymity(5), ic.LDiversity(2, attribute="ill")])],
            ["income"],
        ),
    ],
)
def test_sensitive_attributes_without_a_model_are_named(models, left):
    assert unprotected(models, ["ill", "income"]) == left
    assert unprotected(models, []) == []


@pytest.mark.parametrize(
    ("name", "values"),
    [
        ("month", [int(str(day)[5:7]) for day in DAYS]),
        ("day", [str(day)[8:10] for day in DAYS]),
        ("year", [str(day)[:4] for day in DAYS]),
        ("weekday", [day.item().strftime("%A") for day in DAYS]),
        ("birthday", [str(day)[5:10] for day in DAYS]),
    ],
)
def test_a_part_of_a_generalized_date_is_found(name, values):
    table = pl.DataFrame({"born": pl.Series(DAYS).cast(pl.Date), name: values})
    dated = ic.Schema(quasi={"born": ic.Hierarchy.dates("year", "decade")}, insensitive=[name])
    release = ic.anonymize(table, dated, K, "optimal")
    assert ("derived-column", name, "born") in found(release)


def test_a_column_that_follows_from_a_generalized_one_is_found_and_the_other_way_round():
    table = TABLE.with_columns(town=pl.col("zip").str.slice(3, 1), code=pl.col("zip"))
    release = ic.anonymize(table, schema("town", "code", "color"), K)
    derived = {name: each.text for name, each in found(release).items() if name[0] == "derived-column"}
    assert "it follows from zip" in derived["derived-column", "town", "zip"]
    assert ("derived-column", "code", "zip") in derived
    assert len(derived) == 2
    by_state = ic.Schema(quasi={"town": None}, insensitive=["zip"], unlisted="drop")
    (text,) = (
        each.text for each in ic.anonymize(table, by_state, K).findings if each.name == "derived-column"
    )
    assert "town, which is generalized, follows from it" in text


def test_a_repeated_id_is_found_while_nobody_is_named():
    rows = TABLE.with_columns(patient_id=pl.Series([f"P{number // 3:05}" for number in range(ROWS)]))
    release = ic.anonymize(rows, schema(identifying=["patient_id"]), K)
    assert list(found(release)) == [("repeated-id", "patient_id")]
    named = ic.anonymize(rows, schema(person=["patient_id"]), K, max_suppression=0.2, suppressed="keep")
    assert not named.findings


@pytest.mark.parametrize("role", ["identifying", "insensitive"])
def test_a_repeated_id_is_found_by_what_it_tells_though_its_name_says_nothing(role):
    """A number is an id of people if all rows of each have one year of birth."""
    born = RNG.integers(1950, 1990, ROWS // 6)
    rows = pl.DataFrame(
        {
            "idcode": np.repeat(np.arange(ROWS // 6) * 3 + 5, 6),
            "birth_yr": np.repeat(born, 6),
            "wage": RNG.integers(100, 200, ROWS),
        }
    )
    columns = {"quasi": ["birth_yr"], "unlisted": "drop", role: ["idcode"]}
    names = {
        each.columns
        for each in ic.anonymize(rows, ic.Schema(**columns), K).findings
        if each.name == "repeated-id"
    }
    assert names == {("idcode",)}
    other = rows.with_columns(birth_yr=pl.Series(RNG.integers(1950, 1990, ROWS)))
    assert "repeated-id" not in {each.name for each in ic.anonymize(other, ic.Schema(**columns), K).findings}


def test_much_suppression_is_found():
    table = pl.DataFrame({"code": ["a"] * 7 + list("bcd")})
    flat = ic.Schema(quasi={"code": ic.Hierarchy.flat()})
    release = ic.anonymize(table, flat, K, "cell-suppression", max_suppression=0.3, suppressed="keep")
    assert release.privacy.suppressed == 3
    assert ("much-suppressed",) in found(release)


# --- answers ------------------------------------------------------------------------------------------


def policy(*accepted: ic.Accepted) -> ic.Policy:
    return ic.Policy(schema("seqn", "color"), (ic.KAnonymity(5),), accepted=accepted)


WHY = "a number that the study made up"


def test_strict_refuses_until_each_finding_is_answered(tmp_path):
    with pytest.raises(
        ic.InfeasibleError, match=r"1 finding is not answered: unique-column: seqn is released"
    ):
        ic.anonymize(TABLE, policy(), strict=True)
    answered = policy(ic.Accepted("unique-column", "seqn", WHY))
    release = ic.anonymize(TABLE, answered, strict=True)
    assert release.findings[0].why == WHY
    assert release.to_dict()["findings"][0]["accepted"] == WHY
    assert release.document()["findings"][0]["accepted"] == WHY
    other = policy(ic.Accepted("unique-column", "color", WHY), ic.Accepted("much-suppressed", None, WHY))
    with pytest.raises(ic.InfeasibleError, match="not answered"):
        ic.anonymize(TABLE, other, strict=True)
    # Without findings, strict changes nothing.
    assert ic.anonymize(TABLE, schema("color"), K, strict=True).findings == ()


def test_answers_are_kept_in_the_policy_file(tmp_path):
    accepted = (ic.Accepted("unique-column", "seqn", WHY), ic.Accepted("much-suppressed", None, 'say "why"'))
    policy(*accepted).write(tmp_path / "policy.toml")
    assert ic.Policy.read(tmp_path / "policy.toml").accepted == accepted


@pytest.mark.parametrize(
    ("entry", "words"),
    [
        ('finding = "unique-colum"\ncolumn = "seqn"\nwhy = "x"', "did you mean 'unique-column'"),
        ('finding = "unique-column"\ncolumn = "seqn"\nwhy = " "', "say why"),
        ('finding = "unique-column"\ncolumn = "seqn"', "why"),
        ('finding = "unique-column"\nwhy = "x"\ncolum = "seqn"', "colum"),
    ],
)
def test_wrong_answers_are_refused_by_both_readers(tmp_path, entry, words):
    text = policy().to_toml() + f"\n[[accepted]]\n{entry}\n"
    (tmp_path / "policy.toml").write_text(text)
    with pytest.raises(ic.PolicyError, match=words):
        ic.Policy.read(tmp_path / "policy.toml")


def test_findings_hold_no_value_of_the_table():
    planted = TABLE.with_columns(seqn=pl.Series([f"planted{number}" for number in range(ROWS)]))
    release = ic.anonymize(planted, schema(*PLAIN), K)
    assert release.findings
    assert "planted" not in json.dumps([each.to_dict() for each in release.findings])


# --- the second reading -------------------------------------------------------------------------------


SHOWN = ("unique-column", "unique-together", "unprotected-sensitive", "blanked-column", "much-suppressed")


@pytest.mark.parametrize(
    ("plain", "sensitive", "models"),
    [
        (PLAIN, (), (ic.KAnonymity(5),)),
        (
            ("sqft", "price", "color"),
            ("ill", "income"),
            (ic.KAnonymity(3), ic.LDiversity(2, attribute="ill")),
        ),
        (("color",), ("income",), (ic.KAnonymity(8),)),
    ],
)
@pytest.mark.parametrize("algorithm", ["mondrian", "cell-suppression"])
def test_the_verifier_finds_the_same_in_the_file(tmp_path, plain, sensitive, models, algorithm):
    asked = ic.Policy(
        schema(*plain, sensitive=sensitive), models, algorithm, max_suppression=0.9, suppressed="keep",
        accepted=(ic.Accepted("unique-together", "sqft", WHY),),
    )  # fmt: skip
    release = ic.anonymize(TABLE, asked)
    release.save(tmp_path / "out")
    seen = verify(tmp_path / "out" / "release.csv", tmp_path / "out" / "policy.toml")
    ours = {(each.name, each.columns, round(each.share, 12), each.why) for each in release.findings}
    theirs = {(each.name, each.columns, round(each.share, 12), each.why) for each in seen.gate}
    assert theirs == {each for each in ours if each[0] in SHOWN}
