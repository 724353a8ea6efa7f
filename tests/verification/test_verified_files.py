"""The files that the verifier reads: CSV and Parquet."""

from __future__ import annotations

import gzip
import math
import os
from fractions import Fraction
from pathlib import Path
from typing import Any

import pytest

from incrowd.core.errors import (
    InputError,
    ParameterError,
    SchemaError,
    TableError,
)
from incrowd.release.verification import verify
from policy_texts import K2, SIMPLE, entry, only, policy_text, t

# --- files ---------------------------------------------------------------------------------------------


def test_columns_with_any_name(check):
    names = ['a "b"', "select", "Age", "age", "c0", "it's", "x;y", "zwei\nZeilen", "größe", ""]
    columns = [entry(name, "quasi") for name in names] + [
        entry("Name", "sensitive"),
        entry("name", "insensitive"),
    ]
    quoted = ",".join('"' + name.replace('"', '""') + '"' for name in [*names, "Name", "name"])
    row = ",".join("v" for _ in names)
    result = check(
        f"{quoted}\n{row},1,7\n{row},2,7\n{row},2,7\n", columns, [K2, 'model = "l-diversity"\nl = 2']
    )
    assert [finding.reached for finding in result.findings] == [3, 2]


@pytest.mark.few(2)
@pytest.mark.parametrize("delimiter", [",", ";", "\t", "|"])
def test_delimiter_is_found_by_the_columns(check, delimiter):
    rows = [("zip", "x"), ("1*", "{a, b}"), ("1*", "{a; b, c | d}"), ("1*", "e")]
    text = "".join(f'"{a}"{delimiter}"{b}"\r\n' for a, b in rows)
    assert only(check(text, SIMPLE, [K2])).reached == 3
    assert only(check(text, SIMPLE, [K2], delimiter=delimiter)).reached == 3


def test_given_delimiter_and_wrong_ones(check):
    assert only(check("zip:x\n1*:a\n1*:b\n", SIMPLE, [K2], delimiter=":")).reached == 2
    for wrong in ("", "::", '"', "\n"):
        with pytest.raises(ParameterError, match="delimiter"):
            check("zip,x\n1*,a\n", SIMPLE, [K2], delimiter=wrong)
    with pytest.raises(SchemaError, match="'zip', 'x' are not in the file"):
        check("zip,x\n1*,a\n", SIMPLE, [K2], delimiter=";")


def test_encodings(check):
    columns = [entry("größe", "quasi")]
    text = "größe\nä\nä\nö\nö\n"
    for encoding in ("utf-8", "utf-8-sig", "utf-16", "latin-1", "cp1252"):
        given_encoding = None if encoding.startswith("utf") else encoding
        result = check(text.encode(encoding), columns, [K2], encoding=given_encoding)
        assert (result.records, only(result).reached) == (4, 2)
    with pytest.raises(TableError, match=r"out\.csv, row 1: not in UTF-8; name the encoding"):
        check(text.encode("latin-1"), columns, [K2])
    with pytest.raises(TableError, match=r"row 3 .*not in UTF-8") as caught:
        check("zip\nabc\nsecré\n".encode("latin-1"), [entry("zip", "quasi")], [K2])
    assert "secr" not in str(caught.value)
    with pytest.raises(TableError, match="not in the encoding ascii"):
        check(text.encode(), columns, [K2], encoding="ascii")
    with pytest.raises(ParameterError, match="'klingon' is unknown"):
        check(text, columns, [K2], encoding="klingon")


def test_quoted_line_ends_and_delimiters(check):
    text = 'zip,x\r\n"1,\r\n*","a ""quoted"" b"\r\n"1,\r\n*",b\r\n'
    result = check(text, SIMPLE, [K2])
    assert (result.records, only(result).reached) == (2, 2)


def test_gzip_is_known_by_its_content(check):
    packed = gzip.compress(b"zip,x\n1*,a\n1*,b\n")
    assert only(check(packed, SIMPLE, [K2], name="out.csv.gz")).reached == 2
    assert only(check(packed, SIMPLE, [K2], name="out.csv")).reached == 2
    assert only(check(packed, SIMPLE, [K2], name="out.csv", encoding="latin-1")).reached == 2
    with pytest.raises(TableError, match="cannot"):
        check(packed[:-12], SIMPLE, [K2], name="out.csv.gz")


@pytest.mark.slow
def test_names_with_glob_signs_and_hive_folders_are_plain_names(check, tmp_path):
    (tmp_path / "x=9").mkdir()
    (tmp_path / "o1.csv").write_text("zip,x\n9*,a\n")
    for name in ("o[1].csv", "o*.csv", "o?.csv", "it's.csv", "x=9/out.csv"):
        assert only(check("zip,x\n1*,a\n1*,b\n", SIMPLE, [K2], name=name)).reached == 2


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("zip,x\n1*,a\nsecret,b,c\n", r"row 3 .*: 3 fields, but the header has 2"),
        ("zip,x\n1*,a\nsecret\n", r"row 3 .*: 1 fields, but the header has 2"),
        ('zip,x\n1*,a\n1*,"secret\n', "quotation mark"),
        ('zip,x\n1*,a\n1*,"sec"ret"\n', "quotation mark"),
        ("secret,x,secret\n1,2,3\n", "columns 1 and 3 have the same name"),
        ("zip,x\n", "no records"),
        ("", "no header"),
        ("\n", "no header"),
    ],
)
def test_broken_csv_names_the_place_and_never_the_content(check, text, message):
    with pytest.raises(TableError, match=message) as caught:
        check(text, SIMPLE, [K2])
    assert "secret" not in str(caught.value)
    assert caught.value.__context__ is None or caught.value.__suppress_context__
    assert "out.csv" in str(caught.value)


def test_missing_file_and_missing_columns(check, tmp_path):
    with pytest.raises(SchemaError, match="'x' are not in the file") as caught:
        check("zip,secret\n1*,a\n", SIMPLE, [K2])
    assert "secret" not in str(caught.value)
    with pytest.raises(TableError, match=r"none\.csv.*cannot be read"):
        verify(tmp_path / "none.csv", tmp_path / "policy.toml")
    (tmp_path / "empty").mkdir()
    with pytest.raises(TableError, match="no Parquet or CSV file"):
        verify(tmp_path / "empty", tmp_path / "policy.toml")


def test_trailing_spaces_and_leading_zeros_are_part_of_a_value(check):
    result = check("zip,x\n01,a\n1,a\n1 ,a\n", SIMPLE, [K2])
    assert result.classes == 3


def test_blank_lines(check):
    one = [entry("zip", "quasi")]
    assert check("zip\n1\n\n1\n\n", one, [K2]).records == 4  # in one column a blank line is a missing value
    assert check("zip,x\n1,a\n\n1,b\n", SIMPLE, [K2]).records == 2


# --- Parquet -------------------------------------------------------------------------------------------


def parquet(path: Path, columns: dict[str, Any] | list[tuple[str, Any]]) -> Path:
    pa = pytest.importorskip("pyarrow")
    pq = pytest.importorskip("pyarrow.parquet")
    pairs = list(columns.items()) if isinstance(columns, dict) else columns
    table = pa.table([pa.array(*values) for _, values in pairs], names=[name for name, _ in pairs])
    pq.write_table(table, path)
    return path


@pytest.mark.slow
def test_parquet_with_types(tmp_path):
    import datetime

    import pyarrow as pa

    day = datetime.date(2020, 1, 1)
    file = parquet(
        tmp_path / "out.bin",
        {
            "Zip": (["1*", "1*", "2*", "2*", "*"],),
            "zip": ([1, 1, 2, 2, 1],),
            "nested": ([{"a": 1, "b": [1]}] * 5,),
            "cost": ([1.0, math.nan, 2.0, None, 3.0],),
            "day": ([day, None, day, day + datetime.timedelta(9), day],),
            "yes": ([True, False, True, True, False],),
            "big": ([2**53, 2**53 + 1, 2**53, 2**53, 2**53], pa.int64()),
            "text": (pa.array(["1", "01", "?", "1", "1"]).dictionary_encode(),),
        },
    )
    sensitive = ("cost", "day", "yes", "big", "text")
    columns = [entry("Zip", "quasi")] + [entry(name, "sensitive") for name in sensitive]
    columns += [entry(name, "insensitive") for name in ("zip", "nested.a", "nested.b")]
    models = [K2, 'model = "l-diversity"\nl = 1', t()]
    head = "max_suppression = 0.2\nsuppressed = 'keep'\nnull_values = ['?']"
    (tmp_path / "p.toml").write_text(policy_text(columns, models, head))
    result = verify(file, tmp_path / "p.toml")
    assert result.keeps_limits
    assert result.suppressed == 1
    diversity = {f.attribute: f.reached for f in result.findings if f.model == "l-diversity"}
    assert diversity == {"cost": 2, "day": 2, "yes": 1, "big": 1, "text": 2}
    distance = {f.attribute: f.distance for f in result.findings if f.model == "t-closeness"}
    assert distance == {
        "cost": "ordered",
        "day": "ordered",
        "yes": "equal",
        "big": "ordered",
        "text": "equal",
    }
    # not-a-number is missing: classes {1, missing} and {2, missing} of a table 1, 2, 3, missing, missing
    cost = next(f.reached for f in result.findings if f.attribute == "cost" and f.model == "t-closeness")
    first = Fraction(1, 3) * (Fraction(3, 10) + Fraction(1, 10) + Fraction(1, 10))
    assert cost == pytest.approx(float(first), abs=1e-15)


def test_parquet_typed_quasi_identifiers_and_hierarchy_over_numbers(tmp_path):
    file = parquet(tmp_path / "a.parquet", {"q": ([1, 1, None, None],), "x": ([1, 2, 11, 12],)})
    columns = [entry("q", "quasi"), entry("x", "sensitive", "hierarchy = { intervals = [10] }")]
    (tmp_path / "p.toml").write_text(policy_text(columns, [K2, t()]))
    result = verify(file, tmp_path / "p.toml")
    assert [finding.reached for finding in result.findings] == [2, 0.5]


def test_parquet_errors(tmp_path):
    (tmp_path / "p.toml").write_text(policy_text(SIMPLE, [K2]))
    file = parquet(tmp_path / "a.parquet", [("zip", (["1*"],)), ("x", (["a"],)), ("zip", (["b"],))])
    with pytest.raises(TableError, match="columns 1 and 3 have the same name"):
        verify(file, tmp_path / "p.toml")
    file = parquet(tmp_path / "b.parquet", {"zip": (["1*"],), "X": (["secret"],)})
    with pytest.raises(SchemaError, match="'x'"):
        verify(file, tmp_path / "p.toml")
    file.write_bytes(file.read_bytes()[:40])
    with pytest.raises(TableError, match=r"b\.parquet: DuckDB cannot read") as caught:
        verify(file, tmp_path / "p.toml")
    assert "secret" not in str(caught.value)


def test_errors_are_input_errors(check):
    with pytest.raises(InputError):
        check("zip\n1\n", SIMPLE, [K2])


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="pipes have no names here")
@pytest.mark.parametrize("which", ["release", "policy", "account", "profile", "hierarchy", "raw"])
def test_a_pipe_is_refused_and_not_waited_for(tmp_path, which):
    """Nobody writes into the pipe, so a reader would wait without end."""
    (tmp_path / "safe.csv").write_text("age\n" + "[1-5]\n" * 4)
    (tmp_path / "tree.csv").write_text("1;[1-5]\n2;[1-5]\n")
    place = tmp_path / "pipe.csv"
    os.mkfifo(place)
    hierarchy = f'hierarchy = "{"pipe.csv" if which == "hierarchy" else "tree.csv"}"'
    (tmp_path / "policy.toml").write_text(
        f'version = 1\n[columns.age]\nrole = "quasi"\n{hierarchy}\n[[models]]\nmodel = "k-anonymity"\nk = 2\n'
    )
    profile = tmp_path / "pipe.toml"
    os.mkfifo(profile)
    release = place if which == "release" else tmp_path / "safe.csv"
    policy = place if which == "policy" else tmp_path / "policy.toml"
    beside = {"account": {"account": place}, "raw": {"against": place}, "profile": {"profile": "pipe.toml"}}
    with pytest.raises(InputError, match="is a pipe or a device"):
        verify(release, policy, **beside.get(which, {}))
