"""Scripts beside a raw table in another order than the release: the tables are compared as a whole."""

from __future__ import annotations

import random

import duckdb
import polars as pl
import pytest

import incrowd as ic
from emitted_sql import failed, verdict
from incrowd.release.verification import checks_as_sql, verify
from policy_texts import K2, entry, policy_text

RAW = "name,place,age,ill\nA,France,21,flu\nB,Italy,25,cold\nC,India,30,flu\nD,India,30,flu\n"
GOOD = ["Europe,[21-25],flu", "Europe,[21-25],cold", "India,30,flu", "India,30,flu"]
TREE = "*\n\tEurope\n\t\tFrance\n\t\tItaly\n\tAsia\n\t\tIndia\n"
COLUMNS = [
    entry("name", "identifying"),
    entry("place", "quasi", "hierarchy = 'places.txt'"),
    entry("age", "quasi"),
    entry("ill", "sensitive"),
]
ORDERS = {"kept": "keep_order = true", "random": "keep_order = false"}
ROWS = {
    "as they were": GOOD,
    "a range too narrow": ["Europe,[21-24],flu", "Europe,[21-24],cold", *GOOD[2:]],
    "a node of others": ["Asia,*,flu", "Asia,*,cold", *GOOD[2:]],
    "two values exchanged": [GOOD[1], GOOD[0], *GOOD[2:]],
    "another order": [*GOOD[2:], *GOOD[:2]],
    "another value": [*GOOD[:3], "India,30,gout"],
    "a suppressed record": [*GOOD[:2], "*,*,flu", "*,*,flu"],
    "a record more": [*GOOD, GOOD[0]],
    "two records less": GOOD[:2],
}


@pytest.fixture
def given(tmp_path):
    (tmp_path / "places.txt").write_text(TREE)
    (tmp_path / "raw.csv").write_text(RAW)
    return {
        "path": tmp_path / "t.csv",
        "policy_path": tmp_path / "p.toml",
        "against": tmp_path / "raw.csv",
    }


def write(given, rows, head):
    settings = f"unlisted = 'drop'\nmax_suppression = 0.5\nsuppressed = 'keep'\n{head}"
    given["policy_path"].write_text(policy_text(COLUMNS, [K2], settings))
    given["path"].write_text("\n".join(["place,age,ill", *rows]) + "\n")


@pytest.mark.slow
@pytest.mark.parametrize("order", ORDERS)
def test_the_verdict_is_that_of_verify(given, order):
    """Each release has the verdict by a separate script, and by the script of the true release."""
    write(given, GOOD, ORDERS[order])
    first = checks_as_sql(**given)
    verdicts = {}
    for what, rows in ROWS.items():
        write(given, rows, ORDERS[order])
        verdicts[what] = verify(**given).keeps_limits
        assert verdict(checks_as_sql(**given)) == verdicts[what], what
        assert verdict(first) == verdicts[what] or what == "a suppressed record", what
    assert verdicts["as they were"]
    assert verdicts["another order"] == (order != "kept")
    assert not verdicts["a range too narrow"]


@pytest.mark.slow
def test_the_checks_that_fail_are_named(given):
    write(given, ROWS["another value"], "keep_order = false")
    assert failed(checks_as_sql(**given)) == [
        "records that differ from all raw ones in columns that are released as they are",
        "records whose cells are true of too few raw records",
    ]
    write(given, ROWS["two records less"], "")
    script = checks_as_sql(**given)
    assert failed(script) == [
        "records more or less than in the raw table",
        "the tables had as many records, when this was written",
    ]
    # It compares nothing, so it never says that all is well.
    write(given, GOOD, "")
    assert not verdict(script)


@pytest.mark.slow
def test_means_are_said_not_to_be_checked(given):
    columns = [*COLUMNS[:2], entry("age", "quasi", "kind = 'number'\noutput = 'mean'"), COLUMNS[3]]
    write(given, ["Europe,24,flu", "Europe,24,cold", *GOOD[2:]], "")
    for head, holds in (("keep_order = true", False), ("keep_order = false", True)):
        settings = f"unlisted = 'drop'\n{head}"
        given["policy_path"].write_text(policy_text(columns, [K2], settings))
        assert verify(**given).keeps_limits is holds
        script = checks_as_sql(**given)
        assert verdict(script) is holds
        assert ("Not checked: whether the means of column 'age' are true" in script) is holds


@pytest.mark.slow
def test_tables_of_a_database_have_no_order(given, tmp_path):
    write(given, ROWS["another order"], "keep_order = true")
    with duckdb.connect(tmp_path / "base.duckdb") as con:
        con.execute(f"CREATE TABLE safe AS SELECT * FROM '{given['path']}'")
        con.execute(f"CREATE TABLE raw AS SELECT * FROM '{given['against']}'")
    address = f"duckdb:///{tmp_path}/base.duckdb"
    there = given | {"path": address, "table": "safe", "against": address, "against_table": "raw"}
    assert verify(**there).keeps_limits
    script = checks_as_sql(**there)
    assert verdict(script)
    with duckdb.connect(tmp_path / "base.duckdb") as con:
        con.execute("UPDATE safe SET ill = 'gout' WHERE place = 'Europe'")
    assert not verify(**there).keeps_limits
    assert not verdict(script)


@pytest.mark.slow
def test_people_are_records_where_nobody_has_two(given):
    write(given, GOOD, "keep_order = false")
    policy = given["policy_path"]
    policy.write_text(policy.read_text().replace("identifying", "person"))
    assert verify(**given).keeps_limits
    script = checks_as_sql(**given)
    assert verdict(script)
    given["against"].write_text(RAW.replace("\nB,", "\nA,"))
    assert verify(**given).is_unchecked
    assert failed(script) == ["rows of the raw table of somebody who has another"]
    with pytest.raises(ic.ParameterError, match="name the row map"):
        checks_as_sql(**given)


@pytest.mark.slow
def test_a_release_in_random_order_is_compared_with_its_raw_table(tmp_path):
    """A saved release in the order of `anonymize`, without the row map, and copies with a changed cell."""
    table = ic.samples.hospital(120, 3)
    table.write_csv(tmp_path / "raw.csv")
    schema = ic.Schema(
        quasi={
            "age": ic.Hierarchy.intervals(5, 10, 20),
            "sex": ic.Hierarchy.flat(),
            "zip": ic.Hierarchy.prefix(),
        },
        sensitive=["diagnosis"],
        unlisted="drop",
    )
    release = ic.anonymize(tmp_path / "raw.csv", schema, [ic.KAnonymity(3)], "mondrian", unanswered="write")
    release.save(tmp_path / "out")
    settings = {"policy_path": tmp_path / "out/internal/policy.toml", "against": tmp_path / "raw.csv"}
    safe = tmp_path / "out/release.csv"
    assert verdict(checks_as_sql(safe, **settings))
    rows = pl.read_csv(safe, infer_schema=False)
    chance, verdicts = random.Random(1), set()
    for name in ("age", "diagnosis", "zip"):
        cells = rows[name].to_list()
        cells[chance.randrange(len(cells))] = chance.choice(cells)
        rows.with_columns(pl.Series(name, cells)).write_csv(tmp_path / "t.csv")
        expected = verify(tmp_path / "t.csv", **settings).keeps_limits
        assert verdict(checks_as_sql(tmp_path / "t.csv", **settings)) == expected
        verdicts.add(expected)
    assert False in verdicts
