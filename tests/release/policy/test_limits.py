"""A list of many values, or of values that hardly anybody shares, is no generalization."""

from __future__ import annotations

from collections import defaultdict

import numpy as np
import polars as pl
import pytest

import incrowd as ic
from incrowd.core.recoding.cells import is_nearly_unique
from incrowd.release.policy.limits import of_histories
from people_readings import Reading, people_table

K = ic.KAnonymity(5)


def wards(count: int, rows: int = 400) -> pl.DataFrame:
    random = np.random.default_rng(7)
    return pl.DataFrame(
        {"ward": [f"w{i:02}" for i in random.integers(0, count, rows)], "s": ["a", "b"] * (rows // 2)}
    )


def schema(**settings) -> ic.Schema:
    return ic.Schema(quasi={"ward": ic.Attribute("ward", "quasi", **settings)}, sensitive=["s"])


def lists(release: ic.Release) -> list[int]:
    return [cell.count(",") + 1 for cell in release.table["ward"] if cell.startswith("{")]


def test_a_list_may_be_as_long_as_the_limit_and_no_longer():
    table = wards(90)
    release = ic.anonymize(table, schema(), ic.KAnonymity(60), set_limit=90)
    longest = max(lists(release))
    assert longest > 8
    same = ic.anonymize(table, schema(), ic.KAnonymity(60), set_limit=longest)
    assert same.table.equals(release.table)
    with pytest.raises(
        ic.SchemaError, match=rf"'ward': .* a list of up to {longest} values.*set_limit={longest}"
    ):
        ic.anonymize(table, schema(), ic.KAnonymity(60), set_limit=longest - 1)
    with pytest.raises(
        ic.SchemaError, match="a list of more than 8 is no generalization; give the column a hier"
    ):
        ic.anonymize(table, schema(), ic.KAnonymity(60))


def test_what_the_error_says_to_do_works():
    table = wards(90).with_columns(n=pl.int_range(pl.len()))
    for hierarchy in (ic.Hierarchy.prefix(), ic.Hierarchy.flat()):
        schema = ic.Schema(quasi={"ward": hierarchy, "n": None}, sensitive=["s"])
        assert lists(ic.anonymize(table, schema, ic.KAnonymity(60))) == []
    ic.anonymize(table, ic.Schema(quasi=["n"], identifying=["ward"], sensitive=["s"]), ic.KAnonymity(60))


@pytest.mark.parametrize("output", ["auto", "set", "mean"])
@pytest.mark.parametrize("algorithm", ["mondrian", "mdav", "k-member", "clustering"])
def test_values_of_nearly_everybody_are_not_listed(output, algorithm):
    comments = pl.DataFrame({"ward": [f"comment {i}" for i in range(160)], "s": ["a", "b"] * 80})
    with pytest.raises(ic.SchemaError, match="'ward' has 160 distinct values in 160 records") as caught:
        ic.anonymize(comments, schema(output=output), K, algorithm, set_limit=1000)
    assert "comment" not in str(caught.value)
    assert "drop it (identifying)" in str(caught.value)


def test_numbers_are_listed_only_where_that_is_asked_for():
    table = pl.DataFrame({"ward": np.arange(160), "s": ["a", "b"] * 80})
    assert lists(ic.anonymize(table, schema(), K)) == []
    assert max(lists(ic.anonymize(table, schema(output="set"), K))) <= 8
    with pytest.raises(ic.SchemaError, match="a list of up to 20 values"):
        ic.anonymize(table, schema(output="set"), ic.KAnonymity(20))
    # A mean of numbers repeats nobody's.
    ic.anonymize(table, schema(output="mean"), K)


def test_full_domain_recoding_lists_nothing():
    comments = pl.DataFrame({"ward": [f"comment {i}" for i in range(160)], "n": [1, 2] * 80})
    release = ic.anonymize(comments, ic.Schema(quasi=["ward", "n"]), K, "optimal")
    assert set(release.table["ward"]) == {"*"}


@pytest.mark.parametrize(
    ("values", "records", "found"),
    [(19, 19, False), (20, 79, True), (20, 80, False), (100, 399, True), (100, 400, False)],
)
def test_a_value_that_fewer_than_four_share_names_people(values, records, found):
    assert is_nearly_unique(values, records) is found


def test_the_policy_file_and_the_verifier_know_the_limit(tmp_path):
    table = wards(90)
    release = ic.anonymize(table, schema(), ic.KAnonymity(60), set_limit=90)
    release.save(tmp_path / "out")
    policy = tmp_path / "out" / "policy.toml"
    assert ic.Policy.read(policy).set_limit == 90
    assert ic.verify(tmp_path / "out" / "release.csv", policy).ok
    text = policy.read_text()
    policy.write_text(text.replace("set_limit = 90", "set_limit = 8"))
    verification = ic.verify(tmp_path / "out" / "release.csv", policy)
    assert not verification.ok
    assert any("have a list of more than 8 values" in problem for problem in verification.problems)
    policy.write_text(text.replace("set_limit = 90\n", ""))
    assert not ic.verify(tmp_path / "out" / "release.csv", policy).ok
    for wrong in ("0", "true", "1.5"):
        policy.write_text(text.replace("set_limit = 90", f"set_limit = {wrong}"))
        with pytest.raises(ic.PolicyError, match="set_limit"):
            ic.verify(tmp_path / "out" / "release.csv", policy)
        with pytest.raises(ic.InputError, match="set_limit"):
            ic.Policy.read(policy)


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore:PySpark does not yet fully support pandas:FutureWarning")
def test_blocks_on_spark_refuse_what_may_be_too_long(spark):
    table = spark.createDataFrame(wards(90).rows(named=True))
    with pytest.raises(ic.SchemaError, match="records may get a list of up to 89 values"):
        ic.anonymize(table, schema(), K, blocks=2)
    ic.anonymize(table, schema(), K, blocks=2, set_limit=90)


TREES = {
    "age": ic.Hierarchy.intervals(2, 4, 8, 16, 32),
    "town": ic.Hierarchy.from_nested({"*": {"ab": ["a", "b"], "cd": ["c", "d"]}}),
}
TABLE = people_table(17, people=120)
SCHEMA = ic.Schema(quasi=TREES, sensitive=["ill"], person="person", unlisted="drop", linked=True)
PLAIN = ic.Schema(quasi=TREES, sensitive=["ill"], person="person", unlisted="drop")


def histories(table, whose):
    """Fewest people with all classes of somebody, and people whose classes nobody shares, by sets."""
    everybody = [("row", row) if person is None else person for row, person in enumerate(whose)]
    mine, there = defaultdict(set), defaultdict(set)
    for person, cell in zip(
        everybody, zip(*(table[name].to_list() for name in TREES), strict=True), strict=True
    ):
        if set(cell) != {"*"}:
            mine[person].add(cell)
            there[cell].add(person)
    shared = {
        person: len(set.intersection(*(there[cell] for cell in cells))) for person, cells in mine.items()
    }
    return min(shared.values()), sum(many == 1 for many in shared.values())


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(8))
@pytest.mark.parametrize("lazy", [False, True])
def test_assess_says_what_whole_histories_reach(seed, lazy):
    table = people_table(seed, people=50).with_columns((pl.col("age") // 10).cast(pl.String))
    assessment = ic.assess(table.lazy() if lazy else table, SCHEMA)
    fewest, alone = histories(table, table["person"].to_list())
    assert (assessment.people.histories.fewest, assessment.people.histories.alone) == (fewest, alone)
    assert assessment.reached("km-anonymity") == fewest
    assert assessment.people.to_dict()["histories"] == {"fewest": fewest, "alone": alone}
    text = " ".join(assessment.sentences())
    assert (
        f"{alone:,} people ({100 * alone / assessment.people.people:.1f}%) share their whole history with nobody"
        in text
    )
    assert ic.assess(table, PLAIN).people.histories is None


@pytest.mark.few(1)
@pytest.mark.parametrize(
    ("algorithm", "suppression"),
    [("optimal", 0.3), ("samarati", 0.3), ("datafly", 0.3), ("flash", 0.0), ("ola", 0.0), ("incognito", 0.0)],
)
def test_searches_enforce_the_limit_for_whole_histories(algorithm, suppression):
    settings = {"max_suppression": suppression, "suppressed": "keep", "keep_order": True, "force": True}
    release = ic.anonymize(TABLE, SCHEMA, "k-anonymity:4", algorithm, **settings)
    fewest, alone = histories(release.table, TABLE["person"].to_list())
    assert fewest >= 4
    assert alone == 0
    assert (release.privacy.people.histories.fewest, release.privacy.people.histories.alone) == (fewest, 0)
    # It is as if km-anonymity were asked for beside k-anonymity, and it costs what that costs.
    result = ic.anonymize(TABLE, PLAIN, ["k-anonymity:4", "km-anonymity:k=4,power=0"], algorithm, **settings)
    assert release.table.equals(result.table)
    rows = ic.anonymize(TABLE, PLAIN, "k-anonymity:4", algorithm, **settings)
    assert histories(rows.table, TABLE["person"].to_list())[0] < 4
    text = " ".join(release.sentences())
    assert "Released rows of a person can be joined. Whoever knows the quasi-identifiers of all rows" in text
    assert "km-anonymity holds" in text


@pytest.mark.parametrize(
    ("models", "k"),
    [
        ("k-anonymity:5", 5),
        ("maximum-risk:0.2", 5),
        ("maximum-risk:0.1", 10),
        (["alpha-k-anonymity:alpha=0.9,k=3", "k-anonymity:2"], 3),
        ("km-anonymity:k=6,power=2", 6),
        (["km-anonymity:k=7,power=0", "k-anonymity:3"], 7),
    ],
)
def test_what_is_asked_of_a_class_is_asked_of_a_history(models, k):
    asked = ic.Policy(SCHEMA, models).models
    result = of_histories(asked, SCHEMA)
    assert [model for model in result if str(model).startswith("km-anonymity")][-1] == ic.KMAnonymity(k, 0)
    assert sum(isinstance(model, ic.KMAnonymity) and model.power == 0 for model in result) == 1
    assert of_histories(result, SCHEMA) == result
    assert of_histories(asked, PLAIN) == asked


@pytest.mark.parametrize("algorithm", ["mondrian", "oka", "mdav"])
def test_local_algorithms_refuse_it_by_name(algorithm):
    with pytest.raises(
        ic.ParameterError, match=f"linked=True: {algorithm} decides about few classes at a time"
    ):
        ic.anonymize(TABLE, SCHEMA, "k-anonymity:2", algorithm)


def test_what_cannot_be_judged_is_refused():
    with pytest.raises(
        ic.SchemaError, match=r"linked: rows of a person can be joined, and no column .* \(person=\)"
    ):
        ic.Schema(quasi=["a"], linked=True)
    with pytest.raises(ic.ParameterError, match="linked must be"):
        ic.Schema(quasi=["a"], person="p", linked="yes")
    with pytest.raises(ic.ParameterError, match="no model says how many people have to share a history"):
        ic.anonymize(TABLE, SCHEMA, "l-diversity:2", "optimal")
    with pytest.raises(ic.ParameterError, match="attackers who know some of the columns are not judged"):
        ic.anonymize(TABLE, SCHEMA, [ic.Attacker("x", ["age"], ic.KAnonymity(3))], "optimal")
    assert "linked" in repr(SCHEMA)
    assert "linked" not in repr(PLAIN)


def test_a_policy_says_it_and_the_verifier_judges_it_on_its_own(tmp_path):
    policy = ic.Policy(SCHEMA, ic.KAnonymity(4), "optimal", max_suppression=0.3)
    policy.write(tmp_path / "policy.toml")
    assert "linked = true" in (tmp_path / "policy.toml").read_text()
    again = ic.Policy.read(tmp_path / "policy.toml")
    assert again.schema.linked
    TABLE.write_csv(tmp_path / "t.csv")
    for name, schema in (("joined", SCHEMA), ("plain", PLAIN)):
        ic.anonymize(tmp_path / "t.csv", ic.Policy(schema, policy.models, "optimal", max_suppression=0.3)).save(tmp_path / name)  # fmt: skip
        files = {"against": tmp_path / "t.csv", "row_map": tmp_path / name / "internal" / "rows.parquet"}
        # The policy that was written asks for k-anonymity alone, and says that rows can be joined.
        verification = ic.verify(tmp_path / name / "release.csv", tmp_path / "policy.toml", **files)
        assert [(each.model, each.holds) for each in verification.findings] == [
            ("k-anonymity", True),
            ("km-anonymity", name == "joined"),
        ]
    # The saved policy asks for both.
    saved = tmp_path / "joined" / "policy.toml"
    assert 'model = "km-anonymity"\nk = 4\npower = 0' in saved.read_text()
    assert ic.Policy.read(saved).schema.linked
    for models in ("l-diversity", "k-anonymity"):
        text = (
            (tmp_path / "policy.toml")
            .read_text()
            .replace('"k-anonymity"\nk = 4', f'"{models}"\n{models[0]} = 2')
        )
        (tmp_path / "other.toml").write_text(text.replace('role = "person"', 'role = "identifying"') if models == "k-anonymity" else text)  # fmt: skip
        with pytest.raises(ic.PolicyError, match=r"history|whose row it is"):
            ic.verify(tmp_path / "joined" / "release.csv", tmp_path / "other.toml")


@pytest.mark.slow
def test_a_batch_is_judged_by_its_histories():
    release = ic.anonymize(TABLE, SCHEMA, "k-anonymity:4", "optimal", max_suppression=0.3)
    other = people_table(23, people=120)
    policy = ic.Policy(SCHEMA, ic.KAnonymity(4), "optimal", max_suppression=1.0)
    applied = ic.apply_recoding(release.recoding, other, policy)
    assert applied.privacy.reached("km-anonymity") >= 4
    assert applied.privacy.people.histories.alone == 0


def test_the_pseudonym_of_a_person_asks_for_whole_histories(monkeypatch):
    """Anyone can join rows by a pseudonym, so the policy must say so, and limits hold for histories."""
    monkeypatch.setenv("INCROWD_KEY", "0123456789abcdef" * 4)
    plain, linked = (
        ic.Schema(
            quasi=TREES, sensitive=["ill"], person="person", unlisted="drop", linked=linked,
            treatments={"person": ic.Pseudonym(key="env:INCROWD_KEY")},
        )
        for linked in (False, True)
    )  # fmt: skip
    settings = {"max_suppression": 0.3, "suppressed": "keep", "keep_order": True, "force": True}
    with pytest.raises(ic.ParameterError, match="its pseudonym leaves, so anyone can join the rows"):
        ic.anonymize(TABLE, plain, "k-anonymity:4", "optimal", **settings)
    release = ic.anonymize(TABLE, linked, "k-anonymity:4", "optimal", **settings)
    fewest, alone = histories(release.table, TABLE["person"].to_list())
    told = release.privacy.people.histories
    assert (told.fewest, told.alone) == (fewest, alone)
    assert fewest >= 4
    assert "share their whole history with nobody" in " ".join(release.sentences())
    # A measure tells of histories, whatever the policy says.
    told = ic.assess(TABLE, plain).people.histories
    assert (told.fewest, told.alone) == histories(TABLE, TABLE["person"].to_list())


def test_people_with_alike_rows_alone_have_short_histories():
    table = pl.DataFrame(
        {"person": [1, 1, 2, 3], "age": ["1", "1", "1", "2"], "town": ["a"] * 4, "ill": ["f"] * 4}
    )
    schema = ic.Schema(quasi=["age", "town"], sensitive=["ill"], person="person", linked=True)
    histories = ic.assess(table, schema).people.histories
    assert (histories.fewest, histories.alone) == (1, 1)
    reading = Reading([1, 1, 2, 3], [["1", "1", "1", "2"]], {"ill": ["f"] * 4})
    assert reading.km(0)[0] == 1
