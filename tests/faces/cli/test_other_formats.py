"""Files of other programs are neither read nor written as a CSV."""

from __future__ import annotations

import io
import zipfile

import pytest

import incrowd as ic

TABLE = "age,disease\n" + "30,flu\n31,cold\n" * 4
ROLES = ("--qi", "age", "--sensitive", "disease", "-k", "2")


@pytest.fixture
def people(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    path = tmp_path / "people.csv"
    path.write_text(TABLE)
    return path


@pytest.mark.few(1)
@pytest.mark.parametrize(
    ("name", "kind"),
    [
        ("y.xlsm", "an Excel workbook with macros"),
        ("y.XLS", "an old or binary Excel workbook"),
        ("y.pdf", "a PDF"),
        ("y.por", "an SPSS file of the portable kind"),
        ("y.sas7bdat", "a SAS file"),
        ("y.json", "a JSON file"),
        ("y.csv.zip", "an archive"),
        ("y.db", "a database"),
    ],
)
def test_a_csv_is_not_written_under_the_name_of_another_format(people, name, kind):
    schema = ic.Schema(quasi=["age"], sensitive=["disease"])
    release = ic.anonymize(people, schema, "k-anonymity:2")
    with pytest.raises(
        ic.TableError, match=rf"{name}: the name is that of {kind}, .*\.csv, \.csv\.gz, \.tsv or"
    ):
        release.write(name)
    stream = ic.anonymize(ic.scan(people), schema, "k-anonymity:2")
    with pytest.raises(ic.TableError, match=kind):
        stream.write(name)
    assert [path.name for path in people.parent.iterdir()] == ["people.csv"]


@pytest.mark.parametrize("stream", [(), ("--stream",)])
@pytest.mark.parametrize("data", ["people.csv", "nothing.csv"])
def test_the_command_line_says_so_before_it_reads(run, people, stream, data):
    result = run("anonymize", data, "-o", "y.ods", *ROLES, *stream)
    assert (result.status, "an OpenDocument file" in result.err) == (2, True)


@pytest.mark.parametrize("command", ["p29", "randomize"])
def test_every_command_that_writes_a_table_says_so(run, people, command):
    (people.parent / "spec.toml").write_text(
        '[columns.disease]\nmechanism = "randomized-response"\nepsilon = 1\ncategories = ["flu", "cold"]\n'
    )
    roles = ROLES[:4] if command == "p29" else ("--spec", "spec.toml")
    result = run(command, "people.csv", "-o", "y.ods", *roles)
    assert (result.status, "an OpenDocument file" in result.err) == (2, True)


@pytest.mark.parametrize("name", ["y.csv", "y.tsv", "Y.CSV", "people.v2.csv", "y.csv.gz"])
def test_other_names_are_those_of_a_csv(run, people, name):
    assert run("anonymize", "people.csv", "-o", name, *ROLES).status == 0
    assert ic.assess(people.parent / name, ic.Schema(quasi=["age"]), "k-anonymity:2").holds


def workbook() -> bytes:
    stream = io.BytesIO()
    with zipfile.ZipFile(stream, "w") as archive:
        # The name of a test holds these bytes: with the time of day it would differ between workers.
        archive.writestr(zipfile.ZipInfo("[Content_Types].xml"), "<Types/>")
        archive.writestr(zipfile.ZipInfo("xl/workbook.xml"), "<workbook/>")
    return stream.getvalue()


@pytest.mark.parametrize("stream", [(), ("--stream",)])
@pytest.mark.parametrize(
    ("content", "kind"),
    [
        (workbook(), "an Excel workbook or another zip archive"),
        (b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1" + b"\0" * 99, "an old Excel workbook"),
        (b"\0" * 12 + b"\xc2\xea\x81\x60" + b"\0" * 99, "a SAS data set"),
        ("ASCII SPSS PORT FILE".encode("cp037") + b"\0" * 99, "an SPSS file of the portable kind"),
        (b"$FL2@(#) SPSS DATA FILE" + b"\0" * 99, "an SPSS file"),
        (b"<stata_dta><header>" + b"\0" * 99, "a Stata file"),
        (b"SQLite format 3\x00" + b"\0" * 99, "an SQLite database"),
        (b"%PDF-1.7\n%", "a PDF"),
    ],
)
def test_what_is_no_csv_is_named_for_what_it_is(run, people, content, kind, stream):
    people.write_bytes(content)
    result = run("assess", "people.csv", "--qi", "age", *stream)
    assert (result.status, f"people.csv: this is {kind} and no CSV" in result.err) == (2, True)
