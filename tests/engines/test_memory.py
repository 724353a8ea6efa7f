"""Frames in memory with columns of mixed values, which no typed column can hold."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.parquet
import pytest

import incrowd as ic
from incrowd.core.io.shuffle import RandomOrder
from incrowd.core.io.streams import Files
from incrowd.engines import memory

ODD = {
    "integers beyond 64 bits": pd.DataFrame({"odd": [10**30, 1, 2, 3]}, dtype=object),
    "complex numbers": pd.DataFrame({"odd": [1 + 2j, 1j, 2j, 3j]}),
    "a lone surrogate": pd.DataFrame({"odd": pd.Series(["\ud800", "a", "b", "c"], dtype=object)}),
    "mixed": pd.DataFrame({"odd": pd.Series([1, "a", 2.5, None], dtype=object)}),
    "lists": pl.DataFrame({"odd": [[1.5], [2], [3], None]}),
    "structs": pl.DataFrame({"odd": [{"a": 1}] * 4}),
    "bytes": pl.DataFrame({"odd": [b"x"] * 4}),
    "objects": pl.DataFrame({"odd": pl.Series([object()] * 4, dtype=pl.Object)}),
    "lists of Arrow": pa.table({"odd": [[1.5], [2], [3], None]}),
}


def beside(table, values):
    """Add a column of texts."""
    if isinstance(table, pd.DataFrame):
        return table.assign(q=values)
    if isinstance(table, pl.DataFrame):
        return table.with_columns(q=pl.Series(values))
    return table.append_column("q", pa.array(values))


@pytest.mark.few(10)
@pytest.mark.parametrize("what", ODD)
@pytest.mark.parametrize("role", ["quasi", "sensitive", "insensitive"])
def test_odd_columns_are_named(what, role, tmp_path):
    """An error that names the column, or a release; never another exception."""
    table = beside(ODD[what], list("abab"))
    roles = {"quasi": ["q", "odd"]} if role == "quasi" else {"quasi": ["q"], role: ["odd"]}
    models = [ic.KAnonymity(2)]
    if role != "insensitive":
        with pytest.raises(ic.InputError, match="column 'odd'"):
            ic.anonymize(table, ic.Schema(**roles), models)
        return
    said = []
    try:
        ic.anonymize(table, ic.Schema(**roles), models).write(tmp_path / "out.parquet")
    except ic.InputError as error:
        said.append(str(error))
    assert all("column 'odd'" in words and "ud800" not in words for words in said)


def released(monkeypatch):
    monkeypatch.setattr(memory, "_MANY", 1)
    table = pl.DataFrame(
        {
            "q": [f"q{n % 4}" for n in range(40)],
            "s": list("ab") * 20,
            "note": [f"note {n}" for n in range(40)],
        }
    )
    schema = ic.Schema(quasi=["q"], sensitive=["s"], insensitive=["note"])
    return ic.anonymize(table, schema, ["k-anonymity:5", "l-diversity:2"])


def test_a_large_file_is_opened_to_be_judged(monkeypatch, tmp_path):
    release = released(monkeypatch)
    judged = []
    judge = type(release)._judge
    monkeypatch.setattr(
        type(release),
        "_judge",
        lambda self, table, *others: judged.append(table) or judge(self, table, *others),
    )
    release.write(tmp_path / "safe.parquet")
    assert [type(table) for table in judged] == [Files]
    assert pl.read_parquet(tmp_path / "safe.parquet").equals(release.table)


@pytest.mark.parametrize(
    ("column", "value", "error"),
    [("q", "alone", ic.InfeasibleError), ("s", "a", ic.InfeasibleError), ("extra", "a", ic.TableError)],
)
def test_what_a_large_file_says_is_what_is_judged(monkeypatch, tmp_path, column, value, error):
    release = released(monkeypatch)
    write = pl.DataFrame.write_parquet

    def otherwise(self, path):
        rows = pl.int_range(pl.len()) == 0 if column == "q" else pl.lit(value=True)
        before = pl.col(column) if column in self.columns else pl.lit("b")
        write(self.with_columns(pl.when(rows).then(pl.lit(value)).otherwise(before).alias(column)), path)

    monkeypatch.setattr(pl.DataFrame, "write_parquet", otherwise)
    with pytest.raises(error):
        release.write(tmp_path / "safe.parquet")
    assert not list(tmp_path.iterdir())


def test_a_large_file_that_cannot_be_read_to_its_end_is_refused(monkeypatch, tmp_path):
    release = released(monkeypatch)
    write = pl.DataFrame.write_parquet

    def damaging(self, path):
        write(self.select("q", "s", "note"), path)
        column = pyarrow.parquet.read_metadata(path).row_group(0).column(2)
        start = column.dictionary_page_offset or column.data_page_offset
        with path.open("r+b") as file:
            file.seek(start + column.total_compressed_size // 2)
            file.write(bytes(40))

    monkeypatch.setattr(pl.DataFrame, "write_parquet", damaging)
    with pytest.raises(ic.TableError, match="does not read back the same"):
        release.write(tmp_path / "safe.parquet")
    assert not list(tmp_path.iterdir())


@pytest.mark.few(3)
@pytest.mark.random_order
@pytest.mark.parametrize("kind", ["polars", "pandas", "pyarrow"])
@pytest.mark.parametrize(("left_out", "rows"), [(False, 22), (True, 17)])
@pytest.mark.parametrize("moved", [0, 100])
def test_rows_in_another_order_have_the_same_cells(monkeypatch, kind, left_out, rows, moved):
    """Cells of quasi-identifiers are found again, other columns are moved; of few rows all are."""
    monkeypatch.setattr(memory, "_MOVED", moved)
    table = pl.DataFrame({"*": ["a", "b", "c", "a"] * 5, "^a$": [1, 2, 3, 40] * 5, "kept": range(20)})
    table = table.vstack(pl.DataFrame({"*": ["*", "z"], "^a$": [None, 99], "kept": [20, 21]}))
    table = {"polars": table, "pandas": table.to_pandas(), "pyarrow": table.to_arrow()}[kind]
    schema = ic.Schema(quasi=["*", "^a$"], unlisted="keep")
    recoding = ic.anonymize(table, schema, "k-anonymity:2", max_suppression=0.5, keep_order=True).recoding
    counted = memory.MemoryEngine(table).count(schema)
    first = np.arange(counted.frequency.keys) == 0
    result = counted.apply(schema, replace(recoding.without(first), left_out=left_out))
    order = RandomOrder()
    came, after = pl.DataFrame(result.table), pl.DataFrame(result.reordered(order))
    assert after.equals(came[order.rows(len(came))])
    assert len(came) == rows
    assert came["kept"].n_unique() == rows


@pytest.mark.parametrize("columns", [["t"], ["a", "t"], ["t", "c"], ["a", "i", "b"], ["l", "c"]])
def test_rows_that_are_unique_in_some_columns_are_those_of_lone_combinations(columns):
    table = pl.DataFrame({
        "a": [0.0, -0.0, float("nan"), float("nan"), None, 1.5],
        "t": ["x", "x", "y", "y", None, ""],
        "c": pl.Series(["p", "p", "q", None, None, "q"], dtype=pl.Categorical),
        "i": [1, 1, 2, 2, 3, 2**40],
        "b": [True, True, False, None, None, False],
        "l": [[1], [1], [2], [2], None, [3]],
    })  # fmt: skip
    groups = table.group_by(columns).len("rows")
    assert memory.MemoryEngine(table).lone_rows(columns) == (groups["rows"] == 1).sum()


@pytest.mark.parametrize("last", [None, "4"])
def test_texts_of_the_same_number_have_one_rank(last):
    texts = ["1", "2", "2.0", "3", last]
    frequency = memory.MemoryEngine(pl.DataFrame({"n": texts})).count(ic.Schema(quasi=["n"])).frequency
    assert frequency.codes[0][frequency.row_keys].tolist() == [0, 1, 1, 2, 3]
