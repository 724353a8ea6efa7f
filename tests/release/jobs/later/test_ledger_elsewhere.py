"""The ledger of releases with rows in a database or stream, beside that of rows in memory."""

from __future__ import annotations

import random
import signal
import sqlite3
from functools import partial

import duckdb
import polars as pl
import pytest

import incrowd as ic
from crossed import quick
from database_tables import fill_duckdb, fill_mysql, fill_postgres, fill_sqlite, mysql_url
from incrowd.core.errors import InputError, TableError, VerdictError
from incrowd.engines import open_table
from incrowd.release.jobs.later.ledger import Ledger
from incrowd.release.jobs.later.ledger.rows import rows_of

AGES = ic.Hierarchy.intervals(5, 10, 20, 40)
KINDS = ("lazy", "files", "sqlite", "duckdb", "postgresql", "mysql")


def people(seed: int, rows: int) -> pl.DataFrame:
    """Draw a table in which values are missing, and of an odd seed some people have several rows."""
    draw = random.Random(seed)
    several = [f"P{draw.randrange(rows * 2 + 1)}" for _ in range(rows)]
    return pl.DataFrame(
        {
            "person": several if seed % 2 else [f"P{seed}-{number}" for number in range(rows)],
            "age": [draw.choice([None, *map(str, range(20, 60))]) for _ in range(rows)],
            "town": [draw.choice(["north", "south", "far away"]) for _ in range(rows)],
            "illness": [draw.choice(["a", "b", "c", None]) for _ in range(rows)],
        },
        schema=dict.fromkeys(("person", "age", "town", "illness"), pl.String),
    )


def nights(seed: int) -> list[pl.DataFrame]:
    """Draw the tables of three nights: a table, the same again, and another with rows gone and new."""
    first = people(seed, 200)
    return [first, first, pl.concat([first[seed % 3 * 20 :], people(seed + 2, seed % 4 * 15)])]


@pytest.fixture
def place(tmp_path, request):
    """Return a function that puts a table where a kind of rows is."""
    places = iter(range(1_000))

    def put(kind: str, table: pl.DataFrame):
        path = tmp_path / f"{kind}{next(places)}"
        if kind == "memory":
            return table
        if kind == "lazy":
            table.write_parquet(path)
            return pl.scan_parquet(path)
        if kind == "files":
            path.mkdir()
            table[:90].write_csv(path / "a.csv")
            table[90:].write_csv(path / "b.csv")
            return open_table(path)[0]
        url, name = f"{kind}:///{path}", "people"
        if kind == "postgresql":
            url, name = request.getfixturevalue("postgres"), path.name
            # The session of an earlier night still reads its table.
            fill_postgres(url, table, name)
        elif kind == "mysql":
            url, name = mysql_url(), path.name
            fill_mysql(url, table, name)
        elif kind == "sqlite":
            fill_sqlite(path, table)
        else:
            with duckdb.connect(str(path)) as connection:
                fill_duckdb(connection, table)
        database = ic.Database(url)
        request.addfinalizer(database.close)
        return database.table(name)

    return put


SETTINGS = {
    "by person": {"keys": ["person"]},
    "by quasi-identifiers": {},
    "suppressed left out": {"keys": ["person"], "suppressed": "drop", "max_suppression": 0.2},
    "linked": {"linked": True},
}


def history(kind: str, seed: int, place, folder, keys=(), linked=False, **settings):
    """Record the releases of three nights, and return entries and refusals."""
    book, said = Ledger.init(folder / f"book of {kind}"), []
    roles = {"quasi": {"age": AGES, "town": ic.Hierarchy.flat()}, "sensitive": ["illness"]}
    if linked:
        roles |= {"person": ["person"], "linked": True}
    schema = ic.Schema(**roles, unlisted="drop")
    policy = ic.Policy(schema, [ic.KAnonymity(3)], "optimal", **{"max_suppression": 0.1} | settings)
    for table in nights(seed):
        rows = place(kind, table)
        release = ic.anonymize(rows, policy, unanswered="write")
        try:
            book.add(release, rows, recipient="A", keys=keys)
            said.append("")
        except (VerdictError, TableError) as refusal:
            said.append(str(refusal).replace(str(folder), ""))
    names = ("records", "people", "matched_by", "k", "l", "linked", "models")
    sizes = [book.people(each) for each in book.entries]
    groups = [sorted(each.drop("person").group_by("class").len()["len"].to_list()) for each in sizes]
    assert book.verify() is None
    return said, [[each[name] for name in names] for each in book.entries], groups


CASES = [(kind, what, seed) for kind in KINDS for what in SETTINGS for seed in range(4)]


@pytest.mark.few(1)
@pytest.mark.parametrize(
    "case",
    quick(CASES, ("sqlite", "by person", 1), ("lazy", "suppressed left out", 2), ("files", "by person", 3)),
)
def test_rows_elsewhere_get_the_entries_and_the_refusals_of_rows_in_memory(case, place, tmp_path):
    kind, what, seed = case
    expected = history("memory", seed, place, tmp_path, **SETTINGS[what])
    assert history(kind, seed, place, tmp_path, **SETTINGS[what]) == expected


@pytest.mark.slow
def test_the_nights_are_accepted_and_refused(place, tmp_path):
    said = []
    for seed in range(4):
        (tmp_path / str(seed)).mkdir()
        said.append(history("memory", seed, place, tmp_path / str(seed), keys=["person"])[0])
    assert any(all(not each for each in nights) for nights in said)
    assert any("the release exposes" in nights[2] for nights in said)


def released(rows):
    """Release a table by the ages of the people."""
    schema = ic.Schema(quasi={"age": AGES}, sensitive=["illness"], unlisted="drop")
    policy = ic.Policy(schema, [ic.KAnonymity(5)], "optimal", max_suppression=0.1)
    return ic.anonymize(rows, policy, unanswered="write")


@pytest.mark.slow
def test_the_digests_of_rows_elsewhere_follow_the_rows_and_not_their_order(place):
    table = people(1, 200)
    sums = []
    for kind in ("sqlite", "lazy"):
        for each in (table, table[::-1], table.with_columns(person=pl.lit("P1"))):
            rows = place(kind, each)
            sums.append(rows_of(released(rows), rows, ["person"]).sums)
    first, again, other = sums[:3]
    assert first == again == sums[3] == sums[4]
    assert first["input"] != other["input"]
    assert first["release"] == other["release"]


def test_the_entry_stands_before_the_table_and_goes_with_it(place, tmp_path):
    book = Ledger.init(tmp_path / "book")
    rows = place("sqlite", people(2, 200))

    def release():
        rows.database.refresh()
        return released(rows)

    def fail():
        # A line that other processes see, although nothing is committed yet.
        assert (book.folder / "ledger.jsonl").read_text().count("\n") == 2
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        book.add(release(), rows, fail, recipient="A", keys=["person"])
    assert book.entries == []
    assert list((book.folder / "people").iterdir()) == []
    one = release()
    book.add(one, rows, lambda: one.into("safe"), recipient="A", keys=["person"])
    assert len(book.entries) == 1
    two = release()
    with pytest.raises(TableError, match="exists"):
        book.add(two, rows, lambda: two.into("safe"), recipient="A", keys=["person"])
    assert len(book.entries) == 1


@pytest.mark.parametrize("comes", ["an error before", "a signal before", "a signal behind"])
def test_the_entry_stays_where_the_table_may_be_there(comes, place, tmp_path, monkeypatch, request):
    # Processes in the background ignore Ctrl-C.
    request.addfinalizer(partial(signal.signal, signal.SIGINT, signal.getsignal(signal.SIGINT)))
    signal.signal(signal.SIGINT, signal.default_int_handler)
    book = Ledger.init(tmp_path / "book")
    rows = place("sqlite", people(2, 200))
    release = released(rows)
    commit = rows.database.dialect.commit

    def stopped() -> None:
        if comes == "an error before":
            raise sqlite3.OperationalError("disk I/O error")
        if comes == "a signal before":
            signal.raise_signal(signal.SIGINT)
        commit()
        if comes == "a signal behind":
            signal.raise_signal(signal.SIGINT)

    monkeypatch.setattr(rows.database.dialect, "commit", stopped)
    with pytest.raises((TableError, KeyboardInterrupt)):
        book.add(release, rows, lambda: release.into("safe"), recipient="A", keys=["person"])
    assert len(book.entries) == 1
    assert book.verify() is None
    monkeypatch.undo()
    rows.database.refresh()
    is_there = rows.database.ask(lambda dialect: dialect.kind(dialect.target(("safe",)))) == "table"
    assert is_there == (comes != "an error before")


def test_another_table_and_rows_that_nobody_can_tell_apart_are_refused(place, tmp_path):
    book = Ledger.init(tmp_path / "book")
    table = people(1, 200)
    rows, other = place("sqlite", table), place("sqlite", table)
    release = released(rows)
    with pytest.raises(TableError, match="the table of the database that the release was made of"):
        book.add(release, other, recipient="A")
    with duckdb.connect() as connection:
        relation = connection.from_arrow(table.to_arrow())
        elsewhere = released(relation)
        with pytest.raises(InputError, match="fetch the rows of Spark or of a relation"):
            book.add(elsewhere, relation, recipient="A")
    assert book.entries == []


@pytest.mark.few(1)
@pytest.mark.parametrize("kind", ["memory", "lazy", "files", "sqlite", "duckdb"])
def test_people_of_count_tables_are_compared_wherever_they_are(place, tmp_path, kind):
    """A single person in place of another is told by the difference, and many more are not."""
    book, first = Ledger.init(tmp_path / "book"), people(1, 200)
    schema = ic.Schema(person=["person"], quasi={"age": AGES}, sensitive=["illness"], unlisted="drop")
    layout = ic.CountTable("t", rows=["illness"])
    draw = people(2, 1_000).with_columns(pl.format("new {}", "person").alias("person"))
    for table, refused in (
        (first, False),
        (first[::-1], False),
        (pl.concat([first[1:], draw[:1]]), True),
        (pl.concat([first, draw]), False),
    ):
        rows = place(kind, table)
        release = ic.tabulate(rows, ic.Policy(schema), [layout], earlier=book.tables_of(rows))
        if refused:
            with pytest.raises(VerdictError, match="is about other people than table t"):
                book.add(release, rows, recipient="A")
        else:
            book.add(release, rows, recipient="A")
    cells = [book._shown(entry).people for entry in book.entries]
    assert cells[0].equals(cells[1])
