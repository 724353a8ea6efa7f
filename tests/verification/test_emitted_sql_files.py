"""Scripts read DuckDB's own kinds of files, with any names of columns, and nothing else."""

from __future__ import annotations

import json

import polars as pl
import pytest

import incrowd as ic
from crossed import quick
from emitted_sql import failed, verdict
from incrowd.release.verification import checks_as_sql, verify
from policy_texts import K2, entry, policy_text

ROWS = [("é", "1"), ("é", "2"), ("b", "1"), ("b", "2")]
CHANGED = [*ROWS[:3], ("c", "2")]


def written(path, rows, names=("q", "s")):
    """Write rows of texts as the name of the file says."""
    table = pl.DataFrame(dict(zip(names, zip(*rows, strict=True), strict=True)))
    match path.name.split("."):
        case [_, "parquet"]:
            table.write_parquet(path)
        case [_, "jsonl" | "ndjson"]:
            lines = [json.dumps(dict(zip(names, row, strict=True))) for row in rows]
            path.write_text("\n".join(lines) + "\n")
        case [encoding, "csv"]:
            path.write_bytes(table.write_csv().encode(encoding))
    return path


def given(path, names=("q", "s"), **options):
    policy = path.parent / "p.toml"
    policy.write_text(policy_text([entry(names[0], "quasi"), entry(names[1], "sensitive")], [K2]))
    return {"path": path, "policy_path": policy, **options}


@pytest.mark.slow
@pytest.mark.parametrize(
    ("name", "encoding"),
    [
        ("t.jsonl", None),
        ("t.ndjson", None),
        ("utf-8.csv", None),
        ("latin-1.csv", "latin-1"),
        ("utf-16.csv", None),
        ("utf-16.csv", "utf-16"),
        ("utf-16-le.csv", "utf-16-le"),
    ],
)
def test_duckdb_reads_it_by_itself(tmp_path, name, encoding):
    options = given(written(tmp_path / name, ROWS), encoding=encoding)
    assert verify(**options).keeps_limits
    script = checks_as_sql(**options)
    assert verdict(script)
    written(tmp_path / name, CHANGED)
    assert not verify(**options).keeps_limits
    assert not verdict(script)
    assert not verdict(checks_as_sql(**options))


@pytest.mark.parametrize(
    ("name", "encoding"),
    [
        ("cp1252.csv", "cp1252"),
        ("utf-16-be.csv", "utf-16-be"),
        ("t.xlsx", None),
        ("t.dta", None),
        ("t.feather", None),
    ],
)
def test_the_way_out_is_named_of_what_it_does_not_read(tmp_path, name, encoding):
    written(tmp_path / name, ROWS)
    with pytest.raises(ic.ParameterError, match="into a Parquet or CSV file, or a DuckDB database"):
        checks_as_sql(**given(tmp_path / name, encoding=encoding))


def test_signs_that_duckdb_does_not_know_in_latin_1_are_refused(tmp_path):
    written(tmp_path / "latin-1.csv", [("\x85", "1"), ("\x85", "2")])
    options = given(tmp_path / "latin-1.csv", encoding="latin-1")
    assert verify(**options).keeps_limits
    with pytest.raises(ic.ParameterError, match="written otherwise"):
        checks_as_sql(**options)


@pytest.mark.few(1)
@pytest.mark.parametrize("form", ["utf-8.csv", "t.parquet"])
@pytest.mark.parametrize(
    "names", quick([("a", "A"), ("", "s"), (" q", "s "), ("q", "Q")], ("a", "A"), (" q", "s "))
)
def test_columns_that_duckdb_calls_otherwise_are_found_where_they_were(tmp_path, form, names):
    options = given(written(tmp_path / form, ROWS, names), names)
    assert verify(**options).keeps_limits
    script = checks_as_sql(**options)
    assert verdict(script)
    written(tmp_path / form, CHANGED, names)
    assert not verify(**options).keeps_limits
    assert not verdict(script)
    # A file whose columns moved is not read as if they had not.
    written(tmp_path / form, [row[::-1] for row in ROWS], names[::-1])
    if "AS file(" in script:
        assert failed(script)[0] == "the columns are where they were: released"
    assert verdict(checks_as_sql(**options)) == verify(**options).keeps_limits


def test_blanks_around_values_are_no_part_of_them(tmp_path):
    path = tmp_path / "t.csv"
    path.write_text("q, s\na, 1\na , 2\n")
    options = given(path, delimiter=", ")
    assert verify(**options).keeps_limits
    script = checks_as_sql(**options)
    assert verdict(script)
    path.write_text("q, s\na, 1\nab, 2\n")
    assert not verdict(script)


@pytest.mark.slow
def test_keys_of_json_lines_are_its_columns(tmp_path):
    """A later key is a column too many, and a removed key is missed."""
    path = written(tmp_path / "t.jsonl", ROWS)
    options = given(path)
    script = checks_as_sql(**options)
    path.write_text(path.read_text() + '{"q": "b", "s": "1", "name": "Ann"}\n')
    policy = options["policy_path"]
    policy.write_text(policy.read_text() + "[columns.name]\nrole = 'identifying'\n")
    assert not verify(**options).keeps_limits
    assert failed(checks_as_sql(**options)) == ["columns too many"]
    written(path, [(value,) for _, value in ROWS], ["s"])
    assert "columns that are not in the file any more: released" in failed(script)
    written(path, ROWS, ("a", "A"))
    with pytest.raises(ic.ParameterError, match="written otherwise"):
        checks_as_sql(**given(path, ("a", "A")))


def test_numbers_and_what_is_missing_in_json_lines(tmp_path):
    path = tmp_path / "t.jsonl"
    lines = [{"q": 1.5, "s": "x"}, {"q": 1.5}, {"q": None, "s": True}, {"s": "y", "q": None}]
    path.write_text("\n".join(map(json.dumps, lines)))
    options = given(path)
    assert verify(**options).keeps_limits
    assert verdict(checks_as_sql(**options))
