"""Count tables in a ledger: the people are compared with those of earlier tables and rows."""

from __future__ import annotations

import hashlib

import polars as pl
import pytest

import incrowd as ic
from forged_ledgers import records_of, rewrite
from incrowd.core.errors import TableError, VerdictError
from incrowd.engines import TooManyKeysError
from incrowd.release.jobs.later.ledger import tables

SCHEMA = ic.Schema(person="id", quasi=["zip"], sensitive=["ill"], insensitive=["cost"])
TABLE = ic.CountTable("t", rows=["zip"], columns=["ill"])
SUMS = ic.CountTable("s", rows=["zip"], sum="cost", p_percent=10)
FIRST = (("N", "flu", 20), ("N", "HIV", 8), ("S", "flu", 22), ("S", "HIV", 10))


def people(*blocks, start=0, cost=100):
    rows = [(zip_code, ill) for zip_code, ill, number in blocks for _ in range(number)]
    return pl.DataFrame(
        {
            "id": [f"p{start + place}" for place in range(len(rows))],
            "zip": [zip_code for zip_code, _ in rows],
            "ill": [ill for _, ill in rows],
            "cost": [cost + place % 3 for place in range(len(rows))],
        }
    )


def without(table, *persons):
    return table.filter(~pl.col("id").is_in(persons))


def newcomers(*blocks, **settings):
    return pl.concat([people(*FIRST), people(*blocks, start=500, **settings)])


@pytest.fixture
def ledger(tmp_path):
    return ic.Ledger.init(tmp_path / "ledger")


def too_many(*_):
    raise TooManyKeysError("too many people")


def add(ledger, table, *layouts, schema=SCHEMA):
    release = ic.tabulate(table, ic.Policy(schema), layouts, earlier=ledger.tables_of(table))
    ledger.add(release, table, recipient="the press")
    return release


LARGE = (("N", "flu", 200), ("N", "HIV", 150), ("S", "flu", 222), ("S", "HIV", 110))
LATER = {
    "one replaced by another": (newcomers(("N", "HIV", 1)).filter(pl.col("id") != "p0"), True),
    "one replaced by one who has the same": (newcomers(("N", "flu", 1)).filter(pl.col("id") != "p0"), True),
    "five fewer, not in one cell": (without(people(*FIRST), "p0", "p1", "p2", "p25", "p30"), True),
    "five newcomers": (newcomers(("N", "flu", 4), ("N", "HIV", 1)), True),
    "one who is ill of something else": (
        people(*FIRST).with_columns(pl.when(pl.col("id") == "p0").then(pl.lit("HIV")).otherwise("ill").alias("ill")),
        True,
    ),
    "five who came into one cell": (newcomers(("N", "flu", 5)), False),
    "five who left one cell": (without(people(*FIRST), "p0", "p1", "p2", "p3", "p4"), False),
    "many newcomers": (newcomers(*LARGE), False),
    "many newcomers, and one who left": (newcomers(*LARGE).filter(pl.col("id") != "p0"), True),
    "others altogether": (people(*FIRST, start=900), False),
    "the same in another order": (people(*FIRST).sort("ill", "id", descending=True), False),
}  # fmt: skip


@pytest.mark.few(5)
@pytest.mark.parametrize("name", LATER)
def test_few_people_who_came_or_left_are_not_told_by_subtraction(ledger, name):
    """The new people, and the people who left, are separate tables in the common part of both tables."""
    later, refused = LATER[name]
    add(ledger, people(*FIRST), TABLE)
    if not refused:
        add(ledger, later, TABLE)
    else:
        with pytest.raises(VerdictError) as error:
            add(ledger, later, TABLE)
        text = str(error.value)
        assert "Table t is about other people than table t in release 1" in text
        assert "fewer than 5 of the people who came or left" in text
        assert "cell-key" in text
        assert not any(word in text for word in ("HIV", "flu", "p0", "p500"))
    assert len(ledger.entries) == 2 - refused
    assert len(list((ledger.folder / "people").iterdir())) == 2 * len(ledger.entries)
    assert ledger.verify() is None


def test_what_both_tables_hide_does_not_follow_from_what_they_show(ledger):
    """Sixty newcomers in all and 59 with the flu leave a single person for the hidden cells of a row."""
    rare = (
        ("N", "flu", 60),
        ("N", "HIV", 2),
        ("N", "cold", 3),
        ("S", "flu", 60),
        ("S", "HIV", 3),
        ("S", "cold", 2),
    )
    first = people(*rare)
    frame = add(ledger, first, TABLE)["t"]
    assert frame.filter(pl.col("mark") == "x").height >= 4
    later = pl.concat([first, people(("N", "flu", 59), ("N", "HIV", 1), start=500)])
    with pytest.raises(VerdictError, match="other people than table t"):
        add(ledger, later, TABLE)


@pytest.mark.parametrize(("extra", "refused"), [(4, True), (90, False)])
def test_tables_of_other_columns_and_levels_share_margins(ledger, extra, refused):
    tree = ic.Hierarchy.from_nested({"*": {"north": ["a", "b"], "south": ["c", "d"]}})
    schema = ic.Schema(person="id", quasi={"area": tree}, sensitive=["ill"], unlisted="drop")
    table = pl.DataFrame(
        {
            "id": range(400),
            "area": [*"abcd"] * 100,
            "ill": (["flu"] * 4 + ["cold"] * 4) * 50,
        }
    )
    first = ic.CountTable("finest", rows=["area"], columns=["ill"])
    second = ic.CountTable("coarse", rows=["area:1"])
    add(ledger, table.filter((pl.col("area") != "a") | (pl.col("id") >= 4 * extra)), first, schema=schema)
    if refused:
        with pytest.raises(VerdictError, match="Table coarse is about other people than table finest"):
            add(ledger, table, second, schema=schema)
    else:
        add(ledger, table, second, schema=schema)


@pytest.mark.parametrize(
    ("costs", "refused"), [([100] * 9, False), ([20_000, *[1] * 8], True)], ids=["even", "dominated"]
)
def test_a_sum_of_newcomers_is_asked_for_dominance(ledger, costs, refused):
    add(ledger, people(*FIRST), SUMS)
    new = people(("N", "flu", 9), start=500).with_columns(pl.Series("cost", costs))
    later = pl.concat([people(*FIRST), new])
    if refused:
        with pytest.raises(VerdictError, match="or of a sum that few of them dominate"):
            add(ledger, later, SUMS)
    else:
        add(ledger, later, SUMS)


def test_without_a_person_column_alike_rows_are_people(ledger):
    schema = ic.Schema(quasi=["zip"], sensitive=["ill"], unlisted="drop")
    add(ledger, people(*FIRST), TABLE, schema=schema)
    add(ledger, people(*FIRST, start=900).sort("ill"), TABLE, schema=schema)
    for new, refused in ((("N", "HIV", 1), True), (("N", "HIV", 9), False)):
        if refused:
            with pytest.raises(VerdictError, match="other people"):
                add(ledger, newcomers(new), TABLE, schema=schema)
        else:
            add(ledger, newcomers(new), TABLE, schema=schema)


def test_a_person_may_have_several_rows(ledger):
    twice = pl.concat([people(*FIRST), people(*FIRST)])
    add(ledger, twice, TABLE)
    add(ledger, pl.concat([twice, people(*FIRST)]), TABLE)
    records = ic.CountTable("r", rows=["zip"], columns=["ill"], count="records")
    add(ledger, twice, records)


def test_tables_of_too_many_people_are_compared_by_their_numbers(ledger, monkeypatch):
    with monkeypatch.context() as changed:
        changed.setattr(tables, "count_columns", too_many)
        add(ledger, people(*FIRST), TABLE)
    assert ledger.entries[0]["cells"] is None
    with pytest.raises(VerdictError, match="by fewer than 5 people"):
        add(ledger, newcomers(("N", "HIV", 1)), TABLE)
    add(ledger, newcomers(("N", "flu", 4), ("N", "HIV", 1)), TABLE)


def test_nothing_raw_of_tables_is_in_the_ledger(ledger):
    add(ledger, people(*FIRST), TABLE, SUMS)
    [entry] = ledger.entries
    content = (ledger.folder / "people" / entry["cells"]["name"]).read_bytes()
    frame = pl.read_parquet(ledger.folder / "people" / entry["cells"]["name"])
    assert {name: kind for name, kind in frame.schema.items() if kind != pl.Binary} == {"records": pl.Int64}
    assert not any(word in content for word in (b"p17", b"flu", b"HIV", b"zip", b"cost"))
    assert frame["person"].is_sorted()


@pytest.mark.parametrize(
    "forge",
    [
        lambda frame: frame.drop(frame.columns[1]),
        lambda frame: frame.drop("person"),
        lambda frame: frame.drop("records"),
        lambda frame: frame.with_columns(records=0),
        lambda frame: frame.rename({frame.columns[1]: "zip"}),
    ],
)
def test_forged_cells_are_told(ledger, forge):
    """Also where the entry has the digest of the forged file."""
    add(ledger, people(*FIRST), TABLE)
    [_, record] = records_of(ledger.folder)
    path = ledger.folder / "people" / record["cells"]["name"]
    forge(pl.read_parquet(path)).write_parquet(path)
    assert "the cells of entry 1 were changed" in ledger.verify()
    record["cells"]["sha256"] = hashlib.sha256(path.read_bytes()).hexdigest()
    rewrite(ledger.folder, [records_of(ledger.folder)[0], record])
    assert "the cells of entry 1 were changed" in ledger.verify()
    with pytest.raises(TableError, match="back from a copy"):
        add(ledger, newcomers(*LARGE), TABLE)


# --- rows beside tables -----------------------------------------------------------------------------------

ROWS = (("N", "flu", 6), ("N", "HIV", 1), ("S", "flu", 7), ("S", "cold", 6), ("N", "cold", 6))
MODELS = ["k-anonymity:5", "l-diversity:2"]


def release_rows(ledger, table, *, schema=SCHEMA, models=MODELS):
    ledger.add(ic.anonymize(table, ic.Policy(schema, models)), table, recipient="hospital A")


@pytest.mark.parametrize("rows_come_first", [True, False])
def test_rows_do_not_show_what_a_table_hides(ledger, rows_come_first):
    table = people(*ROWS)
    first, second = (release_rows, lambda *given: add(*given, TABLE))[:: 1 if rows_come_first else -1]
    first(ledger, table)
    with pytest.raises(VerdictError) as error:
        second(ledger, table)
    text = str(error.value)
    assert "table t" in text
    assert "release 1 of the ledger" in text
    assert "make the tables of the released rows" in text
    assert not any(word in text for word in ("HIV", "flu", "'N'"))
    assert len(ledger.entries) == 1
    if not rows_come_first:
        with pytest.raises(VerdictError, match="can be counted in the rows"):
            ledger.judge(ic.anonymize(table, ic.Policy(SCHEMA, MODELS)), table)


@pytest.mark.parametrize("rows_come_first", [True, False])
def test_rows_of_coarser_cells_leave_a_table_its_cells(ledger, rows_come_first):
    """Rows without a zip give no cell of the table for any row."""
    schema = ic.Schema(person="id", quasi=["zip"], sensitive=["ill"], unlisted="drop")
    table = people(*ROWS, ("S", "HIV", 8))
    first, second = (
        lambda: release_rows(ledger, table, schema=schema, models=["k-anonymity:20"]),
        lambda: add(ledger, table, TABLE),
    )[:: 1 if rows_come_first else -1]
    first()
    second()
    assert len(ledger.entries) == 2


def test_rows_of_many_others_leave_a_table_its_cells(ledger):
    release_rows(ledger, people(*ROWS))
    add(ledger, pl.concat([people(*ROWS), people(*ROWS, start=500)]), TABLE)


@pytest.mark.parametrize("end", [30, 35], ids=["within", "beyond"])
def test_released_ranges_count_where_they_are_within_a_code(ledger, end):
    """A text that is no code of the table stands for the codes of the people with that text."""
    ages = [*range(20, 30)] * 4 + [*range(30, 40)] * 4
    ill = [*["HIV"] * 2, *["cold"] * 8, *["flu"] * 30, *["HIV"] * 10, *["cold"] * 10, *["flu"] * 20]
    table = pl.DataFrame({"id": range(80), "age": ages, "ill": ill})
    bands = ic.Schema(person="id", quasi={"age": ic.Hierarchy.bands(end)}, sensitive=["ill"])
    by_tens = ic.Schema(person="id", quasi={"age": ic.Hierarchy.intervals(10)}, sensitive=["ill"])
    rows = ic.anonymize(table, ic.Policy(bands, ["k-anonymity:9"]), levels={"age": 1})
    ledger.add(rows, table, recipient="hospital A")
    layout = ic.CountTable("ages", rows=["age:1"], columns=["ill"], threshold=4)
    release = ic.tabulate(table, ic.Policy(by_tens), [layout])
    assert release.tables[0].hidden.any()
    if end == 30:
        with pytest.raises(VerdictError, match="table ages hides"):
            ledger.add(release, table, recipient="the press")
    else:
        ledger.add(release, table, recipient="the press")
