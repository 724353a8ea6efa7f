"""Count tables beside the raw table and the policy: honest tables hold, and each forgery is named."""

from __future__ import annotations

import hashlib
import json
import re
import zipfile
from itertools import product

import numpy as np
import polars as pl
import pytest

import incrowd as ic
from incrowd.core.errors import ParameterError
from incrowd.faces.cli import main as incrowd_main
from incrowd.release.tables.key_table import KeyTable, threshold_rounding
from incrowd_gate.errors import PolicyError, SchemaError, TableError
from incrowd_verify.cli import main
from incrowd_verify.count_tables import RawTable, verify_tables
from incrowd_verify.count_tables.key_tables import KeyTable as VerifiedKeyTable
from incrowd_verify.count_tables.published import _before_rule

AREAS = {"*": {"north": ["a", "b"], "south": ["c", "d", "e"]}}
KEY = "5f0c8e7a1b9d3c62e4a87f15d02b6c93ab41e8d7f6209c5b3e1a7d84c09f62b5"


@pytest.fixture
def people():
    """Four hundred rows of three hundred people, with missing cells."""
    draw = np.random.default_rng(5)
    who = [f"p{number}" for number in draw.integers(0, 300, 396)] + [None] * 4
    return pl.DataFrame(
        {
            "who": who,
            "area": draw.choice(list("abcde"), 400, p=[0.4, 0.3, 0.2, 0.07, 0.03]),
            "age": [None if age > 57 else int(age) for age in draw.integers(20, 60, 400)],
            "ill": [
                None if ill == "-" else str(ill)
                for ill in draw.choice(["flu", "gout", "hiv", "-"], 400, p=[0.5, 0.1, 0.02, 0.38])
            ],
            "cost": draw.integers(1, 1000, 400) + 0.25,
        }
    )


def schema(person="who"):
    return ic.Schema(
        quasi={"area": ic.Hierarchy.from_nested(AREAS), "age": ic.Hierarchy.intervals(10, 20)},
        sensitive=["ill"],
        insensitive=["cost"],
        person=person or (),
        unlisted="drop",
    )


@pytest.fixture
def folder(tmp_path, people):
    """Save tables with a policy and a raw table, and return the arguments of the check."""

    def saved(*tables, rows=people, person="who", to="tables", columns=None):
        place = tmp_path / to
        policy = ic.Policy(columns or schema(person), tables=tables)
        ic.tabulate(rows, policy).save(place / "out")
        policy.write(place / "policy.toml")
        rows.write_csv(place / "raw.csv")
        return place

    return saved


def check(place, *, policy=True, raw=True):
    return verify_tables(
        place / "out",
        place / "policy.toml" if policy else None,
        raw=RawTable(str(place / "raw.csv")) if raw else None,
    )


def forge(place, name, codes, value):
    """Write another value into a cell, and the digest of the changed file."""
    file = place / "out" / f"{name}.csv"
    frame = pl.read_csv(file, infer_schema=False)
    here = pl.all_horizontal(pl.col(column) == code for column, code in codes.items())
    quantity = frame.columns[-2]
    frame.with_columns(
        pl.when(here).then(pl.lit(str(value))).otherwise(quantity).alias(quantity),
        pl.when(here).then(pl.lit("")).otherwise("mark").alias("mark"),
    ).write_csv(file)
    manifest = json.loads((place / "out/tables.json").read_text())
    manifest["files"][file.name] = {"sha256": hashlib.sha256(file.read_bytes()).hexdigest()}
    (place / "out/tables.json").write_text(json.dumps(manifest))


def seal(place, file):
    """Write the digest of a changed file into the manifest."""
    manifest = json.loads((place / "tables.json").read_text())
    manifest["files"][file.name] = {"sha256": hashlib.sha256(file.read_bytes()).hexdigest()}
    (place / "tables.json").write_text(json.dumps(manifest))


def forge_sheet(place, sheet, at, value):
    """Write another number into a cell of a sheet of the workbook, and the digest of the changed file."""
    file = place / "tables.xlsx"
    with zipfile.ZipFile(file) as book:
        parts = {name: book.read(name) for name in book.namelist()}
    part = f"xl/worksheets/sheet{sheet}.xml"
    cell = rf'<c r="{at}"[^>]*>.*?</c>'
    text, count = re.subn(cell, f'<c r="{at}"><v>{value}</v></c>', parts[part].decode())
    assert count == 1
    with zipfile.ZipFile(file, "w") as book:
        for name, data in (parts | {part: text.encode()}).items():
            book.writestr(name, data)
    seal(place, file)


def sentences(checked):
    return [point.text for point in checked.verdict.points]


ILL = ic.CountTable("area-ill", rows=["area"], columns=["ill"], threshold=4)
AGE = ic.CountTable("age-ill", rows=["age:1"], columns=["ill"], threshold=4)
COST = ic.CountTable("cost", rows=["area:1"], sum="cost", p_percent=10, dominance=(2, 0.8))


def test_honest_tables_hold(folder):
    place = folder(ILL, AGE, COST, ic.CountTable("hide", rows=["area"], sum="cost", zeros="hide"))
    checked = check(place)
    assert checked.verdict.state == "holds", sentences(checked)
    tables = json.loads((place / "out/tables.json").read_text())["tables"]
    assert checked.compared == sum(each["cells"] - each["suppressed"] for each in tables)
    assert "\\u0000" not in (place / "out/tables.json").read_text()


@pytest.mark.few(4)
@pytest.mark.parametrize(
    ("protect", "more"),
    [
        ("round", {"base": 3}),
        ("round", {"base": 3, "rounding": "random", "key": "env:TABLE_KEY"}),
        ("round", {"rounding": "small"}),
        ("round", {"rounding": "midpoint"}),
        ("round", {"rounding": "midpoint", "base": 10}),
        ("cell-key", {"key": "env:TABLE_KEY"}),
        ("cell-key", {"key_table": "10-5"}),
        ("cell-key", {"key_table": "file:office.parquet", "key": "env:TABLE_KEY"}),
    ],
)
def test_rounded_and_perturbed_tables_hold_and_forged_ones_are_told(
    folder, people, tmp_path, monkeypatch, protect, more
):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("TABLE_KEY", KEY)
    if "file:" in more.get("key_table", ""):
        threshold_rounding(6, 5, keys=8).to_frame().write_parquet("office.parquet")
    table = ic.CountTable("t", rows=["area"], columns=["ill"], protect=protect, **more)
    # Each has one row: totals of people in several codes are no sums.
    people = people.with_columns(who=pl.int_range(pl.len()).cast(pl.String))
    place = folder(table, rows=people)
    assert check(place).verdict.state == "holds"
    # A finest cell, with all totals above: sums of what is shown hold for small counts.
    cells = {(row[0], row[1]): row[2] for row in pl.read_csv(place / "out/t.csv").iter_rows()}
    for area, ill in product(("a", "north", "Total"), ("flu", "Total")):
        forge(place, "t", {"area": area, "ill": ill}, cells[area, ill] + 20)
    sentence = next(text for text in sentences(check(place)) if "count" in text)
    # Of small counts, the totals are those of what is shown.
    if "small" in more.values():
        assert sentence == (
            "Table t: 1 cell is not as near to the count of the raw table as its rules say: "
            "area = a and ill = flu."
        )
    else:
        assert sentence.startswith(
            "Table t: 6 cells are not as near to the count of the raw table as its rules say: "
        )


@pytest.mark.few(1)
@pytest.mark.parametrize("seed", range(26, 32))
def test_what_one_table_tells_of_a_cell_is_known_of_it_in_the_others(tmp_path, seed):
    """Tables with rounding = 'small' bound totals differently, and the maker and the verifier take both."""
    rng = np.random.default_rng(seed)
    rows, draw = int(rng.integers(40, 200)), rng.choice
    table = pl.DataFrame(
        {
            "area": draw([*"pqr"], rows),
            "sex": draw([*"xy"], rows),
            "ill": draw([*"uvw"], rows, p=[0.8, 0.15, 0.05]),
        }
    )
    threshold = int(rng.integers(3, 6))
    layouts = [
        ic.CountTable(
            name, rows=[name], columns=["ill"], protect="round", rounding="small", threshold=threshold
        )
        for name in ("area", "sex")
    ]
    schema = ic.Schema(quasi=["area", "sex"], sensitive=["ill"])
    ic.tabulate(table, ic.Policy(schema), layouts).save(tmp_path / "tables")
    assert verify_tables(tmp_path / "tables").verdict.holds


def test_totals_of_small_counts_are_sums_of_what_is_shown(folder, people):
    people = people.with_columns(who=pl.int_range(pl.len()).cast(pl.String))
    place = folder(
        ic.CountTable("t", rows=["area"], columns=["ill"], protect="round", rounding="small"), rows=people
    )
    forge(place, "t", {"area": "north", "ill": "flu"}, 9999)
    with pytest.raises(TableError, match="not the sum of finest cells of 0, or 5 and more"):
        check(place)
    forge(place, "t", {"area": "e", "ill": "hiv"}, 3)
    with pytest.raises(TableError, match="not the sum"):
        check(place)


def test_a_value_that_is_no_midpoint_is_told(folder, people):
    table = ic.CountTable("t", rows=["area"], columns=["ill"], protect="round", rounding="midpoint", base=6)
    place = folder(table, rows=people.with_columns(who=pl.int_range(pl.len()).cast(pl.String)))
    assert {count % 6 for count in pl.read_csv(place / "out/t.csv")["people"] if count} == {3}
    forge(place, "t", {"area": "north", "ill": "flu"}, 66)
    with pytest.raises(TableError, match="no midpoint of an interval of 6 counts"):
        check(place)


def test_another_key_table_than_that_of_the_policy_is_told(folder, people, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("TABLE_KEY", KEY)
    threshold_rounding(6, 5, keys=8).to_frame().write_csv("office.csv")
    people = people.with_columns(who=pl.int_range(pl.len()).cast(pl.String))
    layout = ic.CountTable(
        "t", rows=["area"], protect="cell-key", key_table="file:office.csv", key="env:TABLE_KEY"
    )
    place = folder(layout, rows=people)
    threshold_rounding(3, 5, keys=8).to_frame().write_csv("office.csv")
    assert check(place).verdict.state == "broken"
    text = "Table t is made by other rules than the policy's: key_table, deviation."
    assert text in sentences(check(place))
    (tmp_path / "office.csv").unlink()
    with pytest.raises(PolicyError, match=r"office\.csv cannot be read"):
        check(place)


def spread(seed):
    """Make a key table of an office with a few changes of each count."""
    draw = np.random.default_rng(seed)
    changes = draw.integers(-2, 4, (751, 8))
    changes[0] = 0
    changes[1] = np.maximum(changes[1], -1)
    return KeyTable(changes)


def test_the_manifest_does_not_widen_what_a_key_table_may_change(folder, people, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("TABLE_KEY", KEY)
    spread(1).to_frame().write_csv("office.csv")
    people = people.with_columns(who=pl.int_range(pl.len()).cast(pl.String))
    layout = ic.CountTable(
        "t", rows=["area"], protect="cell-key", key_table="file:office.csv", key="env:TABLE_KEY"
    )
    place = folder(layout, rows=people)
    assert check(place).ok
    shown = pl.read_csv(place / "out/t.csv").filter(pl.col("area") == "a")["people"].item()
    forge(place, "t", {"area": "a"}, shown + 20)
    manifest = json.loads((place / "out/tables.json").read_text())
    manifest["tables"][0]["deviation"] = 1_000_000
    (place / "out/tables.json").write_text(json.dumps(manifest))
    assert sentences(check(place)) == [
        "Table t is made by other rules than the policy's: deviation.",
        "Table t: 1 cell is not as near to the count of the raw table as its rules say: area = a.",
    ]


@pytest.mark.parametrize("seed", range(3))
def test_the_counts_before_a_key_table_are_those_of_its_rows(tmp_path, seed):
    table = spread(seed)
    table.to_frame().write_parquet(tmp_path / "office.parquet")
    read = VerifiedKeyTable.read(tmp_path / "office.parquet")
    assert read.deviation == table.deviation
    keys = np.arange(1299, dtype=np.uint64)
    values = np.unique(table.release(np.arange(1, 1300), keys))
    low, high = table.bounds(values)
    assert [read.before(float(value)) for value in values] == list(zip(low, high, strict=True))


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ("pcv,ckey\n1,0\n", "must have the whole numbers"),
        ("pcv,ckey,pvalue\n1,0,x\n", "must have the whole numbers"),
        ("pcv,ckey,pvalue\n1,0,1\n", "has not each pcv"),
        (None, "cannot be read"),
    ],
)
def test_a_key_table_that_is_none_is_named(tmp_path, content, message):
    if content is not None:
        (tmp_path / "office.csv").write_text(content)
    with pytest.raises(PolicyError, match=message):
        VerifiedKeyTable.read(tmp_path / "office.csv")


@pytest.mark.parametrize(("threshold", "base"), [(10, 5), (3, 2), (1, 4), (0, 7), (5, 1)])
def test_the_counts_before_a_rule_are_those_that_it_turns_into_the_value(threshold, base):
    rule = threshold_rounding(threshold, base, keys=1)
    counts = np.arange(400)
    values = rule.release(counts, np.zeros(400, np.uint64))
    for value in np.unique(values[:300]):
        fitting = counts[values == value]
        assert _before_rule(float(value), threshold, base) == (fitting.min(), fitting.max())


def test_a_forged_cell_of_two_tables_is_named(folder):
    place = folder(ILL, AGE)
    forge(place, "area-ill", {"area": "Total", "ill": "Total"}, 9999)
    assert any("area = Total and ill = Total" in text for text in sentences(check(place)))


def test_records_are_counted_where_the_table_says_so(folder):
    assert check(folder(ic.CountTable("rows", rows=["area"], count="records"))).ok


def test_a_column_that_is_counted_and_summed_is_read_once(folder, people):
    """The numbers have commas, which are written as points before the count, and not again."""
    commas = people.with_columns(cost=pl.col("cost").floordiv(100).cast(pl.Int64).cast(pl.String) + ",50")
    cost = ic.Attribute("cost", "quasi", decimal=",")
    counted = ic.Schema.of_attributes([cost, ic.Attribute("area", "quasi", kind="category")], unlisted="drop")
    table = ic.CountTable("cost", rows=["cost"], columns=["area"], sum="cost")
    assert check(folder(table, rows=commas, columns=counted)).ok


@pytest.mark.slow
def test_a_changed_count_is_told_by_its_codes(folder):
    place = folder(ILL, AGE)
    frame = pl.read_csv(place / "out/area-ill.csv")
    count = frame.filter(pl.col("area") == "north", pl.col("ill") == "Total")["people"].item()
    forge(place, "area-ill", {"area": "north", "ill": "Total"}, count + 1)
    checked = check(place)
    assert checked.verdict.state == "broken"
    assert sentences(checked)[0] == (
        "Table area-ill: 1 cell is not the count of the raw table: area = north and ill = Total."
    )


def test_files_of_two_kinds_show_the_same_cells(folder, people):
    place = folder(ILL)
    ic.tabulate(people, ic.Policy(schema(), tables=[ILL])).save(place / "both", kinds=["csv", "parquet"])
    assert verify_tables(place / "both").ok
    file = place / "both/area-ill.parquet"
    pl.read_parquet(file).with_columns(people=pl.col("people").fill_null(1)).write_parquet(file)
    manifest = json.loads((place / "both/tables.json").read_text())
    manifest["files"][file.name]["sha256"] = hashlib.sha256(file.read_bytes()).hexdigest()
    (place / "both/tables.json").write_text(json.dumps(manifest))
    with pytest.raises(TableError, match="CSV and its Parquet file show different cells"):
        verify_tables(place / "both")


@pytest.fixture
def workbook(tmp_path, people):
    """Save two tables of odd codes and a sum, as files of some kinds."""

    def saved(*kinds):
        odd = people.with_columns(ill=pl.col("ill").replace({"gout": "_x0041_", "hiv": "=1+1"}))
        cost = ic.CountTable("cost", columns=["area"], sum="cost")
        ic.tabulate(odd, ic.Policy(schema(), tables=[ILL, cost])).save(tmp_path / "out", kinds=kinds)
        return tmp_path / "out"

    return saved


@pytest.mark.few(1)
@pytest.mark.parametrize(
    "kinds", [("csv", "xlsx"), ("parquet", "xlsx"), ("csv", "parquet", "xlsx"), ("xlsx",)]
)
def test_a_workbook_is_read_cell_by_cell(workbook, kinds):
    assert verify_tables(workbook(*kinds)).ok


@pytest.mark.few(2)
@pytest.mark.parametrize("kind", ["csv", "parquet"])
@pytest.mark.parametrize(
    ("sheet", "at", "said"),
    [(1, "B3", r"area-ill: area = Total and ill = Total \(B3\)"), (2, "B4", r"cost: area = a \(B4\)")],
)
def test_a_workbook_that_shows_another_number_is_told_by_its_cell(workbook, kind, sheet, at, said):
    place = workbook(kind, "xlsx")
    forge_sheet(place, sheet, at, 999)
    with pytest.raises(TableError, match=said + " is not that of the other file") as error:
        verify_tables(place)
    assert "999" not in str(error.value)


def test_a_workbook_alone_is_the_table(workbook, people, tmp_path):
    place = workbook("xlsx")
    forge_sheet(place, 2, "B2", 999)
    people.write_csv(tmp_path / "raw.csv")
    checked = verify_tables(place, raw=RawTable(str(tmp_path / "raw.csv")))
    assert any("Table cost" in text and "area = Total" in text for text in sentences(checked))


@pytest.mark.parametrize(
    ("at", "value", "said"),
    [
        ("A4", 7, r"other codes or further cells.*\(A4\)"),
        ("C1", 7, r"other codes or further cells.*\(C1\)"),
    ],
)
def test_a_heading_of_another_code_is_told(workbook, at, value, said):
    place = workbook("csv", "xlsx")
    forge_sheet(place, 1, at, value)
    with pytest.raises(TableError, match=said):
        verify_tables(place)


def test_a_workbook_with_other_sheets_or_none_is_told(workbook):
    place = workbook("csv", "xlsx")
    (place / "tables.xlsx").write_bytes(b"no workbook")
    seal(place, place / "tables.xlsx")
    with pytest.raises(TableError, match="cannot be read as an Excel workbook"):
        verify_tables(place)
    pl.DataFrame({"a": [1]}).write_excel(place / "tables.xlsx", worksheet="area-ill")
    seal(place, place / "tables.xlsx")
    with pytest.raises(TableError, match="other sheets than"):
        verify_tables(place)


def test_a_small_cell_that_is_shown_is_told(folder, people):
    place = folder(ILL, AGE)
    counts = (
        people.group_by("area", "ill")
        .agg(people=pl.col("who").n_unique())
        .filter(pl.col("people") < 4, pl.col("ill").is_not_null())
        .sort("area", "ill")
    )
    area, ill, few = counts.row(0)
    forge(place, "area-ill", {"area": area, "ill": ill}, few)
    text = f"Table area-ill: 1 cell is unsafe by its rules and shown: area = {area} and ill = {ill}."
    checked = check(place)
    assert checked.verdict.state == "broken"
    assert text in sentences(checked)


def test_a_sum_that_few_people_make_is_told(folder, people):
    rich = people.with_columns(
        cost=pl.when(pl.col("who") == pl.col("who").first()).then(10.0**6).otherwise("cost")
    )
    place = folder(COST, rows=rich)
    assert check(place).ok
    hidden = pl.read_csv(place / "out/cost.csv").filter(pl.col("mark") == "x")["area"].to_list()
    area = next(each for each in hidden if each in ("north", "south"))
    true = rich.filter(pl.col("area").is_in({"north": ["a", "b"], "south": ["c", "d", "e"]}[area]))
    forge(place, "cost", {"area": area}, true["cost"].sum())
    told = [text for text in sentences(check(place)) if "unsafe" in text]
    assert told == [f"Table cost: 1 cell is unsafe by its rules and shown: area = {area}."]


def test_a_table_that_was_left_out_or_made_otherwise_is_told(folder):
    place = folder(ILL, AGE)
    ic.Policy(
        schema(),
        tables=(
            ic.CountTable("area-ill", rows=["area"], columns=["ill"], threshold=6, zeros="hide"),
            ic.CountTable("ages", rows=["age:1"], columns=["ill"], threshold=4),
        ),
    ).write(place / "policy.toml", force=True)
    for raw in (True, False):
        text = sentences(check(place, raw=raw))
        assert "Table ages of the policy is not in the folder." in text
        assert "Table age-ill is in the folder, and the policy has none of this name." in text
        assert "Table area-ill is made by other rules than the policy's: threshold, zeros, width." in text


def test_a_raw_table_with_values_that_no_code_has_is_told_without_them(folder, people):
    place = folder(ic.CountTable("ills", rows=["ill"]))
    people.with_columns(ill=pl.lit("secret")).write_csv(place / "raw.csv")
    checked = check(place)
    assert sentences(checked) == ["Table ills: 1 distinct value(s) of ill have no code in it."]
    assert "secret" not in json.dumps(checked.to_dict())


@pytest.mark.slow
def test_without_a_policy_each_row_is_a_person(folder, people):
    alone = people.unique("who").drop("who")
    place = folder(ic.CountTable("t", rows=["age:1"], columns=["ill"]), rows=alone, person=None)
    assert check(place, policy=False).ok
    several = folder(ic.CountTable("t", rows=["age:1"], columns=["ill"]), to="several")
    [first, *_] = check(several, policy=False).verdict.points
    assert "not the count of the raw table" in first.text
    assert "name the policy" in first.way_out
    assert check(several).ok


def test_a_wrong_call_is_refused(folder):
    place = folder(ILL)
    pl.DataFrame({"area": ["a"]}).write_csv(place / "raw.csv")
    with pytest.raises(SchemaError, match=r"'ill'.*not in the file"):
        check(place)
    (place / "policy.toml").write_text('version = 1\ncolumns.area = { role = "quasi" }\n')
    with pytest.raises(PolicyError, match="names no tables"):
        check(place, raw=False)
    (place / "policy.toml").write_text(
        'version = 1\ncolumns.area = { role = "quasi" }\n[[tables]]\nname = "t"\nrow = ["area"]\n'
    )
    with pytest.raises(PolicyError, match="does not know 'row'"):
        check(place, raw=False)


def test_both_commands_print_the_same(folder, call, monkeypatch):
    place = folder(ILL)
    monkeypatch.chdir(place)
    forge(place, "area-ill", {"area": "Total", "ill": "flu"}, 1)
    arguments = ("out", "--against", "raw.csv", "--policy", "policy.toml")
    status, printed, errors = call(incrowd_main, *arguments)
    assert call(main, *arguments) == (status, printed, errors)
    assert status == 1
    assert "Table area-ill: 1 cell is not the count of the raw table" in printed


def test_a_policy_of_tables_checks_rows_too(tmp_path, people):
    table = people.with_row_index("number").drop("who", "cost", "age", "number")
    rows = ic.Schema(quasi={"area": ic.Hierarchy.from_nested(AREAS)}, sensitive=["ill"])
    why = [ic.Accepted("unprotected-sensitive", "ill", "a test")]
    policy = ic.Policy(rows, [ic.KAnonymity(2)], tables=[ILL], accepted=why)
    policy.write(tmp_path / "policy.toml")
    ic.anonymize(table, policy).table.write_csv(tmp_path / "rows.csv")
    checked = ic.verify(tmp_path / "rows.csv", tmp_path / "policy.toml")
    assert checked.verdict.state == "holds"


def relabel(place, label):
    """Write another label into the manifest."""
    manifest = json.loads((place / "tables.json").read_text())
    manifest["tables"] = [entry | {"label": label} for entry in manifest["tables"]]
    (place / "tables.json").write_text(json.dumps(manifest))


@pytest.mark.few(2)
@pytest.mark.parametrize("label", ["[c]", "..", "-", "c, d"])
def test_a_label_stands_in_place_of_suppressed_values(tmp_path, people, label):
    place = tmp_path / "out"
    release = ic.tabulate(
        people, ic.Policy(schema()), [ic.CountTable("area-ill", rows=["area"], columns=["ill"])]
    )
    release.save(place, kinds=["csv", "parquet", "xlsx"], label=label)
    [table] = release.tables
    assert pl.read_csv(place / "area-ill.csv")["people"].to_list().count(label) == table.hidden.sum() > 0
    assert pl.read_parquet(place / "area-ill.parquet")["people"].null_count() == table.hidden.sum()
    assert verify_tables(place).ok
    relabel(place, "[d]")
    with pytest.raises(TableError):
        verify_tables(place)
    relabel(place, "<5")
    with pytest.raises(TableError, match="may say no number"):
        verify_tables(place)


@pytest.mark.few(4)
@pytest.mark.parametrize("label", ["<5", "c5", "½", "nan", "-Inf", "", " c", "=A1", "a\nb", "c" * 21])
def test_a_label_that_says_a_number_or_breaks_a_file_is_refused(tmp_path, people, label):
    release = ic.tabulate(
        people, ic.Policy(schema()), [ic.CountTable("area-ill", rows=["area"], columns=["ill"])]
    )
    with pytest.raises(ParameterError, match=r"label: .* as '\[c\]'"):
        release.save(tmp_path / "out", label=label)
    assert not (tmp_path / "out").exists()
