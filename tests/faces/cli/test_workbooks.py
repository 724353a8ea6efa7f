"""Excel workbooks: cells of every type, the sheet that is read, and workbooks that are no table."""

from __future__ import annotations

import datetime as dt
import tempfile
import zipfile
from pathlib import Path

import polars as pl
import pytest
import xlsxwriter

import incrowd as ic
from incrowd.core.errors import TableError
from incrowd.core.io.files import CsvFormat, read_table, write_table
from incrowd.core.io.kinds import files as kind_files
from incrowd_gate.errors import TableError as VerifiedError
from incrowd_verify.other_kinds import as_parquet

SCHEMA = ic.Schema(quasi=["age"], unlisted="keep")
DAY, TIME = dt.date(2024, 2, 29), dt.datetime(2024, 2, 29, 10, 20, 30)
ROWS = [
    ["age", "zip", "born", "seen", "at", "yes", "share", "mixed", "empty"],
    [30, "007", DAY, TIME, dt.time(3, 4), True, 0.1, 1, None],
    [31, " é ", None, None, None, None, None, None, None],
    [32, "", dt.date(1990, 5, 5), dt.datetime(1990, 5, 5), dt.time(13, 4, 5), False, 1e-7, "x", None],
    [33, "=1+1", DAY, TIME, dt.time(0, 0), True, 123456.75, 2.5, None],
]


def workbook(path, rows=ROWS, sheet="people", *, at=(0, 0), also=(), then=None):
    """Write a workbook with xlsxwriter, as other programs would."""
    book = xlsxwriter.Workbook(path)
    shown = {dt.date: "dd/mm/yyyy", dt.datetime: "yyyy-mm-dd hh:mm", dt.time: "hh:mm"}
    formats = {kind: book.add_format({"num_format": text}) for kind, text in shown.items()}
    book.set_properties({"author": "Zoraide", "comments": "Quetzal", "title": "Quetzal"})
    for name, cells in ((sheet, rows), *also):
        page = book.add_worksheet(name)
        for row, values in enumerate(cells, at[0]):
            for place, value in enumerate(values, at[1]):
                if type(value) in formats:
                    page.write_datetime(row, place, value, formats[type(value)])
                elif isinstance(value, str):
                    page.write_string(row, place, value)
                elif value is not None:
                    page.write(row, place, value)
        if then is not None:
            then(book, page)
    book.close()
    return path


@pytest.fixture
def run_command(run):
    return lambda *words: run(*map(str, words))


def as_texts(table: pl.DataFrame) -> dict[str, list[str | None]]:
    return {name: kind_files._texts(table[name]).to_list() for name in table.columns}


def test_cells_are_read_with_their_types(tmp_path):
    table, csv_format = read_table(workbook(tmp_path / "a.xlsx"))
    assert table.schema == {
        "age": pl.Int64, "zip": pl.String, "born": pl.Date, "seen": pl.Datetime("ms"), "at": pl.Time,
        "yes": pl.Boolean, "share": pl.Float64, "mixed": pl.String, "empty": pl.String,
    }  # fmt: skip
    for place, name in enumerate(ROWS[0][:-2]):
        assert table[name].to_list() == [row[place] for row in ROWS[1:]], name
    assert table["mixed"].to_list() == ["1", None, "x", "2.5"]
    assert csv_format.kept.sheet == "people"


def test_the_verifier_reads_what_the_engine_reads(tmp_path):
    """The verifier reads the archive's XML without a library, and the engine uses calamine."""
    path = workbook(tmp_path / "a.xlsx")
    theirs, ours = pl.read_parquet(as_parquet(path, tmp_path)), read_table(path)[0]
    assert as_texts(theirs) == as_texts(ours)


def test_cells_merged_down_a_column_have_the_value_of_the_first_if_that_is_said(tmp_path, run_command):
    """A workbook of a ward, where the town stands once for several people; verified against itself, too."""
    rows = [
        ["town", "age"],
        *([town if not place else None, 30 + place % 2] for town in "ab" for place in range(6)),
    ]

    def towns(book, page):
        page.merge_range("A2:A7", "a")
        page.merge_range("A8:A13", "b")

    path = workbook(tmp_path / "a.xlsx", rows, then=towns)
    with pytest.raises(TableError, match=r"the cells A2:A7 are merged.*fill_merged=True"):
        read_table(path)
    filled = read_table(path, CsvFormat(fill_merged=True))[0]
    assert filled["town"].to_list() == [*"aaaaaabbbbbb"]
    assert filled["age"].to_list() == [30, 31] * 6
    words = ["anonymize", path, "--qi", "town,age", "-k", "3", "-o", tmp_path / "out.xlsx", "--save-policy"]
    assert run_command(*words, tmp_path / "p.toml").status == 2
    assert run_command(*words, tmp_path / "p.toml", "--fill-merged").status == 0
    check = ["verify", tmp_path / "out.xlsx", "--policy", tmp_path / "p.toml", "--against", path]
    assert run_command(*check).status == 1
    result = run_command(*check, "--fill-merged")
    assert result.status == 0, result.err


def test_merged_cells_of_an_odd_workbook_are_refused_in_a_sentence(tmp_path):
    """The sheet is named in other letters, and programs on Windows find the sheet all the same."""
    path = workbook(tmp_path / "a.xlsx")
    with zipfile.ZipFile(path) as book:
        parts = {name: book.read(name) for name in book.namelist()}
    with zipfile.ZipFile(path, "w") as book:
        for name, data in parts.items():
            book.writestr(name, data.replace(b"worksheets/sheet1.xml", b"Worksheets/Sheet1.xml"))
    assert as_parquet(path, tmp_path) is not None
    with pytest.raises(VerifiedError, match=r"a\.xlsx: its merged cells cannot be read"):
        as_parquet(path, tmp_path, fill_merged=True)


def test_cells_merged_across_columns_are_refused_all_the_same(tmp_path):
    path = workbook(tmp_path / "a.xlsx", then=merged)
    with pytest.raises(TableError, match=r"the cells B6:C6 are merged; split them"):
        read_table(path, CsvFormat(fill_merged=True))


@pytest.mark.parametrize("name", ["a.csv", "a.parquet", "a.jsonl"])
def test_files_without_merged_cells_refuse_the_setting(tmp_path, name):
    table = pl.DataFrame({"a": ["x", "y"]})
    write_table(table, tmp_path / name, tmp_path / name, CsvFormat())
    with pytest.raises(TableError, match="merged cells"):
        read_table(tmp_path / name, CsvFormat(fill_merged=True))


def test_names_may_be_numbers(tmp_path):
    path = workbook(tmp_path / "a.xlsx", [["town", 2023, 2024.5], ["Lund", 1, 2]])
    assert read_table(path)[0].columns == ["town", "2023", "2024.5"]
    assert pl.read_parquet(as_parquet(path, tmp_path)).columns == ["town", "2023", "2024.5"]


def test_a_table_leaves_as_it_came_in_a_sheet_of_the_same_name(tmp_path):
    table, csv_format = read_table(workbook(tmp_path / "a.xlsx"))
    out = tmp_path / "b.xlsx"
    write_table(table, out, out, csv_format)
    assert read_table(out, CsvFormat(sheet="people"))[0].equals(table)
    assert as_texts(pl.read_parquet(as_parquet(out, tmp_path))) == as_texts(table)


def test_a_column_of_numbers_stays_one_where_all_are(tmp_path):
    table, csv_format = read_table(workbook(tmp_path / "a.xlsx"))
    out = tmp_path / "b.xlsx"
    for cells, dtype in ((["30", None, "32.5", "-1"], pl.Float64), (["30", "*", "[31-32]", None], pl.String)):
        rows = table.with_columns(age=pl.Series(cells), born=pl.Series(["2020-01-01", None, None, None]))
        write_table(rows, out, out, csv_format)
        frame = read_table(out)[0]
        assert (frame["age"].dtype, frame["born"].dtype) == (dtype, pl.Date)
        assert as_texts(frame)["age"] == cells


def test_numbers_have_sixteen_digits_and_early_days_are_texts(tmp_path):
    out = tmp_path / "a.xlsx"
    table = pl.DataFrame({"x": [0.1 + 0.2, 2 / 3], "day": [dt.date(1899, 1, 1), DAY]})
    write_table(table, out, out, CsvFormat())
    assert read_table(out)[0].rows() == [(0.3, "1899-01-01"), (0.6666666666666666, "2024-02-29")]


def test_texts_leave_as_texts_whatever_they_look_like(tmp_path):
    """No formula, no link, no number is made of a text."""
    odd = [
        "=1+1",
        "{=A1}",
        "https://example.org",
        "007",
        "1e5",
        "TRUE",
        "_x0041_",
        "a\nb\tc",
        "😀",
        " ",
        "'x",
        "+1",
    ]
    out = tmp_path / "a.xlsx"
    write_table(pl.DataFrame({"t": odd}), out, out, CsvFormat(escaped=True))
    assert read_table(out)[0]["t"].to_list() == odd
    assert pl.read_parquet(as_parquet(out, tmp_path))["t"].to_list() == odd
    assert b"<f>" not in zipfile.ZipFile(out).read("xl/worksheets/sheet1.xml")
    assert not [name for name in zipfile.ZipFile(out).namelist() if "_rels/sheet" in name]


def test_nothing_beside_the_cells_leaves(tmp_path, monkeypatch):
    comment = lambda book, page: page.write_comment("A2", "Quetzal")  # noqa: E731
    path = workbook(tmp_path / "a.xlsx", also=[("Wing", [["Quetzal"], [1]])], then=comment)
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path / "none"))
    release = ic.anonymize(path, SCHEMA, "k-anonymity:2", csv_format=CsvFormat(sheet="people"))
    release.write(tmp_path / "b.xlsx")
    with zipfile.ZipFile(tmp_path / "b.xlsx") as archive:
        parts = {name: archive.read(name) for name in archive.namelist()}
        assert {each.date_time[0] for each in archive.infolist()} == {1980}
    for secret in (b"Zoraide", b"Quetzal", b"Wing"):
        assert [name for name, held in parts.items() if secret in held] == []
    assert b"1980-01-01" in parts["docProps/core.xml"]
    assert b"202" not in parts["docProps/core.xml"].replace(b"2024", b"").replace(b"2006", b"")


def test_rows_without_a_value_are_passed_over(tmp_path):
    book = workbook(tmp_path / "a.xlsx", [["a", "b"], [1, 2], [None, None], [None, 3], [None, None]])
    assert read_table(book)[0].rows() == [(1, 2), (None, 3)]


# --- sheets ------------------------------------------------------------------------------------------

TWO = [("Other", [["age"], [1]])]


def test_the_sheet_is_chosen(tmp_path, run_command):
    path = workbook(tmp_path / "a.xlsx", also=TWO)
    assert read_table(path, CsvFormat(sheet="Other"))[0].rows() == [(1,)]
    result = run_command("assess", path, "--qi", "age", "--sheet", "people", "-k", "1")
    assert (result.status, " 4 " in result.out) == (0, True), result.out
    result = run_command("assess", path, "--qi", "age")
    assert (
        result.status,
        "has several sheets, 'people', 'Other'; choose one with --sheet" in result.err,
    ) == (
        2,
        True,
    )
    result = run_command("assess", path, "--qi", "age", "--sheet", "Peple")
    assert (result.status, "there is no sheet 'Peple'; it has 'people', 'Other'" in result.err) == (2, True)


def test_the_verifier_reads_the_sheet(tmp_path, run_command):
    path = workbook(tmp_path / "a.xlsx", also=TWO)
    (tmp_path / "policy.toml").write_text(
        "version = 1\n[[models]]\nmodel = 'k-anonymity'\nk = 2\n[columns.age]\nrole = 'quasi'\n"
    )
    out = tmp_path / "out.xlsx"
    result = run_command(
        "anonymize", path, "--sheet", "people", "--qi", "age", "-k", "2", "--unlisted", "drop", "-o", out
    )
    assert result.status == 0, result.err
    call = ("verify", out, "--policy", tmp_path / "policy.toml", "--against", path)
    result = run_command(*call)
    assert (
        result.status,
        "there are 2 sheets with cells, and not one; choose one with --sheet" in result.err,
    ) == (2, True)
    assert run_command(*call, "--sheet", "people").status == 0
    result = run_command(*call, "--sheet", "Peple")
    assert (result.status, "0 sheets of the name 'Peple'" in result.err) == (2, True)


def test_empty_sheets_and_charts_are_passed_over(tmp_path):
    path = workbook(tmp_path / "a.xlsx", also=[("Sheet2", []), ("Sheet3", [])], then=lambda book, _: None)
    assert read_table(path)[0].height == 4
    with pytest.raises(TableError, match="the sheet is empty"):
        read_table(path, CsvFormat(sheet="Sheet2"))


def test_a_sheet_is_for_workbooks(tmp_path, run_command):
    (tmp_path / "a.csv").write_text("age\n1\n")
    pl.DataFrame({"age": [1]}).write_ndjson(tmp_path / "a.jsonl")
    for call in (["a.csv"], ["a.jsonl"], ["a.csv", "--stream"]):
        result = run_command("assess", tmp_path / call[0], *call[1:], "--qi", "age", "--sheet", "x")
        assert (result.status, "a sheet (--sheet) is one of an Excel workbook" in result.err) == (2, True)


# --- workbooks that are no table ---------------------------------------------------------------------


def merged(book, page):
    page.merge_range("B6:C6", "x")


def formula(book, page):
    page.write_formula("C6", "=SUM(A2:A5)", None, 126)


def error(book, page):
    page.write_formula("C6", "=1/0", None, "#DIV/0!")


def add_part(path, name, content, change=None):
    """Put a part into a workbook, or change a part."""
    with zipfile.ZipFile(path) as archive:
        parts = {each: archive.read(each) for each in archive.namelist()}
    parts[name] = content if change is None else change(parts[name])
    with zipfile.ZipFile(path, "w") as archive:
        for each, held in parts.items():
            archive.writestr(each, held)
    return path


def macros(path):
    add_part(path, "xl/vbaProject.bin", b"\xd0\xcf")


def entities(path):
    declared = b'<!DOCTYPE w [<!ENTITY a "aaaa">]><worksheet'
    add_part(path, "xl/worksheets/sheet1.xml", b"", lambda held: held.replace(b"<worksheet", declared))


def without_formula(path):
    bare = lambda held: held.replace(b"<f>1/0</f>", b"")  # noqa: E731
    add_part(path, "xl/worksheets/sheet1.xml", b"", bare)


BAD = {
    "merged cells": ({"then": merged}, None, "sheet 'people': the cells B6:C6 are merged; split them"),
    "formula": (
        {"then": formula},
        None,
        "sheet 'people': cell C6 is a formula; copy the sheet and paste its",
    ),
    "error": ({"then": error}, without_formula, "sheet 'people': cell C6 is an error such as #N/A"),
    "macros": ({}, macros, "the workbook has macros, which are not run here; save it as .xlsx without them"),
    "swollen": ({}, entities, "not a readable workbook"),
    "two header rows": (
        {"rows": [["age", "zip"], ["years", "code"], [30, "a"], [31, "b"], [32, "c"]]},
        None,
        "sheet 'people': row 2 looks like a second row of names",
    ),
    "title above": ({"rows": [["People"], ["age", "zip"], ["x", "a"]]}, None, "column 2 has no name"),
    "hole in the header": ({"rows": [["a", None, "b"], [1, 2, 3]]}, None, "column 2 has no name"),
    "same names": ({"rows": [["a", "b", "a"], [1, 2, 3]]}, None, "columns 1 and 3 have the same name"),
    "elsewhere": ({"at": (2, 1)}, None, "the table begins in B3 and not in column A"),
    "only a header": ({"rows": [["a", "b"]]}, None, "the table has no rows"),
    "nothing": ({"rows": []}, None, "its sheets are empty"),
}


@pytest.mark.parametrize("bad", BAD)
def test_a_workbook_that_is_no_table_is_told_and_nothing_is_written(tmp_path, run_command, bad):
    settings, change, told = BAD[bad]
    path = workbook(tmp_path / "a.xlsx", **settings)
    if change is not None:
        change(path)
    result = run_command("anonymize", path, "--qi", "age", "-k", "2", "-o", tmp_path / "out.xlsx")
    assert (result.status, result.err.startswith(f"incrowd: {path}"), told in result.err) == (
        2,
        True,
        True,
    ), result
    assert [each.name for each in tmp_path.iterdir()] == ["a.xlsx"]


@pytest.mark.parametrize(
    ("name", "content", "told"),
    [
        (
            "a.xlsx",
            b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1" + bytes(99),
            "an old workbook, or one with a password",
        ),
        ("a.xlsx", b"PK\x03\x04" + bytes(99), "not a readable workbook"),
        ("a.xlsx", b"age\n1\n", "not a readable workbook"),
        ("a.xlsm", b"PK\x03\x04" + bytes(99), "save the table as .xlsx (without macros), .csv or .parquet"),
        (
            "a.xls",
            b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1" + bytes(99),
            "save the table as .xlsx (without macros)",
        ),
    ],
)
def test_other_workbooks_are_named(tmp_path, run_command, name, content, told):
    (tmp_path / name).write_bytes(content)
    result = run_command("assess", tmp_path / name, "--qi", "age")
    assert (result.status, told in result.err) == (2, True), result.err


def test_a_release_is_not_written_under_the_name_of_a_workbook_with_macros(tmp_path, run_command):
    path = workbook(tmp_path / "a.xlsx")
    result = run_command("anonymize", path, "--qi", "age", "-k", "2", "-o", tmp_path / "out.xlsm")
    assert (result.status, "that of an Excel workbook with macros" in result.err) == (2, True)


@pytest.mark.parametrize("table", [pl.DataFrame({"t": ["x" * 32_768]}), pl.DataFrame({"n": [2**60 + 1]})])
def test_what_a_cell_cannot_hold_is_not_written(tmp_path, table):
    out = tmp_path / "a.xlsx"
    with pytest.raises(TableError, match="does not read back the same, so nothing is kept"):
        write_table(table, out, out, CsvFormat())


def test_a_sheet_that_is_full_is_told(tmp_path, monkeypatch):
    monkeypatch.setattr("incrowd.core.io.kinds.excel._ROWS", 5)
    out = tmp_path / "a.xlsx"
    with pytest.raises(TableError, match=r"a sheet has 5 rows and 16,384 columns at most; write \.parquet"):
        write_table(pl.DataFrame({"n": range(5)}), out, out, CsvFormat())
    write_table(pl.DataFrame({"n": range(4)}), out, out, CsvFormat())
    assert Path(out).exists()


def test_a_row_without_a_value_is_not_written(tmp_path):
    out = tmp_path / "a.xlsx"
    with pytest.raises(TableError, match="a row has no value at all"):
        write_table(pl.DataFrame({"n": [1.5, float("nan")], "t": ["a", None]}), out, out, CsvFormat())
