"""Linked tables in a ledger: judged beside single releases and other linked ones, by people and by keys."""

from __future__ import annotations

import random
from collections import Counter

import polars as pl
import pytest

import incrowd as ic
from incrowd.core.errors import InfeasibleError, ParameterError
from linked_readings import draw, views

KEY = "0f1e2d3c4b5a69788796a5b4c3d2e1f0aabbccdd"
IDS = list("abcdefgh")
PSEUDONYM = "pseudonym:hmac,key=env:CLINIC"
SEX, WARD = list("ffffmmmm"), list("AAABBBBA")
ONE = ["x"] * 8


@pytest.fixture(autouse=True)
def _key(monkeypatch):
    monkeypatch.setenv("CLINIC", KEY)


@pytest.fixture
def ledger(tmp_path):
    return ic.Ledger.init(tmp_path / "ledger")


def linked(sex=SEX, ward=WARD, known="all", k=4, visits=IDS, sensitive=None, models=()) -> ic.LinkedRelease:
    """Release persons and visits, whose cells are at most what is given."""
    tables = {
        "person": pl.DataFrame({"id": IDS, "sex": sex}),
        "visit": pl.DataFrame({"of": visits, "ward": ward}),
    }
    if sensitive is not None:
        tables["visit"] = tables["visit"].with_columns(code=pl.Series(sensitive))
    schema = ic.Schema(
        ["person.sex", "visit.ward"], person=["person.id"], sensitive=[] if sensitive is None else ["visit.code"],
        treatments={"person.id": PSEUDONYM},
    )  # fmt: skip
    shape = [ic.LinkedTable("person"), ic.LinkedTable("visit", join={"of": "person.id"}, known=known)]
    policy = ic.LinkedPolicy(shape, ic.Policy(schema, [ic.KAnonymity(k), *models]))
    return ic.anonymize_linked(tables, policy, unanswered="write")


def single(quasi="sex", values=SEX, k=4, key="id", ids=IDS):
    """Release one table with the same pseudonym, and return it with the raw table."""
    table = pl.DataFrame({key: ids, quasi: values})
    attributes = [
        ic.Attribute(key, "insensitive", treatment=ic.Pseudonym(key="env:CLINIC")), ic.Attribute(quasi, "quasi"),
    ]  # fmt: skip
    return ic.anonymize(
        table, ic.Schema([]).with_attributes(attributes), f"k-anonymity:{k}", unanswered="write"
    ), table


def add(ledger, release, table=None, keys=()) -> None:
    ledger.add(release, table, recipient="r", keys=keys)


def test_a_single_release_is_judged_beside_linked_tables(ledger):
    add(ledger, linked(sex=ONE))
    with pytest.raises(InfeasibleError) as refused:
        add(ledger, *single(), keys=["id"])
    assert "exposes 8 people (joined by id, whose values are in person.id there" in str(refused.value)
    add(ledger, *single(values=ONE), keys=["id"])
    assert [entry["command"] for entry in ledger.entries] == ["anonymize", "anonymize"]
    assert (ledger.entries[0]["people"], ledger.entries[0]["records"]) == (8, 16)
    assert ledger.verify() is None
    held = b"".join(path.read_bytes() for path in ledger.folder.rglob("*") if path.is_file())
    assert not any(text.encode() in held for text in release_texts(linked(sex=ONE)))


def release_texts(release) -> set[str]:
    return {*release.tables["person"]["id"]}


def test_linked_tables_are_judged_beside_a_single_release_and_beside_others(ledger):
    add(ledger, *single(), keys=["id"])
    with pytest.raises(InfeasibleError, match=r"joined by person\.id, whose values are in id there"):
        add(ledger, linked(sex=ONE))
    add(ledger, linked(ward=ONE))
    with pytest.raises(InfeasibleError, match=r"whose values are in (id, )?person\.id"):
        add(ledger, linked(sex=ONE))
    add(ledger, linked(ward=ONE))
    assert len(ledger.entries) == 3


def test_few_known_rows_are_judged_as_sets(ledger):
    # Nobody has as many visits as somebody else, so all of them at once would single everybody out.
    visits = [each for place, each in enumerate(IDS) for _ in range(place + 1)]
    add(ledger, linked(sex=ONE, ward=["A"] * len(visits), visits=visits, known=1))
    assert ledger.entries[0]["sets"]
    add(ledger, *single(values=list("AAAABBBB")), keys=["id"])
    with pytest.raises(InfeasibleError, match="exposes 8 people"):
        add(ledger, *single(values=list("AABBCCDD"), k=2), keys=["id"])


@pytest.mark.few(2)
@pytest.mark.parametrize("seed", range(4))
def test_exposed_people_are_those_of_the_definition(ledger, seed):
    tables, terms = draw(seed, k=2, people=40, max_suppression=0.9)
    release = ic.anonymize_linked(tables, terms, unanswered="write")
    ledger.add(release, tables, recipient="r")
    [entry] = ledger.entries
    people = ledger.people(entry)
    sets = people.select("person", "class").unique()
    counts = Counter(sets["class"])
    assert (entry["sets"] is not None) == any(each.known != "all" for each in terms.tables)
    assert min(counts.values()) >= release.view.smallest
    if entry["sets"] is None:
        assert min(counts.values()) == release.view.smallest
        assert len(sets) == release.view.people


@pytest.mark.few(2)
@pytest.mark.parametrize("seed", range(8))
def test_people_exposed_beside_a_single_release_are_those_of_the_definition(ledger, seed):
    tables, terms = draw(seed, k=2, people=60, max_suppression=0.9)
    release = ic.anonymize_linked(tables, terms, unanswered="write")
    ids = tables["person"]["id"]
    zones = pl.DataFrame({"id": ids, "zone": random.Random(seed).choices("abc", k=len(ids))})
    other = ic.anonymize(
        zones, ic.Schema(["zone"], insensitive=["id"], treatments={}), [ic.KAnonymity(2)], unanswered="write"
    )
    of_person = {str([each]): zone for each, zone in other.table.select("id", "zone").iter_rows()}
    exposed = {
        person
        for people in views(release.tables, terms).values()
        for person in people
        if sum(of_person[each] == of_person[person] for each in people) < 2
    }
    ledger.add(release, tables, recipient="r")
    if not exposed:
        add(ledger, other, zones, keys=["id"])
        return
    with pytest.raises(InfeasibleError, match=f"exposes {len(exposed)} people"):
        add(ledger, other, zones, keys=["id"])


@pytest.mark.few(2)
@pytest.mark.parametrize("seed", range(6))
def test_the_same_tables_may_leave_again(ledger, seed):
    tables, terms = draw(seed, k=2, people=40, max_suppression=0.9)
    for _ in range(2):
        ledger.add(ic.anonymize_linked(tables, terms, unanswered="write"), tables, recipient="r")
    assert len(ledger.entries) == 2


def test_a_known_row_is_seen_in_both_releases(ledger):
    # Eight visits, known one at a time: by ward in one release, and by floor in another.
    def visits(hidden):
        tables = {
            "person": pl.DataFrame({"id": IDS, "sex": ONE}),
            "visit": pl.DataFrame({"of": IDS, "ward": WARD, "floor": list("11112222")}),
        }
        schema = ic.Schema.of_attributes(
            [
                ic.Attribute("person.id", "person", treatment=ic.Pseudonym(key="env:CLINIC")),
                *(
                    ic.Attribute(name, "quasi", levels=[1, None] if name == hidden else None)
                    for name in ("person.sex", "visit.ward", "visit.floor")
                ),
            ]
        )
        shape = [ic.LinkedTable("person"), ic.LinkedTable("visit", join={"of": "person.id"}, known=1)]
        policy = ic.LinkedPolicy(shape, ic.Policy(schema, "k-anonymity:4", algorithm="optimal"))
        release = ic.anonymize_linked(tables, policy, unanswered="write")
        assert release.levels[hidden] == 1
        return release

    add(ledger, visits("visit.floor"))
    with pytest.raises(InfeasibleError, match="exposes 8 people"):
        add(ledger, visits("visit.ward"))
    assert len(ledger.entries) == 1


def test_sensitive_values_are_compared(ledger):
    codes = list("uvuvuvuv")
    diverse = [ic.LDiversity(2, kind="distinct")]
    add(ledger, linked(sex=ONE, ward=list("AAAABBBB"), sensitive=codes, models=diverse))
    table = pl.DataFrame({"id": IDS, "zone": list("11221122"), "code": codes})
    # Four people stay together in each pair of classes but two, who have two values.
    release = ic.anonymize(
        table, ic.Schema(["zone"], ["code"], person=["id"]), [ic.KAnonymity(2)], unanswered="write"
    )
    with pytest.raises(InfeasibleError, match="exposes 8 people"):
        add(ledger, release, table)


def chain() -> ic.LinkedPolicy:
    """Return the policy of persons, their visits, and the drugs of each visit, which has a key of its own."""
    schema = ic.Schema(
        ["person.sex", "visit.ward", "drug.name"],
        person=["person.id"],
        insensitive=["visit.no"],
        treatments=dict.fromkeys(("person.id", "visit.no"), PSEUDONYM),
    )
    shape = [
        ic.LinkedTable("person"),
        ic.LinkedTable("visit", join={"of": "person.id"}),
        ic.LinkedTable("drug", join={"at": "visit.no"}),
    ]
    return ic.LinkedPolicy(shape, ic.Policy(schema, "k-anonymity:4"))


def test_keys_of_visits_join_too(ledger):
    tables = {
        "person": pl.DataFrame({"id": IDS, "sex": ONE}),
        "visit": pl.DataFrame(
            {"no": [f"visit-number-{n}" for n in IDS], "of": IDS, "ward": list("AAAABBBB")}
        ),
        "drug": pl.DataFrame({"at": [f"visit-number-{n}" for n in IDS], "name": ONE}),
    }
    add(ledger, ic.anonymize_linked(tables, chain(), unanswered="write"))
    assert {each["column"] for each in ledger.entries[0]["joins"].values()} == {"person.id", "visit.no"}
    bills, table = single("price", list("12121212"), key="stay", ids=tables["visit"]["no"].to_list())
    with pytest.raises(InfeasibleError, match=r"joined by stay, whose values are in visit\.no there"):
        add(ledger, bills, table, keys=["stay"])


def test_numbers_from_one_are_no_key_of_another_table(ledger):
    # Person 5 and visit 5 have the same pseudonym, and the visits of somebody else.
    numbers = list(range(1, 9))
    tables = {
        "person": pl.DataFrame({"id": numbers, "sex": list("ffffmmmm")}),
        "visit": pl.DataFrame({"no": [1, 3, 5, 7, 2, 4, 6, 8], "of": numbers, "ward": list("AAAABBBB")}),
        "drug": pl.DataFrame({"at": numbers, "name": ONE}),
    }
    for _ in range(2):
        add(ledger, ic.anonymize_linked(tables, chain(), unanswered="write"))
    table = tables["person"].with_columns(sex=pl.Series(list("ffffmmmm")))
    bills = ic.anonymize(
        table, ic.Schema(["sex"], insensitive=["id"], treatments={"id": PSEUDONYM}), "k-anonymity:4",
        unanswered="write",
    )  # fmt: skip
    add(ledger, bills, table, keys=["id"])
    assert len(ledger.entries) == 3


def test_what_no_entry_can_have_is_refused(ledger):
    with pytest.raises(ParameterError, match="linked tables have keys by their joins"):
        add(ledger, linked(sex=ONE), keys=["id"])
    schema = ic.Schema(["person.sex"], unlisted="drop")
    alone = ic.LinkedPolicy([ic.LinkedTable("person")], ic.Policy(schema, "k-anonymity:2"))
    release = ic.anonymize_linked({"person": pl.DataFrame({"sex": SEX})}, alone, unanswered="write")
    with pytest.raises(ParameterError, match="this policy has one table"):
        add(ledger, release)
    assert ledger.entries == []
