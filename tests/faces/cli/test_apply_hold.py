"""`incrowd apply --hold` and `verify --previous-release`: nothing leaves alone that fails alone."""

from __future__ import annotations

import json
import stat

import polars as pl
import pytest

POLICY = """
version = 1
[columns.age]
role = "quasi"
hierarchy = { intervals = [5] }
[columns.ill]
role = "sensitive"
[algorithm]
name = "optimal"
[[models]]
model = "k-anonymity"
k = 5
[[models]]
model = "l-diversity"
l = 2
"""


@pytest.fixture
def january(run, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    rows = [f"{age},{ill}" for age in range(20, 25) for ill in [*"abcd", *"abcdab"]]
    (tmp_path / "jan.csv").write_text("\n".join(["age,ill", *rows, ""]))
    (tmp_path / "feb.csv").write_text("age,ill\n22,SYPHILIS\n")
    (tmp_path / "policy.toml").write_text(POLICY)
    result = run("anonymize", "jan.csv", "--policy", "policy.toml", "-o", "jan-s.csv", "--recoding", "rec")
    assert result.status == 0, result.err
    return tmp_path


def batch(name, *more):
    return ("apply", "rec", f"{name}.csv", "--policy", "policy.toml", "-o", f"{name}-s.csv", *more)


EARLIER = ("--previous-release", "jan-s.csv")


def test_a_file_of_one_person_waits(run, january):
    refused = run(*batch("feb", *EARLIER))
    assert refused.status == 1
    assert "let rows of classes that fail wait (--hold)" in refused.err
    assert not (january / "feb-s.csv").exists()
    waits = run(*batch("feb", *EARLIER, "--hold", "waiting-feb.parquet", "--rows", "rows.csv"))
    assert waits.status == 1
    assert "1 rows wait in waiting-feb.parquet; keep it private" in waits.out
    assert "all 1 rows wait for the next batch" in waits.err
    assert "SYPHILIS" not in waits.out + waits.err
    assert not (january / "feb-s.csv").exists()
    assert (january / "rows.csv").read_text() == "row,reason\n1,waiting\n"
    path = january / "waiting-feb.parquet"
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    # The script goes on: in March four more come, and one of another class.
    (january / "mar.csv").write_text("age,ill\n22,a\n22,b\n22,c\n22,d\n20,a\n")
    arguments = batch("mar", *EARLIER, "--held", "waiting-feb.parquet", "--hold", "waiting-mar.parquet")
    result = run(*arguments)
    assert result.status == 0, result.err
    assert "5 rows (1 of them held before)" not in result.out
    assert "6 rows (1 of them held before): 0 covered by no cell" in result.out
    assert "written: mar-s.csv, every model holds, alone and with the earlier release" in result.out
    released = pl.read_csv(january / "mar-s.csv", infer_schema=False)
    assert sorted(released.rows()) == [("22", "SYPHILIS"), *(("22", ill) for ill in "abcd")]
    assert pl.read_parquet(january / "waiting-mar.parquet").rows() == [("20", "a")]
    checked = run("verify", "mar-s.csv", "--policy", "policy.toml", *EARLIER)
    assert checked.status == 0
    assert "mar-s.csv and jan-s.csv: 55 records" in checked.out
    # It can be run again, because what it read is still there.
    again = json.loads(run(*arguments, "--force", "--json").out)
    assert (again["records"], again["held_before"], again["held"], again["suppressed"]) == (6, 1, 1, 0)


@pytest.mark.slow
def test_files_that_are_merged_are_judged_as_one(run, january):
    result = run(*batch("feb", *EARLIER, "--published-as-one"))
    assert result.status == 0, result.err
    assert "every model holds of it and the earlier release as one table, not of it alone" in result.out
    pair = ("verify", "feb-s.csv", "--policy", "policy.toml", *EARLIER)
    assert run(*pair).status == 1
    merged = run(*pair, "--published-as-one")
    assert merged.status == 0
    assert "verified, if both are published as one table" in merged.out


def test_wrong_calls(run, january):
    for arguments, message in (
        (batch("feb", "--published-as-one"), "name that release (--previous-release)"),
        (batch("feb", "--hold", "held.csv"), "name it .parquet"),
        (batch("feb", "--held", "jan.csv", "--hold", "feb.csv"), "would replace an input file"),
        (batch("feb", "--hold", "feb-s.csv"), "another output of this call has that name"),
        (batch("feb", "--held", "none.parquet"), "none.parquet: cannot be read"),
        (batch("feb", "--hold", "w.parquet", "--stream"), "have to be in memory; give a frame or one file"),
        (
            ("verify", "jan-s.csv", "--policy", "policy.toml", *EARLIER, "--emit-sql", "x.sql"),
            "the script checks one release; write one for each file",
        ),
        (("verify", "jan-s.csv", "--policy", "policy.toml", "--published-as-one"), "(--previous-release)"),
    ):
        refused = run(*arguments)
        assert refused.status == 2, arguments
        assert message in " ".join(refused.err.split()), refused.err
    names = {path.name for path in january.iterdir()}
    assert names == {"jan.csv", "feb.csv", "policy.toml", "jan-s.csv", "rec"}


def test_held_and_waiting_rows_need_two_files(run, january):
    pl.DataFrame({"age": ["22"], "ill": ["a"]}).write_parquet("held.parquet")
    before = (january / "held.parquet").read_bytes()
    refused = run(*batch("feb", "--held", "held.parquet", "--hold", "held.parquet", "--force"))
    assert refused.status == 2
    assert "held.parquet: the output would replace an input file" in refused.err
    assert (january / "held.parquet").read_bytes() == before
