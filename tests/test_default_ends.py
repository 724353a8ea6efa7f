"""Every door rounds the ends of ranges, unless `exact` is said: no end is the value of a person by default."""

from __future__ import annotations

import datetime as dt
import inspect
import json
import pkgutil
import re
import sys
from collections.abc import Callable, Iterator
from dataclasses import fields, is_dataclass
from importlib import import_module
from pathlib import Path
from types import ModuleType
from typing import Any

import polars as pl
import pytest

import incrowd as ic
import incrowd.frames
from imported_late import LateModule
from incrowd.core.table.settings import DEFAULT_ENDS
from incrowd.faces.cli import main
from incrowd.faces.studio.cancelling import Watched
from incrowd.faces.studio.work import Source, Work
from incrowd.release.jobs.compare.draft import draft_policy
from incrowd.release.jobs.make.plan import plan
from incrowd.release.policy.policy import Policy
from incrowd.samples import hospital_policy

faces = LateModule("incrowd.sklearn")
ROWS = 60
TABLE = pl.DataFrame(
    {
        "ssn": [f"p{row}" for row in range(ROWS)],
        "pay": [1003 + 17 * row for row in range(ROWS)],
        "hired": [dt.date(2001, 1, 5) + dt.timedelta(days=13 * row) for row in range(ROWS)],
        "ill": ["flu", "cold", "gout"] * (ROWS // 3),
    }
)
"""No pay has two significant digits, and no day is the first or the last of a month."""
PAYS = {str(pay) for pay in TABLE["pay"] if pay % 100}
DAYS = {str(day) for day in TABLE["hired"] if day.day > 1 and (day + dt.timedelta(days=1)).day > 1}
VALUES = PAYS | DAYS
SCHEMA = ic.Schema(["pay", "hired"], sensitive=["ill"], unlisted="drop")
MODELS = "k-anonymity:5"
POLICY = """version = 1
unlisted = "drop"
[columns.pay]
role = "quasi"
[columns.hired]
role = "quasi"
[columns.ill]
role = "sensitive"
[[models]]
model = "k-anonymity"
k = 5
"""


def told(texts: Any) -> set[str]:
    """Return the numbers and days that texts of cells name."""
    return {each for text in texts for each in re.findall(r"\d{4}-\d\d-\d\d|\d+", text or "")}


def cells(table: pl.DataFrame) -> set[str]:
    plain = table.select(pl.col("pay", "hired").cast(pl.String))
    return {cell for name in plain.columns for cell in plain[name]}


def policy_of(folder: Path, ends: str | None) -> Path:
    """Write a policy file with or without ends."""
    path = folder / "policy.toml"
    path.write_text(POLICY if ends is None else POLICY.replace("\n", f'\nends = "{ends}"\n', 1))
    return path


def settings(ends: str | None) -> dict[str, Any]:
    return {} if ends is None else {"ends": ends}


def run(*arguments: Any) -> None:
    """Run the command line in this process."""
    before, sys.argv = sys.argv, ["incrowd", *map(str, arguments)]
    try:
        with pytest.raises(SystemExit) as stop:
            main()
    finally:
        sys.argv = before
    assert not stop.value.code


# --- the doors: each makes a release, and returns the texts of its cells ---------------------------------


def a_call(folder: Path, ends: str | None) -> set[str]:
    return cells(ic.anonymize(TABLE, SCHEMA, MODELS, **settings(ends)).texts)


def a_policy(folder: Path, ends: str | None) -> set[str]:
    return cells(ic.anonymize(TABLE, ic.Policy(SCHEMA, [MODELS], **settings(ends))).texts)


def a_policy_file(folder: Path, ends: str | None) -> set[str]:
    return cells(ic.anonymize(TABLE, Policy.read(policy_of(folder, ends))).texts)


def a_frame(folder: Path, ends: str | None) -> set[str]:
    assert incrowd.frames
    return cells(TABLE.incrowd.anonymize(SCHEMA, MODELS, **settings(ends)).texts)


def a_draft(folder: Path, ends: str | None) -> set[str]:
    text = draft_policy(TABLE.select("pay", "hired"), "people.csv", ask=False).text
    (folder / "draft.toml").write_text(text if ends is None else text.replace('"outward"', f'"{ends}"'))
    document = Policy.read(folder / "draft.toml")
    roles = ic.Policy(SCHEMA, [MODELS], ends=document.ends)
    return cells(ic.anonymize(TABLE, roles).texts)


def options(folder: Path, ends: str | None) -> set[str]:
    TABLE.write_csv(folder / "people.csv")
    said = () if ends is None else ("--ends", ends)
    roles = ("--qi", "pay,hired", "--sensitive", "ill", "--identifying", "ssn")
    run("anonymize", folder / "people.csv", *roles, "-k", "5", *said, "-o", folder / "out.csv")
    return cells(pl.read_csv(folder / "out.csv", infer_schema=False))


def a_file_of_options(folder: Path, ends: str | None) -> set[str]:
    TABLE.write_csv(folder / "people.csv")
    written = folder / "out.csv"
    run("anonymize", folder / "people.csv", "--policy", policy_of(folder, ends), "-o", written)
    return cells(pl.read_csv(written, infer_schema=False))


def a_batch(folder: Path, ends: str | None) -> set[str]:
    policy = ic.Policy(SCHEMA, [MODELS], max_suppression=1.0, **settings(ends))
    recoding = ic.anonymize(TABLE, policy).recoding
    return cells(ic.apply_recoding(recoding, TABLE, policy).texts)


def a_series(folder: Path, ends: str | None) -> set[str]:
    schema = ic.Schema(["pay", "hired"], person="ssn", sensitive=["ill"], unlisted="drop")
    policy = ic.Policy(schema, ["k-anonymity:2"], ledger_m=2, max_suppression=1.0, **settings(ends))
    ledger = ic.Ledger.init(folder / "book")
    return cells(ic.next_release(TABLE, policy, ledger, keys=["ssn"]).texts)


def a_transformer(folder: Path, ends: str | None) -> set[str]:
    frame = TABLE.select("pay", pl.col("hired").cast(pl.String))
    result = faces.Anonymizer(MODELS, encoding="cells", **settings(ends)).fit(frame).transform(frame)
    return set(result.ravel().tolist())


def numbers_of_a_transformer(folder: Path, ends: str | None) -> set[str]:
    """The numbers that stand for cells: the middle of two exact ends is at times a value, too."""
    frame = TABLE.select("pay")
    result = faces.Anonymizer(MODELS, **settings(ends)).fit(frame).transform(frame)
    return {f"{number:g}" for number in result.ravel().tolist()}


def a_window(folder: Path, ends: str | None) -> set[str]:
    TABLE.select("pay", "hired", "ill").write_csv(folder / "people.csv")
    window = Work()
    try:
        window.begin_from(policy_of(folder, ends), "policy.toml")
        window.open(Source(folder / "people.csv", "people.csv"))
        window.anonymize(Watched())
        return cells(window.release.texts)
    finally:
        window.close()


DOORS: list[Callable[[Path, str | None], set[str]]] = [
    a_call, a_policy, a_policy_file, a_frame, a_draft, options, a_file_of_options, a_batch, a_series,
    a_transformer, numbers_of_a_transformer, a_window,
]  # fmt: skip
each_door = pytest.mark.parametrize("door", DOORS, ids=lambda door: door.__name__)


@pytest.mark.few(11)
@each_door
def test_no_end_is_a_value_of_a_person(door, tmp_path):
    result = told(door(tmp_path, None))
    assert result
    assert not result & VALUES


@pytest.mark.few(11)
@each_door
def test_exact_ends_are_values_of_people_where_they_are_said(door, tmp_path):
    result = told(door(tmp_path, "exact"))
    assert result & VALUES


# --- doors that release nothing themselves ---------------------------------------------------------------


def test_a_comparison_measures_what_would_be_released():
    result = {
        ends: ic.compare(TABLE, policy, ["mondrian"], models=[MODELS]).runs[0].utility["loss"]
        for ends, policy in {
            None: SCHEMA,
            "outward": ic.Policy(SCHEMA, ends="outward"),
            "exact": ic.Policy(SCHEMA, ends="exact"),
        }.items()
    }
    assert result[None] == result["outward"] > result["exact"]


def test_a_suggestion_is_tried_with_rounded_ends():
    """A range of the whole column is `*`, so the only class is suppressed where ends are rounded."""
    table = TABLE.select("pay")
    schema = ic.Schema(["pay"])
    exact, usual = (
        ic.suggest(table, ic.Policy(schema, ["k-anonymity:40"], **settings(ends))) for ends in ("exact", None)
    )
    assert [point.name for point in exact.points] == ["blanked-column"]
    assert usual.points == ()
    assert {each.policy.ends for each in usual.found} == {DEFAULT_ENDS}


def test_a_plan_says_them():
    assert plan(TABLE, ic.Policy(SCHEMA, [MODELS])).to_dict()["ends"] == DEFAULT_ENDS


def test_samples_have_them():
    assert hospital_policy().ends == DEFAULT_ENDS


@pytest.mark.slow
def test_the_demo_has_them(tmp_path):
    run("demo", "--rows", "200", "-o", tmp_path / "demo")
    for path in ("policy.toml", "release/policy.toml"):
        assert Policy.read(tmp_path / "demo" / path).ends == DEFAULT_ENDS


# --- one declaration -------------------------------------------------------------------------------------


def modules() -> Iterator[ModuleType]:
    for module in pkgutil.walk_packages(ic.__path__, "incrowd."):
        if not module.name.rpartition(".")[2].startswith("__main__"):
            yield import_module(module.name)


def test_every_default_is_the_declared_one():
    """A function or a class with a setting `ends` has the same default, or none (None)."""
    result = {}
    for module in modules():
        for name, each in vars(module).items():
            if getattr(each, "__module__", None) != module.__name__ or not callable(each):
                continue
            if is_dataclass(each):
                defaults = {field.name: field.default for field in fields(each)}
            else:
                try:
                    defaults = {
                        own: parameter.default
                        for own, parameter in inspect.signature(each).parameters.items()
                    }
                except (TypeError, ValueError):
                    continue
            if defaults.get("ends") in ("outward", "exact"):
                result[f"{module.__name__}.{name}"] = defaults["ends"]
    assert set(result.values()) == {DEFAULT_ENDS} == {"outward"}
    assert {"incrowd.release.policy.policy.Policy", "incrowd.release.jobs.make.anonymize.anonymize"} <= set(
        result
    )
    assert "incrowd.sklearn.Anonymizer" in result


# --- accounts ----------------------------------------------------------------------------------------------

SAID = "The ends of the ranges of 'pay', 'hired' are exact: they are values of people."


def test_every_account_says_that_ends_are_exact(tmp_path, capsys):
    policy = ic.Policy(SCHEMA, [MODELS], max_suppression=1.0, ends="exact")
    release = ic.anonymize(TABLE, policy)
    assert release.to_dict()["ends"] == "exact"
    assert SAID in release.sentences()
    release.report(tmp_path / "report.json")
    report = json.loads((tmp_path / "report.json").read_text())
    assert report["policy"]["ends"] == "exact"
    assert SAID in report["sentences"]
    assert SAID in ic.apply_recoding(release.recoding, TABLE, policy).sentences()
    options(tmp_path, "exact")
    assert " ".join(capsys.readouterr().out.split()).count(SAID) == 1


def test_an_account_says_which_column_differs():
    schema = ic.Schema.of_attributes(
        [ic.Attribute("pay", "quasi", ends="exact"), ic.Attribute("hired", "quasi")], unlisted="drop"
    )
    release = ic.anonymize(TABLE, schema, MODELS)
    assert release.to_dict()["ends"] == DEFAULT_ENDS
    assert release.to_dict()["column_ends"] == {"pay": "exact"}
    assert "The ends of the ranges of 'pay' are exact: they are values of people." in release.sentences()
