"""Tables with names below titles, in UTF-16, and with line ends of old Macs."""

from __future__ import annotations

import gzip
import warnings

import polars as pl
import pytest
import xlsxwriter

import incrowd as ic
from incrowd.core.errors import TableError
from incrowd.core.io.files import CsvFormat, read_table
from incrowd.core.io.streams import scan

ROWS = [
    ["no", "age", "town", "ill"],
    *([f"n{row}", str(20 + row % 30), ["Rome", "Oslo"][row % 2], "ab"[row % 2]] for row in range(90)),
]
POLICY = """
version = 1
unlisted = "drop"
columns = { age = { role = "quasi" }, town = { role = "quasi" }, ill = { role = "sensitive" } }
[[models]]
model = "k-anonymity"
k = 3
"""
TITLES = {
    "a title": [["Staff 2026, confidential"]],
    "a title with delimiters": [["Staff 2026", "", "", ""]],
    "a title, a blank line and groups": [["Staff 2026"], [], ["", "Person", "", ""]],
    "a title in quotes": [['a "title"', "", "", ""]],
}


def csv_of(rows, mark=","):
    quoted = lambda cell: '"' + cell.replace('"', '""') + '"' if set(cell) & set('",;') else cell  # noqa: E731
    return "".join(mark.join(map(quoted, row)) + "\n" for row in rows)


def workbook(path, titles, *, merge=True):
    book = xlsxwriter.Workbook(path)
    sheet = book.add_worksheet("Export")
    for row, cells in enumerate([*titles, *ROWS]):
        for place, cell in enumerate(cells):
            if cell.isdigit():
                sheet.write_number(row, place, int(cell))
            elif cell:
                sheet.write_string(row, place, cell)
    if merge:
        sheet.merge_range(0, 0, 0, 3, titles[0][0])
    book.close()
    return path


def released(run, folder, raw, *options):
    """Anonymize a raw table, verify the release against the raw table, and return the warnings."""
    (folder / "policy.toml").write_text(POLICY)
    policy, out = str(folder / "policy.toml"), str(folder / "out.csv")
    with warnings.catch_warnings(record=True) as said:
        warnings.simplefilter("always")
        result = run("anonymize", str(raw), "--policy", policy, "-o", out, *options)
    assert result.status == 0, result.err
    assert read_table(out)[0].columns == ["age", "town", "ill"]
    row = options[options.index("--header-row") :][:2] if "--header-row" in options else ()
    checked = run("verify", out, "--policy", policy, "--against", str(raw), *row)
    assert checked.status == 0, checked.out + checked.err
    assert "90 records" in checked.out
    return "".join(str(each.message) for each in said)


@pytest.mark.few(1)
@pytest.mark.parametrize("stream", [[], ["--stream"]], ids=["whole", "stream"])
@pytest.mark.parametrize("mark", [",", ";", "\t"])
@pytest.mark.parametrize("titles", TITLES.values(), ids=TITLES)
def test_names_below_titles_of_a_csv_are_found_and_said(run, tmp_path, titles, mark, stream):
    raw = tmp_path / "raw.csv"
    raw.write_text(csv_of([*titles, *ROWS], mark))
    said = released(run, tmp_path, raw, *stream)
    assert f"raw.csv: line {len(titles) + 1} is taken as the header; --header-row says otherwise" in said
    with pytest.warns(UserWarning, match=r"taken as the header; CsvFormat\(header_row=...\) says otherwise"):
        assert read_table(raw)[0].rows() == [tuple(row) for row in ROWS[1:]]
    with pytest.warns(UserWarning, match="taken as the header"):
        assert scan(raw).frame.collect().rows() == [tuple(row) for row in ROWS[1:]]


@pytest.mark.parametrize("titles", [TITLES["a title"], TITLES["a title, a blank line and groups"]])
def test_names_below_titles_of_a_workbook_are_found_and_said(run, tmp_path, titles):
    raw = workbook(tmp_path / "raw.xlsx", titles)
    said = released(run, tmp_path, raw)
    assert f"row {len(titles) + 1} is taken as the header; --header-row says otherwise" in said


def test_names_below_empty_rows_of_a_workbook_are_found(run, tmp_path):
    raw = workbook(tmp_path / "raw.xlsx", [[], []], merge=False)
    assert "row 3 is taken as the header" in released(run, tmp_path, raw)


WORDS = [
    ["no", "age", "town", "ill"],
    *([f"n{row}", f"a{row % 3}", "Rome", "ab"[row % 2]] for row in range(90)),
]


@pytest.mark.few(1)
@pytest.mark.parametrize("stream", [[], ["--stream"]], ids=["whole", "stream"])
def test_where_it_is_not_clear_the_way_out_is_named(run, tmp_path, stream):
    raw = tmp_path / "raw.csv"
    raw.write_text(csv_of([["Staff"], ["on", "paper"], *WORDS]))
    (tmp_path / "policy.toml").write_text(POLICY)
    refused = run("anonymize", str(raw), "--policy", str(tmp_path / "policy.toml"), "-o", "x.csv", *stream)
    assert refused.status == 2
    assert "say which line names the columns (--header-row)" in refused.err
    assert "Staff" not in refused.err
    assert not released(run, tmp_path, raw, "--header-row", "3", *stream)


def test_a_row_of_a_workbook_is_named(run, tmp_path):
    titles = [["Staff", "of", "all", "towns"], ["", "", "", "x"]]
    raw = workbook(tmp_path / "raw.xlsx", titles, merge=False)
    assert not released(run, tmp_path, raw, "--header-row", "3")


@pytest.mark.parametrize("content", [csv_of(ROWS), csv_of([["", *ROWS[0][1:]], *ROWS[1:]]), csv_of(WORDS)])
def test_a_table_without_titles_is_read_as_ever(tmp_path, content):
    (tmp_path / "raw.csv").write_text(content)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert read_table(tmp_path / "raw.csv")[0].height == 90


def test_rows_that_are_not_there_are_refused(run, tmp_path):
    (tmp_path / "raw.csv").write_text(csv_of(ROWS))
    raw = workbook(tmp_path / "raw.xlsx", TITLES["a title"])
    for path in (tmp_path / "raw.csv", raw):
        refused = run("init", str(path), "--header-row", "500")
        assert refused.status == 2
        assert "internal" not in refused.err


def test_a_kind_without_rows_of_names_refuses_one(run, tmp_path):
    pl.DataFrame({"a": [1]}).write_parquet(tmp_path / "raw.parquet")
    pl.DataFrame({"a": [1]}).write_ndjson(tmp_path / "raw.jsonl")
    with pytest.raises(TableError, match="is one of a CSV or a workbook"):
        scan(tmp_path / "raw.parquet", CsvFormat(header_row=2))
    for name in ("raw.parquet", "raw.jsonl"):
        refused = run("init", str(tmp_path / name), "--header-row", "2")
        assert refused.status == 2
        assert "a row of names (--header-row) is one of a CSV or a workbook" in refused.err


def test_names_and_a_row_of_names_are_not_both_given():
    with pytest.raises(TableError, match="leave one out"):
        CsvFormat(names=("a",), header_row=2)
    with pytest.raises(ic.ParameterError, match="header_row"):
        CsvFormat(header_row=0)


ENCODED = {
    "UTF-16 with a mark": lambda text: text.encode("utf-16"),
    "UTF-16, low bytes first": lambda text: text.encode("utf-16-le"),
    "UTF-16, high bytes first": lambda text: text.encode("utf-16-be"),
    "carriage returns alone": lambda text: text.replace("\n", "\r").encode(),
    "carriage returns in UTF-16": lambda text: text.replace("\n", "\r").encode("utf-16"),
    "carriage returns below a title": lambda text: ("Staff 2026\n" + text).replace("\n", "\r").encode(),
    "carriage returns and line feeds": lambda text: text.replace("\n", "\r\n").encode(),
    "a mark of UTF-8": lambda text: text.encode("utf-8-sig"),
}


@pytest.mark.few(2)
@pytest.mark.parametrize("zipped", [False, True], ids=["plain", "gzip"])
@pytest.mark.parametrize("stream", [[], ["--stream"]], ids=["whole", "stream"])
@pytest.mark.parametrize("how", ENCODED)
def test_files_in_other_forms_are_read(run, tmp_path, how, stream, zipped):
    content = ENCODED[how](csv_of(ROWS).replace("Oslo", "Ålesund"))
    raw = tmp_path / ("raw.csv.gz" if zipped else "raw.csv")
    raw.write_bytes(gzip.compress(content) if zipped else content)
    said = released(run, tmp_path, raw, *stream)
    assert bool(said) == ("title" in how)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        assert set(read_table(raw)[0]["town"]) == {"Rome", "Ålesund"}
    assert "Ålesund".encode() in (tmp_path / "out.csv").read_bytes()
