"""Metadata of mu-ARGUS and tau-ARGUS: roles, households, weights, code lists and missing codes."""

from __future__ import annotations

import re

import pytest

import incrowd as ic
from incrowd.importers import read_foreign

MU = """hhnum 1 4 "9998" "9999"
    <HOUSE_ID>
weight 5 5
    <NUMERIC>
    <DECIMALS> 2
    <WEIGHT>
town 10 3 "X"
    <RECODABLE>
    <TRUNCABLE>
    <IDLEVEL> 1
    <SUPPRESSPRIORITY> 25
    <CODELIST> "Town.cdl"
sex 13 1 9
    <RECODABLE>
    <IDLEVEL> 2
    <SUPPRESSPRIORITY> 50
province 14 1 "9"
    <RECODABLE>
    <IDLEVEL> 0
income 15 6
    <NUMERIC>
"""
TAU = """   <SEPARATOR> ","
Region 2
   <RECODEABLE>
   <TOTCODE> "Total"
   <HIERARCHICAL>
   <HIERCODELIST> "C:\\lists\\region.hrc"
   <HIERLEADSTRING> "-"
Size 1 "8"
   <RECODEABLE>
   <HIERARCHICAL>
   <HIERLEVELS> 1 1 0 0 0
Value 12
   <NUMERIC>
   <SHADOW>
"""


@pytest.fixture
def read(tmp_path):
    def call(text):
        (tmp_path / "study.rda").write_text(text)
        return read_foreign(tmp_path / "study.rda")

    return call


def roles(found):
    return {each.name: each.role for each in found.policy.schema.attributes}


def test_metadata_of_mu_argus_becomes_a_draft(read):
    result = read(MU)
    assert roles(result) == {"hhnum": "household", "weight": "weight", "town": "quasi", "sex": "quasi"}
    assert [name for name, _ in result.questions] == ["province", "income"]
    schema = result.policy.schema
    assert schema["town"].hierarchy.spec() == {"prefix": True}
    assert (schema["town"].weight, schema["sex"].weight) == (0.5, 1)
    # A code means missing in its column alone.
    assert schema.null_values == ()
    assert (schema["town"].missing, schema["sex"].missing, schema["weight"].missing) == (("X",), ("9",), ())
    text = "\n".join(result.unread)
    for words in (
        "'town' <CODELIST>: labels",
        "'hhnum': missing codes are not read; empty",
        "'province': .* write missing = \\[\"9\"\\]",
        "fixed width",
        "k is 3",
    ):
        assert re.search(words, text), words


def test_missing_codes_are_those_of_their_columns(read):
    result = read("a 1 3 999\n<RECODABLE>\nb 4 2 99 98\n<RECODABLE>\nc 6 3 999 99\n<RECODABLE>\n")
    schema = result.policy.schema
    assert [schema[name].missing for name in "abc"] == [("999",), ("99", "98"), ("999", "99")]


def test_metadata_of_tau_argus_names_its_code_list(read, tmp_path):
    (tmp_path / "region.hrc").write_text("N\n-N1\n-N2\nS\n")
    result = read(TAU)
    schema = result.policy.schema
    assert roles(result) == {"Region": "quasi", "Size": "quasi"}
    assert [schema["Region"].hierarchy.path(rank) for rank in range(3)] == [
        ("N1", "N", "*"), ("N2", "N", "*"), ("S", "*"),
    ]  # fmt: skip
    assert isinstance(result.policy.algorithm, ic.Optimal)
    text = "\n".join(result.unread)
    for words in ("line 1: <SEPARATOR>", "'Size' <HIERLEVELS>", "'Value' <SHADOW>: has no counterpart"):
        assert words in text
    assert "fixed width" not in text


def test_a_code_list_that_is_not_there_is_named(read):
    result = read(TAU)
    assert result.policy.schema["Region"].hierarchy is None
    assert re.search("'Region': its code list is not read .*region.hrc", "\n".join(result.unread))


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("", "has no variables"),
        ("age\n<RECODABLE>\n", "line 1: is no variable with its place"),
        ("age one two\n", "line 1: is no variable with its place"),
        ("pay 1 4\n<NUMERIC>\n", "no variable is <RECODABLE>"),
        ("RDX3\nX\n", "line 1"),
    ],
)
def test_what_is_no_metadata_is_refused_with_the_line(read, text, why):
    with pytest.raises(ic.TableError, match=why):
        read(text)


def test_data_of_r_are_told_apart(tmp_path):
    (tmp_path / "d.rda").write_bytes(b"\x1f\x8b\x08\x00data")
    with pytest.raises(ic.TableError, match="binary"):
        read_foreign(tmp_path / "d.rda")


def test_a_draft_is_written_with_its_questions(tmp_path, run_command):
    (tmp_path / "m.rda").write_text(MU)
    result = run_command("import", tmp_path / "m.rda", "-o", tmp_path / "p")
    assert result.status == 0, result.err
    text = (tmp_path / "p/policy.toml").read_text()
    assert '[columns.income]\nrole = "?"' in text
    (tmp_path / "p/policy.toml").write_text(text.replace('"?"', '"sensitive"'))
    assert {each.name for each in ic.Policy.read(tmp_path / "p/policy.toml").schema.attributes} == {
        "hhnum", "weight", "town", "sex", "province", "income",
    }  # fmt: skip
