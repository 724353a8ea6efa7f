"""A list of many values, or of values that hardly anybody shares, is no generalization."""

from __future__ import annotations

import numpy as np
import polars as pl
import pytest

import incrowd as ic
from incrowd.core.recoding.labels import is_nearly_unique

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
        asked = ic.Schema(quasi={"ward": hierarchy, "n": None}, sensitive=["s"])
        assert lists(ic.anonymize(table, asked, ic.KAnonymity(60))) == []
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
    found = ic.verify(tmp_path / "out" / "release.csv", policy)
    assert not found.ok
    assert any("have a list of more than 8 values" in problem for problem in found.problems)
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
