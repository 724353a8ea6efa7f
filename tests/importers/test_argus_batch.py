"""Batch files of tau-ARGUS: tables, rules and protection, with the metadata beside the file."""

from __future__ import annotations

import polars as pl
import pytest

import incrowd as ic
from incrowd.core.errors import InputError, TableError
from incrowd.importers import read_foreign

METADATA = """   <SEPARATOR> ","
Region 2
   <RECODEABLE>
   <TOTCODE> "Total"
   <HIERARCHICAL>
   <HIERCODELIST> "region.hrc"
   <HIERLEADSTRING> "@"
Size 1
   <RECODEABLE>
   <TOTCODE> "Total"
Turnover 12
   <NUMERIC>
"""
CODES = "north\n@a\n@b\nsouth\n@c\n"
BATCH = r"""
// written by another tool
<OPENMICRODATA> "C:\data\study.asc"
<OPENMETADATA> "C:\data\study.rda"
// <TABLE_ID> "turnover"
<SPECIFYTABLE> "Region""Size"|"Turnover"||
<SAFETYRULE> NK(2,75)|P(20,1)|FREQ(4,30)|MAN(20)
<SPECIFYTABLE> "Region"|<freq>||
<SAFETYRULE> FREQ(3,0)|ZERO(20)
<READMICRODATA>
<SUPPRESS> OPT(1)
<SUPPRESS> MOD(2)
<WRITETABLE> (1,2,,"C:\out\one.csv")
"""


@pytest.fixture
def read(tmp_path):
    def call(batch=BATCH, metadata=METADATA):
        (tmp_path / "study.rda").write_text(metadata)
        (tmp_path / "region.hrc").write_text(CODES)
        (tmp_path / "study.arb").write_text(batch)
        return read_foreign(tmp_path / "study.arb")

    return call


def test_tables_and_rules(read):
    imported = read()
    turnover, counts = imported.policy.tables
    assert turnover == ic.CountTable(
        "turnover", ["Region"], ["Size"], sum="Turnover", threshold=4, dominance=[2, 0.75], p_percent=20
    )
    assert counts == ic.CountTable("Region", ["Region"], count="records", threshold=3, zeros="hide")
    assert imported.questions == ()
    assert any("MAN(20)" in each for each in imported.unread)
    assert any("<WRITETABLE>" in each for each in imported.unread)


def test_the_policy_makes_its_tables(read, tmp_path):
    read().write(tmp_path)
    policy = ic.Policy.read(tmp_path / "policy.toml")
    table = pl.DataFrame(
        {
            "Region": [*"a" * 20, *"b" * 20, *"c" * 2, *"c" * 18],
            "Size": ["1", "2", "3", "4"] * 15,
            "Turnover": [float(n % 7 + 1) for n in range(60)],
        }
    )
    release = ic.tabulate(table, policy)
    assert release.verdict.holds
    assert release["turnover"].columns == ["Region", "Size", "sum of Turnover", "mark"]


def test_rounding(read):
    batch = BATCH.replace("<SUPPRESS> MOD(2)", "<SUPPRESS> RND(2,10,0,20)").replace("MOD(2)", "")
    assert read(batch).policy.tables[1].protect == "round"
    assert read(batch).policy.tables[1].multiple == 10


@pytest.mark.parametrize(
    ("batch", "message"),
    [
        ("", "names no metadata"),
        ('<OPENMETADATA> "study.rda"', "no table"),
        ("<SAFETYRULE> P(20)", "before any <SPECIFYTABLE>"),
        ('<OPENMETADATA> "study.rda"\n<SPECIFYTABLE> |"Turnover"||', "names no column"),
        ('<OPENMETADATA> "other.rda"', "other.rda"),
        ('<OPENMETADATA> "study.rda"\n<SPECIFYTABLE> "A""A"|<freq>||', "stands twice"),
    ],
)
def test_what_is_no_batch_is_refused(read, batch, message):
    with pytest.raises((TableError, InputError), match=message):
        read(batch)
