"""The page for everybody: by keyboard, read by axe-core, on small screens; and the pictures of the docs."""

from __future__ import annotations

import os
import random
from pathlib import Path

import polars as pl
import pytest

import incrowd as ic
from axe_core import axe, findings
from clinic_tables import SECRET
from incrowd.samples import hospital, omop
from studio_browser import PANELS, Visit

__all__ = ["axe"]
pytestmark = pytest.mark.slow

PICTURES = Path(__file__).parents[3] / "docs" / "_static" / "studio"
WRITES = os.environ.get("INCROWD_WRITE_PICTURES") == "1"
MOST_STEPS = 400
"""Presses of Tab after which something cannot be reached."""


def open_people(visit: Visit, tmp_path: Path, rows: int) -> None:
    """Open a table without open questions, and wait for the release."""
    hospital(rows).select("age", "sex", "zip", "diagnosis").write_csv(tmp_path / "people.csv")
    visit.fill("[data-field=path]", str(tmp_path / "people.csv"))
    visit.mark("open")
    visit.reads(f"{rows:,} rows, 4 columns")
    visit.judged()


STAYS = ("age", "sex", "marital_status", "admission_type", "length_of_stay")


def open_stays(visit: Visit, tmp_path: Path) -> None:
    """Open a table with a policy that has an analysis, as the lesson on a regression has it."""
    quasi = {name: ic.Hierarchy.flat() for name in STAYS[1:4]} | {
        "age": ic.Hierarchy.intervals(5, 10, 20, 40)
    }
    stay = ic.Analysis("stay", "length_of_stay ~ age + C(admission_type)")
    schema = ic.Schema(quasi={name: quasi[name] for name in STAYS[:4]}, insensitive=["length_of_stay"])
    ic.Policy(schema, ["k-anonymity:20"], max_suppression=0.05, analyses=[stay]).write(
        tmp_path / "policy.toml"
    )
    hospital(2_000).select(STAYS).write_csv(tmp_path / "people.csv")
    visit.drop(tmp_path / "policy.toml")
    visit.reads("from policy.toml")
    visit.fill("[data-field=path]", str(tmp_path / "people.csv"))
    visit.mark("open")
    visit.reads("2,000 rows, 5 columns")
    visit.judged()


def name_analysis(visit: Visit) -> None:
    """Name an analysis on the page."""
    visit.choose("[data-field=kind]", "logit")
    visit.fill("[data-field=formula]", "I(diagnosis == 'A41') ~ age + C(sex)")
    visit.fill("[data-field=name]", "sepsis")
    visit.mark("add-analysis")
    visit.judged()


def search_setting(visit: Visit, most: str) -> None:
    """Search the setting that keeps an analysis best."""
    visit.fill("[data-field=most]", most)
    visit.mark("tune")
    visit.wait("[data-mark=trials] svg")
    visit.click("[data-mark=tuned] .q-expansion-item .q-item")
    visit.wait("[data-mark=trials-table]")


def open_linked(visit: Visit, folder: Path) -> None:
    """Open tables of OMOP, and release them together."""
    from selenium.webdriver.common.keys import Keys

    (folder / "omop").mkdir()
    for name, table in omop(8_000).items():
        table.write_csv(folder / "omop" / f"{name}.csv")
    (folder / "key").write_text(SECRET)
    (folder / "key").chmod(0o600)
    visit.fill("[data-field=path]", str(folder / "omop"))
    visit.mark("open")
    visit.wait(".joins")
    visit.fill("[data-field=key-file]", str(folder / "key"))
    visit.key(Keys.TAB)
    visit.until(lambda: not visit.all("[data-mark=key]"), "the secret")
    for number in (1, 2):
        visit.choose(f"[data-field=known-{number}]", "1")
    visit.mark("run")
    visit.wait("[data-mark=verdict]")


def open_sets(visit: Visit, folder: Path) -> None:
    """Open a table with codes of diagnoses, and release them as sets."""
    draw, codes = random.Random(1), ["E10", "E11", "I10", "I11", "I50", "J44", "J45", "K21"]
    people = hospital(2_000).select("age", "sex").with_columns(
        diagnoses=pl.Series(
            [";".join(dict.fromkeys(draw.choices(codes, [2, 8, 9, 3, 2, 2, 6, 4], k=draw.randint(1, 3))))
             for _ in range(2_000)]
        )
    )  # fmt: skip
    people.write_csv(folder / "stays.csv")
    visit.fill("[data-field=path]", str(folder / "stays.csv"))
    visit.mark("open")
    visit.judged()
    visit.give(2, "quasi")
    visit.column(2, "cells")
    visit.choose("[data-field=kind]", "a cell holds a set")
    visit.wait("[data-field=known]")
    visit.column(2, "hierarchy")
    visit.choose("[data-field=hierarchy]", "prefix")
    visit.judged()


def use(visit: Visit, panel: str) -> None:
    """Show all of a panel, as in use."""
    visit.go(panel)
    if panel == "Column":
        visit.column(2, "tree")
        visit.wait("[data-mark=histogram]")
    elif panel == "Limits":
        visit.mark("measure")
        visit.wait("[data-mark=measured] table")
    elif panel == "Tables":
        visit.choose_several("[data-mark=table-0] [data-field=rows]", "age, as ")
        visit.choose_several("[data-mark=table-0] [data-field=columns]", "sex")
        visit.mark("tabulate")
        visit.wait("[data-mark=tables-command]")
    elif panel == "Explore":
        visit.fill("[data-field=sizes]", "3, 11")
        visit.mark("compare")
        visit.wait("[data-mark=front]")
        name_analysis(visit)
        search_setting(visit, "2")
    elif panel == "Verdict":
        visit.mark("attack")
        visit.wait("[data-mark=attacked] table")


SCREENS = [(width, theme) for width in (1440, 1024, 390) for theme in ("light", "dark")]


def on_all_screens(visit: Visit, axe: str, panel: str) -> dict[tuple[str, int, str], list[str]]:
    """Return axe's violations in a panel, by screen, where nothing may stand beside the page."""
    result = {}
    for width, theme in SCREENS:
        visit.resize(width, theme)
        visit.settle()
        if violations := findings(visit.browser, axe, {}):
            result[panel, width, theme] = violations
        # What is wider scrolls for itself.
        wide = visit.browser.execute_script("return document.documentElement.scrollWidth")
        assert wide <= width, (panel, width)
    visit.resize(1440, "light")
    return result


def test_axe_finds_nothing_on_the_first_page_and_finds_what_is_wrong(any_screen, axe):
    visit = any_screen
    visit.browser.set_script_timeout(300)
    # What it would find is found: a picture without a text.
    visit.browser.execute_script("document.querySelector('main').append(new Image())")
    assert [each.partition(":")[0] for each in findings(visit.browser, axe, {})] == ["image-alt"]
    visit.browser.execute_script("document.querySelector('main > img').remove()")
    assert on_all_screens(visit, axe, "first page") == {}


@pytest.mark.parametrize("panel", PANELS)
def test_axe_finds_nothing_in_any_panel_on_any_screen(any_screen, axe, tmp_path, panel):
    visit = any_screen
    visit.browser.set_script_timeout(300)
    open_people(visit, tmp_path, 400)
    if panel == "Verdict":
        # Points, too: a sensitive column without a limit.
        visit.slide("l", -1)
        visit.until(lambda: visit.judged() == "Verdict: 1 point is open", "a point")
    use(visit, panel)
    assert on_all_screens(visit, axe, panel) == {}


def test_the_whole_way_goes_by_the_keyboard_alone(visit):
    from selenium.webdriver.common.keys import Keys

    def tab_to(selector: str, *, back: bool = False) -> None:
        """Press Tab until something has the focus."""
        for _ in range(MOST_STEPS):
            visit.key(Keys.TAB, shift=back)
            if visit.browser.execute_script(
                "return document.activeElement.closest(arguments[0]) !== null", selector
            ):
                return
        raise AssertionError(f"Tab does not reach {selector}")

    def press(selector: str, key: str = Keys.ENTER) -> None:
        visit.wait(selector)
        tab_to(selector)
        visit.key(key)

    press("[data-mark=sample]")
    visit.reads("Still without a role: admission_type")
    # Tab goes from head to head, and a list takes the first letters of a role.
    tab_to('.head[data-column="8"] [data-field=role]')
    visit.key("ins")
    visit.judged()
    tab_to('.head[data-column="8"] [data-mark=open-column]', back=True)
    visit.key(Keys.ENTER)
    visit.wait('[data-panel="8"]')
    # A slider takes arrows, and a tab of the panel, too.
    tab_to("[data-slider=k]")
    visit.key(Keys.ARROW_RIGHT)
    visit.until(lambda: visit.wait("[data-mark=limit-k]").text == "6", "the limit")
    visit.judged()
    tab_to(".q-tab")
    for _ in PANELS:
        if visit.browser.execute_script(f"return document.activeElement.matches('{visit.tab('Verdict')}')"):
            break
        visit.key(Keys.ARROW_RIGHT)
    visit.key(Keys.ENTER)
    visit.reads("Is the release safe?")
    for number in range(len(visit.all('[data-field^="why-"]'))):
        tab_to(f"[data-field=why-{number}]")
        visit.key("looked at")
    if visit.shown("[data-mark=accept]"):
        press("[data-mark=accept]")
    press("[data-mark=to-hand-over]")
    visit.reads("Take it with you")
    target = visit.downloads / "release.csv"
    target.unlink(missing_ok=True)
    press("[data-mark=get-release]")
    visit.until(lambda: target.exists() and target.stat().st_size, "the release")
    assert len(target.read_text().splitlines()) == 2_001


RING = """
const [png, done] = arguments;
const image = new Image();
image.onload = () => {
    const canvas = new OffscreenCanvas(image.width, image.height), pen = canvas.getContext('2d');
    pen.drawImage(image, 0, 0);
    const {data} = pen.getImageData(0, 0, image.width, image.height);
    let found = 0;
    for (let i = 0; i < data.length; i += 4)
        found += Math.abs(data[i] - 224) + Math.abs(data[i + 1] - 134) + Math.abs(data[i + 2]) < 60;
    done(found);
};
image.src = 'data:image/png;base64,' + png;
"""
"""The script that counts the pixels of a picture that have the colour of the ring."""


TAKER = """
const found = [...document.querySelectorAll(arguments[0])].find(each => each.checkVisibility());
const taker = found?.matches('input, button, select, [tabindex]') ? found : found?.querySelector('input, [tabindex]');
taker?.scrollIntoView({block: 'center'});
taker?.focus();
return document.activeElement === taker ? taker : null;
"""
"""The script that gives the focus to what a selector finds, or to its part that takes it."""


def ring(visit: Visit, element) -> int:
    """Count the pixels around an element that have the colour of the ring."""
    box = visit.browser.execute_script(
        "const box = (arguments[0].closest('.q-field__control') ?? arguments[0]).getBoundingClientRect();"
        "return [box.x + scrollX, box.y + scrollY, box.width, box.height]",
        element,
    )
    x, y, width, height = box
    clip = {"x": max(x - 8, 0), "y": max(y - 8, 0), "width": width + 16, "height": height + 16, "scale": 1}
    png = visit.browser.execute_cdp_cmd("Page.captureScreenshot", {"format": "png", "clip": clip})["data"]
    return visit.browser.execute_async_script(RING, png)


@pytest.mark.parametrize("theme", ["light", "dark"])
def test_what_has_the_focus_has_a_ring(any_screen, theme, tmp_path):
    from selenium.webdriver.common.keys import Keys

    visit = any_screen
    visit.resize(1440, theme)

    def ringed(*selectors: str) -> None:
        """Each element has a ring with the focus, and none without."""
        missing = {}
        for selector in selectors:
            # The focus of a script has a ring where the keyboard was used last.
            visit.key(Keys.SHIFT)
            element = visit.until(
                lambda selector=selector: visit.browser.execute_script(TAKER, selector), selector
            )
            visit.settle()
            having = ring(visit, element)
            visit.browser.execute_script("document.activeElement.blur()")
            visit.settle()
            without = ring(visit, element)
            # More than two of its sides.
            if having - without < 3 * max(element.size["height"], 20):
                missing[selector] = having, without
        assert missing == {}

    # Rows of the sample come last, and move what is below the drop zone.
    visit.wait(".wide-table table")
    visit.reads("There is none in")
    ringed("[data-field=path]", "[data-mark=open]", "[data-mark=pick-upload]", "[data-mark=teach]")
    open_people(visit, tmp_path, 400)
    ringed(
        "[data-slider=k]", "[data-field=readers]", "[data-field=method]", "[data-mark=more-limits]",
        "[data-mark=next]", "[data-mark=view] button", "[data-field=find-column]", "[data-mark=fold-panel]",
        '.head[data-column="0"] [data-mark=open-column]', '.head[data-column="0"] [data-field=role]',
    )  # fmt: skip
    visit.column(0, "hierarchy")
    ringed(f"{visit.column(0)}[data-field=role]", "[data-field=hierarchy]", "[data-mark=close-column]")
    visit.go("Limits")
    ringed("[data-field=k]", "[data-field=model]", "[data-mark=usual-public]", ".side [type=range]")
    ringed("[data-field=max_suppression]", visit.tab("Limits"))
    visit.slide("l", -1)
    visit.until(lambda: visit.judged() == "Verdict: 1 point is open", "a point")
    visit.go("Verdict")
    ringed("[data-field=why-0]", "[data-mark=accept]", ".head [data-mark=column-points]")


def test_the_table_is_one_stop_of_tab_and_arrows_go_from_cell_to_cell(visit, tmp_path):
    from selenium.webdriver.common.keys import Keys

    open_people(visit, tmp_path, 60)
    visit.wait('.rows .ag-row[row-index="1"] .ag-cell')
    cell = """
        const cell = document.activeElement.closest('.ag-cell'), row = cell?.closest('.ag-row');
        return cell && [row.getAttribute('row-index'), cell.getAttribute('col-id')];
    """

    def at() -> list[str] | None:
        return visit.browser.execute_script(cell)

    visit.browser.execute_script("document.querySelector('.head[data-column=\"3\"] select').focus()")
    visit.key(Keys.TAB)
    visit.until(lambda: at() == ["0", "c0"], "the first cell")
    for key, place in ((Keys.ARROW_RIGHT, ["0", "c1"]), (Keys.ARROW_DOWN, ["1", "c1"])):
        visit.key(key)
        visit.until(lambda place=place: at() == place, str(place))
    visit.key(Keys.TAB)
    visit.until(lambda: at() is None, "the way on")
    inside = "return document.activeElement.closest('.rows') !== null"
    assert not visit.browser.execute_script(inside)
    visit.key(Keys.TAB, shift=True)
    visit.until(lambda: at() == ["1", "c1"], "the cell from before")
    visit.key(Keys.TAB, shift=True)
    visit.until(lambda: at() is None, "the heads")
    assert visit.browser.execute_script("return document.activeElement.closest('.head') !== null")


def test_tab_reaches_the_panel_first_where_it_stands_first(any_screen, tmp_path):
    from selenium.webdriver.common.keys import Keys

    open_people(any_screen, tmp_path, 60)
    part = "return document.activeElement.closest('.side, .middle')?.className.match(/side|middle/)[0]"
    for width, order in ((1440, ["middle", "side"]), (390, ["side", "middle"])):
        any_screen.resize(width)
        any_screen.browser.execute_script("document.querySelector('[data-slider]').focus()")
        reached = dict[str, None]()
        for _ in range(MOST_STEPS):
            any_screen.key(Keys.TAB)
            reached[any_screen.browser.execute_script(part)] = None
            if {*order} <= reached.keys():
                break
        assert [each for each in reached if each] == order


@pytest.mark.parametrize("width", [1024, 390])
def test_the_panel_is_in_sight_on_a_small_screen(any_screen, tmp_path, width):
    open_people(any_screen, tmp_path, 60)
    any_screen.resize(width, height=900)
    top = "return document.querySelector('.side h2').getBoundingClientRect().top"
    any_screen.until(lambda: any_screen.browser.execute_script(top) < 850, "the panel")


def test_the_page_of_linked_tables_has_no_barrier(any_screen, axe, tmp_path):
    visit = any_screen
    open_linked(visit, tmp_path)
    visit.click('.linked-column[data-column="2"] [data-mark=open-column]')
    visit.wait("[data-mark=distribution] table")
    visit.mark("teach")
    visit.wait("[data-mark=teaching] .name")
    visit.browser.set_script_timeout(300)
    assert on_all_screens(visit, axe, "linked tables") == {}


def test_what_has_the_focus_can_be_seen(visit):
    from selenium.webdriver.common.keys import Keys

    visit.mark("sample")
    visit.reads("2,000 rows, 12 columns")
    for panel in ("Table", "Column", "Limits"):
        visit.go(panel)
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
    ("name", "panel", "page"),
    [
        ("roles", "Column", "studio.md"), ("limits", "Limits", "studio.md"), ("explore", "Explore", "studio.md"),
        ("analysis", "Explore", "studio.md"),
        ("tables", "Tables", "studio.md"), ("linked", "Table", "studio.md"), ("sets", "Column", "studio.md"),
        ("look", "Verdict", "studio.md"), ("light", "Explore", "../README.md"), ("dark", "Explore", "../README.md"),
    ],
)  # fmt: skip
def test_the_pictures_of_the_docs(any_screen, tmp_path, name, panel, page):
    visit = any_screen
    visit.resize(1_280, "dark" if name == "dark" else "light", 800)
    if name == "analysis":
        open_stays(visit, tmp_path)
    elif name == "linked":
        open_linked(visit, tmp_path)
    elif name == "sets":
        open_sets(visit, tmp_path)
    else:
        open_people(visit, tmp_path, 2_000)
    if name in ("linked", "sets"):
        visit.settle()
    elif panel == "Column":
        visit.column(0)
        visit.wait("[data-mark=distribution] table")
    elif name == "analysis":
        visit.mark("wide")
        visit.go("Explore")
        search_setting(visit, "10")
    elif panel == "Explore":
        visit.go("Explore")
        visit.mark("compare")
        visit.wait("[data-mark=card-5]")
    else:
        visit.go(panel)
    if panel == "Tables":
        visit.mark("wide")
        visit.choose_several("[data-mark=table-0] [data-field=columns]", "age, as [0-39]")
        visit.choose_several("[data-mark=table-0] [data-field=rows]", "diagnosis")
        visit.judged()
        visit.mark("tabulate")
        visit.wait("[data-mark=tables] .heat")
    # The path of the table is that of this run.
    visit.browser.execute_script(
        "for (const e of document.querySelectorAll('header span')) if (e.textContent.includes('/'))"
        " e.textContent = e.textContent.split('/').pop();"
        " document.activeElement.blur(); scrollTo(0, 0);"
        " document.querySelectorAll('.side .q-tab-panel').forEach(e => e.scrollTo(0, 0));"
        " document.querySelector('[data-mark=tables]')?.scrollIntoView();"
        " document.querySelector('[data-mark=tuned]')?.scrollIntoView();"
    )
    visit.settle()
    taken = visit.browser.get_screenshot_as_png()
    picture = PICTURES / f"{name}.png"
    if WRITES:
        PICTURES.mkdir(parents=True, exist_ok=True)
        picture.write_bytes(taken)
    # Letters are drawn unlike on every machine, so the size is what is compared: width and height of the PNG.
    assert picture.read_bytes()[16:24] == taken[16:24], "run `make pictures`"
    assert f"_static/studio/{name}.png" in (PICTURES.parents[1] / page).read_text()
