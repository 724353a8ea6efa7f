"""`incrowd attack` on folders of linked tables: an attacker who knows rows of each table."""

from __future__ import annotations

import json

import pytest

import incrowd as ic
from incrowd.attacks.linked import joining
from linked_readings import draw, saved


@pytest.fixture(scope="module")
def folders(tmp_path_factory):
    """Raw tables, what is released of them, and the policy."""
    tables, policy = draw(2, k=5, people=60, max_suppression=0.9)
    folder = tmp_path_factory.mktemp("linked")
    raw, released = saved(folder / "raw", tables, policy), folder / "released"
    ic.anonymize_linked(tables, policy, unanswered="write").save(released)
    return str(raw), str(released), str(raw / "policy.toml")


def test_both_folders_are_attacked_as_in_python(run, folders):
    raw, released, file = folders
    result = run("attack", raw, released, "--policy", file, "--known", "1", "--attacks", "50", "--json")
    assert result.status == 0, result.err
    before, after = json.loads(result.out)["attacks"]
    policy = ic.LinkedPolicy.read(file)
    for entry, tables in ((before, raw), (after, released)):
        assert entry["figures"] == joining(tables, policy, facts=1, attacks=50).to_dict()["figures"]
    assert (before["name"], after["name"]) == ("joining raw tables", "joining")
    assert before["figures"]["fewest"] < 5 <= after["figures"]["fewest"]
    shown = run("attack", raw, released, "--policy", file, "--attacks", "50")
    assert shown.status == 0, shown.err
    assert "joining raw tables: fitting" in shown.out


@pytest.mark.parametrize(
    ("options", "words"),
    [
        (["--secret", "x"], "--secret is for one table"),
        (["--columns", "2"], "--columns is for one table"),
        (["--kinds", "linkage"], "--kinds is for one table"),
        (["--known", "age"], "--known is a number of rows for linked tables"),
        (["--known", "9"], "must be 1"),
    ],
)
def test_options_that_do_not_fit_are_refused(run, folders, options, words):
    raw, released, file = folders
    result = run("attack", raw, released, "--policy", file, *options)
    assert result.status == 2
    assert words in result.err


def test_both_folders_are_asked_for(run, folders, tmp_path):
    raw, _, file = folders
    result = run("attack", raw, "--policy", file)
    assert result.status == 2
    assert "RELEASE" in result.err
    assert run("attack", raw, str(tmp_path / "none"), "--policy", file).status == 2
