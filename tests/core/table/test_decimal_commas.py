"""A column with `decimal = ","` is released with decimal commas, and every reader reads the cells back."""

from __future__ import annotations

import json
import sqlite3
from contextlib import closing

import numpy as np
import polars as pl
import pytest

import incrowd as ic
from database_tables import fetched, holding
from incrowd.core.reading.spellings import with_comma, without_comma

ROWS = 120
RANDOM = np.random.default_rng(3)
AGE, RATE, PAY = (
    RANDOM.integers(low, high, ROWS) / 10 for low, high in ((0, 190), (0, 60), (10_000, 99_999))
)


def comma(numbers) -> list[str]:
    return [f"{number:.1f}".replace(".", ",") for number in numbers]


RAW = pl.DataFrame({"alter": comma(AGE), "rate": comma(RATE), "pay": comma(PAY)})
# As a spelling is read: 1,0 is 1.
PLAIN = RAW.with_columns(pl.all().str.replace(r",0$", "").str.replace(",", ".", literal=True))
NUMBER = r"-?[0-9]+(,[0-9]+)?"
STYLES = {
    "ranges": ({"ends": "exact"}, rf"\[{NUMBER}-{NUMBER}\]|{NUMBER}"),
    "outward": ({"ends": "outward"}, rf"\[{NUMBER}-{NUMBER}\]|{NUMBER} or (more|less)|{NUMBER}"),
    "means": ({"output": "mean"}, NUMBER),
    "sets": ({"output": "set", "set_limit": 99}, rf"\{{{NUMBER}(; {NUMBER})+\}}|{NUMBER}"),
    "bins": ({"algorithm": "optimal", "tree": ic.Hierarchy.intervals(0.5, 1)}, rf"\[{NUMBER}; {NUMBER}\)|\*"),
    "masks": ({"algorithm": "optimal", "tree": ic.Hierarchy.prefix()}, r"[0-9]+,[0-9]|[0-9]+,?\*+|\*"),
}
styles = pytest.mark.parametrize("style", STYLES)


def policy(style: str, *, commas: bool = True) -> ic.Policy:
    settings = dict(STYLES[style][0])
    tree = settings.pop("tree", None)
    decimal = "," if commas else None
    numbered = {"kind": "number"} if not commas else {}
    quasi = [ic.Attribute("rate", "quasi", hierarchy=tree, decimal=decimal, **numbered)]
    if tree is None:
        quasi.insert(0, ic.Attribute("alter", "quasi", decimal=decimal, **numbered))
    pay = ic.Attribute("pay", "sensitive", decimal=decimal, **numbered)
    return ic.Policy(
        ic.Schema.of_attributes([*quasi, pay], unlisted="drop"),
        ["k-anonymity:3"],
        max_suppression=0.9,
        suppressed="keep",
        **settings,
    )


def opened(where: str, folder):
    if where == "memory":
        return RAW
    RAW.write_csv(folder / "raw.csv")
    if where == "stream":
        return ic.scan(folder / "raw.csv")
    with closing(sqlite3.connect(folder / "raw.db")) as con, con:
        con.execute("CREATE TABLE people (alter_ TEXT, rate TEXT, pay TEXT)")
        con.execute("ALTER TABLE people RENAME COLUMN alter_ TO 'alter'")
        con.executemany("INSERT INTO people VALUES (?, ?, ?)", RAW.rows())
    con.close()
    return ic.Database(f"sqlite:///{folder}/raw.db").table("people")


@pytest.mark.parametrize(
    "cell", ["*", None, "Köln", "cook, baker", "{a, b}", "2020-03-05", "20 to 29", "[20,29]"]
)
def test_other_texts_stay_as_they_are(cell):
    assert with_comma(cell) == cell
    assert cell is None or without_comma(cell) == cell


@pytest.mark.parametrize(
    ("plain", "written"),
    [
        ("1.6", "1,6"),
        ("-0.5", "-0,5"),
        ("1e-7", "1e-7"),
        ("[46.5-65.4]", "[46,5-65,4]"),
        ("[-4.5--1]", "[-4,5--1]"),
        ("[1.8, 1.9)", "[1,8; 1,9)"),
        ("[1, 2)", "[1; 2)"),
        ("{1.5, 2.5, <missing>}", "{1,5; 2,5; <missing>}"),
        ("{1, 2}", "{1; 2}"),
        ("4.7 or more", "4,7 or more"),
        ("46.*", "46,*"),
    ],
)
def test_cells_are_written_and_read_back(plain, written):
    assert with_comma(plain) == written
    assert without_comma(written) == plain
    assert without_comma(plain) == plain


@pytest.mark.few(1)
@pytest.mark.parametrize("where", ["memory", "stream", "sqlite"])
@styles
def test_a_release_has_one_decimal_sign_and_verifies(style, where, tmp_path):
    RAW.write_csv(tmp_path / "raw.csv")
    rules = policy(style)
    release = ic.anonymize(opened(where, tmp_path), rules)
    release.save(tmp_path / "out")
    file = tmp_path / "out/release.csv"
    table = pl.read_csv(file, infer_schema=False)
    for name in [each.name for each in rules.schema.quasi]:
        cells = table[name]
        assert cells.str.contains(f"^({STYLES[style][1]})$").all(), cells.to_list()
        assert cells.str.contains(",").any()
    assert table["pay"].str.contains(",").all()
    assert ic.assess(file, rules.schema, rules.models).holds
    plain = ic.anonymize(PLAIN, policy(style, commas=False))
    assert {name: lost.value for name, lost in release.utility.items()} == pytest.approx(
        {name: lost.value for name, lost in plain.utility.items()}
    )
    for policy_file in ("policy.toml", "internal/policy.toml"):
        placed = {} if where == "sqlite" else {"row_map": tmp_path / "out/internal/rows.parquet"}
        checked = ic.verify(file, tmp_path / "out" / policy_file, against=tmp_path / "raw.csv", **placed)
        assert checked.ok, checked
        assert not checked.problems


@pytest.mark.slow
@styles
def test_utility_and_attacks_read_the_cells(style):
    result = [
        (
            raw,
            ic.anonymize(raw, policy(style, commas=commas), keep_order=True).table,
            policy(style, commas=commas),
        )
        for raw, commas in ((RAW, True), (PLAIN, False))
    ]
    outcome = [
        (
            {
                name: lost.value
                for name, lost in ic.evaluate(raw, table, asked.schema, aligned=True).utility.items()
            },
            [each.to_dict() for each in ic.attack(raw, table, asked.schema, attacks=40)],
        )
        for raw, table, asked in result
    ]
    assert outcome[0] == outcome[1]


# A mean covers no value but itself.
@pytest.mark.few(1)
@pytest.mark.parametrize("style", [style for style in STYLES if style != "means"])
def test_the_next_batch_has_the_same_cells_and_is_judged_with_the_earlier_release(style, tmp_path):
    rules = policy(style)
    first = ic.anonymize(RAW, rules)
    first.recoding.save(tmp_path / "recoding")
    recoding = ic.Recoding.load(tmp_path / "recoding")
    assert [domain.commas for domain in recoding.domains] == [True] * len(recoding.domains)
    table = first.texts
    batch = ic.apply_recoding(recoding, RAW, rules, previous_release=table, max_suppression=1.0)
    quasi = [each.name for each in rules.schema.quasi]
    assert batch.texts.select(quasi).sort(quasi).equals(table.select(quasi).sort(quasi))
    # The cells of both are the same classes.
    assert batch.together.reached("k-anonymity") == 2 * first.privacy.reached("k-anonymity")


def test_a_recoding_without_commas_is_saved_as_before(tmp_path):
    ic.anonymize(PLAIN, policy("ranges", commas=False)).recoding.save(tmp_path / "recoding")
    document = json.loads((tmp_path / "recoding/recoding.json").read_text())
    assert all("decimal" not in attribute for attribute in document["attributes"])


def test_a_damaged_decimal_sign_is_refused(tmp_path):
    ic.anonymize(RAW, policy("ranges")).recoding.save(tmp_path / "recoding")
    file = tmp_path / "recoding/recoding.json"
    file.write_text(file.read_text().replace('"decimal": ","', '"decimal": ";"'))
    with pytest.raises(ic.TableError, match="decimal"):
        ic.Recoding.load(tmp_path / "recoding")


def test_classes_are_shown_as_they_are_written():
    release = ic.anonymize(RAW, policy("ranges"))
    cells = release.privacy.privacy[0].weakest.cells
    assert release.texts.filter(alter=cells["alter"], rate=cells["rate"]).height >= 3


def test_texts_of_a_hierarchy_that_names_values_stay():
    tree = ic.Hierarchy.from_paths(
        [[f"{n / 10:g}", "[low, 3.5]" if n < 35 else "high", "*"] for n in range(90)]
    )
    schema = ic.Schema.of_attributes(
        [ic.Attribute("rate", "quasi", decimal=",", hierarchy=tree)], unlisted="drop"
    )
    table = ic.anonymize(RAW, ic.Policy(schema, ["k-anonymity:20"], "optimal")).table
    assert set(table["rate"]) == {"[low, 3.5]", "high"}
    assert ic.assess(table, schema, ["k-anonymity:20"]).holds


def test_a_declared_category_stays():
    schema = ic.Schema.of_attributes(
        [ic.Attribute("rate", "quasi", decimal=",", kind="category")], unlisted="drop"
    )
    raw = pl.DataFrame({"rate": ["1,5", "2,5", "3", "4"] * 10})
    table = ic.anonymize(raw, ic.Policy(schema, ["k-anonymity:20"])).table
    assert any(", " in cell and "." in cell for cell in table["rate"])


def test_numbers_that_are_stored_as_such_keep_the_point():
    typed = PLAIN.with_columns(pl.all().cast(pl.Float64))
    table = ic.anonymize(typed, policy("ranges")).table
    assert not any("," in cell for cell in table["rate"])


def test_a_mean_that_reads_as_missing_is_refused():
    raw = pl.DataFrame({"rate": ["1", "2"] * 10, "pay": ["5"] * 20})
    schema = ic.Schema.of_attributes(
        [ic.Attribute("rate", "quasi", decimal=",")], null_values=["1,5"], unlisted="drop"
    )
    with pytest.raises(ic.SchemaError, match=r"'rate'.*null_values"):
        ic.anonymize(raw, ic.Policy(schema, ["k-anonymity:15"], output="mean"))


def test_a_database_gets_the_same_cells():
    rules = policy("ranges")
    here = ic.anonymize(RAW, rules).texts
    with holding("duckdb", RAW) as table:
        there = fetched(ic.anonymize(table, rules).table)
    assert sorted(there.rows()) == sorted(here.rows())
