"""Treatments on the command line, and refusals."""

from __future__ import annotations

import json
import re

import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

from incrowd.core.treatments import TREATMENTS
from incrowd_verify.policy import read_treatment
from treatment_tables import KEY, people, written

TOKEN = re.compile("[0-9a-f]{14}")
BASE = (
    "--qi",
    "age",
    "--sensitive",
    "dx,salary",
    "--insensitive",
    "phone,mail,note",
    "--person",
    "pid",
    "-k",
    "3",
)


def test_the_command_line_has_treatments(run, tmp_path, monkeypatch):
    monkeypatch.setenv("CLINIC_KEY", KEY)
    source = written(tmp_path / "raw.csv", people())
    result = run(
        "anonymize", str(source), *BASE, "--treat", "salary=round:500", "--treat", "phone=keep-last:2",
        "--treat", "pid=pseudonym:key=env:CLINIC_KEY,length=14", "-o", str(tmp_path / "out.csv"),
    )  # fmt: skip
    assert result.status == 0, result.err
    frame = pl.read_csv(tmp_path / "out.csv", infer_schema=False)
    assert all(TOKEN.fullmatch(each) for each in frame["pid"])
    listed = run("list", "treatments", "--json")
    assert {entry["name"] for entry in json.loads(listed.out)} >= {"pseudonym", "round", "mask"}


def test_a_pattern_with_a_comma_stands_in_quotes(run, tmp_path):
    raw = people().with_columns(phone=pl.format("{},{}", pl.int_range(pl.len()), pl.col("age")))
    source = written(tmp_path / "raw.csv", raw)
    result = run(
        "anonymize",
        str(source),
        *BASE,
        "--treat",
        'phone=mask:"[0-9,]",mark=x',
        "-o",
        str(tmp_path / "out.csv"),
    )
    assert result.status == 0, result.err
    frame = pl.read_csv(tmp_path / "out.csv", infer_schema=False)
    assert frame["phone"].str.contains("^x+$").all()


def test_anatomize_treats_columns(run, tmp_path):
    source = written(tmp_path / "raw.csv", people())
    result = run(
        "anatomize", str(source), "--qi", "age", "--sensitive", "dx", "--insensitive", "note", "--unlisted",
        "drop", "-l", "2", "--treat", "note=redact", "-o", str(tmp_path / "out"),
    )  # fmt: skip
    assert result.status == 0, result.err
    frame = pl.read_csv(tmp_path / "out" / "quasi.csv", infer_schema=False)
    assert set(frame["note"].drop_nulls()) == {"[redacted]"}
    assert "[redacted]" in result.out


@given(st.text('a5",=[ ', min_size=1).map(str.strip), st.sampled_from(["x", '"', ", ", "1e3"]))
def test_the_verifier_reads_quotes_alike(text, mark):
    quoted, of_mark = (f'"{each.replace(chr(34), 2 * chr(34))}"' for each in (text, mark))
    result = TREATMENTS.parse(f"constant:{quoted}")
    assert read_treatment(f"constant:{quoted}", "here").first == result.text == text
    for first in ('"[a,]{3}"', 'pattern="[a,]{3}"', "[a]"):
        result = TREATMENTS.parse(f"mask:{first},mark={of_mark}")
        read = read_treatment(f"mask:{first},mark={of_mark}", "here")
        assert (read.first, read.settings["mark"]) == (result.pattern, result.mark)


@pytest.mark.parametrize(
    ("options", "key", "said"),
    [
        (("--treat", "pid=pseudonym:key=env:CLINIC_KEY"), None, "CLINIC_KEY' is not set"),
        (("--treat", "pid=pseudonym:key=env:CLINIC_KEY"), "too-short", "too short"),
        (("--treat", "salary=round:5", "--treat", "salary=redact"), KEY, "has two treatments"),
        (("--treat", "dx=round:5"), KEY, "needs numbers"),
        (("--treat", "salary"), KEY, "write COLUMN=NAME:PARAMETERS"),
        (("--treat", "ward=redact"), KEY, "'ward' has no role"),
    ],
)
def test_bad_input_exits_2_with_nothing_written(run, tmp_path, monkeypatch, options, key, said):
    monkeypatch.delenv("CLINIC_KEY", raising=False)
    if key is not None:
        monkeypatch.setenv("CLINIC_KEY", key)
    source = written(tmp_path / "raw.csv", people())
    result = run("anonymize", str(source), *BASE, *options, "-o", str(tmp_path / "out.csv"))
    assert result.status == 2
    assert said in " ".join(result.err.split())
    assert [path.name for path in tmp_path.iterdir()] == ["raw.csv"]
    assert "too-short" not in result.err
