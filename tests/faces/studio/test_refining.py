"""A release that loses less: searched in a quiet moment, once, and offered without changing anything."""

from __future__ import annotations

import asyncio
import time
from types import SimpleNamespace

import pytest

from incrowd.core.errors import InfeasibleError
from incrowd.faces.studio import refining
from incrowd.faces.studio.cancelling import Cancelled, Watched
from incrowd.faces.studio.exploring import try_of
from incrowd.faces.studio.refining import Refining, less_lost
from incrowd.faces.studio.work import Source, Work
from incrowd.samples import hospital


@pytest.fixture
def window(tmp_path):
    hospital(400).select("age", "sex", "zip", "diagnosis").write_csv(tmp_path / "people.csv")
    work = Work()
    work.open(Source(tmp_path / "people.csv", "people.csv"))
    work.recode(Watched())
    work.judge(Watched())
    yield work
    work.close()


@pytest.mark.slow
def test_a_slower_algorithm_that_loses_less_under_the_same_limits_is_returned(window):
    release = window.release
    better = less_lost(window, Watched())
    assert better.title == "Agglomerative, k = 5, l = 2"
    assert better.loss < release.utility["loss"].value
    assert (better.state, release.verdict.state) == ("holds", "holds")
    # Nothing on the page changes, and what is offered is what a run with it gives.
    assert window.release is release
    assert [each.title for each in window.tries] == ["Mondrian, k = 5, l = 2"]
    window.chosen.document["algorithm"] = {"name": "agglomerative"}
    assert window.anonymize(Watched()).utility["loss"].value == better.loss
    # There is no slower algorithm than this one.
    assert less_lost(window, Watched()) is None


def tried(window, monkeypatch, **found):
    """Let slower algorithms have other losses and verdicts, and return the titles of those that run."""
    ran = []
    now = try_of(window.release, window.chosen.document)

    def trial(policy, _):
        name = policy.algorithm.name
        ran.append(name)
        if found[name] is None:
            raise InfeasibleError("no release")
        loss, state = found[name]
        return SimpleNamespace(
            utility={"loss": SimpleNamespace(value=loss, per_attribute={})},
            privacy=SimpleNamespace(risk={"prosecutor": {"max": 0.2}}, results=SimpleNamespace(asked=())),
            suppression=SimpleNamespace(records=0),
            verdict=SimpleNamespace(state=state),
        )

    monkeypatch.setattr(window, "trial", trial)
    return now.loss, ran


@pytest.mark.few(1)
@pytest.mark.parametrize(
    ("agglomerative", "optimal", "title"),
    [
        ((-0.02, "holds"), (-0.03, "holds"), "Optimal"),
        ((-0.02, "holds"), None, "Agglomerative"),
        (None, (0.1, "holds"), None),
        # Another release that has a point to answer is no better one.
        ((-0.05, "open"), (-0.02, "holds"), "Optimal"),
        ((-0.05, "open"), (0.0, "holds"), None),
        # A difference that nobody reads is none.
        ((-1e-6, "holds"), (0.1, "holds"), None),
    ],
)
def test_only_less_loss_with_no_worse_verdict_is_better(window, monkeypatch, agglomerative, optimal, title):
    now = try_of(window.release, window.chosen.document).loss
    result = {"agglomerative": agglomerative, "optimal": optimal}
    result = {name: each and (now + each[0], each[1]) for name, each in result.items()}
    tried(window, monkeypatch, **result)
    better = less_lost(window, Watched())
    assert (better and better.title.partition(",")[0]) == title


def test_a_setting_that_was_tried_before_is_not_run_again(window, monkeypatch):
    slower = {**window.chosen.document, "algorithm": {"name": "agglomerative"}}
    known = try_of(window.trial(window.policy(slower), Watched()), slower)
    window.tries.append(known)
    _, ran = tried(window, monkeypatch, optimal=None)
    assert less_lost(window, Watched()) is known
    assert ran == ["optimal"]


def test_a_search_is_cancelled_at_once(window):
    watched = Watched()
    watched.cancel()
    with pytest.raises(Cancelled):
        less_lost(window, watched)


class Page:
    """A page that notes each offer and counts searches."""

    def __init__(self, work, seconds: float = 0.0) -> None:
        self.work, self.seconds, self.searches, self.shown = work, seconds, 0, 0

    async def doing(self, tell, watched, search, *given):
        self.searches += 1
        end = time.monotonic() + self.seconds
        while time.monotonic() < end:
            await asyncio.sleep(0.005)
            if watched.cancelled:
                return None
        return search(*given)

    def show_try(self):
        self.shown += 1


@pytest.fixture
def found(window, monkeypatch):
    """A page with a search, which offers a setting at once without a stop."""
    monkeypatch.setattr(refining, "_QUIET", 0.02)
    better = SimpleNamespace(
        document={**window.chosen.document, "algorithm": {"name": "agglomerative"}}, loss=0.1
    )
    monkeypatch.setattr(refining, "less_lost", lambda work, watched: better)
    page = Page(window)
    search, offers = Refining(page), []
    search._place = SimpleNamespace(clear=lambda: offers.append(""))
    offer = search._offer

    def noted(each) -> None:
        offers.append(each)

    monkeypatch.setattr(search, "_offer", noted)
    return SimpleNamespace(page=page, search=search, offers=offers, better=better, offer=offer)


def test_the_same_choices_are_searched_once(found):
    async def go():
        await found.search.look()
        await found.search.look()

    asyncio.run(go())
    assert found.page.searches == 1
    assert found.offers == ["", found.better, "", found.better]
    # Other choices are searched, and a change of the population makes others.
    found.page.work.population = "people.csv"
    asyncio.run(found.search.look())
    assert found.page.searches == 2


@pytest.mark.parametrize("after", [0.0, 0.06])
def test_a_change_ends_the_wait_or_the_search_and_nothing_is_offered(found, after):
    found.page.seconds = 10.0

    async def go():
        looking = asyncio.create_task(found.search.look())
        await asyncio.sleep(after)
        found.search.stop()
        begun = time.monotonic()
        await looking
        assert time.monotonic() - begun < 1

    asyncio.run(go())
    assert found.page.searches == (1 if after else 0)
    assert set(found.offers) == {""}
    # What a change ended may be searched again.
    assert found.page.work.refined == {}


def test_a_search_that_takes_too_long_is_given_up_for_good(found, monkeypatch):
    monkeypatch.setattr(refining, "_LONGEST", 0.05)
    found.page.seconds = 10.0

    async def go():
        await found.search.look()
        await found.search.look()

    asyncio.run(go())
    assert found.page.searches == 1
    assert [*found.page.work.refined.values()] == [None]
    assert set(found.offers) == {""}
