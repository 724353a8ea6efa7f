"""m-invariant series of releases: against the paper's example, possible worlds, and plain Python."""

from __future__ import annotations

import itertools
import json
import random
from collections import Counter, defaultdict
from fractions import Fraction

import numpy as np
import polars as pl
import pytest

import incrowd as ic
from emitted_sql import verdict
from fuzz.checks.series import records_of
from incrowd.attacks.ledger import composition_of_ledger
from incrowd.core.errors import InfeasibleError, InputError, ParameterError, SchemaError, TableError
from incrowd.release.jobs.later.ledger.deduction import without_m_invariance
from incrowd.release.jobs.later.series_groups import buckets_of
from incrowd.release.verification import checks_as_sql

MARK = "planted"

# --- the example of Xiao and Tao, m-Invariance, SIGMOD 2007, section 1 --------------------------------------

FIRST = {
    "Bob": (21, 12_000, "dyspepsia"),
    "Alice": (22, 14_000, "bronchitis"),
    "Andy": (24, 18_000, "flu"),
    "David": (23, 25_000, "gastritis"),
    "Gary": (41, 20_000, "flu"),
    "Helen": (36, 27_000, "gastritis"),
    "Jane": (37, 33_000, "dyspepsia"),
    "Ken": (40, 35_000, "flu"),
    "Linda": (43, 26_000, "gastritis"),
    "Paul": (52, 33_000, "dyspepsia"),
    "Steve": (56, 34_000, "gastritis"),
}
GONE = ("Alice", "Andy", "Helen", "Ken", "Paul")
CAME = {
    "Emily": (25, 21_000, "flu"),
    "Mary": (46, 30_000, "gastritis"),
    "Ray": (54, 31_000, "dyspepsia"),
    "Tom": (60, 44_000, "gastritis"),
    "Vince": (65, 36_000, "flu"),
}
SECOND = {name: row for name, row in FIRST.items() if name not in GONE} | CAME
# The classes as published: the first release, the second by 2-diversity alone, and with counterfeits.
CLASSES_1 = ["Bob Alice", "Andy David", "Gary Helen", "Jane Ken Linda", "Paul Steve"]
NAIVE_2 = ["Bob David", "Emily Jane Linda", "Gary Mary", "Ray Steve", "Tom Vince"]
CLASSES_2 = ["Bob +bronchitis", "David Emily", "Jane +flu Linda", "Gary Mary", "Ray Steve", "Tom Vince"]


def published(classes, rows):
    """Records of a release: person, class, value; a word with + is a counterfeit value."""
    return [
        (None, number, who[1:]) if who.startswith("+") else (who, number, rows[who][2])
        for number, members in enumerate(classes)
        for who in members.split()
    ]


def frame(release):
    return pl.DataFrame(release, ["person", "class", "value"], orient="row")


def risks(releases):
    """For each person the probability of the likeliest value, over all possible worlds.

    The attacker knows the class of each person in each release, and how many counterfeits a class has.
    """
    people = sorted({person for release in releases for person, _, _ in release if person})
    classes = []
    for release in releases:
        members, counts = defaultdict(list), defaultdict(Counter)
        for person, group, value in release:
            counts[group][value] += 1
            if person:
                members[group].append(person)
        classes += [(members[group], counts[group]) for group in counts]
    possible = {
        person: sorted(set.intersection(*(set(shown) for who, shown in classes if person in who)))
        for person in people
    }
    seen, worlds = defaultdict(Counter), 0
    for values in itertools.product(*possible.values()):
        world = dict(zip(people, values, strict=True))
        if all(Counter(world[who] for who in members) <= shown for members, shown in classes):
            worlds += 1
            for person, value in world.items():
                seen[person][value] += 1
    return {person: Fraction(max(seen[person].values()), worlds) for person in people}


@pytest.mark.slow
def test_the_papers_release_by_diversity_alone_tells_bobs_disease_and_is_found():
    releases = [published(CLASSES_1, FIRST), published(NAIVE_2, SECOND)]
    assert risks(releases)["Bob"] == 1
    assert "Bob" in set(without_m_invariance([frame(each) for each in releases], 2))


@pytest.mark.slow
def test_the_papers_release_with_two_counterfeits_is_m_invariant():
    releases = [published(CLASSES_1, FIRST), published(CLASSES_2, SECOND)]
    assert set(without_m_invariance([frame(each) for each in releases], 2)) == set()
    assert max(risks(releases).values()) == Fraction(1, 2)
    # Three values are asked for, and only the class of Jane has them.
    assert len(without_m_invariance([frame(releases[0])], 3)) == 8


@pytest.mark.parametrize(("person", "value"), [("Bob", "flu"), ("Jane", "gastritis")])
def test_one_changed_value_of_the_papers_release_is_found(person, value):
    second = [
        (who, group, value if who == person else shown) for who, group, shown in published(CLASSES_2, SECOND)
    ]
    assert person in set(without_m_invariance([frame(published(CLASSES_1, FIRST)), frame(second)], 2))


def test_from_the_papers_first_release_two_counterfeits_are_enough():
    diseases = sorted({row[2] for row in FIRST.values()})
    number = {disease: at for at, disease in enumerate(diseases)}
    signature = {
        who: tuple(sorted({number[FIRST[each][2]] for each in members.split()}))
        for members in CLASSES_1
        for who in members.split()
    }
    names = list(SECOND)
    buckets = buckets_of(
        np.array([number[SECOND[who][2]] for who in names]),
        {row: signature[who] for row, who in enumerate(names) if who in signature},
        np.array([(SECOND[who][0] / 65, SECOND[who][1] / 44_000) for who in names]),
        len(diseases),
        2,
        np.random.default_rng(1),
    )
    heights = [max(map(len, bucket.values())) for bucket in buckets]
    slots = sum(len(bucket) * height for bucket, height in zip(buckets, heights, strict=True))
    assert slots - len(SECOND) == 2


@pytest.mark.parametrize("m", [2, 3, 4])
def test_new_records_get_as_few_counterfeits_as_can_be(m):
    random_ = np.random.default_rng(m)
    for counts in itertools.product(range(4), repeat=5):
        values = np.repeat(np.arange(5), counts)
        if not len(values):
            continue
        places = random_.random((len(values), 2))
        buckets = buckets_of(values, {}, places, 5, m, random_)
        rows = [row for bucket in buckets for records in bucket.values() for row in records]
        assert sorted(rows) == list(range(len(values)))
        assert all(values[row] == value for each in buckets for value, rows in each.items() for row in rows)
        assert all(len(bucket) >= m for bucket in buckets)
        slots = sum(len(bucket) * max(map(len, bucket.values())) for bucket in buckets)
        assert slots - len(values) == max(0, m * max(counts) - len(values))


# --- random histories --------------------------------------------------------------------------------------


def schema(**settings):
    quasi = {"age": ic.Hierarchy.intervals(10), "town": ic.Hierarchy.flat()}
    return ic.Schema(person="ssn", quasi=quasi, sensitive=["disease"], unlisted="drop", **settings)


def policy(m=2, **settings):
    return ic.Policy(schema(), ["k-anonymity:2"], ledger_m=m, **{"max_suppression": 1.0} | settings)


def population(seed, people):
    draw = random.Random(seed)
    return pl.DataFrame(
        {
            "ssn": [f"{MARK}-{n}" for n in range(people)],
            "age": [draw.randint(20, 60) for _ in range(people)],
            "town": [draw.choice("ABC") for _ in range(people)],
            "disease": [f"d{min(int(draw.expovariate(0.7)), 5)}" for _ in range(people)],
        }
    )


def history(seed, people, m, ledger):
    """Three releases of people as lists of person, group and value, with the raw tables."""
    draw, whole = random.Random(seed), population(seed, people)
    tables, releases = [], []
    for _ in range(3):
        there = [n for n in range(people) if draw.random() < 0.7] or [0]
        table = whole[there]
        release = ic.next_release(
            table, policy(m), ledger, earlier=[each.table for each in releases], max_counterfeits=1
        )
        ledger.add(release, table, recipient="A", new_people=True)
        tables.append(table)
        releases.append(release)
    return tables, releases


def records(release):
    return records_of(release, "ssn", "disease")


def signatures_of(release):
    """The values around each person."""
    values = defaultdict(set)
    for _, group, value in records(release):
        values[group].add(value)
    return {who: values[group] for who, group, _ in records(release)}


@pytest.fixture
def ledger(tmp_path):
    return ic.Ledger.init(tmp_path / "ledger")


SEEDS = [*range(30), *(pytest.param(seed, marks=pytest.mark.slow) for seed in range(30, 200))]


@pytest.mark.few(1)
@pytest.mark.parametrize("seed", SEEDS)
def test_random_histories_keep_signatures_and_lose_nobody(seed, ledger):
    m, people = 2 + seed % 3, 12 + 4 * (seed % 8)
    try:
        tables, releases = history(seed, people, m, ledger)
    except InfeasibleError:
        pytest.skip("too few values, or cells that are too wide")
    signature = {}
    for table, release in zip(tables, releases, strict=True):
        entries = records(release)
        raw = dict(table.select("ssn", "disease").iter_rows())
        assert {who: value for who, _, value in entries if who} == raw
        assert len([who for who, _, _ in entries if who]) == len(table)
        groups = defaultdict(Counter)
        for _, group, value in entries:
            groups[group][value] += 1
        assert all(len(counts) >= m and set(counts.values()) == {1} for counts in groups.values())
        for who, group, _ in entries:
            if who:
                assert signature.setdefault(who, set(groups[group])) == set(groups[group])
        fakes = Counter(group for who, group, _ in entries if who is None)
        assert dict(release.counterfeits.iter_rows()) == fakes
        assert all(any(who for who, each, _ in entries if each == group) for group in groups)
        # A counterfeit record cannot be told from the others of its class.
        cells = defaultdict(set)
        for age, town, group in release.table.select("age", "town", "group").iter_rows():
            cells[group].add((age, town))
        assert all(len(each) == 1 for each in cells.values())
    assert composition_of_ledger(ledger).figures["exposed"] == 0


@pytest.mark.few(6)
@pytest.mark.parametrize("seed", range(12))
def test_in_no_possible_world_of_a_tiny_history_a_value_is_likelier_than_one_in_m(seed, tmp_path):
    m, people = 2 + seed % 2, 6
    ledger = ic.Ledger.init(tmp_path / "ledger")
    try:
        _, releases = history(seed + 100, people, m, ledger)
    except InfeasibleError:
        pytest.skip("too few values, or cells that are too wide")
    result = risks([records(release) for release in releases])
    assert max(result.values()) <= Fraction(1, m)


@pytest.mark.slow
def test_most_histories_are_not_refused(tmp_path):
    result = 0
    settings = [(seed, 12 + 4 * (seed % 8), 2 + seed % 3) for seed in range(30)]
    settings += [(seed + 100, 6, 2 + seed % 2) for seed in range(12)]
    for number, (seed, people, m) in enumerate(settings):
        try:
            history(seed, people, m, ic.Ledger.init(tmp_path / str(number)))
            result += 1
        except InfeasibleError:
            continue
    assert result >= 34


@pytest.mark.parametrize(
    ("one", "other", "shown"),
    [(0.0, -0.0, "0.0"), ("1", "1.0", "1"), ("flu", " flu ", "flu"), (1.5, 1.5, "1.5")],
)
def test_equal_values_leave_in_one_spelling(one, other, shown, ledger):
    """A reader of `flu` in January and ` flu ` in February knows a neighbour's value from Ann's."""
    others = [2.0, 3.0, 4.0] if isinstance(one, float) else ["2", "3", "4"] if one == "1" else ["a", "b", "c"]
    name = "^ill$"  # no pattern of names
    table = pl.DataFrame({"ssn": [*"ABCDEFGH"], "age": range(20, 28), name: [one, other, *others, *others]})
    schema = ic.Schema(person="ssn", quasi=["age"], sensitive=[name], unlisted="drop")
    first = ic.next_release(table, ic.Policy(schema, [], ledger_m=2), ledger)
    told = set(first.table[name].alias("").cast(pl.String))
    assert shown in told
    assert len(told) == 4


# --- what is refused ---------------------------------------------------------------------------------------


def test_whoever_has_another_value_now_is_refused_or_left_out(ledger):
    table = population(1, 40)
    first = ic.next_release(table, policy(), ledger)
    ledger.add(first, table, recipient="A")
    own = signatures_of(first)
    who = table["ssn"][7]
    other = next(value for value in sorted(set(table["disease"])) if value not in own[who])
    changed = table.with_columns(
        disease=pl.when(pl.col("ssn") == who).then(pl.lit(other)).otherwise("disease")
    )
    with pytest.raises(InfeasibleError, match=r"1 people have another value .*leave_out_changed=True"):
        ic.next_release(changed, policy(), ledger)
    second = ic.next_release(changed, policy(), ledger, leave_out_changed=True, max_counterfeits=1)
    assert second.changed == 1
    assert who not in {each for each, _, _ in records(second)}
    assert "1 people are left out" in second.sentences()[1]
    ledger.add(second, changed, recipient="A")


def test_values_that_only_an_earlier_release_has_are_asked_for(ledger):
    table = population(2, 40)
    first = ic.next_release(table, policy(), ledger)
    ledger.add(first, table, recipient="A")
    own = signatures_of(first)
    # Of one signature only a person is left, and nobody has its other value.
    who = table["ssn"][0]
    lost = next(value for value in own[who] if value != table["disease"][0])
    rest = table.filter((pl.col("ssn") == who) | (pl.col("disease") != lost))
    with pytest.raises(TableError, match=r"release 1 of the ledger .*earlier="):
        ic.next_release(rest, policy(), ledger)
    second = ic.next_release(rest, policy(), ledger, earlier=[first.table], max_counterfeits=1)
    assert lost in set(second.table["disease"])
    ledger.add(second, rest, recipient="A")
    with pytest.raises(InfeasibleError, match=r"records would be counterfeit; .*max_counterfeits="):
        ic.next_release(rest, policy(), ledger, earlier=[first.table], max_counterfeits=0)


REFUSED = [
    ({"ledger_m": None}, {}, ParameterError, "ledger_m=3"),
    ({"models": ["k-anonymity:3"]}, {}, ParameterError, "raise m to 3, or lower k"),
    ({"keep_order": True}, {}, ParameterError, "keep_order"),
    ({"schema": ic.Schema(quasi=["age"], sensitive=["disease"], unlisted="drop")}, {}, SchemaError, "keys="),
    (
        {"schema": ic.Schema(person="ssn", quasi=["age"], sensitive=["disease"], unlisted="keep")},
        {}, SchemaError, "column 'town': a counterfeit record",
    ),
    ({"schema": ic.Schema(person="ssn", quasi=["age"], unlisted="drop")}, {}, SchemaError, "one sensitive"),
    (
        {"schema": ic.Schema(
            person="ssn", quasi=["age"], sensitive=["disease"], unlisted="drop", treatments={"age": "round:5"}
        )},
        {}, SchemaError, "has a treatment",
    ),
    ({}, {"max_counterfeits": 2}, ParameterError, "max_counterfeits"),
    ({}, {"earlier": [pl.DataFrame({"x": [1]})]}, SchemaError, "earlier"),
]  # fmt: skip


@pytest.mark.parametrize(("settings", "call", "error", "said"), REFUSED)
def test_what_cannot_be_is_refused(settings, call, error, said, ledger):
    from dataclasses import replace

    with pytest.raises(error, match=said):
        ic.next_release(population(3, 20), replace(policy(), **settings), ledger, **call)


def test_a_person_with_two_rows_or_without_a_number_is_refused(ledger):
    table = population(3, 20)
    with pytest.raises(SchemaError, match="2 rows are of people with several rows"):
        ic.next_release(pl.concat([table, table[:1]]), policy(), ledger)
    nobody = table.with_columns(ssn=pl.when(pl.col("age") > 50).then("ssn"))
    with pytest.raises(SchemaError, match="column 'ssn' does not say of every row whose it is"):
        ic.next_release(nobody, policy(), ledger)


def test_a_table_with_fewer_than_m_values_is_refused(ledger):
    table = population(3, 20).with_columns(disease=pl.lit("d"))
    with pytest.raises(InfeasibleError, match="m is 2, and 'disease' has 1 values"):
        ic.next_release(table, policy(), ledger)


def test_only_next_release_makes_what_a_policy_with_m_asks_for():
    with pytest.raises(ParameterError, match=r"m-invariance .* made by next_release"):
        ic.anonymize(population(3, 40), policy())


def test_the_ledger_refuses_a_release_with_other_signatures(ledger, tmp_path):
    table = population(4, 40)
    other = ic.Ledger.init(tmp_path / "other")
    release = ic.next_release(table, policy(), ledger, max_counterfeits=1)
    ledger.add(release, table, recipient="A")
    apart = ic.next_release(table, policy(m=3), other, max_counterfeits=1)
    with pytest.raises(InfeasibleError, match="or others than in an earlier release"):
        ledger.add(apart, table, recipient="B")
    assert len(ledger.entries) == 1


def test_beside_a_release_of_another_kind_people_are_compared(ledger):
    table = population(5, 60)
    plain = ic.Policy(schema(), ["k-anonymity:3"], ic.Optimal())
    ledger.add(ic.anonymize(table, plain), table, recipient="A")
    release = ic.next_release(table, policy(), ledger, max_counterfeits=1)
    with pytest.raises(InfeasibleError, match=r"the release exposes [1-9][0-9]* people"):
        ledger.add(release, table, recipient="B")


# --- what leaves -------------------------------------------------------------------------------------------


def test_nothing_raw_leaves_with_the_release_or_stays_in_the_ledger(ledger, tmp_path):
    table = population(6, 60)
    release = ic.next_release(table, policy(), ledger, max_counterfeits=1)
    release.save(tmp_path / "out")
    ledger.add(release, table, recipient="A")
    public = [path for path in (tmp_path / "out").iterdir() if path.is_file()]
    files = [path for path in ledger.folder.rglob("*") if path.is_file()]
    for path in [*public, *files]:
        assert MARK.encode() not in path.read_bytes(), path
    assert MARK not in repr(release) + json.dumps(release.to_dict()) + "".join(release.sentences())
    assert {path.name for path in public} >= {"release.csv", "policy.toml", "counterfeits.csv"}
    assert ic.Policy.read(tmp_path / "out" / "policy.toml").ledger_m == 2
    verification = ic.verify(tmp_path / "out" / "release.csv", tmp_path / "out" / "policy.toml")
    assert verification.ok


@pytest.mark.gated
def test_the_number_of_a_group_is_no_point(ledger, tmp_path):
    """Each group has a value once, so that group and value single out every record."""
    release = ic.next_release(population(6, 60), policy(), ledger, max_counterfeits=1)
    assert release.table.select("group", "disease").is_unique().all()
    assert (release.verdict.state, release.verdict.points) == ("holds", ())
    release.save(tmp_path / "out")
    verification = ic.verify(tmp_path / "out" / "release.csv", tmp_path / "out" / "policy.toml")
    assert verification.verdict == release.verdict
    with pytest.raises(ParameterError, match="unanswered"):
        ic.next_release(population(6, 60), policy(), ledger, unanswered="perhaps")


@pytest.mark.slow
def test_a_changed_cell_of_the_release_is_found_by_the_verifier(ledger, tmp_path):
    ic.next_release(population(6, 60), policy(), ledger, max_counterfeits=1).save(tmp_path / "out")
    at = tmp_path / "out" / "policy.toml"
    script = checks_as_sql(tmp_path / "out" / "release.csv", at)
    assert verdict(script)
    released = pl.read_csv(tmp_path / "out" / "release.csv")
    other = pl.when(pl.int_range(pl.len()) == 3).then
    one = released["group"][3]
    mate = released.with_row_index().filter((pl.col("group") == one) & (pl.col("index") != 3))
    changes = {
        "repeat a sensitive value": released.with_columns(
            disease=other(pl.lit(mate["disease"][0])).otherwise("disease")
        ),
        "fewer than 2": released.with_columns(group=other(pl.lit(9_999)).otherwise("group")),
        "several classes": released.with_columns(age=other(pl.lit("[20-29]x")).otherwise("age")),
        "no column 'group'": released.drop("group"),
    }
    for said, changed in changes.items():
        changed.write_csv(tmp_path / "changed.csv")
        verification = ic.verify(tmp_path / "changed.csv", at)
        assert not verification.ok
        assert any(said in problem for problem in verification.problems), said
        assert not verdict(script, tmp_path / "changed.csv")


@pytest.mark.parametrize("kind", ["pandas", "pyarrow"])
def test_a_table_of_another_kind_leaves_as_one(kind, ledger):
    table = population(7, 40)
    came = table.to_pandas() if kind == "pandas" else table.to_arrow()
    release = ic.next_release(came, policy(), ledger, max_counterfeits=1)
    assert type(release.table) is type(came)
    ledger.add(release, came, recipient="A")
    assert ledger.show()["people"].to_list() == [40]


def test_numbers_with_missing_ones_are_found_again_in_pandas(ledger):
    number = pl.col("disease").str.slice(1).cast(pl.Int64)
    table = population(9, 60).with_columns(disease=pl.when(number > 0).then(number))
    for _ in range(2):
        came = table.to_pandas(use_pyarrow_extension_array=True)
        release = ic.next_release(came, policy(), ledger, max_counterfeits=1)
        ledger.add(release, came, recipient="A")
    assert composition_of_ledger(ledger).figures["exposed"] == 0


def test_a_table_of_changed_values_alone_is_refused(ledger):
    table = population(9, 60)
    release = ic.next_release(table, policy(), ledger, max_counterfeits=1)
    ledger.add(release, table, recipient="A")
    changed = table.with_columns(disease=pl.lit("other"))
    with pytest.raises(InfeasibleError, match="nobody is left"):
        ic.next_release(changed, policy(), ledger, earlier=[table], leave_out_changed=True)


def test_a_table_without_rows_is_refused(ledger):
    table = population(9, 60)
    with pytest.raises(InfeasibleError, match="nothing was released"):
        ic.next_release(table[:0], policy(), ledger, earlier=[table])


def test_a_policy_keeps_m_in_its_file(tmp_path):
    policy(m=4, ledger_epsilon=2.0).write(tmp_path / "policy.toml")
    again = ic.Policy.read(tmp_path / "policy.toml")
    assert (again.ledger_m, again.ledger_epsilon) == (4, 2.0)
    for wrong in ("m = 1", "m = 2.5", "n = 2"):
        (tmp_path / "wrong.toml").write_text(f"version = 1\n[columns]\na.role='quasi'\n[ledger]\n{wrong}\n")
        with pytest.raises(InputError, match="ledger"):
            ic.Policy.read(tmp_path / "wrong.toml")
