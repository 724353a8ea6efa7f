"""The page for everybody: by keyboard, read by axe-core, on small screens; and the pictures of the docs."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from axe_core import axe, findings
from incrowd.works.samples import hospital
from studio_browser import Visit

__all__ = ["axe"]

pytestmark = pytest.mark.slow

RULES = ["wcag2a", "wcag2aa", "wcag21a", "wcag21aa", "wcag22aa"]
PICTURES = Path(__file__).parents[3] / "docs" / "_static" / "studio"
WRITES = os.environ.get("INCROWD_WRITE_PICTURES") == "1"
MOST_STEPS = 400
"""Presses of Tab after which something cannot be reached."""


def released(visit: Visit, tmp_path: Path) -> None:
    """Go so far that every step can be seen, each with what it shows when it is used."""
    hospital(400).select("age", "sex", "zip", "diagnosis").write_csv(tmp_path / "people.csv")
    visit.fill("[data-field=path]", str(tmp_path / "people.csv"))
    visit.mark("open")
    visit.reads("400 rows, 4 columns")
    visit.go(4)
    visit.unfold("advanced-limits")
    visit.mark("add-attacker")
    visit.wait("[data-attacker]")
    visit.go(6)
    visit.mark("run")
    visit.wait("[data-mark=verdict]")


def use(visit: Visit, step: int) -> None:
    """Show all of a step."""
    visit.go(step)
    if step == 3:
        visit.click('[aria-label="Open *"], [aria-label="Close *"]')
        visit.wait("[data-mark=histogram]")
    if step == 4:
        visit.mark("measure")
        visit.wait("[data-mark=measured] table")
    if step == 5:
        visit.fill("[data-field=sizes]", "3, 11")
        visit.mark("compare")
        visit.wait("[data-mark=front]")
        visit.mark("lattice")
        visit.wait("[data-mark=nodes-front]")
    if step == 7:
        visit.wait("[data-mark=rows] table")
        visit.mark("attack")
        visit.wait("[data-mark=attacked] table")


def problems(visit: Visit, axe: str) -> list[str]:
    return findings(visit.browser, axe, {"runOnly": RULES})


def test_axe_finds_nothing_in_any_step_on_any_screen(any_screen, axe, tmp_path):
    visit = any_screen
    visit.browser.set_script_timeout(120)
    released(visit, tmp_path)
    # What it would find is found: a picture without a text.
    visit.browser.execute_script("document.querySelector('main').append(new Image())")
    assert [each.partition(":")[0] for each in problems(visit, axe)] == ["image-alt"]
    visit.browser.execute_script("document.querySelector('main > img').remove()")
    found = {}
    for step in range(1, 9):
        use(visit, step)
        for width, theme in ((1440, "light"), (1440, "dark"), (1024, "light"), (390, "light"), (390, "dark")):
            visit.resize(width, theme)
            visit.settle()
            found[step, width, theme] = problems(visit, axe)
            # Nothing stands beside the page; what is wider scrolls for itself.
            wide = visit.browser.execute_script("return document.documentElement.scrollWidth")
            assert wide <= width, (step, width)
        visit.resize(1440, "light")
    assert {place: told for place, told in found.items() if told} == {}


def test_the_whole_way_goes_by_the_keyboard_alone(visit):
    from selenium.webdriver.common.keys import Keys

    def tab_to(selector: str) -> None:
        """Press Tab until something has the focus."""
        for _ in range(MOST_STEPS):
            visit.key(Keys.TAB)
            if visit.browser.execute_script(
                "return document.activeElement.closest(arguments[0]) !== null", selector
            ):
                return
        raise AssertionError(f"Tab does not reach {selector}")

    def press(selector: str) -> None:
        visit.wait(selector)
        tab_to(selector)
        visit.key(Keys.ENTER)

    def following(title: str) -> None:
        press("[data-mark=next]")
        visit.reads(title)

    press("[data-mark=sample]")
    visit.reads("2,000 rows, 12 columns")
    following("What is each column?")

    def on(option: str) -> bool:
        return any(option in each.text for each in visit.all(".q-menu .q-manual-focusable--focused"))

    def release_as_it_is(column: int) -> None:
        tab_to(f'[data-column="{column}"] [data-field=role]')
        visit.key(Keys.ENTER)
        visit.wait(".q-menu .q-item")
        for _ in range(10):
            if on("insensitive"):
                break
            visit.key(Keys.ARROW_DOWN)
        visit.key(Keys.ENTER)
        visit.until(lambda: not visit.all(".q-menu .q-item"), "the end of the menu")

    # What numbers the patients is a point before the release leaves.
    release_as_it_is(0)
    release_as_it_is(8)
    visit.until(lambda: not visit.all("[data-mark=open-roles]"), "the role")
    # Steps that may be left out are passed over.
    following("What must the release satisfy?")
    following("Make the release")
    press("[data-mark=run]")
    visit.wait("[data-mark=verdict]")
    press("[data-mark=look]")
    visit.reads("Rows 1 to 8")
    following("Before you publish")
    for number in range(len(visit.all('[data-field^="why-"]'))):
        tab_to(f"[data-field=why-{number}]")
        visit.key("looked at")
    press("[data-mark=accept]")
    visit.reads("Take it with you")
    target = visit.downloads / "release.csv"
    target.unlink(missing_ok=True)
    press("[data-mark=get-release]")
    visit.until(lambda: target.exists() and target.stat().st_size, "the release")
    assert len(target.read_text().splitlines()) == 2_001


def test_what_has_the_focus_can_be_seen(visit):
    from selenium.webdriver.common.keys import Keys

    visit.mark("sample")
    visit.reads("2,000 rows, 12 columns")
    for step in (1, 2, 4):
        visit.go(step)
        for _ in range(12):
            visit.key(Keys.TAB)
            seen = visit.browser.execute_script(
                """
                const e = document.activeElement, box = e.getBoundingClientRect();
                return e === document.body || (box.bottom > 0 && box.top < innerHeight);
                """
            )
            assert seen


@pytest.mark.parametrize(
    ("name", "step", "height"),
    [("roles", 2, 800), ("limits", 4, 900), ("explore", 5, 900), ("look", 7, 1_300)],
)
def test_the_pictures_of_the_docs(any_screen, tmp_path, name, step, height):
    visit = any_screen
    hospital(2_000).select("age", "sex", "zip", "diagnosis").write_csv(tmp_path / "people.csv")
    visit.fill("[data-field=path]", str(tmp_path / "people.csv"))
    visit.mark("open")
    visit.reads("2,000 rows, 4 columns")
    if step == 7:
        visit.go(6)
        visit.mark("run")
        visit.mark("look")
        visit.wait("[data-mark=rows] table")
    else:
        use_for_picture(visit, step)
    visit.resize(1_000, "light", height)
    # The path of the table is that of this run.
    visit.browser.execute_script(
        "for (const e of document.querySelectorAll('header span')) if (e.textContent.includes('people.csv'))"
        " e.textContent = 'people.csv'; document.activeElement.blur(); scrollTo(0, 0);"
    )
    visit.settle()
    taken = visit.browser.get_screenshot_as_png()
    page = PICTURES / f"{name}.png"
    if WRITES:
        PICTURES.mkdir(parents=True, exist_ok=True)
        page.write_bytes(taken)
    # Letters are drawn unlike on every machine, so the size is what is compared: width and height of the PNG.
    assert page.read_bytes()[16:24] == taken[16:24], "run `make pictures`"
    assert f"_static/studio/{name}.png" in (PICTURES.parents[1] / "studio.md").read_text()


def use_for_picture(visit: Visit, step: int) -> None:
    visit.go(step)
    if step == 2:
        visit.click('[data-column="0"] [data-mark=open-column]')
        visit.wait("[data-mark=distribution] table")
    elif step == 4:
        visit.mark("measure")
        visit.wait("[data-mark=measured] table")
    else:
        visit.mark("compare")
        visit.wait("[data-mark=front]")
