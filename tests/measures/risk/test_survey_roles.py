"""The roles household and weight: figures on every engine, columns that never leave, and refusals."""

from __future__ import annotations

import contextlib

import polars as pl
import pytest

import incrowd as ic
from crossed import quick
from database_tables import STORES, holding
from people_readings import people_table
from survey_readings import household_figures, survey_table

TABLE = survey_table(3, 300)
QUASI = {"age": ic.Hierarchy.intervals(2, 4, 8, 16), "town": None}
SCHEMA = ic.Schema(quasi=QUASI, sensitive=["ill"], household="home", weights="w")
PLACES = ["csv", "parquet", "lazy", "pandas", "arrow", "relation", *STORES]


@contextlib.contextmanager
def at(place, table, tmp_path, request):
    """Give the rows to an engine."""
    if place in STORES:
        url = request.getfixturevalue("postgres") if place == "postgresql" else None
        with holding(place, table, url) as held:
            yield held
    elif place in ("csv", "parquet"):
        getattr(table, f"write_{place}")(tmp_path / f"t.{place}")
        yield ic.scan(tmp_path / f"t.{place}")
    elif place == "relation":
        import duckdb

        yield duckdb.from_arrow(table.to_arrow())
    else:
        yield {"lazy": table.lazy, "pandas": table.to_pandas, "arrow": table.to_arrow}[place]()


def of_survey(assessment):
    return {name: assessment.risk[name] for name in ("individual", "household")}


def cells_of(table):
    cells = zip(*(table[name].to_list() for name in ("age", "town")), strict=True)
    return [None if set(cell) == {"*"} else cell for cell in cells]


@pytest.mark.parametrize("seed", range(6))
def test_households_are_sets_of_members(seed):
    table = survey_table(seed)
    schema = ic.Schema(quasi=["age", "town"], household="home")
    expected = household_figures(cells_of(table), table["home"].to_list())
    assert ic.assess(table, schema).risk["household"] == pytest.approx(expected, abs=1e-12)
    whole = ic.risk.household_risk(table, ["age", "town"], "home")
    assert expected["mean"] == pytest.approx(whole.mean)


@pytest.mark.few(3)
@pytest.mark.parametrize("seed", range(6))
@pytest.mark.parametrize("lazy", [False, True])
def test_a_person_with_several_rows_is_one_member(seed, lazy):
    table = people_table(seed, people=40).with_columns(
        home=pl.Series([None if n % 7 == 0 else n * 13 % 23 for n in range(1000)][: people_rows(seed)])
    )
    schema = ic.Schema(quasi=["age", "town"], person="person", household="home")
    figures = ic.assess(table.lazy() if lazy else table, schema).risk["household"]
    expected = household_figures(cells_of(table), table["home"].to_list(), table["person"].to_list())
    assert figures == pytest.approx(expected, abs=1e-12)
    by_rows = household_figures(cells_of(table), table["home"].to_list())
    assert by_rows["mean"] != pytest.approx(expected["mean"])


def people_rows(seed, people=40):
    return len(people_table(seed, people=people))


PEOPLE = people_table(4, people=60).with_columns(
    home=pl.Series([None if n % 7 == 0 else n * 13 % 23 for n in range(people_rows(4, 60))])
)
OF_PEOPLE = ic.Schema(quasi=QUASI, sensitive=["ill"], person="person", household="home", unlisted="drop")


@pytest.mark.few(1)
@pytest.mark.parametrize("place", quick(PLACES, "csv", "lazy", "pandas", "duckdb", "postgresql"))
def test_every_engine_tells_people_and_their_households(place, tmp_path, request):
    """Every engine does so, also when people are reduced to those with unlike rows."""
    expected = household_figures(cells_of(PEOPLE), PEOPLE["home"].to_list(), PEOPLE["person"].to_list())
    with at(place, PEOPLE, tmp_path, request) as table:
        assert ic.assess(table, OF_PEOPLE).risk["household"] == pytest.approx(expected, abs=1e-12)
        release = ic.anonymize(
            table, OF_PEOPLE, "k-anonymity:3", "optimal", max_suppression=0.2, suppressed="keep"
        )
    result = ic.anonymize(
        PEOPLE,
        OF_PEOPLE,
        "k-anonymity:3",
        "optimal",
        max_suppression=0.2,
        suppressed="keep",
        keep_order=True,
        force=True,
    )
    after = household_figures(cells_of(result.table), PEOPLE["home"].to_list(), PEOPLE["person"].to_list())
    assert release.risk["household"] == pytest.approx(after, abs=1e-12)


@pytest.mark.filterwarnings("ignore:PySpark does not yet fully support pandas:FutureWarning")
def test_spark_tells_people_and_their_households(spark):
    rows = spark.createDataFrame(PEOPLE.to_arrow()).repartition(3)
    expected = household_figures(cells_of(PEOPLE), PEOPLE["home"].to_list(), PEOPLE["person"].to_list())
    assert ic.assess(rows, OF_PEOPLE).risk["household"] == pytest.approx(expected, abs=1e-12)


def test_the_individual_risk_is_that_of_rows():
    each = ic.risk.individual_risk(TABLE, ["age", "town"], "w")
    result = of_survey(ic.assess(TABLE, ic.Schema(quasi=["age", "town"], household="home", weights="w")))
    expected = {"max": each.max(), "mean": each.mean(), "min": each.min(), "at_risk": (each > 0.2).mean()}
    assert result["individual"] == pytest.approx(expected, rel=1e-6)
    homes = household_figures(cells_of(TABLE), TABLE["home"].to_list(), risk=each.tolist())
    assert result["household"] == pytest.approx(homes, rel=1e-6)


@pytest.mark.slow
@pytest.mark.parametrize("place", quick(PLACES, "csv", "relation", "postgresql"))
def test_every_engine_has_the_same_figures(place, tmp_path, request):
    models, settings = [ic.KAnonymity(4)], {"max_suppression": 0.1, "suppressed": "keep"}
    before = ic.assess(TABLE, SCHEMA)
    expected = ic.anonymize(TABLE, SCHEMA, models, "optimal", keep_order=True, force=True, **settings)
    each = ic.risk.individual_risk(expected.table, ["age", "town"], TABLE["w"].to_list())
    homes = household_figures(cells_of(expected.table), TABLE["home"].to_list(), risk=each.tolist())
    assert expected.risk["household"] == pytest.approx(homes, rel=1e-6)
    assert expected.risk["individual"]["max"] == pytest.approx(each.max(), rel=1e-6)
    assert expected.risk["household"]["mean"] < before.risk["household"]["mean"]
    with at(place, TABLE, tmp_path, request) as table:
        assert of_survey(ic.assess(table, SCHEMA)) == of_survey(before)
        release = ic.anonymize(table, SCHEMA, models, "optimal", **settings)
        assert release.risk["individual"] == pytest.approx(expected.risk["individual"], abs=1e-12)
        assert release.risk["household"] == pytest.approx(expected.risk["household"], abs=1e-12)
        release.write(tmp_path / "out.parquet")
    assert pl.read_parquet(tmp_path / "out.parquet").columns == ["age", "town", "ill"]


@pytest.mark.filterwarnings("ignore:PySpark does not yet fully support pandas:FutureWarning")
def test_spark_has_the_same_figures(spark):
    rows = spark.createDataFrame(TABLE.to_arrow()).repartition(3)
    assert of_survey(ic.assess(rows, SCHEMA)) == of_survey(ic.assess(TABLE, SCHEMA))
    with pytest.raises(ic.ParameterError, match="cut into blocks measures nothing by households"):
        ic.anonymize(rows, SCHEMA, "k-anonymity:2", blocks=2)


@pytest.mark.parametrize("algorithm", ["mondrian", "oka", "mdav", "datafly", "samarati"])
def test_every_kind_of_recoding_keeps_the_account(algorithm):
    """Algorithms that part records alike, local algorithms and rounds of full-domain algorithms."""
    settings = {"keep_order": True, "force": True, "max_suppression": 1.0, "suppressed": "keep"}
    release = ic.anonymize(TABLE, SCHEMA, "k-anonymity:3", algorithm, **settings)
    each = ic.risk.individual_risk(release.table, list(QUASI), TABLE["w"].to_list())
    homes = household_figures(cells_of(release.table), TABLE["home"].to_list(), risk=each.tolist())
    assert release.risk["household"] == pytest.approx(homes, rel=1e-6)


def test_weights_are_read_as_texts_by_their_spelling_and_null_values():
    texts = pl.DataFrame({"age": [1, 1, 2], "w": ["1,5", "0,25", "1.000"]})
    attributes = [
        ic.Attribute("age", "quasi"),
        ic.Attribute("w", "weight", kind="number", decimal=",", thousands="."),
    ]
    plain = pl.DataFrame({"age": [1, 1, 2], "w": [1.5, 0.25, 1000]})
    expected = ic.assess(plain, ic.Schema(quasi=["age"], weights="w")).risk["individual"]
    for table in (texts, texts.lazy()):
        assert ic.assess(table, ic.Schema.of_attributes(attributes)).risk["individual"] == expected
    for table in (plain, plain.lazy()):
        with pytest.raises(ic.SchemaError, match="1 rows have no number above 0 there"):
            ic.assess(table, ic.Schema(quasi=["age"], weights="w", null_values=["1000"]))


@pytest.mark.parametrize("weights", [
    [1.0, 0.0, 2.0], [1.0, -1.0, 2.0], [1.0, None, 2.0], [1.0, float("nan"), 2.0], ["1", "many", "2"],
    [True, True, True], [1.0, float("inf"), 1.0],
])  # fmt: skip
@pytest.mark.parametrize("lazy", [False, True])
def test_weights_that_are_none_are_refused_without_their_values(weights, lazy):
    table = pl.DataFrame({"age": [30, 30, 40], "w": pl.Series(weights, strict=False)})
    schema = ic.Schema(quasi=["age"], weights="w")
    with pytest.raises(
        ic.SchemaError, match=r"column 'w' has the role weight, and [13] rows have no number"
    ) as refused:
        ic.assess(table.lazy() if lazy else table, schema)
    assert "many" not in str(refused.value)


def test_weights_of_days_and_of_the_whole_universe_are_refused():
    table = pl.DataFrame({"age": [30, 30], "w": ["2020-01-01", "2020-01-02"]}).with_columns(
        pl.col("w").str.to_date()
    )
    with pytest.raises(ic.SchemaError, match="is of type Date; sampling weights are numbers"):
        ic.assess(table, ic.Schema(quasi=["age"], weights="w"))
    table = pl.DataFrame({"age": [30, 30], "w": [1e300, 1.0]})
    with pytest.raises(ic.SchemaError, match="more than 10\\^12 people"):
        ic.assess(table, ic.Schema(quasi=["age"], weights="w"))


@pytest.mark.parametrize("lazy", [False, True])
def test_weights_of_people_with_several_rows_are_refused(lazy):
    table = pl.DataFrame({"who": [1, 1, 2], "age": [30, 31, 30], "w": [2, 2, 3]})
    schema = ic.Schema(quasi=["age"], person="who", weights="w")
    with pytest.raises(ic.SchemaError, match="would count them more than once; keep one row for each person"):
        ic.assess(table.lazy() if lazy else table, schema)
    one_each = table.with_columns(who=pl.Series([1, 2, 3]))
    assert "individual" in ic.assess(one_each, schema).risk


def test_a_column_has_one_role_and_one_column_the_weights():
    with pytest.raises(ic.SchemaError, match="column 'w' is both weight and quasi; give it one role"):
        ic.Schema(quasi=["w"], weights="w")
    with pytest.raises(ic.SchemaError, match="columns 'w', 'v' have the role weight"):
        ic.Schema.of_attributes(
            [ic.Attribute("w", "weight"), ic.Attribute("v", "weight"), ic.Attribute("a", "quasi")]
        )
    with pytest.raises(ic.SchemaError, match="a weight of its own says how much the loss"):
        ic.Attribute("w", "weight", weight=2.0)
    schema = ic.Schema(quasi=["a"], household=["region", "nr"], weights="w")
    assert (schema.household, schema.weights) == (("region", "nr"), "w")
    assert repr(schema) == "Schema(identifying: -; household: region, nr; weight: w; quasi: a; sensitive: -; insensitive: -)"  # fmt: skip


@pytest.mark.parametrize("job", ["anatomize", "ensure_privacy"])
def test_jobs_that_measure_no_households_say_so(job):
    call = {
        "anatomize": lambda: ic.anatomize(TABLE, SCHEMA, [ic.LDiversity(2)]),
        "ensure_privacy": lambda: ic.ensure_privacy(TABLE, SCHEMA, t=0.9, k=2, l=0.9),
    }[job]
    with pytest.raises(ic.ParameterError, match=f"{job} measures nothing by households"):
        call()


def test_a_policy_file_has_the_roles(tmp_path):
    policy = ic.Policy(SCHEMA, ic.KAnonymity(3), "optimal")
    policy.write(tmp_path / "policy.toml")
    text = (tmp_path / "policy.toml").read_text()
    assert '[columns.home]\nrole = "household"' in text
    assert '[columns.w]\nrole = "weight"' in text
    again = ic.Policy.read(tmp_path / "policy.toml")
    assert (again.schema.household, again.schema.weights) == (("home",), "w")
    TABLE.write_csv(tmp_path / "t.csv")
    ic.anonymize(TABLE, again, levels={"age": 4, "town": 0}).save(tmp_path / "out")
    verification = ic.verify(tmp_path / "out" / "release.csv", tmp_path / "out" / "policy.toml")
    assert verification.ok
    TABLE.write_csv(tmp_path / "leaky.csv")
    verification = ic.verify(tmp_path / "leaky.csv", tmp_path / "out" / "policy.toml")
    assert "the household column 'home' is in the file" in " ".join(verification.problems)
    assert "the weight column 'w' is in the file" in " ".join(verification.problems)


def test_the_account_says_in_words_what_households_risk():
    release = ic.anonymize(TABLE, SCHEMA, "k-anonymity:4", "optimal", max_suppression=0.1, suppressed="keep")
    text = " ".join(release.sentences())
    assert (
        "The sampling weights of w estimate the population. By them whoever knows age and town, and nothing "
        "else, not even who took part, finds a record among all people with a probability of up to" in text
    )
    assert "Whoever finds one member of a household has found all." in text
    assert "2 identifying columns were left out" in text
    assert release.document()["risk"]["after"]["household"] == release.risk["household"]
