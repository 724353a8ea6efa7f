"""Tables with objects and lists in cells: every kind of file and frame takes cells apart alike."""

from __future__ import annotations

import json

import pandas as pd
import polars as pl
import pytest

import incrowd as ic
from incrowd.core.errors import TableError
from incrowd.core.io.columns import flat
from incrowd.core.io.files import read_table
from incrowd.core.io.streams import scan
from incrowd_verify.source import CsvFormat as VerifiedFormat
from incrowd_verify.source import connect
from incrowd_verify.tables import Wanted, load

PEOPLE = [
    {
        "id": f"u{place}",
        "profile": {
            "age": 20 + place % 30,
            "address": {"city": ["Lyon", "Nice"][place % 2], "zip": f"{10000 + place % 7}"},
        },
        "tags": [["a"], ["b", "c;d"], [], [""], ['e"f']][place % 5] if place % 11 else None,
        "numbers": [place % 3, 7],
        "orders": [{"sku": "x", "eur": 1.5}] * (place % 3),
        "ill": ["flu", "hiv"][place % 2],
    }
    for place in range(90)
]
NAMES = [
    "id",
    "profile.age",
    "profile.address.city",
    "profile.address.zip",
    "tags",
    "numbers",
    "orders",
    "ill",
]
TAGS = ['b;"c;d"', "", '""', '"e""f"', "a"]
POLICY = """
version = 1
max_suppression = 0.5
unlisted = "drop"
columns = { "profile.age" = { role = "quasi" }, "profile.address.city" = { role = "quasi" }, tags = { role = \
"insensitive" }, numbers = { role = "sensitive" }, ill = { role = "insensitive" } }
[[models]]
model = "k-anonymity"
k = 3
"""
SCHEMA = ic.Schema(quasi=["profile.age"], sensitive=["numbers"], insensitive=["tags"], unlisted="drop")


def file_of(folder, kind):
    """Write the people as a file of a kind."""
    path = folder / f"people.{kind}"
    if kind == "jsonl":
        path.write_text("".join(json.dumps(each) + "\n" for each in PEOPLE))
    elif kind == "parquet":
        pl.DataFrame(PEOPLE).write_parquet(path)
    else:
        pl.DataFrame(PEOPLE).write_ipc(path)
    return path


@pytest.mark.parametrize("kind", ["jsonl", "parquet", "feather"])
def test_fields_of_objects_are_columns_and_short_lists_texts(tmp_path, kind):
    table, _ = read_table(file_of(tmp_path, kind))
    assert table.columns == NAMES
    assert table["profile.address.zip"][:2].to_list() == ["10000", "10001"]
    assert table["tags"][0] is None
    assert table["tags"][1:6].to_list() == TAGS
    assert table["numbers"][1] == "1;7"
    assert table["orders"].dtype == pl.List(pl.Struct({"sku": pl.String, "eur": pl.Float64}))


@pytest.mark.parametrize("kind", ["jsonl", "parquet", "feather"])
def test_the_verifier_takes_files_apart_alike(tmp_path, kind):
    path = file_of(tmp_path, kind)
    table, _ = read_table(path)
    con = connect(tmp_path, [path], in_order=True)
    loaded = load(con, Wanted("raw", str(path), None, [], VerifiedFormat(), everything=True), tmp_path)
    assert list(loaded.names) == table.columns
    for name in set(NAMES) - {"orders"}:
        cells = con.execute(f"SELECT c{loaded.place(name)} FROM raw ORDER BY rowid").fetchall()
        assert [cell for (cell,) in cells] == table[name].to_list()


@pytest.mark.slow
@pytest.mark.parametrize("kind", ["jsonl", "parquet", "feather"])
@pytest.mark.parametrize("target", ["csv", "jsonl", "parquet"])
def test_a_release_is_verified_beside_its_raw_table(run, tmp_path, kind, target):
    raw, out, policy = file_of(tmp_path, kind), tmp_path / f"out.{target}", tmp_path / "policy.toml"
    policy.write_text(POLICY)
    assert run("anonymize", str(raw), "--policy", str(policy), "-o", str(out)).status == 0
    assert read_table(out)[0].columns == ["profile.age", "profile.address.city", "tags", "numbers", "ill"]
    checked = run("verify", str(out), "--policy", str(policy), "--against", str(raw))
    assert checked.status == 0, checked.out + checked.err


def test_files_that_stream_are_taken_apart(tmp_path):
    files = scan(file_of(tmp_path, "parquet"))
    assert files.columns == NAMES
    whole = ic.anonymize(read_table(file_of(tmp_path, "jsonl"))[0], SCHEMA, models=[ic.KAnonymity(3)])
    streamed = ic.anonymize(files, SCHEMA, models=[ic.KAnonymity(3)])
    assert streamed.privacy.to_dict()["classes"] == whole.privacy.to_dict()["classes"]


def test_init_drafts_dotted_columns(run, tmp_path):
    drafted = run("init", str(file_of(tmp_path, "jsonl")), "-o", str(tmp_path / "policy.toml"))
    assert drafted.status == 0, drafted.err
    text = (tmp_path / "policy.toml").read_text()
    assert '[columns."profile.age"]\nrole = "quasi"' in text
    assert '[columns.orders]\nrole = "identifying"' in text


def frames():
    table = pl.DataFrame(PEOPLE)
    return {
        "polars": table,
        "lazy": table.lazy(),
        "pyarrow": table.to_arrow(),
        "pandas": pd.DataFrame(PEOPLE),
        "pandas with types of arrow": table.to_pandas(use_pyarrow_extension_array=True),
    }


@pytest.mark.few(2)
@pytest.mark.parametrize("kind", frames())
def test_frames_are_taken_apart_as_files_are(kind):
    release = ic.anonymize(frames()[kind], SCHEMA, models=[ic.KAnonymity(3)])
    assert release.privacy.records == 90
    table = release.table.collect() if kind == "lazy" else release.table
    names = table.column_names if kind == "pyarrow" else list(table.columns)
    assert names == ["profile.age", "tags", "numbers"]


@pytest.mark.parametrize("kind", frames())
def test_lists_of_objects_are_not_released_unseen(kind):
    schema = ic.Schema(quasi=["profile.age"], insensitive=["orders"], unlisted="drop")
    with pytest.raises(ic.SchemaError, match=r"column 'orders' has lists of objects, .*a row per object"):
        ic.anonymize(frames()[kind], schema, models=[ic.KAnonymity(3)])


def test_a_field_and_a_column_of_one_name_are_refused(tmp_path):
    path = tmp_path / "twice.jsonl"
    path.write_text('{"a": {"b": 1}, "a.b": 2}\n')
    with pytest.raises(TableError, match="several columns of one name"):
        read_table(path)


def test_objects_beside_other_values_are_refused():
    frame = pd.DataFrame({"age": [1, 2, 3], "home": [{"zip": "1"}, "2", None]})
    with pytest.raises(TableError, match="column 'home' has objects beside other values"):
        ic.anonymize(frame, ic.Schema(quasi=["age"], unlisted="keep"), models=[ic.KAnonymity(1)])


def test_a_table_without_objects_stays_the_same_object():
    table = pl.DataFrame({"a": [1], "b": ["x"]})
    assert flat(table, "t") is table


def test_a_name_that_is_an_object_is_told_its_fields():
    with pytest.raises(
        ic.SchemaError, match=r"'profile' is an object; its fields are columns, as 'profile.age'"
    ):
        ic.anonymize(
            pl.DataFrame(PEOPLE), ic.Schema(quasi=["profile"], unlisted="drop"), models=[ic.KAnonymity(2)]
        )
