"""Numbers and dates in other spellings: every engine and the verifier read a declared spelling."""

from __future__ import annotations

import json
import random
import re
from fractions import Fraction

import numpy as np
import polars as pl
import pytest

import incrowd as ic
from crossed import quick
from incrowd.core.reading.spellings import Spelling
from incrowd.core.table.domain import Dictionary, Domain
from incrowd.engines import engine_for
from incrowd_verify.spellings import Spelling as Verified

DATES = {
    ("%d.%m.%Y", "05.03.2020"): "2020-03-05",
    ("%d.%m.%Y", "5.3.2020"): "2020-03-05",
    ("%m/%d/%Y", "03/05/2020"): "2020-03-05",
    ("%d/%m/%y", "05/03/71"): "1971-03-05",
    ("%Y-%m-%d %H:%M:%S", "2020-03-05 00:05:00"): "2020-03-05T00:05:00",
    ("%Y-%m-%dT%H:%M:%SZ", "2017-01-01T06:00:42Z"): "2017-01-01T06:00:42",
    ("%d.%m.%Y %H:%M:%S.%f", "05.03.2020 01:02:03.25"): "2020-03-05T01:02:03.25",
    ("%b-%Y", "Mar-2018"): "2018-03-01",
    ("%m/%d/%Y %I:%M %p", "03/05/2020 01:30 PM"): "2020-03-05T13:30:00",
    ("%d.%m.%Y", "31.02.2020"): None,
    ("%d.%m.%Y", "2020-03-05"): None,
    ("%Y%m%d", "20200305"): "2020-03-05",
    ("%G-W%V", "2020-W53"): "2020-12-28",
    ("%G-W%V-%u", "2021-W01-7"): "2021-01-10",
    ("%GW%V", "2021W53"): None,
}
NUMBERS = {
    (",", ".", "1.234,5"): "1234.5",
    (",", ".", "1.234"): "1234",
    (",", ".", "-1.234.567,80"): "-1234567.8",
    (",", ".", "12.34,5"): None,
    (",", None, "0,50"): "0.5",
    (",", None, "1.5"): None,
    (".", ",", "1,234.5"): "1234.5",
    (".", ",", "1,23"): None,
    (".", ",", "$1,000"): "1000",
    (".", ",", "-$1,000"): "-1000",
    (".", None, "12 %"): "12",
    (".", None, "+007"): "7",
    (".", None, "-0.0"): "0",
    (".", None, "5 kg"): None,
    (".", None, ""): None,
    (",", " ", "1 234,5 €"): "1234.5",
    (",", " ", "1\u202f234,5"): "1234.5",
    (".", "'", "1'234"): "1234",
    (None, "_", "1_000"): "1000",
    (".", None, "$5%"): None,
    (".", None, "\u22123"): "-3",
    (None, ".", "1.234,5"): "1234.5",
    (None, ".", "3.434.830"): "3434830",
    (None, ".", "1.5"): None,
    (None, ".", "45.000 TL"): "45000",
    (None, ".", "R$ 45.000"): "45000",
    (None, ".", "45.000 kr."): "45000",
    (".", None, "12 PLN"): "12",
    (".", None, "12 PAT"): None,
    (".", None, "$. 5"): None,
}


@pytest.mark.parametrize("reader", [Spelling, Verified])
@pytest.mark.parametrize(("written", "plain"), DATES.items(), ids=str)
def test_dates_are_read_as_declared(reader, written, plain):
    pattern, text = written
    given = reader(pattern, None, None)
    assert (given.read if reader is Spelling else given.plain)(text) == plain


@pytest.mark.parametrize("reader", [Spelling, Verified])
@pytest.mark.parametrize(("written", "plain"), NUMBERS.items(), ids=str)
def test_numbers_are_read_as_declared(reader, written, plain):
    decimal, thousands, text = written
    given = reader(None, decimal, thousands)
    assert (given.read if reader is Spelling else given.plain)(text) == plain


def test_both_readers_agree_on_texts_of_signs_and_digits():
    draw = random.Random(7)
    signs = "0123456789" * 3 + ".,.,   '_+-−$€%"
    read = 0
    for _ in range(5_000):
        text = "".join(draw.choice(signs) for _ in range(draw.randint(1, 9)))
        settings = (None, draw.choice([None, ".", ","]), draw.choice([None, ",", ".", " ", "'", "_"]))
        if settings[2] == (settings[1] or "."):
            continue
        ours = Spelling(*settings).read(text)
        assert ours == Verified(*settings).plain(text), (text, settings)
        read += ours is not None
        assert ours is None or Fraction(ours) is not None
    assert read > 125, "the texts are not all nonsense"


def domain_of(texts: list[str], **settings: object) -> tuple[Domain, list[int]]:
    attribute = ic.Attribute("x", "quasi", **settings)
    domain, ranks = Domain.build(attribute, Dictionary(texts))
    return domain, ranks[:-1].tolist()


def test_texts_that_say_the_same_are_one_value():
    domain, ranks = domain_of(["1.000,0", "1000", "2,5"], decimal=",", thousands=".")
    assert (domain.kind, domain.values, ranks) == ("number", ("2.5", "1000"), [1, 1, 0])
    assert domain.numbers.tolist() == [2.5, 1000]
    domain, ranks = domain_of(["05.03.2020", "4.3.2020", "5.3.2020"], format="%d.%m.%Y")
    assert (domain.kind, domain.values, ranks) == ("date", ("2020-03-04", "2020-03-05"), [1, 0, 1])


def test_points_of_time_that_are_all_midnights_are_days():
    domain, _ = domain_of(["05.03.2020 00:00"], format="%d.%m.%Y %H:%M")
    assert domain.values == ("2020-03-05",)


def test_recipes_take_declared_numbers_and_dates():
    domain, _ = domain_of(
        ["1.234,5", "17"], decimal=",", thousands=".", hierarchy=ic.Hierarchy.intervals(1000)
    )
    assert "[1000, 2000)" in domain.tree.labels
    domain, _ = domain_of(["05.03.2020"], format="%d.%m.%Y", hierarchy=ic.Hierarchy.dates("month"))
    assert "2020-03" in domain.tree.labels


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"format": "%d.%m"}, "give the year"),
        ({"format": "%Y-%m-%d %Q"}, "'%Q' is not read|%Q is not read"),
        ({"format": "%Y%"}, "% is not read"),
        ({"format": "%V-%Y"}, "an ISO week is %G"),
        ({"format": "%G-W%V-%d"}, "an ISO week is %G"),
        ({"format": "%Y", "decimal": ","}, "name one kind"),
        ({"format": "%Y", "kind": "number"}, "makes it a date, but kind says number"),
        ({"decimal": ",", "kind": "date"}, "makes it a number, but kind says date"),
        ({"decimal": ";"}, "decimal must be one of '.', ','"),
        ({"thousands": ".", "decimal": "."}, "the same sign"),
        ({"thousands": "?"}, "what a point means"),
        ({"decimal": ",", "thousands": ","}, "the same sign"),
        ({"format": "?"}, "day comes first"),
        ({"decimal": "?"}, "the decimal sign is not known yet"),
    ],
)
def test_a_spelling_that_makes_no_sense_is_refused(settings, message):
    with pytest.raises(ic.SchemaError, match=message):
        ic.Attribute("x", "quasi", **settings)


@pytest.mark.parametrize(
    "setting",
    ['format = "%d.%m"', 'format = "?"', 'decimal = ";"', 'thousands = "?"', 'decimal = "?"', "decimal = 1",
     'format = "%Y"\ndecimal = ","'],
)  # fmt: skip
def test_the_verifier_refuses_the_same_policies(tmp_path, setting):
    (tmp_path / "release.csv").write_text("x\n1\n1\n")
    (tmp_path / "policy.toml").write_text(
        f'version = 1\n[columns.x]\nrole = "quasi"\n{setting}\n[[models]]\nmodel = "k-anonymity"\nk = 2\n'
    )
    with pytest.raises(ic.PolicyError, match="column 'x'"):
        ic.verify(tmp_path / "release.csv", tmp_path / "policy.toml")
    with pytest.raises(ic.InputError, match=r"column 'x'|columns\.x"):
        ic.Policy.read(tmp_path / "policy.toml")


def test_values_that_are_not_written_so_are_counted_and_not_repeated():
    with pytest.raises(
        ic.SchemaError, match=r"1 of 2 distinct values are no dates written '%d\.%m\.%Y'"
    ) as error:
        domain_of(["05.03.2020", "secret"], format="%d.%m.%Y")
    assert "secret" not in str(error.value)
    with pytest.raises(ic.SchemaError, match=r"1 of 2 .* no dates written '%d %b %Y' \(%b in English\)"):
        domain_of(["5 Jan 2020", "5 Mai 2020"], format="%d %b %Y")
    with pytest.raises(ic.SchemaError, match=r"\(%B and %p in English\)"):
        domain_of(["5 Januar 2020 3 AM"], format="%d %B %Y %I %p")
    with pytest.raises(ic.SchemaError, match="2 different units"):
        domain_of(["$5", "6 €"], decimal=".")
    with pytest.raises(ic.SchemaError, match="2 different units"):
        domain_of(["5", "6 %"], decimal=".")


ROWS = 400
RNG = np.random.default_rng(3)
DAYS = RNG.integers(1, 28, ROWS)
SALARY = RNG.integers(1_000, 9_000, ROWS)
AGE = RNG.integers(20, 60, ROWS)
PLAIN = pl.DataFrame(
    {
        "seen": [f"2020-03-{day:02}" for day in DAYS],
        "worth": [f"{number}.5" for number in SALARY],
        "pay": [str(number) for number in SALARY % 7 * 1000],
        "note": ["n"] * ROWS,
    }
)
SPELLED = pl.DataFrame(
    {
        "seen": [f"{day}.3.2020" for day in DAYS],
        "worth": [f"{number // 1000}.{number % 1000:03},50 €" for number in SALARY],
        "pay": [f"${number:,}" for number in SALARY % 7 * 1000],
        "note": ["n"] * ROWS,
    }
)
HOW = {
    "seen": {"format": "%d.%m.%Y"},
    "worth": {"decimal": ",", "thousands": "."},
    "pay": {"thousands": ","},
}


def with_commas(plain: pl.DataFrame) -> pl.DataFrame:
    """Write the cells of `worth` like a release of the spelled table."""
    worth = pl.col("worth").str.replace_all(", ", "; ", literal=True).str.replace_all(".", ",", literal=True)
    return plain.with_columns(worth)


def measured(release: ic.Release) -> str:
    """Return all measures, with decimal points in the cells of `worth`."""
    said = json.dumps(release.privacy.to_dict())
    return re.sub(r'"worth": "[^"]*"', lambda cell: cell[0].replace(",", "."), said)


def schema(*, spelled: bool, hierarchies: bool = False) -> ic.Schema:
    recipes = (
        {"seen": ic.Hierarchy.dates(), "worth": ic.Hierarchy.intervals(500, 1000)} if hierarchies else {}
    )
    roles = {"seen": "quasi", "worth": "quasi", "pay": "sensitive"}
    return ic.Schema.of_attributes(
        [
            ic.Attribute(name, role, hierarchy=recipes.get(name), **(HOW[name] if spelled else {}))
            for name, role in roles.items()
        ],
        unlisted="drop",
    )


def policy(*, spelled: bool, hierarchies: bool = False, **settings: object) -> ic.Policy:
    models = ["k-anonymity:4", "l-diversity:2", "t-closeness:0.6"]
    return ic.Policy(schema(spelled=spelled, hierarchies=hierarchies), models, **settings)


@pytest.mark.few(1)
@pytest.mark.parametrize("kind", ["memory", "pandas", "lazy", "csv", "parquet", "database"])
def test_every_engine_counts_and_releases_a_spelled_table_like_a_plain_one(kind, tmp_path):
    def opened(frame: pl.DataFrame, name: str):
        if kind == "pandas":
            return frame.to_pandas()
        if kind == "lazy":
            return frame.lazy()
        if kind == "memory":
            return frame
        if kind == "database":
            import duckdb

            with duckdb.connect(tmp_path / f"{name}.db") as con:
                con.register("rows", frame.to_arrow())
                con.execute("CREATE TABLE people AS SELECT * FROM rows")
            return ic.Database(f"duckdb:///{tmp_path}/{name}.db").table("people")
        (frame.write_csv if kind == "csv" else frame.write_parquet)(tmp_path / f"{name}.{kind}")
        return ic.scan(tmp_path / f"{name}.{kind}")

    ours = ic.anonymize(opened(SPELLED, "spelled"), policy(spelled=True))
    plain = ic.anonymize(opened(PLAIN, "plain"), policy(spelled=False))
    assert [d.values for d in ours.frequency.domains] == [d.values for d in plain.frequency.domains]
    assert ours.frequency.sensitive[0].domain.values == plain.frequency.sensitive[0].domain.values
    assert measured(ours) == measured(plain)
    ours.write(tmp_path / "mine.csv")
    plain.write(tmp_path / "theirs.csv")
    mine, theirs = (pl.read_csv(tmp_path / f"{name}.csv", infer_schema=False) for name in ("mine", "theirs"))
    cells = ["seen", "worth"]
    assert mine.select(cells).sort(cells).equals(with_commas(theirs).select(cells).sort(cells))
    assert set(mine["pay"]) == set(SPELLED["pay"]), "sensitive values leave as they came"


@pytest.mark.slow
@pytest.mark.parametrize("hierarchies", [False, True])
@pytest.mark.parametrize("algorithm", ["mondrian", "optimal"])
def test_verify_reads_what_was_declared(tmp_path, hierarchies, algorithm):
    SPELLED.write_csv(tmp_path / "raw.csv")
    release = ic.anonymize(
        tmp_path / "raw.csv",
        policy(
            spelled=True, hierarchies=hierarchies, algorithm=algorithm, max_suppression=0.3, suppressed="keep"
        ),
    )
    release.save(tmp_path / "out")
    checked = ic.verify(
        tmp_path / "out" / "release.csv",
        tmp_path / "out" / "policy.toml",
        against=tmp_path / "raw.csv",
        row_map=tmp_path / "out" / "internal" / "rows.parquet",
    )
    assert checked.ok, checked
    assert not checked.problems
    reached = {finding.model: finding.reached for finding in checked.findings}
    told = {each.model: each.value for each in release.privacy.privacy if each.limit is not None}
    assert reached == pytest.approx(told)
    # A cell that is moved to another day is told.
    wrong = pl.read_csv(tmp_path / "out" / "release.csv", infer_schema=False)
    wrong = wrong.with_columns(seen=pl.lit("2021-01-01"))
    wrong.write_csv(tmp_path / "wrong.csv")
    checked = ic.verify(
        tmp_path / "wrong.csv",
        tmp_path / "out" / "policy.toml",
        against=tmp_path / "raw.csv",
        row_map=tmp_path / "out" / "internal" / "rows.parquet",
    )
    assert any("'seen'" in problem for problem in checked.problems)


def test_a_policy_file_keeps_the_spelling_and_asks_for_it(tmp_path):
    policy(spelled=True).write(tmp_path / "policy.toml")
    again = ic.Policy.read(tmp_path / "policy.toml")
    assert again.schema["worth"] == policy(spelled=True).schema["worth"]
    text = (tmp_path / "policy.toml").read_text()
    (tmp_path / "policy.toml").write_text(text.replace('"%d.%m.%Y"', '"?"'))
    with pytest.raises(ic.PolicyError, match=r"policy\.toml: column 'seen': the order of day and month"):
        ic.Policy.read(tmp_path / "policy.toml")


@pytest.mark.few(1)
@pytest.mark.parametrize("algorithm", ["mondrian", "optimal"])
@pytest.mark.parametrize("hierarchies", [False, True])
def test_the_next_batch_is_read_in_the_same_spelling(tmp_path, algorithm, hierarchies):
    rules = policy(
        spelled=True, hierarchies=hierarchies, algorithm=algorithm, max_suppression=0.3, suppressed="keep"
    )
    first = ic.anonymize(SPELLED, rules)
    batch = ic.apply_recoding(first.recoding, SPELLED, rules)
    assert batch.outside == 0
    same = ic.apply_recoding(
        ic.anonymize(
            PLAIN,
            policy(
                spelled=False,
                hierarchies=hierarchies,
                algorithm=algorithm,
                max_suppression=0.3,
                suppressed="keep",
            ),
        ).recoding,
        PLAIN,
        policy(
            spelled=False,
            hierarchies=hierarchies,
            algorithm=algorithm,
            max_suppression=0.3,
            suppressed="keep",
        ),
    )
    assert batch.table.select("seen", "worth").equals(with_commas(same.table).select("seen", "worth"))


@pytest.mark.slow
def test_utility_attacks_and_population_read_it_too(tmp_path):
    result = ic.anonymize(SPELLED, policy(spelled=True))
    plain = ic.anonymize(PLAIN, policy(spelled=False))
    mine = ic.evaluate(SPELLED, result.table, schema(spelled=True))
    theirs = ic.evaluate(PLAIN, plain.table, schema(spelled=False))
    assert {name: each.value for name, each in mine.utility.items()} == {
        name: each.value for name, each in theirs.utility.items()
    }
    tried = [
        [attempt.to_dict() for attempt in ic.attack(raw, release.table, schema(spelled=spelled), attacks=50)]
        for raw, release, spelled in ((SPELLED, result, True), (PLAIN, plain, False))
    ]
    assert tried[0] == tried[1]
    measures = [
        measured(ic.anonymize(raw, ic.Policy(schema(spelled=spelled), ["k-map:4"]), population=raw))
        for raw, spelled in ((SPELLED, True), (PLAIN, False))
    ]
    assert measures[0] == measures[1]


def test_a_published_policy_says_nothing_of_cells_that_are_labels(tmp_path):
    tree = ic.Hierarchy.from_paths(
        [[f"2020-03-{day:02}", "early" if day < 15 else "late", "*"] for day in range(1, 29)]
    )
    schema = ic.Schema.of_attributes(
        [ic.Attribute("seen", "quasi", hierarchy=tree, format="%d.%m.%Y")], unlisted="drop"
    )
    ic.anonymize(SPELLED, ic.Policy(schema, ["k-anonymity:30"], "optimal")).save(tmp_path / "out")
    folder = tmp_path / "out"
    assert "early" in (folder / "release.csv").read_text()
    for policy_file in (folder / "policy.toml", folder / "internal" / "policy.toml"):
        assert ic.verify(folder / "release.csv", policy_file).ok


@pytest.mark.few(1)
@pytest.mark.parametrize("stream", [False, True])
def test_null_values_are_looked_for_in_what_was_read_too(tmp_path, stream):
    raw = pl.DataFrame(
        {
            "seen": ["05.05.2019 00:00", "06.05.2019 01:00"] * 40,
            "worth": ["99,0", "1.234,5", "?", "7"] * 20,
            "pay": ["99,00", "5", "6", "7"] * 20,
        }
    )
    raw.write_csv(tmp_path / "raw.csv")
    schema = ic.Schema.of_attributes(
        [
            ic.Attribute("seen", "quasi", format="%d.%m.%Y %H:%M"),
            ic.Attribute("worth", "quasi", decimal=",", thousands="."),
            ic.Attribute("pay", "sensitive", decimal=","),
        ],
        null_values=["2019-05-05", "99", "?"],
    )
    table = ic.scan(tmp_path / "raw.csv") if stream else tmp_path / "raw.csv"
    release = ic.anonymize(table, ic.Policy(schema, ["k-anonymity:3"]))
    assert [domain.values for domain in release.frequency.domains] == [
        ("2019-05-06T01:00:00", None),
        ("7", "1234.5", None),
    ]
    assert release.frequency.sensitive[0].domain.values == ("5", "6", "7", None)
    release.save(tmp_path / "out")
    for policy_file in ("policy.toml", "internal/policy.toml"):
        checked = ic.verify(
            tmp_path / "out/release.csv", tmp_path / "out" / policy_file, against=tmp_path / "raw.csv"
        )
        assert checked.ok, checked.problems


def test_typed_columns_need_no_spelling():
    typed = PLAIN.with_columns(pl.col("seen").str.to_date(), pl.col("worth").cast(pl.Float64))
    one = (
        engine_for(typed)
        .count(schema(spelled=True).of_attributes([ic.Attribute("seen", "quasi", format="%d.%m.%Y")]))
        .frequency
    )
    assert one.domains[0].kind == "date"


@pytest.mark.filterwarnings("ignore:PySpark does not yet fully support pandas:FutureWarning")
@pytest.mark.parametrize("blocks", quick([None, 1, 3], None))
def test_spark_reads_what_was_declared(spark, blocks):
    releases = [
        ic.anonymize(spark.createDataFrame(frame.to_arrow()), policy(spelled=spelled), blocks=blocks)
        for frame, spelled in ((SPELLED, True), (PLAIN, False))
    ]
    assert releases[0].privacy.holds
    if blocks == 3:
        # Blocks are cut by a sample, which the texts of the rows decide.
        assert {cell[:8] for (cell,) in releases[0].table.select("seen").collect()} <= {
            "2020-03-",
            "[2020-03",
        }
        return
    cells = [list(map(tuple, each.table.select("seen", "worth").collect())) for each in releases]
    ours, theirs = (pl.DataFrame(rows, ["seen", "worth"], orient="row") for rows in cells)
    assert ours.sort("seen", "worth").equals(with_commas(theirs).sort("seen", "worth"))
