"""The boxes that explain the terms of each panel, with examples of the table."""

from __future__ import annotations

import re
from pathlib import Path

import polars as pl
import pytest

from incrowd.faces.studio.cancelling import Watched
from incrowd.faces.studio.page import _PANELS
from incrowd.faces.studio.panels.table import Table
from incrowd.faces.studio.tables import Source
from incrowd.faces.studio.teaching import TERMS, facts
from incrowd.faces.studio.work import Work
from incrowd.samples import hospital

GLOSSARY = Path(__file__).parents[3] / "docs" / "reference" / "glossary.md"


@pytest.fixture
def window():
    work = Work()
    yield work
    work.close()


def opened(window: Work, table: pl.DataFrame, folder: Path, **roles: str) -> None:
    table.write_parquet(folder / "people.parquet")
    window.open(Source(folder / "people.parquet", "people.parquet"))
    for name, role in roles.items():
        window.choices.columns[name] = {"role": role}


def test_every_panel_has_a_term_and_the_glossary_says_the_same():
    sections = re.split(r"^## ", GLOSSARY.read_text(), flags=re.MULTILINE)
    meanings = {}
    for section in sections[1:]:
        term, _, text = section.partition("\n")
        meanings[term.lower()] = " ".join(text.replace("`", "").split())
    meanings["generalization hierarchy"] = meanings["hierarchy"]
    for _, term, meaning, _ in TERMS:
        assert term.lower() in meanings
        assert meaning.rstrip(".").lower() in meanings[term.lower()].lower()
    assert {panel for panel, *_ in TERMS} == {panel.name for panel in (Table, *_PANELS)}


def test_examples_are_counted_in_the_table(window, tmp_path):
    ages = [34, 34, 34, 51, 62, None]
    table = pl.DataFrame(
        {"name": [*"abcdef"], "age": ages, "^zip$": ["1", "1", "2", "1", "1", "1"], "ill": [*"xyxxxx"]}
    )
    opened(window, table, tmp_path, name="identifying", age="quasi", ill="sensitive", **{"^zip$": "quasi"})
    window.choices.columns["age"]["hierarchy"] = {"intervals": [5, 10]}
    result = facts(window)
    assert result["identifying"] == "name a"
    assert result["quasi"] == "age 34, ^zip$ 1"
    assert (result["alike"], result["risk"]) == (2, "50.0%")
    assert (result["attribute"], result["value"], result["different"]) == ("ill", "x", 2)
    assert (result["whole"], result["part"]) == ("83.3%", "50.0%")
    assert (result["column"], result["path"]) == ("age", "34 → [30-34] → [30-39] → *")


def test_missing_cells_of_the_first_row_are_like_each_other(window, tmp_path):
    table = pl.DataFrame({"age": [None, None, 3, 4], "ill": [None, "x", None, "y"]})
    opened(window, table, tmp_path, age="quasi", ill="sensitive")
    result = facts(window)
    assert (result["quasi"], result["alike"], result["part"]) == ("age missing", 2, "50.0%")


def test_without_a_table_or_roles_there_is_no_example(window, tmp_path):
    assert facts(window) == {}
    opened(window, pl.DataFrame({"a": [1, 2]}), tmp_path, a="insensitive")
    assert facts(window) == {}


def test_the_class_is_not_counted_where_only_some_rows_are_looked_at(window, tmp_path, monkeypatch):
    monkeypatch.setattr("incrowd.faces.studio.teaching._ROWS", 10)
    opened(window, hospital(50).select("age", "diagnosis"), tmp_path, age="quasi", diagnosis="sensitive")
    assert not {"alike", "part"} & set(facts(window))


def test_classes_are_those_of_the_release(window, tmp_path):
    opened(window, hospital(400).select("age", "sex"), tmp_path, age="quasi", sex="quasi")
    window.anonymize(Watched())
    result = facts(window)
    assert result["smallest"] == window.release.privacy.smallest >= 5
    assert result["classes"] == window.release.privacy.classes
    assert result["verdict"] == window.release.verdict.brief


@pytest.mark.parametrize("released", [False, True])
def test_every_example_has_its_facts_once_there_is_a_release(window, tmp_path, released):
    table = hospital(400).select("name", "age", "diagnosis")
    opened(window, table, tmp_path, name="identifying", age="quasi", diagnosis="sensitive")
    window.choices.columns["age"]["hierarchy"] = {"intervals": [5, 10]}
    if released:
        window.anonymize(Watched())
    result = facts(window)
    lacking = {panel for panel, _, _, example in TERMS if not told_with(example, result)}
    assert lacking == (set() if released else {"Verdict"})


def told_with(example: str, found: dict[str, object]) -> bool:
    """Say whether the facts fill an example."""
    try:
        return bool(example.format(**found)) or not example
    except KeyError:
        return False


MARKUP = "<img src=x onerror=window.hacked=1>{quasi}{0}"


def test_the_box_follows_the_roles_and_shows_values_as_texts(visit, tmp_path, studio):
    table = pl.DataFrame({"age": [20, 30] * 20, MARKUP: [MARKUP, "b"] * 20})
    table.write_csv(tmp_path / "people.csv")
    visit.mark("teach")
    visit.until(lambda: "Attacker" in visit.wait("[data-mark=teaching]").text, "the first term")
    visit.fill("[data-field=path]", str(tmp_path / "people.csv"))
    visit.mark("open")
    visit.reads("40 rows, 2 columns")
    visit.go("Column")
    visit.give(0, "quasi")
    visit.until(lambda: "Row 1: age 20." in visit.wait("[data-mark=teaching]").text, "the example")
    visit.give(1, "sensitive")
    visit.until(lambda: f"Row 1: {MARKUP} {MARKUP}." in visit.wait("[data-mark=teaching]").text, "the value")
    assert visit.browser.execute_script("return window.hacked === undefined")
    visit.go("Limits")
    visit.until(lambda: "has k = 20." in visit.wait("[data-mark=teaching]").text, "the class")
    visit.mark("teach")
    visit.until(lambda: not visit.all("[data-mark=teaching]"), "the end of the box")
    assert studio.errors.read_text() == ""
