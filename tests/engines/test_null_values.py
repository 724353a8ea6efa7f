"""A null value means missing in a column of every type, in every engine, and in the release."""

from __future__ import annotations

import datetime as dt
from dataclasses import replace
from decimal import Decimal

import polars as pl
import pytest

import incrowd as ic
from database_tables import PLACES, holding
from engine_tables import MAKERS, in_order_of_codes, same
from incrowd.engines import MemoryEngine, engine_for
from incrowd.release.verification import verify

NULLS = ("99", "-1", "1900-01-01", "?", "", "true", "0.1")
DAY, OTHER = dt.date(1900, 1, 1), dt.date(1900, 1, 2)
MIDNIGHT, NOON = dt.datetime(1900, 1, 1), dt.datetime(1900, 1, 1, 12)
# Of each type values that mean missing and values that do not.
CELLS = [
    (pl.Int64, [99, -1], [9, 1, 100]),
    (pl.Int16, [99, -1], [0, 100]),
    (pl.Int32, [99, -1], [0]),
    (pl.Float64, [99.0, -1.0, 0.1, float("nan")], [0.0, 99.5, 1e100]),
    (pl.Float32, [99.0, 0.1], [99.5]),
    (pl.Decimal(10, 2), [Decimal("99.00"), Decimal("-1.00"), Decimal("0.10")], [Decimal("0.99")]),
    (pl.Boolean, [True], [False]),
    (pl.Date, [DAY], [OTHER]),
    (pl.Datetime("us"), [MIDNIGHT], [NOON]),
    (pl.Datetime("us", "UTC"), [MIDNIGHT.replace(tzinfo=dt.UTC)], [NOON.replace(tzinfo=dt.UTC)]),
    (pl.String, ["99", "99.0", "-1.00", "?", "", "1900-01-01T00:00:00.000000"], ["099", "99a", "99\n", " ?"]),
    (pl.Categorical, ["?", "99"], ["a"]),
]  # fmt: skip
ROWS = 2 * max(len(gone) + len(kept) for _, gone, kept in CELLS)
NAMES = [f"c{j}" for j in range(len(CELLS))]


def table(cleaned=False) -> pl.DataFrame:
    """Every value several times, or without null values if `cleaned`."""
    columns = []
    for name, (kind, gone, kept) in zip(NAMES, CELLS, strict=True):
        values = [*([None] * len(gone) if cleaned else gone), *kept, None]
        values = (values * ROWS)[:ROWS]
        columns.append(pl.Series(name, values, dtype=kind, strict=False))
    return pl.DataFrame(columns)


def schema(quasi, sensitive, null_values=NULLS):
    return ic.Schema(quasi=quasi, sensitive=sensitive, null_values=null_values, unlisted="keep")


def column_by_column(quasi, sensitive):
    """The same null values as settings of each column."""
    plain = schema(quasi, sensitive, ())
    return plain.with_attributes(replace(each, missing=NULLS) for each in plain.attributes)


HALVES = [(NAMES[:6], NAMES[6:]), (NAMES[6:], NAMES[:6])]


@pytest.mark.few(1)
@pytest.mark.parametrize("engine", MAKERS)
def test_every_engine_counts_what_means_missing_as_missing(engine, tmp_path):
    # Spark takes long, and has no points of time without a zone from Arrow.
    halves = [(["c0", "c3", "c7"], ["c9", "c10"])] if engine == "SparkEngine" else HALVES
    for quasi, sensitive in halves:
        columns = [*quasi, *sensitive]
        result = MAKERS[engine](table().select(columns), tmp_path)
        expected = (
            MemoryEngine(table(cleaned=True).select(columns)).count(schema(quasi, sensitive, ())).frequency
        )
        for roles in (schema(quasi, sensitive), column_by_column(quasi, sensitive)):
            frequency = engine_for(result).count(roles).frequency
            same(in_order_of_codes(expected), in_order_of_codes(frequency))


@pytest.mark.parametrize("frame", ["pandas", "pyarrow"])
def test_other_frames_count_it_so(frame):
    source = table().to_pandas(use_pyarrow_extension_array=True) if frame == "pandas" else table().to_arrow()
    for quasi, sensitive in HALVES:
        expected = MemoryEngine(table(cleaned=True)).count(schema(quasi, sensitive, ())).frequency
        same(expected, MemoryEngine(source).count(schema(quasi, sensitive)).frequency)


@pytest.mark.few(1)
@pytest.mark.parametrize("kind", PLACES)
def test_every_database_counts_it_so(kind, request):
    url = request.getfixturevalue("postgres") if kind == "postgresql" else None
    columns = ["c0", "c3", "c10"] if kind == "sqlite" else NAMES
    if kind == "mysql":
        # Truth values are whole numbers there.
        columns = [name for name in NAMES if table().schema[name] != pl.Boolean]
    quasi, sensitive = columns[:2], columns[2:]
    expected = MemoryEngine(table(cleaned=True).select(columns)).count(schema(quasi, sensitive, ())).frequency
    with holding(kind, table().select(columns), url) as held:
        for roles in (schema(quasi, sensitive), column_by_column(quasi, sensitive)):
            frequency = engine_for(held).count(roles).frequency
            same(in_order_of_codes(expected), in_order_of_codes(frequency))


def people() -> pl.DataFrame:
    """Four rows with an age and a day that are missing in several ways, with two different scores."""
    return pl.DataFrame(
        {
            "age": [99, None, 99, None, 30, 30, 30, 31, 31, 31],
            "born": pl.Series([DAY, None, None, DAY, *[OTHER] * 6], dtype=pl.Date),
            "score": [99.0, 1.0, None, 99.0, 1.0, 2.0, 3.0, 99.0, 4.0, 5.0],
            "n": range(10),
        }
    )


ASKED = ic.Policy(
    ic.Schema(
        quasi=["age", "born"], sensitive=["score"], insensitive=["n"], null_values=["99", "1900-01-01"]
    ),
    (ic.KAnonymity(2), ic.LDiversity(2)),
    ic.Mondrian(),
    0.5,
)


def figures(assessment):
    return (
        assessment.records,
        assessment.classes,
        assessment.smallest,
        [(measured.model, measured.value) for measured in assessment.privacy[:2]],
    )


@pytest.mark.few(1)
@pytest.mark.parametrize("ending", ["csv", "parquet"])
@pytest.mark.parametrize("engine", sorted(set(MAKERS) - {"RecodedTable", "SparkEngine"}))
def test_classes_are_those_that_the_released_file_shows(engine, ending, tmp_path):
    (tmp_path / "in").mkdir()
    release = ic.anonymize(MAKERS[engine](people(), tmp_path / "in"), ASKED)
    file = tmp_path / f"out.{ending}"
    release.write(file)
    written = pl.read_csv(file, infer_schema=False) if ending == "csv" else pl.read_parquet(file)
    # Read by hand: a reader who knows the null values.
    nulls = {"99", "99.0", "1900-01-01", ""}
    rows = [
        tuple(None if cell in nulls else cell for cell in row) for row in written.select("age", "born").rows()
    ]
    assert sorted({rows.count(row) for row in rows}) == [3, 4]
    by_hand = (10, 3, 3, [("k-anonymity", 3), ("l-diversity", 2)])
    assert figures(release.privacy) == by_hand
    again = ic.assess(file, ASKED.schema, ASKED.models)
    assert figures(again) == by_hand
    assert [measured.value for measured in again.privacy] == [each.value for each in release.privacy.privacy]
    ASKED.write(tmp_path / "policy.toml")
    checked = verify(file, tmp_path / "policy.toml")
    assert checked.ok
    assert (checked.records, checked.classes) == by_hand[:2]
    assert [finding.reached for finding in checked.findings] == [3, 2]


def test_a_value_and_what_means_missing_are_not_one_class():
    frame = pl.DataFrame({"age": [99, 99, None, None, 30, 30, 30]})
    schema = ic.Schema(quasi=["age"], null_values=["99"])
    assert ic.anonymize(frame, schema, [ic.KAnonymity(2)]).privacy.classes == 2
    frame = pl.DataFrame({"age": [99, None, 30, 30, 30]})
    assert ic.anonymize(frame, schema, [ic.KAnonymity(2)]).table["age"].to_list() == [
        None,
        None,
        "30",
        "30",
        "30",
    ]


def test_a_batch_beside_a_release_is_measured_as_both_read(tmp_path):
    """A row of 99 beside a release without missing ages is unique, for any type of age."""
    schema = ic.Schema(quasi=["age"], sensitive=["s"], null_values=["99"])
    policy = ic.Policy(schema, (ic.KAnonymity(2),), ic.Optimal(), 0.5)
    first = pl.DataFrame({"age": [None, None, 30, 30], "s": [1, 2, 3, 4]})
    release = ic.anonymize(first, policy)
    lonely = first.with_columns(age=pl.lit(None, pl.Int64)).head(1)
    for batch in (lonely, lonely.with_columns(age=pl.lit(99)), lonely.with_columns(age=pl.lit("99.0"))):
        applied = ic.apply_recoding(
            release.recoding, pl.concat([batch, batch]), policy, previous_release=release.table
        )
        assert applied.table["age"].to_list() == [None, None]
        assert applied.privacy.smallest == 2
        with pytest.raises(ic.InfeasibleError, match="1 in classes that fail"):
            ic.apply_recoding(
                release.recoding, batch, policy, previous_release=release.table.filter(pl.col("age") == "30")
            )


@pytest.mark.parametrize(
    ("style", "hierarchy", "ages"),
    [
        ("mean", None, [98, 100, 1, 1]),
        ("ancestor", ic.Hierarchy.from_paths([["98", "99", "*"], ["100", "99", "*"], ["1", "1", "*"]]), [98, 100, 1, 1]),
    ],
)  # fmt: skip
def test_a_cell_that_would_read_as_missing_is_refused(style, hierarchy, ages):
    schema = ic.Schema(quasi={"age": hierarchy}, null_values=["99.0"])
    with pytest.raises(ic.SchemaError, match="column 'age': a released cell would read as missing"):
        ic.anonymize(pl.DataFrame({"age": ages}), schema, [ic.KAnonymity(2)], output=style, ends="exact")


def test_a_population_and_an_evaluation_read_the_same_null_values():
    schema = ic.Schema(quasi=["age"], null_values=["99"])
    frame = pl.DataFrame({"age": [99, None, 30, 30]})
    everybody = pl.DataFrame({"age": [99.0, 99.0, None, 30.0, 30.0, 30.0]})
    assessment = ic.assess(frame, schema, [ic.KMap(3)], population=everybody)
    assert assessment.privacy[0].value == 3
    measured = ic.evaluate(frame, pl.DataFrame({"age": ["99.0", None, "30", "30"]}), schema)
    assert (measured.classes, measured.utility["loss"].value) == (2, 0.0)


def test_the_mark_of_a_suppressed_cell_is_no_null_value(tmp_path):
    """A suppressed record is in no class, and a record of missing values is in a class of such records."""
    (tmp_path / "policy.toml").write_text(
        'version = 1\nnull_values = ["?", "*"]\n[columns.age]\nrole = "quasi"\n[[models]]\nmodel = "k-anonymity"\nk = 2\n'
    )
    (tmp_path / "ages.csv").write_text("age\n*\n*\n")
    with pytest.raises(ic.SchemaError, match=r"null_values names '\*', which marks a suppressed cell"):
        ic.Schema(quasi=["age"], null_values=["?", "*"])
    with pytest.raises(ic.SchemaError, match=r"policy.toml: null_values names '\*'"):
        ic.Policy.read(tmp_path / "policy.toml")
    with pytest.raises(ic.PolicyError, match=r"policy.toml: null_values holds '\*'"):
        ic.verify(tmp_path / "ages.csv", tmp_path / "policy.toml")


CODES = """version = 1
unlisted = "drop"
max_suppression = 0.1
[columns.age]
role = "quasi"
missing = ["99"]
hierarchy = { intervals = [10, 20] }
[columns.sex]
role = "quasi"
[columns.pay]
role = "sensitive"
missing = ["9", "-9"]
decimal = ","
[columns.visits]
role = "insensitive"
missing = ["99"]
treat = { round = 5 }
[[models]]
model = "k-anonymity"
k = 3
[[models]]
model = "l-diversity"
l = 2
"""


def coded(*, blank: bool) -> pl.DataFrame:
    """Ages of which 99 is missing, sexes of which 9 is a value, pays of which 9 is missing."""
    ages = [str(20 + n % 30) if n % 7 else "99" for n in range(90)]
    pays = [f"{n % 5},50" if n % 6 else ("9", "-9,0")[n % 12 == 0] for n in range(90)]
    visits = [n % 50 if n % 9 else 99 for n in range(90)]
    gone = {"99": None, "9": None, "-9,0": None, 99: None} if blank else {}
    return pl.DataFrame(
        {
            "age": [gone.get(cell, cell) for cell in ages],
            "sex": ["129"[n % 3] for n in range(90)],
            "pay": [gone.get(cell, cell) for cell in pays],
            "visits": [gone.get(cell, cell) for cell in visits],
        }
    )


@pytest.mark.few(1)
@pytest.mark.parametrize("ending", ["frame", "csv", "parquet", "lazy"])
def test_codes_of_a_column_are_missing_there_alone(tmp_path, ending):
    (tmp_path / "policy.toml").write_text(CODES)
    policy = ic.Policy.read(tmp_path / "policy.toml")
    policy.write(tmp_path / "again.toml")
    assert ic.Policy.read(tmp_path / "again.toml").schema["pay"].missing == ("9", "-9")

    def release(*, blank: bool):
        rows = coded(blank=blank)
        if ending == "frame":
            return ic.anonymize(rows, policy)
        file = tmp_path / f"{blank}.{'parquet' if ending == 'parquet' else 'csv'}"
        rows.write_parquet(file) if ending == "parquet" else rows.write_csv(file)
        lazy = pl.scan_csv(file, infer_schema=False) if ending == "lazy" else ic.scan(file)
        return ic.anonymize(lazy, policy)

    one, other = release(blank=False), release(blank=True)
    assert figures(one.privacy) == figures(other.privacy)
    file, raw = tmp_path / "out.csv", tmp_path / "raw.csv"
    one.write(file)
    coded(blank=False).write_csv(raw)
    cells = pl.read_csv(file, infer_schema=False)
    assert not set(cells["age"].drop_nulls()) & {"99"}
    assert "9" in cells["sex"].to_list()
    assert {"9", "-9,0"} <= set(cells["pay"])
    assert cells["visits"].null_count() == 10
    checked = verify(file, tmp_path / "policy.toml", against=raw)
    assert (checked.ok, checked.classes) == (True, one.privacy.classes)
    assert [finding.reached for finding in checked.findings] == [
        each.value for each in one.privacy.privacy[:2]
    ]


@pytest.mark.slow
def test_codes_of_a_column_are_read_by_a_batch_utility_and_attacks(tmp_path):
    (tmp_path / "policy.toml").write_text(CODES)
    policy = replace(ic.Policy.read(tmp_path / "policy.toml"), keep_order=True)
    one, other = (ic.anonymize(coded(blank=blank), policy) for blank in (False, True))
    losses = [
        ic.evaluate(coded(blank=blank), each.table, policy.schema, aligned=True).utility["loss"].value
        for blank, each in ((False, one), (True, other))
    ]
    assert losses[0] == losses[1] > 0
    rates = [
        ic.attack(coded(blank=blank), each.table, policy.schema)
        for blank, each in ((False, one), (True, other))
    ]
    assert rates[0] == rates[1]
    recoding = one.recoding
    late = [ic.apply_recoding(recoding, coded(blank=blank), policy).table["age"] for blank in (False, True)]
    assert late[0].equals(late[1], null_equal=True)


def test_a_cell_that_reads_as_a_code_of_its_column_is_refused():
    column = ic.Attribute("age", "quasi", output="mean", missing=("35",), ends="exact")
    schema = ic.Schema.of_attributes([column])
    with pytest.raises(
        ic.SchemaError, match="'age': a released cell would read as missing, since missing or"
    ):
        ic.anonymize(pl.DataFrame({"age": [30, 40]}), schema, [ic.KAnonymity(2)])


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"role": "quasi", "missing": ("9", "*")}, "which marks a suppressed cell"),
        ({"role": "quasi", "missing": (9,)}, "a list of texts"),
        ({"role": "quasi", "missing": "9"}, "a list of texts"),
        ({"role": "person", "missing": ("9",)}, "names or weighs people"),
        ({"role": "quasi", "key_of": ("person",), "missing": ("9",)}, "names or weighs people"),
    ],
)
def test_wrong_codes_of_a_column_are_refused(settings, message, tmp_path):
    with pytest.raises(ic.SchemaError, match=f"'age': .*{message}"):
        ic.Attribute("age", **settings)
    lines = "".join(
        f"{name} = {list(value) if isinstance(value, tuple) else value!r}\n"
        for name, value in settings.items()
    )
    (tmp_path / "policy.toml").write_text(
        f'version = 1\n[columns.age]\n{lines}[columns.sex]\nrole = "quasi"\n[[models]]\nmodel = "k-anonymity"\nk = 2\n'
    )
    (tmp_path / "out.csv").write_text("age,sex\n1,2\n")
    with pytest.raises(ic.PolicyError, match="missing"):
        verify(tmp_path / "out.csv", tmp_path / "policy.toml")
