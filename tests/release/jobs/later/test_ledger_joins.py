"""Releases of one ledger that carry the same pseudonym are judged as whoever joins them sees them."""

from __future__ import annotations

import random
from collections import Counter, defaultdict

import polars as pl
import pytest

import incrowd as ic
from incrowd.core.errors import InfeasibleError, TableError

KEYS = ("0f1e2d3c4b5a69788796a5b4c3d2e1f0aabbccdd", "ffffffff4b5a69788796a5b4c3d2e1f0aabbccdd")
PEOPLE = pl.DataFrame({"id": list("abcdefgh"), "sex": list("ffffmmmm")})
VISITS = pl.DataFrame({"id": list("abcdefgh"), "ward": list("AAABBBBA")})


@pytest.fixture(autouse=True)
def _keys(monkeypatch):
    monkeypatch.setenv("KEY_0", KEYS[0])
    monkeypatch.setenv("KEY_1", KEYS[1])


@pytest.fixture
def ledger(tmp_path):
    return ic.Ledger.init(tmp_path / "ledger")


def released(table, quasi, id_="id", key=0, treat=True, k=4, sensitive=()):
    treatment = ic.Pseudonym(key=f"env:KEY_{key}") if treat else None
    attributes = [ic.Attribute(id_, "insensitive", treatment=treatment)]
    attributes += [ic.Attribute(name, "quasi") for name in quasi]
    attributes += [ic.Attribute(name, "sensitive") for name in sensitive]
    return ic.anonymize(
        table, ic.Schema([]).with_attributes(attributes), f"k-anonymity:{k}", unanswered="write"
    )


def add(ledger, table, quasi, keys=(), **how):
    ledger.add(released(table, quasi, **how), table, recipient="r", keys=keys)


def test_people_and_visits_that_are_safe_alone_are_refused_together(ledger):
    add(ledger, PEOPLE, ["sex"])
    with pytest.raises(InfeasibleError) as refused:
        add(ledger, VISITS, ["ward"])
    text = str(refused.value)
    assert (
        "exposes 8 people (joined by id, whose values are in id there, too; the smallest joint class" in text
    )
    assert "joint class has 1 person)" in text
    assert "Give the column a pseudonym with another key" in text
    assert len(ledger.entries) == 1


@pytest.mark.parametrize("name", ["id", "of"])
def test_tables_of_the_same_columns_are_joined_whatever_the_key_is_called(ledger, name):
    # The rows have the same quasi-identifiers in May and June, so by these each person is found in a class of four.
    may = VISITS.with_columns(ward=pl.Series(list("AAAABBBB")))
    add(ledger, may, ["ward"])
    with pytest.raises(InfeasibleError, match=f"joined by {name}, whose values are in id there"):
        add(ledger, VISITS.rename({"id": name}), ["ward"], id_=name)


def test_another_key_the_same_classes_and_no_pseudonym_pass(ledger):
    may = VISITS.with_columns(ward=pl.Series(list("AAAABBBB")))
    add(ledger, may, ["ward"])
    add(ledger, may, ["ward"])
    add(ledger, VISITS, ["ward"], key=1)
    plain = ic.anonymize(VISITS.drop("id"), ic.Schema(["ward"]), "k-anonymity:4", unanswered="write")
    ledger.add(plain, VISITS.drop("id"), recipient="r")
    assert len(ledger.entries) == 4
    assert ledger.verify() is None


def test_the_strictest_k_counts_and_a_few_shared_people_are_found(ledger):
    rows = pl.DataFrame({"id": [f"p{n}" for n in range(40)], "ward": ["A", "B"] * 20})
    add(ledger, rows, ["ward"], k=2)
    others = pl.DataFrame({"id": [f"q{n}" for n in range(36)] + ["p0", "p2", "p4"], "ward": ["A"] * 39})
    with pytest.raises(InfeasibleError, match="the smallest joint class has 3 people"):
        add(ledger, others, ["ward"], k=4)
    add(ledger, others, ["ward"], k=3)


def test_three_releases_are_joined_at_once(ledger):
    # Each two of them leave two people in a joint class, and all three leave one.
    tables = [
        pl.DataFrame({"id": list("abcdefgh"), "ward": ["AB"[n >> bit & 1] for n in range(8)]})
        for bit in range(3)
    ]
    add(ledger, tables[0], ["ward"], k=2)
    add(ledger, tables[1], ["ward"], k=2)
    with pytest.raises(
        InfeasibleError, match="2 earlier releases of the ledger the release exposes 8 people"
    ):
        add(ledger, tables[2], ["ward"], k=2)


def test_values_of_joint_classes_are_counted(ledger):
    may = VISITS.with_columns(ward=pl.lit("A"), ill=pl.Series(list("uuuuvvvv")))
    june = VISITS.with_columns(ward=pl.Series(list("AAAABBBB")))
    schema = ic.Schema([]).with_attributes(
        [
            ic.Attribute("id", "insensitive", treatment=ic.Pseudonym(key="env:KEY_0")),
            ic.Attribute("ward", "quasi"),
            ic.Attribute("ill", "sensitive"),
        ]
    )
    release = ic.anonymize(may, schema, [ic.KAnonymity(4), ic.LDiversity(2)], unanswered="write")
    ledger.add(release, may, recipient="r")
    # Four people share each joint class, and all four are ill of the same.
    with pytest.raises(InfeasibleError, match="joined by id"):
        add(ledger, june, ["ward"])


def test_short_numbers_join_by_name_alone_and_numbers_of_rows_do_not(ledger):
    cases = [str(1000 + n) for n in range(8)]
    may = pl.DataFrame({"case_no": cases, "id": cases, "ward": list("AAAABBBB")})
    june = pl.DataFrame({"case_no": cases, "id": cases, "ward": list("AAABBBBA")})
    add(ledger, may.drop("case_no"), ["ward"], treat=False)
    add(ledger, june.drop("case_no"), ["ward"], treat=False)
    add(ledger, may.drop("id"), ["ward"], id_="case_no", treat=False)
    with pytest.raises(InfeasibleError, match="joined by case_no"):
        add(ledger, june.drop("id"), ["ward"], id_="case_no", treat=False)


@pytest.mark.parametrize("kind", ["file", "database"])
def test_rows_that_are_not_in_memory_are_joined(ledger, tmp_path, kind):
    may = VISITS.with_columns(ward=pl.Series(list("AAAABBBB")))
    add(ledger, may, ["ward"])
    if kind == "file":
        VISITS.write_csv(tmp_path / "visits.csv")
        table = pl.scan_csv(tmp_path / "visits.csv")
    else:
        import duckdb

        with duckdb.connect(str(tmp_path / "a.duckdb")) as con:
            con.execute("CREATE TABLE visits AS SELECT * FROM VISITS")
        table = ic.Database(f"duckdb:///{tmp_path}/a.duckdb").table("visits")
    with pytest.raises(InfeasibleError, match="joined by id"):
        add(ledger, table, ["ward"])


def test_changed_keys_are_noticed(ledger):
    add(ledger, VISITS, ["ward"])
    [entry] = ledger.entries
    path = ledger.folder / "people" / entry["keys"]["name"]
    pl.read_parquet(path).head(1).write_parquet(path)
    assert "the keys of entry 1 were changed" in str(ledger.verify())
    with pytest.raises(TableError, match="the keys of entry 1"):
        add(ledger, VISITS, ["ward"])


@pytest.mark.few(5)
@pytest.mark.parametrize("seed", range(12))
def test_small_joint_classes_of_random_visits_are_refused(ledger, seed):
    rng = random.Random(seed)
    people = [f"p{n}" for n in range(12)]
    tables = []
    for _ in range(2):
        ids = [person for person in people for _ in range(rng.choice((1, 1, 2)))]
        tables.append(pl.DataFrame({"id": ids, "ward": rng.choices("AAAB", k=len(ids))}))
    classes = []
    for table in tables:
        own = defaultdict(set)
        for person, ward in table.iter_rows():
            own[person].add(ward)
        classes.append({person: frozenset(wards) for person, wards in own.items()})
    joint = Counter((classes[0][person], classes[1][person]) for person in people)
    try:
        add(ledger, tables[0], ["ward"], k=2)
    except InfeasibleError:
        pytest.skip("the first table alone has no release")
    release = released(tables[1], ["ward"], k=2)
    wards = {*release.table["ward"]} | {*tables[1]["ward"]}
    if "*" in wards:
        pytest.skip("nothing is left of the wards")
    if min(joint.values()) < 2:
        with pytest.raises(InfeasibleError, match=f"has {min(joint.values())} person"):
            ledger.add(release, tables[1], recipient="r")
