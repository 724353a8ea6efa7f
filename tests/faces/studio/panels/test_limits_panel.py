"""The panel of the limits: cards of usual limits, sensitive columns without a limit, and rare settings."""

from __future__ import annotations

from pathlib import Path

import polars as pl
import pytest

from incrowd.samples import hospital
from studio_browser import Visit


@pytest.fixture
def limits(visit, tmp_path) -> Visit:
    """The panel of the limits, for a table with two sensitive columns."""
    hospital(3000).select("age", "sex", "zip", "diagnosis", "cost").write_csv(tmp_path / "people.csv")
    return opened(visit, tmp_path / "people.csv")


def opened(visit: Visit, path: Path) -> Visit:
    visit.fill("[data-field=path]", str(path))
    visit.mark("open")
    visit.wait(visit.head(0))
    visit.go("Limits")
    visit.wait("[data-mark=usual-public]")
    return visit


def in_force(visit: Visit) -> list[str]:
    cards = visit.all("[data-mark^=usual-]")
    return [each.get_attribute("data-mark") for each in cards if each.get_attribute("aria-pressed") == "true"]


def value(visit: Visit, model: str, field: str) -> str:
    return visit.wait(f"[data-model={model}] [data-field={field}]").get_attribute("value")


def test_a_card_sets_the_limits_by_mouse_and_keyboard_and_shows_that_it_is_in_force(limits, studio):
    from selenium.webdriver.common.keys import Keys

    # The draft has the limits of a contract.
    assert in_force(limits) == ["usual-contract"]
    public = limits.wait("[data-mark=usual-public]")
    assert "At least 11 records look alike: whoever knows your quasi-identifiers" in public.text
    assert "finds you with at most 9.1%." in public.text
    assert "For everybody." in public.text
    assert public.tag_name == "button"
    public.send_keys(Keys.ENTER)
    limits.until(lambda: in_force(limits) == ["usual-public"], "the card")
    assert (value(limits, "k-anonymity", "k"), value(limits, "l-diversity", "l")) == ("11", "3")
    # The card keeps the focus.
    assert limits.browser.switch_to.active_element.get_attribute("data-mark") == "usual-public"
    limits.fill("[data-model=k-anonymity] [data-field=k]", "12")
    limits.until(lambda: in_force(limits) == [], "no card")
    limits.fill("[data-model=k-anonymity] [data-field=k]", "11")
    limits.until(lambda: in_force(limits) == ["usual-public"], "the card again")
    limits.go("Column")
    limits.go("Limits")
    limits.until(lambda: in_force(limits) == ["usual-public"], "the card after another panel")
    assert studio.errors.read_text() == ""


def test_a_table_without_sensitive_columns_has_cards_without_l_diversity(visit, tmp_path):
    hospital(300).select("age", "sex", "zip").write_csv(tmp_path / "people.csv")
    opened(visit, tmp_path / "people.csv")
    assert in_force(visit) == ["usual-contract"]
    visit.mark("usual-public")
    visit.until(lambda: in_force(visit) == ["usual-public"], "the card")
    assert not visit.all("[data-model=l-diversity]")
    assert visit.shown("[data-mark=protect]") is None


def test_sensitive_columns_without_a_limit_are_named_until_one_protects_them(limits):
    assert limits.shown("[data-mark=protect]") is None
    limits.mark("usual-teaching")
    told = limits.until(lambda: limits.wait("[data-mark=unprotected]").text, "the warning")
    for name in ("diagnosis", "cost"):
        assert f"{name} is sensitive, but no limit protects it: whoever finds a class may learn it." in told
    limits.mark("protect")
    limits.wait("[data-model=l-diversity]")
    limits.until(lambda: limits.shown("[data-mark=protect]") is None, "the end of the warning")
    assert value(limits, "l-diversity", "l") == "2"
    # A model of one column leaves the other one open.
    limits.click("[data-model=l-diversity] [data-mark=advanced-model] .q-item")
    limits.choose("[data-model=l-diversity] [data-field=attribute]", "cost")
    limits.until(lambda: limits.wait("[data-mark=unprotected]").text.startswith("diagnosis is"), "one column")
    assert "cost is sensitive" not in limits.text()
    limits.mark("protect")
    limits.until(lambda: len(limits.all("[data-model=l-diversity]")) == 2, "a model of its own")
    limits.until(lambda: limits.shown("[data-mark=protect]") is None, "the end of the warning")


@pytest.mark.slow
def test_what_few_need_is_closed_unless_it_is_set(limits):
    assert limits.shown("[data-mark=add-attacker]") is None
    assert limits.shown("[data-model=l-diversity] [data-field=kind]") is None
    limits.click("[data-model=l-diversity] [data-mark=advanced-model] .q-item")
    limits.choose("[data-model=l-diversity] [data-field=kind]", "entropy")
    limits.reads("equally frequent values (entropy)")
    limits.unfold("advanced-limits")
    limits.mark("add-attacker")
    limits.wait("[data-attacker]")
    limits.go("Column")
    limits.go("Limits")
    # Now both are open, since they hold something.
    limits.wait("[data-model=l-diversity] [data-field=kind]")
    limits.wait("[data-attacker]")
    limits.click('[aria-label="Remove attacker attacker 1"]')
    limits.until(lambda: not limits.all("[data-attacker]"), "no attacker")
    limits.go("Column")
    limits.go("Limits")
    limits.wait("[data-mark=usual-public]")
    assert limits.shown("[data-mark=add-attacker]") is None


def test_a_limit_that_lies_between_two_places_of_its_slider_stays_as_it_is_written(limits):
    limits.choose("[data-field=model]", "t-closeness")
    limits.mark("add-model")
    limits.fill("[data-model=t-closeness] [data-field=t]", "0.125")
    limits.reads("by at most 0.125 of 1")
    limits.go("Column")
    limits.go("Limits")
    limits.until(lambda: value(limits, "t-closeness", "t") == "0.125", "the limit")


def test_names_of_columns_are_shown_as_texts(visit, tmp_path):
    name = "diagnosis <img src=x onerror=window.hacked=1>"
    hospital(60).select("age", pl.col("diagnosis").alias(name)).write_csv(tmp_path / "people.csv")
    opened(visit, tmp_path / "people.csv")
    visit.give(1, "sensitive")
    visit.go("Limits")
    visit.mark("usual-teaching")
    visit.until(lambda: f"{name} is sensitive" in visit.wait("[data-mark=unprotected]").text, "the warning")
    assert visit.browser.execute_script("return window.hacked === undefined")


def test_bar_and_panel_say_the_same_limits(limits):
    limits.fill("[data-model=k-anonymity] [data-field=k]", "12")
    limits.until(lambda: limits.wait("[data-mark=limit-k]").text == "12", "the figure in the bar")
    limits.slide("k", 3)
    limits.until(lambda: value(limits, "k-anonymity", "k") == "15", "the field in the panel")
    # A model that the bar took away has no form, and is not changed by one.
    limits.slide("l", -1)
    limits.until(lambda: not limits.all("[data-model=l-diversity]"), "the end of the model")
    limits.wait("[data-mark=protect]")
