"""Arrow IPC and JSON lines: files of other programs, and content that must not be in ours."""

from __future__ import annotations

import datetime as dt
import json
from decimal import Decimal
from pathlib import Path

import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.feather as pf
import pytest

import incrowd as ic
from incrowd.core.errors import TableError
from incrowd.core.io.files import CsvFormat, read_table, write_table
from incrowd_verify.other_kinds import as_parquet

SCHEMA = ic.Schema(quasi=["age"], unlisted="keep")
AGES = [30, 31, 32, 33] * 3


def released(path, name, **columns):
    """Write a file with pyarrow, anonymize the file and return the released table of pyarrow."""
    pf.write_feather(pa.table({"age": AGES, **columns}), path / name)
    ic.anonymize(path / name, SCHEMA, "k-anonymity:4").write(path / f"out-{name}")
    return pf.read_table(path / f"out-{name}")


def test_a_compressed_file_of_before_version_1_is_refused(tmp_path):
    """Polars takes such a file for uncompressed, and reads other numbers."""
    source = Path(pa.__file__).parent / "tests/data/feather/v0.17.0.version.2-compression.lz4.feather"
    assert pf.read_table(source).num_rows == 5
    with pytest.raises(TableError, match=r"written by Arrow 0\.17 with a compression of its own"):
        read_table(source)
    (tmp_path / "policy.toml").write_text("version = 1\n[[models]]\nmodel = 'k-anonymity'\nk = 2\n"
                                          "[columns.a]\nrole = 'quasi'\n")  # fmt: skip
    with pytest.raises(TableError, match="cannot be read as Arrow IPC"):
        ic.verify(source, tmp_path / "policy.toml")


@pytest.mark.parametrize("compression", ["uncompressed", "lz4", "zstd"])
@pytest.mark.parametrize("chunks", [None, 3])
def test_files_of_pyarrow_are_read_and_written_again(tmp_path, compression, chunks):
    table = pa.table(
        {"n": pa.array([1, None, 3] * 5), "text": ["é", None, ""] * 5, "x": [0.5, 1.0, None] * 5}
    )
    pf.write_feather(table, tmp_path / "a.feather", compression=compression, chunksize=chunks)
    frame, _ = read_table(tmp_path / "a.feather")
    copy = tmp_path / "b.feather"
    write_table(frame, copy, copy, CsvFormat())
    assert pf.read_table(copy).to_pydict() == table.to_pydict()


def test_a_file_of_pandas_gives_the_same_release_as_its_frame(tmp_path):
    frame = pd.DataFrame(
        {"age": AGES, "day": pd.Timestamp("2024-02-29"), "ward": pd.Categorical(list("abc") * 4)}
    )
    frame.attrs["note"] = "Quetzal"
    frame.to_feather(tmp_path / "people.feather")
    assert b"pandas" in (tmp_path / "people.feather").read_bytes()
    release = ic.anonymize(tmp_path / "people.feather", SCHEMA, "k-anonymity:4", keep_order=True)
    release.write(tmp_path / "out.feather")
    result = pd.read_feather(tmp_path / "out.feather")
    same = ic.anonymize(frame, SCHEMA, "k-anonymity:4", keep_order=True).table
    assert result.astype(str).to_dict("list") == same.astype(str).to_dict("list")
    assert isinstance(result["ward"].dtype, pd.CategoricalDtype)
    assert b"pandas" not in (tmp_path / "out.feather").read_bytes()


def test_categories_that_nobody_has_are_not_in_a_release(tmp_path):
    codes = pa.array([0, 2] * 6)
    ward = pa.DictionaryArray.from_arrays(codes, pa.array(["east", "Quetzal", "west"]))
    result = released(tmp_path, "a.feather", ward=ward)
    assert result["ward"].chunk(0).dictionary.to_pylist() == ["east", "west"]
    assert b"Quetzal" in (tmp_path / "a.feather").read_bytes()
    assert b"Quetzal" not in (tmp_path / "out-a.feather").read_bytes()


def test_texts_beneath_missing_values_and_of_removed_rows_are_not_written(tmp_path):
    hidden = pl.Series(["a text that is long enough for a buffer: Quetzal"] * 6 + ["seen"] * 6)
    path = tmp_path / "a.feather"
    frame = pl.DataFrame({"note": hidden}).with_columns(n=pl.int_range(12))
    for rows in (frame.tail(6), frame.with_columns(pl.when(pl.col("n") > 5).then("note").alias("note"))):
        write_table(rows, path, path, CsvFormat())
        assert b"Quetzal" not in path.read_bytes()
        assert pf.read_table(path)["note"].to_pylist()[-6:] == ["seen"] * 6


def test_metadata_of_schema_and_columns_stays_behind(tmp_path):
    field = pa.field("age", pa.int64(), metadata={"doctor": "Quetzal"})
    table = pa.table([pa.array(AGES)], pa.schema([field], metadata={"author": "Zoraide"}))
    pf.write_feather(table, tmp_path / "a.feather")
    assert b"Zoraide" in (tmp_path / "a.feather").read_bytes()
    ic.anonymize(tmp_path / "a.feather", SCHEMA, "k-anonymity:4").write(tmp_path / "b.feather")
    held = (tmp_path / "b.feather").read_bytes()
    assert b"Zoraide" not in held
    assert b"Quetzal" not in held


def test_types_leave_as_they_came(tmp_path):
    columns = {
        "day": pa.array([dt.date(2024, 2, 29)] * 12),
        "time": pa.array([dt.datetime(2024, 2, 29, 1, 2, 3)] * 12, pa.timestamp("ms", "Europe/Oslo")),
        "money": pa.array([Decimal("1.25"), None] * 6, pa.decimal128(10, 2)),
        "many": pa.array([[1, 2], None] * 6),
        "short": pa.array([0.1, None] * 6, pa.float32()),
    }
    result = released(tmp_path, "a.feather", **columns)
    columns["many"] = pa.array(["1;2", None] * 6)
    assert {name: result[name].to_pylist() for name in columns} == {
        name: column.to_pylist() for name, column in columns.items()
    }
    assert result.schema.field("money").type == pa.decimal128(10, 2)


def test_a_duration_and_a_type_with_a_name_leave_as_they_came(tmp_path):
    waits = pa.array([dt.timedelta(seconds=90), None] * 6, pa.duration("s"))
    stored = released(tmp_path, "a.feather", wait=waits, id=pa.array([b"0123456789abcdef"] * 12, pa.uuid()))
    assert stored["wait"].to_pylist() == waits.to_pylist()
    assert stored["id"][0].as_py() == b"0123456789abcdef"


UNIONS = pa.UnionArray.from_sparse(pa.array([0, 1], pa.int8()), [pa.array([1, 2]), pa.array(["a", "b"])])
UNREAD = {
    "a union": pa.table({"a": UNIONS}),
    "two columns of one name": pa.table([pa.array([1]), pa.array([2.5])], ["a", "a"]),
    "long decimals": pa.table({"a": pa.array([Decimal("1.5")], pa.decimal256(50, 2))}),
}


@pytest.mark.parametrize("what", UNREAD)
def test_types_of_arrow_that_are_not_read_are_told(tmp_path, what):
    table = UNREAD[what]
    with pa.OSFile(str(tmp_path / "a.arrow"), "wb") as file, pa.ipc.new_file(file, table.schema) as writer:
        writer.write_table(table)
    with pytest.raises(TableError, match="has columns of one name, or of a type that is not read here"):
        read_table(tmp_path / "a.arrow")
    with pytest.raises(TableError, match="cannot be read as Arrow IPC"):
        as_parquet(tmp_path / "a.arrow", tmp_path)


@pytest.mark.parametrize(
    ("content", "told"),
    [
        (b"FEA1" + b"\0" * 99, "Feather version 1; save the table as Feather version 2"),
        (b"\xff\xff\xff\xff" + b"\0" * 99, "this is an Arrow stream"),
        (b"ARROW1\0\0" + b"\1" * 99, "not a readable Arrow file"),
    ],
)
def test_other_files_of_arrow_are_named(tmp_path, content, told):
    (tmp_path / "a.arrow").write_bytes(content)
    with pytest.raises(TableError, match=told):
        read_table(tmp_path / "a.arrow")


# --- JSON lines --------------------------------------------------------------------------------------


def lines(path, *objects):
    path.write_text("\n".join(each if isinstance(each, str) else json.dumps(each) for each in objects))
    return path


def test_a_file_of_pandas_is_read_and_released_in_json_lines(tmp_path):
    frame = pd.DataFrame(
        {"age": AGES, "name": ["Zoé", 'a "b"', None, ""] * 3, "x": [1.5, 2.0, None, -3.0] * 3}
    )
    frame.to_json(tmp_path / "a.jsonl", orient="records", lines=True)
    ic.anonymize(tmp_path / "a.jsonl", SCHEMA, "k-anonymity:4", keep_order=True).write(tmp_path / "b.jsonl")
    records = [json.loads(line) for line in (tmp_path / "b.jsonl").read_text().splitlines()]
    assert [row["name"] for row in records] == ["Zoé", 'a "b"', None, ""] * 3
    assert [row["x"] for row in records] == [1.5, 2.0, None, -3.0] * 3
    assert {row["age"] for row in records} <= {"31 or less", "32 or more", "*"}


def test_odd_but_sound_lines_are_read(tmp_path):
    odd = lines(tmp_path / "a.jsonl", {"a": 1, "b": None}, "", {"b": "x", "a": "007"}, '{"a": 2.50}', "")
    assert read_table(odd)[0].rows() == [("1", None), ("007", "x"), ("2.5", None)]
    odd.write_bytes(b"\xef\xbb\xbf" + odd.read_bytes())
    assert read_table(odd)[0].height == 3


def test_types_that_json_lacks_are_written_as_texts(tmp_path):
    table = pl.DataFrame(
        {
            "day": [dt.date(2024, 2, 29), None],
            "time": [dt.datetime(2024, 2, 29, 1, 2, 3), None],
            "short": pl.Series([0.1, float("nan")], dtype=pl.Float32),
            "kind": pl.Series(["a", None], dtype=pl.Categorical),
            "money": pl.Series([Decimal("1.25"), None]),
            "many": [[1, 2], None],
            "yes": [True, None],
        }
    )
    path = tmp_path / "a.jsonl"
    write_table(table, path, path, CsvFormat())
    first, second = (json.loads(line) for line in path.read_text().splitlines())
    assert first == {
        "day": "2024-02-29", "time": first["time"], "short": 0.1, "kind": "a", "money": "1.25",
        "many": [1, 2], "yes": True,
    }  # fmt: skip
    assert first["time"].startswith("2024-02-29T01:02:03")
    assert set(second.values()) == {None}


@pytest.mark.parametrize(
    ("content", "told"),
    [
        ('[{"a": 1}, {"a": 2}]', "this is one JSON array; write an object a line"),
        ('{"a": 1}\n{"a": 2', "line 2: this is no JSON object"),
        ('{"a": 1}\n[1]', "line 2: this is no JSON object"),
        ('{"a": 1}\n{"a": NaN}', "mixes types"),
        ('{"a": 1}\n{"a": true}', "mixes types"),
        ('{"a": {"b": 1}}\n{"a": [1]}', "mixes types"),
        (
            '{"a": 9007199254740993}\n{"a": 0.5}',
            "column 'a' has fractions and numbers of more than 15 digits",
        ),
        ("  \n", "the file is empty"),
        ("{}\n{}\n", "the table has no rows"),
    ],
)
def test_what_is_no_table_of_json_lines_is_told_with_its_place(tmp_path, content, told):
    (tmp_path / "a.jsonl").write_text(content)
    with pytest.raises(TableError, match=told):
        read_table(tmp_path / "a.jsonl")


def test_json_lines_in_another_encoding_are_told(tmp_path):
    (tmp_path / "a.jsonl").write_bytes('{"a": "Zoé"}\n'.encode("latin-1"))
    with pytest.raises(TableError, match="byte 9 is not UTF-8"):
        read_table(tmp_path / "a.jsonl")
