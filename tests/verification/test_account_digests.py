"""The digests of an account: a changed, longer or swapped release, and a loosened policy, are found."""

from __future__ import annotations

import json
import subprocess

import polars as pl
import pytest

import incrowd as ic
from incrowd.core.io.seals import digest_of
from incrowd.release.verification import verify
from incrowd.samples import hospital, hospital_policy


@pytest.fixture(scope="module")
def saved(tmp_path_factory):
    folder = tmp_path_factory.mktemp("saved") / "out"
    table, policy = hospital(400, 3), hospital_policy()
    ic.anonymize(table, policy, unanswered="write").save(folder)
    return folder


@pytest.fixture
def copy(saved, tmp_path):
    for name in ("release.csv", "policy.toml", "release.json"):
        (tmp_path / name).write_bytes((saved / name).read_bytes())
    hierarchies = saved / "hierarchies"
    if hierarchies.exists():
        (tmp_path / "hierarchies").mkdir()
        for each in hierarchies.iterdir():
            (tmp_path / "hierarchies" / each.name).write_bytes(each.read_bytes())
    return tmp_path


def checked(folder, release="release.csv", policy="policy.toml"):
    return verify(folder / release, folder / policy, account=folder / "release.json")


@pytest.mark.slow
def test_the_saved_release_is_the_one_of_its_account(saved):
    verification = checked(saved)
    assert verification.keeps_limits
    assert not any("digest" in line for line in verification.unchecked)
    account = json.loads((saved / "release.json").read_text())
    assert account["incrowd"] == ic.__version__
    printed = subprocess.run(["sha256sum", saved / "release.csv"], capture_output=True, text=True, check=True)
    assert account["files"]["release.csv"]["sha256"] == printed.stdout.split()[0]


@pytest.mark.slow
def test_duplicated_rows_are_found(copy):
    lines = (copy / "release.csv").read_text().splitlines(keepends=True)
    (copy / "release.csv").write_text("".join([*lines, *lines[1:]]))
    # Every model holds all the more where every row stands in the file twice.
    assert verify(copy / "release.csv", copy / "policy.toml").keeps_limits
    verification = checked(copy)
    assert not verification.keeps_limits
    assert ["SHA-256" in line for line in verification.problems] == [True, False]
    assert "the release has 800 records, and its account says 400" in verification.problems[1]


def test_a_swapped_cell_and_a_loosened_policy_are_found(copy):
    policy = (copy / "policy.toml").read_text()
    (copy / "policy.toml").write_text(policy.replace("k = 5", "k = 2"))
    (problem,) = checked(copy).problems
    assert problem.startswith("the policy is not the one of the account")
    (copy / "policy.toml").write_text(policy)
    lines = (copy / "release.csv").read_text().splitlines(keepends=True)
    (copy / "release.csv").write_text("".join([lines[0], *reversed(lines[1:])]))
    (problem,) = checked(copy).problems
    assert problem.startswith("the release is not the file of its account")


@pytest.fixture(scope="module")
def partly(tmp_path_factory):
    """Return a folder with a release of 24 of 27 records."""
    folder = tmp_path_factory.mktemp("partly") / "out"
    table = pl.DataFrame({"side": [*"LRB" * 8, "*", "P", "Q"], "ill": [*"abc" * 9]})
    schema = ic.Schema(["side"], ["ill"])
    ic.anonymize(table, schema, "k-anonymity:3", "optimal", max_suppression=0.5, unanswered="write").save(
        folder
    )
    return folder


@pytest.mark.few(1)
@pytest.mark.parametrize(
    ("reasons", "problem"),
    [
        ({"input": 1, "class": 2}, None),
        ({"class": 2}, "3 records are suppressed or left out, and the account has reasons for 2"),
        ({"input": 1, "class": 2, "stars": 3}, "the account has reasons for 6"),
    ],
)
def test_the_reasons_of_suppressed_records_are_as_many_as_these(partly, reasons, problem):
    account = json.loads((partly / "release.json").read_text())
    account["suppression"]["reasons"] = reasons
    (partly / "release.json").write_text(json.dumps(account))
    verification = checked(partly)
    problems = [each for each in verification.problems if "reasons" in each]
    assert len(problems) == (problem is not None)
    assert all(problem in each for each in problems)


def test_an_account_without_reasons_is_not_checked_for_them(partly):
    account = json.loads((partly / "release.json").read_text())
    for reasons, words in (
        (None, "why records are suppressed"),
        ({"class": -1}, None),
        ({"class": "2"}, None),
    ):
        account["suppression"]["reasons"] = reasons
        (partly / "release.json").write_text(json.dumps(account))
        if words is None:
            with pytest.raises(ic.TableError, match="counts no suppressed records"):
                checked(partly)
        else:
            assert any(words in each for each in checked(partly).unchecked)


@pytest.mark.few(2)
@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("{", "is no account of a release"),
        ("[]", "is no account of a release"),
        ("[" * 100_000, "is no account of a release"),
        ('{"format": "incrowd batch"}', "is no account of a release"),
        ('{"format": "incrowd release", "after": {"records": 400}}', "has no digests of files"),
    ],
)
def test_what_is_no_account_is_refused(copy, text, words):
    (copy / "release.json").write_text(text)
    with pytest.raises(ic.TableError, match=words):
        checked(copy)


def test_a_folder_has_the_digest_of_its_list(tmp_path):
    folder = tmp_path / "release.parquet"
    (folder / "b").mkdir(parents=True)
    (folder / "part-0").write_text("one")
    (folder / "b" / "part-1").write_text("two")
    listed = subprocess.run(
        "sha256sum b/part-1 part-0 | sha256sum",
        cwd=folder,
        shell=True,
        capture_output=True,
        text=True,
        check=True,
    )
    assert digest_of(folder) == listed.stdout.split()[0]
    (folder / "_incrowd-files-abc").touch()
    (folder / ".crc").touch()
    assert digest_of(folder) == listed.stdout.split()[0]


def test_the_published_account_has_no_digest_of_raw_values(saved):
    digests = json.loads((saved / "internal" / "digests.json").read_text())
    assert digests["recoding"]["sha256"] == digest_of(saved / "internal" / "recoding")
    for name in ("release.json", "policy.toml"):
        text = (saved / name).read_text()
        assert digests["recoding"]["sha256"] not in text
