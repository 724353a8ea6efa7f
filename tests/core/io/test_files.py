"""CSV files read and written, against Python's own csv module."""

from __future__ import annotations

import csv
import io
import stat

import duckdb
import pandas as pd
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

import incrowd as ic
from incrowd.core.errors import TableError
from incrowd.core.io.files import CsvFormat, read_table, write_table
from incrowd.core.io.streams import scan, stream_table
from incrowd.core.io.targets import writing

CELLS = st.one_of(
    st.sampled_from(
        [
            "",
            " ",
            "a",
            "0",
            "00501",
            "None",
            "NA",
            "?",
            "1.50",
            "-",
            '"',
            '""',
            "a,b",
            "c;d",
            "e\nf",
            "g\r\nh",
            "é",
            "=1",
        ]
    ),
    st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\0\r"), max_size=6),
)


@st.composite
def written(draw):
    """A table of texts, and a CSV file of the table in another program's style."""
    columns = draw(st.integers(2, 4))
    rows = draw(st.lists(st.lists(CELLS, min_size=columns, max_size=columns), min_size=1, max_size=8))
    delimiter = draw(st.sampled_from(",;\t|"))
    quoting = draw(st.sampled_from([csv.QUOTE_MINIMAL, csv.QUOTE_ALL]))
    buffer = io.StringIO(newline="")
    writer = csv.writer(
        buffer, delimiter=delimiter, quoting=quoting, lineterminator=draw(st.sampled_from(["\n", "\r\n"]))
    )
    writer.writerow([f"c{j}" for j in range(columns)])
    writer.writerows(rows)
    return rows, delimiter, quoting, buffer.getvalue()


@given(written(), st.sampled_from(["utf-8", "utf-8-sig", "utf-16"]))
def test_every_cell_is_read_as_it_is_written(tmp_path_factory, table, encoding):
    rows, delimiter, quoting, text = table
    path = tmp_path_factory.mktemp("csv") / "t.csv"
    path.write_bytes(text.encode(encoding))
    frame, result = read_table(path, CsvFormat(delimiter, "utf-8" if encoding == "utf-8-sig" else encoding))
    assert frame.height == len(rows)
    expected = [tuple(row) for row in csv.reader(io.StringIO(text, newline=""), delimiter=delimiter)][1:]
    read = [tuple("" if cell is None else cell for cell in row) for row in frame.rows()]
    assert read == expected
    if quoting == csv.QUOTE_ALL:
        # A quoted empty field is an empty text and not missing.
        assert frame.null_count().row(0) == (0,) * frame.width
    assert result.delimiter == delimiter


@given(written())
def test_what_is_written_reads_back_the_same(tmp_path_factory, table):
    rows, delimiter, _, _ = table
    folder = tmp_path_factory.mktemp("csv")
    frame = pl.DataFrame(rows, schema=[f"c{j}" for j in range(len(rows[0]))], orient="row").with_columns(
        c0=pl.when(pl.col("c0") == "?").then(None).otherwise(pl.col("c0"))
    )
    for name in ("t.csv", "t.csv.gz", "t.parquet"):
        write_table(frame, folder / name, folder / name, CsvFormat(delimiter))
        again, _ = read_table(folder / name, CsvFormat(delimiter))
        assert again.equals(frame)


@pytest.mark.parametrize(
    ("text", "delimiter"),
    [
        ("a,b;c\n1,2;3\n", ","),
        ("a;b\n1,5;2\n2,5;3\n", ";"),
        ('a\tb\n"x, y\tz"\t1\n', "\t"),
        ("a|b|c\n1|2|3\n", "|"),
        ("only\n1\n2\n", ","),
    ],
)
def test_the_delimiter_is_found(tmp_path, text, delimiter):
    (tmp_path / "t.csv").write_text(text)
    _, result = read_table(tmp_path / "t.csv")
    assert result.delimiter == delimiter


def test_a_blank_behind_the_delimiter_is_no_part_of_the_value(tmp_path):
    (tmp_path / "t.csv").write_text("39, State-gov, ?\n50,  x , 007\n")
    frame, _ = read_table(tmp_path / "t.csv", CsvFormat(", ", names=("a", "b", "c")))
    assert frame.rows() == [("39", "State-gov", "?"), ("50", "x", "007")]


def test_names_must_fit(tmp_path):
    (tmp_path / "t.csv").write_text("1,2\n")
    with pytest.raises(TableError, match="3 column names were given for 2 fields"):
        read_table(tmp_path / "t.csv", CsvFormat(names=("a", "b", "c")))


def test_what_is_no_text_is_said(tmp_path):
    (tmp_path / "t.csv").write_bytes(b"a,b\n1,\x00\n")
    with pytest.raises(TableError, match="NUL bytes"):
        read_table(tmp_path / "t.csv")
    (tmp_path / "t.parquet").write_bytes(b"PAR1 but not really")
    with pytest.raises(TableError, match="not a readable Parquet file"):
        read_table(tmp_path / "t.parquet")
    (tmp_path / "l.csv").write_text("a,b\nx,ł\n")
    frame, _ = read_table(tmp_path / "l.csv")
    with pytest.raises(TableError, match="cannot be written in latin-1"):
        write_table(frame, tmp_path / "o.csv", tmp_path / "o.csv", CsvFormat(",", "latin-1"))


def test_a_file_is_replaced_whole_or_not_at_all(tmp_path):
    target = tmp_path / "out.csv"
    with writing(target) as temporary:
        assert stat.S_IMODE(temporary.stat().st_mode) == 0o600
        temporary.write_text("one")
        assert not target.exists()
    assert target.read_text() == "one"
    with pytest.raises(KeyboardInterrupt), writing(target, force=True) as temporary:  # noqa: PT012
        temporary.write_text("two")
        raise KeyboardInterrupt
    assert [path.name for path in tmp_path.iterdir()] == ["out.csv"]
    assert target.read_text() == "one"
    with pytest.raises(TableError, match="does not exist"), writing(tmp_path / "no" / "out.csv"):
        pass


ALONE = ["x", None, "y", None, None, 'q"', "x", None]


@pytest.mark.parametrize("name", ["t.csv", "t.csv.gz", "t.parquet"])
@pytest.mark.parametrize("stream", [False, True])
def test_missing_values_of_a_file_with_one_column_are_rows(tmp_path, name, stream):
    frame, path = pl.DataFrame({"a": ALONE}), tmp_path / name
    if stream:
        stream_table(frame.lazy(), path, path, CsvFormat())
    else:
        write_table(frame, path, path, CsvFormat())
    assert read_table(path)[0].equals(frame)
    opened = scan(path)
    assert opened.frame.collect().equals(frame)
    if name == "t.csv":
        # No other program skips one of them.
        text = path.read_text()
        assert len(list(csv.reader(io.StringIO(text)))) == len(ALONE) + 1
        assert all(csv.reader(io.StringIO(text)))
        assert len(pl.read_csv(path)) == len(pd.read_csv(path)) == len(ALONE)
        assert duckdb.sql(f"SELECT count(*) FROM '{path}'").fetchall() == [(len(ALONE),)]


@pytest.mark.parametrize(
    ("text", "names", "rows"),
    [
        ("a\nx\n\ny\n", (), ["x", None, "y"]),
        ("a\nx\n\n", (), ["x", None]),
        ("a\r\nx\r\n\r\n\r\ny", (), ["x", None, None, "y"]),
        ('a\n""\nx\n', (), [None, "x"]),
        ("\n\na\nx\n\n", (), ["x", None]),
        ("\nx\n\n", ("a",), [None, "x", None]),
        ("a\n\n\n", (), [None, None]),
    ],
)
def test_a_blank_line_is_a_missing_value_where_there_is_one_column(tmp_path, text, names, rows):
    path = tmp_path / "t.csv"
    path.write_bytes(text.encode())
    asked = CsvFormat(names=names)
    assert read_table(path, asked)[0]["a"].to_list() == rows
    opened = scan(path, asked)
    assert opened.frame.collect()["a"].to_list() == rows


@pytest.mark.parametrize("stream", [False, True])
@pytest.mark.parametrize("name", ["out.csv", "out.csv.gz"])
def test_a_csv_has_no_place_for_nul(tmp_path, stream, name):
    table = pl.DataFrame({"q": ["a", "a"], "note": ["x", "secret\0cell"]})
    release = ic.anonymize(
        table.lazy() if stream else table, ic.Schema(quasi=["q"], insensitive=["note"]), [ic.KAnonymity(2)]
    )
    with pytest.raises(TableError, match=r"out\.csv(\.gz)?: a value has the character NUL") as caught:
        release.write(tmp_path / name)
    assert "secret" not in str(caught.value)
    assert list(tmp_path.iterdir()) == []
    release.write(tmp_path / "out.parquet")
