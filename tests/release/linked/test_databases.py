"""Linked tables read where they lie: in a database, in lazy frames, in files that stream."""

from __future__ import annotations

import contextlib
import datetime as dt
from dataclasses import replace
from pathlib import Path

import duckdb
import polars as pl
import pytest

import incrowd as ic
from crossed import quick
from database_tables import HOLDERS, STORES, fill_duckdb, mysql_statement, statement
from incrowd.core.errors import SchemaError, TableError
from incrowd.engines.dialects.addresses import Address
from incrowd.release.linked import JoinedView
from linked_readings import draw

pytestmark = pytest.mark.gated

DRAWN = draw(0, k=2, people=20, max_suppression=0.9)
WHERE = pytest.mark.parametrize("where", quick(STORES, "sqlite", "duckdb"))


def stored(where: str, folder: Path, url: str | None, tables=DRAWN.tables) -> str:
    """Put tables into a database, and return its address."""
    for name, frame in tables.items():
        address = HOLDERS[where](frame, folder, name, url)
    return address


@pytest.fixture
def server(request: pytest.FixtureRequest) -> str | None:
    """The address of a server, which starts where a test is about PostgreSQL."""
    return (
        request.getfixturevalue("postgres") if request.node.callspec.params["where"] == "postgresql" else None
    )


@pytest.mark.few(1)
@WHERE
def test_tables_of_a_database_are_those_of_frames(where, tmp_path, server):
    address = stored(where, tmp_path, server)
    whole = ic.anonymize_linked(DRAWN.tables, DRAWN.policy, unanswered="write")
    with ic.Database(address) as database:
        by_name = {name: database.table(name) for name in DRAWN.tables}
        for given in (database, by_name, Address(address)):
            release = ic.anonymize_linked(given, DRAWN.policy, unanswered="write")
            assert release.to_dict() | {"seconds": {}} == whole.to_dict() | {"seconds": {}}
            view = ic.assess_linked(given, DRAWN.policy)
            assert view.smallest == ic.assess_linked(DRAWN.tables, DRAWN.policy).smallest
    assert {*map(str, release.sources)} == {str(Address(address))}
    # Rows of a database have no numbers.
    for each, has_numbers in ((release, False), (whole, True)):
        each.save(tmp_path / f"out {has_numbers}")
        kept = tmp_path / f"out {has_numbers}" / "internal" / "person" / "suppressed.csv"
        assert kept.is_file() == has_numbers


def test_relations_lazy_frames_and_folders_of_one_table_are_read(tmp_path):
    (tmp_path / "drug").mkdir()
    parts = DRAWN.tables["drug"]
    parts[:3].write_parquet(tmp_path / "drug" / "a.parquet")
    parts[3:].write_parquet(tmp_path / "drug" / "b.parquet")
    with contextlib.closing(duckdb.connect()) as connection:
        fill_duckdb(connection, DRAWN.tables["person"], "person")
        tables = {
            "person": connection.table("person"), "visit": DRAWN.tables["visit"].lazy(), "drug": tmp_path / "drug",
        }  # fmt: skip
        view = ic.assess_linked(tables, DRAWN.policy)
    assert view.to_dict() == ic.assess_linked(DRAWN.tables, DRAWN.policy).to_dict()


def test_a_table_may_have_another_name_in_the_database(tmp_path):
    with contextlib.closing(duckdb.connect(str(tmp_path / "clinic.db"))) as connection:
        connection.execute("CREATE SCHEMA ward")
        for name, frame in DRAWN.tables.items():
            fill_duckdb(connection, frame, name)
        connection.execute("CREATE TABLE ward.stays AS SELECT * FROM visit; DROP TABLE visit")
    url = f"duckdb:///{tmp_path}/clinic.db"
    with pytest.raises(TableError, match="there is no table visit"):
        ic.assess_linked(Address(url), DRAWN.policy)
    tables = [
        replace(each, table="ward.stays") if each.name == "visit" else each for each in DRAWN.policy.tables
    ]
    named = replace(DRAWN.policy, tables=tables)
    assert ic.assess_linked(Address(url), named).people == 20
    named.write(tmp_path / "policy.toml")
    assert ic.LinkedPolicy.read(tmp_path / "policy.toml")["visit"].table == "ward.stays"


def test_frames_of_spark_are_fetched(spark):
    frames = {name: spark.createDataFrame(frame.to_arrow()) for name, frame in DRAWN.tables.items()}
    view = ic.assess_linked(frames, DRAWN.policy)
    assert view.to_dict() == ic.assess_linked(DRAWN.tables, DRAWN.policy).to_dict()
    release, expected = (
        ic.anonymize_linked(tables, DRAWN.policy, unanswered="write") for tables in (frames, DRAWN.tables)
    )
    assert release.levels == expected.levels
    for name, table in expected.tables.items():
        assert release.tables[name].sort(table.columns).equals(table.sort(table.columns))
    odd = frames["visit"].selectExpr("*", "map('a', 1) AS odd")
    with pytest.raises(SchemaError, match="'odd' is of type Map"):
        ic.assess_linked(frames | {"visit": odd}, DRAWN.policy)


# --- out -------------------------------------------------------------------------------------------

RELEASED = "incrowd_release"


def released(**settings) -> ic.LinkedRelease:
    tables, terms = draw(0, k=2, people=20, max_suppression=0.9, **settings)
    return ic.anonymize_linked(tables, terms, unanswered="write")


def rows_of(database: ic.Database, name: str) -> list[tuple]:
    return sorted(row for batch in database.table(name).rows() for row in batch.rows())


def cleared(where: str, address: str, names) -> None:
    """Drop tables of a server, which other tests have used."""
    run = {"postgresql": statement, "mysql": mysql_statement}.get(where)
    for name in names if run else ():
        run(
            address,
            f'DROP TABLE IF EXISTS "{name}"' if where == "postgresql" else f"DROP TABLE IF EXISTS `{name}`",
        )


@WHERE
def test_a_database_has_all_tables_with_their_policies_or_none(where, tmp_path, server, monkeypatch):
    release = released()
    names = [*release.tables, RELEASED]
    address = stored(where, tmp_path, server, {"other": DRAWN.tables["person"]})
    cleared(where, address, names)
    with ic.Database(address) as database:
        release.into(database)
        for name, frame in release.tables.items():
            assert rows_of(database, name) == sorted(frame.rows())
        view = ic.assess_linked(database, release.policy)
        assert (view.smallest, dict(view.records)) == (release.view.smallest, dict(release.view.records))
        paths = [path for path, _ in rows_of(database, RELEASED)]
        assert {"policy.toml", "release.json", "policies/person/policy.toml"} <= {*paths}
        assert not any(path.startswith("internal") for path in paths)
        with pytest.raises(TableError, match="exists already"):
            release.into(database)
        release.into(database, force=True)
        failing(monkeypatch)
        with pytest.raises(TableError, match="in the middle"):
            release.into(database, force=True)
        monkeypatch.undo()
        for name, frame in release.tables.items():
            assert rows_of(database, name) == sorted(frame.rows())
    cleared(where, address, names)


@WHERE
def test_what_fails_in_the_middle_leaves_nothing(where, tmp_path, server, monkeypatch):
    release = released()
    address = stored(where, tmp_path, server, {"other": DRAWN.tables["person"]})
    cleared(where, address, [*release.tables, RELEASED])
    failing(monkeypatch)
    with ic.Database(address) as database:
        with pytest.raises(TableError, match="in the middle"):
            release.into(database)
        for name in (*release.tables, RELEASED):
            with pytest.raises(TableError, match="there is no table"):
                database.table(name)


def failing(monkeypatch) -> None:
    """Let the judge of what was made end with an error."""

    def fails(rows):
        raise TableError("in the middle")

    monkeypatch.setattr(JoinedView, "of_rows", fails)


@pytest.mark.slow
@pytest.mark.parametrize("kind", ["duckdb", "sqlite"])
def test_a_file_that_is_not_there_is_made_whole_or_not_at_all(kind, tmp_path, monkeypatch):
    release, file = released(), tmp_path / "out.db"
    with monkeypatch.context() as patch:
        failing(patch)
        with pytest.raises(TableError, match="in the middle"):
            release.into(Address(f"{kind}:///{file}"))
    assert not [*tmp_path.iterdir()]
    release.into(Address(f"{kind}:///{file}"))
    assert [*tmp_path.iterdir()] == [file]
    if kind == "sqlite":
        with pytest.raises(TableError, match="SQLite has no schemas"):
            release.into(Address(f"{kind}:///{file}"), "safe")
    view = ic.assess_linked(Address(f"{kind}:///{file}"), release.policy)
    assert view.smallest == release.view.smallest


@pytest.mark.slow
def test_a_schema_holds_the_tables_and_nobody_elses_table_is_replaced(tmp_path):
    release, url = released(), f"duckdb:///{tmp_path}/clinic.db"
    with contextlib.closing(duckdb.connect(str(tmp_path / "clinic.db"))) as connection:
        connection.execute(
            "CREATE SCHEMA safe; CREATE TABLE person AS SELECT 1 AS id; CREATE TABLE safe.old AS SELECT 1"
        )
    for force in (False, True):
        with pytest.raises(TableError, match="person: exists already"):
            release.into(Address(url), force=force)
    release.into(Address(url), "safe")
    release.into(Address(url), "safe", force=True)
    smaller = replace(release, releases={name: release.releases[name] for name in ("person", "visit")},
                      policy=replace(release.policy, tables=release.policy.tables[:2], terms=replace(
                          release.policy.terms, schema=ic.Schema(["person.sex", "visit.kind"], insensitive=["person.id"]))))  # fmt: skip
    with pytest.raises(TableError, match="the earlier release has table 'drug'"):
        smaller.into(Address(url), "safe", force=True)
    with pytest.raises(TableError, match="there is no such table, schema"):
        release.into(Address(url), "nowhere")
    with contextlib.closing(duckdb.connect(str(tmp_path / "clinic.db"))) as connection:
        assert connection.execute("SELECT id FROM person").fetchall() == [(1,)]
        assert len(connection.execute("SELECT * FROM safe.person").fetchall()) == release.view.people


@WHERE
def test_values_of_all_types_are_those_that_leave(where, tmp_path, server):
    days = [dt.date(2024, 1, 1 + n) for n in range(8)]
    more = {
        "day": days, "at": [dt.datetime(2024, 1, 1, 12, n, 30, 500) for n in range(8)], "yes": [True, False] * 4,
        "cost": pl.Series([f"{n}.50" for n in range(8)]).cast(pl.Decimal(10, 2)), "mass": [n / 3 for n in range(8)],
        "text": ["it's", 'a "b"', "", None, "ä\\n", "%s", "*", "x"], "small": pl.Series(range(8), dtype=pl.UInt8),
    }  # fmt: skip
    people = pl.DataFrame({"id": list("abcdefgh"), "sex": ["f"] * 8, **more})
    visits = pl.DataFrame({"of": list("abcdefgh"), "ward": ["A"] * 8})
    linked = [ic.LinkedTable("typed"), ic.LinkedTable("stay", join={"of": "typed.id"})]
    schema = ic.Schema(["typed.sex", "stay.ward"], insensitive=[f"typed.{name}" for name in ("id", *more)])
    policy = ic.LinkedPolicy(linked, ic.Policy(schema, "k-anonymity:4"))
    release = ic.anonymize_linked({"typed": people, "stay": visits}, policy, unanswered="write")
    address = stored(where, tmp_path, server, {"other": visits})
    cleared(where, address, ["typed", "stay", RELEASED])
    with ic.Database(address) as database:
        release.into(database)
        [made] = database.table("typed").rows()
    cleared(where, address, ["typed", "stay", RELEASED])
    whole, kept = release.tables["typed"].sort("id"), made.sort("id")
    for name in people.columns:
        same = kept[name].cast(whole[name].dtype) if name in ("small", "yes") else kept[name]
        texts = where == "sqlite" and name in ("day", "at", "cost")
        assert same.to_list() == (whole[name].cast(pl.String) if texts else whole[name]).to_list(), name
