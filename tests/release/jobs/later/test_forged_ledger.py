"""Forged ledgers: each gets a single sentence with the place and the way out, and no release."""

from __future__ import annotations

import hashlib
import io
import os
import random
import shutil

import polars as pl
import pytest

import incrowd as ic
from crossed import quick
from forged_ledgers import TEXTS, WRONG, records_of, rewrite
from incrowd.attacks.ledger import composition_of_ledger
from incrowd.core.errors import IncrowdError, TableError

TABLE = pl.DataFrame(
    {
        "ssn": [f"planted-{n}" for n in range(40)],
        "age": range(20, 60),
        "disease": ["abcd"[n % 4] for n in range(40)],
    }
)


@pytest.fixture(scope="module")
def made(tmp_path_factory):
    """A ledger with a release of each kind, and the next release."""
    book = ic.Ledger.init(tmp_path_factory.mktemp("made") / "book")
    schema = ic.Schema(person="ssn", quasi=["age"], sensitive=["disease"], unlisted="drop")
    plain = ic.Policy(schema, ["k-anonymity:3", "l-diversity:2"])
    release = ic.anonymize(TABLE, plain)
    book.add(release, TABLE, recipient="A")
    series = ic.next_release(TABLE, ic.Policy(schema, ["k-anonymity:3"], ledger_m=3, max_suppression=1), book)
    noise = ic.randomize(TABLE, {"disease": ic.RandomizedResponse(1.0, list("abcd"))})
    book.add(noise, TABLE, recipient="A")
    return book, release, series


@pytest.fixture
def forged(made, tmp_path):
    """A copy of the ledger, the records, and a function that writes other records."""
    book, *_ = made
    shutil.copytree(book.folder, tmp_path / "book")
    folder = tmp_path / "book"
    records = records_of(folder)

    def write(others):
        rewrite(folder, others)
        return ic.Ledger(folder)

    return write, records


def require_one_sentence(book, made, *, broken=True):
    """Every use of a ledger ends with a single sentence that names the broken place of the ledger."""
    _, release, series = made
    published = (lambda: pytest.fail("published")) if broken else bool
    uses = {
        "read": lambda: book.entries,
        "show": book.show,
        "add": lambda: book.add(release, TABLE, published, recipient="B"),
        "series": lambda: book.add(series, TABLE, published, recipient="B"),
        "attack": lambda: composition_of_ledger(book),
        "signatures": lambda: book.signatures(TABLE.select("ssn"), "disease", TABLE["disease"].unique()),
    }
    said = []
    for use, work in uses.items():
        try:
            work()
        except IncrowdError as error:
            said.append((use, str(error)))
    if broken:
        assert {"read", "show", "add", "attack", "signatures"} <= {use for use, _ in said}
        assert book.verify()
        for _, text in said:
            assert "\n" not in text
            assert str(book.folder) in text
            assert "back from a copy" in text


def test_the_copy_itself_is_whole(forged, made):
    write, records = forged
    assert write(records).verify() is None
    assert len(write(records).entries) == 2


@pytest.mark.few(1)
@pytest.mark.parametrize("name", quick([
    "number", "date", "command", "recipient", "records", "people", "epsilon", "models", "input", "release",
    "matched_by", "k", "l", "m", "epsilon_limit", "file", "policy", "linked", "sets", "columns", "key",
], "number", "people", "epsilon", "k", "file"))  # fmt: skip
def test_a_forged_field_is_named(forged, made, name):
    write, records = forged
    for place in (1, 2):
        without = {key: value for key, value in records[place].items() if key != name}
        others = [without, *({**without, name: value} for value in WRONG)]
        for other in others:
            book = write([*records[:place], other, *records[place + 1 :]])
            said = book.verify()
            assert said is None or f"{book.folder}: " in said
            assert said is None or f"entry {place} " in said
            # What is still an entry, though another one, may be used: no use is an error of a library.
            require_one_sentence(book, made, broken=said is not None and " of entry " in said)


@pytest.mark.few(8)
@pytest.mark.parametrize("number", range(len(TEXTS)))
@pytest.mark.parametrize("place", [0, 1])
def test_a_line_that_is_no_record_is_refused(forged, made, number, place):
    write, records = forged
    require_one_sentence(write([*records[:place], TEXTS[number]]), made)


@pytest.mark.parametrize("record", [[], None, 1, "x", [[]]])
def test_a_record_that_is_no_table_is_refused(forged, made, record):
    write, records = forged
    require_one_sentence(write([records[0], record]), made)
    require_one_sentence(write([record]), made)


@pytest.mark.slow
def test_random_changes_of_lines_and_heads_are_refused(forged, made):
    write, records = forged
    book = write(records)
    paths = [book.folder / name for name in ("ledger.jsonl", "ledger.head", "key")]
    whole = {path: path.read_bytes() for path in paths}
    random_ = random.Random(5)
    for _ in range(60):
        path = random_.choice(paths[:2])
        content = bytearray(whole[path])
        at = random_.randrange(len(content))
        change = random_.choice(["cut", "byte", "more", "none"])
        if change == "cut":
            del content[at:]
        elif change == "byte":
            content[at] = (content[at] + random_.randrange(1, 255)) % 256
        elif change == "more":
            content[at:at] = random_.randbytes(random_.choice([1, 9, 6000]))
        else:
            content.clear()
        path.write_bytes(content)
        require_one_sentence(book, made)
        path.write_bytes(whole[path])


@pytest.mark.parametrize("head", [
    "", "x", "3", "-1 " + "0" * 64 + "\n", "9" * 6000 + " " + "0" * 64 + "\n", "3 " + "g" * 64 + "\n",
    "3.0 " + "0" * 64 + "\n", "0 " + "0" * 64 + "\n", "3  " + "0" * 64 + "\n", "\u0663 " + "0" * 64 + "\n",
])  # fmt: skip
def test_a_forged_head_is_refused(forged, made, head):
    write, records = forged
    book = write(records)
    (book.folder / "ledger.head").write_text(head, encoding="utf-8")
    require_one_sentence(book, made)


@pytest.mark.parametrize("key", [b"", b"x", b"\x00" * 31, b"\x00" * 33])
def test_a_key_of_another_size_finds_nobody_and_is_refused(forged, made, key):
    write, records = forged
    book = write(records)
    (book.folder / "key").write_bytes(key)
    _, release, _ = made
    with pytest.raises(TableError, match="finds nobody; put it back from a copy"):
        book.add(release, TABLE, lambda: pytest.fail("published"), recipient="B")


def test_another_key_finds_nobody_and_is_refused(forged, made):
    """With another key a returning person would count as new, and a release would expose such a person."""
    write, records = forged
    book = write(records)
    (book.folder / "key").write_bytes(bytes(range(32)))
    _, release, _ = made
    for work in (
        lambda: book.add(release, TABLE, lambda: pytest.fail("published"), recipient="B", new_people=True),
        lambda: book.signatures(TABLE.select("ssn"), "disease", TABLE["disease"].unique()),
    ):
        with pytest.raises(TableError, match="key: was changed, and finds nobody; put it back from a copy"):
            work()
    assert "key: was changed" in book.verify()


@pytest.mark.parametrize("name", ["ledger.jsonl", "ledger.head", "key", "people"])
def test_a_file_that_is_gone_is_named_with_the_way_out(forged, made, name):
    write, records = forged
    book = write(records)
    path = book.folder / name
    path = path / records[1]["file"]["name"] if name == "people" else path
    path.unlink()
    path.mkdir()
    _, release, _ = made
    with pytest.raises(TableError, match=f"{path.name}: cannot be read or written .*back from a copy"):
        book.add(release, TABLE, lambda: pytest.fail("published"), recipient="B")


def test_an_entry_that_cannot_be_taken_back_keeps_its_people(forged, made, monkeypatch):
    write, records = forged
    book, real = write(records), os.truncate
    _, release, _ = made

    def fails():
        monkeypatch.setattr(
            os, "truncate", lambda *given: (_ for _ in ()).throw(OSError(5, "Input/output error"))
        )
        raise KeyboardInterrupt

    with pytest.raises(TableError, match=r"ledger\.jsonl: cannot be read or written"):
        book.add(release, TABLE, fails, recipient="B")
    monkeypatch.setattr(os, "truncate", real)
    assert book.verify() is None


def test_a_ledger_without_its_lines_is_to_be_put_back(forged, made, tmp_path):
    write, records = forged
    book = write(records)
    (book.folder / "ledger.jsonl").unlink()
    with pytest.raises(TableError, match=r"ledger\.jsonl is missing; put it back from a copy"):
        ic.Ledger.open(book.folder)
    with pytest.raises(TableError, match=r"is missing; incrowd ledger init makes one"):
        ic.Ledger.open(tmp_path)


def parquet(**columns):
    file = io.BytesIO()
    pl.DataFrame(columns).write_parquet(file)
    return file.getvalue()


PERSONS = [b"%d" % n for n in range(40)]
PEOPLE = [
    b"", b"PAR1", b"\xff" * 500, b"PAR1" + b"\x00" * 100 + b"PAR1", parquet(x=[1]), parquet(person=[b"1"]),
    parquet(**{"person": ["1"], "class": [b"1"]}), parquet(**{"person": [b"1"], "class": [1]}),
    *(
        parquet(**dict.fromkeys(["class", "f" * 32], [b"1"] * 40), **{"person": PERSONS, name: [value] * 40})
        for name, value in (
            ("records", 0), ("records", -1), ("records", "1"), ("records", 1.5), ("records", None), ("records", [1]),
            ("e" * 32, "x"), ("e" * 32, 1), ("e" * 32, [b"x"]), ("e" * 32, {"a": 1}), ("size", b"x"), ("size", None),
        )
    ),
    parquet(**{"person": PERSONS[1:], "class": PERSONS[1:]}),
    parquet(**{"person": [None, *PERSONS[2:]], "class": PERSONS[1:]}),
]  # fmt: skip


def test_people_of_the_right_kind_are_taken(forged, made):
    write, records = forged
    name, content = (
        records[1]["file"]["name"],
        parquet(person=PERSONS, **{"class": PERSONS, "records": [1] * 40}),
    )
    digest = hashlib.sha256(content).hexdigest()
    book = write([records[0], {**records[1], "file": {"name": name, "sha256": digest}}])
    (book.folder / "people" / name).write_bytes(content)
    assert book.verify() is None


@pytest.mark.few(8)
@pytest.mark.parametrize("number", range(len(PEOPLE)))
def test_forged_people_are_refused(forged, made, number):
    write, records = forged
    name, content = records[1]["file"]["name"], PEOPLE[number]
    digest = hashlib.sha256(content).hexdigest()
    book = write([*records[:1], {**records[1], "file": {"name": name, "sha256": digest}}, *records[2:]])
    (book.folder / "people" / name).write_bytes(content)
    assert "the people of entry 1 were changed" in book.verify()
    _, release, _ = made
    with pytest.raises(TableError, match="put all files of the ledger back from a copy"):
        book.add(release, TABLE, lambda: pytest.fail("published"), recipient="B")


@pytest.mark.parametrize("name", ["ledger.jsonl", "ledger.head", "ledger.lock", "key"])
def test_a_pipe_in_the_place_of_a_file_keeps_nobody_waiting(forged, made, name):
    write, records = forged
    book = write(records)
    (book.folder / name).unlink(missing_ok=True)
    os.mkfifo(book.folder / name)
    _, release, _ = made
    with pytest.raises(TableError, match=rf"{name}|ledger\.jsonl|is no ledger"):
        ic.Ledger.open(book.folder).add(release, TABLE, lambda: pytest.fail("published"), recipient="B")


def test_keys_that_are_named_twice_are_refused(made):
    book, release, _ = made
    with pytest.raises(ic.SchemaError, match="'ssn' is named twice; name it once"):
        book.add(release, TABLE, recipient="B", keys=["ssn", "age", "ssn"])
    policy = ic.Policy(release.policy.schema, ["k-anonymity:3"], ledger_m=3)
    with pytest.raises(ic.SchemaError, match="'ssn' is named twice; name it once"):
        ic.next_release(TABLE, policy, book, keys=["ssn", "ssn"])
