"""The step Look: the figures that count, and the cells before and after."""

from __future__ import annotations

import sqlite3
from contextlib import closing
from datetime import date

import polars as pl
import pytest
from incrowd.faces.studio.steps.look import changed_cells

from incrowd.works.samples import hospital


def test_a_cell_that_stayed_is_shown_once_and_another_before_and_after():
    before = pl.DataFrame(
        {
            "kept": [True, False],
            "day": [date(2024, 1, 2), None],
            "age": [34, 35],
            "gone": ["<b>Ann</b>", "Bo\u202e"],
        }
    )
    after = pl.DataFrame({"kept": ["true", "*"], "day": ["2024-01-02", None], "age": ["30-39", "35"]})
    first, second = changed_cells(before, after)
    assert first == [
        "true",
        "2024-01-02",
        {"was": "34", "now": "30-39", "verb": "became"},
        {"was": "<b>Ann</b>", "now": "left out", "verb": "is"},
    ]
    assert second[:3] == [{"was": "false", "now": "*", "verb": "was suppressed to"}, "(missing)", "35"]
    assert second[3]["was"] == r"Bo\u202e"


@pytest.mark.slow
def test_the_figures_and_the_changed_cells_are_seen_and_said(visit, tmp_path, studio):
    table = hospital(20).select("name", "age", "sex", diagnosis=pl.Series(["flu", "asthma"] * 10))
    table.write_parquet(tmp_path / "people.parquet")
    visit.fill("[data-field=path]", str(tmp_path / "people.parquet"))
    visit.mark("open")
    visit.reads("20 rows")
    visit.go(4)
    visit.fill("[data-model=k-anonymity] [data-field=k]", "4")
    visit.go(6)
    visit.mark("run")
    visit.mark("look")
    shown = visit.wait("[data-mark=rows] table")
    tiles = [each.text.split("\n") for each in visit.all("[data-mark=tiles] > div")]
    assert [each[0] for each in tiles] == ["Largest risk", "Smallest class", "Loss", "Suppressed"]
    assert tiles[0][2] == "for whoever knows age and sex, and nothing else; was 100% before"
    assert int(tiles[1][1]) >= 4
    assert tiles[3][1:] == ["0", "of 20 records"]
    # What a screen reader says stands between before and after.
    heads = [each.text for each in shown.find_elements("css selector", "th")]
    assert heads == ["age", "sex", "diagnosis", "name (left out)"]
    age, _, diagnosis, name = shown.find_elements("css selector", "tbody tr:first-child td")
    was, now = age.find_element("css selector", "s").text, age.find_element("css selector", "b").text
    assert was == str(table["age"][0])
    assert now != was
    words = ["was", "suppressed", "to"] if now == "*" else ["became"]
    assert age.get_attribute("textContent").replace("\u2192", "").split() == [was, *words, *now.split()]
    assert diagnosis.text == table["diagnosis"][0]
    assert name.text.split("\u2192")[1].strip().endswith("left out")
    back, on = "[data-mark=rows-before]", "[data-mark=rows-next]"
    assert (visit.wait(back).is_enabled(), visit.wait(on).is_enabled()) == (False, True)
    visit.click(on)
    visit.reads("Rows 9 to 16 of 20")
    visit.until(lambda: visit.wait(back).is_enabled(), "the way back")
    visit.click(on)
    visit.reads("Rows 17 to 20 of 20")
    visit.until(lambda: not visit.wait(on).is_enabled(), "the end")
    visit.click(back)
    visit.reads("Rows 9 to 16 of 20")
    # Both bars of a value start at one line.
    both = visit.all("[data-mark=distributions] tbody tr:first-child .bar")[:2]
    assert [each.get_attribute("class").split()[-1] for each in both] == ["before", "after"]
    assert both[0].location["x"] == both[1].location["x"]
    assert studio.errors.read_text() == ""


@pytest.mark.slow
def test_points_stand_below_an_amber_verdict_and_above_the_sentences(visit, tmp_path):
    hospital(60).select("patient_id", "age", "sex").write_parquet(tmp_path / "people.parquet")
    visit.fill("[data-field=path]", str(tmp_path / "people.parquet"))
    visit.mark("open")
    visit.reads("60 rows")
    visit.go(2)
    visit.choose('[data-column="0"] [data-field=role]', "insensitive")
    visit.go(6)
    visit.mark("run")
    visit.mark("look")
    sentences = visit.wait("[data-mark=sentences]")
    assert visit.wait("[data-mark=verdict].warn").text.startswith("OPEN: ")
    found = visit.wait("[data-mark=points]")
    assert "have a value of patient_id that no other record has" in found.text
    assert found.location["y"] < sentences.location["y"]


@pytest.mark.slow
def test_where_rows_cannot_be_found_again_released_ones_are_shown_alone(visit, tmp_path, studio):
    with closing(sqlite3.connect(tmp_path / "people.db")) as connection, connection:
        connection.execute("CREATE TABLE people (age INTEGER, sex TEXT, cost INTEGER)")
        rows = hospital(20).select("age", "sex", "cost").rows()
        connection.executemany("INSERT INTO people VALUES (?, ?, ?)", rows)
    visit.click(".q-expansion-item:has([data-field=address]) .q-item")
    visit.fill("[data-field=address]", f"sqlite:///{tmp_path}/people.db")
    visit.fill("[data-field=table]", "people")
    visit.mark("open-table")
    visit.reads("20 rows")
    visit.go(2)
    visit.choose('[data-column="2"] [data-field=role]', "insensitive")
    cost = visit.column(2, "treatment")
    visit.choose(f"{cost}[data-field=treatment]", "round")
    visit.fill(f"{cost}[data-field=base]", "500")
    visit.go(4)
    visit.click('[aria-label="Remove l-diversity"]')
    visit.go(6)
    visit.mark("run")
    visit.mark("look")
    visit.reads("nobody knows which were which")
    shown = visit.wait("[data-mark=rows] table")
    assert not shown.find_elements("css selector", "s")
    costs = [each.text for each in shown.find_elements("css selector", "tbody td:last-child")]
    assert len(costs) == 8
    assert all(int(each) % 500 == 0 for each in costs)
    visit.mark("rows-next")
    visit.reads("Rows 9 to 16 of 20")
    assert studio.errors.read_text() == ""
