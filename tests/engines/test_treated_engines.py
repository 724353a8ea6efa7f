"""Columns are treated the same wherever the rows are."""

from __future__ import annotations

import contextlib
import datetime as dt
from dataclasses import replace

import polars as pl
import pytest

import incrowd as ic
from crossed import quick
from database_tables import STORES, fetched, holding
from household_reading import SWAP as HOMES_CHANGE
from household_reading import homes, read, schema_of
from incrowd.core.treatments.keys import Secret
from treatment_tables import KEY, MARK, people

MODELS = ["k-anonymity:5", "l-diversity:2"]
PLACES = ["csv", "parquet", "lazy", "pandas", "arrow", "relation", *STORES, "spark"]
SHIFT = {"shift-dates": 45, "by": "person", "key": "env:CLINIC_KEY"}
DAY = dt.date(2020, 2, 28)


def table() -> pl.DataFrame:
    """The people, with visits: a day as text, and another as date."""
    raw = people(200)
    return raw.with_columns(
        came=pl.Series([f"2020-03-{n % 28 + 1:02}" for n in range(200)]),
        went=pl.Series([DAY + dt.timedelta(days=n % 50) for n in range(200)]),
        number=pl.Series([n // 2 for n in range(200)]),
        bonus=pl.col("salary") // 8,
        ward=pl.format("ward {}", pl.col("phone").str.slice(-2)),
        mail=pl.when(pl.col("dx") == "flu").then(None).otherwise(pl.col("mail")),
    )


SCHEMA = ic.Schema(
    quasi={"age": ic.Hierarchy.intervals(10, 20, 40)},
    sensitive=["dx", "salary", "came"],
    insensitive=["phone", "mail", "note", "went", "number", "bonus", "ward"],
    person="pid",
    treatments={
        "pid": {"pseudonym": "hmac", "key": "env:CLINIC_KEY", "length": 14},
        "salary": {"round": 20_000, "top": 0.98, "linked": ["bonus"]},
        "phone": {"keep-last": 1, "linked": ["ward"]},
        "mail": "email-domain",
        "note": "constant:-",
        "came": SHIFT,
        "went": SHIFT,
        "number": {"pseudonym": "hmac", "key": "env:CLINIC_KEY", "form": "digits"},
    },
)


@pytest.fixture(autouse=True)
def _key(monkeypatch):
    monkeypatch.setenv("CLINIC_KEY", KEY)


@contextlib.contextmanager
def at(place, frame, tmp_path, request):
    if place == "spark":
        yield request.getfixturevalue("spark").createDataFrame(frame.to_arrow())
    elif place in (*STORES, "relation"):
        url = request.getfixturevalue("postgres") if place == "postgresql" else None
        with holding(
            place, frame.with_columns(pl.col("went").cast(pl.String)) if place == "sqlite" else frame, url
        ) as held:
            yield held
    elif place in ("csv", "parquet"):
        getattr(frame, f"write_{place}")(tmp_path / f"t.{place}")
        yield ic.scan(tmp_path / f"t.{place}")
    else:
        yield {"lazy": frame.lazy, "pandas": frame.to_pandas, "arrow": frame.to_arrow}[place]()


def rows(found) -> list:
    """All rows as texts, without an order."""
    frame = found if isinstance(found, pl.DataFrame) else pl.DataFrame(found)
    texts = [
        # Whole numbers are floats in pandas once one is missing.
        series.dt.to_string("%Y-%m-%d")
        if series.dtype.is_temporal()
        else series.cast(pl.String).str.strip_suffix(".0")
        for series in frame.get_columns()
    ]
    return sorted(pl.DataFrame(texts).rows(), key=str)


def released(release, place, tmp_path) -> pl.DataFrame:
    if place == "spark":
        return pl.DataFrame(release.table.toArrow())
    if place in (*STORES, "relation"):
        return fetched(release.table)
    release.write(tmp_path / "out.parquet", force=True)
    return pl.read_parquet(tmp_path / "out.parquet")


@pytest.mark.parametrize("place", quick(PLACES, "sqlite"))
@pytest.mark.parametrize("algorithm", quick(["mondrian", "optimal"], "mondrian"))
def test_every_engine_gives_the_same_values(place, algorithm, tmp_path, request):
    frame = table()
    memory = ic.anonymize(frame, SCHEMA, MODELS, algorithm, max_suppression=0.2)
    tokens = {Secret(KEY.encode()).digest(pid.encode()).hex()[:14] for pid in frame["pid"]}
    assert set(memory.table["pid"]) == tokens
    with at(place, frame, tmp_path, request) as source:
        release = ic.anonymize(source, SCHEMA, MODELS, algorithm, max_suppression=0.2)
        result = released(release, place, tmp_path)
    assert rows(result) == rows(memory.table)
    assert release.recoding.treated == memory.recoding.treated
    assert release.privacy.people == memory.privacy.people
    text = result.with_columns(pl.all().cast(pl.String)).write_csv()
    assert MARK not in text
    assert "+49" not in text


@pytest.mark.slow
@pytest.mark.parametrize("place", STORES)
def test_a_new_table_of_the_database_has_the_treated_columns(place, tmp_path, request):
    frame = table()
    memory = ic.anonymize(frame, SCHEMA, MODELS)
    with at(place, frame, tmp_path, request) as source:
        release = ic.anonymize(source, SCHEMA, MODELS)
        release.into("safe", force=True)
        result = source.database.table("safe")
        names = result.columns
        listed = ", ".join(f'CAST("{name}" AS VARCHAR(100))' for name in names)
        outcome = result.fetch(f"SELECT {listed} FROM {result.source}")
    outcome.columns = names
    assert rows(outcome) == rows(memory.table)


@pytest.mark.slow
@pytest.mark.parametrize("place", ["relation", "duckdb", "spark"])
def test_the_next_batch_is_treated_alike_where_it_lies(place, tmp_path, request):
    frame = table()
    policy = ic.Policy(SCHEMA, ["k-anonymity:2"], max_suppression=1.0)
    recoding = ic.anonymize(frame, policy).recoding
    batch = frame[:60].with_columns(salary=pl.col("salary") * 3)
    memory = ic.apply_recoding(recoding, batch, policy)
    with at(place, batch, tmp_path, request) as source:
        applied = ic.apply_recoding(recoding, source, policy)
        result = released(applied, place, tmp_path)
    assert rows(result) == rows(memory.table)


# --- what does not follow from a value -------------------------------------------------------------

AWAY = ["relation", *STORES, "spark"]


def drawn_table() -> pl.DataFrame:
    """Rows with often equal pay and site, a number that tells rows apart, and a `zip` that tells `town`."""
    rows = 300
    pay = pl.Series([None if n % 29 == 0 else 10 * (n % 50) + 3 for n in range(rows)], dtype=pl.Int64)
    return pl.DataFrame(
        {
            "n": range(rows), "age": [20 + n % 40 for n in range(rows)], "pay": pay, "bonus": pay * 2,
            "noisy": [float(n % 7) * 100 for n in range(rows)], "mean": [n % 100 for n in range(rows)],
            "sum": pay * 7, "job": [None if n % 17 == 0 else "abc"[n % 3] for n in range(rows)],
            "zip": [f"{n % 12:05}" for n in range(rows)], "town": [f"town {n % 12}" for n in range(rows)],
            "site": ["n", "s"] * (rows // 2),
        }
    )  # fmt: skip


SWAP = {"rank-swap": 0.2, "within": "site"}
PLACES_CHANGE = {"record-swap": 0.6, "together": "zip+town"}
DRAWN = ic.Schema(
    {"age": ic.Hierarchy.intervals(10, 20, 40)},
    ["noisy"],
    insensitive=["n", "pay", "bonus", "mean", "sum", "job", "zip", "town", "site"],
    treatments={
        "pay": SWAP, "bonus": {**SWAP, "by": "pay"}, "noisy": "noise:0.5", "mean": "microaggregate:6",
        "sum": {"round": 100, "how": "controlled", "within": "site"}, "job": "pram:0.3",
        "zip": PLACES_CHANGE, "town": PLACES_CHANGE,
    },
)  # fmt: skip


def check_drawn(found: pl.DataFrame, frame: pl.DataFrame) -> None:
    """Compare each column with the promise of the treatment."""
    found, frame = found.sort(pl.col("n").cast(pl.Int64)), frame.sort("n")
    same = {name: found[name].cast(pl.String).equals(frame[name].cast(pl.String)) for name in frame.columns}
    assert [name for name in same if same[name]] == ["n", "site"]
    for site in "ns":
        here = pl.col("site") == site
        before, after = frame.filter(here), found.filter(here)
        assert after["pay"].cast(pl.Int64).sort().equals(before["pay"].sort())
        assert abs(after["sum"].cast(pl.Int64).sum() - before["sum"].sum()) < 100
    numbers = found.select(pl.col("pay", "bonus", "sum").cast(pl.Int64))
    assert (numbers["bonus"] == 2 * numbers["pay"]).drop_nulls().all()
    assert numbers["pay"].null_count() == frame["pay"].null_count()
    assert ((numbers["sum"] - frame["sum"]).abs() < 100).drop_nulls().all()
    assert found["job"].is_null().equals(frame["job"].is_null())
    assert all(town == f"town {int(z)}" for z, town in found.select("zip", "town").rows())
    assert sorted(found["zip"]) == sorted(frame["zip"])
    means = found.group_by("mean").len()["len"]
    assert means.min() >= 6
    noise = found["noisy"].cast(pl.Float64) - frame["noisy"]
    assert abs(float(noise.std()) / (0.5 * float(frame["noisy"].std())) - 1) < 0.25
    # Rows of one value do not share what was drawn.
    assert noise.n_unique() > 150


@pytest.mark.slow
@pytest.mark.parametrize(
    "place", quick(["pandas", "csv", "lazy", *AWAY], "csv", "lazy", "postgresql", "spark")
)
def test_what_is_drawn_is_drawn_everywhere(place, tmp_path, request):
    frame = drawn_table()
    with at(place, frame.with_columns(went=pl.lit("x")), tmp_path, request) as source:
        schema = ic.Schema.of_attributes([*DRAWN.attributes, ic.Attribute("went", "identifying")])
        release = ic.anonymize(source, schema, "k-anonymity:12")
        result = released(release, place, tmp_path)
        check_drawn(result, frame)
        # Whoever asks twice is told the same.
        assert rows(released(release, place, tmp_path)) == rows(result)


# --- what leaves is judged --------------------------------------------------------------------------

NEARLY = quick(["pandas", "csv", "lazy", *AWAY], "csv", "lazy", "relation", "sqlite", "postgresql", "spark")


def ill_table(ages: int) -> pl.DataFrame:
    """Return classes of six rows of three people, where a single row of six has another illness."""
    rows = 6 * ages
    return pl.DataFrame({
        "n": range(rows), "pid": [f"p{n // 2}" for n in range(rows)], "age": [20 + n // 6 for n in range(rows)],
        "ill": ["a", "a", "a", "a", "b", "a"] * ages, "went": ["x"] * rows,
    })  # fmt: skip


def ill_schema(moves: str, **roles: object) -> ic.Schema:
    return ic.Schema(
        ["age"], ["ill"], unlisted="drop", insensitive=["n"],
        treatments={"ill": f"pram:1,matrix=given,moves=b>a:{moves}"}, **roles,
    )  # fmt: skip


def fewest_of(found: pl.DataFrame) -> int:
    rows = found.filter(pl.col("age") != "*")
    return int(rows.group_by("age").agg(pl.col("ill").n_unique())["ill"].min())


@pytest.mark.slow
@pytest.mark.parametrize("place", NEARLY)
def test_no_class_leaves_with_a_single_value_wherever_the_rows_lie(place, tmp_path, request):
    frame = ill_table(3)
    with at(place, frame, tmp_path, request) as source:
        for _ in range(3):
            release = ic.anonymize(source, ill_schema("0.2"), ["k-anonymity:3", "l-diversity:2"])
            outcome = released(release, place, tmp_path)
            assert fewest_of(outcome) == 2
            assert [result.value for result in release.values.results] == [2]
            assert rows(released(release, place, tmp_path)) == rows(outcome)
        with pytest.raises(ic.InfeasibleError, match="of the values that leave"):
            ic.anonymize(source, ill_schema("1"), ["l-diversity:2"])
        # Two classes cannot become homogeneous, and the third one always does.
        many = ic.Schema.of_attributes(
            [replace(each, treatment=None) if each.name == "ill" else each for each in ill_schema("1").attributes],
            unlisted="drop", treatments={"ill": "pram:1,matrix=given,moves=c>a:1"},
        )  # fmt: skip
    last = frame.with_columns(
        ill=pl.when(pl.col("age") == 22, pl.col("ill") == "b").then(pl.lit("c")).otherwise("ill")
    )
    with at(place, last, tmp_path, request) as source:
        release = ic.anonymize(source, many, ["k-anonymity:6", "l-diversity:2"], max_suppression=0.4)
        outcome = released(release, place, tmp_path)
        # As a class of their own, the values that were drawn fail, too: these rows are left out.
        assert "*" not in outcome["age"].to_list()
        assert release.values.suppressed == release.left_out == 6
        assert fewest_of(outcome) == 2


@pytest.mark.few(1)
@pytest.mark.parametrize("place", NEARLY)
def test_people_are_counted_by_what_leaves_wherever_the_rows_lie(place, tmp_path, request):
    frame = ill_table(20).with_columns(
        ill=pl.Series(["abcd"[n // 2 % 4] if n % 3 else "abcde"[n % 5] for n in range(120)])
    )
    schema = ic.Schema(
        ["age"], ["ill"], unlisted="drop", insensitive=["n"], person="pid", treatments={"ill": "pram:0.5"}
    )
    with at(place, frame, tmp_path, request) as source:
        # A class may fail in every draw.
        release = ic.anonymize(source, schema, ic.AlphaKAnonymity(0.9, 2), max_suppression=0.5)
        rows = released(release, place, tmp_path)
    joined = rows.with_columns(pl.col("n").cast(pl.Int64)).join(frame.select("n", "pid"), on="n")
    joined = joined.filter(pl.col("age") != "*")
    people = joined.group_by("age").agg(pl.col("pid").n_unique().alias("all"))
    each = joined.group_by("age", "ill").agg(pl.col("pid").n_unique()).join(people, on="age")
    shares = {result.quantity: result.value for result in release.values.results}
    assert shares["alpha"] == pytest.approx((each["pid"] / each["all"]).max())
    assert shares["k"] == people["all"].min()


@pytest.mark.slow
@pytest.mark.parametrize("place", STORES)
def test_a_new_table_of_the_database_has_what_was_drawn(place, tmp_path, request):
    frame = drawn_table().with_columns(went=pl.lit("x"))
    with at(place, frame, tmp_path, request) as source:
        release = ic.anonymize(
            source,
            ic.Schema.of_attributes([*DRAWN.attributes, ic.Attribute("went", "identifying")]),
            "k-anonymity:12",
        )
        first = fetched(release.table)
        release.into("safe", force=True)
        result = source.database.table("safe")
        listed = ", ".join(f'CAST("{name}" AS VARCHAR(100))' for name in result.columns)
        outcome = result.fetch(f"SELECT {listed} FROM {result.source}")
    outcome.columns = first.columns
    check_drawn(outcome.with_columns(noisy=pl.col("noisy").cast(pl.Float64)), frame.drop("went"))
    assert rows(outcome) == rows(first)


@pytest.mark.slow
@pytest.mark.parametrize("place", quick(["pandas", "csv", "lazy", *AWAY], "pandas", "csv", "duckdb", "spark"))
def test_households_move_wherever_the_rows_lie(place, tmp_path, request):
    raw = homes(2)
    schema = ic.Schema.of_attributes(
        [
            *schema_of({"zip": HOMES_CHANGE, "town": HOMES_CHANGE}).attributes,
            ic.Attribute("went", "identifying"),
        ]
    )
    with at(place, raw.with_columns(went=pl.lit("x")), tmp_path, request) as source:
        frame = released(ic.anonymize(source, schema, "k-anonymity:2"), place, tmp_path)
    moved, able = read(raw, frame.with_columns(pl.col("n").cast(pl.Int64)))
    assert 0.2 * able < moved < 0.6 * able


@pytest.mark.few(5)
@pytest.mark.parametrize("place", ["pandas", "csv", "lazy", *AWAY])
def test_whole_numbers_become_fractions_everywhere(place, tmp_path, request):
    frame = pl.DataFrame({"age": [1] * 6, "n": [3, 4, 6, 7, 8, 11], "went": ["x"] * 6})
    schema = ic.Schema(["age"], identifying=["went"], insensitive=["n"], treatments={"n": "round:2.5"})
    with at(place, frame, tmp_path, request) as source:
        result = released(ic.anonymize(source, schema, "k-anonymity:2"), place, tmp_path)
    assert sorted(result["n"].cast(pl.Float64)) == [2.5, 5, 5, 7.5, 7.5, 10]


@pytest.mark.slow
@pytest.mark.parametrize("place", AWAY)
@pytest.mark.parametrize("algorithm", ["mondrian", "optimal"])
def test_quasi_identifiers_are_treated_everywhere(place, algorithm, tmp_path, request):
    frame = table().select("age", "dx", "salary", "phone", "went", "came").with_columns(
        born=pl.col("went").dt.offset_by("-30y") - pl.duration(days=pl.col("salary") % 9000),
        zip=pl.col("phone").str.slice(-3),
    ).with_columns(pl.col("born").cast(pl.String))  # fmt: skip
    schema = ic.Schema(
        {
            "age": ic.Hierarchy.intervals(20, 40),
            "born": ic.Hierarchy.intervals(10, 30),
            "zip": ic.Hierarchy.prefix(),
        },
        ["dx", "salary"],
        insensitive=["went"],
        unlisted="drop",
        treatments={
            "age": "round:5",
            "born": {"age-at": "went"},
            "zip": "keep-first:1",
            "salary": "round:500",
        },
    )
    memory = ic.anonymize(frame, schema, MODELS, algorithm, max_suppression=0.5)
    with at(place, frame, tmp_path, request) as source:
        release = ic.anonymize(source, schema, MODELS, algorithm, max_suppression=0.5)
        result = released(release, place, tmp_path)
        if algorithm == "optimal":
            policy = ic.Policy(schema, ["k-anonymity:2"], max_suppression=0.5)
            again = ic.apply_recoding(release.recoding, source, policy)
            assert rows(released(again, place, tmp_path)) == rows(result)
    assert rows(result) == rows(memory.table)
    loss, expected = ({name: each.value for name, each in r.utility.items()} for r in (release, memory))
    assert loss == pytest.approx(expected)
    assert len(set(memory.table["born"])) > 1


@pytest.mark.few(1)
@pytest.mark.parametrize("place", AWAY)
def test_what_cannot_be_treated_is_told_before_anything_is_written(place, tmp_path, request):
    schema = ic.Schema(
        ["age"], insensitive=["pay", "town"], unlisted="drop",
        treatments={"pay": {"microaggregate": 40, "within": "town"}},
    )  # fmt: skip
    frame = drawn_table().with_columns(went=pl.lit("x"))
    few = pytest.raises(ic.InputError, match="has fewer than 40 records")
    with at(place, frame, tmp_path, request) as source, few:
        ic.anonymize(source, schema, "k-anonymity:2")


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore:PySpark does not yet fully support pandas:FutureWarning")
def test_blocks_on_spark_have_treated_columns(spark, tmp_path):
    frame = drawn_table().with_columns(phone=pl.format("+49 {}", pl.col("n")))
    schema = ic.Schema(
        ["age"], ["pay"], insensitive=["n", "noisy", "mean", "phone", "job"], unlisted="drop",
        treatments={
            "age": "round:10", "pay": {"round": 100, "top": 300}, "noisy": "noise:0.5", "mean": "microaggregate:6",
            "phone": "pseudonym:key=env:CLINIC_KEY", "job": "redact",
        },
    )  # fmt: skip
    release = ic.anonymize(spark.createDataFrame(frame.to_arrow()), schema, "k-anonymity:12", blocks=2)
    table = pl.DataFrame(release.table.toArrow()).sort("n")
    release.write(tmp_path / "out")
    assert rows(pl.read_parquet(tmp_path / "out" / "*.parquet").select(table.columns)) == rows(table)
    secret = Secret(KEY.encode())
    assert table["phone"].to_list() == [secret.digest(p.encode()).hex()[:16] for p in frame["phone"]]
    assert (
        table["pay"] == (frame["pay"] / 100).round(mode="half_away_from_zero").clip(upper_bound=3) * 100
    ).all()
    assert set(table["job"].drop_nulls()) == {"[redacted]"}
    assert table.group_by("mean").len()["len"].min() >= 6
    assert (table["noisy"] != frame["noisy"]).mean() > 0.9
    assert release.privacy.holds
    assert not set(table["age"]) & {str(age) for age in range(20, 60) if age % 10}
    assert [entry["name"] for entry in release.to_dict()["treatments"]] == [
        "age", "pay", "noisy", "mean", "phone", "job"
    ]  # fmt: skip


def test_blocks_on_spark_refuse_what_they_cannot_judge(spark):
    frame = spark.createDataFrame(table().to_arrow())
    with pytest.raises(ic.ParameterError, match="counts people by column 'pid', and cannot release its"):
        ic.anonymize(frame, SCHEMA.with_attributes(
            replace(each, treatment=None) if each.perturbed else each for each in SCHEMA.attributes
        ), "k-anonymity:2", blocks=2)  # fmt: skip
    drawn = ic.Schema(["age"], ["salary"], unlisted="drop", treatments={"salary": "noise:0.1"})
    with pytest.raises(ic.ParameterError, match="column 'salary' is perturbed"):
        ic.anonymize(frame, drawn, "k-anonymity:2", blocks=2)
