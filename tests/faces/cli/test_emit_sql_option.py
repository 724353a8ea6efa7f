"""incrowd verify --emit-sql: the script beside the verdict."""

from __future__ import annotations

import pytest

from emitted_sql import verdict

POLICY = "version = 1\n[columns.q]\nrole = 'quasi'\n[[models]]\nmodel = 'k-anonymity'\nk = 2\n"


@pytest.fixture
def release(tmp_path):
    (tmp_path / "policy.toml").write_text(POLICY)
    path = tmp_path / "safe.csv"
    path.write_text("q\na\na\n")
    return path


def verify(run, release, *more):
    policy, script = release.with_name("policy.toml"), release.with_name("checks.sql")
    return run("verify", str(release), "--policy", str(policy), "--emit-sql", str(script), *more), script


def test_it_is_written_beside_either_verdict(run, release):
    result, script = verify(run, release)
    assert result.status == 0, result.err
    assert f"written: {script}" in result.out
    assert verdict(script.read_text())
    release.write_text("q\na\nb\n")
    result, script = verify(run, release, "--force")
    assert result.status == 1
    assert not verdict(script.read_text())


def test_a_script_that_exists_is_kept(run, release):
    release.with_name("checks.sql").write_text("kept")
    result, script = verify(run, release)
    assert result.status == 2
    assert "exists already" in result.err
    assert script.read_text() == "kept"


def test_json_is_not_disturbed_and_what_the_script_passes_over_is_refused(run, release):
    result, _ = verify(run, release, "--json")
    assert result.out.startswith("{")
    assert "written" not in result.out
    result, script = verify(run, release, "--escape-formulas", "--force")
    assert (result.status, script.exists()) == (2, True)
    assert "--emit-sql" in result.err


@pytest.mark.slow
def test_a_script_about_people_is_for_the_owner_of_the_raw_table_alone(run, release):
    """A class has two people behind the records, then only a single person: 2-anonymity is about people."""
    policy, raw = release.with_name("policy.toml"), release.with_name("raw.csv")
    policy.write_text(POLICY.replace("[[", "[columns.p]\nrole = 'person'\n[[", 1) + "\n")
    (release.with_name("rows.csv")).write_text("row\n2\n1\n")
    beside = ["--against", str(raw), "--row-map", str(release.with_name("rows.csv")), "--force"]
    for people, status in (("x\na,y", 0), ("x\na,x", 1)):
        raw.write_text(f"q,p\na,{people}\n")
        result, script = verify(run, release, *beside)
        assert result.status == status, result.err
        assert verdict(script.read_text()) == (status == 0)
        assert script.stat().st_mode & 0o777 == 0o600


def test_nothing_is_written_where_no_script_can_check(run, release):
    policy = release.with_name("policy.toml")
    policy.write_text(POLICY.replace("k-anonymity", "k-map") + "[columns.w]\nrole = 'weight'\n")
    result, script = verify(run, release)
    assert result.status == 2
    assert not script.exists()
