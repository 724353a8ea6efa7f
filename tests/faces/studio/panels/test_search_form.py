"""The form of the search: the share that may be suppressed, and settings that few need."""

from __future__ import annotations

import pytest

from incrowd.samples import hospital
from studio_browser import Visit


@pytest.fixture
def search(visit, tmp_path) -> Visit:
    """The panel that has the form, for a small table."""
    hospital(400).select("age", "sex", "zip", "diagnosis").write_csv(tmp_path / "people.csv")
    visit.fill("[data-field=path]", str(tmp_path / "people.csv"))
    visit.mark("open")
    visit.reads("400 rows")
    visit.go("Limits")
    visit.wait("[data-field=algorithm]")
    return visit


def test_the_records_that_may_be_suppressed_are_a_slider_and_an_exact_field(search, studio):
    from selenium.webdriver.common.keys import Keys

    def said() -> str:
        return search.wait("[data-mark=suppressed]").text

    assert said() == "Records that may be suppressed: 0% (up to 0 of 400 records)"
    slider = search.wait(".side [data-slider=max_suppression]")
    assert slider.get_attribute("aria-label") == "Records that may be suppressed"
    # Keys that follow each other fast are all taken, although the bar above is drawn anew.
    slider.send_keys(Keys.ARROW_RIGHT * 5)
    search.until(
        lambda: said() == "Records that may be suppressed: 5% (up to 20 of 400 records)", "the slider"
    )
    assert search.wait("[data-field=max_suppression]").get_attribute("value") == "0.05"
    # The bar above says the same.
    search.until(
        lambda: search.wait("[data-mark=limit-max_suppression]").text == "up to 5%", "the figure in the bar"
    )
    search.fill("[data-field=max_suppression]", "0.0725")
    search.until(
        lambda: said() == "Records that may be suppressed: 7.25% (up to 29 of 400 records)", "the field"
    )
    search.fill("[data-field=max_suppression]", "2")
    search.reads("must be a number between 0 and 1")
    search.go("Column")
    search.go("Limits")
    search.until(lambda: "7.25%" in said(), "the last right share")
    assert studio.errors.read_text() == ""


def test_few_settings_are_shown_until_others_are_wanted(search):
    # A parameter that an algorithm needs stands beside it.
    search.choose("[data-field=algorithm]", "top-down-specialization")
    search.wait("[data-field=target]")
    search.choose("[data-field=algorithm]", "mondrian")
    search.until(lambda: search.shown("[data-field=target]") is None, "the end of the parameter")
    assert search.shown("[data-field=max_depth]") is None
    search.unfold("advanced-run")
    search.fill("[data-field=max_depth]", "3")
    search.go("Column")
    search.go("Limits")
    # What is set is open.
    assert search.wait("[data-field=max_depth]").get_attribute("value") == "3"
