"""Every face gives the same verdict of a release in the same words, with each kind of point planted.

A kind that a release can have is planted in the raw table or the policy. A kind that cannot leave is planted
in the written file or the policy beside it, and there the faces of the verifier have to agree.
"""

from __future__ import annotations

import json
import sys
import tomllib
from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import polars as pl
import pytest

import incrowd as ic
from incrowd.faces.cli import main
from incrowd.search import ALGORITHMS
from incrowd_gate.points import KINDS
from incrowd_gate.verdict import Verdict
from incrowd_verify.release_points import FULL_DOMAIN

pytestmark = pytest.mark.gated

ROWS = 400
RNG = np.random.default_rng(5)
TABLE = pl.DataFrame(
    {
        "age": RNG.integers(20, 60, ROWS),
        "zip": [f"{number:05}" for number in RNG.choice(np.arange(100, 140), ROWS)],
        "sex": RNG.choice(["m", "f"], ROWS),
        "ill": RNG.choice(list("abcd"), ROWS),
    }
)
POLICY = """
version = 1
unlisted = "drop"
seed = 1
max_suppression = {suppression}
algorithm = {{ name = "{algorithm}" }}
{head}
[columns.age]
role = "quasi"
hierarchy = {age}
[columns.zip]
role = "quasi"
hierarchy = {zip}
[columns.sex]
role = "quasi"
[columns.ill]
role = "sensitive"
{columns}
[[models]]
model = "k-anonymity"
k = {k}
[[models]]
model = "l-diversity"
l = 2
attribute = "ill"
{end}
"""
USUAL = {
    "suppression": "0.0",
    "algorithm": "mondrian",
    "head": "",
    "age": "{ intervals = [10, 20] }",
    "zip": "{ prefix = true }",
    "columns": "",
    "k": "5",
    "end": "",
}


class Said(NamedTuple):
    """The output of a face: the sentence of the verdict, and each point, by kind and text at least."""

    text: str
    points: tuple[str, ...]


@dataclass
class Case:
    """A release with a single planted point.

    Attributes
    ----------
    table
        The raw table.
    settings
        Parts of the policy that are not the usual ones.
    spoil
        What happens to the folder of the written release.
    beside
        Whether the verifier is given the raw table and the row map.
    """

    folder: Path
    cli: Callable[..., str]
    table: pl.DataFrame
    settings: dict[str, str]
    spoil: Callable[[Path], None] | None = None
    beside: bool = True

    def __post_init__(self) -> None:
        self.table.write_csv(self.raw)
        (self.folder / "policy.toml").write_text(POLICY.format(**USUAL | self.settings))

    @property
    def raw(self) -> Path:
        return self.folder / "raw.csv"

    @cached_property
    def release(self) -> ic.Release:
        policy = ic.Policy.read(self.folder / "policy.toml")
        return ic.anonymize(self.raw, policy, unanswered="write")

    @cached_property
    def saved(self) -> Path:
        place = self.folder / "out"
        self.release.save(place)
        if self.spoil is not None:
            self.spoil(place)
        return place

    @property
    def verifying(self) -> dict[str, Path]:
        row_map = self.saved / "internal" / "rows.parquet"
        return {"against": self.raw, "row_map": row_map} if self.beside else {}

    @cached_property
    def verified(self) -> ic.Verification:
        return ic.verify(self.saved / "release.csv", self.saved / "policy.toml", **self.verifying)

    @property
    def verify_command(self) -> list[str]:
        place = self.saved
        more = [f"--{name.replace('_', '-')}={path}" for name, path in self.verifying.items()]
        return ["verify", str(place / "release.csv"), "--policy", str(place / "policy.toml"), *more]


# --- the faces: add one by a line in FACES or OF_A_WRITTEN_FILE ---------------------------------------


def of_verdict(verdict: Verdict) -> Said:
    return Said(verdict.text, tuple(f"{point.name}: {point.text}" for point in verdict.points))


def of_document(verdict: dict[str, Any]) -> Said:
    return Said(verdict["text"], tuple(f"{each['point']}: {each['text']}" for each in verdict["points"]))


def of_output(out: str) -> Said:
    """Read the verdict and the points from the lines of a command's output."""
    lines = iter(out.splitlines())
    text = next(line for line in lines if line.startswith(("HOLDS: ", "OPEN: ", "BROKEN: ")))
    points = []
    for line in lines:
        if not line.startswith("  ") or line.strip().partition(":")[0] not in KINDS:
            break
        points.append(line.strip())
    return Said(text, tuple(points))


def anonymize_command(case: Case) -> Said:
    policy, place = case.folder / "policy.toml", case.folder / "of_the_command.csv"
    written = ["-o", str(place), "--unanswered", "write"]
    return of_output(case.cli("anonymize", str(case.raw), "--policy", str(policy), *written))


def studio(case: Case) -> Said:
    pytest.importorskip("nicegui")
    from incrowd.core.progress import Silent
    from incrowd.faces.studio.tables import Source
    from incrowd.faces.studio.work import Work

    work = Work((tomllib.loads((case.folder / "policy.toml").read_text()), case.folder / "policy.toml"))
    work.open(Source(case.raw, case.raw.name))
    try:
        return of_verdict(work.anonymize(Silent()).verdict)
    finally:
        work.close()


FACES: dict[str, Callable[[Case], Said]] = {
    "anonymize": lambda case: of_verdict(case.release.verdict),
    "report": lambda case: of_document(case.release.document()["verdict"]),
    "anonymize on the command line": anonymize_command,
    "studio": studio,
    "release.json": lambda case: of_document(
        json.loads((case.saved / "release.json").read_text(encoding="utf-8"))["verdict"]
    ),
}
"""What says the verdict of a release that is made."""
OF_A_WRITTEN_FILE: dict[str, Callable[[Case], Said]] = {
    "verify": lambda case: of_verdict(case.verified.verdict),
    "verify as a document": lambda case: of_document(case.verified.to_dict()["verdict"]),
    "verify on the command line": lambda case: of_output(case.cli(*case.verify_command)),
}
"""What says it of a file."""


# --- one point of each kind ---------------------------------------------------------------------------


class Plant(NamedTuple):
    """How a point is planted: columns of the table, settings of the policy, a change of the written folder."""

    columns: dict[str, Any] = {}  # noqa: RUF012
    settings: dict[str, str] = {}  # noqa: RUF012
    spoil: Callable[[Path], None] | None = None
    beside: bool = True


def plain(name: str) -> dict[str, str]:
    return {"columns": f'[columns."{name}"]\nrole = "insensitive"\n'}


def in_policy(old: str, new: str) -> Callable[[Path], None]:
    def change(folder: Path) -> None:
        place = folder / "policy.toml"
        text = place.read_text(encoding="utf-8")
        assert old in text
        place.write_text(text.replace(old, new), encoding="utf-8")

    return change


def in_table(change: Callable[[pl.DataFrame], pl.DataFrame]) -> Callable[[Path], None]:
    def changed(folder: Path) -> None:
        place = folder / "release.csv"
        change(pl.read_csv(place, infer_schema=False)).write_csv(place)

    return changed


PROFILE = """
[profile]
name = "ema-0070"
[[profile.attested]]
clause = "report"
by = "A. Officer"
on = 2026-01-31
says = "It is part of the package."
"""
CONTEXT = PROFILE.replace("[profile]\nname", "").partition("\n[[")[2].replace('"report"', '"context"')
ATTESTED = PROFILE + "[[" + CONTEXT
NOTES = ["fine"] * (ROWS - 2) + ["ask jane@example.org", "see jane@example.org"]
SENTENCES = [
    f"The neighbour of {name} said that the fall in the garden was {number} weeks ago"
    for number, name in zip(range(ROWS), RNG.choice(["Ada", "Bob"], ROWS), strict=True)
]
LISTS = RNG.choice(["tv", "tv;radio", "radio;tv", "web;tv", "radio;web", "web"], ROWS)
SHORT = {"age": "{ intervals = [20] }", "zip": "{ flat = true }"}

PLANTS: dict[str, Plant] = {
    "limit": Plant(spoil=in_policy("k = 5", "k = 300")),
    "conformity": Plant(spoil=in_table(lambda table: table.with_columns(added=pl.lit("x")))),
    "clause": Plant(settings={"k": "5", "end": ATTESTED}),
    "unanswered-clause": Plant(settings={"k": "12", "end": PROFILE}),
    "nothing-left": Plant(
        settings={"suppression": "1.0"},
        spoil=in_table(lambda table: table.with_columns(pl.lit("*").alias(n) for n in ("age", "zip", "sex"))),
        beside=False,
    ),
    "not-checked": Plant(
        {"person": [*range(ROWS // 2)] * 2},
        {"columns": '[columns.person]\nrole = "person"\n'},
        beside=False,
    ),
    "unique-column": Plant({"number": range(ROWS)}, plain("number")),
    "unique-together": Plant(
        {"height": RNG.integers(0, 80, ROWS), "weight": RNG.integers(0, 70, ROWS)},
        {"columns": plain("height")["columns"] + plain("weight")["columns"]},
    ),
    "outlying-value": Plant(
        {"pay": [*(20_000 + 100 * RNG.integers(0, 50, ROWS - 1)), 2_000_000]}, plain("pay")
    ),
    "personal-text": Plant({"note": NOTES}, plain("note")),
    "named-identifier": Plant({"surname": RNG.choice(["Ada", "Bob", "Kim"], ROWS)}, plain("surname")),
    "free-text": Plant({"note": SENTENCES}, plain("note")),
    "list-cells": Plant(
        {"watches": LISTS},
        {
            "columns": '[columns.watches]\nrole = "sensitive"\n',
            "end": '[[models]]\nmodel = "l-diversity"\nl = 2\nattribute = "watches"\n',
        },
    ),
    "unprotected-sensitive": Plant(
        {"income": RNG.choice(["low", "high"], ROWS)}, {"columns": '[columns.income]\nrole = "sensitive"\n'}
    ),
    "derived-column": Plant({"town": [code[3] for code in TABLE["zip"]]}, plain("town")),
    "repeated-id": Plant(
        {"patient_id": [f"P{age:03}{sex}" for age, sex in TABLE.select("age", "sex").rows()]},
        {"columns": '[columns.patient_id]\nrole = "identifying"\n'},
    ),
    "blanked-column": Plant(settings={"algorithm": "optimal", "k": "12", **SHORT}),
    "suppressed-records": Plant(
        {"sex": [*TABLE["sex"][:-1], "unknown"]},
        {"algorithm": "optimal", "suppression": '0.01\nsuppressed = "keep"'},
    ),
    "few-matches": Plant(settings={"algorithm": "cell-suppression", "head": 'wildcards = "matches-any"'}),
    "much-suppressed": Plant(
        settings={
            "algorithm": "optimal",
            "suppression": "1.0",
            "k": "12",
            "age": "{ intervals = [10, 20] }\nlevels = [0, 0]",
            "zip": "{ flat = true }\nlevels = [1, 1]",
        }
    ),
}
ELSEWHERE = {
    "cell": "count tables have no rows; see tests/release/jobs/make/test_tabulate.py",
    "linked-columns": "count tables have no rows; see tests/release/jobs/make/test_tabulate.py",
    "linked-tables": "count tables have no rows; see tests/release/tables/test_ring.py",
    "ledger": "a ledger refuses before there is a file; see tests/release/jobs/later/test_ledger.py",
    "untrue-label": "the policy that is published has no hierarchy files; see tests/gate/test_labels.py",
    "unread-column": "columns of a table on Spark whose values cannot be listed",
}
"""Kinds that no table in memory has, and why."""
LEAVING = [kind for kind in PLANTS if not KINDS[kind].broken and kind != "not-checked"]


@pytest.fixture
def cli(capsys, monkeypatch) -> Callable[..., str]:
    """Run a command in this process on a wide terminal, and return the output."""
    monkeypatch.setenv("COLUMNS", "10000")

    def call(*arguments: str) -> str:
        monkeypatch.setattr(sys, "argv", ["incrowd", *arguments])
        capsys.readouterr()
        with pytest.raises(SystemExit):
            main()
        captured = capsys.readouterr()
        assert "Traceback" not in captured.err
        return str(captured.out)

    return call


@pytest.fixture
def planted(tmp_path, cli) -> Callable[[str | None], Case]:
    """Return a release with a point of a kind, or a clean release."""

    def make(kind: str | None) -> Case:
        plant = Plant() if kind is None else PLANTS[kind]
        columns = {name: pl.Series(name, list(values)) for name, values in plant.columns.items()}
        table = TABLE.with_columns(**columns)
        return Case(tmp_path, cli, table, plant.settings, plant.spoil, plant.beside)

    return make


def assert_same(said: dict[str, Said]) -> None:
    """Every face has the text and the points of the first; a command goes on with the way out."""
    first = next(iter(said.values()))
    for face, each in said.items():
        assert each.text == first.text, face
        assert len(each.points) == len(first.points), face
        for mine, other in zip(first.points, each.points, strict=True):
            assert other.startswith(mine), face


def test_every_kind_is_planted():
    assert {*PLANTS, *ELSEWHERE} == set(KINDS)


def test_a_clean_release_holds_on_every_face(planted):
    case = planted(None)
    for face, look in (FACES | OF_A_WRITTEN_FILE).items():
        assert look(case) == Said("HOLDS: the release satisfies its policy, and no point is open.", ()), face
    assert case.verified.ok


@pytest.mark.few(1)
@pytest.mark.parametrize("kind", LEAVING)
def test_every_face_says_an_open_point_in_the_same_words(planted, kind):
    case = planted(kind)
    said = {face: look(case) for face, look in (FACES | OF_A_WRITTEN_FILE).items()}
    assert_same(said)
    assert any(point.startswith(f"{kind}: ") for point in said["anonymize"].points)
    assert said["anonymize"].text.startswith("OPEN: ")
    assert (case.verified.ok, case.verified.verdict.state) == (False, case.release.verdict.state)
    # Verify and the release are told by the same caller, so their ways out are the same, too.
    assert case.verified.verdict.lines() == case.release.verdict.lines()


@pytest.mark.few(1)
@pytest.mark.parametrize("kind", [kind for kind in PLANTS if kind not in LEAVING])
def test_every_face_of_the_verifier_says_what_is_wrong_with_a_file(planted, kind):
    case = planted(kind)
    if kind == "clause":
        # The release says so before it is written, and is not written at all.
        assert_same({face: FACES[face](case) for face in ("anonymize", "report")})
        assert case.release.verdict.text.startswith("BROKEN: ")
        with pytest.raises(ic.VerdictError, match="clause: largest-risk"):
            case.release.save(case.folder / "none")
        return
    said = {face: look(case) for face, look in OF_A_WRITTEN_FILE.items()}
    assert_same(said)
    assert any(point.startswith(f"{kind}: ") for point in said["verify"].points)
    assert said["verify"].text.startswith("BROKEN: " if KINDS[kind].broken else "OPEN: ")
    assert case.verified.is_unchecked == (kind == "not-checked")


ANSWERED = [kind for kind in LEAVING if KINDS[kind].accepted]


@pytest.mark.few(1)
@pytest.mark.parametrize("kind", ANSWERED)
def test_an_answer_of_the_policy_is_repeated_by_every_face(planted, kind):
    opened = planted(kind)
    answers = []
    for point in opened.release.verdict.points:
        column = f'column = "{point.columns[0]}"\n' if point.columns else ""
        answers.append(f'[[accepted]]\npoint = "{point.name}"\n{column}why = "looked at"\n')
    plant = PLANTS[kind]
    end = plant.settings.get("end", "") + "".join(answers)
    folder = opened.folder / "answered"
    folder.mkdir()
    case = Case(folder, opened.cli, opened.table, plant.settings | {"end": end}, plant.spoil, plant.beside)
    said = {face: look(case) for face, look in (FACES | OF_A_WRITTEN_FILE).items()}
    assert_same(said)
    assert said["verify"].text.startswith("HOLDS: the release satisfies its policy, and each point has an")
    assert case.verified.ok


def test_the_verifier_knows_which_algorithms_recode_whole_columns():
    """The way out of a blanked column depends on the algorithm, and the verifier imports no algorithms."""
    assert set(FULL_DOMAIN) == {each.name for each in ALGORITHMS if each.full_domain}


def test_a_column_of_one_value_does_not_hide_that_nothing_is_left(tmp_path):
    """The cells are values, and yet tell nothing, as the raw table has no other value."""
    raw = TABLE.with_columns(country=pl.lit("FR"))
    schema = ic.Schema(
        quasi={name: ic.Hierarchy.flat() for name in ("age", "zip", "sex", "country")}, unlisted="drop"
    )
    policy = ic.Policy(schema, (ic.KAnonymity(ROWS),), ic.Optimal())
    release = ic.anonymize(raw, policy, unanswered="write")
    assert "nothing-left" in release.verdict.text
    assert release.table["country"].unique().to_list() == ["FR"]
    raw.write_csv(tmp_path / "raw.csv")
    release.table.write_csv(tmp_path / "release.csv")
    release.policy.write(tmp_path / "policy.toml")
    verified = ic.verify(tmp_path / "release.csv", tmp_path / "policy.toml", against=tmp_path / "raw.csv")
    assert of_verdict(verified.verdict) == of_verdict(release.verdict)
