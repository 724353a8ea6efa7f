"""The verifier judges the suppressed records of a release as a separate class."""

from __future__ import annotations

import subprocess
import sys

import polars as pl
import pytest

import incrowd as ic
from crossed import crossed
from emitted_sql import verdict
from incrowd.release.verification import checks_as_sql, verify

MODELS = ["k-anonymity:3", "l-diversity:2"]
POLICY = """version = 1
max_suppression = 0.3
ends = "exact"
{setting}
[columns.side]
role = "quasi"
[columns.ill]
role = "sensitive"
[[models]]
model = "k-anonymity"
k = 3
[[models]]
model = "l-diversity"
l = 2
"""


def rows(*others: tuple[str, str]) -> list[tuple[str, str]]:
    return [*((side, "abc"[n % 3]) for side in "LRB" for n in range(8)), *others]


ONE = [("*", "HIV")]
ALIKE = [("*", "HIV")] * 5
MIXED = [("*", ill) for ill in ("HIV", "a", "b", "HIV", "c")]


def placed(folder, others, setting="", raw=None):
    """Write a release and a policy, and the raw table if there is any."""
    pl.DataFrame(rows(*others), ["side", "ill"], orient="row").write_csv(folder / "release.csv")
    (folder / "policy.toml").write_text(POLICY.format(setting=setting))
    if raw is not None:
        pl.DataFrame(raw, ["side", "ill"], orient="row").write_csv(folder / "raw.csv")
    return str(folder / "release.csv"), str(folder / "policy.toml")


@pytest.mark.few(1)
@pytest.mark.parametrize(
    ("others", "setting", "problem"),
    [
        (ONE, "", "1 suppressed record does not satisfy k-anonymity and l-diversity as a class of its own"),
        (ALIKE, "", "5 suppressed records do not satisfy l-diversity as a class of their own"),
        (MIXED, "", None),
        ([], "", None),
        (ONE, 'suppressed = "keep"', None),
        (MIXED, 'suppressed = "drop"', "5 suppressed records are in the file, and the policy drops them"),
        ([], 'suppressed = "drop"', None),
    ],
)
def test_suppressed_records_satisfy_the_limits_as_a_class(tmp_path, others, setting, problem):
    files = placed(tmp_path, others, setting)
    verification = verify(*files)
    assert verification.problems == (() if problem is None else (problem,))
    assert verification.ok is (problem is None)
    assert all(each.holds for each in verification.findings)
    assert verdict(checks_as_sql(*files)) is (problem is None)


def test_attackers_are_shown_a_class_of_its_own(tmp_path):
    """A record with only the side suppressed does not stand by the suppressed records."""
    table = pl.DataFrame(
        [*((side, sex, "ab"[n % 2]) for side in "LR*" for sex in "mf" for n in range(6)), *[("*", "*", ill) for ill in "abab"]],
        ["side", "sex", "ill"],
        orient="row",
    )  # fmt: skip
    table.write_csv(tmp_path / "release.csv")
    body = POLICY.format(setting="") + '[columns.sex]\nrole = "quasi"\n'
    body += '[[attackers]]\nname = "insurer"\nknows = ["side"]\nk = 5\n'
    (tmp_path / "policy.toml").write_text(body)
    verification = verify(tmp_path / "release.csv", tmp_path / "policy.toml")
    assert verification.problems == (
        "4 suppressed records do not satisfy k-anonymity against 'insurer' as a class of their own",
    )
    assert not verdict(checks_as_sql(tmp_path / "release.csv", tmp_path / "policy.toml"))


RAW = rows(("P", "HIV"), ("Q", "HIV"))


@pytest.mark.slow
@pytest.mark.parametrize("setting", ["", 'suppressed = "drop"'])
def test_records_that_are_left_out_count_as_suppressed(tmp_path, setting):
    files = placed(tmp_path, [], setting, RAW)
    verification = verify(*files, against=tmp_path / "raw.csv")
    assert verification.problems == ()
    assert "2 records of the raw table are not in the release; they count as suppressed" in verification.notes
    assert verdict(checks_as_sql(*files, against=tmp_path / "raw.csv"))
    text = (tmp_path / "policy.toml").read_text()
    (tmp_path / "policy.toml").write_text(text.replace("max_suppression = 0.3", "max_suppression = 0.07"))
    [problem] = verify(*files, against=tmp_path / "raw.csv").problems
    assert problem == (
        "2 of 26 records are suppressed (2 of them are not in the release), more than the share of 0.07"
    )


def test_no_record_of_a_release_that_keeps_them_is_missing(tmp_path):
    files = placed(tmp_path, [], 'suppressed = "keep"', RAW)
    [problem] = verify(*files, against=tmp_path / "raw.csv").problems
    assert problem == "the release has 24 records and the raw table 26"
    assert not verdict(checks_as_sql(*files, against=tmp_path / "raw.csv"))


@pytest.mark.slow
def test_a_row_map_tells_which_records_are_left_out(tmp_path):
    files = placed(tmp_path, [], "", [RAW[24], *RAW[:24], RAW[25]])
    pl.DataFrame({"row": range(2, 26)}).write_parquet(tmp_path / "rows.parquet")
    settings = {"against": tmp_path / "raw.csv", "row_map": tmp_path / "rows.parquet"}
    assert verify(*files, **settings).problems == ()
    assert verdict(checks_as_sql(*files, **settings))
    pl.DataFrame({"row": [1, *range(3, 26)]}).write_parquet(tmp_path / "rows.parquet")
    assert verify(*files, **settings).problems
    pl.DataFrame({"row": range(4, 28)}).write_parquet(tmp_path / "rows.parquet")
    with pytest.raises(ic.TableError, match="does not name each of 24 records once"):
        verify(*files, **settings)


def test_records_added_in_place_of_those_left_out_are_noticed(tmp_path):
    """As many records may be missing as the policy allows, and none may be another."""
    files = placed(tmp_path, [("L", "d")], "", RAW)
    verification = verify(*files, against=tmp_path / "raw.csv")
    assert verification.problems


@pytest.mark.slow
@pytest.mark.parametrize(
    ("models", "person"),
    crossed([MODELS, [*MODELS, "t-closeness:0.4"], [*MODELS, "average-risk:0.2"]], [False, True]),
)
@pytest.mark.random_order
def test_saved_releases_are_verified(tmp_path, person, models):
    """The verifier and the release agree, with the raw table and without."""
    others = [("P", "HIV"), ("Q", "HIV"), ("S", "a")]
    table = pl.DataFrame(rows(*others), ["side", "ill"], orient="row").with_columns(who=pl.int_range(27) // 1)
    table = (
        table.with_columns(who=pl.when(pl.col("side") == "S").then(25).otherwise("who")) if person else table
    )
    table.write_csv(tmp_path / "raw.csv")
    schema = ic.Schema(["side"], ["ill"], **({"person": "who"} if person else {"identifying": ["who"]}))
    for how in ("judged", "drop", "keep"):
        release = ic.anonymize(
            tmp_path / "raw.csv", schema, models, "optimal", max_suppression=0.3, suppressed=how
        )
        folder = tmp_path / how
        release.save(folder)
        given = {"against": tmp_path / "raw.csv", "row_map": folder / "internal" / "rows.parquet"}
        for beside in ({}, given):
            verification = verify(
                folder / "release.csv", folder / "policy.toml", account=folder / "release.json", **beside
            )
            assert verification.problems == ()
            assert verification.ok or verification.is_unchecked
            assert verification.records == release.privacy.records


@pytest.mark.slow
def test_the_command_says_so(tmp_path):
    files = placed(tmp_path, ALIKE)
    process = subprocess.run(
        [sys.executable, "-m", "incrowd", "verify", files[0], "--policy", files[1]],
        capture_output=True,
        text=True,
        check=False,
    )
    assert process.returncode == 1
    assert "do not satisfy l-diversity as a class of their own" in " ".join(
        (process.stdout + process.stderr).split()
    )


def test_rows_that_were_taken_out_by_hand_are_told_by_the_account_or_the_row_map(tmp_path):
    """All with HIV are gone, fewer than may be suppressed: without account and row map nobody can tell."""
    ages, ills = (
        [20 + row % 4 for row in range(200)],
        ["hiv" if row % 50 == 7 else "flu" for row in range(200)],
    )
    raw = pl.DataFrame({"age": ages, "ill": ills})
    raw.write_csv(tmp_path / "raw.csv")
    schema = ic.Schema(quasi=["age"], insensitive=["ill"])
    release = ic.anonymize(raw, ic.Policy(schema, [ic.KAnonymity(5)], max_suppression=0.05))
    release.save(tmp_path / "out")
    files = tmp_path / "out" / "release.csv", tmp_path / "out" / "policy.toml"
    honest = verify(*files, against=tmp_path / "raw.csv")
    assert honest.verdict == release.verdict
    cut = pl.read_csv(files[0], infer_schema=False).filter(pl.col("ill") != "hiv")
    cut.write_csv(files[0])
    verification = verify(*files, against=tmp_path / "raw.csv")
    said = "4 raw records are not in the release, and which rows are missing was not checked."
    assert verification.verdict.text.endswith(said)
    assert said in verification.to_dict()["verdict"]["text"]
    by_account = verify(*files, against=tmp_path / "raw.csv", account=tmp_path / "out" / "release.json")
    assert by_account.verdict.state == "broken"
    with pytest.raises(ic.TableError, match="row map"):
        verify(*files, against=tmp_path / "raw.csv", row_map=tmp_path / "out" / "internal" / "rows.parquet")
