"""The step that makes the release: its settings, its progress in words, and what would help."""

from __future__ import annotations

import ast

import pytest

from incrowd.core.progress import RELEASE, STAGES
from incrowd.faces.studio.cancelling import Watched
from incrowd.faces.studio.job import in_words
from incrowd.faces.studio.work import Source, Work
from incrowd.works.samples import hospital
from package_sources import parsed, place, sources
from studio_browser import Visit


@pytest.mark.parametrize(
    ("state", "steps", "text"),
    [
        (("count", 3.0, None), RELEASE, "Counting records, step 1 of 8"),
        (("search", 10.0, 0.5), RELEASE, "Searching for a recoding, step 3 of 8, about 10 s left in this step"),
        (("search", 10.0, 0.01), RELEASE, "Searching for a recoding, step 3 of 8"),
        (("search", 0.5, 0.5), RELEASE, "Searching for a recoding, step 3 of 8"),
        (("compare", 60.0, 0.25), (), "Comparing settings, about 3 min left"),
        (("compare", 60.0, 1.0), (), "Comparing settings, about 5 s left"),
        (("treat", 1.0, None), RELEASE, "Treating columns"),
        (("t-closeness: t = 0.4 in place of 0.1: search", 9.0, 0.5), (),
         "Trying: t-closeness: t = 0.4 in place of 0.1"),
        (("linkage", 9.0, None), (), "linkage"),
    ],
)  # fmt: skip
def test_progress_is_described_in_words(state, steps, text):
    assert in_words(*state, steps) == text


class Stages(Watched):
    def __init__(self) -> None:
        super().__init__()
        self.names: list[str] = []

    def stage(self, name: str) -> None:
        self.names.append(name)
        super().stage(name)


def test_the_steps_of_a_release_are_its_stages(tmp_path):
    hospital(200).select("age", "sex", "zip", "diagnosis").write_csv(tmp_path / "people.csv")
    work = Work()
    work.open(Source(tmp_path / "people.csv", "people.csv"))
    watched = Stages()
    work.anonymize(watched)
    work.close()
    assert tuple(watched.names) == RELEASE


def test_every_stage_of_a_job_has_words():
    named = {
        node.args[0].value
        for path in sources()
        if {"jobs", "studio"} & {*place(path).parts}
        for node in ast.walk(parsed(path))
        if isinstance(node, ast.Call)
        and getattr(node.func, "attr", "") == "stage"
        and isinstance(node.args[0], ast.Constant)
    }
    assert set(RELEASE) <= named
    assert named <= set(STAGES)


@pytest.fixture
def run(visit, tmp_path) -> Visit:
    """The step that makes the release, for a small table."""
    hospital(400).select("age", "sex", "zip", "diagnosis").write_csv(tmp_path / "people.csv")
    visit.fill("[data-field=path]", str(tmp_path / "people.csv"))
    visit.mark("open")
    visit.reads("400 rows")
    visit.go(6)
    visit.wait("[data-mark=run]")
    return visit


def test_the_records_that_may_be_suppressed_are_a_slider_and_an_exact_field(run, studio):
    from selenium.webdriver.common.keys import Keys

    def said() -> str:
        return run.wait("[data-mark=suppressed]").text

    assert said() == "Records that may be suppressed: 0% (up to 0 of 400 records)"
    slider = run.wait("[data-slider=max_suppression]")
    assert slider.get_attribute("aria-label") == "Records that may be suppressed"
    handle = slider.find_element("css selector", "[tabindex]")
    for _ in range(5):
        handle.send_keys(Keys.ARROW_RIGHT)
    run.until(lambda: said() == "Records that may be suppressed: 5% (up to 20 of 400 records)", "the slider")
    assert run.wait("[data-field=max_suppression]").get_attribute("value") == "0.05"
    run.fill("[data-field=max_suppression]", "0.0725")
    run.until(
        lambda: said() == "Records that may be suppressed: 7.25% (up to 29 of 400 records)", "the field"
    )
    run.fill("[data-field=max_suppression]", "2")
    run.reads("must be a number between 0 and 1")
    run.go(4)
    run.go(6)
    run.until(lambda: "7.25%" in said(), "the last right share")
    assert studio.errors.read_text() == ""


def test_few_settings_are_shown_until_others_are_wanted(run):
    assert run.wait("[data-mark=run]").text.split("\n")[-1] == "Make the release"
    shown = [each.get_attribute("data-field") for each in run.all("[data-field]") if each.is_displayed()]
    assert shown == ["algorithm", "max_suppression"]
    # A parameter that an algorithm needs stands beside it.
    run.choose("[data-field=algorithm]", "top-down-specialization")
    run.wait("[data-field=target]")
    run.choose("[data-field=algorithm]", "mondrian")
    run.until(lambda: run.shown("[data-field=target]") is None, "the end of the parameter")
    run.unfold("advanced-run")
    run.fill("[data-field=max_depth]", "3")
    run.go(4)
    run.go(6)
    # What is set is open.
    assert run.wait("[data-field=max_depth]").get_attribute("value") == "3"


def infeasible(visit: Visit, t: str = "0.02") -> None:
    """Ask for more than whole columns that climb can give."""
    visit.go(4)
    visit.choose("[data-field=model]", "t-closeness")
    visit.mark("add-model")
    visit.fill("[data-model=t-closeness] [data-field=t]", t)
    visit.reads(f"by at most {t} of 1")
    visit.go(6)
    visit.choose("[data-field=algorithm]", "optimal")
    visit.mark("run")


@pytest.mark.slow
def test_changes_that_help_are_looked_for_without_a_click_and_stay_until_the_policy_changes(run, studio):
    infeasible(run)
    told = run.until(lambda: run.wait("[data-mark=advice]").text, "what would help")
    assert "mondrian in place of optimal" in told
    first = run.all("[data-mark=take-advice]")[0]
    assert first.get_attribute("aria-label").startswith("Take it: search with mondrian")
    run.go(4)
    run.go(6)
    run.until(lambda: run.wait("[data-mark=advice]").text == told, "the same changes")
    run.fill("[data-field=max_suppression]", "0.01")
    run.until(lambda: not run.all("[data-mark=advice]"), "the end of changes for another policy")
    run.go(4)
    run.go(6)
    run.wait("[data-mark=run]")
    assert not run.all("[data-mark=advice]")
    run.mark("run")
    run.mark("take-advice")
    run.wait("[data-mark=verdict]")
    assert not run.all("[data-mark=advice]")
    assert studio.errors.read_text() == ""


@pytest.mark.slow
def test_looking_for_changes_can_be_cancelled(visit, tmp_path, studio):
    hospital(60_000).select("age", "sex", "zip", "diagnosis", "cost").write_csv(tmp_path / "people.csv")
    visit.fill("[data-field=path]", str(tmp_path / "people.csv"))
    visit.mark("open")
    visit.reads("60,000 rows")
    visit.go(6)
    infeasible(visit, "0.001")
    visit.until(lambda: "Trying: " in visit.wait("[data-mark=stage-advise]").text, "a change that is tried")
    visit.mark("cancel-advise")
    visit.reads("Cancelled. Nothing was made.")
    visit.until(lambda: visit.shown("[data-mark=cancel-advise]") is None, "the end of the search")
    assert visit.wait("[data-mark=advise]").is_enabled()
    assert studio.errors.read_text() == ""


@pytest.mark.slow
def test_cancel_stays_in_view_and_the_progress_goes_on_where_the_step_is_drawn_anew(visit, tmp_path):
    hospital(60_000).select("age", "sex", "zip", "diagnosis").write_csv(tmp_path / "people.csv")
    visit.fill("[data-field=path]", str(tmp_path / "people.csv"))
    visit.mark("open")
    visit.reads("60,000 rows")
    visit.go(6)
    visit.unfold("advanced-run")
    visit.choose("[data-field=algorithm]", "k-member")
    visit.mark("run")
    visit.until(lambda: "step 3 of 8" in visit.wait("[data-mark=stage-run]").text, "the search")
    visit.go(4)
    visit.go(6)
    visit.unfold("advanced-run")
    visit.until(lambda: "step 3 of 8" in visit.wait("[data-mark=stage-run]").text, "the search goes on")
    visit.browser.execute_cdp_cmd(
        "Emulation.setDeviceMetricsOverride",
        {"width": 1_000, "height": 420, "deviceScaleFactor": 1, "mobile": False},
    )
    try:
        for place in (0, 9_999):
            seen = (
                "scrollTo(0, arguments[0]); const e = document.querySelector('[data-mark=cancel-run]');"
                "const box = e.getBoundingClientRect();"
                "return e.contains(document.elementFromPoint(box.x + box.width / 2, box.y + box.height / 2))"
            )
            # The page is laid out anew a moment after its size changed.
            visit.until(
                lambda seen=seen, place=place: visit.browser.execute_script(seen, place), f"Cancel at {place}"
            )
    finally:
        visit.browser.execute_cdp_cmd("Emulation.clearDeviceMetricsOverride", {})
    visit.mark("cancel-run")
    visit.reads("Cancelled. Nothing was made.")
