"""Malformed inputs: exit 2 (1 for unsatisfiable data), a single line, no value, no file."""

from __future__ import annotations

import gzip
import os
import socket
from datetime import UTC, datetime, time, timedelta
from pathlib import Path

import polars as pl
import pytest

SECRET = "Zaphod"
TABLE = "name,age,zip,disease\n" + "".join(
    f"{SECRET}{i},{20 + i},0213{i % 10},{'flu' if i % 2 else 'cold'}\n" for i in range(12)
)
ROLES = ["--qi", "age,zip", "--sensitive", "disease", "--identifying", "name"]
LONG = "9" * 5000
HEX = "0x" + "f" * 9000


@pytest.fixture
def people(tmp_path: Path) -> Path:
    (tmp_path / "people.csv").write_text(TABLE)
    return tmp_path / "people.csv"


def refused(run, folder: Path, *arguments: object, status: int = 2) -> str:
    """Run a command to a failure in a single line, without values and remains."""
    before = sorted(folder.rglob("*"))
    result = run(*map(str, arguments))
    assert result.status == status, result.err + result.out
    assert result.err.startswith("incrowd: ")
    assert result.err.count("\n") == 1
    assert len(result.err) < 2000
    assert "internal error" not in result.err
    assert SECRET not in result.err + result.out
    assert sorted(folder.rglob("*")) == before
    return result.err


def anonymize(run, data: Path, *arguments: object, target: str = "out.csv", status: int = 2) -> str:
    folder = data.parent
    return refused(run, folder, "anonymize", data, "-o", folder / target, *arguments, status=status)


# --- options ------------------------------------------------------------------------------------------

CODECS = [
    "idna",
    "hex",
    "rot13",
    "rot_13",
    "zip",
    "zlib",
    "bz2",
    "base64",
    "uu",
    "quopri",
    "punycode",
    "undefined",
    "unicode_escape",
]
CODECS += ["raw_unicode_escape", "mbcs", "utf-99", "", " ", "\0", "../x", "a" * 300, "é"]


@pytest.mark.few(11)
@pytest.mark.parametrize("stream", [[], ["--stream"]], ids=["whole", "stream"])
@pytest.mark.parametrize("encoding", CODECS)
def test_encodings_that_are_none_of_files(run, people, encoding, stream):
    message = anonymize(run, people, *ROLES, "-k", "2", "--encoding", encoding, *stream)
    assert "is not known as one of text files; try utf-8 or latin-1" in message


@pytest.mark.parametrize("encoding", ["utf-16", "utf-32", "cp037"])
def test_another_encoding_than_that_of_the_file(run, people, encoding):
    anonymize(run, people, *ROLES, "-k", "2", "--encoding", encoding)


SIZES = ["1e30GiB", "9" * 400, LONG, "1" + "0" * 30 + "TiB", "2000000TiB", "63MiB", "1", "0", "-1", "nan"]
SIZES += ["inf", "NaNGiB", "", "GiB", "1.5.2G", "1e3", "٣GiB", "9" * 25 + "G"]


@pytest.mark.parametrize("size", SIZES, ids=lambda text: text[:12])
def test_memory_that_no_machine_has(run, people, size):
    message = anonymize(run, people, *ROLES, "-k", "2", "--stream", "--memory", size)
    assert "memory must be an amount from 64MiB" in message


OPTIONS = [
    ("--levels", f"age={LONG}"),
    ("--levels", f"age=-{LONG}"),
    ("--levels", "age=99"),
    ("--levels", "age=٣"),
    ("--levels", "age"),
    ("--levels", "height=1"),
    ("--model", f"k-anonymity:{LONG}"),
    ("--model", f"k-anonymity:k=-{LONG}"),
    ("--model", f"l-diversity:{LONG}"),
    ("--model", f"t-closeness:t={LONG}"),
    ("--model", "t-closeness:t=nan"),
    ("--model", "t-closeness:t=1e400"),
    ("--model", f"average-risk:{LONG}"),
    ("--model", "x" * 5000),
    ("--model", f"k-anonymity:{'x' * 5000}=1"),
    ("--algorithm", "x" * 5000),
    ("--algorithm", f"optimal:budget={LONG}s"),
    ("--algorithm", "optimal:budget=1e9s"),
    ("--delimiter", "x" * 5000),
    ("--qi", ",".join(f"c{i}" for i in range(20_000))),
    ("--style", "x"),
    ("--max-suppression", "nan"),
    ("--max-suppression", "1e400"),
    ("--unlisted", "x"),
]


@pytest.mark.few(6)
@pytest.mark.parametrize(("option", "value"), OPTIONS, ids=lambda text: text[:24])
def test_values_of_options(run, people, option, value):
    roles = ROLES if option != "--qi" else ROLES[2:]
    roles = roles if option == "--model" else [*roles, "-k", "2"]
    anonymize(run, people, *roles, option, value)


# --- policies -----------------------------------------------------------------------------------------

POLICY = """version = 1
{top}
[columns.name]
role = "identifying"
[columns.age]
role = "quasi"
{age}
[columns.zip]
role = "quasi"
[columns.disease]
role = "sensitive"
[[models]]
model = "k-anonymity"
k = 2
{end}
"""

AGE = ["levels = [99]", "levels = [0, 99]", "levels = [-1]", "levels = [3, 1]", "levels = []"]
AGE += [
    "levels = [true]",
    "levels = [1.5]",
    f"levels = [{'9' * 30}]",
    f"levels = [{LONG}]",
    f"levels = [{HEX}]",
]
AGE += ["weight = -1", "weight = nan", "weight = inf", "weight = true", "weight = 'x'", f"weight = {HEX}"]
AGE += ["kind = 'x'", "output = 3", "role = 'quasi'", "hierarchy = 3", "hierarchy = ''", "hierarchy = '.'"]
AGE += ["hierarchy = '/dev/null'", 'hierarchy = "\\u0000.txt"', "hierarchy = 'a.xyz'", "hierarchy = {}"]
AGE += [
    f"hierarchy = {{ intervals = {value} }}" for value in ("[]", "[0]", "[-5]", "[5, 7]", "[nan]", "[inf]")
]
AGE += [f"hierarchy = {{ intervals = {value} }}" for value in ("['5']", "5", "{ a = 1 }", f"[{HEX}]")]
AGE += ["hierarchy = { intervals = [5], origin = 'x' }", "hierarchy = { intervals = [5], origin = nan }"]
AGE += ["hierarchy = { prefix = 1 }", "hierarchy = { prefix = [1] }", "hierarchy = { dates = [] }"]
AGE += ["hierarchy = { dates = [[]] }", "hierarchy = { dates = true }", "hierarchy = { order = [] }"]
AGE += ["hierarchy = { order = ['a', 'a'] }", "hierarchy = { order = [['a']] }", "hierarchy = { flat = 1 }"]
AGE += ["hierarchy = { flat = true, order = ['a'] }", f"hierarchy = {'[' * 2000}{']' * 2000}"]
AGE += [f"hierarchy = {'{ a = ' * 2000}1{' }' * 2000}", f"a{'.a' * 1500} = 1"]
TOPS = ["seed = -1", "seed = 1.5", "seed = true", "max_suppression = 2", "max_suppression = nan", "x = 1"]
TOPS += [
    "max_suppression = true",
    "null_values = 3",
    "null_values = [3]",
    "unlisted = 'x'",
    "output = 'fancy'",
]
TOPS += ["version = 1", "\n".join(f"x{i} = 1" for i in range(3000)), "a = 1e9999999999 x"]
ENDS = ["l = 3", "[[models]]", "[[models]]\nmodel = 3", "[algorithm]\nname = 3", "[algorithm]\nx = 3"]
ENDS += ["[[models]]\nmodel = 'l-diversity'\nl = [2]", f"[[models]]\nmodel = 'l-diversity'\nl = {HEX}"]
ENDS += [
    f"[[models]]\nmodel = 't-closeness'\nt = {'9' * 4000}",
    "[[models]]\nmodel = 't-closeness'\nt = 1979-05-27",
]
ENDS += ["[algorithm]\nname = 'optimal'\nbudget = 3", "[algorithm]\nname = ['optimal']"]
ENDS += ["[algorithm]\nname = 'top-down-specialization'\ntarget = 'age'"]
TEXTS = [{"age": text} for text in AGE] + [{"top": text} for text in TOPS] + [{"end": text} for text in ENDS]


@pytest.mark.few(31)
@pytest.mark.parametrize("parts", TEXTS, ids=lambda parts: next(iter(parts.values()))[:40])
def test_policies(run, people, parts):
    policy = people.with_name("policy.toml")
    policy.write_text(POLICY.format(**{"top": "", "age": "", "end": "", **parts}))
    anonymize(run, people, "--policy", policy)


@pytest.mark.parametrize(
    "version", ["2", "'1'", "true", "1.5", LONG, "1979-05-27"], ids=lambda text: text[:9]
)
def test_versions_of_policies(run, people, version):
    policy = people.with_name("policy.toml")
    policy.write_text(POLICY.format(top="", age="", end="").replace("version = 1", f"version = {version}"))
    anonymize(run, people, "--policy", policy)


FILES = {
    "empty": b"",
    "NUL": b"\0" * 100,
    "UTF-16": POLICY.encode("utf-16"),
    "latin-1": "version = 1 # é".encode("latin-1"),
    "nested arrays": b"a = " + b"[" * 100_000,
    "nested tables": b"a = " + b"{a=" * 100_000,
    "no table": b"version = 1\ncolumns = 3\n",
    "twice": b"version = 1\nversion = 2\n",
    "a table of people": TABLE.encode(),
}


@pytest.mark.parametrize("content", FILES.values(), ids=FILES)
@pytest.mark.parametrize("option", ["--policy", "--spec", "verify"])
def test_files_that_are_no_toml(run, people, content, option):
    file = people.with_name("file.toml")
    file.write_bytes(content)
    if option == "--policy":
        anonymize(run, people, "--policy", file)
    elif option == "--spec":
        refused(run, people.parent, "randomize", people, "-o", people.with_name("out.csv"), "--spec", file)
    else:
        refused(run, people.parent, "verify", people, "--policy", file)


# --- tables -------------------------------------------------------------------------------------------

ZIPPED = gzip.compress((TABLE * 40).encode())
TABLES = {
    "empty": b"",
    "blank": b"\n\n\n",
    "header alone": b"name,age,zip,disease\n",
    "NUL bytes": TABLE.encode() + b"\0\n",
    "not UTF-8": TABLE.encode() + b"\xff\xfe,1,2,3\n",
    "short line": TABLE.encode() + SECRET.encode() + b",1\n",
    "long line": TABLE.encode() + SECRET.encode() + b",1,2,3,4\n",
    "quote never closed": TABLE.encode() + b'"' + SECRET.encode() + b",1,2,3\n",
    "two columns of one name": TABLE.replace("name,age", "age,age", 1).encode(),
    "begins as Parquet": b"PAR1" + os.urandom(64) + b"PAR1",
    "cut gzip": ZIPPED[:-20],
    "gzip of nothing": gzip.compress(b""),
    **{f"gzip with byte {at} flipped": ZIPPED[:at] + bytes([ZIPPED[at] ^ 16]) + ZIPPED[at + 1 :] for at in (2, 11, 17, 60, 90, -6)},
}  # fmt: skip


@pytest.mark.few(11)
@pytest.mark.parametrize("stream", [[], ["--stream"]], ids=["whole", "stream"])
@pytest.mark.parametrize("content", TABLES.values(), ids=TABLES)
def test_tables(run, people, content, stream):
    people.write_bytes(content)
    anonymize(run, people, *ROLES, "-k", "2", *stream)


COLUMNS = {
    "lists of fractions": pl.Series([[1.5, 2]] * 12),
    "lists of lists": pl.Series([[[SECRET]]] * 12),
    "arrays": pl.Series([[1.5, 2]] * 12, dtype=pl.Array(pl.Float64, 2)),
    "lists of objects": pl.Series([[{"a": SECRET}]] * 12),
    "objects": pl.Series([{"a": SECRET}] * 12),
    "bytes": pl.Series([b"\xff"] * 12),
    "durations": pl.Series([timedelta(1)] * 12),
}


@pytest.mark.few(14)
@pytest.mark.parametrize("stream", [[], ["--stream"]], ids=["whole", "stream"])
@pytest.mark.parametrize("role", ["--insensitive", "--qi", "--sensitive"])
@pytest.mark.parametrize("column", COLUMNS.values(), ids=COLUMNS)
def test_columns_that_are_neither_text_number_nor_date(run, people, column, role, stream):
    file = people.with_name("people.parquet")
    pl.read_csv(TABLE.encode(), infer_schema=False).with_columns(x=column).write_parquet(file)
    given = dict(zip(ROLES[::2], ROLES[1::2], strict=True))
    given[role] = f"{given[role]},x" if role in given else "x"
    message = anonymize(run, file, *(part for pair in given.items() for part in pair), "-k", "2", *stream)
    assert "column 'x' " in message or "'x' is an object" in message


@pytest.mark.parametrize("stream", [[], ["--stream"]], ids=["whole", "stream"])
def test_times_of_day_are_no_quasi_identifier(run, people, stream):
    file = people.with_name("people.parquet")
    pl.DataFrame({"x": [time(1)] * 12, "age": [1] * 12}).write_parquet(file)
    assert "column 'x' has times of day" in anonymize(run, file, "--qi", "x,age", "-k", "2", *stream)


@pytest.mark.parametrize("stream", [[], ["--stream"]], ids=["whole", "stream"])
@pytest.mark.parametrize("damage", ["head", "middle", "foot", "cut", "mark alone"])
def test_garbled_parquet(run, people, damage, stream):
    file = people.with_name("people.parquet")
    # A column that is not released is not read where rows stream, so it has to be one that is.
    frame = pl.read_csv(TABLE.encode(), infer_schema=False).select("age", "zip", "disease", "name")
    frame.write_parquet(file, compression="uncompressed")
    content = bytearray(file.read_bytes())
    start = {"head": 4, "middle": len(content) // 4, "foot": len(content) - 60}.get(damage, 0)
    content[start : start + 40] = b"\xff" * 40
    file.write_bytes({"cut": content[:-30], "mark alone": b"PAR1"}.get(damage, content))
    anonymize(run, file, *ROLES, "-k", "2", *stream)


def garbled(file: Path, frame: pl.DataFrame, mark: bytes) -> None:
    """Write a Parquet file with garbled pages at the given bytes."""
    frame.write_parquet(file, compression="uncompressed", statistics=False)
    content = bytearray(file.read_bytes())
    start = content.index(mark)
    content[start - 40 : start + 80] = b"\xff" * 120
    file.write_bytes(content)


@pytest.mark.few(3)
@pytest.mark.parametrize("column", ["zip", "disease", "name"])
@pytest.mark.parametrize("folder", [False, True], ids=["file", "folder"])
def test_a_damaged_file_of_a_stream_is_named(run, people, column, folder):
    data, out = people.with_name("big"), people.with_name("out" if folder else "out.parquet")
    data.mkdir()
    frame = pl.read_csv(TABLE.encode(), infer_schema=False).select("age", "zip", "disease", "name")
    frame.write_parquet(data / "a.parquet")
    garbled(data / "b.parquet", frame, frame[column][3].encode())
    arguments = ("--qi", "age,zip", "--sensitive", "disease", "--insensitive", "name", "-k", "2")
    told = refused(run, people.parent, "anonymize", data, *arguments, "-o", out)
    assert "b.parquet: the file is damaged; its rows cannot be read" in told


@pytest.mark.slow
def test_what_is_garbled_and_dropped_is_not_read_where_rows_stream(run, people):
    """Only a reader of the pages would notice, and the release is right without those pages."""
    file, out = people.with_name("people.parquet"), people.with_name("out.parquet")
    frame = pl.read_csv(TABLE.encode(), infer_schema=False).select("age", "zip", "disease", "name")
    frame.write_parquet(file, compression="uncompressed")
    arguments = ("anonymize", str(file), *ROLES, "-k", "2", "-o", str(out))
    assert run(*arguments, "--stream").status == 0
    released = out.read_bytes()
    out.unlink()
    garbled(file, frame, SECRET.encode())
    anonymize(run, file, *ROLES, "-k", "2")
    assert run(*arguments, "--stream").status == 0
    assert out.read_bytes() == released
    assert SECRET.encode() not in released


@pytest.mark.parametrize("role", ["--qi", "--sensitive", "--insensitive"])
def test_what_is_garbled_and_counted_by_polars_is_refused(run, people, role):
    """Nanoseconds with a zone are nothing that the database knows."""
    file = people.with_name("people.parquet")
    when = pl.Series([datetime(2020, 1, 1 + day % 3, tzinfo=UTC) for day in range(12)]).cast(
        pl.Datetime("ns", "UTC")
    )
    frame = pl.DataFrame({"age": ["1"] * 12, "when": when, "s": ["a"] * 12})
    garbled(file, frame, when.cast(pl.Int64)[0].to_bytes(8, "little"))
    roles = {"--qi": "age", "--sensitive": "s"}
    roles[role] = f"{roles[role]},when" if role in roles else "when"
    arguments = [part for pair in roles.items() for part in pair]
    result = anonymize(run, file, *arguments, "-k", "2", "--stream")
    assert "people.parquet: the file is damaged; its rows cannot be read" in result


# --- places -------------------------------------------------------------------------------------------

PLACES = ["folder", "pipe", "socket", "loop.csv", "dangling.csv", "missing.csv", "people.csv/x", "x" * 300]


@pytest.fixture
def places(people: Path) -> Path:
    folder = people.parent
    (folder / "folder").mkdir()
    os.mkfifo(folder / "pipe")
    (folder / "loop.csv").symlink_to("loop.csv")
    (folder / "dangling.csv").symlink_to("nowhere")
    here = Path.cwd()
    os.chdir(folder)  # the path of a socket is short
    with socket.socket(socket.AF_UNIX) as server:
        server.bind("socket")
    os.chdir(here)
    (folder / "good.toml").write_text(POLICY.format(top="", age="", end=""))
    return folder


@pytest.mark.few(19)
@pytest.mark.parametrize("place", [*PLACES, "/dev/zero", "/dev/null"])
@pytest.mark.parametrize(
    "command",
    [
        "assess HERE --qi age",
        "assess HERE --qi age --stream",
        "assess people.csv --policy HERE",
        "assess people.csv --qi age --population HERE --model k-map:2",
        "hierarchy show HERE",
        "apply HERE people.csv --policy good.toml -o out.csv",
        "randomize people.csv --spec HERE -o out.csv",
    ],
)
def test_what_stands_where_a_file_is_wanted(run, places, monkeypatch, place, command):
    monkeypatch.chdir(places)
    refused(run, places, *(place if part == "HERE" else part for part in command.split()))
