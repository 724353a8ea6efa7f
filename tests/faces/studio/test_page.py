"""The frame of the page: limits that are followed at once, addresses, and windows that come and go."""

from __future__ import annotations

import re
import signal
import socket
import time
from contextlib import closing

import pytest

from incrowd.samples import hospital
from studio_browser import PANELS, Studio, Visit


@pytest.fixture
def people(visit, tmp_path) -> Visit:
    """A window with a table without open questions, and the release."""
    hospital(400).select("age", "sex", "zip", "diagnosis").write_csv(tmp_path / "people.csv")
    visit.fill("[data-field=path]", str(tmp_path / "people.csv"))
    visit.mark("open")
    visit.reads("400 rows, 4 columns")
    visit.judged()
    return visit


def risk(visit: Visit) -> str:
    return visit.wait("[data-mark=risk]").text


def place(visit: Visit) -> str:
    """Return the part of an address behind the work."""
    return visit.browser.execute_script("return decodeURI(location.pathname).split('/').slice(2).join('/')")


def focus(visit: Visit) -> str:
    """Return the tag that has the focus."""
    return visit.browser.execute_script("return document.activeElement.tagName")


# --- the release follows --------------------------------------------------------------------------


def test_a_slider_that_is_moved_changes_rows_heads_risk_and_verdict(people):
    def shown() -> tuple[str, list[str], list[str]]:
        heads = [each.get_attribute("textContent") for each in people.all(".head-lost")]
        rows = [cell for number in range(5) for cell in people.row(number)]
        return risk(people), heads, rows

    assert "100% before, 20% after" in risk(people)
    assert people.judged() == "Verdict: holds"
    people.until(lambda: ", before " in "".join(people.row(1)), "the rows of the release")
    before = shown()
    people.slide("k", 20)
    assert people.wait("[data-mark=limit-k]").text == "25"
    people.until(lambda: "4% after" in risk(people), "the risk of classes of 25")
    people.until(lambda: all(old != new for old, new in zip(before, shown(), strict=True)), "heads and rows")
    assert people.judged() == "Verdict: holds"
    people.go("Verdict")
    assert "k is 25, asked was >= 25" in people.wait("[data-mark=sentences]").text
    # What the panel says follows, too, and so does the verdict.
    people.slide("l", -1)
    people.until(
        lambda: people.judged() == "Verdict: 1 point is open", "the sensitive column without a limit"
    )
    people.until(lambda: "Sensitive without a limit" in people.wait("[data-mark=point-0]").text, "the point")
    people.until(lambda: people.is_shut("Hand over"), "the shut panel")


def test_what_was_moved_last_wins(people):
    people.slide("k", 30)
    people.slide("k", -33)
    people.slide("k", 7)
    people.until(lambda: "11.2% after" in risk(people), "the risk of classes of 9")
    assert people.judged() == "Verdict: holds"
    # Nothing that was on its way comes later.
    time.sleep(2)
    assert "11.2% after" in risk(people)
    people.go("Verdict")
    assert "asked was >= 9" in people.wait("[data-mark=sentences]").text
    people.go("Limits")
    assert people.wait("[data-model=k-anonymity] [data-field=k]").get_attribute("value") == "9"


def test_a_release_that_loses_less_is_offered_and_only_a_click_takes_it(people):
    assert people.judged() == "Verdict: holds"
    loss = people.wait("[data-mark=status-loss]").text
    where = "return document.querySelector(arguments[0]).getBoundingClientRect().toJSON()"
    marks = ("[data-mark=next]", "[data-mark=view]", "[data-mark=risk]")
    people.go("Explore")
    before = [people.browser.execute_script(where, each) for each in marks]
    text = people.wait("[data-mark=offer]:has(button)").text
    assert text.startswith("Less is lost with Agglomerative: ")
    assert text.split("\n")[0].endswith(f" in place of {loss}.")
    # It moves nothing, and changes nothing.
    assert [people.browser.execute_script(where, each) for each in marks] == before
    assert people.wait("[data-mark=status-loss]").text == loss
    assert "Agglomerative, k = 5, l = 2" in people.wait("[data-mark=card-2]").text
    # A change takes it back, and the same choices have it again.
    people.slide("k", 1)
    people.until(lambda: not people.all("[data-mark=use-offer]"), "the end of the offer")
    people.judged()
    # Where the settings are in sight, the new one stands at their end.
    assert "Agglomerative, k = 6, l = 2" in people.wait("[data-mark=last] [data-mark=card-4]").text
    people.slide("k", -1)
    people.until(lambda: people.wait("[data-mark=offer]").text == text, "the offer again")
    people.mark("use-offer")
    less = text.split(": ")[1].split()[0]
    people.until(lambda: people.wait("[data-mark=status-loss]").text == less, "the lower loss")
    assert people.judged() == "Verdict: holds"
    assert "Agglomerative" in people.wait(".method").text
    assert not people.all("[data-mark=use-offer]")


def test_the_panel_and_the_bar_have_the_same_limits(people):
    people.go("Limits")
    people.fill("[data-model=k-anonymity] [data-field=k]", "8")
    people.until(lambda: people.wait("[data-mark=limit-k]").text == "8", "the bar")
    people.until(lambda: "12.5% after" in risk(people), "the risk")
    people.choose("[data-field=readers]", "Public release")
    people.until(lambda: people.wait("[data-mark=limit-k]").text == "11", "the usual limits")
    assert people.wait("[data-mark=limit-l]").text == "3"
    people.until(lambda: "9.1% after" in risk(people), "the risk of a public release")


def test_the_views_show_the_rows_before_after_and_both(people):
    people.view("Before")
    people.until(lambda: ", before " not in people.row()[0], "the raw rows")
    raw = people.row()
    people.view("After")
    people.until(lambda: people.row()[0].startswith("["), "the released rows")
    after = people.row()
    people.view("Difference")
    people.until(lambda: people.row()[0] == f"{after[0]}, before {raw[0]}", "both")
    assert people.row()[3] == raw[3] == after[3]


def test_a_column_is_found_by_its_name(people):
    people.fill("[data-field=find-column]", "I")
    people.until(
        lambda: [each.get_attribute("title") for each in people.all(".head-name")] == ["zip", "diagnosis"],
        "two columns",
    )
    people.fill("[data-field=find-column]", "")
    people.until(lambda: len(people.all(".head-name")) == 4, "all columns")


def test_a_question_that_is_open_stands_beside_the_risk(visit):
    visit.mark("sample")
    visit.reads("Still without a role: admission_type")
    # What is known of the others is measured meanwhile.
    visit.until(lambda: "100% before, 20% after" in risk(visit), "the risk")
    assert visit.is_shut("Hand over")
    assert visit.shown("[data-mark=status-verdict]") is None
    visit.give(8, "insensitive")
    assert visit.judged().startswith("Verdict: ")
    assert visit.shown("[data-mark=open-roles]") is None


def test_sixteen_columns_fit_the_screen_beside_the_panel(any_screen, tmp_path):
    visit = any_screen
    visit.resize(1440, height=900)
    table = hospital(60).select("age", **{f"blood_pressure_{number}": "cost" for number in range(15)})
    table.write_csv(tmp_path / "wide.csv")
    visit.fill("[data-field=path]", str(tmp_path / "wide.csv"))
    visit.mark("open")
    visit.reads("60 rows, 16 columns")
    visit.until(lambda: len(visit.all(".head[data-column]")) == 16, "all heads")
    ends = visit.browser.execute_script(
        "return [...document.querySelectorAll('.head')].map(e => e.getBoundingClientRect().right)"
    )
    assert max(ends) <= 1440
    wide = "const view = document.querySelector('.rows .ag-body-horizontal-scroll-viewport');"
    assert visit.browser.execute_script(f"{wide} return view.scrollWidth <= view.clientWidth")
    # A name that is clicked brings the panel back.
    visit.mark("fold-panel")
    visit.column(3)
    assert visit.shown(visit.tab("Column")) is not None


# --- addresses ------------------------------------------------------------------------------------


def test_a_panel_opens_at_its_top_with_the_focus_on_its_heading(people):
    where = (
        "return [document.querySelector('.side .q-tab-panel').scrollTop, document.activeElement.textContent]"
    )
    for panel, title in (("Verdict", "Is the release safe?"), ("Limits", "What must the release satisfy?")):
        people.go(panel)
        people.until(lambda title=title: people.browser.execute_script(where) == [0, title], title)
        people.browser.execute_script("document.querySelector('.side .q-tab-panel').scrollTo(0, 900)")


def test_back_forward_and_a_reload_lead_to_the_same_panel_and_column(people):
    def at(address: str, heading: str) -> None:
        people.until(lambda: place(people) == address, address)
        people.until(lambda: heading in people.wait(".side .q-tab-panel").text, heading)

    people.go("Limits")
    people.column(0)
    people.column(2)
    people.go("Verdict")
    at("Verdict", "Is the release safe?")
    people.browser.back()
    at("Column/2", "Role")
    assert people.shown('[data-panel="2"]') is not None
    assert people.wait(people.head(2) + "[data-mark=open-column]").get_attribute("aria-pressed") == "true"
    people.browser.back()
    people.wait('[data-panel="0"]')
    assert people.wait(people.head(2) + "[data-mark=open-column]").get_attribute("aria-pressed") == "false"
    people.browser.back()
    at("Limits", "What must the release satisfy?")
    people.browser.forward()
    people.until(lambda: people.shown('[data-panel="0"]'), "the column again")
    people.browser.refresh()
    people.connected()
    people.until(lambda: people.shown('[data-panel="0"]'), "the column of the address")
    assert place(people) == "Column/0"
    # A reload leaves what lies before and behind it as it was.
    people.browser.forward()
    people.until(lambda: people.shown('[data-panel="2"]'), "the column behind it")
    people.browser.forward()
    at("Verdict", "Is the release safe?")
    assert people.judged() == "Verdict: holds"


def test_hand_over_is_out_of_reach_while_the_verdict_does_not_hold(people, studio):
    work = people.browser.current_url.split("/")[3]
    people.go("Hand over")
    people.wait("[data-mark=get-release]")
    people.slide("l", -1)
    people.until(lambda: people.is_shut("Hand over"), "the shut panel")
    people.until(lambda: not people.all("[data-mark=get-release]"), "the end of the downloads")
    # Its tab does not open it, and neither do Back, a reload and its address.
    people.browser.execute_script("document.querySelector(arguments[0]).click()", people.tab("Hand over"))
    people.go("Limits")
    people.browser.back()
    people.until(lambda: people.judged() == "Verdict: 1 point is open", "the verdict")
    people.browser.get(f"{studio.base}/{work}/Hand over")
    people.connected()
    assert people.judged() == "Verdict: 1 point is open"
    assert people.all("[data-mark=get-release]") == []
    assert people.is_shut("Hand over")
    assert "q-tab--active" not in people.all(people.tab("Hand over"))[0].get_attribute("class")
    # An answer opens it.
    people.hand_over()


def test_an_address_of_nothing_shows_the_first_page(visit, studio):
    for address in ("0123abcd/Limits", "<b>/<img src=x onerror=window.hacked=1>", "x/Column/" + "9" * 5_000):
        visit.browser.get(f"{studio.base}/{address}")
        visit.connected()
        visit.reads("Choose a table about people")
        assert visit.browser.execute_script("return window.hacked === undefined")
    visit.mark("sample")
    visit.reads("2,000 rows, 12 columns")
    assert studio.errors.read_text() == ""


# --- windows that come and go ---------------------------------------------------------------------


def test_a_window_that_was_loaded_again_is_continued_where_it_was(people):
    people.go("Limits")
    people.fill("[data-model=k-anonymity] [data-field=k]", "9")
    people.until(lambda: "11.2% after" in risk(people), "the risk")
    people.browser.refresh()
    people.connected()
    people.reads("What must the release satisfy?")
    assert people.wait("[data-model=k-anonymity] [data-field=k]").get_attribute("value") == "9"
    people.until(lambda: "11.2% after" in risk(people), "the risk again")
    # What is continued here is offered to no other window, and can be worked with.
    assert "left at" not in people.text()
    people.fill("[data-model=k-anonymity] [data-field=k]", "8")
    people.until(lambda: "12.5% after" in risk(people), "the next risk")


def test_two_windows_on_one_address_neither_share_nor_lose_work(people, studio, downloads):
    people.go("Limits")
    first, address = people.browser.current_window_handle, people.browser.current_url
    people.browser.switch_to.new_window("tab")
    other = Visit(people.browser, studio, downloads)
    other.browser.get(address)
    other.connected()
    other.reads("Choose a table about people")
    time.sleep(2)
    assert "400 rows" not in other.text()
    other.mark("sample")
    other.reads("2,000 rows, 12 columns")
    own = other.browser.current_url
    assert own.split("/")[3] != address.split("/")[3]
    # The first one is left, and the other one keeps its own work.
    other.browser.switch_to.window(first)
    assert "400 rows, 4 columns" in people.text()
    people.browser.get("about:blank")
    second = next(each for each in people.browser.window_handles if each != first)
    people.browser.switch_to.window(second)
    time.sleep(2)
    assert "2,000 rows, 12 columns" in other.text()
    other.browser.close()
    # Its address continues the work that was left.
    people.browser.switch_to.window(first)
    people.browser.get(address)
    people.connected()
    people.reads("400 rows, 4 columns")
    people.reads("What must the release satisfy?")


def test_what_a_window_left_is_forgotten_with_its_files(browser, downloads, tmp_path):
    studio = Studio(tmp_path)
    try:
        visit = Visit(browser, studio, downloads)
        visit.mark("sample")
        visit.reads("2,000 rows")
        assert list(studio.temporary.rglob("*.csv"))
        visit.browser.get(studio.base)
        visit.reads("Continue where you were: people.csv")
        visit.mark("forget")
        visit.until(lambda: not list(studio.temporary.rglob("*.csv")), "the end of the files")
        visit.until(lambda: "Continue where you were" not in visit.text(), "the end of the offer")
        assert studio.errors.read_text() == ""
    finally:
        studio.end()


def test_after_a_crash_the_same_address_says_what_became_of_a_search(browser, downloads, tmp_path):
    with closing(socket.socket()) as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    hospital(20_000).select("age", "sex", "zip", "diagnosis").write_csv(tmp_path / "people.csv")
    studio = Studio(tmp_path, "--port", port)
    try:
        visit = Visit(browser, studio, downloads)
        visit.fill("[data-field=path]", str(tmp_path / "people.csv"))
        visit.mark("open")
        visit.reads("20,000 rows, 4 columns")
        visit.judged()
        visit.go("Limits")
        visit.choose("[data-field=method]", "Agglomerative")
        visit.until(lambda: visit.shown('[aria-label="Measuring"]'), "the search")
        address, before = browser.current_url, studio.folders
        assert studio.end(signal.SIGKILL) == -signal.SIGKILL
        visit.reads("what ran has stopped, and nothing of it is left")
        studio = Studio(tmp_path, "--port", port)
        visit = Visit(browser, studio, downloads)
        assert not set(before) & set(studio.folders)
        assert sorted(each.name for each in tmp_path.iterdir()) == [
            "errors",
            "people.csv",
            "temporary",
            "told",
        ]
        browser.get(address)
        visit.connected()
        assert "it is gone" in visit.wait("[data-mark=gone]").text
        # The table can be opened there, and then nothing is said to be lost.
        visit.fill("[data-field=path]", str(tmp_path / "people.csv"))
        visit.mark("open")
        visit.reads("20,000 rows, 4 columns")
        assert visit.shown("[data-mark=gone]") is None
    finally:
        studio.end()


# --- the focus ------------------------------------------------------------------------------------


def test_the_focus_never_falls_to_the_top_of_the_page(people):
    from selenium.webdriver.common.keys import Keys

    def kept(after: str, tag: str = "") -> None:
        """A new drawing takes a moment, and then some element gets the focus and stays focused."""
        people.until(lambda: focus(people) != "BODY", f"the focus after {after}")
        people.judged()
        people.until(lambda: focus(people) != "BODY", f"the focus after {after} and its release")
        time.sleep(1)
        assert focus(people) != "BODY", after
        assert tag in (focus(people), ""), after

    chip = people.wait(people.head(1) + "[data-field=role]")
    people.browser.execute_script("arguments[0].focus()", chip)
    people.key("ins")
    people.until(lambda: people.role(1) == "insensitive", "the role")
    kept("a role", "SELECT")
    people.slide("k", 2)
    kept("a slider")
    people.choose("[data-field=method]", "Datafly")
    kept("a method")
    people.choose("[data-field=readers]", "Teaching")
    kept("usual limits")
    people.go("Limits")
    people.wait("[data-mark=usual-public]").send_keys(Keys.ENTER)
    kept("a card", "BUTTON")
    people.wait('[aria-label="Remove l-diversity"]').send_keys(Keys.ENTER)
    kept("a model that is removed")
    people.wait("[data-mark=protect]").send_keys(Keys.ENTER)
    kept("a model that protects")
    people.wait("[data-mark=measure]").send_keys(Keys.ENTER)
    people.wait("[data-mark=measured] table")
    kept("a job")
    people.wait(people.head(0) + "[data-mark=open-column]").send_keys(Keys.ENTER)
    people.wait('[data-panel="0"]')
    kept("a column that opens")
    people.wait("[data-mark=next-column]").send_keys(Keys.ENTER)
    people.wait('[data-panel="1"]')
    kept("the next column")
    people.wait("[data-mark=close-column]").send_keys(Keys.ENTER)
    kept("a column that shuts")
    people.wait("[data-mark=undo-change]").send_keys(Keys.ENTER)
    kept("a step back")
    people.wait("[data-mark=fold-panel]").send_keys(Keys.ENTER)
    people.until(lambda: people.shown(people.tab("Column")) is None, "the folded panel")
    kept("a panel that is folded", "BUTTON")
    people.wait("[data-mark=fold-panel]").send_keys(Keys.ENTER)
    kept("a panel that is back", "BUTTON")
    assert list(PANELS) == [each.text.strip() for each in people.all(".q-tab")]


# --- what is being typed --------------------------------------------------------------------------


def test_a_reason_that_is_being_typed_outlasts_a_release(visit, tmp_path):
    table = hospital(400).select("age", "sex", "zip", "diagnosis", "cost")
    table.write_csv(tmp_path / "people.csv")
    visit.fill("[data-field=path]", str(tmp_path / "people.csv"))
    visit.mark("open")
    visit.reads("400 rows, 5 columns")
    visit.judged()
    visit.give(3, "sensitive")
    visit.give(4, "insensitive")
    visit.slide("l", -1)
    visit.until(lambda: visit.judged() == "Verdict: 2 points are open", "the open points")
    visit.go("Verdict")
    number = 1
    visit.wait("[data-field=why-1]")
    # Releases come while somebody types.
    for text, steps in (("one ", 1), ("two ", 3), ("three", 40)):
        visit.slide("k", steps)
        field = visit.wait(f"[data-field=why-{number}]")
        visit.browser.execute_script("arguments[0].focus(); arguments[0].setSelectionRange(99, 99)", field)
        for letter in text:
            visit.key(letter)
            time.sleep(0.05)
        visit.judged()
    value = "return [document.activeElement.value, document.activeElement.dataset.field]"
    assert visit.browser.execute_script(value) == ["one two three", f"why-{number}"]
    assert "asked was >= 49" in visit.wait("[data-mark=sentences]").text
    # Where points come or go, each keeps what was typed about it, and the focus.
    visit.give(4, "identifying")
    moved = '[data-field=why-0][data-point="unprotected-sensitive diagnosis"]'
    assert visit.wait(moved).get_attribute("value") == "one two three"


# --- the first run --------------------------------------------------------------------------------


@pytest.mark.slow
def test_loops_that_are_compiled_are_shown_with_a_bar_from_the_first_release_on(
    browser, downloads, tmp_path, monkeypatch
):
    from incrowd.faces.studio.figures import Loops

    monkeypatch.setenv("NUMBA_CACHE_DIR", str(tmp_path / "compiled"))
    hospital(30_000).select("age", "sex", "zip", "diagnosis").write_csv(tmp_path / "people.csv")
    studio = Studio(tmp_path)
    try:
        visit = Visit(browser, studio, downloads)
        visit.fill("[data-field=path]", str(tmp_path / "people.csv"))
        visit.mark("open")
        element = visit.wait("[data-mark=preparing] [role=status]")
        assert re.fullmatch(rf"Preparing \(once\): loop \d+ of about {Loops.USUAL}, [a-z ]+", element.text)
        bar = visit.wait("[data-mark=preparing] [role=progressbar]")
        assert 0 < float(bar.get_attribute("aria-valuenow")) < 1
        visit.judged(300)
        assert visit.shown("[data-mark=preparing]") is None
        # As many were kept for later runs.
        assert len([*(tmp_path / "compiled").rglob("*.nbc")]) == pytest.approx(Loops.USUAL, abs=2)
    finally:
        studio.end()
