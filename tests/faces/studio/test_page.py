"""The frame of the page: the way on, the figures in sight, and windows that come and go."""

from __future__ import annotations

import pytest

from incrowd.works.samples import hospital
from studio_browser import Studio, Visit


@pytest.fixture
def people(visit, tmp_path) -> Visit:
    """A window with a table that has no open question."""
    hospital(400).select("age", "sex", "zip", "diagnosis").write_csv(tmp_path / "people.csv")
    visit.fill("[data-field=path]", str(tmp_path / "people.csv"))
    visit.mark("open")
    visit.reads("400 rows, 4 columns")
    return visit


def ticked(visit: Visit) -> list[str]:
    labels = [each.get_attribute("aria-label") for each in visit.all("[data-step]")]
    return [label.partition(",")[0] for label in labels if label.endswith(", finished")]


def test_a_step_opens_at_its_top_with_the_focus_on_its_heading(people):
    where = "return [scrollY, document.activeElement.textContent]"
    for step, title in ((2, "What is each column?"), (4, "What must the release satisfy?")):
        people.browser.execute_script("document.body.style.minHeight = '3000px'; scrollTo(0, 900)")
        people.go(step)
        people.until(lambda title=title: people.browser.execute_script(where) == [0, title], title)


def test_the_way_on_is_always_in_sight_and_passes_over_what_may_be_left_out(people):
    titles = []
    while (button := people.shown("[data-mark=next]")) is not None and button.is_enabled():
        below = "return innerHeight - arguments[0].getBoundingClientRect().bottom"
        assert people.browser.execute_script(below, button) >= 0
        titles.append(button.text.partition("\n")[0])
        people.mark("next")
        people.until(
            lambda: people.wait("[data-mark=next]").text.partition("\n")[0] != titles[-1], "the step after"
        )
    assert titles == ["Next: Roles", "Next: Limits", "Next: Run"]
    assert button is not None
    assert button.text.partition("\n")[0] == "Next: Look"


def test_finished_steps_have_a_tick_and_the_figures_stay_in_sight(people):
    people.until(lambda: ticked(people) == ["Table", "Roles"], "the ticks")
    people.until(lambda: "largest risk 100% now" in people.wait("[data-mark=status]").text, "the risk")
    people.go(4)
    people.go(6)
    people.mark("run")
    people.wait("[data-mark=verdict]")
    assert ticked(people) == ["Table", "Roles", "Limits", "Run"]
    told = people.wait("[data-mark=status]").text
    assert told.startswith(
        "400 records · no open question · largest risk 20% after (by quasi-identifiers alone) · loss "
    )
    people.go(4)
    people.fill("[data-model=k-anonymity] [data-field=k]", "9")
    people.until(lambda: "loss" not in people.wait("[data-mark=status]").text, "the end of the loss")
    assert ticked(people) == ["Table", "Roles", "Limits"]


def test_a_question_that_is_open_is_counted(visit):
    visit.mark("sample")
    visit.until(lambda: "1 open question" in visit.wait("[data-mark=status]").text, "the question")
    assert ticked(visit) == ["Table"]


def test_a_window_that_was_loaded_again_is_continued_where_it_was(people, downloads):
    people.go(4)
    people.fill("[data-model=k-anonymity] [data-field=k]", "9")
    people.go(6)
    people.mark("run")
    people.wait("[data-mark=verdict]")
    people.browser.refresh()
    people.mark("continue")
    people.reads("Make the release")
    people.wait("[data-mark=verdict]")
    people.go(4)
    assert people.wait("[data-model=k-anonymity] [data-field=k]").get_attribute("value") == "9"
    # What is continued here is offered to no other window, and can be worked with.
    assert "left at" not in people.text()
    people.fill("[data-model=k-anonymity] [data-field=k]", "8")
    people.go(6)
    people.mark("run")
    people.wait("[data-mark=verdict]")


def test_what_a_window_left_is_forgotten_with_its_files(browser, downloads, tmp_path):
    studio = Studio(tmp_path)
    try:
        visit = Visit(browser, studio, downloads)
        visit.mark("sample")
        visit.reads("2,000 rows")
        assert list(studio.temporary.rglob("*.csv"))
        visit.browser.refresh()
        visit.reads("Continue where you were: people.csv")
        visit.mark("forget")
        visit.until(lambda: not list(studio.temporary.rglob("*.csv")), "the end of the files")
        visit.until(lambda: "Continue where you were" not in visit.text(), "the end of the offer")
        assert studio.errors.read_text() == ""
    finally:
        studio.end()
