"""The page says what the one verdict of the release says, in its colour, in every step that shows it."""

from __future__ import annotations

import polars as pl
import pytest

import incrowd as ic

ROWS = 60
STATES = {"holds": "good", "open": "warn", "broken": "problem"}
MARKS = {"holds": "check", "open": "warning", "broken": "error"}


def people() -> pl.DataFrame:
    return pl.DataFrame(
        {
            "age": [20 + row % 20 for row in range(ROWS)],
            "cost": [1_000 + 37 * row for row in range(ROWS)],
            "zip": [("02138", "10115")[row // 20 % 2] for row in range(ROWS)],
        }
    )


def policy_of(state: str) -> dict[str, object]:
    """A policy under which the verdict is as named: costs of their own, or ZIP codes that HIPAA forbids."""
    return {
        "version": 3,
        "columns": {
            "age": {"role": "quasi", "kind": "number"},
            "cost": {"role": "insensitive" if state == "open" else "identifying"},
            "zip": {"role": "insensitive" if state == "broken" else "identifying"},
        },
        "models": [{"model": "k-anonymity", "k": 3}],
        **({"profile": {"name": "hipaa-safe-harbor"}} if state == "broken" else {}),
    }


def opened(visit, tmp_path, state: str) -> ic.Release:
    """Open the people on the page with the policy of a state; return the release that it makes."""
    people().write_parquet(tmp_path / "people.parquet")
    policy = ic.Policy.from_dict(policy_of(state), tmp_path)
    policy.write(tmp_path / "policy.toml")
    visit.drop(tmp_path / "policy.toml")
    visit.reads("from policy.toml")
    visit.fill("[data-field=path]", str(tmp_path / "people.parquet"))
    visit.mark("open")
    visit.reads("60 rows")
    visit.go(6)
    visit.mark("run")
    return ic.anonymize(people(), policy, unanswered="write")


def shown(visit, release: ic.Release) -> None:
    """Check the verdict of the step that is shown."""
    state = release.verdict.state
    found = visit.wait("[data-mark=verdict]")
    assert found.text == release.verdict.text
    assert found.get_attribute("class").split() == [STATES[state]]
    others = ", ".join(f".studio .{look}" for name, look in STATES.items() if name != state)
    assert not visit.all(others)


@pytest.mark.parametrize("state", STATES)
def test_every_step_shows_the_one_verdict(visit, tmp_path, studio, state):
    release = opened(visit, tmp_path, state)
    assert release.verdict.state == state
    shown(visit, release)
    bar = visit.wait("[data-mark=status-verdict]")
    assert bar.text == f"Verdict: {release.verdict.brief}"
    assert STATES[state] in bar.get_attribute("class").split()
    assert visit.wait('[data-step="6"] .q-tab__icon').text == MARKS[state]
    visit.mark("look")
    visit.wait("[data-mark=tiles]")
    shown(visit, release)
    assert visit.wait("[data-mark=tiles]").get_attribute("data-state") == state
    for point in release.verdict.points:
        assert point.text in visit.wait("[data-mark=points]").text
    visit.go(8)
    visit.wait("[data-mark=get-release], [data-mark=point-0]")
    shown(visit, release)
    downloads = [each.get_attribute("data-mark") for each in visit.all('[data-mark^="get-"]')]
    if state == "holds":
        assert {"get-release", "get-report", "get-archive"} <= set(downloads)
    else:
        assert downloads == []
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
    visit.go(8)
    visit.reads("Round cost to 100")
    visit.mark("take-round")
    visit.until(lambda: visit.wait("[data-mark=verdict]").text.startswith("HOLDS: "), "the release")
    assert visit.wait('[data-step="6"]').get_attribute("class").find("q-tab--active") > 0
    visit.go(8)
    made = pl.read_csv(visit.take("get-release", "release.csv"))
    assert all(int(cost) % 100 == 0 for cost in made["cost"])
    assert studio.errors.read_text() == ""
