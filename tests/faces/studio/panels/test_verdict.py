"""The page shows the verdict of the release in words and colour, on every panel."""

from __future__ import annotations

import polars as pl
import pytest

import incrowd as ic
from incrowd.samples import hospital

ROWS = 60
STATES = {"holds": "good", "open": "warn", "broken": "problem"}


def people() -> pl.DataFrame:
    return pl.DataFrame(
        {
            "age": [20 + row % 20 for row in range(ROWS)],
            "cost": [1_000 + 37 * row for row in range(ROWS)],
            "zip": [("02138", "10115")[row // 20 % 2] for row in range(ROWS)],
        }
    )


def policy_of(state: str) -> dict[str, object]:
    """A policy for a verdict: a cost per row, or ZIP codes that HIPAA forbids."""
    return {
        "version": 1,
        "columns": {
            "age": {"role": "quasi", "kind": "number"},
            "cost": {"role": "insensitive" if state == "open" else "identifying"},
            "zip": {"role": "insensitive" if state == "broken" else "identifying"},
        },
        "models": [{"model": "k-anonymity", "k": 3}],
        **({"profile": {"name": "hipaa-safe-harbor"}} if state == "broken" else {}),
    }


def opened(visit, tmp_path, state: str) -> ic.Release:
    """Open the people on the page with the policy of a state, and return the release."""
    people().write_parquet(tmp_path / "people.parquet")
    policy = ic.Policy.from_dict(policy_of(state), tmp_path)
    policy.write(tmp_path / "policy.toml")
    visit.drop(tmp_path / "policy.toml")
    visit.reads("from policy.toml")
    visit.fill("[data-field=path]", str(tmp_path / "people.parquet"))
    visit.mark("open")
    visit.reads("60 rows")
    visit.judged()
    visit.go("Verdict")
    return ic.anonymize(people(), policy, unanswered="write")


def shown(visit, release: ic.Release) -> None:
    """Check the verdict of the panel that is shown."""
    state = release.verdict.state
    element = visit.wait("[data-mark=verdict]")
    assert element.text == release.verdict.text
    assert element.get_attribute("class").split() == [STATES[state]]
    others = ", ".join(f".studio .{look}" for name, look in STATES.items() if name != state)
    assert not visit.all(others)


@pytest.mark.parametrize("state", STATES)
def test_bar_and_panel_show_the_one_verdict(visit, tmp_path, studio, state):
    release = opened(visit, tmp_path, state)
    assert release.verdict.state == state
    shown(visit, release)
    bar = visit.wait("[data-mark=status-verdict]")
    assert bar.text == f"Verdict: {release.verdict.brief}"
    assert STATES[state] in bar.get_attribute("class").split()
    assert visit.wait(visit.tab("Verdict")).get_attribute("aria-label") == f"Verdict, {state}"
    assert visit.is_shut("Hand over") is (state != "holds")
    assert not visit.all('[data-mark^="get-"]')
    if state == "holds":
        visit.mark("to-hand-over")
        visit.wait("[data-mark=get-release]")
        shown(visit, release)
        downloads = {each.get_attribute("data-mark") for each in visit.all('[data-mark^="get-"]')}
        assert {"get-release", "get-report", "get-archive"} <= downloads
    else:
        points = (*release.verdict.broken, *release.verdict.open)
        assert len(visit.all('[data-mark^="point-"]')) == len(points)
        for number, point in enumerate(points):
            assert point.text in visit.wait(f"[data-mark=point-{number}]").text
    if state == "broken":
        assert not visit.all("[data-field^=why-]")
        # A clause that waits for somebody has fields, which alone do not mend the release.
        visit.answer("A. Officer")
        visit.until(lambda: not visit.all("[data-field^=by-]"), "the answer")
        assert visit.wait("[data-mark=verdict]").text.startswith("BROKEN: ")
        assert not visit.all('[data-mark^="get-"]')
    assert studio.errors.read_text() == ""


def test_a_change_makes_the_release_anew_and_it_holds(visit, tmp_path, studio):
    release = opened(visit, tmp_path, "open")
    shown(visit, release)
    visit.reads("Round cost to 100")
    assert "cost" in visit.wait(visit.head(1) + "[data-mark=column-points]").get_attribute("title")
    visit.mark("take-round")
    visit.until(lambda: visit.wait("[data-mark=verdict]").text.startswith("HOLDS: "), "the release")
    assert not visit.all("[data-mark=column-points]")
    visit.mark("to-hand-over")
    frame = pl.read_csv(visit.take("get-release", "release.csv"))
    assert all(int(cost) % 100 == 0 for cost in frame["cost"])
    assert studio.errors.read_text() == ""


def infeasible(visit, path, t: str = "0.02") -> None:
    """Open a table, and ask for more than whole columns that climb can give."""
    visit.fill("[data-field=path]", str(path))
    visit.mark("open")
    visit.wait(visit.head(0))
    visit.choose("[data-field=method]", "Optimal")
    visit.go("Limits")
    visit.choose("[data-field=model]", "t-closeness")
    visit.mark("add-model")
    visit.fill("[data-model=t-closeness] [data-field=t]", t)
    visit.reads(f"by at most {t} of 1")


@pytest.mark.slow
def test_changes_that_help_are_looked_for_and_taken(visit, tmp_path, studio):
    hospital(400).select("age", "sex", "zip", "diagnosis").write_csv(tmp_path / "people.csv")
    infeasible(visit, tmp_path / "people.csv")
    visit.mark("help-me")
    told = visit.until(lambda: visit.wait("[data-mark=advice]").text, "what would help")
    assert "mondrian in place of optimal" in told
    first = visit.all("[data-mark=take-advice]")[0]
    assert first.get_attribute("aria-label").startswith("Take it: search with mondrian")
    visit.mark("take-advice")
    visit.wait("[data-mark=verdict]")
    assert not visit.all("[data-mark=advice]")
    assert studio.errors.read_text() == ""


@pytest.mark.slow
def test_looking_for_changes_can_be_cancelled(visit, tmp_path, studio):
    hospital(60_000).select("age", "sex", "zip", "diagnosis", "cost").write_csv(tmp_path / "people.csv")
    infeasible(visit, tmp_path / "people.csv", "0.001")
    visit.mark("help-me")
    visit.until(lambda: "Trying: " in visit.wait("[data-mark=stage-advise]").text, "a change that is tried")
    visit.mark("cancel-advise")
    visit.reads("Cancelled. Nothing was made.")
    visit.until(lambda: visit.shown("[data-mark=cancel-advise]") is None, "the end of the search")
    assert visit.wait("[data-mark=advise]").is_enabled()
    assert studio.errors.read_text() == ""


@pytest.mark.slow
def test_what_became_of_each_column_is_drawn_before_and_after(visit, tmp_path, studio):
    table = hospital(20).select("age", "sex", diagnosis=pl.Series(["flu", "asthma"] * 10))
    table.write_parquet(tmp_path / "people.parquet")
    visit.fill("[data-field=path]", str(tmp_path / "people.parquet"))
    visit.mark("open")
    visit.judged()
    visit.go("Verdict")
    assert visit.wait("[data-mark=sentences]").text
    # Both bars of a value start at one line.
    both = visit.all("[data-mark=distributions] tbody tr:first-child .bar")[:2]
    assert [each.get_attribute("class").split()[-1] for each in both] == ["before", "after"]
    assert both[0].location["x"] == both[1].location["x"]
    assert studio.errors.read_text() == ""
