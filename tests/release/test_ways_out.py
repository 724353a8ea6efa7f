"""Habitual calls, and names that no file can hold: the answer shows the correct call."""

from __future__ import annotations

import pandas as pd
import polars as pl
import pytest

import incrowd as ic

SCHEMA = ic.Schema(quasi=["age"], unlisted="drop")
TABLE = pl.DataFrame({"age": [20, 20, 30, 30] * 5, "ill": ["a", "b"] * 10})


@pytest.mark.parametrize(
    ("name", "way"),
    {
        "to_csv": r"release\.write\('safe\.csv'\)",
        "to_pandas": r"release\.table",
        "nonsense": "'nonsense'$",
    }.items(),
)
def test_a_release_names_its_own_way_for_those_of_tables(name, way):
    release = ic.anonymize(TABLE, SCHEMA, "k-anonymity:2")
    with pytest.raises(AttributeError, match=way):
        getattr(release, name)


def test_names_of_the_command_line_and_of_tables_are_answered():
    with pytest.raises(AttributeError, match="draft_policy"):
        ic.init  # noqa: B018
    with pytest.raises(ic.ParameterError, match=r"verify reads files, and got DataFrame: .*release\.write"):
        ic.verify(TABLE, "policy.toml")


def test_a_policy_is_drafted_of_a_file_or_of_any_frame(tmp_path):
    TABLE.write_csv(tmp_path / "people.csv")
    texts = [
        ic.draft_policy(each, "people.csv").text
        for each in (TABLE, TABLE.to_pandas(), tmp_path / "people.csv")
    ]
    assert texts[0] == texts[1] == texts[2]


def test_a_name_of_a_column_with_nul_is_refused_before_it_ends_the_process():
    table = pd.DataFrame([[20, "a"], [20, "b"]] * 5)
    table.columns = pd.Index(["age", "i\0ll"], dtype=object)
    with pytest.raises(ic.TableError, match="NUL"):
        ic.anonymize(table, ic.Schema(quasi=["age", "i\0ll"]), "k-anonymity:2")


def test_names_of_columns_that_are_formulas_are_escaped_and_read_back(tmp_path):
    name = "=HYPERLINK(1)"
    table = TABLE.rename({"ill": name}).with_columns(pl.lit(1).alias("-5"))
    policy = ic.Policy(ic.Schema(quasi=["age", name], insensitive=["-5"]), ["k-anonymity:2"])
    table.write_csv(tmp_path / "raw.csv")
    policy.write(tmp_path / "policy.toml")
    release = ic.anonymize(tmp_path / "raw.csv", policy, unanswered="write")
    release.write(tmp_path / "safe.csv", escape_formulas=True)
    assert (tmp_path / "safe.csv").read_text().splitlines()[0] == f"age,'{name},-5"
    paths = tmp_path / "safe.csv", tmp_path / "policy.toml"
    verification = ic.verify(*paths, against=tmp_path / "raw.csv", escaped=True)
    assert verification.verdict.text == release.verdict.text
    again = ic.assess(paths[0], policy.schema, "k-anonymity:2", csv_format=ic.CsvFormat(escaped=True))
    assert "20 records" in repr(again)


def test_a_document_of_json_says_how_it_becomes_a_table(tmp_path):
    (tmp_path / "bundle.json").write_text('{"resourceType": "Bundle",\n "entry": []}')
    with pytest.raises(ic.TableError, match=r"one object per line and name it \.ndjson.*jq -c"):
        ic.assess(tmp_path / "bundle.json", SCHEMA, "k-anonymity:2")
