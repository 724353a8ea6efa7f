"""--quiet, --log-level, --log-format and env:NAME: for schedulers, and never a person's value."""

from __future__ import annotations

import json
import re
import signal
import sqlite3
import subprocess
import sys

import pytest

from cli_tables import rows

SECRET = "Zaphod"
ROLES = ("--qi", "age,zip", "--sensitive", "disease", "--identifying", "name")
NONE = ("--levels", "age=0,zip=0", "--force")
"""No recoding at all, which satisfies no k."""


@pytest.fixture
def table(tmp_path):
    path = tmp_path / "people.csv"
    lines = [f"{SECRET}{i},{20 + i},{SECRET}{i % 3},{SECRET}{i % 2}" for i in range(12)]
    path.write_text("\n".join(["name,age,zip,disease", *lines]) + "\n")
    return path


def records(err: str) -> list[dict]:
    """Every line of standard error as a record."""
    return [json.loads(line) for line in err.splitlines()]


def anonymize(run, table, *more, output="out.csv"):
    return run("anonymize", str(table), *ROLES, "-k", "3", "-o", str(table.with_name(output)), *more)


def test_quiet_prints_nothing_and_does_the_work(run, table):
    result = anonymize(run, table, "--quiet")
    assert (result.status, result.out, result.err) == (0, "", "")
    assert len(rows(table.with_name("out.csv"))) == 12


@pytest.mark.parametrize("before", [True, False])
def test_the_options_stand_before_or_behind_the_command(run, table, before):
    call = ["assess", str(table), "--qi", "age"]
    result = run(*(["-q", *call] if before else [*call, "-q"]))
    assert (result.status, result.out) == (0, "")


def test_quiet_keeps_what_json_prints_warnings_and_the_status(run, table):
    result = anonymize(run, table, "-q", "--json", "--save-policy", str(table.with_name("p.toml")))
    assert json.loads(result.out)["format"] == "incrowd release"
    assert "for you alone" in result.err
    assert anonymize(run, table, "-q", "--log-level", "error", *NONE).status == 1
    assert not run("verify", str(table), "--policy", str(table.with_name("p.toml")), "-q").out


def test_quiet_keeps_a_draft_that_goes_to_standard_output(run, table):
    result = run("init", str(table), "-q")
    assert "[columns.age]" in result.out
    assert result.err == ""


def test_level_info_tells_stages_and_their_times(run, table):
    result = anonymize(run, table, "--log-level", "info")
    assert "incrowd: search ..." in result.err
    assert re.search(r"incrowd: count took 0\.\d{3} s", result.err)
    assert result.err.endswith(" s\nincrowd: exit status 0\n")


def test_level_error_leaves_warnings_out(run, table):
    policy = str(table.with_name("p.toml"))
    result = anonymize(run, table, "--log-level", "error", "--save-policy", policy)
    assert (result.status, result.err) == (0, "")


def test_json_records_have_time_level_event_and_message(run, table):
    entries = records(anonymize(run, table, "--log-format", "json", "--log-level", "debug").err)
    assert {"time", "level", "event", "message"} <= set.intersection(*map(set, entries))
    stages = [each["stage"] for each in entries if each["event"] == "stage"]
    assert stages[:3] == ["read", "count", "assess"]
    assert [each["stage"] for each in entries if each["event"] == "stage-end"] == stages
    assert entries[-1]["event"] == "end"
    assert entries[-1]["exit_status"] == 0


@pytest.mark.parametrize(
    ("more", "error", "status"),
    [
        (NONE, "InfeasibleError", 1),
        (("--policy", "none.toml"), "ParameterError", 2),
        (("--nope",), "NoSuchOption", 2),
        (("--seed", "x"), "BadParameter", 2),
        (("--log-level", "loud"), "ParameterError", 2),
    ],
)
def test_errors_are_records_too(run, table, more, error, status):
    result = anonymize(run, table, "--log-format=json", *more)
    assert result.status == status
    [entry] = records(result.err)
    assert (entry["level"], entry["error"], entry["exit_status"]) == ("error", error, status)
    assert result.out == ""


def test_an_unknown_command_and_the_variables(run, table, monkeypatch):
    monkeypatch.setenv("INCROWD_LOG_FORMAT", "json")
    assert records(run("anonymise").err)[0]["exit_status"] == 2
    monkeypatch.setenv("INCROWD_LOG_LEVEL", "info")
    assert records(anonymize(run, table).err)[-1]["event"] == "end"
    monkeypatch.setenv("INCROWD_LOG_LEVEL", "all")
    assert "--log-level: must be one of debug, info" in records(anonymize(run, table).err)[0]["message"]


def test_internal_errors_are_records_without_what_the_library_said(run, table, monkeypatch):
    def broken(*_, **__):
        raise RuntimeError(SECRET)

    monkeypatch.setattr("incrowd.release.jobs.make.anonymize.anonymize", broken)
    [entry] = records(anonymize(run, table, "--log-format", "json").err)
    assert entry["error"] == "RuntimeError"
    assert SECRET not in entry["message"]


@pytest.mark.few(1)
@pytest.mark.parametrize("form", ["text", "json"])
def test_no_value_of_the_table_is_in_a_log(run, table, form):
    text = ""
    for more in ((), ("--force",), NONE, ("--algorithm", "optimal"), ("--dry-run", "-q")):
        text += anonymize(run, table, "--log-format", form, "--log-level", "debug", *more).err
    bad = table.with_name("bad.csv")
    bad.write_text(table.read_text() + f'{SECRET},"{SECRET}\n')
    text += anonymize(run, bad, "--log-format", form, "--log-level", "debug").err
    assert "search" in text
    assert SECRET not in text


def test_an_address_may_stand_in_a_variable(run, tmp_path, monkeypatch):
    database = sqlite3.connect(tmp_path / "clinic.db")
    database.execute("CREATE TABLE people (age)")
    database.executemany("INSERT INTO people VALUES (?)", [(20,)] * 3)
    database.commit()
    database.close()
    monkeypatch.setenv("CLINIC", f"sqlite:///{tmp_path}/clinic.db")
    assert run("assess", "env:CLINIC", "--table", "people", "--qi", "age").status == 0
    monkeypatch.setenv("CLINIC", "s3cret")
    result = run("assess", "env:CLINIC", "--table", "people", "--qi", "age")
    assert result.status == 2
    assert "'CLINIC' holds no address" in result.err
    assert "s3cret" not in result.err
    assert "'NO_SUCH' is not set" in run("assess", "env:NO_SUCH", "--qi", "age").err


@pytest.mark.slow
def test_a_signal_is_a_record(table):
    code = (
        "import os, signal, sys; import incrowd.release.jobs.measure.assess as job; from incrowd.faces.cli import main\n"
        "def assess(*a, **s): os.kill(os.getpid(), signal.SIGTERM)\n"
        "job.assess = assess\n"
        "sys.argv = ['incrowd', 'assess', sys.argv[1], '--qi', 'age', '--log-format', 'json']; main()"
    )
    process = subprocess.run(
        [sys.executable, "-c", code, str(table)], capture_output=True, text=True, check=False
    )
    assert process.returncode == 128 + signal.SIGTERM
    assert records(process.stderr)[-1]["event"] == "signal"
