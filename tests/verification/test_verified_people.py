"""A release with a person column in the policy: verify counts people, or says that no count is possible."""

from __future__ import annotations

import datetime as dt
from pathlib import Path

import duckdb
import polars as pl
import pytest

import incrowd as ic
from crossed import crossed
from incrowd.core.errors import TableError
from incrowd.release.verification import verify
from people_readings import people_table
from people_releases import ALGORITHMS, models_of_people, near, other_models, read, saved, schema


@pytest.mark.slow
@pytest.mark.parametrize(("algorithm", "seed"), crossed(ALGORITHMS, range(3)))
def test_figures_are_those_of_the_release_and_of_people_as_sets(tmp_path, algorithm, seed):
    table = people_table(seed, people=70)
    pairs = models_of_people()
    models = [*(model for model, _ in pairs), *other_models(algorithm)]
    expected = [how for _, hows in pairs for how in hows]
    release, settings = saved(tmp_path, table, models, algorithm, form=("csv", "parquet")[seed % 2])
    verification = verify(**settings)
    measures = [measured for measured in release.privacy.privacy if measured.limit is not None]
    assert len(verification.findings) == len(measures) > 70
    for finding, measured in zip(verification.findings, measures, strict=True):
        assert (finding.model, finding.quantity) == (measured.model, measured.quantity)
        assert (finding.attribute, finding.unit) == (measured.attribute, "people")
        assert finding.reached == near(measured.value), finding
        assert finding.holds is measured.holds is True
    reading = read(table, settings)
    for finding, how in zip(verification.findings, expected, strict=False):
        assert finding.reached == near(how(reading)), finding
    assert verification.keeps_limits
    assert verification.unchecked == ()
    people = verification.people
    assert people.people == len(reading.everybody) == release.privacy.people.people
    assert people.suppressed == len(reading.everybody - reading.present())
    assert (people.smallest, people.unnamed) == (reading.k(), table["person"].null_count())
    assert verification.smallest == release.privacy.smallest


def test_presence_is_of_people(tmp_path):
    """Each person of a class counts once, as each covered person of the population does."""
    table = pl.DataFrame({"person": list("aaabbc"), "age": [30, 30, 30, 30, 40, 40], "ill": list("xyxyxx")})
    table.write_csv(tmp_path / "t.csv")
    pl.DataFrame({"age": [30, 30, 30, 30, 40, 40]}).write_csv(tmp_path / "population.csv")
    table.drop("person").write_csv(tmp_path / "release.csv")
    policy = ic.Policy(
        ic.Schema(["age"], ["ill"], person="person"), [ic.DeltaPresence(0.5, 0.5)], keep_order=True
    )
    policy.write(tmp_path / "p.toml")
    population = {"population": tmp_path / "population.csv"}
    verification = verify(
        tmp_path / "release.csv", tmp_path / "p.toml", against=tmp_path / "t.csv", **population
    )
    # Of the age 30 are 2 people in 4 rows, of 4 in the population; of the age 40 are 2 of 2.
    assert [finding.reached for finding in verification.findings] == [1, 0.5]
    assert [finding.holds for finding in verification.findings] == [False, True]


def test_classes_that_merge_have_each_person_once(tmp_path):
    """An attacker with the age alone finds a and b, each in two classes."""
    table = pl.DataFrame(
        {
            "person": list("ababcdecde"),
            "age": [1] * 4 + [2] * 6,
            "town": list("xxyyxxxyyy"),
            "ill": ["flu", "hiv", "gout", "hiv", *["flu", "hiv", "gout"] * 2],
        }
    )
    table.write_parquet(tmp_path / "t.parquet")
    table.drop("person").write_parquet(tmp_path / "release.parquet")
    model = ic.LKCPrivacy(1, 2, 0.6)
    policy = ic.Policy(ic.Schema(["age", "town"], ["ill"], person="person"), [model], keep_order=True)
    policy.write(tmp_path / "p.toml")
    verification = verify(tmp_path / "release.parquet", tmp_path / "p.toml", against=tmp_path / "t.parquet")
    # Both a and b are 1 year old; b alone has hiv there, a has flu and gout. In town x are five people.
    assert [finding.reached for finding in verification.findings] == [0.5, 2]
    assert verification.keeps_limits


# --- what people change -----------------------------------------------------------------------------------


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(6))
def test_a_release_by_rows_fails_where_people_make_it_fail(tmp_path, seed):
    table = people_table(seed, people=60)
    _, settings = saved(tmp_path, table, [ic.KAnonymity(4)], person=(), identifying=["person"])
    by_rows = verify(**settings)
    assert by_rows.keeps_limits
    assert by_rows.findings[0].unit == "records"
    text = settings["policy_path"].read_text().replace('"identifying"', '"person"')
    settings["policy_path"].write_text(text)
    people = read(table, settings).k()
    assert people < 4, "else the test shows nothing"
    verification = verify(**settings)
    assert verification.findings[0].reached == people
    assert verification.findings[0].holds is False
    assert not verification.keeps_limits
    assert not verification.is_unchecked
    assert verification.smallest >= 4
    # By records alone nothing is proved, and nothing is refuted.
    alone = verify(settings["path"], settings["policy_path"])
    assert (alone.findings[0].reached, alone.findings[0].holds) == (by_rows.findings[0].reached, None)
    assert alone.is_unchecked
    assert not alone.keeps_limits


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(4))
def test_what_records_settle_is_so_for_people(tmp_path, seed):
    """A verdict by records is given only if equal to the verdict by people."""
    table = people_table(seed, people=50)
    _, settings = saved(tmp_path, table, [ic.KAnonymity(2)])
    models = []
    for step in range(15):
        k, share, level = 1 + step % 8, step / 14, 1 + step / 7
        models += [
            ic.KAnonymity(k), ic.KMap(k), ic.MaximumRisk(share), ic.AverageRisk(share),
            ic.RecordsAtRisk(share, 0.3), ic.AlphaKAnonymity(share, k), ic.LKCPrivacy(1, k, share),
            ic.LDiversity(min(k, 3)), ic.LDiversity(min(k, 3), joint=True), ic.LDiversity(level, "entropy"),
            ic.TCloseness(share, "equal"), ic.BetaLikeness(3 * share), ic.NormalizedEntropy(share),
            ic.DeltaPresence(share), ic.DeltaPresence(1.0, share), ic.P29(share),
            ic.Profitability(adversary_cost=100 * share),
            ic.Profitability("none", adversary_cost=200 * share),
            ic.Profitability("none", "table", adversary_cost=200 * share),
            ic.Profitability(attacker="journalist", adversary_cost=100 * share),
        ]  # fmt: skip
    settings["policy_path"] = tmp_path / "policy.toml"
    ic.Policy(schema(), models, max_suppression=0.3).write(settings["policy_path"])
    by_people = verify(**settings).findings
    by_records = verify(settings["path"], settings["policy_path"], population=settings["population"]).findings
    settled = set()
    for mine, other in zip(by_records, by_people, strict=True):
        assert mine.holds in (None, other.holds), (mine, other)
        settled.add((mine.model, mine.quantity, mine.holds))
    # Fewer people than records: what is too few is too few, and a risk that is too high stays so.
    for what in ("k-anonymity", "k"), ("maximum-risk", "risk"), ("lkc-privacy", "K"), ("profitability", "payoff"):  # fmt: skip
        assert (*what, False) in settled
        assert (*what, None) in settled
    assert {("l-diversity", "l", verdict) for verdict in (True, False, None)} <= settled
    assert ("t-closeness", "t", False) not in settled


# --- who the people are -----------------------------------------------------------------------------------


def checked(folder, raw, policy, cells=None, name="raw.parquet", **given):
    """Verify a release with the raw cells, against the raw table."""
    file = folder / name
    (raw.write_parquet if name.endswith("parquet") else raw.write_csv)(file)
    policy.write(folder / "policy.toml", force=True)
    released = raw.select("age", "ill")
    released.write_csv(folder / "release.csv")
    return verify(folder / "release.csv", folder / "policy.toml", **{"against": file} | given)


def policy_of(person, **more):
    settings = {"null_values": (), "unlisted": "drop"} | more
    return ic.Policy(
        ic.Schema(["age"], ["ill"], person=person, **settings), [ic.KAnonymity(2)], keep_order=True
    )


@pytest.mark.few(1)
@pytest.mark.parametrize("name", ["raw.csv", "raw.parquet"])
def test_a_record_without_a_person_is_a_person_of_its_own(tmp_path, name):
    raw = pl.DataFrame(
        {"who": [None, None, "?", "a", "a", "?"], "age": [1, 1, 1, 1, 2, 2], "ill": list("xyxyxy")}
    )
    verification = checked(tmp_path, raw, policy_of("who", null_values=["?"]), name=name)
    assert (verification.people.people, verification.people.unnamed, verification.people.smallest) == (
        5,
        4,
        2,
    )
    assert verification.keeps_limits
    # Without the null value, ? is somebody with two rows.
    verification = checked(tmp_path, raw, policy_of("who"), name=name)
    assert (verification.people.people, verification.people.unnamed, verification.people.smallest) == (
        4,
        2,
        2,
    )


@pytest.mark.slow
def test_several_columns_name_a_person_together(tmp_path):
    raw = pl.DataFrame(
        {
            "clinic": ["A", "B", "A", "A", None, None, None, None],
            "number": [1, 1, 1, 2, 1, 1, None, None],
            "age": [1, 1, 1, 1, 2, 2, 2, 2],
            "ill": list("xyxyxyxy"),
        }
    )
    verification = checked(tmp_path, raw, policy_of(["clinic", "number"]))
    # A 1, B 1 and A 2; number 1 of no clinic, and two who are nobody in particular.
    assert (verification.people.people, verification.people.unnamed, verification.people.smallest) == (
        6,
        2,
        3,
    )
    assert checked(tmp_path, raw, policy_of("number")).people.people == 4
    # A row map without a second column says the same of CSV files.
    assert checked(tmp_path, raw, policy_of(["clinic", "number"]), name="raw.csv").people.people == 6


@pytest.mark.few(1)
@pytest.mark.parametrize(
    ("who", "people", "unnamed"),
    [
        ([1.0, 1.0, float("nan"), float("nan"), None, -0.0, 0.0], 5, 3),
        ([1, 1, 99, 99, None, 2, 2], 5, 3),
        ([dt.date(2020, 1, 1), dt.date(2020, 1, 1), None, None, None, None, None], 6, 5),
        ([True, True, False, False, None, True, False], 3, 1),
        (["1", "1.0", "01", " 1", "", "", "1"], 5, 0),
    ],
)
def test_people_are_told_apart_by_value(tmp_path, who, people, unnamed):
    raw = pl.DataFrame({"who": who, "age": [1] * 7, "ill": list("xyxyxyx")})
    verification = checked(tmp_path, raw, policy_of("who", null_values=["99"]))
    assert (verification.people.people, verification.people.unnamed, verification.people.smallest) == (
        people,
        unnamed,
        people,
    )
    schema = ic.Schema(["age"], ["ill"], person="who", null_values=["99"])
    assert ic.assess(raw, schema, "k-anonymity:1").privacy[0].value == people


def test_a_database_tells_no_order(tmp_path):
    raw = pl.DataFrame({"who": list("aabbc"), "age": [1, 1, 1, 2, 2], "ill": list("xyxyx")})
    once = raw.with_columns(pl.Series("who", list("abcde")))
    with duckdb.connect(tmp_path / "d.duckdb") as base:
        base.execute("CREATE TABLE raw AS SELECT * FROM raw")
        base.execute("CREATE TABLE once AS SELECT * FROM once")
    address = {"against": f"duckdb:///{tmp_path}/d.duckdb"}
    verification = checked(tmp_path, raw, policy_of("who"), against_table="raw", **address)
    assert verification.is_unchecked
    assert verification.people is None
    assert "records of a database have no numbers" in verification.unchecked[0]
    # Where everybody has one row, people are rows.
    verification = checked(tmp_path, once, policy_of("who"), against_table="once", **address)
    assert verification.keeps_limits
    assert (verification.people.people, verification.findings[0].unit, verification.findings[0].reached) == (
        5,
        "people",
        2,
    )


# --- what fails closed ------------------------------------------------------------------------------------


@pytest.mark.slow
def test_without_an_order_people_are_not_counted(tmp_path):
    _, settings = saved(tmp_path, people_table(3, people=60), [ic.KAnonymity(3), ic.LDiversity(1)])
    row_map = settings.pop("row_map")
    # The one of the folder is found; elsewhere it has to be named.
    if Path(row_map).parent.name == "internal":
        row_map = Path(row_map).rename(tmp_path / "rows.parquet")
    verification = verify(**settings)
    assert [finding.holds for finding in verification.findings] == [None, True, True]
    assert "name the row map (row_map=)" in verification.unchecked[0]
    assert not verification.keeps_limits
    assert verification.is_unchecked
    del settings["against"]
    assert "name the raw table (against=) and the row map (row_map=)" in "; ".join(
        verify(**settings).unchecked
    )
    raw = pl.read_csv(tmp_path / "raw.csv", infer_schema=False)
    raw.drop("person").write_csv(tmp_path / "less.csv")
    verification = verify(**settings, against=tmp_path / "less.csv", row_map=row_map)
    assert verification.is_unchecked
    assert "has no column 'person'" in verification.unchecked[0]
    raw[1:].write_csv(tmp_path / "less.csv")
    verification = verify(**settings, against=tmp_path / "less.csv", row_map=row_map)
    assert verification.findings[0].holds is None
    assert any("records and the raw table" in problem for problem in verification.problems)
    assert not verification.is_unchecked


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(3))
def test_a_row_map_of_another_release_is_found(tmp_path, seed):
    table = people_table(seed, people=60)
    _, settings = saved(tmp_path, table, [ic.KAnonymity(3)])
    rows = pl.read_parquet(settings["row_map"])
    assert verify(**settings).keeps_limits
    mixed = rows.sample(fraction=1.0, shuffle=True, seed=seed)
    mixed.write_parquet(settings["row_map"])
    verification = verify(**settings)
    assert not verification.keeps_limits
    assert any("not true of their raw value" in problem for problem in verification.problems)
    for wrong in (rows.with_columns(row=pl.lit(1)), rows[1:], rows.with_columns(row=pl.col("row") + 1)):
        wrong.write_parquet(settings["row_map"])
        with pytest.raises(TableError, match="does not name each of"):
            verify(**settings)


def test_a_population_with_several_rows_of_a_person_is_refused(tmp_path):
    table = people_table(1)
    models = [ic.KAnonymity(2), ic.KMap(1)]
    _, settings = saved(tmp_path, table, models)
    table.write_parquet(settings["population"])
    with pytest.raises(TableError, match="several rows of one person"):
        verify(**settings)


@pytest.mark.slow
def test_what_people_do_not_change_is_verified_without_them(tmp_path):
    _, given = saved(tmp_path, people_table(3, people=60), [ic.LDiversity(2, attribute="cost")])
    verification = verify(given["path"], given["policy_path"])
    assert verification.keeps_limits
    assert (verification.findings[0].holds, verification.findings[0].unit) == (True, "records")
    assert any("how many people the classes have" in what for what in verification.unchecked)
