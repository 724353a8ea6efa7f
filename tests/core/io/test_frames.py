"""A release holds nothing of rows and columns that were dropped, suppressed or recoded before."""

from __future__ import annotations

import contextlib
import io
import pickle

import narwhals as nw
import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.feather
import pyarrow.parquet
import pytest

import incrowd as ic
from incrowd.core.io.frames import without_traces, written_anew
from incrowd.release.policy.policy import Policy

MARK = "SECRET"
ROWS = 120
LIVE = [row % 2 == 0 for row in range(ROWS)]
SMALL = int.from_bytes(MARK.encode() + b"\1\0", "little")
"""A number whose bytes are the mark."""


def number(row: int, small: int) -> int:
    return small if LIVE[row] else SMALL + row


def text(row: int, word: str) -> str:
    return f"{word} of a live row, number {row % 4}" if LIVE[row] else f"{MARK} of a row that is gone, {row}"


def raw() -> pl.DataFrame:
    """Rows to be halved, with a rare zip code among the remaining rows that will be suppressed."""
    rows = range(ROWS)
    zips = [text(row, "zip") for row in rows]
    zips[0] = f"{MARK} zip code of one live person"
    return pl.DataFrame(
        {
            "name": [f"{MARK} name of person {row}" for row in rows],
            "zip": zips,
            "age": [number(row, row % 3) for row in rows],
            "note": [text(row, "note") for row in rows],
            "short": [f"n{row % 3}" if LIVE[row] else f"{MARK}{row}" for row in rows],
            "kind": pl.Series([text(row, "kind") for row in rows], dtype=pl.Categorical),
            "amount": [number(row, row) for row in rows],
            "share": np.array([number(row, row) for row in rows]).view(np.float64),
            "tags": [[text(row, "tag")] for row in rows],
            "place": [{"street": text(row, "street"), "house": number(row, row)} for row in rows],
            "scan": [text(row, "scan").encode() for row in rows],
            "s": [f"s{row % 5}" for row in rows],
        }
    )


def polars(*, nested: bool = True) -> pl.DataFrame:
    """A filtered frame, blanked before that where rows go, with values beneath the missing cells."""
    table = raw() if nested else raw().drop("tags", "place", "scan")
    live = pl.Series(LIVE)
    blanked = table.with_columns(
        pl.when(live).then(pl.col(name)).alias(name) for name in ("note", "short", "amount")
    )
    mask = [keep or row % 8 == 1 for row, keep in enumerate(LIVE)]
    blanked = blanked.with_columns(
        pl.when(live).then(pl.col(name)).otherwise(pl.lit(None)).alias(name)
        for name in table.columns
        if name not in ("s", "zip", "age")
    ).with_columns(
        zip=pl.when(live).then("zip").otherwise(pl.lit("zip of a live row, number 2")),
        age=pl.when(live).then("age").otherwise(1),
    )
    return blanked.filter(pl.Series(mask))


def arrow() -> pa.Table:
    """A slice, with metadata and a dictionary."""
    whole = pl.concat([raw().filter(~pl.Series(LIVE)), raw().filter(pl.Series(LIVE))]).to_arrow()
    fields = [field.with_metadata({"x": MARK}) for field in whole.schema]
    table = whole.cast(pa.schema(fields, metadata={"pandas": MARK})).slice(ROWS // 2)
    amounts = pa.array([SMALL] * len(table), pa.int64())
    mask = pa.py_buffer(np.packbits([row % 2 for row in range(len(table))], bitorder="little").tobytes())
    hidden = pa.Array.from_buffers(pa.int64(), len(table), [mask, amounts.buffers()[1]]).filter(
        pa.array([row % 2 == 0 for row in range(len(table))])
    )
    hidden = pa.Array.from_buffers(
        pa.int64(), len(table), [pa.py_buffer(bytes(len(table))), amounts.buffers()[1]]
    )
    return table.set_column(table.column_names.index("amount"), "amount", hidden)


def pandas() -> pd.DataFrame:
    """Filtered, with an index, attributes and unused categories, and masked values."""
    whole = raw().drop("tags", "place", "scan").to_pandas()
    whole["kind"] = whole["kind"].astype("category")
    whole["note"] = whole["note"].astype(pd.ArrowDtype(pa.string()))
    whole["amount"] = whole["amount"].astype("Int64")
    whole.loc[[not live for live in LIVE], "amount"] = None
    whole.loc[[row % 4 == 0 for row in range(ROWS)], "amount"] = SMALL
    whole.loc[[row % 4 == 0 for row in range(ROWS)], "amount"] = None
    table = whole.set_index(pd.Index([f"{MARK} {row}" for row in range(ROWS)], name=MARK))[LIVE]
    table.attrs = {"x": MARK}
    table["note"].attrs = {"x": MARK}
    return table


def written(table) -> dict[str, bytes]:
    """Return a frame in every form of exchange."""
    forms = {f"pickle {protocol}": pickle.dumps(table, protocol) for protocol in range(2, 6)}
    buffer = io.BytesIO()
    if isinstance(table, pl.DataFrame):
        for kind, save in (("ipc", table.write_ipc), ("parquet", table.write_parquet)):
            save(buffer := io.BytesIO(), compression="uncompressed")
            forms[kind] = buffer.getvalue()
        for level in (pl.CompatLevel.oldest(), pl.CompatLevel.newest()):
            forms |= {
                f"arrow {level}, {form}": made
                for form, made in written(table.to_arrow(compat_level=level)).items()
            }
    elif isinstance(table, pd.DataFrame):
        table.to_parquet(buffer, compression=None)
        forms["parquet"] = buffer.getvalue()
        table.to_feather(buffer := io.BytesIO(), compression="uncompressed")
        forms["feather"] = buffer.getvalue()
        forms |= {f"arrow, {form}": made for form, made in written(pa.Table.from_pandas(table)).items()}
    else:
        with pa.ipc.new_file(buffer, table.schema) as file:
            file.write_table(table)
        forms["ipc"] = buffer.getvalue()
        # PyArrow writes no views to Parquet, and before version 25 no lists of nothing but nulls.
        with contextlib.suppress(pa.ArrowNotImplementedError):
            pa.parquet.write_table(table, buffer := io.BytesIO(), compression="none")
            forms["parquet"] = buffer.getvalue()
    return forms


def leaks(table) -> list[str]:
    return [form for form, content in written(table).items() if MARK.encode() in content]


SCHEMA = ic.Schema(quasi={"zip": None, "age": None}, sensitive=["s"], identifying=["name"], unlisted="keep")


def anonymized(table):
    return ic.anonymize(
        table,
        SCHEMA,
        [ic.KAnonymity(2)],
        ic.Optimal(),
        levels={"zip": 0},
        max_suppression=0.2,
        suppressed="keep",
    ).table


def applied(table):
    asked = Policy(SCHEMA, (ic.KAnonymity(2),), ic.Optimal(), 0.2).with_levels({"zip": 0})
    return ic.apply_recoding(ic.anonymize(table, asked).recoding, table, asked).table


def anatomized(table):
    schema = ic.Schema(quasi=["age"], sensitive=["s"], identifying=["name", "zip"], unlisted="keep")
    release = ic.anatomize(table, schema, [ic.LDiversity(2)])
    return [release.quasi_table, release.sensitive_table]


def processed(table):
    return ic.ensure_privacy(table, SCHEMA, t=1.0, k=1).table


def randomized(table):
    import narwhals as nw

    frame = nw.from_native(table, eager_only=True).drop("name", "zip").to_native()
    return ic.randomize(frame, {"s": ic.RandomizedResponse(1.0, [f"s{i}" for i in range(5)])}).table


@pytest.mark.parametrize("make", [polars, arrow, pandas])
def test_the_inputs_hold_the_mark(make):
    """Else nothing could be found below."""
    assert leaks(make().drop(columns=["name", "zip"]) if make is pandas else make().drop(["name", "zip"]))


@pytest.mark.few(3)
@pytest.mark.parametrize("job", [anonymized, applied, anatomized, processed, randomized])
@pytest.mark.parametrize("make", [polars, arrow, pandas])
def test_nothing_that_went_is_handed_on(make, job):
    tables = job(make())
    for table in tables if isinstance(tables, list) else [tables]:
        assert not leaks(table)
        assert len(table)


def test_a_lazy_frame_is_collected_without_traces():
    lazy = anonymized(polars(nested=False).lazy())
    assert isinstance(lazy, pl.LazyFrame)
    assert not leaks(lazy.collect())
    assert not leaks(lazy.collect(engine="streaming"))


def test_files_hold_nothing_that_went(tmp_path):
    release = ic.anonymize(
        polars(nested=False),
        SCHEMA,
        [ic.KAnonymity(2)],
        ic.Optimal(),
        levels={"zip": 0},
        max_suppression=0.2,
        suppressed="keep",
    )
    release.write(tmp_path / "r.parquet")
    content = pl.read_parquet(tmp_path / "r.parquet")
    assert content.equals(release.table)
    assert MARK.encode() not in (tmp_path / "r.parquet").read_bytes()


@pytest.mark.parametrize(
    "values",
    [
        ["a", None, ""],
        [True, None],
        [1.5, None, float("nan")],
        [b"x", None],
        [[1, None], None, []],
        [{"a": "x", "b": None}, None],
        [None, None],
        [],
    ],
)
def test_what_is_written_anew_is_the_same(values):
    series = pl.Series("a b", values)
    again = written_anew(series)
    assert again.equals(series, check_names=True, null_equal=True)
    assert again.dtype == series.dtype


# --- categories ------------------------------------------------------------------------------------------


def categories(kind: str, *, ordered: bool) -> object:
    """Rows 3 to 9 of a table with unused categories of the first rows, where mid comes before low."""
    names = ["low", f"{MARK} one", "mid", f"{MARK} two", "high"]
    if not ordered:
        names = [f"{MARK} two", "mid", "low", f"{MARK} one", "high"]
    cells = [f"{MARK} one", f"{MARK} two", "mid", *["mid", "low", None, "high", "mid", "low", "low"]]
    rest = {"age": [1] * 10, "s": [*"uvwuvuvuvw"]}
    if kind == "polars":
        dtype = pl.Enum(names) if ordered else pl.Categorical
        return pl.DataFrame({"c": pl.Series(cells, dtype=dtype), **rest})[3:]
    if kind == "pandas":
        column = pd.Series(pd.Categorical(cells, pd.Index(names, name=MARK), ordered=ordered))
        return pd.DataFrame({"c": column, **rest})[3:]
    codes = pa.array([None if cell is None else names.index(cell) for cell in cells], pa.int8())
    column = pa.DictionaryArray.from_arrays(codes, pa.array(names), ordered=ordered)
    return pa.table({"c": column, **rest})[3:]


def names_of(table) -> tuple[list[str], bool]:
    """Return the categories of column c as a file shows them, and whether the categories have an order."""
    if isinstance(table, pd.DataFrame):
        assert table["c"].cat.categories.name is None
        return table["c"].cat.categories.tolist(), table["c"].cat.ordered
    if isinstance(table, pl.DataFrame):
        ordered = isinstance(table["c"].dtype, pl.Enum)
        table = table.to_arrow()
    else:
        ordered = table["c"].type.ordered
    return table["c"].combine_chunks().dictionary.to_pylist(), ordered


def kept(table, job):
    schema = ic.Schema(quasi=["age"], sensitive=["s"], unlisted="keep")
    if job == "anatomize":
        return ic.anatomize(table, schema, [ic.LDiversity(2)]).quasi_table
    if job == "ensure_privacy":
        return ic.ensure_privacy(table, schema, t=1.0, k=1).table
    if job == "randomize":
        return ic.randomize(table, {"s": ic.RandomizedResponse(1.0, ["u", "v", "w"])}).table
    release = ic.anonymize(table, schema, [ic.KAnonymity(2)])
    return (
        ic.apply_recoding(release.recoding, table, release.policy).table if job == "apply" else release.table
    )


@pytest.mark.few(6)
@pytest.mark.parametrize("job", ["anonymize", "apply", "anatomize", "ensure_privacy", "randomize"])
@pytest.mark.parametrize("ordered", [True, False])
@pytest.mark.parametrize("kind", ["polars", "pandas", "arrow"])
def test_a_column_of_categories_comes_back_with_those_that_its_rows_have(kind, ordered, job):
    table = categories(kind, ordered=ordered)
    if kind != "polars":
        assert leaks(table)
    result = kept(table, job)
    assert not leaks(result)
    names, told = names_of(result)
    assert told is ordered
    if kind == "polars" and not ordered:
        # Polars numbers them anew in every file, by the rows of that file.
        assert result["c"].dtype == pl.Categorical
        assert sorted(names) == ["high", "low", "mid"]
    else:
        # The order that was declared, or that of the alphabet; not that of the raw rows.
        assert names == (["low", "mid", "high"] if ordered else ["high", "low", "mid"])
    values = [
        "" if pd.isna(value) else value for value in nw.from_native(result, eager_only=True)["c"].to_list()
    ]
    assert sorted(values) == ["", "high", "low", "low", "low", "mid", "mid"]


@pytest.mark.parametrize(
    "values",
    [
        [3, 1, None],
        [1.5, -2.0],
        [True, False],
        pd.to_datetime(["2021-01-01", "2020-01-01"]),
        ["b", "a", ""],
        [None, None],
        [],
    ],
)
def test_categories_of_pandas_that_are_no_texts(values):
    table = pd.DataFrame({"c": pd.Categorical(values)})
    again = without_traces(nw.from_native(table), {"c": nw.from_native(table)["c"]})
    pd.testing.assert_frame_equal(again, table)


def test_categories_that_are_intervals_become_text():
    table = pd.DataFrame({"c": pd.cut([1, 2, 3, 4, np.nan], 2)})
    again = without_traces(nw.from_native(table), {"c": nw.from_native(table)["c"]})
    assert again["c"][:4].tolist() == [str(value) for value in table["c"][:4]]
    assert again["c"].isna().tolist() == [False] * 4 + [True]


@pytest.mark.parametrize("values", [[3, 1, None], [b"b", b"a"], [True, None], [None, None], []])
@pytest.mark.parametrize("chunks", [1, 2])
def test_dictionaries_of_arrow_that_are_no_texts(values, chunks):
    kind = None if any(value is not None for value in values) else pa.string()
    array = pa.array(values, kind).dictionary_encode()
    table = pa.table({"c": pa.chunked_array([array] * chunks)})
    again = without_traces(nw.from_native(table), {"c": nw.from_native(table)["c"]})
    assert again.schema == table.schema
    assert again["c"].to_pylist() == table["c"].to_pylist()


def test_a_dictionary_of_arrow_that_differs_from_chunk_to_chunk():
    one, two = (pa.array(values).dictionary_encode() for values in (["b", "a"], ["c", "b"]))
    table = pa.table({"c": pa.chunked_array([one, two])})
    again = without_traces(nw.from_native(table), {"c": nw.from_native(table)["c"]})
    assert again["c"].to_pylist() == ["b", "a", "c", "b"]
    assert again["c"].chunk(0).dictionary.to_pylist() == ["a", "b", "c"]
