"""Every kind of table file: jobs equal those of a CSV, releases verify, nothing raw is inside."""

from __future__ import annotations

import ast
import inspect
import json
import sys
import tomllib
import zipfile
from datetime import date
from decimal import Decimal
from pathlib import Path

import polars as pl
import pytest

import incrowd as ic
from emitted_sql import verdict
from incrowd.core.errors import INSTALL
from incrowd.core.io import kinds as module
from incrowd.core.io.files import CsvFormat, read_table, write_table
from incrowd.core.io.kinds import KINDS
from incrowd.core.io.kinds import files as kind_files
from incrowd_verify.other_kinds import _READERS

SECRETS = ("Zoraide", "Quetzal")
"""Values of rows that are recoded or removed: a name and a city."""
POLICY = """
version = 1
models = [{model = "k-anonymity", k = 4}]
algorithm = {name = "mondrian"}

[columns]
name = {role = "identifying"}
age = {role = "quasi", kind = "number"}
city = {role = "quasi", hierarchy = "city.csv"}
disease = {role = "sensitive"}
visits = {role = "insensitive"}
cost = {role = "insensitive"}
"""
by_name = pytest.mark.parametrize("kind", KINDS, ids=lambda kind: kind.name)


def people() -> pl.DataFrame:
    """Make up people, including two with a secret."""
    rows = 60
    ages = [20 + 7 * place % 41 for place in range(rows)]
    cities = [("Lund", "Oslo", "Turku")[place % 3] for place in range(rows)]
    cities[17] = "Quetzal"
    return pl.DataFrame(
        {
            "name": ["Zoraide", *(f"person {place}" for place in range(1, rows))],
            "age": ages,
            "city": cities,
            "disease": [("flu", "cold", "gout", None)[place * place % 4] for place in range(rows)],
            "visits": [place % 5 if place % 7 else None for place in range(rows)],
            "cost": [place / 4 for place in range(rows)],
        }
    )


def texts(table: pl.DataFrame) -> pl.DataFrame:
    """Write every cell as in a CSV, where 0.0 is 0."""
    columns = {name: kind_files._texts(table[name]) for name in table.columns}
    return pl.DataFrame({name: column.str.strip_suffix(".0") for name, column in columns.items()})


@pytest.fixture
def folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "policy.toml").write_text(POLICY)
    (tmp_path / "city.csv").write_text("Lund;South;*\nOslo;West;*\nTurku;East;*\nQuetzal;West;*\n")
    write_table(people(), tmp_path / "people.csv", tmp_path / "people.csv", CsvFormat())
    return tmp_path


def made(kind) -> str:
    """Write the people as a file of a kind, by the kind itself."""
    name = f"people{kind.suffixes[0]}"
    write_table(people(), Path(name), Path(name), CsvFormat())
    return name


def bytes_within(path) -> bytes:
    """Return the content of a file, unpacked if the file is an archive."""
    data = path.read_bytes()
    if zipfile.is_zipfile(path):
        with zipfile.ZipFile(path) as archive:
            data += b"".join(archive.read(name) for name in archive.namelist())
    return data


def test_every_kind_is_one_file_and_one_line():
    tree = ast.parse(inspect.getsource(module))
    lines = [node for node in tree.body if isinstance(node, ast.ImportFrom) and node.module.count(".") == 4]
    entries = {alias.name: node.module for node in lines for alias in node.names}
    assert [type(kind).__name__ for kind in KINDS] == list(entries)[1:]
    assert len({entries[type(kind).__name__] for kind in KINDS}) == len(KINDS)
    endings = {suffix for kind in KINDS for suffix in kind.suffixes}
    assert endings == _READERS.keys(), "write a reader in incrowd_verify/other_kinds.py"


@by_name
def test_pages_and_extras_name_it(kind):
    root = Path(__file__).parents[3]
    page = (root / "docs" / "files.md").read_text()
    unnamed = [suffix for suffix in kind.suffixes if f"`{suffix}`" not in page]
    assert unnamed == [], "name it in docs/files.md"
    extras = tomllib.loads((root / "pyproject.toml").read_text())["project"]["optional-dependencies"]
    if kind.extra:
        assert f"pip install '.[{kind.extra}]'" in page
        assert f"pip install '.[{kind.extra}]'" in (root / "docs" / "how-to" / "install.md").read_text()
        installed = {each.partition(">")[0] for each in extras[kind.extra]}
        assert installed == set(kind.libraries)
        assert installed <= {each.partition(">")[0] for each in extras["test"]}


@pytest.mark.few(2)
@by_name
def test_an_anatomy_is_of_its_kind(folder, run, kind):
    given, ending = made(kind), kind.suffixes[0]
    roles = ("--qi", "city", "--sensitive", "visits", "--identifying", "name,age,disease,cost", "-l", "2")
    result = run("anatomize", given, *roles, "-o", "parts")
    assert (result.status, f"parts/quasi{ending} and parts/sensitive{ending}" in result.out) == (0, True), (
        result.err
    )
    assert {path.name for path in (folder / "parts").iterdir()} == {f"quasi{ending}", f"sensitive{ending}"}


@by_name
def test_its_table_is_that_of_a_csv(folder, kind):
    frame, csv_format = read_table(made(kind))
    assert texts(frame).equals(texts(read_table("people.csv")[0]))
    assert csv_format.kept is not None
    assert csv_format.kept.kind == kind.name


@pytest.fixture(scope="module")
def of_a_csv():
    """The release and messages of the CSV, by test: the same beside any other kind."""
    return {}


def released(run, name: str, out: str) -> pl.DataFrame:
    """Release a file and verify the release."""
    assert run("anonymize", name, "--policy", "policy.toml", "-o", out, "--keep-order").status == 0
    result = run("verify", out, "--policy", "policy.toml")
    assert (result.status, result.err) == (0, "")
    against = run("verify", out, "--policy", "policy.toml", "--against", name)
    assert (against.status, against.err) == (0, "")
    return texts(read_table(out)[0])


@pytest.mark.slow
@by_name
def test_a_release_is_that_of_a_csv_cell_for_cell(folder, run, kind, of_a_csv):
    if "release" not in of_a_csv:
        of_a_csv["release"] = released(run, "people.csv", "out.csv")
    assert released(run, made(kind), f"out{kind.suffixes[0]}").equals(of_a_csv["release"])


@pytest.mark.few(1)
@by_name
def test_a_script_of_sql_is_written_for_what_duckdb_reads_alone(folder, run, kind):
    out = f"out{kind.suffixes[0]}"
    assert run("anonymize", "people.csv", "--policy", "policy.toml", "-o", out).status == 0
    result = run("verify", out, "--policy", "policy.toml", "--emit-sql", "checks.sql")
    if kind.name == "json-lines":
        assert verdict((folder / "checks.sql").read_text())
        return
    assert (result.status, "DuckDB does not read this kind of file by itself" in result.err) == (2, True)
    assert not (folder / "checks.sql").exists()


@by_name
def test_nothing_raw_is_in_a_release(folder, kind):
    given = made(kind)
    release = ic.anonymize(given, ic.Policy.read("policy.toml"))
    release.save("out")
    assert f"release{kind.suffixes[0]}" in {path.name for path in (folder / "out").iterdir()}
    for path in (folder / "out").iterdir():
        if path.is_file():
            held = bytes_within(path)
            for secret in SECRETS:
                for encoding in ("utf-8", "utf-16-le"):
                    assert secret.encode(encoding) not in held, path
    before = bytes_within(folder / given)
    assert b"Zoraide" in before


def said(run, name: str, out: str) -> list:
    """Assess, risk, utility and attack as JSON, and the lines of the policy that init drafts."""
    assert run("anonymize", name, "--policy", "policy.toml", "-o", out, "--keep-order").status == 0
    calls = [
        ("assess", name, "--policy", "policy.toml"),
        ("risk", out, "--policy", "policy.toml"),
        ("utility", name, out, "--policy", "policy.toml"),
        ("attack", name, out, *["--policy", "policy.toml", "--aligned", "--attacks", "20", "--columns", "2"]),
        ("init", name, "-o", f"{name}.toml"),
        ("compare", name, "--policy", "policy.toml", "--algorithms", "mondrian", "-k", "3"),
    ]
    outcome: list = []
    for call in calls:
        result = run(*call, *([] if call[0] == "init" else ["--json"]))
        assert (call[0], result.status) == (call[0], int(call[0] == "assess")), result.err
        if call[0] not in ("init", "compare"):
            outcome.append(json.loads(result.out.replace(name, "RAW").replace(out, "OUT")))
            outcome[-1].pop("seconds", None)
    outcome.append([line for line in Path(f"{name}.toml").read_text().splitlines() if "= {" in line])
    return outcome


@pytest.mark.slow
@by_name
def test_every_job_says_what_it_says_of_a_csv(folder, run, kind, of_a_csv):
    if "jobs" not in of_a_csv:
        of_a_csv["jobs"] = said(run, "people.csv", "out.csv")
    for one, other in zip(of_a_csv["jobs"], said(run, made(kind), f"out{kind.suffixes[0]}"), strict=True):
        assert one == other


@by_name
def test_a_frame_of_many_types_is_written(tmp_path, kind):
    table = pl.DataFrame(
        {
            "small": pl.Series([1, -128, None], dtype=pl.Int8),
            "large": pl.Series([2**31, -(2**40), 2**53 - 1]),
            "zero": [-0.0, 0.25, float("nan")],
            "far": [1e20, 1e-20, 1 / 4],
            "yes": [True, None, False],
            "none": [None, None, None],
            "kind": pl.Series(["a", None, "b"], dtype=pl.Enum(["c", "b", "a"])),
            "money": pl.Series([Decimal("1.25"), None, Decimal("-3.50")]),
            "day": [date(2024, 2, 29), None, date(1970, 1, 1)],
            "text": ["=1", "007", " é"],
        }
    )
    path = tmp_path / f"a{kind.suffixes[0]}"
    write_table(table, path, path, CsvFormat())
    frame = read_table(path)[0]
    assert [float(each) for each in frame["large"]] == table["large"].to_list()
    assert frame["far"].to_list() == table["far"].to_list()
    assert frame["text"].to_list() == table["text"].to_list()
    assert frame["none"].null_count() == 3
    again = tmp_path / f"b{kind.suffixes[0]}"
    write_table(frame, again, again, CsvFormat())
    assert texts(read_table(again)[0]).equals(texts(frame))


@pytest.mark.slow
@by_name
def test_a_next_batch_is_applied(folder, run, kind):
    given = made(kind)
    first = (
        "anonymize",
        given,
        "--policy",
        "policy.toml",
        "--recoding",
        "kept",
        "-o",
        f"a{kind.suffixes[0]}",
    )
    assert run(*first).status == 0
    batch = ("apply", "kept", given, "--policy", "policy.toml", "-o", f"b{kind.suffixes[0]}")
    result = run(*batch)
    assert (result.status, result.err) == (0, "")
    assert run("verify", f"b{kind.suffixes[0]}", "--policy", "policy.toml").status == 0


@by_name
def test_rows_that_stream_are_refused_before_they_are_read(folder, run, kind):
    given = made(kind)
    result = run("anonymize", given, "--stream", "--policy", "policy.toml", "-o", "out.csv")
    assert (result.status, f"{given}: {kind.title} is read and written whole" in result.err) == (2, True)
    result = run("anonymize", "none.csv", "--stream", "--policy", "policy.toml", "-o", f"o{kind.suffixes[0]}")
    assert (result.status, f"o{kind.suffixes[0]}: {kind.title} is" in result.err) == (2, True)
    with pytest.raises(ic.TableError, match="read and written whole"):
        ic.scan(given)


@pytest.mark.few(2)
@by_name
def test_a_file_of_another_kind_under_its_name_is_refused(folder, run, kind):
    bad = folder / f"bad{kind.suffixes[0]}"
    before = {path.name for path in folder.iterdir()}
    for content in (b"", b"a,b\n1,2\n", b"\xff\x00" * 40, (folder / made(kind)).read_bytes()[:200]):
        bad.write_bytes(content)
        result = run("anonymize", bad.name, "--policy", "policy.toml", "-o", "out.csv")
        assert (result.status, result.err.startswith(f"incrowd: {bad.name}")) == (2, True), result.err
        assert run("verify", bad.name, "--policy", "policy.toml").status == 2
    assert {path.name for path in folder.iterdir()} == before | {bad.name, f"people{kind.suffixes[0]}"}


@by_name
def test_its_first_bytes_tell_it(folder, run, kind):
    (folder / made(kind)).rename(folder / "people.txt")
    if kind.marks:
        result = run("assess", "people.txt", "--policy", "policy.toml")
        assert (result.status, f"{kind.title} and no CSV; name it {kind.suffixes[0]}" in result.err) == (
            2,
            True,
        )


@by_name
def test_a_file_too_large_is_refused(folder, run, kind, monkeypatch):
    given = made(kind)
    monkeypatch.setattr(type(kind), "most", 10)
    result = run("assess", given, "--policy", "policy.toml")
    assert (result.status, "is read whole" in result.err) == (2, True)


@pytest.mark.few(2)
@by_name
def test_what_reads_back_otherwise_is_not_kept(folder, kind, monkeypatch):
    given = made(kind)
    release = ic.anonymize(given, ic.Policy.read("policy.toml"))
    write = type(kind).write
    worse = people().height * [None]

    def wrong(self, table, place, kept):
        write(self, table.with_columns(pl.Series("visits", worse, pl.Int64)), place, kept)

    monkeypatch.setattr(type(kind), "write", wrong)
    with pytest.raises(ic.TableError, match="'visits' does not read back the same, so nothing is kept"):
        release.write(f"out{kind.suffixes[0]}")
    assert not (folder / f"out{kind.suffixes[0]}").exists()


@pytest.mark.parametrize("kind", [each for each in KINDS if each.extra], ids=lambda kind: kind.name)
def test_a_missing_library_is_told_with_what_installs_it(folder, run, kind, monkeypatch):
    given = made(kind)
    for library in kind.libraries:
        monkeypatch.setitem(sys.modules, library, None)
    monkeypatch.setattr("incrowd.core.errors.find_spec", lambda name: None)
    for call in (
        ("assess", given, "--policy", "policy.toml"),
        ("anonymize", "people.csv", "--policy", "policy.toml", "-o", f"out{kind.suffixes[0]}"),
        *([] if kind.name == "excel" else [("verify", given, "--policy", "policy.toml")]),
    ):
        result = run(*call)
        assert (result.status, INSTALL.format(extra=kind.extra) in result.err) == (2, True), result.err
