"""Columns are found by name letter by letter, whatever a name means to a library or a database."""

from __future__ import annotations

import ast
import datetime as dt
from collections.abc import Iterable
from itertools import pairwise

import polars as pl
import pytest
from polars.testing import assert_frame_equal

import incrowd as ic
from crossed import quick
from database_tables import PLACES, fetched, holding
from engine_tables import MAKERS, in_order_of_codes, same
from incrowd.core.io.columns import address, column_named, columns_named
from incrowd.core.io.files import CsvFormat
from incrowd.engines import MemoryEngine, engine_for
from incrowd.release.tables.counting import count_cells
from incrowd.release.verification import verify
from package_sources import nodes, place, sources

# Two names of each row could be taken for one another.
PATTERNS = ["^a$", "a", "*", "^.*$", "^(?i)A$", "^b", "b$", "^b$", "b"]
QUOTED = [
    "a.b",
    "`a`.b",
    'q"x',
    "it's",
    "a;b",
    "a,b",
    " a",
    "a b ",
    "{a}",
    "$1",
    "?",
    "%s",
    "\\",
    "[x]",
    "ä\n",
    "е",
    "e",
]
TAKEN = [
    "", "len", "count", "literal", "__key", "key", "n", "first", "c0", "c1", "q0", "k0", "r0", "o0", "f0", "known",
    "meant", "deviates", "class", "size", "suppressed", "file_index", "file_row_number", "filename", "incrowd rows",
    "incrowd_released_keys", "t", "index", "value", "place", "NULL", "select", "rowid", "_rowid_", "year=2024",
]  # fmt: skip
CASES = ["a", "A", "ä", "Ä", "İ", "i", "ß", "ss"]
ALL = list(dict.fromkeys([*PATTERNS, *QUOTED, *TAKEN, *CASES]))


def table(names) -> pl.DataFrame:
    """Twelve rows; no two columns are alike."""
    return pl.DataFrame(
        {
            name: [f"{j}:{row % (2 + j % 3)}" if row else None for row in range(12)]
            for j, name in enumerate(names)
        }
    )


def schema(names):
    """The first half are quasi-identifiers, two more sensitive attributes."""
    half = len(names) // 2
    return ic.Schema(quasi=names[:half], sensitive=names[half : half + 2], unlisted="keep")


def held_by_databases(names):
    """Names that DuckDB and others tell apart: none is empty, none differs by case alone."""
    return list({name.lower(): name for name in names if name}.values())


def test_an_address_is_that_of_one_column():
    for frame in (table(ALL), table(ALL).lazy()):
        for name in ALL:
            assert frame.select(column_named(name)).lazy().collect().columns == [name]
            assert frame.drop(address(name)).lazy().collect().columns == [
                other for other in ALL if other != name
            ]
        assert frame.select(columns_named(reversed(ALL))).lazy().collect().columns == ALL[::-1]


@pytest.mark.slow
@pytest.mark.parametrize("engine", sorted(set(MAKERS) - {"SparkEngine"}))
def test_odd_names_are_counted_and_recoded_as_in_memory(engine, tmp_path):
    names = held_by_databases(ALL) if engine in ("SqlEngine", "RecodedTable") else ALL
    half = len(names) // 2
    frame = table(names)
    (tmp_path / "in").mkdir()
    result = MAKERS[engine](frame, tmp_path / "in")
    for order in ([*names[half:], *names[:half]], names):
        roles = schema(order)
        expected, frequency = (
            MemoryEngine(frame).count(roles, joint=True).frequency,
            engine_for(result).count(roles, joint=True).frequency,
        )
        same(in_order_of_codes(expected), in_order_of_codes(frequency))
    if engine == "RecodedTable":
        return
    one, other = (
        ic.anonymize(each, roles, [ic.KAnonymity(2)], max_suppression=0.9) for each in (frame, result)
    )
    file, policy = tmp_path / "out.parquet", tmp_path / "policy.toml"
    other.write(file)
    assert_frame_equal(one.table, pl.read_parquet(file), check_row_order=engine != "SqlEngine")
    one.policy.write(policy)
    assert verify(file, policy).classes == one.privacy.classes
    applied = ic.apply_recoding(other.recoding, frame, one.policy)
    assert_frame_equal(one.table, applied.table)


@pytest.mark.slow
@pytest.mark.parametrize("kind", ["pandas", "pyarrow"])
def test_odd_names_in_other_frames(kind, tmp_path):
    frame = table(ALL)
    source = frame.to_pandas() if kind == "pandas" else frame.to_arrow()
    roles = schema(ALL)
    one, other = (
        ic.anonymize(each, roles, [ic.KAnonymity(2)], max_suppression=0.9).table for each in (frame, source)
    )
    assert list(other.columns if kind == "pandas" else other.column_names) == one.columns
    rows = pl.DataFrame(other)
    # Polars gives an empty name of another library a number.
    rows.columns = one.columns
    assert_frame_equal(one, rows)
    written = MemoryEngine(other).write(tmp_path / "out.csv", tmp_path / "out.csv", CsvFormat())
    assert written.columns == one.columns


@pytest.mark.slow
@pytest.mark.parametrize("kind", quick(PLACES, "sqlite"))
def test_odd_names_in_databases(kind, request):
    url = request.getfixturevalue("postgres") if kind == "postgresql" else None
    # PostgreSQL and SQLite hold no empty name or none that differs by case from another; nor does DuckDB.
    names = held_by_databases(ALL)
    if kind == "mysql":
        # No name begins or ends with a blank there, and marks on letters tell none apart.
        names = [name for name in names if name == name.strip() and name not in ("Ä", "İ")]
    frame, roles = table(names), schema(names[::-1])
    one = ic.anonymize(frame, roles, [ic.KAnonymity(2)], max_suppression=0.9)
    with holding(kind, frame, url) as held:
        other = ic.anonymize(held, roles, [ic.KAnonymity(2)], max_suppression=0.9)
        assert_frame_equal(one.table, fetched(other.table), check_row_order=False)
        if kind != "relation":
            other.into("made", force=True)
            assessment = ic.assess(held.database.table("made"), roles, [ic.KAnonymity(2)])
            assert assessment.classes == one.privacy.classes


@pytest.mark.slow
@pytest.mark.parametrize("kind", quick(PLACES, "duckdb"))
def test_odd_names_in_count_tables(kind, request):
    """People are counted, and numbers summed, in columns of any name: a text never becomes SQL."""
    url = request.getfixturevalue("postgres") if kind == "postgresql" else None
    names = [name for name in held_by_databases(ALL) if name == name.strip() and name not in ("Ä", "İ")]
    # A database is asked about every third name.
    names = names if kind == "relation" else names[::3]
    frame = table(names).with_columns(pl.int_range(pl.len()).alias(names[0]))
    with holding(kind, frame, url) as held:
        for one, other in pairwise(names[1:]):
            schema = ic.Schema(quasi=[one], insensitive=[names[0]], person=other, unlisted="drop")
            layout = ic.CountTable("t", rows=[f"{one}:0"], sum=names[0])
            here, there = (count_cells(engine_for(rows), schema, layout) for rows in (frame, held))
            assert here.people.tolist() == there.people.tolist()
            assert here.largest.tolist() == there.largest.tolist()
            assert here.values.tolist() == there.values.tolist()


@pytest.mark.slow
def test_odd_names_on_spark(spark):
    # Patterns, quotes, points, names of our own and names that differ by case, in one job.
    names = ["^a$", "a", "*", "A", "a.b", "`a`", "c0", "q0", "", "count", "ä b", 'q"']
    frame = table(names)
    schema = ic.Schema(quasi=names[:1] + names[4:6], sensitive=["a"], unlisted="keep")
    one = ic.anonymize(frame, schema, [ic.KAnonymity(2)], max_suppression=0.9)
    held = spark.createDataFrame(
        frame.rename(dict(zip(names, [f"f{j}" for j in range(len(names))], strict=True))).to_arrow()
    )
    other = ic.anonymize(held.toDF(*names), schema, [ic.KAnonymity(2)], max_suppression=0.9)
    fetched_rows = pl.DataFrame(
        pl.from_arrow(other.table.toDF(*(f"f{j}" for j in range(len(names)))).toArrow())
    )
    fetched_rows.columns = names
    assert_frame_equal(one.table, fetched_rows, check_row_order=False)


@pytest.mark.slow
def test_odd_names_in_csv_files(tmp_path):
    """Whole and streamed, written and read again, and verified."""
    frame, roles = table(ALL), schema(ALL[::-1])
    source = tmp_path / "in.csv"
    frame.write_csv(source, null_value="")
    whole = ic.anonymize(source, roles, [ic.KAnonymity(2)], max_suppression=0.9)
    parts = tmp_path / "in"
    parts.mkdir()
    frame.write_csv(parts / "1.csv", null_value="")
    streamed = ic.anonymize(parts, roles, [ic.KAnonymity(2)], max_suppression=0.9)
    whole.write(tmp_path / "one.csv")
    streamed.write(tmp_path / "two.csv")
    assert (tmp_path / "one.csv").read_bytes() == (tmp_path / "two.csv").read_bytes()
    whole.policy.write(tmp_path / "policy.toml")
    assert verify(tmp_path / "one.csv", tmp_path / "policy.toml").classes == whole.privacy.classes


def test_a_partition_may_have_an_odd_name(tmp_path):
    for value in "xy":
        folder = tmp_path / f"^p%24={value}"
        folder.mkdir()
        pl.DataFrame({"^q$": ["1", "1", "2"], "p": [value * 2] * 3}).write_parquet(folder / "rows.parquet")
    schema = ic.Schema(quasi=["^q$"], sensitive=["^p$"], insensitive=["p"])
    release = ic.anonymize(tmp_path, schema, [ic.KAnonymity(2)])
    rows = release.table.frame.collect()
    assert rows["^p$"].to_list() == list("xxxyyy")
    assert rows["p"].to_list() == ["xx"] * 3 + ["yy"] * 3


def test_a_name_with_nul_is_refused_where_we_have_such_names():
    frame = pl.DataFrame({"\0first": ["a"], "b": ["c"]})
    with pytest.raises(ic.SchemaError, match=r"column '\\x00first' has the character NUL"):
        ic.assess(frame.lazy(), ic.Schema(quasi=["b"]))


# --- the source ---------------------------------------------------------------------------------------

_TAKES_NAMES = {"select", "drop", "group_by", "sort", "unique", "over", "partition_by", "gather_every"}
_ADDRESSED = {"core/io/columns.py"}


def by_name(node: ast.expr) -> bool:
    """Whether an argument is a name, or several, that the source does not spell out."""
    if isinstance(node, ast.Starred):
        return by_name(node.value)
    if isinstance(node, ast.Constant):
        return isinstance(node.value, str) and (node.value == "*" or node.value.startswith("^"))
    last = node.attr if isinstance(node, ast.Attribute) else node.id if isinstance(node, ast.Name) else ""
    if isinstance(node, ast.List | ast.Tuple):
        return any(map(by_name, node.elts))
    return last.endswith(("name", "names", "quasi")) or (
        isinstance(node, ast.Attribute) and last == "columns"
    )


def found_in(every: Iterable[ast.AST]) -> list[int]:
    """Lines where a column is addressed by a text that a user may have chosen."""
    lines = []
    for node in every:
        if not isinstance(node, ast.Call) or not isinstance(node.func, ast.Attribute):
            continue
        owner = node.func.value.id if isinstance(node.func.value, ast.Name) else ""
        if node.func.attr == "col" and owner in ("pl", "nw"):
            plain = all(isinstance(arg, ast.Constant) and isinstance(arg.value, str) for arg in node.args)
            wrong = not plain or any(map(by_name, node.args))
        elif node.func.attr in _TAKES_NAMES and owner not in ("np", "numpy", "ui"):
            wrong = any(map(by_name, node.args))
        else:
            wrong = False
        wrong |= any(
            key.arg in ("on", "left_on", "right_on", "subset", "by") and by_name(key.value)
            for key in node.keywords
        )
        if wrong:
            lines.append(node.lineno)
    return lines


def test_columns_are_addressed_by_the_helper_alone():
    paths = {place(path).as_posix(): path for path in sources()}
    wrong = {place: found_in(nodes(path)) for place, path in paths.items() if place not in _ADDRESSED}
    assert {place: lines for place, lines in wrong.items() if lines} == {}


@pytest.mark.parametrize(
    "wrong", ["pl.col(name)", "pl.col('*')", "f.select(names)", "f.join(g, on=names)", "f.drop(*a.names)", "f.select(f.columns)"]
)  # fmt: skip
def test_the_guard_sees(wrong):
    assert found_in(ast.walk(ast.parse(wrong))) == [1]


def test_days_of_people_whose_column_looks_like_a_pattern_are_counted():
    days = pl.Series([dt.date(2020, 1, 1 + n // 2) if n % 3 else None for n in range(12)])
    raw = pl.DataFrame({"age": [n // 6 for n in range(12)], "^p.*$": days})
    schema = ic.Schema(["age"], person="^p.*$")
    release = ic.anonymize(raw.lazy(), schema, "k-anonymity:1")
    assert release.privacy.people == ic.anonymize(raw, schema, "k-anonymity:1").privacy.people
