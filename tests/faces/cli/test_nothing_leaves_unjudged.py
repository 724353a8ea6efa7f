"""Twelve ways in which names, numbers and broken rules once left with exit status 0, and that none does now."""

from __future__ import annotations

import json
import re
import shutil
from collections.abc import Callable
from pathlib import Path

import numpy as np
import polars as pl
import pytest

import incrowd as ic
from incrowd.release.verification import verify

pytestmark = pytest.mark.gated

ROWS = 400
RNG = np.random.default_rng(11)
BASE = pl.DataFrame(
    {
        "age": RNG.integers(18, 90, ROWS),
        "sex": RNG.choice(["F", "M"], ROWS),
        "dx": RNG.choice(list("abcd"), ROWS),
    }
)
QUASI = ["--qi", "age,sex", "-k", "5"]
Call = Callable[..., tuple[int, str]]


@pytest.fixture
def call(run, tmp_path, monkeypatch) -> Call:
    """Run a command in a separate folder, and return the exit status and the output."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("COLUMNS", "10000")

    def called(*arguments: str) -> tuple[int, str]:
        result = run(*arguments)
        return result.status, result.out + result.err

    return called


def written(**columns: object) -> str:
    BASE.with_columns(**{name: pl.Series(values) for name, values in columns.items()}).write_csv("raw.csv")
    return "raw.csv"


def test_1_unique_values_of_sensitive_columns_are_refused(call):
    names = [f"Person {number}" for number in range(ROWS)]
    raw = written(name=names, patient_id=[f"P{number:05}" for number in range(ROWS)])
    status, said = call(
        "anonymize", raw, *QUASI, "-l", "2", "--sensitive", "dx,name,patient_id", "-o", "out.csv"
    )
    assert status == 1
    assert "unique-column: name" in said
    assert "unique-column: patient_id" in said
    assert not Path("out.csv").exists()


def test_2_unknown_columns_of_a_draft_stay_out(call):
    pl.DataFrame(
        {
            "zorb": RNG.choice(["Ivo", "Ana", "Petr"], ROWS),
            "возраст": BASE["age"],
            "пол": RNG.choice(["м", "ж"], ROWS),
            "диагноз": RNG.choice(["грипп", "астма"], ROWS),
        }
    ).write_csv("raw.csv")
    assert call("init", "raw.csv", "--no-questions", "-o", "policy.toml")[0] == 0
    policy = ic.Policy.read("policy.toml")
    assert [each.name for each in policy.schema.quasi] == ["возраст", "пол"]
    assert [each.name for each in policy.schema.sensitive] == ["диагноз"]
    assert call("anonymize", "raw.csv", "--policy", "policy.toml", "-o", "out.csv")[0] == 0
    assert "zorb" not in pl.read_csv("out.csv").columns


@pytest.mark.few(1)
@pytest.mark.parametrize("role", ["--insensitive", "--sensitive"])
def test_3_notes_are_open_until_somebody_answers(call, role):
    notes = RNG.choice(
        ["fine", "ok", "Tel. 030-1234567", "ask jane@example.org", "Mrs Schroeder called"], ROWS
    )
    columns = ["--sensitive", "dx,note"] if role == "--sensitive" else ["--sensitive", "dx", role, "note"]
    command = ["anonymize", written(note=notes), *QUASI, "-l", "2", *columns, "-o", "out.csv"]
    status, said = call(*command)
    assert (status, Path("out.csv").exists()) == (1, False)
    assert "personal-text: note" in said
    assert "1234567" not in said
    answers = [f"--accept={kind}:note=made up" for kind in ("personal-text", "free-text")]
    status, said = call(*command, *answers)
    assert (status, Path("out.csv").exists()) == (0, True)
    assert "Accepted: made up" in said


PROFILE = """version = 1
unlisted = "keep"
[columns.age]
role = "quasi"
[columns.sex]
role = "quasi"
[columns.dx]
role = "sensitive"
[[models]]
model = "k-anonymity"
k = 5
[[models]]
model = "l-diversity"
l = 2
[profile]
name = "hipaa-safe-harbor@2026-01"
"""


@pytest.mark.slow
def test_4_and_5_a_profile_over_notes_is_one_verdict_on_every_face(call):
    raw = written(note=RNG.choice(["Tel. 030-1234567", "fine", "Mrs Schroeder called"], ROWS))
    Path("policy.toml").write_text(PROFILE)
    status, refused = call("anonymize", raw, "--policy", "policy.toml", "-o", "out.csv")
    assert (status, Path("out.csv").exists()) == (1, False)
    release = ic.anonymize(raw, ic.Policy.read("policy.toml"), unanswered="write")
    clauses = {each.id: each for each in release.clauses}
    assert clauses["names"].state == "not met"
    assert clauses["telephones"].state == "not met"
    assert release.verdict.text in refused
    assert release.document()["verdict"] == release.to_dict()["verdict"] == release.verdict.to_dict()
    assert not release.verdict.holds


def test_6_an_income_to_the_cent_is_a_point_and_its_draft_rounds_it(call):
    raw = written(income=np.round(RNG.lognormal(10, 0.5, ROWS), 2))
    status, said = call("anonymize", raw, *QUASI, "-l", "2", "--sensitive", "dx,income", "-o", "out.csv")
    assert status == 1
    assert "unique-column: income" in said
    assert "--treat income=round:" in said
    assert call("init", raw, "--no-questions", "-o", "policy.toml")[0] == 0
    assert call("anonymize", raw, "--policy", "policy.toml", "-o", "out.csv")[0] == 0
    assert pl.read_csv("out.csv")["income"].n_unique() < ROWS / 4


@pytest.mark.slow
def test_one_income_far_from_all_others_is_a_point_until_it_is_cut_off_or_accepted(call):
    raw = written(income=[*(20_000 + 1_000 * RNG.integers(0, 20, ROWS - 1)), 2_345_678])
    arguments = ["anonymize", raw, *QUASI, "-l", "2", "--sensitive", "dx,income", "-o", "out.csv"]
    status, said = call(*arguments)
    assert (status, Path("out.csv").exists()) == (1, False)
    assert "outlying-value: The largest number of income belongs to one record" in said
    assert "Cut off its largest values (--treat income=top:0.95)" in said
    assert "Or accept it: --accept outlying-value:income=" in said
    assert "2345678" not in said.replace(",", "")
    status, assessed = call("assess", raw, *QUASI, "--sensitive", "dx,income")
    assert "outlying-value: The largest number of income belongs to one record" in assessed
    status, said = call(*arguments, "--treat", "income=top:0.95", "--save-policy", "policy.toml")
    assert status == 0, said
    assert call("verify", "out.csv", "--policy", "policy.toml")[0] == 0
    reason = "--accept=outlying-value:income=The income of our director is public."
    status, said = call(*arguments, reason, "--save-policy", "accepted.toml", "--force")
    assert status == 0
    status, checked = call("verify", "out.csv", "--policy", "accepted.toml")
    assert (status, "Accepted: The income of our director is public." in checked) == (0, True)
    assert call("init", raw, "--no-questions", "-o", "draft.toml")[0] == 0
    assert call("anonymize", raw, "--policy", "draft.toml", "-o", "drafted.csv")[0] == 0


def test_7_an_id_that_repeats_is_asked_about_although_it_does_not_leave(call):
    # Those who are alike are one person, as rows of visits are.
    alike = {key: f"K{number:05}" for number, key in enumerate(sorted({*BASE.select("age", "sex").rows()}))}
    raw = written(pid=[alike[key] for key in BASE.select("age", "sex").rows()])
    status, said = call(
        "anonymize", raw, *QUASI, "-l", "2", "--sensitive", "dx", "--identifying", "pid", "-o", "out.csv"
    )
    assert status == 1
    assert "values of pid occur more than once: is this a person?" in said
    assert "classes hold fewer than 5 people" in said


def test_8_a_suppressed_record_beside_others_does_not_leave_alone(call):
    table = pl.DataFrame(
        {
            "side": ["LRB"[n % 3] for n in range(23)] + ["F"],
            "ill": ["abc"[n // 3 % 3] for n in range(23)] + ["z"],
        }
    )
    table.write_csv("raw.csv")
    status, said = call(
        "anonymize", "raw.csv", "--qi", "side", "--sensitive", "ill", "-k", "3", "-l", "2",
        "--algorithm", "cell-suppression", "--max-suppression", "0.1", "-o", "out.csv",
    )  # fmt: skip
    assert status == 0
    assert "1 suppressed record is left out" in said
    assert "z" not in pl.read_csv("out.csv")["ill"].to_list()


@pytest.mark.slow
def test_9_the_attack_names_the_column_that_it_succeeds_by(call):
    raw = written(cost=np.round(RNG.lognormal(8, 1, ROWS), 2))
    models = ("k-anonymity:5", "l-diversity:2")
    schema = ic.Schema(quasi=["age", "sex"], sensitive=["dx", "cost"])
    release = ic.anonymize(raw, schema, models, unanswered="write")
    release.save("out")
    said = call("attack", raw, "out/release.csv", "--policy", "out/internal/policy.toml")[1]
    assert "cost" in said
    assert re.search(r"treat = \{ round = [0-9.]+ \} in the policy file", said)


def test_10_a_release_of_stars_alone_replaces_nothing(call):
    pl.DataFrame({"code": [str(number) for number in range(8)], "one": ["same"] * 8}).write_csv("raw.csv")
    Path("out.csv").write_text("yesterday\n")
    Path("policy.toml").write_text(
        'version = 1\n[columns.code]\nrole = "quasi"\nhierarchy = { flat = true }\n[columns.one]\nrole = "quasi"\n'
        '[[models]]\nmodel = "k-anonymity"\nk = 5\n[algorithm]\nname = "optimal"\n'
    )
    status, said = call("anonymize", "raw.csv", "--policy", "policy.toml", "-o", "out.csv", "--force")
    assert status == 1
    assert "nothing-left" in said
    assert Path("out.csv").read_text() == "yesterday\n"
    assert "satisfies the policy as it is" not in call("suggest", "raw.csv", "--policy", "policy.toml")[1]


def test_11_ends_of_ranges_are_outward_at_every_door(call):
    raw = written()
    command = ["anonymize", raw, *QUASI, "-l", "2", "--sensitive", "dx", "-o", "cli.csv"]
    assert call(*command)[0] == 0
    schema = ic.Schema(quasi=["age", "sex"], sensitive=["dx"])
    release = ic.anonymize(raw, schema, ["k-anonymity:5", "l-diversity:2"])
    cells = set(pl.read_csv("cli.csv")["age"]) | set(release.table["age"])
    assert any("or less" in cell for cell in cells)
    exact = ic.anonymize(raw, schema, ["k-anonymity:5", "l-diversity:2"], ends="exact")
    assert any("values of people" in sentence for sentence in exact.sentences())


def test_12_lists_in_cells_are_a_point_and_their_parts_are_judged(call):
    codes = [";".join(RNG.choice(["F32", "E11", "I10", "J45"], 2, replace=False)) for _ in range(ROWS)]
    raw = written(codes=codes)
    status, said = call(
        "anonymize", raw, *QUASI, "-l", "2", "--sensitive", "codes", "--unlisted", "drop", "-o", "o.csv"
    )
    assert status == 1
    assert "list-cells: codes" in said
    codes_of = ic.Attribute("codes", "sensitive", parts=";")
    schema = ic.Schema(quasi=["age", "sex"], sensitive={"codes": codes_of}, unlisted="drop")
    release = ic.anonymize(raw, schema, ["k-anonymity:5", "l-diversity:2"], max_suppression=0.2)
    for cells in release.table.group_by("age", "sex").agg("codes")["codes"]:
        assert not set.intersection(*(set(cell.split(";")) for cell in cells))
    release.save("out")
    assert verify("out/release.csv", "out/policy.toml").ok
    shutil.rmtree("out")
    assert json.loads(json.dumps(release.verdict.to_dict()))["state"] == "holds"
