"""An analysis is named on the page, the setting that keeps it is searched, and taken by a click."""

from __future__ import annotations

import pytest

from incrowd.samples import hospital


@pytest.mark.slow
def test_the_setting_that_keeps_an_analysis_is_searched_and_taken(visit, tmp_path, studio):
    hospital(300).select("age", "sex", "length_of_stay").write_csv(tmp_path / "stays.csv")
    visit.fill("[data-field=path]", str(tmp_path / "stays.csv"))
    visit.mark("open")
    visit.reads("300 rows")
    visit.judged()
    visit.go("Explore")
    # A wrong formula is refused, and changes nothing.
    visit.fill("[data-field=formula]", "length_of_stay ~ agee")
    visit.mark("add-analysis")
    visit.reads("analysis: there is no column 'agee'; those are 'age', 'sex'")
    visit.fill("[data-field=formula]", "length_of_stay ~ age")
    visit.fill("[data-field=name]", "stay")
    visit.mark("add-analysis")
    visit.judged()
    visit.fill("[data-field=most]", "2")
    visit.mark("tune")
    said = visit.wait("[data-mark=tuned] p").text
    assert said.startswith("The policy as it was keeps ")
    assert ", the chosen setting keeps " in said
    assert "% of 'stay': " in said
    picture = visit.wait("[data-mark=trials]")
    assert picture.get_attribute("aria-label").startswith("Each point is a setting; ")
    assert visit.wait("[data-mark=trials] svg").size["height"] > 100
    visit.click("[data-mark=tuned] .q-expansion-item .q-item")
    table = visit.wait("[data-mark=trials-table]").text
    assert "optimal, at most" in table
    assert "chosen" in table
    visit.mark("take-tuned")
    visit.until(lambda: "Optimal" in visit.wait(".method").text, "the chosen setting")
    assert visit.judged() == "Verdict: holds"
    visit.until(lambda: "shown now" in visit.wait("[data-mark=tuned]").text, "the mark of the setting")
    visit.go("Verdict")
    visit.reads("chosen among 2 by how well each keeps the analysis 'stay'")
    # The change is undone as any other, and an analysis can be removed.
    visit.go("Explore")
    visit.mark("undo-change")
    visit.until(lambda: "Mondrian" in visit.wait(".method").text, "the setting before")
    visit.judged()
    visit.unfold("analyses")
    visit.mark("remove-analysis-0")
    visit.until(lambda: visit.shown("[data-mark=tune]") is None, "the end of the analysis")
    assert studio.errors.read_text() == ""
