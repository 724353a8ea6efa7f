"""The command of the verifier alone agrees with `incrowd verify`, also in the exit status."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import polars as pl
import pytest

import incrowd as ic
from incrowd.faces.cli import main as incrowd_main
from incrowd_verify.cli import main

TABLE = "age,diagnosis\n" + "".join(
    f"[{low}-{low + 4}],{'ab'[row % 2]}\n" for low in (20, 25) for row in range(4)
)
POLICY = """version = 1
[columns.age]
role = "quasi"
kind = "number"
[columns.diagnosis]
role = "sensitive"
[[models]]
model = "k-anonymity"
k = {k}
[[models]]
model = "l-diversity"
l = 2
"""


@pytest.fixture
def folder(tmp_path) -> Path:
    (tmp_path / "release.csv").write_text(TABLE)
    for name, k in (("good", 4), ("bad", 9)):
        (tmp_path / f"{name}.toml").write_text(POLICY.format(k=k))
    return tmp_path


@pytest.mark.few(4)
@pytest.mark.parametrize(
    ("arguments", "status"),
    [
        (("--policy", "good.toml"), 0),
        (("--policy", "bad.toml"), 1),
        (("--policy", "bad.toml", "--json"), 1),
        (("--policy", "good.toml", "--emit-sql", "checks.sql", "--force"), 0),
        (("--policy", "good.toml", "--against", "release.csv", "--suppressed-as", "NA"), 0),
    ],
)
def test_it_prints_what_the_other_prints(folder, call, arguments, status):
    of_incrowd = call(incrowd_main, "release.csv", *arguments)
    assert call(main, "release.csv", *arguments) == of_incrowd
    assert (of_incrowd[0], of_incrowd[2]) == (status, "")


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (("nothing.csv", "--policy", "good.toml"), "nothing.csv: the file cannot be read"),
        (("release.csv", "--policy", "nothing.toml"), "nothing.toml"),
        (("release.csv",), "name the policy (--policy), or the release.json that was saved (--account)"),
        (("release.csv", "--policy", "good.toml", "--emit-sql", "bad.toml"), "bad.toml exists already"),
        (
            ("release.csv", "--policy", "good.toml", "--emit-sql", "a.sql", "--names", "a"),
            "--emit-sql: the script",
        ),
    ],
)
def test_a_wrong_call_ends_with_status_2(folder, call, arguments, said):
    status, printed, errors = call(main, *arguments)
    assert (status, printed) == (2, "")
    assert errors.startswith("incrowd-verify: ")
    assert said in errors


def test_a_saved_release_brings_its_policy(folder, call):
    table = pl.DataFrame({"age": [21, 22, 23, 24, 26, 27, 28, 29] * 3, "diagnosis": list("abababab" * 3)})
    schema = ic.Schema(quasi={"age": ic.Hierarchy.intervals(5)}, sensitive=["diagnosis"])
    ic.anonymize(table, schema, ["k-anonymity:4", "l-diversity:2"]).save(folder / "saved")
    status, printed, errors = call(main, "saved/release.csv", "--account", "saved/release.json")
    assert (status, printed.splitlines()[-1], errors) == (0, "verified", "")
    policy = folder / "saved" / "policy.toml"
    policy.write_text(policy.read_text().replace("k = 4", "k = 3"))
    call_again = ("saved/release.csv", "--account", "saved/release.json", "--json")
    status, printed, _ = call(main, *call_again)
    assert status == 1
    assert "the policy is not the one of the account" in json.loads(printed)["problems"][0]


def alone(folder: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    """Run Python in a process of its own, which has loaded nothing of incrowd."""
    return subprocess.run(
        [sys.executable, *arguments], cwd=folder, capture_output=True, text=True, check=False
    )


def test_a_library_that_is_absent_is_an_extra_of_the_verifier(folder):
    (folder / "release.xlsx").write_bytes(b"PK\x03\x04")
    program = (
        "import sys\nsys.modules['fastexcel'] = None\n"
        "sys.argv = ['incrowd-verify', 'release.xlsx', '--policy', 'good.toml']\n"
        "from incrowd_verify.cli import main\nmain()\n"
    )
    process = alone(folder, "-c", program)
    assert process.returncode == 2
    assert "pip install './verify[excel]'" in process.stderr


def test_an_address_is_for_the_other_command(folder):
    process = alone(
        folder, "-m", "incrowd_verify", "postgresql://me:secret@there/people", "--policy", "good.toml"
    )
    assert (process.returncode, process.stdout) == (2, "")
    assert "`incrowd verify` reads databases" in process.stderr
    assert "secret" not in process.stderr
