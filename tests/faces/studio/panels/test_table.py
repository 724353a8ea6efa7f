"""The panel Table: files that are not plain, files that come again, and a policy to begin from."""

from __future__ import annotations

import gzip
import shlex
import subprocess
import sys
import zipfile

import polars as pl
import pytest

from incrowd.core.errors import PolicyError
from incrowd.core.io.files import CsvFormat
from incrowd.faces.studio import export
from incrowd.faces.studio.cancelling import Watched
from incrowd.faces.studio.tables import guessed
from incrowd.faces.studio.work import Source, Work
from incrowd.samples import hospital, hospital_policy
from spark_session import SOURCES
from studio_browser import Visit

NAMES = ("Søren", "Zoë", "André", "Ólöf")
POLICY = """version = 1
models = [{ model = "k-anonymity", k = 7 }]
columns.age = { role = "quasi" }
columns.name = { role = "identifying" }
"""


def people(rows: int = 40) -> str:
    return "name,age\n" + "".join(f"{NAMES[row % 4]},{20 + row % 5}\n" for row in range(rows))


def types(visit: Visit) -> dict[str, str]:
    """Return the type of each column, as on the panel."""
    visit.go("Table")
    visit.wait("[aria-label=Columns] tbody tr")
    cells = [row.find_elements("css selector", "td") for row in visit.all("[aria-label=Columns] tbody tr")]
    return {name.text: kind.text for name, kind, *_ in cells}


@pytest.fixture
def window():
    work = Work()
    yield work
    work.close()


# --- encodings ------------------------------------------------------------------------------------


def test_a_latin_1_file_is_opened_by_yes_and_the_next_file_is_read_plainly(visit, tmp_path, studio):
    (tmp_path / "latin.csv").write_bytes(people().encode("latin-1"))
    (tmp_path / "plain.csv").write_text(people(), encoding="utf-8")
    visit.drop(tmp_path / "latin.csv")
    question = visit.wait("[data-mark=question]").text
    assert question == "latin.csv is not UTF-8. Read it as Western European (windows-1252)?"
    assert visit.wait("[data-mark=lines]").text.splitlines() == ["Søren,20", "Zoë,21", "André,22"]
    visit.mark("yes")
    visit.reads("40 rows, 2 columns")
    visit.reads("Søren")
    visit.go("Table")
    visit.drop(tmp_path / "plain.csv")
    visit.until(lambda: "plain.csv" in visit.wait("header").text, "the next file")
    visit.reads("Søren")
    assert studio.errors.read_text() == ""


def test_after_a_wrong_encoding_the_file_is_read_again_in_the_right_one(visit, tmp_path, studio):
    (tmp_path / "greek.csv").write_bytes(people().replace("Søren", "Σοφία").encode("cp1253", "ignore"))
    visit.drop(tmp_path / "greek.csv")
    visit.mark("yes")
    visit.reads("40 rows, 2 columns")
    visit.reads("Óïößá")
    visit.go("Table")
    visit.click(".q-expansion-item:has([data-field=encoding]) .q-item")
    visit.choose("[data-field=encoding]", "Greek")
    visit.mark("read-again")
    visit.reads("Σοφία")
    assert studio.errors.read_text() == ""


def test_another_encoding_than_the_guessed_one_is_chosen(visit, tmp_path):
    (tmp_path / "town.csv").write_bytes(people().replace("Søren", "Łódź").encode("cp1250", "ignore"))
    visit.drop(tmp_path / "town.csv")
    visit.mark("another")
    visit.choose("[data-field=encoding]", "Central European")
    visit.mark("read-again")
    visit.reads("40 rows, 2 columns")
    visit.reads("Łódź")


@pytest.mark.slow
def test_a_utf_16_file_is_opened_and_its_command_makes_the_same_release(visit, tmp_path, studio):
    rows = people().replace("name,", "town,")
    (tmp_path / "people.csv").write_bytes(rows.encode("utf-16"))
    visit.fill("[data-field=path]", str(tmp_path / "people.csv"))
    visit.mark("open")
    # Its first bytes tell, so nobody is asked.
    visit.reads("40 rows, 2 columns")
    visit.hand_over()
    command = visit.wait("[data-mark=command]").text
    (tmp_path / "policy.toml").write_bytes(visit.take("get-policy", "policy.toml").read_bytes())
    released = visit.take("get-release", "release.csv").read_text(encoding="utf-8")
    process = subprocess.run(
        [sys.executable, "-m", *shlex.split(command)],
        cwd=tmp_path,
        env={"PYTHONPATH": SOURCES, "HOME": "/"},
        capture_output=True,
        text=True,
        check=False,
    )
    assert process.returncode == 0, process.stderr
    again = (tmp_path / "release.csv").read_text(encoding="utf-8")
    assert sorted(again.splitlines()) == sorted(released.splitlines())
    assert studio.errors.read_text() == ""


@pytest.mark.parametrize(
    ("text", "codec", "found"),
    [
        ("a,b\nø,1\n", "cp1252", "cp1252"),
        ("a,b\nø,1", "latin-1", "cp1252"),
        ("a,b\n1,2\n", "utf-16", "utf-16"),
        # A byte of the comma is none of windows-1252.
        ("a,b\nパン、,2\n", "cp932", "cp932"),
    ],
)
def test_an_encoding_is_guessed(tmp_path, text, codec, found):
    plain, packed = tmp_path / "t.csv", tmp_path / "packed.csv"
    plain.write_bytes(text.encode(codec))
    packed.write_bytes(gzip.compress(text.encode(codec)))
    for path in (plain, packed):
        encoding, lines = guessed(path, "utf-8")
        assert encoding == found
        assert lines[0] == next((line for line in text.splitlines() if not line.isascii()), "a,b")


def test_no_encoding_is_guessed_of_what_is_no_text(tmp_path):
    (tmp_path / "t.csv").write_bytes(b"\x89PNG\r\n\x1a\n\0\0\0\rIHDR")
    assert guessed(tmp_path / "t.csv", "utf-8") is None


# --- files that come again ------------------------------------------------------------------------


def test_the_same_file_is_dropped_twice_and_a_failed_one_once_it_is_mended(visit, tmp_path, studio):
    path = tmp_path / "people.csv"
    path.write_text("name,age\nZoe,20,1\n")
    visit.drop(path)
    visit.reads("people.csv, line 2")
    # The field for the next try is open, and the list of files is empty.
    visit.wait("[data-mark=read-again]")
    path.write_text(people())
    visit.drop(path)
    visit.reads("40 rows, 2 columns")
    path.write_text(people(60))
    visit.go("Table")
    visit.drop(path)
    visit.reads("60 rows, 2 columns")
    assert studio.errors.read_text() == ""


def test_another_delimiter_is_read_again_from_the_open_file(visit, tmp_path):
    (tmp_path / "people.csv").write_text("a;b,c\n" + "1;2,3\n" * 20)
    visit.fill("[data-field=path]", str(tmp_path / "people.csv"))
    visit.mark("open")
    visit.reads("20 rows, 2 columns")
    visit.go("Table")
    visit.click(".q-expansion-item:has([data-field=delimiter]) .q-item")
    visit.fill("[data-field=delimiter]", ";")
    visit.mark("read-again")
    visit.until(lambda: "b,c" in types(visit), "the other columns")
    visit.click(".q-expansion-item:has([data-field=delimiter]) .q-item")
    visit.fill("[data-field=delimiter]", "xyz")
    visit.mark("read-again")
    visit.reads("is not one ASCII character")
    assert "b,c" in types(visit)


def test_columns_of_a_file_without_a_header_are_named(visit, tmp_path, studio):
    path = tmp_path / "people.csv"
    path.write_text(people().partition("\n")[2])
    visit.drop(path)
    visit.reads("name the columns with the field Names of the columns")
    assert "CsvFormat" not in visit.text()
    visit.fill("[data-field=names]", "name, age")
    visit.mark("read-again")
    visit.reads("40 rows, 2 columns")
    assert types(visit) == {"name": "text", "age": "number"}
    assert studio.errors.read_text() == ""


def test_the_names_are_part_of_the_command_and_the_script(window, tmp_path):
    path = tmp_path / "people.csv"
    path.write_text("30,m\n31,f\n" * 20)
    window.open(Source(path, "people.csv"), CsvFormat(names=("age", "sex")))
    window.anonymize(Watched())
    assert export.command(window).endswith(" --output release.csv --names age,sex")
    assert "csv_format = ic.CsvFormat(names=('age', 'sex'))" in export.script(window)


@pytest.mark.slow
def test_opening_is_cancelled_and_the_table_before_stays(visit, tmp_path, studio):
    # So many that opening them takes far longer than it takes to cancel it.
    rows = "".join(f"{row},{row % 977},x{row}\n" for row in range(3_000_000))
    (tmp_path / "people.csv").write_text("a,b,c\n" + rows)
    visit.mark("sample")
    visit.reads("2,000 rows")
    visit.go("Table")
    visit.fill("[data-field=path]", str(tmp_path / "people.csv"))
    visit.mark("open")
    visit.mark("cancel-open")
    visit.reads("Cancelled. Nothing was made.")
    assert "2,000 rows, 12 columns" in visit.text()
    assert studio.errors.read_text() == ""


def test_the_encoding_of_a_folder_is_chosen(visit, tmp_path):
    (tmp_path / "parts").mkdir()
    for place in range(2):
        (tmp_path / "parts" / f"{place}.csv").write_bytes(people(20).encode("latin-1"))
    visit.fill("[data-field=path]", str(tmp_path / "parts"))
    visit.mark("open")
    visit.reads("name the encoding, e.g. with the field Encoding")
    visit.choose("[data-field=encoding]", "Western European (ISO")
    visit.mark("read-again")
    visit.reads("40 rows, 2 columns")
    visit.reads("Søren")


# --- types ----------------------------------------------------------------------------------------


def test_types_are_shown(visit, tmp_path):
    rows = [f"5.3.19{70 + row};2021-03-05;{row};1.234,{row + 10};NA;a{row}" for row in range(20)]
    (tmp_path / "people.csv").write_text("born;seen;age;pay;size;name\n" + "\n".join(rows) + "\n")
    visit.fill("[data-field=path]", str(tmp_path / "people.csv"))
    visit.mark("open")
    visit.reads("20 rows, 6 columns")
    assert types(visit) == {
        "born": "date (5.3.1970)",
        "seen": "date (2021-03-05)",
        "age": "number",
        "pay": "number (1.234,10)",
        "size": "text",
        "name": "text",
    }


def test_types_of_a_parquet_file_are_shown(window, tmp_path):
    table = pl.DataFrame({"^n$": [1, 2], "flag": [True, None], "day": ["2021-03-05", None]})
    table.with_columns(day=pl.col("day").str.to_date()).write_parquet(tmp_path / "t.parquet")
    window.open(Source(tmp_path / "t.parquet", "t"))
    assert [column.type for column in window.columns] == ["number", "Boolean", "date (2021-03-05)"]


# --- a policy to begin from -----------------------------------------------------------------------


def test_a_policy_is_begun_from_on_the_first_page(visit, tmp_path, studio):
    (tmp_path / "rules.toml").write_text(POLICY)
    (tmp_path / "people.csv").write_text(people())
    visit.drop(tmp_path / "rules.toml")
    visit.reads("Roles and limits: from rules.toml.")
    visit.drop(tmp_path / "people.csv")
    visit.reads("40 rows, 2 columns")
    visit.go("Limits")
    assert visit.wait("[data-model=k-anonymity] [data-field=k]").get_attribute("value") == "7"
    # One that is named by its path is taken for the open table, too.
    (tmp_path / "other.toml").write_text(POLICY.replace("k = 7", "k = 9"))
    visit.go("Table")
    visit.fill("[data-field=path]", str(tmp_path / "other.toml"))
    visit.mark("open")
    visit.reads(f"The roles are from {tmp_path / 'other.toml'}.")
    visit.go("Limits")
    assert visit.wait("[data-model=k-anonymity] [data-field=k]").get_attribute("value") == "9"
    assert studio.errors.read_text() == ""


def test_what_is_wrong_with_a_policy_is_said_and_the_table_stays(visit, tmp_path, studio):
    (tmp_path / "people.csv").write_text(people())
    visit.drop(tmp_path / "people.csv")
    visit.reads("40 rows, 2 columns")
    visit.go("Table")
    for name, content, told in (
        ("<b>.toml", "version = ", "not readable as TOML"),
        ("rules.toml", POLICY + "colour = 1\n", "colour"),
        ("policy.zip", "no archive", "not a readable archive of a policy"),
    ):
        (tmp_path / name).write_text(content)
        visit.drop(tmp_path / name)
        visit.reads(told)
        assert visit.wait("[data-mark=problem]").text.startswith(f"{name}: ")
        assert "40 rows, 2 columns" in visit.text()
    (tmp_path / "far.toml").write_text(POLICY.replace("columns.name", "columns.weight"))
    visit.drop(tmp_path / "far.toml")
    visit.wait("[data-mark=identify]")
    visit.reads("drafted, since this table lacks 'weight' of far.toml")
    assert studio.errors.read_text() == ""


def test_the_archive_of_a_policy_brings_its_hierarchies(window, tmp_path):
    hospital(300).write_csv(tmp_path / "people.csv")
    hospital_policy().write(tmp_path / "policy.toml")
    with zipfile.ZipFile(tmp_path / "policy.zip", "w") as packed:
        packed.write(tmp_path / "policy.toml", "policy.toml")
        for file in (tmp_path / "hierarchies").iterdir():
            packed.write(file, f"hierarchies/{file.name}")
        packed.writestr("../outside", "")
    window.open(Source(tmp_path / "people.csv", "people.csv"))
    window.begin_from(tmp_path / "policy.zip", "mine.zip")
    assert window.choices.origin == "from mine.zip"
    assert window.policy().schema["diagnosis"].hierarchy == hospital_policy().schema["diagnosis"].hierarchy
    assert not list(window.place("").parent.parent.glob("outside"))
    with pytest.raises(PolicyError, match=r"^mine\.zip: not a readable archive"):
        window.begin_from(tmp_path / "people.csv.zip", "mine.zip")
    assert window.choices.origin == "from mine.zip"
