"""The ledger of releases, against a slow second reading in plain Python over random histories."""

from __future__ import annotations

import itertools
import json
import os
import random
import stat
from collections import defaultdict
from dataclasses import dataclass

import polars as pl
import pytest

import incrowd as ic
from crossed import quick
from incrowd.attacks.ledger import composition_of_ledger
from incrowd.core.errors import InfeasibleError, SchemaError, TableError
from incrowd.release.jobs.later.ledger import Ledger
from incrowd.release.jobs.later.ledger.exposure import (
    ReleasePeople,
    exposed_by_intersection,
    exposed_together,
)

MARK = "planted"


@dataclass(frozen=True)
class Row:
    person: bytes
    cls: bytes
    value: bytes


# --- the second reading: sets of people, and nothing else --------------------------------------------------


def classes_of(release):
    groups = defaultdict(set)
    for row in release:
        groups[row.cls].add(row.person)
    return groups


def values_of(release, people, cls):
    return {row.value for row in release if row.person in people and row.cls == cls}


def too_few(people, shown, k, least):
    """Whether a set of people in the same class of each release is too small."""
    return len(people) < k or any(len(values_of(release, people, cls)) < least for release, cls in shown)


def intersected(releases, k, least):
    """People of the last release who share one class of each of their releases with too few."""
    result = set()
    for person in {row.person for row in releases[-1]}:
        own = [release for release in releases if any(row.person == person for row in release)]
        if len(own) < 2:
            continue
        mine = [sorted(cls for cls, people in classes_of(each).items() if person in people) for each in own]
        for chosen in itertools.product(*mine):
            sets = [classes_of(each)[cls] for each, cls in zip(own, chosen, strict=True)]
            if too_few(set.intersection(*sets), list(zip(own, chosen, strict=True)), k, least):
                result.add(person)
    return result


def subtracted(whole, parts, k, least):
    """People of a class that are left without the contained classes of the other release."""
    result = set()
    for cls, people in classes_of(whole).items():
        inside = [part for part in classes_of(parts).values() if part <= people]
        left = people.difference(*inside)
        if inside and left and too_few(left, [(whole, cls)], k, least):
            result |= left
    return result


# --- random histories --------------------------------------------------------------------------------------


def history(seed):
    """Three releases of overlapping people with one or several rows."""
    draw = random.Random(seed)
    people = draw.randint(3, 14)
    releases = []
    classes = draw.randint(1, 4)
    for _ in range(3):
        rows = []
        for person in range(people):
            for _ in range(draw.choice([0, 1, 1, 1, 1, 2]) if draw.random() < 0.9 else 0):
                near = person * classes // people
                cls = near if draw.random() < 0.8 else draw.randrange(classes)
                rows.append(Row(bytes([person]), bytes([cls]), bytes([draw.randrange(3)])))
        releases.append(sorted(set(rows), key=lambda row: (row.person, row.cls, row.value)))
    return releases, draw.randint(1, 4), draw.randint(1, 3)


def frame(release):
    columns = {
        "person": [row.person for row in release],
        "class": [row.cls for row in release],
        "v": [row.value for row in release],
    }
    return pl.DataFrame(columns, schema=dict.fromkeys(columns, pl.Binary))


@pytest.mark.few(5)
@pytest.mark.parametrize("seed", quick(range(150), *range(30)))
def test_random_histories_of_three_releases_expose_whom_the_second_reading_finds(seed):
    releases, k, least = history(seed)
    people_by_release = [ReleasePeople(frame(release), k, {"v": least}) for release in releases]
    assert set(exposed_by_intersection(people_by_release)) == intersected(releases, k, least)
    for one, other in itertools.permutations(range(3), 2):
        expected = (
            intersected([releases[one], releases[other]], k, least)
            | subtracted(releases[other], releases[one], k, least)
            | subtracted(releases[one], releases[other], k, least)
        )
        assert set(exposed_together(people_by_release[one], people_by_release[other])) == expected


def test_the_random_histories_have_harmful_and_harmless_ones():
    counts = [len(intersected(*history(seed))) for seed in range(150)]
    assert sum(count == 0 for count in counts) > 20 < sum(count > 0 for count in counts)


# --- the ledger --------------------------------------------------------------------------------------------


def people(rows=60, start=0):
    numbers = range(start, start + rows)
    return pl.DataFrame(
        {
            "ssn": [f"{MARK}-{n}" for n in numbers],
            "age": [20 + n % 60 for n in numbers],
            "town": [f"{MARK}-town-{n % 3}" for n in numbers],
            "disease": [f"{MARK}-disease-{n % 7}" for n in numbers],
        }
    )


def policy(k=3, width=10, **settings):
    schema = ic.Schema(
        person=["ssn"],
        quasi={"age": ic.Hierarchy.intervals(width)},
        sensitive=["disease"],
        unlisted="drop",
    )
    return ic.Policy(schema, (ic.KAnonymity(k),), ic.Optimal(), **settings)


def released(table, policy, level=1):
    return ic.anonymize(table, policy, levels={"age": level})


@pytest.fixture
def ledger(tmp_path):
    return ic.Ledger.init(tmp_path / "ledger")


def test_the_same_recoding_of_the_same_people_may_be_released_again(ledger):
    table = people()
    for recipient in ("A", "B", "C"):
        ledger.add(released(table, policy()), table, recipient=recipient)
    assert ledger.show()["recipient"].to_list() == ["A", "B", "C"]
    assert ledger.show()["people"].to_list() == [60, 60, 60]
    assert ledger.verify() is None


def test_another_recoding_of_the_same_people_is_refused(ledger):
    table = people()
    ledger.add(released(table, policy()), table, recipient="A")
    harmful = released(table, policy(width=8))
    published = []
    with pytest.raises(InfeasibleError) as error:
        ledger.add(harmful, table, lambda: published.append(1), recipient="B")
    text = str(error.value)
    assert "release 1 of the ledger (" in text
    assert "'A'" in text
    assert "incrowd apply" in text
    assert "coarser" in text
    assert MARK not in text
    assert published == []
    assert len(ledger.entries) == 1
    # Its people, and the cells that they were released in.
    assert len(list((ledger.folder / "people").iterdir())) == 2


def test_judging_refuses_as_adding_does_and_records_nothing(ledger):
    table = people()
    ledger.judge(released(table, policy()), table)
    assert ledger.entries == []
    ledger.add(released(table, policy()), table, recipient="A")
    with pytest.raises(InfeasibleError, match="exposes 6 people") as judged:
        ledger.judge(released(table, policy(width=8)), table)
    with pytest.raises(InfeasibleError) as added:
        ledger.add(released(table, policy(width=8)), table, recipient="B")
    assert str(judged.value) == str(added.value)
    assert len(ledger.entries) == 1
    assert len(list((ledger.folder / "people").iterdir())) == 2
    ledger.judge(released(table, policy()), table)


def test_who_came_later_is_found_by_difference(ledger):
    table = people(60)
    ledger.add(released(table, policy()), table, recipient="A")
    one_more = pl.concat([table, people(1, 900).with_columns(age=pl.lit(25, pl.Int64))])
    with pytest.raises(InfeasibleError, match="exposes 1 people"):
        ledger.add(released(one_more, policy()), one_more, recipient="B")


def test_new_people_alone_by_the_earlier_recoding_may_be_released(ledger):
    first, second = people(60), people(60, 60)
    release = released(first, policy())
    ledger.add(release, first, recipient="A")
    batch = ic.apply_recoding(release.recoding, second, release.policy)
    with pytest.raises(
        TableError, match=r"finds 0% of the people of release 1 .* write ssn as .*new_people=True"
    ):
        ledger.add(batch, second, recipient="A")
    assert len(ledger.entries) == 1
    ledger.add(batch, second, recipient="A", new_people=True)
    assert [each["command"] for each in ledger.entries] == ["anonymize", "apply"]


def test_three_releases_may_expose_whom_no_two_expose(ledger):
    # Eight people, classes of four by one of three bits: two releases leave two people, three leave one.
    table = pl.DataFrame(
        {"id": [str(n) for n in range(8)], **{f"b{b}": [n >> b & 1 for n in range(8)] for b in range(3)}}
    )
    for bit in range(3):
        schema = ic.Schema(person=["id"], quasi=[f"b{bit}"], unlisted="drop")
        release = ic.anonymize(table, schema, "k-anonymity:2")
        if bit < 2:
            ledger.add(release, table, recipient="A")
        else:
            with pytest.raises(
                InfeasibleError, match=r"Together with 2 earlier releases .* exposes 8 people"
            ):
                ledger.add(release, table, recipient="A")


def test_rows_that_waited_belong_to_their_people(ledger):
    table = people()
    release = released(table, policy())
    few = pl.concat([people(30, 300), people(2, 400).with_columns(age=pl.lit(79, pl.Int64))])
    held = ic.apply_recoding(release.recoding, few, release.policy, hold=True)
    assert held.held
    ledger.add(held, few, recipient="A")
    assert ledger.show()["people"].to_list() == [32 - held.held]


def test_without_a_person_column_people_are_found_by_their_rows_or_by_keys(ledger, tmp_path):
    table = people()
    schema = ic.Schema(quasi={"age": ic.Hierarchy.intervals(10)}, unlisted="drop")
    other = ic.Schema(quasi={"age": ic.Hierarchy.intervals(8)}, unlisted="drop")
    for keys, matched in (((), "rows of ['age']"), (("ssn",), "ssn")):
        book = ic.Ledger.init(tmp_path / f"book{len(keys)}")
        book.add(
            ic.anonymize(table, schema, "k-anonymity:3", levels={"age": 1}), table, recipient="A", keys=keys
        )
        assert book.entries[0]["matched_by"] == matched
        assert book.entries[0]["people"] == 60
        with pytest.raises(InfeasibleError, match="release 1"):
            book.add(
                ic.anonymize(table, other, "k-anonymity:3", levels={"age": 1}),
                table,
                recipient="B",
                keys=keys,
            )


def test_people_who_cannot_be_compared_are_refused(ledger):
    table = people()
    ledger.add(released(table, policy()), table, recipient="A")
    with pytest.raises(SchemaError, match=r"by ssn, and this one by town, age; name the same columns"):
        ledger.add(released(table, policy()), table, recipient="B", keys=["town", "age"])
    missing = table.with_columns(ssn=pl.when(pl.col("age") > 25).then("ssn"))
    with pytest.raises(SchemaError, match="does not say of every row whose it is"):
        ledger.add(released(table, policy()), missing, recipient="B")
    with pytest.raises(TableError, match="60 rows and the release 59"):
        ledger.add(released(table.head(59), policy()), table, recipient="B")


def test_epsilon_adds_up_to_the_smallest_limit(ledger):
    table = people()
    noisy = ic.randomize(table, {"disease": ic.RandomizedResponse(1.0, table["disease"].unique().to_list())})
    ledger.add(noisy, table, recipient="A", epsilon=2.5)
    ledger.add(noisy, table, recipient="B")
    with pytest.raises(InfeasibleError, match=r"epsilon of the ledger to 3, and 2.5 is allowed"):
        ledger.add(noisy, table, recipient="C", epsilon=9.0)
    ledger.add(released(table, policy(ledger_epsilon=2.0)), table, recipient="C")
    assert ledger.show()["epsilon"].sum() == 2.0


def test_nothing_raw_is_in_the_ledger(ledger):
    table = people()
    ledger.add(released(table, policy()), table, recipient="A")
    cells = set(ic.anonymize(table, policy(), levels={"age": 1}).table["age"])
    for path in (path for path in ledger.folder.rglob("*") if path.is_file()):
        assert stat.S_IMODE(path.stat().st_mode) == 0o600
        content = path.read_bytes()
        if path.suffix == ".parquet":
            frame = pl.read_parquet(path)
            digests = frame.select(pl.col(pl.Binary))
            assert set(frame.columns) - set(digests.columns) == {"records"}
            content += (
                b"".join(b"".join(row) for row in digests.iter_rows()) + "".join(frame.columns).encode()
            )
        assert MARK.encode() not in content
        assert b"disease" not in content
        for cell in cells:
            assert cell.encode() not in content, path
    assert stat.S_IMODE(ledger.folder.stat().st_mode) == 0o700


def test_what_fails_to_be_published_is_no_release(ledger):
    table = people()

    def fails():
        raise OSError("no room")

    with pytest.raises(OSError, match="no room"):
        ledger.add(released(table, policy()), table, fails, recipient="A")
    assert ledger.entries == []
    assert list((ledger.folder / "people").iterdir()) == []


@pytest.mark.parametrize(("field", "kind"), [("file", "people"), ("cells", "cells")])
def test_changed_and_lost_files_are_found(ledger, field, kind):
    table = people()
    ledger.add(released(table, policy()), table, recipient="A")
    path = ledger.folder / "people" / ledger.entries[0][field]["name"]
    whole = path.read_bytes()
    path.write_bytes(whole[:-1] + bytes([whole[-1] ^ 1]))
    assert f"the {kind} of entry 1 were changed" in ledger.verify()
    if kind == "people":
        with pytest.raises(TableError, match="entry 1"):
            ledger.add(released(table, policy()), table, recipient="B")
    path.unlink()
    assert path.name in ledger.verify()
    lines = (ledger.folder / "ledger.jsonl").read_text().splitlines()
    entry = json.loads(lines[1])
    entry["record"]["recipient"] = "nobody"
    (ledger.folder / "ledger.jsonl").write_text("\n".join([lines[0], json.dumps(entry)]) + "\n")
    assert "line 2 was changed" in ledger.verify()


def test_a_ledger_is_made_in_a_new_folder_and_opened_where_there_is_one(tmp_path, ledger):
    with pytest.raises(TableError, match="exists"):
        ic.Ledger.init(ledger.folder)
    with pytest.raises(TableError, match="is no ledger"):
        ic.Ledger.open(tmp_path)
    assert ic.Ledger.open(os.fspath(ledger.folder)).entries == []


def test_values_that_intersect_to_one_are_refused(ledger):
    # Both releases have classes of four people and two diseases; of every four people two are in both.
    table = pl.DataFrame(
        {
            "ssn": [str(n) for n in range(16)],
            "a": [n // 4 for n in range(16)],
            "b": [n % 4 for n in range(16)],
            "disease": ["flu" if n in {0, 5, 10, 15} else "cold" for n in range(16)],
        }
    )
    models = [ic.KAnonymity(1), ic.LDiversity(2)]
    one = ic.Schema(person=["ssn"], quasi=["a"], sensitive=["disease"], unlisted="drop")
    two = ic.Schema(person=["ssn"], quasi=["b"], sensitive=["disease"], unlisted="drop")
    ledger.add(ic.anonymize(table, one, models), table, recipient="A")
    with pytest.raises(InfeasibleError, match="2 sensitive values"):
        ledger.add(ic.anonymize(table, two, models), table, recipient="B")


# --- what follows from classes that overlap ------------------------------------------------------------------


def month(names, diseases):
    return pl.DataFrame({"ssn": list(names), "ward": ["a"] * len(names), "disease": diseases})


WARD = ic.Schema(person=["ssn"], quasi=["ward"], sensitive=["disease"], unlisted="drop")


def of_ward(table, *models):
    return ic.anonymize(table, WARD, list(models), unanswered="write")


@pytest.mark.few(1)
@pytest.mark.parametrize("models", [("k-anonymity:5", "l-diversity:2"), ("k-anonymity:5",)])
@pytest.mark.parametrize("backwards", [False, True])
def test_a_value_that_follows_from_two_months_is_refused(ledger, models, backwards):
    """Nobody is alone, but j has left with the only HIV."""
    january = month("abcdefghij", ["flu"] * 6 + ["cold"] * 3 + ["hiv"])
    february = month("abcdefghin", ["flu"] * 6 + ["cold"] * 3 + ["flu"])
    first, second = (february, january) if backwards else (january, february)
    ledger.add(of_ward(first, *models), first, recipient="A")
    with pytest.raises(InfeasibleError, match=r"exposes \d+ people .*rule values out: fewer than 2 "):
        ledger.add(of_ward(second, *models), second, recipient="B")
    assert len(ledger.entries) == 1


def test_a_value_that_several_may_have_had_may_be_released(ledger):
    january = month("abcdefghij", ["flu"] * 6 + ["cold"] * 3 + ["hiv"])
    february = month("acdefghjmn", ["flu"] * 5 + ["cold"] * 2 + ["hiv"] + ["flu", "cold"])
    for each in (january, february):
        ledger.add(of_ward(each, "k-anonymity:5", "l-diversity:2"), each, recipient="A")
    assert composition_of_ledger(ledger).figures["exposed"] == 0


@pytest.mark.parametrize(("others", "exposed"), [("hiv", True), ("flu", False)])
def test_suppressed_records_are_a_class_of_values_too(ledger, others, exposed):
    """In February j is suppressed. If all suppressed records have HIV, j has HIV, and n as well."""
    january = month("abcdefghij", ["flu"] * 6 + ["cold"] * 3 + ["hiv"])
    february = pl.concat(
        [month("abcdefghin", ["flu"] * 6 + ["cold"] * 3 + ["hiv"]), month("jop", ["hiv", others, others])]
    ).with_columns(ward=pl.when(pl.col("ssn").is_in(list("jop"))).then(pl.lit("*")).otherwise("ward"))
    ledger.add(of_ward(january, "k-anonymity:5", "l-diversity:2"), january, recipient="A")
    policy = ic.Policy(WARD, (ic.KAnonymity(5),), suppressed="keep", max_suppression=1.0)
    release = ic.anonymize(february, policy, unanswered="write")
    assert release.privacy.suppressed == 3
    if exposed:
        with pytest.raises(InfeasibleError, match=r"exposes 2 people .*rule values out"):
            ledger.add(release, february, recipient="B")
    else:
        ledger.add(release, february, recipient="B")


# --- one form of keys --------------------------------------------------------------------------------------


def written(table, how):
    number = pl.int_range(1, pl.len() + 1)
    ids = {
        "whole": number,
        "float": number.cast(pl.Float64),
        "text": number.cast(pl.String),
        "float text": number.cast(pl.Float64).cast(pl.String),
        "decimal": number.cast(pl.Decimal(12, 2)),
    }
    return table.with_columns(ssn=ids[how])


@pytest.mark.few(1)
@pytest.mark.parametrize(
    ("one", "other"), [*itertools.permutations(["whole", "float", "text", "float text", "decimal"], 2)]
)
def test_people_are_found_whatever_their_numbers_are_written_as(ledger, one, other):
    first, second = written(people(), one), written(people(), other)
    ledger.add(released(first, policy()), first, recipient="A")
    with pytest.raises(InfeasibleError, match="release 1 of the ledger"):
        ledger.add(released(second, policy(width=8)), second, recipient="B")


def test_a_ledger_that_finds_hardly_anybody_asks(ledger):
    seven = people().with_columns(ssn=pl.int_range(pl.len()).cast(pl.String).str.zfill(3))
    ledger.add(released(seven, policy()), seven, recipient="A")
    whole = seven.with_columns(ssn=pl.col("ssn").cast(pl.Int64))
    with pytest.raises(
        TableError, match=r"finds 0% of the people .*'A'.* write ssn as it was .*new_people=True"
    ):
        ledger.add(released(whole, policy(width=8)), whole, recipient="B")
    # A table with other columns, or of another size, is another table.
    wider = whole.with_columns(more=1)
    ledger.add(released(wider, policy()), wider, recipient="B")
    few = whole.head(25).with_columns(ssn=pl.col("ssn") + 5_000)
    ledger.add(released(few, policy(), 1), few, recipient="B")
    ledger.add(released(whole, policy()), whole, recipient="B", new_people=True)
    assert len(ledger.entries) == 4


# --- the strictest limits ----------------------------------------------------------------------------------


@pytest.mark.parametrize("order", [(20, 2), (2, 20)])
def test_the_strictest_k_of_the_releases_counts(ledger, order):
    table = people(120)
    of = {20: policy(k=20, width=20), 2: policy(k=2, width=5)}
    first, second = (released(table, of[k]) for k in order)
    ledger.add(first, table, recipient="A")
    with pytest.raises(InfeasibleError, match="Fewer than 20 people"):
        ledger.add(second, table, recipient="B")


def test_the_limit_of_a_release_of_others_does_not_count(ledger):
    many, few = people(120), people(40, 500).with_columns(more=1)
    ledger.add(released(many, policy(k=20, width=20)), many, recipient="A")
    for _ in range(2):
        ledger.add(released(few, policy(k=2)), few, recipient="B")


@pytest.mark.parametrize("order", [(3, 2), (2, 3)])
def test_the_strictest_l_of_the_releases_counts(ledger, order):
    table = pl.DataFrame(
        {"ssn": range(24), "a": [n // 12 for n in range(24)], "b": [n // 6 for n in range(24)],
         "disease": [("x", "y", "z" if n % 12 < 6 else "y")[n % 3] for n in range(24)]}
    )  # fmt: skip
    by = {3: "a", 2: "b"}
    result = {
        least: ic.anonymize(
            table, ic.Schema(person=["ssn"], quasi=[by[least]], sensitive=["disease"], unlisted="drop"),
            [ic.KAnonymity(2), ic.LDiversity(least)], unanswered="write",
        )
        for least in order
    }  # fmt: skip
    ledger.add(result[order[0]], table, recipient="A")
    with pytest.raises(InfeasibleError, match="or 3 sensitive values"):
        ledger.add(result[order[1]], table, recipient="B")


def test_the_attack_counts_as_the_ledger_does(ledger, monkeypatch):
    table = people(120)
    with monkeypatch.context() as patch:
        patch.setattr(Ledger, "_refuse", lambda *_: None)
        for each in (policy(k=20, width=20), policy(k=2, width=5)):
            ledger.add(released(table, each), table, recipient="A")
    assert composition_of_ledger(ledger).figures["exposed"] == 120
